// Tensors seen through the layouts that shape rules compute (runtime/kernel/shape_rules/strided.h).
#ifndef BELAY_EXIR_OPS_STRIDED_META_H_
#define BELAY_EXIR_OPS_STRIDED_META_H_

#include <vector>

#include "absl/status/statusor.h"
#include "exir/op/tensor_meta.h"
#include "exir/ops/sym_bounds.h"
#include "runtime/kernel/shape_rules/strided.h"

namespace belay::exir {

// The layout of a tensor. kInvalidArgument when its rank is above the limit or it has not as many
// strides as sizes.
absl::StatusOr<StridedDims<SymInt>> LayoutOf(const TensorMeta& meta);

// A tensor of another layout on the storage of `base`.
TensorMeta ViewOf(const TensorMeta& base, StridedDims<SymInt> layout);
// A contiguous tensor with a storage of its own, on the device of `base`.
TensorMeta CopyOf(const TensorMeta& base, std::vector<SymInt> sizes);
// A tensor with a storage of its own and the strides of `like`, gaps included (PyTorch's
// clone_preserve_strides); in the order of its strides when elements of `like` share memory.
TensorMeta SameStrides(const TensorMeta& like);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_STRIDED_META_H_
