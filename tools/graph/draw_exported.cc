#include "tools/graph/draw_exported.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "exir/flop_count.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"

namespace belay::tools {
namespace {

using exir::ExportedProgram;
using exir::Graph;
using exir::GraphId;
using exir::ValueId;

// Producer of a value in the drawing. Values of an expanded delegate are produced by nodes of the
// enclosing graph.
struct Producer {
  uint32_t node = 0, output = 0;
};
using Producers = absl::flat_hash_map<ValueId, Producer>;

class Drawing {
 public:
  explicit Drawing(DrawnMethod& method) : method_(method) {}

  void Draw(const ExportedProgram& program) {
    runs_[&program] = exir::RunsOfGraphs(program);
    GraphIndex(program, ExportedProgram::kTop, std::nullopt);
    // Drawing a graph may append its subgraphs.
    for (size_t i = 0; i < pending_.size(); ++i) {
      const auto [from, id] = pending_[i];
      DrawnGraph drawn = std::move(method_.graphs[i]);
      Producers producers;
      DrawInputs(*from, id, drawn, producers);
      DrawNodes(*from, id, drawn, producers);
      DrawOutputs(*from, id, drawn, producers);
      method_.graphs[i] = std::move(drawn);
    }
  }

 private:
  // Returns the index of a graph, which is drawn now or later.
  uint32_t GraphIndex(const ExportedProgram& program, GraphId id,
                      std::optional<uint32_t> delegate) {
    const auto [it, added] = graphs_.try_emplace({&program, id.index()}, method_.graphs.size());
    if (added) {
      method_.graphs.push_back({.name = program.graphs[id].name(), .delegate = delegate});
      pending_.emplace_back(&program, id);
    }
    return it->second;
  }

  // Adds the node of an input. `spec` is null in subgraphs.
  void DrawInput(const ExportedProgram& program, const Graph& graph, ValueId id,
                 const exir::InputSpec* spec, DrawnGraph& drawn, Producers& producers) {
    const exir::Value& value = graph.value(id);
    DrawnNode node{.name = value.name, .op = "input", .is_operator = false};
    if (spec != nullptr && spec->kind != exir::InputKind::kUserInput) {
      node.op = std::string(exir::InputKindName(spec->kind));
      if (!spec->target.empty()) node.attributes.emplace_back("target", spec->target);
      if (const exir::ConstantTensor* tensor = program.FindConstant(*spec)) {
        method_.constants.push_back({.name = spec->target,
                                     .kind = node.op,
                                     .type = exir::PrintType(value.type),
                                     .bytes = tensor->view().nbytes(),
                                     .delegate = drawn.delegate});
      }
    }
    node.results.push_back({value.name, exir::PrintType(value.type)});
    node.delegate = drawn.delegate;
    producers[id] = {static_cast<uint32_t>(drawn.nodes.size()), 0};
    drawn.nodes.push_back(std::move(node));
  }

  void DrawInputs(const ExportedProgram& program, GraphId id, DrawnGraph& drawn,
                  Producers& producers) {
    const Graph& graph = program.graphs[id];
    const bool top = id == ExportedProgram::kTop;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      DrawInput(program, graph, graph.inputs()[i], top ? &program.signature.inputs[i] : nullptr,
                drawn, producers);
    }
  }

  void DrawOutputs(const ExportedProgram& program, GraphId id, DrawnGraph& drawn,
                   const Producers& producers) {
    const Graph& graph = program.graphs[id];
    DrawnNode node{
        .name = "output", .op = "output", .delegate = drawn.delegate, .is_operator = false};
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      std::string name = absl::StrCat(i);
      if (id == ExportedProgram::kTop &&
          program.signature.outputs[i].kind != exir::OutputKind::kUserOutput) {
        const exir::OutputSpec& spec = program.signature.outputs[i];
        name = absl::StrCat(std::string(exir::OutputKindName(spec.kind)), " ", spec.target);
      }
      AddArgument(graph, graph.outputs()[i], name, producers, node);
    }
    drawn.nodes.push_back(std::move(node));
  }

  // Values, and lists of only values, become edges; other arguments become attributes.
  static void AddArgument(const Graph& graph, const exir::Argument& argument,
                          const std::string& name, const Producers& producers, DrawnNode& node) {
    exir::ForEachValue(argument, [&](ValueId value) {
      const auto it = producers.find(value);
      if (it == producers.end()) return;
      node.operands.push_back({it->second.node, it->second.output, name});
    });
    const auto is_value = [](const exir::Argument& a) { return a.is<ValueId>(); };
    const auto* list = argument.get_if<exir::Argument::List>();
    const bool edges_alone =
        list == nullptr ? is_value(argument)
                        : !list->empty() && std::all_of(list->begin(), list->end(), is_value);
    if (!edges_alone) node.attributes.emplace_back(name, exir::PrintArgument(graph, argument));
  }

  void DrawNodes(const ExportedProgram& program, GraphId id, DrawnGraph& drawn,
                 Producers& producers) {
    const Graph& graph = program.graphs[id];
    for (exir::NodeId n : graph.nodes()) {
      const exir::Node& node = graph.node(n);
      std::optional<uint32_t> delegate = drawn.delegate;
      if (node.target == program.ops->CallDelegate()) {
        const exir::ModuleId module = *node.arguments[0].get_if<exir::ModuleId>();
        const exir::LoweredBackendModule* lowered = program.lowered_modules[module].get();
        const auto [it, added] = delegates_.try_emplace(lowered, method_.delegates.size());
        if (added) {
          method_.delegates.push_back(
              {lowered->backend_id, lowered->processed.bytes.size(), node.name, drawn.delegate});
          std::vector<double>& runs = runs_[&lowered->original];
          runs = exir::RunsOfGraphs(lowered->original);
          for (double& count : runs) count *= runs_[&program][id.index()];
          OpenDelegate(node, *lowered, it->second, drawn, producers);
          continue;
        }
        delegate = it->second;
      }
      DrawnNode to{.name = node.name,
                   .op = node.target->text_name(),
                   .source = node.provenance.ToString(),
                   .module = node.provenance.module == nullptr ? "" : *node.provenance.module,
                   .delegate = delegate,
                   .flops = runs_[&program][id.index()] * exir::FlopsOf(program, graph, node)};
      for (size_t a = 0; a < node.arguments.size(); ++a) {
        AddArgument(graph, node.arguments[a], ArgumentName(node, a), producers, to);
        exir::ForEachGraph(node.arguments[a], [&](GraphId body) {
          to.bodies.push_back(GraphIndex(program, body, delegate));
        });
      }
      const std::vector<ValueId> results = node.results();
      for (uint32_t r = 0; r < results.size(); ++r) {
        const exir::Value& value = graph.value(results[r]);
        to.results.push_back({value.name, exir::PrintType(value.type)});
        producers[results[r]] = {static_cast<uint32_t>(drawn.nodes.size()), r};
      }
      drawn.nodes.push_back(std::move(to));
    }
  }

  static std::string ArgumentName(const exir::Node& node, size_t argument) {
    if (const exir::FunctionSchema* schema = node.target->schema()) {
      return schema->arguments[argument].name;
    }
    if (argument < node.argument_names.size() && !node.argument_names[argument].empty()) {
      return node.argument_names[argument];
    }
    return absl::StrCat(argument);
  }

  // Draws the delegate's original nodes. Its inputs are the constants that it owns and the
  // arguments of the call, in order. Its outputs, except mutations, are the results, in order.
  void OpenDelegate(const exir::Node& call, const exir::LoweredBackendModule& lowered,
                    uint32_t index, DrawnGraph& drawn, Producers& producers) {
    const ExportedProgram& inner = lowered.original;
    const Graph& graph = inner.top();
    const std::optional<uint32_t> around = drawn.delegate;
    drawn.delegate = index;
    Producers inside;
    size_t argument = 1;  // after the module
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const exir::InputSpec& spec = inner.signature.inputs[i];
      if (spec.kind != exir::InputKind::kUserInput) {
        DrawInput(inner, graph, graph.inputs()[i], &spec, drawn, inside);
      } else if (argument < call.arguments.size()) {
        const ValueId* value = call.arguments[argument++].get_if<ValueId>();
        const auto it = value == nullptr ? producers.end() : producers.find(*value);
        if (it != producers.end()) inside[graph.inputs()[i]] = it->second;
      }
    }
    DrawNodes(inner, ExportedProgram::kTop, drawn, inside);
    drawn.delegate = around;
    const std::vector<ValueId> results = call.results();
    size_t result = 0;
    for (size_t i = 0; i < graph.outputs().size() && result < results.size(); ++i) {
      if (inner.signature.outputs[i].kind != exir::OutputKind::kUserOutput) continue;
      const ValueId* value = graph.outputs()[i].get_if<ValueId>();
      const auto it = value == nullptr ? inside.end() : inside.find(*value);
      if (it != inside.end()) producers[results[result]] = it->second;
      ++result;
    }
  }

  DrawnMethod& method_;
  std::map<std::pair<const ExportedProgram*, uint32_t>, uint32_t> graphs_;
  std::vector<std::pair<const ExportedProgram*, GraphId>> pending_;  // parallel to method_.graphs
  std::map<const exir::LoweredBackendModule*, uint32_t> delegates_;
  // How often each graph runs in one run of the method (exir::RunsOfGraphs).
  std::map<const ExportedProgram*, std::vector<double>> runs_;
};

}  // namespace

DrawnMethod DrawExported(std::string name, const ExportedProgram& program) {
  DrawnMethod method{.name = std::move(name)};
  Drawing(method).Draw(program);
  return method;
}

}  // namespace belay::tools
