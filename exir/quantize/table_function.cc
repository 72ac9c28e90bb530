#include "exir/quantize/table_function.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "exir/interpreter/operator_call.h"
#include "exir/ir/infer.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Returns the program's value of an input that is a parameter, a buffer or a constant.
absl::StatusOr<OwnedValue> StoredValue(const ExportedProgram& program, ValueId value) {
  if (program.top().IsInput(value)) {
    const ConstantTensor* constant =
        program.FindConstant(program.signature.inputs[*program.InputIndex(value)]);
    if (constant != nullptr) return OwnedValue::Constant(*constant);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", program.top().value(value).name, "' is not a constant"));
}

}  // namespace

absl::StatusOr<std::vector<float>> EvaluateTable(const ExportedProgram& program,
                                                 absl::Span<const NodeId> nodes,
                                                 absl::Span<const ValueId> roots,
                                                 absl::Span<const float> points,
                                                 const KernelRegistry& kernels) {
  const Graph& graph = program.top();
  const auto count = static_cast<int64_t>(points.size());
  absl::flat_hash_map<ValueId, OwnedValue> values;
  // Operators of tables do not write to their operands.
  const TensorView view =
      TensorView::Contiguous(DType::kFloat32, {count}, const_cast<float*>(points.data()));
  for (ValueId root : roots) values.emplace(root, OwnedValue::Borrow(view, false));
  ValueId last;
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    for (const Argument& argument : node.arguments) {
      const ValueId* value = argument.get_if<ValueId>();
      if (value == nullptr || values.contains(*value)) continue;
      ABSL_ASSIGN_OR_RETURN(OwnedValue stored, StoredValue(program, *value));
      values.emplace(*value, std::move(stored));
    }
    std::vector<Operand> operands;
    for (const Argument& argument : node.arguments) {
      if (const ValueId* value = argument.get_if<ValueId>(); value != nullptr) {
        operands.push_back(Operand::Of(&values.at(*value)));
        continue;
      }
      ABSL_ASSIGN_OR_RETURN(MetaValue literal, ToMetaValue(graph, argument));
      operands.push_back(Operand::Literal(std::move(literal)));
    }
    ABSL_ASSIGN_OR_RETURN(
        std::vector<CallResult> results,
        CallOperator(*node.target, absl::MakeSpan(operands), kernels, {.engine = std::nullopt}));
    last = graph.ResultOf(id);
    values.insert_or_assign(last, std::move(results[0].values[0]));
  }
  const TensorView* result = values[last].tensor();
  if (result == nullptr || result->dtype != DType::kFloat32 || result->numel() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a function of each element, got '", graph.value(last).name, "'"));
  }
  const auto* elements = result->as<float>();
  return std::vector<float>(elements, elements + count);
}

}  // namespace belay::exir
