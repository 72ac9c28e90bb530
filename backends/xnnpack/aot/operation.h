// Maps nodes of edge programs to nodes of payloads.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_OPERATION_H_
#define BELAY_BACKENDS_XNNPACK_AOT_OPERATION_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/xnnpack/graph.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::xnnpack {

// Consumer of the payload. Values of the compile spec "target", in this order.
enum class Target : uint8_t {
  kLocal,         // "local": what this backend's runtime executes
  kExecuTorch15,  // "executorch-1.5": all node types that ExecuTorch 1.5 executes
};
// Compile specs.
struct Choices {
  Target target = Target::kLocal;
  // Edge operators that compute in delegates; empty: all. Data movement is not limited.
  std::vector<std::string> operators;
  // Datatypes of computing nodes. Values of the compile spec "precision".
  enum class Precision : uint8_t { kAll, kFloat32, kInt8 };  // "all", "float32", "int8"
  Precision precision = Precision::kAll;
};
// Parses target=, operators= (comma separated) and precision=.
//   kInvalidArgument  an unknown key or value, an operator without a rule, or a repeated key
absl::StatusOr<Choices> ChoicesOf(absl::Span<const exir::CompileSpec> compile_specs);

// The order of dimensions that a node requires of its operands.
enum class Images : uint8_t {
  kNhwc,    // rank 4, and so is the result
  kEither,  // elementwise, or with parameters per dimension
  kRows,    // the program's order
};

struct Operation {
  NodeType type = NodeType::NONE;  // NONE: the result is the first operand
  Images images = Images::kEither;
  // Tensors, and scalars that represent one-element tensors.
  std::vector<std::variant<exir::ValueId, float>> operands;
  // Constants of convolutions and FullyConnected, which follow the operand. WeightOf() returns the
  // weight. An int8 weight is dequantized unless the operation computes on int8.
  std::optional<exir::ValueId> weight, bias;
  // Computed weight and bias of a batch norm, or slopes of PReLU, one element per channel.
  std::vector<float> scales, shifts;
  // The constant that has the slopes of PReLU or, with a single one, LeakyReLU.
  std::optional<exir::ValueId> slopes;
  // Set if the node is the last operator of a decomposition: its name, and the operators before it,
  // which have no other users.
  std::string_view composite;
  std::vector<exir::NodeId> inner;
  uint32_t flags = 0;
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
  Window window;
  // Set if the operation computes on int8; its operands are then int8. `merged` are the users of
  // the result that become part of the operation; the last one quantizes.
  struct Int8 {
    exir::ValueId result;
    std::vector<exir::NodeId> merged;
  };
  std::optional<Int8> int8;
  // FullyConnected: its rows are quantized to int8 at run time, and its weight is int8 or int4.
  bool dynamic = false;
  // By type, as in Node, for dimensions in the program's order. For StaticReshape, 0 marks the size
  // that changes between calls.
  Sizes numbers, more_numbers;
  float number = 0;

  bool has_bounds() const {
    return min != -std::numeric_limits<float>::infinity() ||
           max != std::numeric_limits<float>::infinity();
  }
};

// kUnimplemented, with the reason, if payloads for the target cannot represent the node.
absl::StatusOr<Operation> ReadOperation(const exir::ExportedProgram& program, exir::NodeId node,
                                        Target target);

// OK if the node should be delegated: ReadOperation supports it, and no int8 tensor of the program
// would become float32. Else kUnimplemented, with the reason.
absl::Status CheckSupported(const exir::ExportedProgram& program, exir::NodeId node, Target target);

// As CheckSupported, for the operators and the precision of the choices as well.
absl::Status CheckChosen(const exir::ExportedProgram& program, exir::NodeId node,
                         const Choices& choices);

// Whether the tensor is images in channels last order that is not row-major as well.
bool IsChannelsLast(const exir::TensorMeta& meta);

// Whether a node of this type does more than to move elements and convert them.
bool Computes(NodeType type);

// Whether relu, clamp and hardtanh may become bounds of the node.
bool MayHaveBounds(NodeType type);

// Returns the sizes with each symbol at its maximum. Precondition: the value is an operand or
// result of an operation.
Sizes SizesOf(const exir::ExportedProgram& program, exir::ValueId value);
// nullopt if the size has no upper bound, or decreases in a symbol.
std::optional<int64_t> LargestSize(const exir::ExportedProgram& program, const exir::SymInt& size);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_OPERATION_H_
