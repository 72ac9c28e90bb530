#include "runtime/kernels/operands/embedding_bags.h"

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/operands/index_walk.h"
#include "runtime/kernels/operands/operands.h"

namespace belay {

absl::StatusOr<BagResults> BagResultsOf(KernelContext& context,
                                        const EmbeddingBagCall<KernelArguments>& call,
                                        const BagShape<CheckedInt>& shape, bool skips) {
  const DType index_type = call.IndexType();
  const bool has_rows = static_cast<BagMode>(call.mode) == BagMode::kMax;
  const Dims<CheckedInt> table({shape.bags, shape.features}), vector({shape.bags});
  const Dims<CheckedInt> bag_of({skips ? CheckedInt(0) : shape.indices});
  BagResults results;
  ABSL_ASSIGN_OR_RETURN(results.out, OutputOf(context, 0, call.weight->dtype, table));
  ABSL_ASSIGN_OR_RETURN(results.offset2bag, OutputOf(context, 1, index_type, bag_of));
  ABSL_ASSIGN_OR_RETURN(results.bag_size, OutputOf(context, 2, index_type, vector));
  ABSL_ASSIGN_OR_RETURN(results.rows, OutputOf(context, 3, index_type, has_rows ? table : vector));
  FillZero(*results.offset2bag);
  FillZero(*results.rows);
  return results;
}

absl::StatusOr<BagRange> BagRangeOf(const EmbeddingBagCall<KernelArguments>& call, int64_t b) {
  const TensorView& offsets = *call.offsets;
  const int64_t count = call.indices->sizes[0];
  const auto offset = [&](int64_t i) { return ReadIndex(offsets, i * offsets.strides[0]); };
  const int64_t begin = offset(b), end = b + 1 < offsets.sizes[0] ? offset(b + 1) : count;
  if (begin < 0 || end < begin || end > count || (b == 0 && begin != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("_embedding_bag: bag ", b, " from ", begin, " to ", end,
                     "; offsets must begin at 0, rise, and end within the ", count, " indices"));
  }
  return BagRange{begin, end};
}

}  // namespace belay
