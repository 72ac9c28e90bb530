// The only way to change a graph. Keeps use lists, order and unique names; everything else is the
// verifier's business.
#ifndef BELAY_EXIR_IR_GRAPH_EDITOR_H_
#define BELAY_EXIR_IR_GRAPH_EDITOR_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/graph.h"

namespace belay::exir {

// Operations are O(size of what they touch), independent of the graph's size, except where said;
// making an editor is O(graph). Preconditions are on ids being live. `graph` must outlive the
// editor, and only one editor may exist for it at a time. Names are wishes everywhere: values get
// one that no other value has, nodes one that no other node has ("x" becomes "x_1", …); a value
// whose wish is its node's shares the name that the node gets. Ids are never reused, names are.
class GraphEditor {
 public:
  explicit GraphEditor(Graph& graph);
  const Graph& graph() const { return graph_; }

  void SetName(std::string name);
  // A name that neither a value nor a node has: `wish`, or `wish_1`, `wish_2`, … Reserves nothing.
  std::string UniqueName(std::string_view wish);

  // Values without a producer. The name is made unique.
  ValueId AddInput(std::string_view name, ValueType type);
  ValueId InsertInput(size_t position, std::string_view name, ValueType type);
  // Precondition: no users and not an output. O(inputs), as InsertInput.
  void EraseInput(ValueId value);

  struct NewNode {
    std::string name;  // wish
    const OpOverload* target = nullptr;
    std::vector<Argument> arguments;
    std::vector<std::string> argument_names = {};
    Provenance provenance = {};
    int64_t debug_handle = 0;
    std::string delegation_tag = {};
  };
  struct NewOutput {
    NodeOutput::Kind kind = NodeOutput::Kind::kValue;
    std::vector<std::pair<std::string, ValueType>> values;  // name wishes and types
  };
  // Inserts before `before`; at the end when `before` is invalid. Values are created for the
  // outputs.
  NodeId InsertNode(NodeId before, NewNode node, std::vector<NewOutput> outputs);
  // One output that is a value named like the node. Returns the value.
  ValueId InsertOp(NodeId before, NewNode node, ValueType type);
  // Precondition: no result has users or is an output.
  void EraseNode(NodeId node);
  void MoveBefore(NodeId node, NodeId before);  // at the end when `before` is invalid
  // Rearranges all nodes. Precondition: `order` is a permutation of the live nodes. O(nodes).
  void Reorder(const std::vector<NodeId>& order);

  void SetTarget(NodeId node, const OpOverload* target);
  void SetArgument(NodeId node, size_t index, Argument argument);
  void SetArguments(NodeId node, std::vector<Argument> arguments,
                    std::vector<std::string> names = {});
  void SetDelegationTag(NodeId node, std::string tag);
  void SetDebugHandle(NodeId node, int64_t handle);
  void SetProvenance(NodeId node, Provenance provenance);
  // Replaces the k-th output by one without values. Precondition: its values are unused.
  void DropOutput(NodeId node, size_t k);

  void SetType(ValueId value, ValueType type);
  void RenameValue(ValueId value, std::string_view wish);
  // In all nodes and in the outputs. Returns the number of places. A `from` inside `to` stays.
  size_t ReplaceAllUses(ValueId from, Argument to);
  // In one node only.
  size_t ReplaceUsesIn(NodeId node, ValueId from, Argument to);
  void SetOutputs(std::vector<Argument> outputs);

  // Erases nodes without side effects (kSideEffect, mutable schemas, higher-order and delegate
  // calls, operators that return nothing) whose results are unused, from the end to the start.
  // O(nodes). Returns how many. Opaque operators are kept.
  size_t EraseDeadNodes();

 private:
  // Where each node stands in a long list of users, so that one entry is found and removed at once.
  // Short lists are searched.
  struct UseIndex {
    absl::flat_hash_map<NodeId, std::vector<uint32_t>> positions;  // of the entries of a node
    std::vector<uint32_t>
        slots;  // parallel to the users: the entry's index in its node's `positions`
  };
  struct NameState {
    bool value = false, node = false;  // in use for one
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
  absl::flat_hash_map<ValueId, uint32_t> output_uses_;  // places in the graph's outputs
  absl::flat_hash_map<ValueId, UseIndex> use_indices_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_GRAPH_EDITOR_H_
