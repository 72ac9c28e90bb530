// Reduces one block of the results of a call: row by row if results are contiguous in memory, else
// each slice is loaded into a run and reduced in lanes.
#ifndef BELAY_RUNTIME_KERNELS_REDUCE_FOLD_BLOCK_H_
#define BELAY_RUNTIME_KERNELS_REDUCE_FOLD_BLOCK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/operands/fold.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reduce/moments.h"
#include "runtime/kernels/reduce/reduction.h"

namespace belay {

// Calls fn(T()) with the C++ type of LoopType.
template <class Fn>
auto WithLoopType(DType type, Fn&& fn) {
  if (type == DType::kFloat64) return fn(double{});
  if (type == DType::kFloat32) return fn(float{});
  return fn(int64_t{});
}

// Reduces a block. Acc is the loop's accumulator type; join(a, b) combines two accumulators.
template <class Acc, class Join>
void FoldBlock(const Reduction& reduction, ReduceLoop loop, int64_t base, int64_t width, Acc start,
               const double* centers, Acc* results, Join join) {
  if (reduction.columns()) {
    std::fill_n(results, width, start);
    reduction.ForEachRow(base, width,
                         [&](const std::byte* x, int64_t rows, int64_t step, int64_t n) {
                           loop(x, rows, step, n, results, centers);
                         });
    return;
  }
  Acc lanes[kReduceLanes];
  std::fill_n(lanes, kReduceLanes, start);
  double center[kReduceLanes];
  if (centers != nullptr) std::fill_n(center, kReduceLanes, centers[0]);
  reduction.ForEachRow(base, width, [&](const std::byte* x, int64_t rows, int64_t step, int64_t n) {
    loop(x, rows, step, n, lanes, centers == nullptr ? nullptr : center);
  });
  // In pairs: a chain of all lanes would wait for each sum.
  for (int64_t half = kReduceLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] = join(lanes[i], lanes[i + half]);
  }
  results[0] = lanes[0];
}

// The fold of a reduction for which the order of the elements does not matter: the reduced dimensions
// are in the order of memory, so that those of a permuted tensor may be one run. Repeated dimensions are
// the outermost.
inline Fold UnorderedFoldOf(const FoldCall<KernelArguments>& call) {
  Fold fold = FoldOf(call);
  const auto outer = [&](int d) {
    const int64_t stride = fold.folded_strides[d];
    return stride == 0 ? std::numeric_limits<int64_t>::max() : stride;
  };
  for (int end = 1; end < fold.folded.size(); ++end) {
    for (int d = end; d > 0 && outer(d - 1) < outer(d); --d) {
      std::swap(fold.folded[d - 1], fold.folded[d]);
      std::swap(fold.folded_strides[d - 1], fold.folded_strides[d]);
    }
  }
  return fold;
}

// Resizes output i, which must have this dtype, to the shape of the fold.
inline absl::StatusOr<TensorView*> ResultOf(KernelContext& context, int i, DType dtype,
                                            const Fold& fold) {
  return OutputOf(context, i, dtype, fold.shape);
}

// The value that any other one replaces as the largest or smallest.
template <class T>
T Worst(bool largest) {
  if constexpr (std::is_floating_point_v<T>) {
    return largest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  } else {
    return largest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REDUCE_FOLD_BLOCK_H_
