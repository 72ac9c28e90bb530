// Iterates over two tensors of equal sizes in runs along the last dimension. Internal to the files
// of tensor_view.
#ifndef BELAY_RUNTIME_CORE_ELEMENT_RUNS_H_
#define BELAY_RUNTIME_CORE_ELEMENT_RUNS_H_

#include <cstdint>

#include "runtime/core/sizes.h"
#include "runtime/core/tensor_view.h"

namespace belay {

// Calls fn(from_offset, to_offset, count, from_stride, to_stride) for each run along the last
// dimension. Precondition: the tensors are not empty.
template <class Fn>
void ForEachRun(const TensorView& from, const TensorView& to, Fn fn) {
  if (from.rank() == 0) {
    fn(0, 0, 1, 1, 1);
    return;
  }
  Sizes outer = from.sizes;
  const int last = from.rank() - 1;
  outer.erase(last);
  for (StridedIterator<2> it(outer, {from.strides, to.strides}); !it.done(); it.Next()) {
    fn(it.offset(0), it.offset(1), from.sizes[last], from.strides[last], to.strides[last]);
  }
}

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_ELEMENT_RUNS_H_
