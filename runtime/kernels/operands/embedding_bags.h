// Bags and results of _embedding_bag.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_EMBEDDING_BAGS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_EMBEDDING_BAGS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/index.h"

namespace belay {

struct BagResults {
  TensorView *out, *offset2bag, *bag_size, *rows;
};
// Returns the outputs. Sets offset2bag, without elements if `skips` (BagSkipsOffsets), and rows to
// zero. kInvalidArgument if a dtype is wrong.
absl::StatusOr<BagResults> BagResultsOf(KernelContext& context,
                                        const EmbeddingBagCall<KernelArguments>& call,
                                        const BagShape<CheckedInt>& shape, bool skips);

// Range of a bag in the indices.
struct BagRange {
  int64_t begin, end;
};
// Returns the range of bag `b`. kInvalidArgument if the offsets do not begin at 0, decrease, or
// exceed the number of indices.
absl::StatusOr<BagRange> BagRangeOf(const EmbeddingBagCall<KernelArguments>& call, int64_t b);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_EMBEDDING_BAGS_H_
