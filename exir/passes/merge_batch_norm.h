#ifndef BELAY_EXIR_PASSES_MERGE_BATCH_NORM_H_
#define BELAY_EXIR_PASSES_MERGE_BATCH_NORM_H_

#include <cstdint>
#include <string>

#include "absl/container/btree_set.h"
#include "exir/pass_manager/pass.h"

namespace belay::exir {

struct MergeBatchNormOptions {
  // Maximum growth of the program's constants in total. They shrink unless a weight or a statistic
  // has other users and is kept.
  uint64_t max_growth_bytes = 0;
  // Tensors that are not constant because another method of the program writes to them.
  absl::btree_set<std::string> changing = {};
};

// Merges batch norms with given statistics into the producers of their inputs:
//
//   convolution, of any rank, also transposed and grouped     with or without bias
//   addmm, mm, linear of a matrix                             the weight as stored, or permuted
//
// also if reshapes between them cancel out, as [b * n, c] -> [b, n, c] -> [b * n, c], and into all
// parts of a concatenation of channels, if each part has such a producer with a weight of its own.
//
//   weight' = weight · f    bias' = (bias - mean) · f + shift    f = scale / sqrt(var + eps)
//
// Constant factors of convolutions and linear layers (layer scale), one or one per channel, are
// merged likewise, without a shift. Reshapes of a linear layer's rows, a permutation, and a ReLU
// whose sign they keep may be between. A number that is added to a ReLU's result is merged, too:
//
//   relu(op(x, w, b)) * f  ->  relu(op(x, w * f, b * f))           f > 0
//   relu(op(x, w, b)) + s  ->  clamp(op(x, w, b + s), min=s)
//
// Weights are computed in double and rounded once to their dtype, including float16 and bfloat16. The
// new constants are named "<weight>_merged" and "<weight>_merged_bias", after the weight's name.
// Top graph only. A batch norm of a batch norm is merged as well.
//
// Not merged:
// - a batch norm without such a producer;
// - one whose other results, or whose input, have other users;
// - operands that are not constant (ConstantInputs in exir/passes/constant_input.h) or quantized;
// - one whose merged values the dtype cannot represent: infinite or NaN, or a channel with weights
//   so small that rounding changes them by more than the dtype's unit roundoff u times the sum of
//   their magnitudes.
//
// So for |input| <= x and a kernel that accumulates within c, the error is at most
//   (u + c) · (x · Σ|weight'| + |bias'|).
//
// Backends run this and then PropagateConstants on the program that Preprocess gets; they own its
// constants:
//
//   ABSL_ASSIGN_OR_RETURN(program, RunPasses(std::move(program), {MergeBatchNorm(),
//                                                                 PropagateConstants()}));
//
// O(nodes + elements of what is merged).
Pass MergeBatchNorm(MergeBatchNormOptions options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_MERGE_BATCH_NORM_H_
