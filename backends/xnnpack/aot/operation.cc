#include "backends/xnnpack/aot/operation.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/xnnpack/aot/composite_form.h"
#include "backends/xnnpack/aot/dynamic_form.h"
#include "backends/xnnpack/aot/int8_form.h"
#include "backends/xnnpack/aot/operation_reader.h"
#include "backends/xnnpack/aot/operation_rules.h"
#include "backends/xnnpack/aot/weight.h"
#include "backends/xnnpack/node_rules.h"
#include "exir/backend/compile_spec_choice.h"
#include "runtime/core/status_macros.h"

namespace belay::xnnpack {

using exir::ValueId;

absl::StatusOr<Choices> ChoicesOf(absl::Span<const exir::CompileSpec> compile_specs) {
  Choices choices;
  absl::flat_hash_set<std::string> seen;
  for (const exir::CompileSpec& spec : compile_specs) {
    if (!seen.insert(spec.key).second) {
      return absl::InvalidArgumentError(absl::StrCat("repeated compile spec '", spec.key, "'"));
    }
    const auto one = absl::MakeConstSpan(&spec, 1);
    if (spec.key == "operators") {
      choices.operators = absl::StrSplit(spec.value, ',');
      for (const std::string& op : choices.operators) {
        if (FindOperationRule(op) != nullptr) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("compile spec operators: no rule for the operator '", op, "'"));
      }
    } else if (spec.key == "precision") {
      ABSL_ASSIGN_OR_RETURN(const size_t precision,
                            exir::CompileSpecChoice(one, "precision", {"all", "float32", "int8"}));
      choices.precision = static_cast<Choices::Precision>(precision);
    } else if (spec.key == "target") {
      ABSL_ASSIGN_OR_RETURN(const size_t target,
                            exir::CompileSpecChoice(one, "target", {"local", "executorch-1.5"}));
      choices.target = static_cast<Target>(target);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown compile spec '", spec.key, "'; there are target, operators and precision"));
    }
  }
  return choices;
}

absl::Status CheckChosen(const exir::ExportedProgram& program, exir::NodeId id,
                         const Choices& choices) {
  // Operators of a composite operator are delegated together.
  if (const std::optional<exir::NodeId> user = CompositeUserOf(program, id)) {
    return CheckChosen(program, *user, choices);
  }
  ABSL_RETURN_IF_ERROR(CheckSupported(program, id, choices.target));
  const absl::StatusOr<Operation> operation = ReadOperation(program, id, choices.target);
  // Weights, conversions and data movement are delegated for their users.
  if (!operation.ok() || !Computes(operation->type)) return absl::OkStatus();
  const std::string_view op = operation->composite.empty()
                                  ? std::string_view(program.top().node(id).target->name())
                                  : operation->composite;
  if (!choices.operators.empty() && std::find(choices.operators.begin(), choices.operators.end(),
                                              op) == choices.operators.end()) {
    return Unsupported(absl::StrCat("the compile spec operators does not name ", op));
  }
  const bool int8 = operation->int8.has_value();
  if (choices.precision != Choices::Precision::kAll &&
      int8 != (choices.precision == Choices::Precision::kInt8)) {
    return Unsupported(absl::StrCat("it computes on ", int8 ? "int8" : "float32",
                                    ", which the compile spec precision excludes"));
  }
  return absl::OkStatus();
}

absl::Status CheckSupported(const exir::ExportedProgram& program, exir::NodeId id, Target target) {
  if (CompositeUserOf(program, id).has_value()) return absl::OkStatus();
  const exir::Graph& graph = program.top();
  const exir::Node& node = graph.node(id);
  std::optional<Weight> weight;
  if (!node.outputs.empty() && !node.outputs[0].values.empty()) {
    weight = WeightOf(program, node.outputs[0].values[0]);
  }
  if (weight.has_value() && weight->is_quantized()) {
    // The node is delegated together with its user.
    exir::NodeId reader = id;
    do {
      reader = graph.value(graph.ResultOf(reader)).users[0];
    } while (PermutationOf(graph, graph.node(reader)).has_value());
    const absl::StatusOr<Operation> operation = ReadOperation(program, reader, target);
    return operation.ok() && (operation->int8.has_value() || operation->dynamic)
               ? absl::OkStatus()
               : Unsupported("its user does not compute on int8");
  }
  ABSL_ASSIGN_OR_RETURN(const Operation operation, ReadOperation(program, id, target));
  if (operation.weight.has_value() && !operation.int8.has_value() && !operation.dynamic &&
      WeightOf(program, *operation.weight)->is_quantized()) {
    return Unsupported("its weight is int8, but its input or result is not");
  }
  return absl::OkStatus();
}

bool IsChannelsLast(const exir::TensorMeta& meta) {
  return meta.rank() == 4 && !meta.is_contiguous() &&
         meta.strides ==
             exir::TensorMeta::Dense(meta.dtype, meta.sizes, ChannelsLastOrder(4)).strides;
}

bool Computes(NodeType type) {
  if (type == NodeType::NONE || type == NodeType::Convert) return false;
  return !FindNodeRule(type)->moves || type == NodeType::Clamp || type == NodeType::MaxPooling2d;
}

bool MayHaveBounds(NodeType type) {
  switch (type) {
    case NodeType::Add:
    case NodeType::Subtract:
    case NodeType::Multiply:
    case NodeType::FullyConnected:
    case NodeType::Conv2d:
    case NodeType::DepthwiseConv2d:
      return true;
    default:
      return false;
  }
}

std::optional<int64_t> LargestSize(const exir::ExportedProgram& program, const exir::SymInt& size) {
  if (const std::optional<int64_t> number = size.AsInt()) return number;
  const std::optional<int64_t> at_largest =
      size.EvaluateInt([&](std::string_view symbol) -> std::optional<int64_t> {
        const auto range = program.ranges.find(std::string(symbol));
        if (range == program.ranges.end() || range->second.max == exir::SymRange::kUnboundedAbove) {
          return std::nullopt;
        }
        return range->second.max;
      });
  const bool is_largest = at_largest.has_value() && *at_largest == size.Range(program.ranges).max;
  return is_largest ? at_largest : std::nullopt;
}

Sizes SizesOf(const exir::ExportedProgram& program, ValueId value) {
  Sizes sizes;
  for (const exir::SymInt& size : program.top().value(value).tensor()->sizes) {
    sizes.push_back(*LargestSize(program, size));
  }
  return sizes;
}

absl::StatusOr<Operation> ReadOperation(const exir::ExportedProgram& program, exir::NodeId id,
                                        Target target) {
  if (std::optional<Operation> composite = CompositeOperationOf(program, id)) {
    return *std::move(composite);
  }
  const OperationReader reader(program, id);
  const OperationRule* rule = FindOperationRule(reader.node.target->name());
  if (rule == nullptr || reader.node.target->schema() == nullptr) {
    return Unsupported(absl::StrCat("operator ", reader.node.target->name(), " is not supported"));
  }
  if (rule->type != NodeType::NONE && target == Target::kLocal && !FindNodeRule(rule->type)->fp32) {
    return Unsupported(absl::StrCat("this XNNPACK does not support ", NodeTypeName(rule->type)));
  }
  const bool dynamic = target == Target::kExecuTorch15 && DynamicRowsOf(program, id).has_value();
  if (IsDynamicQuantization(rule->op) && !dynamic) {
    return Unsupported(target == Target::kLocal
                           ? "this XNNPACK does not quantize at run time"
                           : "it is not for linear layers of int8 or int4 weights");
  }
  if (reader.node.outputs.empty() || reader.node.outputs[0].values.empty()) {
    return Unsupported("it has no result");
  }
  ABSL_RETURN_IF_ERROR(reader.CheckTensor(reader.result(), rule->result));
  Operation operation;
  operation.type = rule->type;
  operation.dynamic = dynamic && rule->type == NodeType::FullyConnected;
  ABSL_RETURN_IF_ERROR(rule->read(reader, operation));
  ComputeOnInt8(program, id, target, operation);
  return operation;
}

}  // namespace belay::xnnpack
