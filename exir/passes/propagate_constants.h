#ifndef BELAY_EXIR_PASSES_PROPAGATE_CONSTANTS_H_
#define BELAY_EXIR_PASSES_PROPAGATE_CONSTANTS_H_

#include <cstdint>
#include <string>

#include "absl/container/btree_set.h"
#include "exir/pass/pass.h"

namespace belay::exir {

struct PropagateConstantsOptions {
  // By how much the program's constants may grow, all together; what goes because nothing reads it
  // any more counts against what comes.
  uint64_t max_growth_bytes = uint64_t{1} << 20;
  // By how much one node may make them grow.
  uint64_t max_node_growth_bytes = uint64_t{1} << 18;
  // Of one result, also of those that only other constants are computed from.
  uint64_t max_tensor_bytes = uint64_t{1} << 30;
  // Tensors that are no constants because another method of the program writes to them.
  absl::btree_set<std::string> changing = {};
};

// Computes now what depends on nothing but parameters, buffers, constants and literals, and makes
// it a constant "_prop_tensor_constant<N>"; constants that nothing reads any more go. Only in the
// top graph. Results are bit for bit what the reference kernels compute when the program runs;
// other kernels are within their bounds of that.
//
// A weight that may not grow the program because its original stays, and that a product of matrices
// reads transposed (mat2 of mm and addmm), becomes a constant with the original's bytes and
// permuted strides: such a constant is neither contiguous nor channels last
// (EdgeVerifierOptions::any_order), and costs nothing in the file.
//
// Not constant: what ConstantInputs (exir/passes/constant_input.h) leaves out. Not computed: random
// operators, those with effects or with sizes that data decide, results that are returned, fills and
// the like, which are smaller as nodes (but what is computed from them is), and dequantizations,
// which would undo what quantization saved. A call that fails is left for the runtime to fail.
//
// No result may be larger than all constants together and the growth allowed. The work is bounded
// by the constants' bytes: some steps for each, plus a second's worth; what would take longer, such
// as a product of two large weights, stays. Source: docs/edge-dialect.md §6 row 1.
Pass PropagateConstants(PropagateConstantsOptions options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_PROPAGATE_CONSTANTS_H_
