#include "exir/passes/assert_assumed_equalities.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "exir/builder/op_builder.h"
#include "exir/ir/at_node.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/symbolic/assumed_equalities.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Symbols of data-dependent sizes: only the node's own kernel can check them.
class NewSymbols : public SymbolSource {
 public:
  SymExpr Fresh(SymRange) override { return SymExpr::Symbol("new"); }
};

class Asserter {
 public:
  Asserter(ExportedProgram& program, GraphId graph)
      : program_(program), editor_(program.graphs[graph]), traced_(program.ranges) {
    for (auto& [symbol, range] : traced_) {
      if (symbol.starts_with('s')) range.min = std::max<int64_t>(range.min, 2);
    }
  }

  absl::StatusOr<bool> Run() {
    const Graph& graph = editor_.graph();
    const OpOverload* const assertion = program_.ops->Find("aten._assert_scalar.default");
    bool changed = false;
    for (NodeId id : graph.NodeList()) {
      const Node& node = graph.node(id);
      if (node.target == assertion) Note(node);
      if (node.target->def() == nullptr || node.target->def()->meta == nullptr) continue;
      AssumedEqualities assumed;
      NewSymbols symbols;
      if (!InferOutputs(graph, node.target, node.arguments, &symbols).ok()) continue;
      for (const auto& [a, b] : assumed.pairs()) {
        // In the traced sizes it is 1, which broadcasts.
        if (IsOne(a) || IsOne(b)) continue;
        const SymRange difference = (a - b).Range(program_.ranges);
        if (difference.min > 0 || difference.max < 0) {
          return AtNode(absl::InvalidArgumentError(absl::StrCat(
                            "its operands broadcast if the sizes ", a.ToString(), " and ",
                            b.ToString(), " are equal, which the symbols' ranges exclude")),
                        graph, id);
        }
        if (difference.min == difference.max || !known_.insert(KeyOf(a, b)).second) continue;
        changed |= Assert(id, a, b);
      }
    }
    return changed;
  }

 private:
  bool IsOne(const SymExpr& size) const { return size.Range(traced_) == SymRange{1, 1}; }

  // Independent of the order of a and b.
  static std::pair<std::string, std::string> KeyOf(const SymExpr& a, const SymExpr& b) {
    std::pair<std::string, std::string> key(a.ToString(), b.ToString());
    if (key.second < key.first) std::swap(key.first, key.second);
    return key;
  }

  // Records the equality of an existing assertion.
  void Note(const Node& assertion) {
    const ValueId* condition = assertion.arguments[0].get_if<ValueId>();
    if (condition == nullptr) return;
    const auto* type = std::get_if<SymBoolType>(&editor_.graph().value(*condition).type);
    if (type == nullptr || type->expr.kind() != SymExpr::Kind::kFunction ||
        type->expr.name() != "Eq") {
      return;
    }
    known_.insert(KeyOf(type->expr.arguments()[0], type->expr.arguments()[1]));
  }

  bool Assert(NodeId id, const SymExpr& a, const SymExpr& b) {
    const std::string message =
        absl::StrCat("the sizes ", a.ToString(), " and ", b.ToString(), " that '",
                     editor_.graph().node(id).name, "' broadcasts must be equal");
    if (!builder_.has_value()) builder_.emplace(program_, editor_);
    builder_->MoveTo(id);
    const Argument equal = builder_->Call("_operator.eq", {builder_->Size(a), builder_->Size(b)});
    builder_->Call("aten._assert_scalar.default", {equal, Argument(message)});
    if (builder_->ok()) return true;
    builder_.reset();  // dead code elimination erases its nodes
    return false;
  }

  ExportedProgram& program_;
  GraphEditor editor_;
  SymRanges traced_;  // torch.export assumes sizes of inputs >= 2
  std::optional<OpBuilder> builder_;
  absl::flat_hash_set<std::pair<std::string, std::string>> known_;
};

}  // namespace

Pass AssertAssumedEqualities() {
  return {"assert_assumed_equalities", [](ExportedProgram& program) -> absl::StatusOr<bool> {
            bool changed = false;
            for (uint32_t g = 0; g < program.graphs.size(); ++g) {
              const absl::StatusOr<bool> asserted = Asserter(program, GraphId(g)).Run();
              if (!asserted.ok()) return asserted;
              changed |= *asserted;
            }
            return changed;
          }};
}

}  // namespace belay::exir
