// The Tensor?[] argument of index and index_put: indexed dimensions and result sizes.
#ifndef BELAY_EXIR_OPS_INDEX_ARGUMENTS_H_
#define BELAY_EXIR_OPS_INDEX_ARGUMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "exir/op_definition/meta_context.h"
#include "runtime/kernel_interface/shape_rules/index.h"

namespace belay::exir {

struct IndexArguments {
  // Per dimension of self: the shape and strides of its index tensor. A mask counts as one vector
  // per dimension.
  struct Dimension {
    bool indexed = false;
    std::vector<SymInt> sizes;
    std::vector<SymInt> strides;
  };
  std::vector<Dimension> dimensions;
  IndexedShape<SymInt> shape;
};

// Resolves the index tensors (null for None) against `self`. The number of elements that a mask
// selects is a new symbol, unless other index tensors determine it. kInvalidArgument naming the
// index tensor if it does not fit.
absl::StatusOr<IndexArguments> IndexArgumentsOf(MetaContext& context,
                                                const std::vector<const TensorMeta*>& indices,
                                                const TensorMeta& self);

// Returns the strides that PyTorch gives to the result of index: those of a loop over `self` and
// the index tensors with the smallest strides innermost.
std::vector<SymInt> IndexResultStrides(const TensorMeta& self, const IndexArguments& indices);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_INDEX_ARGUMENTS_H_
