// What a node of an edge program is as a node of a payload.
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

// What the payload is for: compile spec "target", whose values are in this order.
enum class Target : uint8_t {
  kLocal,         // "local": what this backend's runtime executes
  kExecuTorch15,  // "executorch-1.5": every node type that the runtime of ExecuTorch 1.5 has
};
// kInvalidArgument: another key, another value, or one that is there twice.
absl::StatusOr<Target> TargetOf(absl::Span<const exir::CompileSpec> compile_specs);

// In which order of the dimensions a node wants its operands.
enum class Images : uint8_t {
  kNhwc,    // of rank 4, and its result is so
  kEither,  // element by element, or with numbers for each dimension
  kRows,    // as the program has them
};

struct Operation {
  NodeType type = NodeType::NONE;  // NONE: the result is the first operand
  Images images = Images::kEither;
  // Tensors, and numbers for tensors of one element.
  std::vector<std::variant<exir::ValueId, float>> operands;
  // Constants: of convolutions and FullyConnected, behind the operand. WeightOf() has the weight;
  // one of int8 is dequantized, if the operation does not compute on int8.
  std::optional<exir::ValueId> weight, bias;
  // The same where they are computed: of a batch norm, one number for each channel.
  std::vector<float> scales, shifts;
  uint32_t flags = 0;
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
  Window window;
  // There if it computes on int8, with the nodes that take its result, the last of which quantizes
  // it: they are part of it. Operands are of int8 then.
  struct Int8 {
    exir::ValueId result;
    std::vector<exir::NodeId> merged;
  };
  std::optional<Int8> int8;
  // By type, as Node has them, for dimensions as the program has them. Of StaticReshape: 0 for the one
  // that changes from call to call.
  Sizes numbers, more_numbers;
  float number = 0;

  bool has_bounds() const {
    return min != -std::numeric_limits<float>::infinity() ||
           max != std::numeric_limits<float>::infinity();
  }
};

// kUnimplemented, saying why, for a node that no payload for the target has.
absl::StatusOr<Operation> ReadOperation(const exir::ExportedProgram& program, exir::NodeId node,
                                        Target target);

// Whether a delegate for the target should have the node: ReadOperation reads it, and nothing that is
// of int8 in the program would become float32. kUnimplemented, saying why not.
absl::Status CheckTaken(const exir::ExportedProgram& program, exir::NodeId node, Target target);

// Whether the tensor is one of images in channels-last order, and not row-major as well.
bool IsChannelsLast(const exir::TensorMeta& meta);

// Whether relu, clamp and hardtanh may be bounds of it.
bool MayHaveBounds(NodeType type);

// The largest sizes: those that come about when each symbol is as large as it may be. Precondition:
// the value is an operand or result of an operation.
Sizes SizesOf(const exir::ExportedProgram& program, exir::ValueId value);
// nullopt: it has no upper bound, or is larger for a smaller symbol.
std::optional<int64_t> LargestSize(const exir::ExportedProgram& program, const exir::SymInt& size);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_OPERATION_H_
