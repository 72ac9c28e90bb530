// Loop over rows, shared by all reductions.
//
// Included once per target inside foreach_target; see hwy/foreach_target.h.
#if defined(BELAY_RUNTIME_KERNELS_REDUCE_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_REDUCE_REDUCE_INL_H_
#undef BELAY_RUNTIME_KERNELS_REDUCE_REDUCE_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_REDUCE_REDUCE_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "runtime/core/dtype.h"
#include "runtime/kernels/reduce/moments.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

// An operation defines Acc<T>, the accumulator type, and Join(acc, x, center), which combines an
// accumulator with an element.

// Accumulator type of sums: double for floating-point types; int64 wraps.
template <class T>
using SumType = std::conditional_t<std::is_floating_point_v<T>, double, T>;

template <class Op, class T>
void Reduce(const void* in, int64_t rows, int64_t row_step, int64_t width, void* result,
            const double* center) {
  using Acc = typename Op::template Acc<T>;
  const T* HWY_RESTRICT x = static_cast<const T*>(in);
  Acc* HWY_RESTRICT acc = static_cast<Acc*>(result);
  if (width == kReduceLanes) {
    // Local arrays, so that the accumulators stay in registers.
    Acc lanes[kReduceLanes];
    double centers[kReduceLanes];
    for (int64_t i = 0; i < kReduceLanes; ++i) {
      lanes[i] = acc[i];
      centers[i] = center == nullptr ? 0 : center[i];
    }
    for (int64_t r = 0; r < rows; ++r, x += row_step) {
      for (int64_t i = 0; i < kReduceLanes; ++i)
        lanes[i] = Op::template Join<T>(lanes[i], x[i], centers[i]);
    }
    for (int64_t i = 0; i < kReduceLanes; ++i) acc[i] = lanes[i];
    return;
  }
  if (center != nullptr) {
    for (int64_t r = 0; r < rows; ++r, x += row_step) {
      for (int64_t i = 0; i < width; ++i) acc[i] = Op::template Join<T>(acc[i], x[i], center[i]);
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r, x += row_step) {
    for (int64_t i = 0; i < width; ++i) acc[i] = Op::template Join<T>(acc[i], x[i], 0);
  }
}

template <class Op>
ReduceLoop LoopOf(DType type) {
  switch (type) {
    case DType::kFloat32:
      return &Reduce<Op, float>;
    case DType::kFloat64:
      return &Reduce<Op, double>;
    case DType::kInt64:
      return &Reduce<Op, int64_t>;
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif  // BELAY_RUNTIME_KERNELS_REDUCE_REDUCE_INL_H_
