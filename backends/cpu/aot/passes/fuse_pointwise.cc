#include "backends/cpu/aot/passes/fuse_pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/float_casts.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "backends/cpu/pointwise_calls.h"
#include "exir/ir/graph_editor.h"
#include "exir/op_definition/op_table.h"
#include "runtime/core/str_cat.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Maps the arguments of an operator to the operands of a step.
enum class Form : uint8_t {
  kUnary,
  kBinary,
  kScaled,         // self + alpha * other: alpha 1 only
  kReverseScaled,  // other - alpha * self: alpha 1 only
  kClamp,          // bounds that may be None
  kHardtanh,
  kLeakyRelu,
  kElu,
  kGelu,
  kPower,
  kWhere,
  kMaskedFill,  // where(mask, value, self)
};
struct Row {
  std::string_view op;
  std::string_view step;
  Form form;
};
constexpr Row kRows[] = {
    {"aten.abs.default", "abs", Form::kUnary},
    {"aten.add.Scalar", "add", Form::kScaled},
    {"aten.add.Tensor", "add", Form::kScaled},
    {"aten.ceil.default", "ceil", Form::kUnary},
    {"aten.clamp.default", "clamp", Form::kClamp},
    {"aten.cos.default", "cos", Form::kUnary},
    {"aten.div.Scalar", "div", Form::kBinary},
    {"aten.div.Tensor", "div", Form::kBinary},
    {"aten.elu.default", "elu", Form::kElu},
    {"aten.eq.Scalar", "eq", Form::kBinary},
    {"aten.eq.Tensor", "eq", Form::kBinary},
    {"aten.erf.default", "erf", Form::kUnary},
    {"aten.exp.default", "exp", Form::kUnary},
    {"aten.expm1.default", "expm1", Form::kUnary},
    {"aten.floor.default", "floor", Form::kUnary},
    {"aten.ge.Scalar", "ge", Form::kBinary},
    {"aten.ge.Tensor", "ge", Form::kBinary},
    {"aten.gelu.default", "gelu", Form::kGelu},
    {"aten.gt.Scalar", "gt", Form::kBinary},
    {"aten.gt.Tensor", "gt", Form::kBinary},
    {"aten.hardtanh.default", "clamp", Form::kHardtanh},
    {"aten.le.Scalar", "le", Form::kBinary},
    {"aten.le.Tensor", "le", Form::kBinary},
    {"aten.leaky_relu.default", "leaky_relu", Form::kLeakyRelu},
    {"aten.log.default", "log", Form::kUnary},
    {"aten.log1p.default", "log1p", Form::kUnary},
    {"aten.log2.default", "log2", Form::kUnary},
    {"aten.logical_and.default", "and", Form::kBinary},
    {"aten.logical_not.default", "not", Form::kUnary},
    {"aten.logical_or.default", "or", Form::kBinary},
    {"aten.lt.Scalar", "lt", Form::kBinary},
    {"aten.lt.Tensor", "lt", Form::kBinary},
    {"aten.masked_fill.Scalar", "where", Form::kMaskedFill},
    {"aten.maximum.default", "maximum", Form::kBinary},
    {"aten.minimum.default", "minimum", Form::kBinary},
    {"aten.mul.Scalar", "mul", Form::kBinary},
    {"aten.mul.Tensor", "mul", Form::kBinary},
    {"aten.ne.Scalar", "ne", Form::kBinary},
    {"aten.ne.Tensor", "ne", Form::kBinary},
    {"aten.neg.default", "neg", Form::kUnary},
    {"aten.pow.Tensor_Scalar", "pow", Form::kPower},
    {"aten.reciprocal.default", "reciprocal", Form::kUnary},
    {"aten.relu.default", "relu", Form::kUnary},
    {"aten.round.default", "round", Form::kUnary},
    {"aten.rsqrt.default", "rsqrt", Form::kUnary},
    {"aten.rsub.Scalar", "sub", Form::kReverseScaled},
    {"aten.sigmoid.default", "sigmoid", Form::kUnary},
    {"aten.sign.default", "sign", Form::kUnary},
    {"aten.sin.default", "sin", Form::kUnary},
    {"aten.sqrt.default", "sqrt", Form::kUnary},
    {"aten.sub.Scalar", "sub", Form::kScaled},
    {"aten.sub.Tensor", "sub", Form::kScaled},
    {"aten.tanh.default", "tanh", Form::kUnary},
    {"aten.trunc.default", "trunc", Form::kUnary},
    {"aten.where.self", "where", Form::kWhere},
};

const absl::flat_hash_map<std::string_view, const Row*>& RowsByName() {
  static const auto& rows = *[] {
    auto* map = new absl::flat_hash_map<std::string_view, const Row*>;
    for (const Row& row : kRows) map->emplace(row.op, &row);
    return map;
  }();
  return rows;
}

// Returns the row of a node's operator; nullptr if it is not supported.
const Row* RowOf(const Node& node) {
  const auto it = RowsByName().find(node.target->name());
  return it == RowsByName().end() ? nullptr : it->second;
}

bool IsFloatOrTruth(const TensorMeta* meta) {
  constexpr DTypeSet kTypes = {DType::kFloat32, DType::kBFloat16, DType::kBool};
  return meta != nullptr && kTypes.contains(meta->dtype);
}

// Whether the tensor certainly has too few elements for a group to pay off.
bool IsSmall(const TensorMeta& meta) {
  constexpr int64_t kLeastElements = 512;
  int64_t elements = 1;
  for (const exir::SymInt& size : meta.sizes) {
    const std::optional<int64_t> known = size.AsInt();
    if (!known.has_value()) return false;
    elements *= std::min(*known, kLeastElements);
    if (elements >= kLeastElements) return false;
  }
  return true;
}

// A step with its operands: values or scalars. A result of bfloat16 is then rounded.
struct Step {
  std::string_view name;  // empty for a conversion
  std::vector<Argument> operands;
  bool rounds = false;
};

class PointwiseFusion {
 public:
  PointwiseFusion(exir::ExportedProgram& program, FusedHandles& handles)
      : editor_(program.top()),
        graph_(editor_.graph()),
        positions_(graph_.Positions()),
        constants_(program),
        quantized_(program, constants_),
        handles_(handles) {}

  bool Run() {
    const std::vector<NodeId> nodes = graph_.NodeList();
    for (NodeId id : nodes) {
      if (std::optional<Step> step = StepOf(id)) steps_.emplace(id, *std::move(step));
    }
    bool changed = false;
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      if (fused_.contains(*it) || !steps_.contains(*it)) continue;
      if (Fuse(*it)) changed = true;
    }
    if (changed) editor_.EraseDeadNodes();
    return changed;
  }

 private:
  // A group under construction.
  struct Group {
    std::vector<NodeId> nodes;  // in execution order
    std::vector<ValueId> inputs;
    size_t steps = 0;
    std::vector<double> scalars;
  };

  std::optional<double> Number(const Argument& argument) const {
    const std::optional<double> number = constants_.Number(argument);
    return number.has_value() && !std::isnan(*number) ? number : std::nullopt;
  }

  // Returns the float32 or bfloat16 operand of a conversion between them that keeps the layout;
  // nullopt if none computes the value.
  std::optional<ValueId> Converted(ValueId value) const {
    const std::optional<ValueId> source = ConvertedFloat(graph_, value);
    if (!source.has_value()) return std::nullopt;
    const TensorMeta &from = graph_.MetaOf(*source), &to = graph_.MetaOf(value);
    return IsFloatOrTruth(&from) && IsFloatOrTruth(&to) && from.strides == to.strides
               ? source
               : std::nullopt;
  }

  // Returns the step that computes the node; nullopt if it is not supported.
  std::optional<Step> StepOf(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.results().size() != 1) return std::nullopt;
    const TensorMeta* result = graph_.value(node.results()[0]).tensor();
    const bool rounds = result != nullptr && result->dtype == DType::kBFloat16;
    if (const std::optional<ValueId> source = Converted(node.results()[0])) {
      return IsSmall(*result) ? std::nullopt
                              : std::optional<Step>({"", {Argument(*source)}, rounds});
    }
    if (std::optional<Step> step = QuantizationStepOf(id)) return step;
    const Row* row = RowOf(node);
    if (row == nullptr || !IsPointwiseOp(graph_, id)) return std::nullopt;
    Step step = {row->step, {}, rounds};
    const auto values = [&](std::initializer_list<std::string_view> names) {
      for (std::string_view name : names) step.operands.push_back(node.argument(name));
    };
    const auto scalar = [&](std::string_view name, std::optional<double> if_none) {
      const Argument& argument = node.argument(name);
      const std::optional<double> number =
          argument.is_none() && if_none.has_value() ? if_none : Number(argument);
      if (number.has_value()) step.operands.emplace_back(*number);
      return number.has_value();
    };
    switch (row->form) {
      case Form::kUnary:
        values({"self"});
        break;
      case Form::kBinary:
        values({"self", "other"});
        break;
      case Form::kScaled:
        if (Number(node.argument("alpha")) != 1.0) return std::nullopt;
        values({"self", "other"});
        break;
      case Form::kReverseScaled:
        if (Number(node.argument("alpha")) != 1.0) return std::nullopt;
        values({"other", "self"});
        break;
      case Form::kClamp:
        values({"self"});
        if (!scalar("min", -kInfinity) || !scalar("max", kInfinity)) return std::nullopt;
        break;
      case Form::kHardtanh:
        values({"self"});
        if (!scalar("min_val", std::nullopt) || !scalar("max_val", std::nullopt)) {
          return std::nullopt;
        }
        break;
      case Form::kLeakyRelu:
        values({"self"});
        if (!scalar("negative_slope", std::nullopt)) return std::nullopt;
        break;
      case Form::kElu:
        values({"self"});
        for (std::string_view name : {"alpha", "scale", "input_scale"}) {
          if (!scalar(name, std::nullopt)) return std::nullopt;
        }
        break;
      case Form::kGelu:
        values({"self"});
        if (node.argument("approximate") == Argument("tanh")) step.name = "gelu_tanh";
        break;
      case Form::kPower: {
        const std::optional<double> exponent = Number(node.argument("exponent"));
        if (!exponent.has_value() || !IsQuickExponent(*exponent, /*integers=*/false)) {
          return std::nullopt;
        }
        values({"self"});
        step.operands.emplace_back(*exponent);
        break;
      }
      case Form::kWhere:
        values({"condition", "self", "other"});
        break;
      case Form::kMaskedFill:
        values({"mask", "value", "self"});
        break;
    }
    const PointwiseStep& kind = *FindPointwiseStep(step.name);
    for (size_t i = 0; i < static_cast<size_t>(kind.operands); ++i) {
      Argument& operand = step.operands[i];
      const bool truth = (kind.truth_operands >> i & 1) != 0;
      if (const ValueId* value = operand.get_if<ValueId>()) {
        const TensorMeta* meta = graph_.value(*value).tensor();
        if (!IsFloatOrTruth(meta) || (meta->dtype == DType::kBool) != truth) return std::nullopt;
        if (meta->rank() == 0 && !truth) {
          if (const std::optional<double> number = Number(operand)) operand = Argument(*number);
        }
        continue;
      }
      const std::optional<double> number = Number(operand);
      if (!number.has_value() || truth) return std::nullopt;
      operand = Argument(*number);
    }
    return step;
  }

  // Returns the step of a quantize node whose result is uint8, or of a dequantize node.
  std::optional<Step> QuantizationStepOf(NodeId id) const {
    const auto number = [](auto x) { return Argument(static_cast<double>(x)); };
    if (const std::optional<QuantizedForm> form = quantized_.Dequantize(id)) {
      if (IsSmall(graph_.MetaOf(form->input))) return std::nullopt;
      return Step{"dequantize",
                  {Argument(form->input), number(form->zero_point), number(form->scale)}};
    }
    const std::optional<QuantizedForm> form = quantized_.Quantize(id);
    if (!form.has_value() || !form->IsCallable() || IsSmall(graph_.MetaOf(form->input))) {
      return std::nullopt;
    }
    return Step{"quantize",
                {Argument(form->input), number(static_cast<float>(1 / form->scale)),
                 number(form->zero_point), number(form->quant_min), number(form->quant_max)}};
  }

  // Whether a group may contain the producer of an input. Bytes are dequantized again, if the
  // result has other users: they are a quarter of it.
  bool CanContain(NodeId producer, const absl::flat_hash_set<NodeId>& group) const {
    const auto step = steps_.find(producer);
    if (step == steps_.end() || fused_.contains(producer)) return false;
    if (step->second.name == "quantize") return false;
    return step->second.name == "dequantize" || IsUsedOnlyBy(producer, group);
  }

  // Whether all users of the node are in the group.
  bool IsUsedOnlyBy(NodeId id, const absl::flat_hash_set<NodeId>& group) const {
    const ValueId result = graph_.ResultOf(id);
    if (graph_.IsOutput(result)) return false;
    const std::vector<NodeId>& users = graph_.value(result).users;
    return std::all_of(users.begin(), users.end(),
                       [&](NodeId user) { return group.contains(user); });
  }

  // Returns the group of these nodes; nullopt if it exceeds a limit.
  std::optional<Group> Collect(const absl::flat_hash_set<NodeId>& nodes) const {
    Group group;
    group.nodes.assign(nodes.begin(), nodes.end());
    std::sort(group.nodes.begin(), group.nodes.end(),
              [&](NodeId a, NodeId b) { return positions_.get(a) < positions_.get(b); });
    for (NodeId id : group.nodes) {
      const Step& step = steps_.at(id);
      group.steps += (step.name.empty() ? 0 : 1) + (step.rounds ? 1 : 0);
      for (const Argument& operand : step.operands) {
        if (const ValueId* value = operand.get_if<ValueId>()) {
          const NodeId producer = graph_.value(*value).producer;
          if (producer.valid() && nodes.contains(producer)) continue;
          if (std::find(group.inputs.begin(), group.inputs.end(), *value) == group.inputs.end()) {
            group.inputs.push_back(*value);
          }
        } else if (std::find(group.scalars.begin(), group.scalars.end(),
                             *operand.get_if<double>()) == group.scalars.end()) {
          group.scalars.push_back(*operand.get_if<double>());
        }
      }
    }
    if (group.steps > kMaxPointwiseSteps || group.inputs.size() > kMaxPointwiseInputs ||
        group.scalars.size() > kMaxPointwiseScalars) {
      return std::nullopt;
    }
    return group;
  }

  // The input of the fused operator: the bfloat16 source of a conversion to float32, or itself.
  ValueId Source(ValueId operand) const {
    const std::optional<ValueId> source = Converted(operand);
    return source.has_value() && graph_.MetaOf(*source).dtype == DType::kBFloat16 ? *source
                                                                                  : operand;
  }

  // f(g(x), h(y), …)  ->  pointwise(program, x, y, …)
  // f, g and h are elementwise, and the inner results have no other users.
  bool Fuse(NodeId root) {
    const TensorMeta& result = graph_.MetaOf(graph_.ResultOf(root));
    const Step& last = steps_.at(root);
    if (result.dtype == DType::kBool || (last.name.empty() && !last.rounds)) return false;
    absl::flat_hash_set<NodeId> nodes = {root};
    std::optional<Group> group = Collect(nodes);
    if (!group.has_value()) return false;
    for (bool grown = true; grown;) {
      grown = false;
      for (const ValueId input : group->inputs) {
        const NodeId producer = graph_.value(input).producer;
        if (!producer.valid() || graph_.MetaOf(input).sizes != result.sizes ||
            !CanContain(producer, nodes)) {
          continue;
        }
        nodes.insert(producer);
        std::optional<Group> larger = Collect(nodes);
        if (!larger.has_value() || larger->inputs.empty()) {
          nodes.erase(producer);
          continue;
        }
        group = std::move(larger);
        grown = true;
        break;
      }
    }
    const bool computes = std::any_of(group->nodes.begin(), group->nodes.end(),
                                      [&](NodeId id) { return !steps_.at(id).name.empty(); });
    const bool converts = std::any_of(group->inputs.begin(), group->inputs.end(),
                                      [&](ValueId input) { return Source(input) != input; });
    if (!computes || (group->nodes.size() < 2 && !converts)) return false;
    Replace(root, *group, nodes);
    return true;
  }

  // `nodes` are those of the group.
  void Replace(NodeId root, const Group& group, const absl::flat_hash_set<NodeId>& nodes) {
    absl::flat_hash_map<ValueId, int64_t> indices;
    Argument::List inputs, scalars, operands;
    for (ValueId input : group.inputs) {
      const Argument source(Source(input));
      const auto at = std::find(inputs.begin(), inputs.end(), source);
      indices.emplace(input, at - inputs.begin());
      if (at == inputs.end()) inputs.push_back(source);
    }
    for (double scalar : group.scalars) scalars.emplace_back(scalar);
    const auto first_scalar = static_cast<int64_t>(inputs.size());
    int64_t next = first_scalar + static_cast<int64_t>(scalars.size());
    std::string names;
    for (NodeId id : group.nodes) {
      const Step& step = steps_.at(id);
      const auto index_of = [&](const Argument& operand) -> int64_t {
        if (const ValueId* value = operand.get_if<ValueId>()) return indices.at(*value);
        const auto at =
            std::find(group.scalars.begin(), group.scalars.end(), *operand.get_if<double>());
        return first_scalar + (at - group.scalars.begin());
      };
      const auto append = [&](std::string_view name) {
        absl::StrAppend(&names, names.empty() ? "" : " ", name);
        return next++;
      };
      int64_t index = index_of(step.operands[0]);
      if (!step.name.empty()) {
        for (const Argument& operand : step.operands) operands.emplace_back(index_of(operand));
        index = append(step.name);
      }
      if (step.rounds) {
        operands.emplace_back(index);
        index = append("bfloat16");
      }
      indices.emplace(graph_.ResultOf(id), index);
    }
    editor_.SetTarget(root, CpuOp("pointwise"));
    editor_.SetArguments(root, {Argument(std::move(inputs)), Argument(std::move(names)),
                                Argument(std::move(operands)), Argument(std::move(scalars))});
    for (NodeId id : group.nodes) {
      // Other users of dequantized bytes keep the node.
      if (id != root && !IsUsedOnlyBy(id, nodes)) continue;
      fused_.insert(id);
      if (id != root) handles_.Fuse(editor_, root, id);
    }
  }

  exir::GraphEditor editor_;
  const exir::Graph& graph_;
  const exir::SecondaryMap<NodeId, uint32_t> positions_;
  const ConstantViews constants_;
  const QuantizedForms quantized_;
  FusedHandles& handles_;
  absl::flat_hash_map<NodeId, Step> steps_;
  absl::flat_hash_set<NodeId> fused_;
};

}  // namespace

bool IsPointwiseOp(const exir::Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (RowOf(node) == nullptr || node.results().size() != 1) return false;
  const TensorMeta* result = graph.value(node.results()[0]).tensor();
  if (!IsFloatOrTruth(result) || IsSmall(*result)) return false;
  for (const Argument& argument : node.arguments) {
    const ValueId* value = argument.get_if<ValueId>();
    if (value == nullptr) continue;
    const TensorMeta* meta = graph.value(*value).tensor();
    if (meta != nullptr && !IsFloatOrTruth(meta)) return false;
  }
  return true;
}

exir::Pass FusePointwise(FusedHandles& handles) {
  return {"fuse_pointwise", [&handles](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return PointwiseFusion(program, handles).Run();
          }};
}

}  // namespace belay::cpu
