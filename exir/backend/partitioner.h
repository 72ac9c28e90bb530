// What decides which parts of a program go to which backend.
//
// Source: docs/lowering.md §1c. A partitioner reads a const program and answers with tags, so it can't
// change what it partitions: purity by type.
#ifndef BELAY_EXIR_BACKEND_PARTITIONER_H_
#define BELAY_EXIR_BACKEND_PARTITIONER_H_

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

// Tags: all nodes (of one graph) with the same tag become one delegate call. A node without a tag
// stays, and so does one whose tag is not in `delegation`: such tags mean nothing, on whatever they
// are. When a node with bodies (cond) is
// tagged, its bodies move with it and tags inside them mean nothing.
struct PartitionResult {
  struct NodeTag {
    GraphId graph = ExportedProgram::kTop;
    NodeId node;
    std::string tag;
  };
  // A constant (parameter, buffer, tensor constant) that moves into the delegate of this tag. Top
  // graph only. When nodes of other tags use it as well, each of their delegates gets it too; when
  // nodes that stay use it, the program keeps it besides. A mutated buffer moves only when the same
  // delegate has all its uses and computes its new value; otherwise it stays and is an argument.
  struct InputTag {
    ValueId input;
    std::string tag;
  };
  std::vector<NodeTag> nodes;
  std::vector<InputTag> inputs;
  // Constants that must not be duplicated when users outside the tag exist (docs/lowering.md row 33).
  std::vector<ValueId> no_copy;
  // Tag → where it goes. The order is the order of work. An empty map delegates nothing.
  std::vector<std::pair<std::string, DelegationSpec>> delegation;
  bool has_delegation = true;  // false: an answer without a map, which is an error
  // Why nodes were not taken, for reports: one reason per node.
  struct Rejection {
    GraphId graph = ExportedProgram::kTop;
    NodeId node;
    std::string reason;
  };
  std::vector<Rejection> rejections;
};

// Operators that should reach the partitioner undecomposed, and which nodes of them (docs/lowering.md
// row 19).
struct PreservedOps {
  std::vector<const OpOverload*> ops;
  // Empty: all nodes of `ops`.
  std::function<bool(const ExportedProgram&, GraphId, NodeId)> filter;
};

class Partitioner {
 public:
  virtual ~Partitioner() = default;
  // Must give the same answer for the same program. Errors are passed to the caller.
  virtual absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const = 0;
  virtual PreservedOps OpsToNotDecompose(const ExportedProgram&) const { return {}; }
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONER_H_
