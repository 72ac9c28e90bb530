// Helpers for passes that rewrite nodes one by one.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_NODES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_NODES_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/pass_diagnostics.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/match.h"

namespace belay::cpu {

// Calls `lower` for every node of the top graph, in execution order, and skips nodes that were
// erased meanwhile. `lower` returns whether it changed the graph. If any call did, erases dead
// nodes and unused parameters, buffers and tensor constants. Returns whether any call changed the
// graph, or the first error. `editor` edits the top graph of `program`.
absl::StatusOr<bool> LowerNodes(exir::ExportedProgram& program, exir::GraphEditor& editor,
                                absl::FunctionRef<absl::StatusOr<bool>(exir::NodeId)> lower);

// Erases dead nodes and unused constant inputs.
void EraseUnused(exir::ExportedProgram& program, exir::GraphEditor& editor);

// Common state and helpers of lowering passes; a base class for one pass each.
class NodeLowering {
 protected:
  explicit NodeLowering(exir::ExportedProgram& program, PassDiagnostics* diagnostics = nullptr)
      : program_(program),
        editor_(program.top()),
        graph_(editor_.graph()),
        views_(program),
        matcher_(graph_, [this](const exir::Argument& number) { return views_.Number(number); }),
        forms_(program, views_),
        diagnostics_(diagnostics) {}

  // Returns the tensor of the argument; null if it is not a tensor.
  const exir::TensorMeta* Tensor(const exir::Argument& argument) const {
    const exir::ValueId* value = argument.get_if<exir::ValueId>();
    return value == nullptr ? nullptr : graph_.value(*value).tensor();
  }
  // Whether the value is a tensor of float32.
  bool IsFloat32(exir::ValueId value) const {
    const exir::TensorMeta* meta = graph_.value(value).tensor();
    return meta != nullptr && meta->dtype == DType::kFloat32;
  }
  // Whether the results of the node other than the first have no users.
  bool UsesOnlyFirstResult(exir::NodeId id) const {
    const std::vector<exir::ValueId> results = graph_.node(id).results();
    return std::all_of(results.begin() + 1, results.end(), [&](exir::ValueId value) {
      return graph_.value(value).users.empty() && !graph_.IsOutput(value);
    });
  }
  // Precondition: the node's operator has an argument of this name.
  void SetArgument(exir::NodeId id, std::string_view name, exir::Argument value) {
    editor_.SetArgument(id, *graph_.node(id).target->ArgumentIndex(name), std::move(value));
  }

  // Records that the node becomes `what`.
  void Say(exir::NodeId id, std::string what) const {
    if (diagnostics_ != nullptr) diagnostics_->RecordRewrite(graph_.node(id).name, std::move(what));
  }
  // Records why the node is not rewritten. Returns false.
  bool Leave(exir::NodeId id, std::string_view reason) const {
    if (diagnostics_ != nullptr)
      diagnostics_->RecordMiss(graph_.node(id).name, std::string(reason));
    return false;
  }

  exir::ExportedProgram& program_;
  exir::GraphEditor editor_;
  const exir::Graph& graph_;
  const ConstantViews views_;
  const exir::match::Matcher matcher_;  // with views_'s numbers
  const QuantizedForms forms_;
  PassDiagnostics* diagnostics_;  // may be null
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_NODES_H_
