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

// Sums n floats, or their squares, in four vectors of doubles.
template <bool kSquares>
HWY_INLINE double FoldRun(const float* HWY_RESTRICT x, int64_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto add = [&](auto sum, const float* from) HWY_ATTR {
    const auto v = hn::PromoteTo(d, hn::LoadU(half, from));
    return kSquares ? hn::MulAdd(v, v, sum) : hn::Add(sum, v);
  };
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    sum0 = add(sum0, x + i);
    sum1 = add(sum1, x + i + lanes);
    sum2 = add(sum2, x + i + 2 * lanes);
    sum3 = add(sum3, x + i + 3 * lanes);
  }
  for (; i + lanes <= n; i += lanes) sum0 = add(sum0, x + i);
  if (i < n) {
    const auto v = hn::PromoteTo(d, hn::LoadN(half, x + i, static_cast<size_t>(n - i)));
    sum1 = kSquares ? hn::MulAdd(v, v, sum1) : hn::Add(sum1, v);
  }
  return hn::ReduceSum(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
}
double SumRun(const float* x, int64_t n) { return FoldRun<false>(x, n); }
double SquareRun(const float* x, int64_t n) { return FoldRun<true>(x, n); }

ReduceLoop SumLoop(DType type) { return LoopOf<Sum>(type); }
ReduceLoop SquaresLoop(DType type) { return LoopOf<Squares>(type); }

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(SumLoop);
HWY_EXPORT(SquaresLoop);
HWY_EXPORT(SumRun);
HWY_EXPORT(SquareRun);
double SumRunF32(const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(SumRun)(x, n); }
double SquareRunF32(const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(SquareRun)(x, n); }
ReduceLoop FindSumLoop(DType type) { return HWY_DYNAMIC_DISPATCH(SumLoop)(type); }
ReduceLoop FindSquaresLoop(DType type) { return HWY_DYNAMIC_DISPATCH(SquaresLoop)(type); }

}  // namespace belay
#endif  // HWY_ONCE
