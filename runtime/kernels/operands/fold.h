// Loops over reduced dimensions, shared by all reductions.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_FOLD_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_FOLD_H_

#include <cmath>
#include <cstdint>

#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/reduction.h"
#include "runtime/kernels/operands/element_access.h"

namespace belay {

// Maps elements of a tensor to results of a reduction. Constant during a call.
struct Fold {
  const TensorView* self = nullptr;
  uint32_t mask = 0;
  bool keepdim = false;
  Sizes kept, folded;
  Strides kept_strides, folded_strides;  // of `self`
  Dims<CheckedInt> shape;                // of the result

  int64_t count() const { return *NumElements(folded); }  // elements per result
  // Strides of an output over the dimensions that are not reduced.
  Strides OutputStrides(const TensorView& out) const;
};

Fold FoldOf(const FoldCall<KernelArguments>& call);
// Fold over one dimension. A tensor of rank 0 has no dimension to fold.
Fold FoldOneDim(const TensorView& self, int dim);

// Calls fn(x) for each element of the slice that begins at `base`, in row-major order.
template <class T, class Fn>
void ForEachFolded(const Fold& fold, const Reader<T>& in, int64_t base, Fn&& fn) {
  for (StridedIterator<1> it(fold.folded, {fold.folded_strides}); !it.done(); it.Next()) {
    fn(in(base + it.offset(0)));
  }
}

// Calls fn(base, offset) for each result: `base` is the offset of its first element in `self`,
// `offset` its own offset in `out`.
template <class Fn>
void ForEachResult(const Fold& fold, const TensorView& out, Fn&& fn) {
  for (StridedIterator<2> it(fold.kept, {fold.kept_strides, fold.OutputStrides(out)}); !it.done();
       it.Next()) {
    fn(it.offset(0), it.offset(1));
  }
}
template <class Fn>
void ForEachResult(const Fold& fold, const TensorView& first, const TensorView& second, Fn&& fn) {
  for (StridedIterator<3> it(
           fold.kept, {fold.kept_strides, fold.OutputStrides(first), fold.OutputStrides(second)});
       !it.done(); it.Next()) {
    fn(it.offset(0), it.offset(1), it.offset(2));
  }
}

// Returns whether `x` precedes `best` in the search for the largest (or smallest) element. NaN
// precedes every number in both searches. The first of equal elements wins.
template <bool kLargest, class T>
bool Beats(T x, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(best)) return false;
    if (std::isnan(x)) return true;
  }
  return kLargest ? x > best : x < best;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_FOLD_H_
