// Converts between tensors and the layouts of shape rules (runtime/kernel_interface/shape_rules/strided.h).
#ifndef BELAY_EXIR_OPS_STRIDED_META_H_
#define BELAY_EXIR_OPS_STRIDED_META_H_

#include <vector>

#include "absl/status/statusor.h"
#include "exir/op_definition/tensor_meta.h"
#include "exir/ops/sym_bounds.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay::exir {

// Returns the layout of a tensor. kInvalidArgument if its rank is above the limit or the numbers of
// strides and sizes differ.
absl::StatusOr<StridedDims<SymInt>> LayoutOf(const TensorMeta& meta);

// Returns a tensor with this layout on the storage of `base`.
TensorMeta ViewOf(const TensorMeta& base, StridedDims<SymInt> layout);
// Returns a contiguous tensor with its own storage, on the device of `base`.
TensorMeta CopyOf(const TensorMeta& base, std::vector<SymInt> sizes);
// Returns a tensor with its own storage and the strides of `like`, gaps included (PyTorch's
// clone_preserve_strides). If elements of `like` overlap, the result is dense in the order of its
// strides.
TensorMeta SameStrides(const TensorMeta& like);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_STRIDED_META_H_
