#include "exir/ir/graph.h"

#include <bit>

#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

std::string_view TextOf(const std::shared_ptr<const std::string>& text) {
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

const Argument& NoArgument() {
  static const Argument& none = *new Argument();
  return none;
}

}  // namespace

bool ConstantType::operator==(const ConstantType& other) const {
  if (const double* a = std::get_if<double>(&value)) {
    const double* b = std::get_if<double>(&other.value);
    return b != nullptr && std::bit_cast<uint64_t>(*a) == std::bit_cast<uint64_t>(*b);
  }
  return value == other.value;
}

std::string Provenance::ToString() const {
  const std::string_view name = TextOf(file);
  if (name.empty()) return "";
  return line == 0 ? std::string(name) : absl::StrCat(name, ":", line);
}

bool operator==(const Provenance& a, const Provenance& b) {
  return a.line == b.line && TextOf(a.file) == TextOf(b.file) &&
         TextOf(a.module) == TextOf(b.module) && TextOf(a.module_type) == TextOf(b.module_type) &&
         TextOf(a.function) == TextOf(b.function) && TextOf(a.origin) == TextOf(b.origin);
}

const Argument& Node::argument(std::string_view argument_name) const {
  const std::optional<int> index = target->ArgumentIndex(argument_name);
  if (!index.has_value() || static_cast<size_t>(*index) >= arguments.size()) return NoArgument();
  return arguments[*index];
}

const Argument& Node::operand() const { return arguments.empty() ? NoArgument() : arguments[0]; }

std::vector<ValueId> Node::results() const {
  std::vector<ValueId> results;
  for (const NodeOutput& output : outputs) {
    results.insert(results.end(), output.values.begin(), output.values.end());
  }
  return results;
}

void ForEachSubgraph(const Node& node, const std::function<void(GraphId)>& fn) {
  for (const Argument& argument : node.arguments) ForEachGraph(argument, fn);
}

bool HasSubgraphs(const Node& node) {
  bool has = false;
  ForEachSubgraph(node, [&](GraphId) { has = true; });
  return has;
}

Graph::Graph() = default;
Graph::Graph(const Graph& other) = default;
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(const Graph& other) = default;
Graph& Graph::operator=(Graph&& other) noexcept = default;
Graph::~Graph() = default;

std::vector<NodeId> Graph::NodeList() const {
  std::vector<NodeId> list;
  list.reserve(num_nodes_);
  for (NodeId id : nodes()) list.push_back(id);
  return list;
}

SecondaryMap<NodeId, uint32_t> Graph::Positions() const {
  SecondaryMap<NodeId, uint32_t> positions(nodes_.size());
  uint32_t position = 0;
  for (NodeId id : nodes()) positions[id] = position++;
  return positions;
}

bool Graph::IsOutput(ValueId id) const {
  bool found = false;
  for (const Argument& output : outputs_) {
    ForEachValue(output, [&](ValueId value) { found = found || value == id; });
    if (found) return true;
  }
  return false;
}

ValueId Graph::ResultOf(NodeId id) const {
  const std::vector<NodeOutput>& outputs = nodes_[id].node.outputs;
  size_t k = 0;
  while (outputs[k].values.empty()) ++k;
  return outputs[k].values[0];
}

}  // namespace belay::exir
