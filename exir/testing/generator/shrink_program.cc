#include "exir/testing/generator/shrink_program.h"

#include <optional>
#include <utility>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/ir/verifier.h"

namespace belay::exir {
namespace {

class Shrinker {
 public:
  Shrinker(ExportedProgram& program, const std::function<bool(const ExportedProgram&)>& fails,
           int budget)
      : program_(program), fails_(fails), budget_(budget) {}

  void Run() {
    bool changed = true;
    while (changed && budget_ > 0) {
      changed = Tags();
      changed = Outputs() || changed;
      changed = Nodes() || changed;
      changed = Inputs() || changed;
    }
  }

 private:
  // Keeps the change if the resulting program still fails.
  bool Try(const std::function<bool(ExportedProgram&)>& change) {
    if (budget_ <= 0) return false;
    ExportedProgram candidate = program_.Clone();
    if (!change(candidate)) return false;
    candidate.EraseUnusedBodies();
    if (!Verify(candidate).ok()) return false;
    --budget_;
    if (!fails_(candidate)) return false;
    program_ = std::move(candidate);
    return true;
  }

  bool Tags() {
    bool changed = false;
    for (uint32_t g = 0; g < program_.graphs.size(); ++g) {
      for (NodeId node : program_.graphs[GraphId(g)].NodeList()) {
        if (g >= program_.graphs.size()) break;
        if (!program_.graphs[GraphId(g)].contains(node) ||
            program_.graphs[GraphId(g)].node(node).delegation_tag.empty()) {
          continue;
        }
        changed |= Try([&](ExportedProgram& p) {
          GraphEditor(p.graphs[GraphId(g)]).SetDelegationTag(node, "");
          return true;
        });
      }
    }
    return changed;
  }

  bool Outputs() {
    bool changed = false;
    for (size_t k = program_.top().outputs().size(); k-- > 0;) {
      changed |= Try([&](ExportedProgram& p) {
        if (p.top().outputs().size() <= 1 || k >= p.top().outputs().size()) return false;
        std::vector<Argument> outputs(p.top().outputs().begin(), p.top().outputs().end());
        outputs.erase(outputs.begin() + static_cast<ptrdiff_t>(k));
        GraphEditor(p.top()).SetOutputs(std::move(outputs));
        p.signature.outputs.erase(p.signature.outputs.begin() + static_cast<ptrdiff_t>(k));
        return true;
      });
    }
    return changed;
  }

  // Removes a node after replacing its results by earlier values of the same types.
  bool Nodes() {
    bool changed = false;
    for (uint32_t g = static_cast<uint32_t>(program_.graphs.size()); g-- > 0;) {
      if (g >= program_.graphs.size()) continue;
      std::vector<NodeId> nodes = program_.graphs[GraphId(g)].NodeList();
      for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
        changed |= Try([&](ExportedProgram& p) {
          if (g >= p.graphs.size() || !p.graphs[GraphId(g)].contains(*it)) return false;
          return Remove(p.graphs[GraphId(g)], *it);
        });
      }
    }
    return changed;
  }

  static bool Remove(Graph& graph, NodeId node) {
    GraphEditor editor(graph);
    for (ValueId result : graph.node(node).results()) {
      const bool used = !graph.value(result).users.empty() || graph.IsOutput(result);
      if (!used) continue;
      const std::optional<ValueId> other = Earlier(graph, node, graph.value(result).type);
      if (!other.has_value()) return false;
      editor.ReplaceAllUses(result, *other);
    }
    editor.EraseNode(node);
    return true;
  }

  // Returns the latest value of this type before the node.
  static std::optional<ValueId> Earlier(const Graph& graph, NodeId node, const ValueType& type) {
    for (NodeId n = graph.previous(node); n.valid(); n = graph.previous(n)) {
      for (ValueId value : graph.node(n).results()) {
        if (graph.value(value).type == type) return value;
      }
    }
    for (ValueId input : graph.inputs()) {
      if (graph.value(input).type == type) return input;
    }
    return std::nullopt;
  }

  bool Inputs() {
    bool changed = false;
    for (size_t i = program_.top().inputs().size(); i-- > 0;) {
      changed |= Try([&](ExportedProgram& p) {
        const ValueId input = p.top().inputs()[i];
        const InputSpec spec = p.signature.inputs[i];
        if (!NamesTensor(spec.kind) || !p.top().value(input).users.empty() ||
            p.top().IsOutput(input)) {
          return false;
        }
        GraphEditor(p.top()).EraseInput(input);
        p.signature.inputs.erase(p.signature.inputs.begin() + static_cast<ptrdiff_t>(i));
        p.state_dict.erase(spec.target);
        p.constants.erase(spec.target);
        return true;
      });
    }
    return changed;
  }

  ExportedProgram& program_;
  const std::function<bool(const ExportedProgram&)>& fails_;
  int budget_;
};

}  // namespace

void ShrinkProgram(ExportedProgram& program,
                   const std::function<bool(const ExportedProgram&)>& fails, int budget) {
  Shrinker(program, fails, budget).Run();
}

}  // namespace belay::exir
