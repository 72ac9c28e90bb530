// How passes that rewrite nodes one by one go through a program.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_NODES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_NODES_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/decisions.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"

namespace belay::cpu {

// Calls `lower` of every node of the top graph, of which `editor` is, that is still there when it is
// its turn, in execution order; it returns whether it changed something. If any did, dead nodes go
// afterwards, and parameters, buffers and tensor constants that nothing uses any more. Returns
// whether any did, or the first error.
absl::StatusOr<bool> LowerNodes(exir::ExportedProgram& program, exir::GraphEditor& editor,
                                absl::FunctionRef<absl::StatusOr<bool>(exir::NodeId)> lower);

// What it does in the end.
void EraseUnused(exir::ExportedProgram& program, exir::GraphEditor& editor);

// What passes that know quantized tensors have at hand: for classes of one pass.
class NodeLowering {
 protected:
  explicit NodeLowering(exir::ExportedProgram& program, Decisions* decisions = nullptr)
      : program_(program),
        editor_(program.top()),
        graph_(editor_.graph()),
        views_(program),
        forms_(program, views_),
        decisions_(decisions) {}

  // The tensor that the argument is; null when it is none.
  const exir::TensorMeta* Tensor(const exir::Argument& argument) const {
    const exir::ValueId* value = argument.get_if<exir::ValueId>();
    return value == nullptr ? nullptr : graph_.value(*value).tensor();
  }
  // Whether the value is a tensor of float32.
  bool IsFloat32(exir::ValueId value) const {
    const exir::TensorMeta* meta = graph_.value(value).tensor();
    return meta != nullptr && meta->dtype == DType::kFloat32;
  }
  // Precondition: the node's operator has an argument of this name.
  void SetArgument(exir::NodeId id, std::string_view name, exir::Argument value) {
    editor_.SetArgument(id, *graph_.node(id).target->ArgumentIndex(name), std::move(value));
  }

  // What the node becomes; for who asks.
  void Say(exir::NodeId id, std::string what) const {
    if (decisions_ != nullptr) decisions_->Made(graph_.node(id).name, std::move(what));
  }
  // false: the node stays as it is, and why.
  bool Leave(exir::NodeId id, std::string_view reason) const {
    if (decisions_ != nullptr) decisions_->Left(graph_.node(id).name, std::string(reason));
    return false;
  }

  exir::ExportedProgram& program_;
  exir::GraphEditor editor_;
  const exir::Graph& graph_;
  const ConstantViews views_;
  const QuantizedForms forms_;
  Decisions* decisions_;  // null: nobody asks
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_NODES_H_
