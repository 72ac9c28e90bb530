#ifndef BELAY_EXIR_PASSES_FUSE_QUANTIZED_OPS_H_
#define BELAY_EXIR_PASSES_FUSE_QUANTIZED_OPS_H_

#include <string>

#include "absl/container/btree_set.h"
#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Replaces dequantize -> operator -> quantize by an operator on quantized numbers:
//
//   data movement, all tensors with equal parameters, also `cat`   -> the same on quantized values
//   add, or add and relu, of tensors of one shape                  -> quantized_decomposed.add
//   embedding in a weight quantized per row or in groups of a row,
//     directly or converted to another floating-point dtype, or
//     dequantized in float16 or bfloat16 by a product              -> embedding_byte, or
//     embedding_4bit or embedding_2bit (with packed weights) if the range has as many bits, and the
//     conversion of its result
//
// The first and the last are bit-identical. `add` may differ by one step, because the operator
// rounds the reciprocal of the scale to float32. Dequantized values with other users are kept, and
// their weights are not packed. Weights with zero points beyond 2^22, or unknown ones of 32 bits or
// more, are dequantized as before. PropagateConstants must follow: it computes the zero points that
// embeddings take as floats. `changing` names tensors that are not constant, because another method
// writes to them.
// Source: docs/edge-dialect.md §5 (quantized fusion) and §6 row 1.
Pass FuseQuantizedOps(absl::btree_set<std::string> changing = {});

// Only the embeddings of FuseQuantizedOps. Without it, a program dequantizes the whole table in
// each call.
Pass FuseQuantizedEmbeddings(absl::btree_set<std::string> changing = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_FUSE_QUANTIZED_OPS_H_
