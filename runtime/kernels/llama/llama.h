// Operators that ExecuTorch defines for language models (namespace llama). Updates of caches copy
// tokens and have only reference kernels.
#ifndef BELAY_RUNTIME_KERNELS_LLAMA_LLAMA_H_
#define BELAY_RUNTIME_KERNELS_LLAMA_LLAMA_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// row = H row / sqrt(size), with the Hadamard matrix H of order `size`, a power of two. Each
// element has an error of at most (log2(size) + 2) * 2^-24 * sum of |row[i]| / sqrt(size).
void HadamardRow(float* row, int64_t size);

// custom_sdpa, sdpa_with_kv_cache and custom_quantized_sdpa by packed attention
// (runtime/kernels/packed/attention.h). Float32 operands are used in place. Used tokens of other
// operands are converted to float32 in working memory of 4 bytes per element of the caches.
// The time depends on the used length of the caches; with a mask, also on a scan of it.
absl::Span<const Kernel> CacheAttentionHighwayKernels();

// fast_hadamard_transform, computed in float32. One Hadamard matrix of order 28 * 2^k takes
// 28 * 28 * 2^k additions.
absl::Span<const Kernel> HadamardHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_LLAMA_LLAMA_H_
