#ifndef BELAY_EXIR_PASSES_PROPAGATE_CONSTANTS_H_
#define BELAY_EXIR_PASSES_PROPAGATE_CONSTANTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/btree_set.h"
#include "exir/pass_manager/pass.h"

namespace belay::exir {

struct PropagateConstantsOptions {
  // Maximum growth of the program's constants in total. Constants that become unused count against
  // new ones, and equal ones count once. nullopt: a quarter of the constants, at least 1 MiB and at
  // most 16 MiB.
  std::optional<uint64_t> max_growth_bytes = std::nullopt;
  // Maximum growth by one node. nullopt: half of the total growth, at least 1 MiB.
  std::optional<uint64_t> max_node_growth_bytes = std::nullopt;
  // Maximum size of one result, including intermediate results that only other constants use.
  uint64_t max_tensor_bytes = uint64_t{1} << 30;
  // Tensors that are not constant because another method of the program writes to them.
  absl::btree_set<std::string> changing = {};
  // Folds only operands of control flow, such as a transposed weight of a loop.
  bool only_subgraph_operands = false;
  // Folds only results that depend on a product or a convolution, before a backend replaces these by
  // operators of its own, which cannot be folded. Weights and their views stay as they are.
  bool only_products = false;
};

// Folds nodes that depend only on parameters, buffers, constants and literals into constants
// "_prop_tensor_constant<N>", and erases constants that become unused. Top graph only. Results are
// bit-identical to those of the reference kernels at run time; other kernels are within their
// tolerances of that.
//
// A weight that a matmul reads transposed (mat2 of mm and addmm), and that may not grow the program
// because its original is kept, becomes a constant with the original's bytes and permuted strides.
// Such a constant is neither contiguous nor channels last (EdgeVerifierOptions::any_order), and
// costs nothing in the file.
//
// Inputs that ConstantInputs (exir/passes/constant_input.h) excludes are not constant. Not folded:
// - random operators, and those with side effects or data-dependent sizes;
// - results that the program returns;
// - fills and similar operators, which are smaller as nodes (but nodes computed from them are
//   folded);
// - dequantizations, which would undo the savings of quantization.
//
// A call that fails is kept, and fails at run time.
//
// No result may be larger than all constants together plus the allowed growth. The work is bounded
// by the constants' bytes: some steps per byte plus a second's worth. Nodes that would take longer,
// such as a matmul of two large weights, are kept. Source: docs/edge-dialect.md §6 row 1.
Pass PropagateConstants(PropagateConstantsOptions options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_PROPAGATE_CONSTANTS_H_
