// The only way to change a graph. Maintains use lists, order and unique names; all other invariants
// are checked by the verifier.
#ifndef BELAY_EXIR_IR_GRAPH_EDITOR_H_
#define BELAY_EXIR_IR_GRAPH_EDITOR_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/graph.h"

namespace belay::exir {

// Operations are O(size of what they change), independent of the graph's size, unless noted;
// constructing an editor is O(graph). Precondition everywhere: ids are live. `graph` must outlive
// the editor, and only one editor may exist for it at a time.
//
// Requested names are made unique ("x" becomes "x_1", …): a value's among the values, a node's
// among the nodes. A value whose requested name is that of its node gets the node's final name. Ids
// are never reused, names are.
class GraphEditor {
 public:
  explicit GraphEditor(Graph& graph);
  const Graph& graph() const { return graph_; }

  void SetName(std::string name);
  // Returns a name that neither a value nor a node has: `wish`, or `wish_1`, `wish_2`, … Does not
  // reserve it.
  std::string UniqueName(std::string_view wish);

  // Adds a value without a producer. The name is made unique.
  ValueId AddInput(std::string_view name, ValueType type);
  ValueId InsertInput(size_t position, std::string_view name, ValueType type);
  // Precondition: no users and not an output. O(inputs), as InsertInput.
  void EraseInput(ValueId value);

  struct NewNode {
    std::string name;  // requested name
    const OpOverload* target = nullptr;
    std::vector<Argument> arguments;
    std::vector<std::string> argument_names = {};
    Provenance provenance = {};
    int64_t debug_handle = 0;
    std::string delegation_tag = {};
  };
  struct NewOutput {
    NodeOutput::Kind kind = NodeOutput::Kind::kValue;
    std::vector<std::pair<std::string, ValueType>> values;  // requested names and types
  };
  // Inserts a node before `before`; at the end if `before` is invalid. Creates the values of the
  // outputs.
  NodeId InsertNode(NodeId before, NewNode node, std::vector<NewOutput> outputs);
  // Inserts a node with one output, a value with the node's name. Returns the value.
  ValueId InsertOp(NodeId before, NewNode node, ValueType type);
  // Precondition: no result has users or is an output.
  void EraseNode(NodeId node);
  void MoveBefore(NodeId node, NodeId before);  // at the end if `before` is invalid
  // Rearranges all nodes. Precondition: `order` is a permutation of the live nodes. O(nodes).
  void Reorder(const std::vector<NodeId>& order);

  void SetTarget(NodeId node, const OpOverload* target);
  void SetArgument(NodeId node, size_t index, Argument argument);
  void SetArguments(NodeId node, std::vector<Argument> arguments,
                    std::vector<std::string> names = {});
  void SetDelegationTag(NodeId node, std::string tag);
  void SetDebugHandle(NodeId node, int64_t handle);
  void SetProvenance(NodeId node, Provenance provenance);
  // Makes the k-th output one without values (kNone). Precondition: its values are unused.
  void DropOutput(NodeId node, size_t k);

  void SetType(ValueId value, ValueType type);
  void RenameValue(ValueId value, std::string_view wish);
  // Replaces uses in all nodes and graph outputs. Returns the number of uses. A `from` inside `to`
  // is kept.
  size_t ReplaceAllUses(ValueId from, Argument to);
  // Replaces uses in one node only.
  size_t ReplaceUsesIn(NodeId node, ValueId from, Argument to);
  void SetOutputs(std::vector<Argument> outputs);

  // Erases nodes with unused results and without side effects, from the end to the start. Kept as
  // nodes with side effects: kSideEffect, mutable schemas, higher-order and delegate calls,
  // operators that return nothing, opaque operators. Returns the number of erased nodes. O(nodes).
  size_t EraseDeadNodes();

 private:
  // Positions of each node in a long list of users, to find and remove an entry in O(1). Short
  // lists are searched.
  struct UseIndex {
    absl::flat_hash_map<NodeId, std::vector<uint32_t>> positions;  // of the entries of a node
    std::vector<uint32_t>
        slots;  // parallel to the users: the entry's index in its node's `positions`
  };
  struct NameState {
    bool value = false, node = false;  // whether an entity has the name
    uint32_t next_suffix = 1;
  };

  void AddUse(ValueId value, NodeId node);
  void RemoveUse(ValueId value, NodeId node);
  void AddUses(NodeId node, const Argument& argument);
  void RemoveUses(NodeId node, const Argument& argument);
  size_t ReplaceIn(NodeId node, Argument& argument, ValueId from, const Argument& to);
  bool IsUsed(ValueId value) const;
  std::string Unique(std::string_view wish, bool value, bool node);
  ValueId NewValue(std::string name, ValueType type, NodeId producer);
  void FreeValue(ValueId value);
  void Link(NodeId node, NodeId before);
  void Unlink(NodeId node);

  Graph& graph_;
  absl::flat_hash_map<std::string, NameState> names_;
  absl::flat_hash_map<ValueId, uint32_t> output_uses_;  // number of uses as graph outputs
  absl::flat_hash_map<ValueId, UseIndex> use_indices_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_GRAPH_EDITOR_H_
