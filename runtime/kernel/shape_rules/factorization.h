// Shapes of factorizations of square matrices.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_FACTORIZATION_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_FACTORIZATION_H_

#include "runtime/kernel/shape_rules/strided.h"

namespace belay {

// Batches of square matrices [...,n,n]. Returns the batch dimensions.
template <class D>
absl::StatusOr<Dims<D>> SquareBatch(absl::Span<const D> dims) {
  const size_t rank = dims.size();
  if (rank < 2 || KnownDifferent(dims[rank - 1], dims[rank - 2])) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected square matrices, got shape ", FormatDims<D>(dims)));
  }
  Dims<D> batch;
  for (size_t d = 0; d + 2 < rank; ++d) batch.push_back(dims[d]);
  return batch;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_FACTORIZATION_H_
