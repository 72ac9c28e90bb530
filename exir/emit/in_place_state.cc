#include "exir/emit/in_place_state.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "exir/op_definition/op_table.h"

namespace belay::exir {
namespace {

struct Form {
  std::string_view op, in_place;
  bool always = false;  // the source program writes in place as well
};
// Operators with an in-place kernel that writes only the changed elements.
constexpr Form kForms[] = {
    {"aten.index_copy.default", "aten.index_copy_.default"},
    {"aten.index_put.default", "aten.index_put_.default"},
    {"aten.select_scatter.default", "belay.select_scatter_.default"},
    {"aten.slice_scatter.default", "belay.slice_scatter_.default"},
    {"llama.update_cache_functional.default", "belay.update_cache_.default", /*always=*/true},
};

bool SameLayout(const TensorMeta& a, const TensorMeta& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides;
}

class Search {
 public:
  Search(const Graph& graph, const OpTable<Form>& forms, bool all)
      : all_(all), graph_(graph), forms_(forms), position_(graph_.node_id_limit(), 0) {
    size_t position = 0;
    for (NodeId id : graph_.nodes()) position_[id.index()] = position++;
  }

  // Adds the chain of nodes from `input` to `written`, unless one of them cannot run in place.
  void AddChain(ValueId input, ValueId written, InPlaceNodes& nodes) const {
    const TensorMeta* buffer = graph_.value(input).tensor();
    if (buffer == nullptr) return;
    std::vector<InPlaceNodes::value_type> chain;
    for (ValueId value = written; value != input;) {
      const NodeId producer = graph_.value(value).producer;
      if (!graph_.contains(producer)) return;
      const Node& node = graph_.node(producer);
      const Form* form = forms_.Find(node.target);
      if (form == nullptr || !(all_ || form->always)) return;
      const ValueId* self = node.value_argument("self");
      const TensorMeta* meta = graph_.value(value).tensor();
      if (self == nullptr || meta == nullptr || !SameLayout(*meta, *buffer) ||
          !DiesAt(*self, producer)) {
        return;
      }
      chain.push_back({{&graph_, producer}, form->in_place});
      value = *self;
    }
    nodes.insert(chain.begin(), chain.end());
  }

 private:
  bool DiesAt(ValueId value, NodeId last) const {
    const std::vector<NodeId>& users = graph_.value(value).users;
    // A node with two uses occurs twice.
    if (std::count(users.begin(), users.end(), last) != 1) return false;
    for (NodeId user : users) {
      if (position_[user.index()] > position_[last.index()]) return false;
    }
    return std::none_of(graph_.outputs().begin(), graph_.outputs().end(), [&](const Argument& a) {
      const ValueId* output = a.get_if<ValueId>();
      return output != nullptr && *output == value;
    });
  }

  const bool all_;
  const Graph& graph_;
  const OpTable<Form>& forms_;
  std::vector<size_t> position_;  // by node
};

// Body of a loop whose first inputs and outputs are the carried values.
struct LoopBody {
  GraphId graph;
  size_t carried;
};

constexpr struct {
  std::string_view op, carried;
} kLoops[] = {{"higher_order.while_loop", "carried"}, {"higher_order.scan", "initial"}};

// The bodies that no other node refers to.
std::vector<LoopBody> LoopBodies(const ExportedProgram& program) {
  std::vector<LoopBody> bodies;
  absl::flat_hash_map<GraphId, int> references;
  for (const Graph& graph : program.graphs) {
    for (NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      for (const Argument& argument : node.arguments) {
        if (const GraphId* subgraph = argument.get_if<GraphId>()) ++references[*subgraph];
      }
      for (const auto& loop : kLoops) {
        if (node.target->name() != loop.op) continue;
        const GraphId* body = node.argument("body").get_if<GraphId>();
        size_t carried = 0;
        ForEachValue(node.argument(loop.carried), [&](ValueId) { ++carried; });
        if (body != nullptr) bodies.push_back({*body, carried});
      }
    }
  }
  std::erase_if(bodies, [&](const LoopBody& body) { return references[body.graph] != 1; });
  return bodies;
}

}  // namespace

InPlaceNodes FindInPlaceNodes(const ExportedProgram& program, bool all) {
  const Graph& graph = program.top();
  const OpTable<Form> forms(*program.ops, kForms);
  const Search search(graph, forms, all);
  InPlaceNodes nodes;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const OutputSpec& output = program.signature.outputs[i];
    const ValueId* written = graph.outputs()[i].get_if<ValueId>();
    if (written == nullptr) continue;
    for (size_t k = 0; k < graph.inputs().size(); ++k) {
      const InputSpec& input = program.signature.inputs[k];
      const bool is_buffer = output.kind == OutputKind::kBufferMutation &&
                             input.kind == InputKind::kBuffer && input.target == output.target;
      const bool is_user_input = output.kind == OutputKind::kUserInputMutation &&
                                 input.kind == InputKind::kUserInput &&
                                 graph.value(graph.inputs()[k]).name == output.target;
      if (is_buffer || is_user_input) search.AddChain(graph.inputs()[k], *written, nodes);
    }
  }
  for (const LoopBody& loop : LoopBodies(program)) {
    const Graph& body = program.graphs[loop.graph];
    const Search in_body(body, forms, /*all=*/true);
    const size_t carried = std::min({loop.carried, body.inputs().size(), body.outputs().size()});
    for (size_t i = 0; i < carried; ++i) {
      const ValueId* next = body.outputs()[i].get_if<ValueId>();
      if (next != nullptr) in_body.AddChain(body.inputs()[i], *next, nodes);
    }
  }
  return nodes;
}

}  // namespace belay::exir
