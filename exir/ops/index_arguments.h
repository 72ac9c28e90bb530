// The Tensor?[] of index and index_put: which dimensions it indexes, and what comes out.
#ifndef BELAY_EXIR_OPS_INDEX_ARGUMENTS_H_
#define BELAY_EXIR_OPS_INDEX_ARGUMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "exir/op/meta_context.h"
#include "runtime/kernel/shape_rules/index.h"

namespace belay::exir {

struct IndexArguments {
  // Of each dimension of self: the shape and strides of what indexes it. A mask counts as one
  // vector per dimension.
  struct Dimension {
    bool indexed = false;
    std::vector<SymInt> sizes;
    std::vector<SymInt> strides;
  };
  std::vector<Dimension> dimensions;
  IndexedShape<SymInt> shape;
};

// What the index tensors (null for none) mean for `self`. Places that a mask selects get a new
// symbol, unless other index tensors say how many there are. kInvalidArgument naming the index
// tensor when it does not fit.
absl::StatusOr<IndexArguments> IndexArgumentsOf(MetaContext& context,
                                                const std::vector<const TensorMeta*>& indices,
                                                const TensorMeta& self);

// The strides that PyTorch gives to the result of index: those of a loop that walks `self` and the
// index tensors with the smallest strides innermost.
std::vector<SymInt> IndexResultStrides(const TensorMeta& self, const IndexArguments& indices);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_INDEX_ARGUMENTS_H_
