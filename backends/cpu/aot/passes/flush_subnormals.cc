#include "backends/cpu/aot/passes/flush_subnormals.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/constant.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::ConstantTensor;
using exir::NodeId;
using exir::ValueId;

// Replaces subnormal elements. nullopt if no element is subnormal.
std::optional<std::vector<float>> Flushed(absl::Span<const float> elements) {
  const auto is_subnormal = [](float x) { return std::fpclassify(x) == FP_SUBNORMAL; };
  if (std::none_of(elements.begin(), elements.end(), is_subnormal)) return std::nullopt;
  std::vector<float> flushed(elements.begin(), elements.end());
  for (float& x : flushed) {
    if (is_subnormal(x)) x = std::copysign(0.0F, x);
  }
  return flushed;
}

// Whether the node adds or subtracts its operands without a factor.
bool IsSum(const exir::Node& node) {
  const std::string& name = node.target->name();
  return (name == "aten.add.Tensor" || name == "aten.sub.Tensor") &&
         node.argument("alpha") == exir::Argument(int64_t{1});
}

absl::StatusOr<bool> Run(exir::ExportedProgram& program) {
  exir::GraphEditor editor(program.top());
  const exir::Graph& graph = editor.graph();
  exir::ConstantInputs constants(program, editor, {});
  const std::vector<ValueId> inputs(constants.inputs().begin(), constants.inputs().end());
  bool changed = false;
  for (const ValueId input : inputs) {
    const ConstantTensor* tensor = constants.Find(input);
    const std::vector<NodeId>& users = graph.value(input).users;
    if (tensor->dtype() != DType::kFloat32 || !tensor->is_contiguous() || graph.IsOutput(input) ||
        users.empty() || !std::all_of(users.begin(), users.end(), [&](NodeId user) {
          return IsSum(graph.node(user));
        })) {
      continue;
    }
    ABSL_ASSIGN_OR_RETURN(const exir::Storage storage, tensor->Dense());
    std::optional<std::vector<float>> flushed =
        Flushed({reinterpret_cast<const float*>(storage.bytes.data()),
                 static_cast<size_t>(tensor->view().numel())});
    if (!flushed.has_value()) continue;
    ABSL_ASSIGN_OR_RETURN(ConstantTensor constant,
                          exir::FloatConstant(tensor->sizes(), *std::move(flushed)));
    editor.ReplaceAllUses(input, constants.AddDerived(input, "_flushed", std::move(constant)));
    constants.Drop(input);
    changed = true;
  }
  if (changed) constants.Finish();
  return changed;
}

}  // namespace

exir::Pass FlushSubnormals() { return {"flush_subnormals", Run}; }

}  // namespace belay::cpu
