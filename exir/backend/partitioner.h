// The interface of partitioners, which assign nodes of a program to backends.
//
// Source: docs/lowering.md §1c. `Partition` reads a const program and returns tags; the type
// guarantees that it cannot change the program.
#ifndef BELAY_EXIR_BACKEND_PARTITIONER_H_
#define BELAY_EXIR_BACKEND_PARTITIONER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

struct DelegationSpec {
  std::string backend_id;
  std::vector<CompileSpec> compile_specs;
};

// Tags: all nodes of one graph with the same tag become one delegate call. Nodes without a tag are
// not delegated. Tags that are not in `delegation` are ignored, on nodes and on inputs. If a node
// with subgraphs (cond) is tagged, its subgraphs move with it, and tags inside them are ignored.
struct PartitionResult {
  struct NodeTag {
    GraphId graph = ExportedProgram::kTop;
    NodeId node;
    std::string tag;
  };
  // A constant (parameter, buffer, tensor constant) that moves into the delegate of this tag. If
  // nodes of other tags also use it, each of their delegates gets it as well. If nodes that are not
  // delegated use it, the program also keeps it. A mutated buffer moves only if the same delegate
  // has all its uses and computes its new value; otherwise it remains in the program and is passed
  // as an argument.
  //
  // In a subgraph: an input that is the same constant in every call
  // (exir/ir/subgraph_operands.h). It moves into each delegate of the subgraph that uses it, so
  // that a loop prepares it once. If all uses move, the control-flow node no longer passes it.
  struct InputTag {
    ValueId input;
    std::string tag;
    GraphId graph = ExportedProgram::kTop;
  };
  std::vector<NodeTag> nodes;
  std::vector<InputTag> inputs;
  // Constants that must not be duplicated if users outside the tag exist (docs/lowering.md row 33).
  std::vector<ValueId> no_copy;
  // Maps a tag to its backend and compile specs. Tags are processed in this order. An empty map
  // delegates nothing.
  std::vector<std::pair<std::string, DelegationSpec>> delegation;
  bool has_delegation = true;  // false: the partitioner returned no map, which is an error
  // Why a node was not delegated, for reports: one reason per node.
  struct Rejection {
    GraphId graph = ExportedProgram::kTop;
    NodeId node;
    std::string reason;
  };
  std::vector<Rejection> rejections;
};

// Operators that should reach the partitioner undecomposed, and for which nodes (docs/lowering.md
// row 19).
struct PreservedOps {
  std::vector<const OpOverload*> ops;
  // Empty: all nodes of `ops`.
  std::function<bool(const ExportedProgram&, GraphId, NodeId)> filter;
};

// One operator that a backend computes on int8 tensors: its float32 operands are dequantized and its
// result is quantized, with scales and zero points per tensor that are known ahead of time.
struct QuantizationPattern {
  enum class Kind : uint8_t {
    // Multiplies an activation by an int8 constant with one scale per output channel.
    kAnchor,
    // Operands and result may have any parameters; all operands are activations of equal sizes.
    kSum,
    // Operands and result have the same parameters.
    kMovement,
    // Elementwise. One or more such operators that compute a function of one activation, and
    // scalars, become one operation on int8.
    kTable,
  };
  std::string op;  // OpOverload::name() of the ATen operator; several patterns may have the same
  Kind kind = Kind::kAnchor;
  // Whether it may follow an anchor or a sum as part of the same operation, before the result is
  // quantized: relu, hardtanh.
  bool bounds = false;
  // Whether this node is supported. Empty: all nodes of the operator.
  std::function<bool(const ExportedProgram&, NodeId)> accepts = {};
};
struct QuantizationPatterns {
  std::vector<QuantizationPattern> patterns;
  // Whether anchors and sums are computed on int8 only if their result is quantized. Otherwise they
  // may return float32.
  bool quantizes_results = false;
  // Whether anchors add biases as int32, in steps of the input's scale times the weight's. Biases
  // of float32 are rounded to such steps.
  bool integer_biases = false;
};

class Partitioner {
 public:
  virtual ~Partitioner() = default;
  // Must be deterministic: the same program gives the same answer. Errors are passed to the caller.
  virtual absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const = 0;
  virtual PreservedOps OpsToNotDecompose(const ExportedProgram&) const { return {}; }
  // Transforms a method's program before its operators are decomposed, and returns whether it
  // changed. The program is in the TRAINING or ATEN dialect, and the result must be valid in the
  // same dialect. Not called for programs that are in the edge dialect already (docs/lowering.md
  // row 19). Errors are passed to the caller. Must be deterministic, as Partition. Default: changes
  // nothing.
  virtual absl::StatusOr<bool> TransformBeforeDecomposition(ExportedProgram&) const {
    return false;
  }
  // Operators to quantize statically (exir/quantize), since the backend then computes them on
  // integers. Default: none.
  virtual QuantizationPatterns StaticQuantization() const { return {}; }
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONER_H_
