// A graph: values, and nodes that compute values from values, in execution order.
//
// Graphs are values: an arena of nodes and an arena of values with dense ids; copying a graph
// copies two vectors, and ids stay the same. Reading is through the const interface; all changes go
// through GraphEditor (graph_editor.h). Thread-compatible.
#ifndef BELAY_EXIR_IR_GRAPH_H_
#define BELAY_EXIR_IR_GRAPH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "exir/ir/argument.h"
#include "exir/ir/entity.h"
#include "exir/op_definition/op_registry.h"
#include "exir/op_definition/tensor_meta.h"
#include "exir/symbolic/sym_expr.h"

namespace belay::exir {

// --- Values ---

struct SymIntType {
  SymExpr expr;
  bool operator==(const SymIntType&) const = default;
};
struct SymFloatType {
  SymExpr expr;
  bool operator==(const SymFloatType&) const = default;
};
struct SymBoolType {
  SymExpr expr;
  bool operator==(const SymBoolType&) const = default;
};
struct CustomObjectType {
  std::string class_name;
  bool operator==(const CustomObjectType&) const = default;
};
struct TokenType {
  bool operator==(const TokenType&) const = default;
};
// A graph input that was specialized at export: it accepts only this value (docs/pt2-format.md §8
// constant_input).
struct ConstantType {
  std::variant<None, int64_t, double, bool, std::string> value;
  bool operator==(const ConstantType&) const;  // doubles by bits
};
using ValueType = std::variant<TensorMeta, SymIntType, SymFloatType, SymBoolType, CustomObjectType,
                               TokenType, ConstantType>;

struct Value {
  std::string name;  // for display; unique in its graph
  ValueType type;
  NodeId producer;  // invalid for a graph input
  // One entry per use by a node (a node that uses it twice is listed twice), in no particular
  // order. Does not include uses as graph output.
  std::vector<NodeId> users;

  const TensorMeta* tensor() const { return std::get_if<TensorMeta>(&type); }
};

// --- Nodes ---

// One return of the operator: a value, a list of values (Tensor[]), or nothing (an undefined
// tensor, or None).
struct NodeOutput {
  enum class Kind : uint8_t { kValue, kList, kNone };
  Kind kind = Kind::kNone;
  // Values of the node's graph: exactly one for kValue, none for kNone.
  std::vector<ValueId> values;

  static NodeOutput Single(ValueId v) { return {Kind::kValue, {v}}; }
  static NodeOutput ListOf(std::vector<ValueId> v) { return {Kind::kList, std::move(v)}; }
  bool operator==(const NodeOutput&) const = default;
};

// The source location of a node. Strings are shared between nodes and never null: empty means
// unknown.
struct Provenance {
  std::shared_ptr<const std::string>
      file;  // the innermost frame of the archive's stack trace outside torch
  int64_t line = 0;
  std::shared_ptr<const std::string> module;  // innermost nn.Module path: "layers.0.attn"
  std::shared_ptr<const std::string>
      module_type;  // and its class: "torch.nn.modules.linear.Linear"
  std::shared_ptr<const std::string>
      function;  // the function of torch that was called: "builtin_function_or_method.linear"
  std::shared_ptr<const std::string>
      origin;  // name of the oldest `from_node` ancestor with its graph id: "relu@1397"
  // "model.py:12"; "" if unknown.
  std::string ToString() const;
  friend bool operator==(const Provenance& a, const Provenance& b);
};

struct Node {
  std::string name;  // for display; unique among the graph's nodes
  const OpOverload* target = nullptr;
  // With a schema: one per schema argument, including defaults. Without: as many as the call has.
  std::vector<Argument> arguments;
  // Only for targets without a schema: the names of `arguments` ("" for positional ones).
  std::vector<std::string> argument_names;
  std::vector<NodeOutput> outputs;
  Provenance provenance;
  int64_t debug_handle = 0;    // 0: none yet (docs/lowering.md §4.1)
  std::string delegation_tag;  // "": not tagged

  // Returns the argument with this name (OpOverload::ArgumentIndex); None if the operator has no
  // such argument or the call is shorter.
  const Argument& argument(std::string_view argument_name) const;
  // The same if it is a value; nullptr otherwise.
  const ValueId* value_argument(std::string_view argument_name) const {
    return argument(argument_name).get_if<ValueId>();
  }
  // Returns the first argument, the main operand of most operators: `self`, `input`, `tensors`.
  // None for a call without arguments.
  const Argument& operand() const;

  // Returns the produced values in order, with lists flattened. Position k is getitem index k in
  // external contracts.
  std::vector<ValueId> results() const;
};

// Calls `fn` for each subgraph that an argument of the node refers to, in order.
void ForEachSubgraph(const Node& node, const std::function<void(GraphId)>& fn);
bool HasSubgraphs(const Node& node);

// --- Graph ---

class Graph {
 public:
  // Defined in the .cc, so that files that only read graphs do not compile it.
  Graph();
  Graph(const Graph& other);
  Graph(Graph&& other) noexcept;
  Graph& operator=(const Graph& other);
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  const std::string& name() const { return name_; }  // "" for the top graph; "true_graph_0"
  absl::Span<const ValueId> inputs() const { return inputs_; }
  // Values or literals (None, numbers, strings).
  absl::Span<const Argument> outputs() const { return outputs_; }

  const Node& node(NodeId id) const { return nodes_[id].node; }
  const Value& value(ValueId id) const { return values_[id]; }
  bool contains(NodeId id) const { return nodes_.contains(id) && nodes_[id].alive; }
  bool contains(ValueId id) const { return values_.contains(id); }
  // Number of live nodes; ids are below node_id_limit().
  size_t num_nodes() const { return num_nodes_; }
  size_t node_id_limit() const { return nodes_.size(); }
  size_t value_id_limit() const { return values_.size(); }

  // Execution order.
  NodeId first() const { return first_; }  // invalid if the graph is empty
  NodeId last() const { return last_; }
  NodeId next(NodeId id) const { return nodes_[id].next; }
  NodeId previous(NodeId id) const { return nodes_[id].previous; }
  class NodeRange;
  NodeRange nodes() const;  // for (NodeId id : graph.nodes()); the graph must not change meanwhile
  std::vector<NodeId> NodeList() const;
  // Returns a number for each live node, increasing in execution order, for comparing positions.
  // O(nodes).
  SecondaryMap<NodeId, uint32_t> Positions() const;

  bool IsInput(ValueId id) const { return !values_[id].producer.valid(); }
  bool IsOutput(ValueId id) const;  // O(outputs)

  // Whether the value occurs once among the arguments of all nodes and is not an output. Then a
  // pass that rewrites its user may rewrite or erase its producer. O(outputs).
  bool HasOneUse(ValueId id) const { return values_[id].users.size() == 1 && !IsOutput(id); }
  // Returns the user of a value that HasOneUse(); nullopt for other values. O(outputs).
  std::optional<NodeId> SoleUser(ValueId id) const {
    return HasOneUse(id) ? std::optional(values_[id].users[0]) : std::nullopt;
  }
  // Returns the first of the node's results(). Precondition: it has a result. O(1).
  ValueId ResultOf(NodeId id) const;
  // Returns the type of a tensor. Precondition: the value is a tensor.
  const TensorMeta& MetaOf(ValueId id) const { return *values_[id].tensor(); }

 private:
  friend class GraphEditor;
  friend class GraphBreaker;  // in the verifier's test: creates invalid graphs
  struct Entry {
    Node node;
    NodeId previous, next;
    bool alive = true;
  };
  std::string name_;
  PrimaryMap<NodeId, Entry> nodes_;
  PrimaryMap<ValueId, Value> values_;
  std::vector<ValueId> inputs_;
  std::vector<Argument> outputs_;
  NodeId first_, last_;
  size_t num_nodes_ = 0;
};

class Graph::NodeRange {
 public:
  class iterator {
   public:
    iterator(const Graph* graph, NodeId id) : graph_(graph), id_(id) {}
    NodeId operator*() const { return id_; }
    iterator& operator++() {
      id_ = graph_->next(id_);
      return *this;
    }
    bool operator==(const iterator& o) const { return id_ == o.id_; }

   private:
    const Graph* graph_;
    NodeId id_;
  };
  explicit NodeRange(const Graph* graph) : graph_(graph) {}
  iterator begin() const { return iterator(graph_, graph_->first()); }
  iterator end() const { return iterator(graph_, NodeId()); }

 private:
  const Graph* graph_;
};
inline Graph::NodeRange Graph::nodes() const { return NodeRange(this); }

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_GRAPH_H_
