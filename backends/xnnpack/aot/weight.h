// Constants as operands of operations.
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

// Returns the constant tensor of the top graph. Null for any other value, and for constants that
// the program mutates.
const exir::ConstantTensor* ConstantOf(const exir::ExportedProgram& program, exir::ValueId value);

struct Weight {
  exir::ConstantTensor tensor;
  // For a dequantized int8 tensor: one scale, or one per index of `channel_dim`.
  std::vector<float> scales = {};
  int channel_dim = 0;
  // For an int4 matrix in groups: elements of a row that share a scale. `scales` are then
  // [channels, groups].
  int64_t group_size = 0;

  bool is_quantized() const { return !scales.empty(); }
};

// Returns a constant seen through permutations and either reshapes, before which it is row-major, or
// at most one dequantization with zero points 0.
// Each of these nodes must have a single use, so that it can be delegated with its user. nullopt
// for any other value.
std::optional<Weight> WeightOf(const exir::ExportedProgram& program, exir::ValueId value);
// Nodes between the constant and the value of WeightOf(), last one first.
std::vector<exir::NodeId> WeightNodes(const exir::ExportedProgram& program, exir::ValueId value);

// Returns the dequantized elements of a weight as float32, with its dimensions in this memory
// order. Errors as ConstantTensor::Dense; kUnimplemented for groups.
absl::StatusOr<exir::Storage> Dequantized(const Weight& weight, absl::Span<const uint8_t> order);

// Returns the operand dimensions of permute_copy or transpose_copy in the order of the result.
// nullopt for another node, and for invalid dimensions.
std::optional<Sizes> PermutationOf(const exir::Graph& graph, const exir::Node& node);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_WEIGHT_H_
