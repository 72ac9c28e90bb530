// Embeddings with quantized weights.
#ifndef BELAY_RUNTIME_KERNELS_QUANTIZE_QUANTIZED_EMBEDDING_H_
#define BELAY_RUNTIME_KERNELS_QUANTIZE_QUANTIZED_EMBEDDING_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// embedding_byte, embedding_4bit and embedding_2bit with float32 scales, to any floating-point
// type. Each step is rounded as in the reference kernels: results have the same bits.
absl::Span<const Kernel> QuantizedEmbeddingHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_QUANTIZE_QUANTIZED_EMBEDDING_H_
