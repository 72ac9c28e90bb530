// Constants as operations read them.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_WEIGHT_H_
#define BELAY_BACKENDS_XNNPACK_AOT_WEIGHT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/constant.h"
#include "exir/ir/exported_program.h"
#include "runtime/core/sizes.h"

namespace belay::xnnpack {

// The constant tensor of the top graph that the value is; null for anything else and for what the
// program changes.
const exir::ConstantTensor* ConstantOf(const exir::ExportedProgram& program, exir::ValueId value);

struct Weight {
  exir::ConstantTensor tensor;
  // Of a tensor of int8 that is dequantized: one number, or one for each place of `channel_dim`.
  std::vector<float> scales = {};
  int channel_dim = 0;

  bool is_quantized() const { return !scales.empty(); }
};

// A constant, and what one dequantization with zero points of 0 and permutations behind it make of it;
// each of these nodes must be read once, so that it goes where its reader goes. nullopt for anything
// else.
std::optional<Weight> WeightOf(const exir::ExportedProgram& program, exir::ValueId value);
// The nodes between the constant and the value of WeightOf(), from its end.
std::vector<exir::NodeId> WeightNodes(const exir::ExportedProgram& program, exir::ValueId value);

// The elements of a dequantized weight as float32, with its dimensions in this order in memory.
// Fails as ConstantTensor::Dense does.
absl::StatusOr<exir::Storage> Dequantized(const Weight& weight, absl::Span<const uint8_t> order);

// The dimensions of the operand of permute_copy or transpose_copy in the order of the result;
// nullopt for another node, and for dimensions that are not the operand's.
std::optional<Sizes> PermutationOf(const exir::Graph& graph, const exir::Node& node);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_WEIGHT_H_
