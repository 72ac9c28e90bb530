// Loops of means and variances, separate from the others, so that pooling and normalization link
// only these.
#include "runtime/kernels/reduce/moments.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/moments.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/reduce/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE T WrappedSum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

struct Sum {
  template <class T>
  using Acc = SumType<T>;
  template <class T>
  static HWY_INLINE SumType<T> Join(SumType<T> acc, T x, double) {
    return WrappedSum(acc, static_cast<SumType<T>>(x));
  }
};
struct Squares {
  template <class T>
  using Acc = SumType<T>;
  template <class T>
  static HWY_INLINE SumType<T> Join(SumType<T> acc, T x, double center) {
    if constexpr (std::is_floating_point_v<T>) {
      const double distance = static_cast<double>(x) - center;
      return acc + distance * distance;
    } else {
      return acc;
    }
  }
};

ReduceLoop SumLoop(DType type) { return LoopOf<Sum>(type); }
ReduceLoop SquaresLoop(DType type) { return LoopOf<Squares>(type); }

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(SumLoop);
HWY_EXPORT(SquaresLoop);
ReduceLoop FindSumLoop(DType type) { return HWY_DYNAMIC_DISPATCH(SumLoop)(type); }
ReduceLoop FindSquaresLoop(DType type) { return HWY_DYNAMIC_DISPATCH(SquaresLoop)(type); }

}  // namespace belay
#endif  // HWY_ONCE
