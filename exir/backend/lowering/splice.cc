#include "exir/backend/lowering/splice.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/backend/introspection.h"
#include "exir/backend/lowering/graph_copy.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {
namespace {

class Splicer {
 public:
  Splicer(const ExportedProgram& program, const MethodPlan& plan, const LoweredPartitions& lowered)
      : program_(program), plan_(plan), copier_(program, GraphsOf(plan)) {
    debug_handle_ = MaxDebugHandle(program) + 1;
    KeepModules();
    for (const GraphPlan& graph : plan.graphs) calls_.emplace_back(graph.partitions.size());
    for (size_t b = 0; b < plan.by_backend.size(); ++b) {
      const auto& places = plan.by_backend[b].second;
      for (size_t i = 0; i < places.size(); ++i) {
        Call& call = calls_[places[i].first][places[i].second];
        call.module = copier_.copy().lowered_modules.push_back(lowered[b][i]);
        call.debug_handle = debug_handle_++;
      }
    }
  }

  ExportedProgram Run() {
    ExportedProgram& copy = copier_.copy();
    copy.in_spec = program_.in_spec;
    copy.out_spec = program_.out_spec;
    copy.guards = program_.guards;
    for (size_t g = 0; g < plan_.graphs.size(); ++g) CopyGraph(g);
    MoveState();
    return std::move(copy);
  }

 private:
  struct Call {
    ModuleId module;
    int64_t debug_handle = 0;
  };

  static std::vector<GraphId> GraphsOf(const MethodPlan& plan) {
    std::vector<GraphId> graphs;
    for (const GraphPlan& graph : plan.graphs) graphs.push_back(graph.graph);
    return graphs;
  }

  // Modules that are not delegated come first, in their order.
  void KeepModules() {
    std::vector<bool> kept(program_.lowered_modules.size());
    for (const GraphPlan& plan : plan_.graphs) {
      const Graph& graph = program_.graphs[plan.graph];
      for (const PlanUnit& unit : plan.order) {
        if (unit.partition >= 0) continue;
        for (const Argument& argument : graph.node(unit.node).arguments) {
          if (const ModuleId* module = argument.get_if<ModuleId>()) kept[module->index()] = true;
        }
      }
    }
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) copier_.MapArgument(ModuleId(static_cast<uint32_t>(i)), {});
    }
  }

  void CopyGraph(size_t g) {
    const GraphPlan& plan = plan_.graphs[g];
    const Graph& graph = program_.graphs[plan.graph];
    const bool top = plan.graph == ExportedProgram::kTop;
    GraphSignature& signature = copier_.copy().signature;
    GraphEditor editor(copier_.copy().graphs[copier_.MapGraph(plan.graph)]);
    editor.SetName(graph.name());
    ValueMap values;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      if (plan.input_moves[i]) continue;
      const Value& input = graph.value(graph.inputs()[i]);
      values[graph.inputs()[i]] = editor.AddInput(input.name, input.type);
      if (top) signature.inputs.push_back(program_.signature.inputs[i]);
    }
    for (const PlanUnit& unit : plan.order) {
      if (unit.partition < 0) {
        std::function<bool(size_t, size_t)> omits;
        if (!plan.operand_moves.empty()) {
          omits = [&](size_t argument, size_t element) {
            return plan.operand_moves.contains({unit.node, argument, element});
          };
        }
        copier_.CopyNode(graph, unit.node, editor, values, omits);
      } else {
        InsertCall(graph, plan.partitions[unit.partition], calls_[g][unit.partition], editor,
                   values);
      }
    }
    std::vector<Argument> outputs;
    for (size_t k = 0; k < graph.outputs().size(); ++k) {
      if (top && plan_.output_moves[k]) continue;
      outputs.push_back(copier_.MapArgument(graph.outputs()[k], values));
      if (top) signature.outputs.push_back(program_.signature.outputs[k]);
    }
    editor.SetOutputs(std::move(outputs));
  }

  void InsertCall(const Graph& graph, const Partition& partition, const Call& call,
                  GraphEditor& editor, ValueMap& values) {
    // The source line of its first node. The origin is empty because there are several.
    Provenance provenance = graph.node(partition.nodes.front()).provenance;
    provenance.origin = nullptr;
    provenance.module = nullptr;
    provenance.module_type = nullptr;
    provenance.function = nullptr;
    GraphEditor::NewNode node{.name = "executorch_call_delegate",
                              .target = program_.ops->CallDelegate(),
                              .arguments = {},
                              .provenance = std::move(provenance),
                              .debug_handle = call.debug_handle};
    node.arguments.emplace_back(call.module);
    for (ValueId argument : partition.arguments) node.arguments.emplace_back(values.at(argument));
    node.argument_names.resize(node.arguments.size());
    std::vector<GraphEditor::NewOutput> outputs;
    for (ValueId result : partition.results) {
      GraphEditor::NewOutput output;
      output.values.emplace_back(graph.value(result).name, graph.value(result).type);
      outputs.push_back(std::move(output));
    }
    const NodeId inserted = editor.InsertNode(NodeId(), std::move(node), std::move(outputs));
    for (size_t i = 0; i < partition.results.size(); ++i) {
      values[partition.results[i]] = editor.graph().node(inserted).outputs[i].values[0];
    }
  }

  // Removes tensors that only moved inputs named.
  void MoveState() {
    ExportedProgram& copy = copier_.copy();
    absl::flat_hash_set<std::string> kept, moved;
    for (const InputSpec& spec : copy.signature.inputs) kept.insert(spec.target);
    const std::vector<bool>& moves = plan_.graphs[0].input_moves;
    for (size_t i = 0; i < moves.size(); ++i) {
      if (moves[i]) moved.insert(program_.signature.inputs[i].target);
    }
    const auto copy_map = [&](const ConstantMap& from, ConstantMap& to) {
      for (const auto& [name, tensor] : from) {
        if (!moved.contains(name) || kept.contains(name)) to.insert(to.end(), {name, tensor});
      }
    };
    copy_map(program_.state_dict, copy.state_dict);
    copy_map(program_.constants, copy.constants);
  }

  const ExportedProgram& program_;
  const MethodPlan& plan_;
  ProgramCopier copier_;
  std::vector<std::vector<Call>> calls_;  // by graph and partition
  int64_t debug_handle_ = 1;
};

}  // namespace

ExportedProgram Splice(const ExportedProgram& program, const MethodPlan& plan,
                       const LoweredPartitions& lowered) {
  return Splicer(program, plan, lowered).Run();
}

}  // namespace belay::exir
