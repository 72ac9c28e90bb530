#include "exir/functionalize/inline_regions.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exir/functionalize/autocast_rules.h"
#include "exir/ir/at_node.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/node_like.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Dtype of the region; nullopt outside of regions and where autocast is disabled.
using Autocast = std::optional<DType>;

absl::Status Wrong(const Graph& graph, NodeId node, std::string_view what) {
  return AtNode(absl::InvalidArgumentError(ToAbsl(what)), graph, node);
}

class Inliner {
 public:
  explicit Inliner(ExportedProgram& program)
      : program_(program),
        grad_region_(program.ops->Find("higher_order.wrap_with_set_grad_enabled")),
        autocast_region_(program.ops->Find("higher_order.wrap_with_autocast")) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    // Process callers first, because subgraphs called in a region belong to the region.
    std::vector<std::pair<GraphId, Autocast>> pending = {{ExportedProgram::kTop, std::nullopt}};
    while (!pending.empty()) {
      const auto [id, autocast] = pending.back();
      pending.pop_back();
      ABSL_ASSIGN_OR_RETURN(const bool graph_changed, RunGraph(id, autocast));
      changed = changed || graph_changed;
      const Graph& graph = program_.graphs[id];
      for (NodeId node : graph.nodes()) {
        ForEachSubgraph(graph.node(node), [&](GraphId body) {
          const auto region = autocast_of_.find(body);
          pending.emplace_back(body, region == autocast_of_.end() ? Autocast() : region->second);
        });
      }
    }
    if (inlined_) program_.EraseUnusedBodies();
    return changed;
  }

 private:
  using ValueMap = absl::flat_hash_map<ValueId, Argument>;

  bool IsRegion(const Node& node) const {
    return node.target == grad_region_ || node.target == autocast_region_;
  }

  absl::StatusOr<bool> RunGraph(GraphId id, Autocast autocast) {
    GraphEditor editor(program_.graphs[id]);
    bool changed = false;
    for (NodeId node : editor.graph().NodeList()) {
      if (IsRegion(editor.graph().node(node))) {
        ABSL_RETURN_IF_ERROR(Inline(editor, node, autocast));
        changed = true;
      } else {
        ABSL_ASSIGN_OR_RETURN(const bool cast, CastOperands(editor, node, autocast));
        RecordSubgraphs(editor.graph().node(node), autocast);
        changed = changed || cast;
      }
    }
    return changed;
  }

  // Control-flow subgraphs in a region belong to the region.
  void RecordSubgraphs(const Node& node, Autocast autocast) {
    if (!autocast.has_value()) return;
    ForEachSubgraph(node, [&](GraphId body) { autocast_of_[body] = autocast; });
  }

  // Replaces the call of a region by the nodes of its subgraph.
  absl::Status Inline(GraphEditor& editor, NodeId call, Autocast autocast) {
    const Node node = editor.graph().node(call);
    ABSL_ASSIGN_OR_RETURN(const std::vector<Argument> results,
                          CopyBody(editor, call, node, {}, autocast));
    const std::vector<ValueId> values = node.results();
    if (results.size() != values.size()) {
      return Wrong(editor.graph(), call,
                   absl::StrCat("the region's body gives ", results.size(), " results, its call ",
                                values.size()));
    }
    for (size_t i = 0; i < values.size(); ++i) editor.ReplaceAllUses(values[i], results[i]);
    editor.EraseNode(call);
    return absl::OkStatus();
  }

  // Copies the subgraph of `region` before `place`; returns its outputs. `outer` maps values of the
  // graph that contains the region; empty if that is the editor's graph.
  absl::StatusOr<std::vector<Argument>> CopyBody(GraphEditor& editor, NodeId place,
                                                 const Node& region, const ValueMap& outer,
                                                 Autocast autocast) {
    const GraphId* body_id = region.argument("body").get_if<GraphId>();
    const size_t modes = *region.target->ArgumentIndex("body");  // arguments before it
    if (body_id == nullptr) {
      return Wrong(editor.graph(), place, "expected a region's modes and then its body");
    }
    if (region.target == autocast_region_) {
      const std::string* device = region.argument("device").get_if<std::string>();
      const bool* enabled = region.argument("enabled").get_if<bool>();
      if (device == nullptr || enabled == nullptr) {
        return Wrong(editor.graph(), place, "expected (device, dtype, enabled, cache_enabled)");
      }
      if (*device == "cpu") {
        const DType* dtype = region.argument("dtype").get_if<DType>();
        autocast = *enabled ? Autocast(dtype == nullptr ? DType::kBFloat16 : *dtype) : Autocast();
      }
    }
    inlined_ = true;
    // Nested subgraphs that are called repeatedly can grow exponentially.
    if (absl::Status status = CheckBudget(); !status.ok()) {
      return AtNode(status, editor.graph(), place);
    }
    const Graph& body = program_.graphs[*body_id];
    if (region.arguments.size() - modes - 1 != body.inputs().size()) {
      return Wrong(editor.graph(), place,
                   absl::StrCat("the region's body takes ", body.inputs().size(), " operands, got ",
                                region.arguments.size() - modes - 1));
    }
    ValueMap values;
    for (size_t i = 0; i < body.inputs().size(); ++i) {
      values[body.inputs()[i]] = Mapped(region.arguments[modes + 1 + i], outer);
    }
    for (NodeId id : body.nodes()) {
      const Node& node = body.node(id);
      if (IsRegion(node)) {
        ABSL_ASSIGN_OR_RETURN(const std::vector<Argument> results,
                              CopyBody(editor, place, node, values, autocast));
        const std::vector<ValueId> targets = node.results();
        if (results.size() != targets.size()) {
          return Wrong(body, id, "the region's body does not give what its call has");
        }
        for (size_t i = 0; i < targets.size(); ++i) values[targets[i]] = results[i];
        continue;
      }
      const NodeId copy = CopyNode(editor, place, body, node, values);
      ABSL_RETURN_IF_ERROR(CastOperands(editor, copy, autocast).status());
      RecordSubgraphs(node, autocast);
    }
    std::vector<Argument> outputs;
    for (const Argument& output : body.outputs()) outputs.push_back(Mapped(output, values));
    return outputs;
  }

  static Argument Mapped(Argument argument, const ValueMap& values) {
    if (const ValueId* value = argument.get_if<ValueId>()) {
      const auto found = values.find(*value);
      return found == values.end() ? argument : found->second;
    }
    if (const Argument::List* list = argument.get_if<Argument::List>()) {
      Argument::List mapped;
      for (const Argument& element : *list) mapped.push_back(Mapped(element, values));
      return Argument(std::move(mapped));
    }
    if (const Dict* dict = argument.get_if<Dict>()) {
      Dict mapped;
      for (const auto& [key, value] : dict->entries) {
        mapped.entries.emplace_back(key, Mapped(value, values));
      }
      return Argument(std::move(mapped));
    }
    return argument;
  }

  static NodeId CopyNode(GraphEditor& editor, NodeId place, const Graph& body, const Node& node,
                         ValueMap& values) {
    std::vector<Argument> arguments;
    for (const Argument& argument : node.arguments) arguments.push_back(Mapped(argument, values));
    std::vector<GraphEditor::NewOutput> outputs;
    for (const NodeOutput& output : node.outputs) {
      GraphEditor::NewOutput& made = outputs.emplace_back();
      made.kind = output.kind;
      for (ValueId value : output.values) {
        made.values.emplace_back(body.value(value).name, body.value(value).type);
      }
    }
    const NodeId id =
        editor.InsertNode(place, NodeLike(node, std::move(arguments)), std::move(outputs));
    const std::vector<ValueId> from = node.results(), to = editor.graph().node(id).results();
    for (size_t i = 0; i < from.size(); ++i) values[from[i]] = to[i];
    return id;
  }

  // Inserts autocast's casts before `node`.
  absl::StatusOr<bool> CastOperands(GraphEditor& editor, NodeId node, Autocast autocast) {
    if (!autocast.has_value()) return false;
    const Graph& graph = editor.graph();
    AutocastRule rule = AutocastRuleOf(graph.node(node).target->name());
    if (rule == AutocastRule::kNone) return false;
    DType dtype = rule == AutocastRule::kFloat32 ? DType::kFloat32 : *autocast;
    if (rule == AutocastRule::kWidest) {
      for (const Argument& argument : graph.node(node).arguments) {
        ForEachValue(argument, [&](ValueId value) {
          const TensorMeta* tensor = graph.value(value).tensor();
          if (tensor != nullptr && tensor->dtype == DType::kFloat32) dtype = DType::kFloat32;
        });
      }
    }
    const OpOverload* cast = program_.ops->Find("aten._to_copy.default");
    if (cast == nullptr || cast->schema() == nullptr) {
      return absl::InternalError("aten._to_copy.default is not registered");
    }
    bool changed = false;
    const size_t count = graph.node(node).arguments.size();
    for (size_t i = 0; i < count; ++i) {
      Argument argument = graph.node(node).arguments[i];
      bool argument_changed = false;
      ForEachValueRef(argument, [&](ValueId& value) {
        const TensorMeta* tensor = graph.value(value).tensor();
        if (tensor == nullptr || !IsFloatingPoint(tensor->dtype) || DTypeSize(tensor->dtype) < 2 ||
            tensor->dtype == DType::kFloat64 || tensor->dtype == dtype) {
          return;
        }
        TensorMeta type = *tensor;
        type.dtype = dtype;
        GraphEditor::NewNode conversion{
            .name = "_to_copy",
            .target = cast,
            .arguments = ArgumentsByName(*cast->schema(), {{"self", value}, {"dtype", dtype}}),
            .provenance = graph.node(node).provenance,
            .debug_handle = graph.node(node).debug_handle};
        value = editor.InsertOp(node, std::move(conversion), std::move(type));
        argument_changed = true;
      });
      if (!argument_changed) continue;
      editor.SetArgument(node, i, std::move(argument));
      changed = true;
    }
    return changed;
  }

  ExportedProgram& program_;
  const OpOverload *const grad_region_, *const autocast_region_;
  bool inlined_ = false;
  absl::flat_hash_map<GraphId, Autocast> autocast_of_;
};

}  // namespace

Pass InlineRegions() {
  return {"inline_regions", [](ExportedProgram& program) { return Inliner(program).Run(); }};
}

}  // namespace belay::exir
