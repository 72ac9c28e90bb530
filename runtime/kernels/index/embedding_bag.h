// Sums, means and maxima of embedding rows.
#ifndef BELAY_RUNTIME_KERNELS_INDEX_EMBEDDING_BAG_H_
#define BELAY_RUNTIME_KERNELS_INDEX_EMBEDDING_BAG_H_

#include "absl/status/status.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/index.h"

namespace belay {

// _embedding_bag of float32 with contiguous rows, without weights per sample.
// Sums are computed in double, like those of the reference kernel: results are within 1 ULP.
absl::Status EmbeddingBag(KernelContext& context, const EmbeddingBagCall<KernelArguments>& call);
bool AcceptsEmbeddingBag(const KernelContext& context,
                         const EmbeddingBagCall<KernelArguments>& call);
uint64_t EmbeddingBagScratch(const KernelContext& context,
                             const EmbeddingBagCall<KernelArguments>& call);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_INDEX_EMBEDDING_BAG_H_
