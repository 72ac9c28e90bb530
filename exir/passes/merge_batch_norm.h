#ifndef BELAY_EXIR_PASSES_MERGE_BATCH_NORM_H_
#define BELAY_EXIR_PASSES_MERGE_BATCH_NORM_H_

#include <cstdint>
#include <string>

#include "absl/container/btree_set.h"
#include "exir/pass/pass.h"

namespace belay::exir {

struct MergeBatchNormOptions {
  // By how much the program's constants may grow, all together. They shrink unless a weight or a
  // statistic is read elsewhere, too, and stays.
  uint64_t max_growth_bytes = 0;
  // Tensors that are no constants because another method of the program writes to them.
  absl::btree_set<std::string> changing = {};
};

// Makes a batch norm with given statistics part of what computes its input:
//
//   convolution, of any rank, transposed and in groups, too   with or without bias
//   addmm, mm, linear of a matrix                             the weight as it lies, or permuted
//
//   weight' = weight · f    bias' = (bias - mean) · f + shift    f = scale / sqrt(var + eps)
//
// computed in double and rounded once to the weight's dtype, also where it is float16 or bfloat16.
// The new constants are called "<weight>_merged" and "<weight>_merged_bias", after the weight's
// name. Only in the top graph; so are batch norms behind a batch norm.
//
// Left as it is: a batch norm without such a producer; one whose other results, or whose input, is
// read elsewhere; operands that are not constant (ConstantInputs in exir/passes/constant_input.h)
// or quantized; and one whose new numbers the dtype does not hold: one that is infinite or NaN, or
// a channel whose weights are so small that, rounded, they are off by more than the dtype's unit
// roundoff u times the sum of their magnitudes. So a result differs from the exact one, for
// |input| <= x and a kernel that sums within c, by at most (u + c) · (x · Σ|weight'| + |bias'|).
//
// A backend runs this and then PropagateConstants on the program that its Preprocess is given, whose
// constants are its own:
//
//   ABSL_ASSIGN_OR_RETURN(program, RunPasses(std::move(program), {MergeBatchNorm(),
//                                                                 PropagateConstants()}));
//
// O(nodes + elements of what is merged).
Pass MergeBatchNorm(MergeBatchNormOptions options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_MERGE_BATCH_NORM_H_
