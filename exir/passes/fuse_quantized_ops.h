#ifndef BELAY_EXIR_PASSES_FUSE_QUANTIZED_OPS_H_
#define BELAY_EXIR_PASSES_FUSE_QUANTIZED_OPS_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// Replaces dequantize -> operator -> quantize by an operator on quantized numbers:
//
//   data movement, all tensors with equal parameters, also `cat`   -> the same on quantized values
//   add, or add and relu, of tensors of one shape                  -> quantized_decomposed.add
//   embedding in a weight quantized per row or in groups of a row  -> embedding_byte, or
//     embedding_4bit or embedding_2bit (with packed weights) if the range has as many bits
//
// The first and the last are bit-identical. `add` may differ by one step, because the operator
// rounds the reciprocal of the scale to float32. Dequantized values with other users are kept.
// PropagateConstants must follow: it computes the zero points that embeddings take as floats.
// Source: docs/edge-dialect.md §5 (quantized fusion) and §6 row 1.
Pass FuseQuantizedOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_FUSE_QUANTIZED_OPS_H_
