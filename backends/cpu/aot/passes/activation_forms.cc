#include "backends/cpu/aot/passes/activation_forms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace belay::cpu {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::ValueId;

const ActivationForms::Row ActivationForms::kRows[] = {
    {"aten.add.Scalar", Op::kAdd},
    {"aten.add.Tensor", Op::kAdd},
    {"aten.clamp.default", Op::kClamp},
    {"aten.div.Scalar", Op::kDiv},
    {"aten.div.Tensor", Op::kDiv},
    {"aten.gelu.default", Op::kActivation, "gelu"},
    {"aten.hardsigmoid.default", Op::kActivation, "hardsigmoid"},
    {"aten.hardswish.default", Op::kActivation, "hardswish"},
    {"aten.hardtanh.default", Op::kHardtanh},
    {"aten.mul.Scalar", Op::kMul},
    {"aten.mul.Tensor", Op::kMul},
    {"aten.relu.default", Op::kRelu},
    {"aten.sigmoid.default", Op::kActivation, "sigmoid"},
    {"aten.silu.default", Op::kActivation, "silu"},
    {"aten.tanh.default", Op::kActivation, "tanh"},
};

ActivationForms::ActivationForms(const exir::ExportedProgram& program,
                                 const ConstantViews& constants)
    : program_(program), table_(*program.ops, kRows), constants_(constants) {}

std::optional<ClampForm> ActivationForms::Clamp(NodeId id) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Row* row = RowOf(id);
  if (row == nullptr) return std::nullopt;
  if (row->kind == Op::kRelu) return ClampForm{0, kInfinity};
  if (row->kind != Op::kClamp && row->kind != Op::kHardtanh) return std::nullopt;
  const bool hardtanh = row->kind == Op::kHardtanh;
  const auto bound = [&](std::string_view name, float none) -> std::optional<float> {
    const Argument& argument = node(id).argument(name);
    if (argument.is_none()) return none;
    if (argument.is<ValueId>()) return std::nullopt;
    const std::optional<double> number = constants_.Number(argument);
    if (!number.has_value() || std::isnan(*number)) return std::nullopt;
    return static_cast<float>(*number);
  };
  const std::optional<float> low = bound(hardtanh ? "min_val" : "min", -kInfinity);
  const std::optional<float> high = bound(hardtanh ? "max_val" : "max", kInfinity);
  if (!low.has_value() || !high.has_value()) return std::nullopt;
  // If the bounds cross, the upper one wins, as in PyTorch.
  return ClampForm{std::min(*low, *high), *high};
}

std::optional<Argument> ActivationForms::Beside(NodeId id, ValueId value, Op kind) const {
  const Row* row = RowOf(id);
  if (row == nullptr || row->kind != kind) return std::nullopt;
  const Argument self = node(id).argument("self"), other = node(id).argument("other");
  if (kind == Op::kAdd && constants_.Number(node(id).argument("alpha")) != 1.0) return std::nullopt;
  if (self == Argument(value)) return other;
  if (other == Argument(value) && kind != Op::kDiv) return self;
  return std::nullopt;
}

std::optional<Argument> ActivationForms::Addend(NodeId id, ValueId value) const {
  return Beside(id, value, Op::kAdd);
}
std::optional<Argument> ActivationForms::Factor(NodeId id, ValueId value) const {
  return Beside(id, value, Op::kMul);
}

bool ActivationForms::IsLike(ValueId a, ValueId b) const {
  constexpr DTypeSet kTypes = {DType::kFloat32, DType::kBFloat16};
  const exir::TensorMeta* x = graph().value(a).tensor();
  const exir::TensorMeta* y = graph().value(b).tensor();
  return x != nullptr && y != nullptr && kTypes.contains(x->dtype) && y->dtype == x->dtype &&
         x->sizes == y->sizes;
}

std::optional<std::vector<NodeId>> ActivationForms::SixSteps(NodeId first, ValueId value) const {
  const std::optional<Argument> three = Addend(first, value);
  if (!three.has_value() || constants_.Number(*three) != 3.0) return std::nullopt;
  std::vector<NodeId> steps = {first};
  float low = -std::numeric_limits<float>::infinity(), high = -low;
  while (low != 0 || high != 6) {
    const std::optional<NodeId> next = graph().SoleUser(Result(steps.back()));
    const std::optional<ClampForm> clamp = next.has_value() ? Clamp(*next) : std::nullopt;
    if (!clamp.has_value()) return std::nullopt;
    low = std::clamp(low, clamp->low, clamp->high);
    high = std::clamp(high, clamp->low, clamp->high);
    steps.push_back(*next);
  }
  return steps;
}

bool ActivationForms::DividesBySix(NodeId id, ValueId value) const {
  if (const std::optional<Argument> six = Beside(id, value, Op::kDiv)) {
    // div with a rounding mode is another overload.
    return constants_.Number(*six) == 6.0;
  }
  const std::optional<Argument> sixth = Factor(id, value);
  if (!sixth.has_value()) return false;
  const std::optional<double> number = constants_.Number(*sixth);
  return number.has_value() && static_cast<float>(*number) == static_cast<float>(1.0 / 6);
}

std::optional<ActivationForm> ActivationForms::FindGated(ValueId value, NodeId gate,
                                                         NodeId product) const {
  const Row* row = RowOf(gate);
  if (row == nullptr) return std::nullopt;
  const std::optional<Argument> factor = Factor(product, value);
  if (!factor.has_value()) return std::nullopt;
  if (row->activation == "sigmoid") {
    if (graph().SoleUser(Result(gate)) != product || *factor != Argument(Result(gate))) {
      return std::nullopt;
    }
    return ActivationForm{"silu", {gate, product}};
  }
  std::optional<std::vector<NodeId>> steps = SixSteps(gate, value);
  if (!steps.has_value()) return std::nullopt;
  ActivationForm form{"hardswish", *std::move(steps)};
  // The division may precede or follow the multiplication.
  std::optional<NodeId> next = graph().SoleUser(Result(form.nodes.back()));
  const bool before = next.has_value() && DividesBySix(*next, Result(form.nodes.back()));
  if (before) {
    form.nodes.push_back(*next);
    next = graph().SoleUser(Result(form.nodes.back()));
  }
  if (next != product || *factor != Argument(Result(form.nodes.back()))) return std::nullopt;
  form.nodes.push_back(product);
  if (before) return form;
  next = graph().SoleUser(Result(product));
  if (!next.has_value() || !DividesBySix(*next, Result(product))) return std::nullopt;
  form.nodes.push_back(*next);
  return form;
}

std::optional<ActivationForm> ActivationForms::Find(ValueId value) const {
  if (graph().IsOutput(value)) return std::nullopt;
  const std::vector<NodeId>& users = graph().value(value).users;
  std::optional<ActivationForm> form;
  if (users.size() == 1) {
    const Row* row = RowOf(users[0]);
    if (row == nullptr) return std::nullopt;
    if (row->kind == Op::kActivation) {
      form = ActivationForm{row->activation, {users[0]}};
      const std::string* approximate = node(users[0]).argument("approximate").get_if<std::string>();
      if (approximate != nullptr && *approximate == "tanh") form->activation = "gelu_tanh";
    } else if (std::optional<std::vector<NodeId>> steps = SixSteps(users[0], value)) {
      const std::optional<NodeId> last = graph().SoleUser(Result(steps->back()));
      if (!last.has_value() || !DividesBySix(*last, Result(steps->back()))) return std::nullopt;
      steps->push_back(*last);
      form = ActivationForm{"hardsigmoid", *std::move(steps)};
    }
  } else if (users.size() == 2) {
    form = FindGated(value, users[0], users[1]);
    if (!form.has_value()) form = FindGated(value, users[1], users[0]);
  }
  if (!form.has_value()) return std::nullopt;
  // Dtypes other than float32 round between the nodes of a decomposition.
  const exir::TensorMeta* meta = graph().value(value).tensor();
  if (form->nodes.size() > 1 && (meta == nullptr || meta->dtype != DType::kFloat32)) {
    return std::nullopt;
  }
  for (NodeId id : form->nodes) {
    if (!IsLike(Result(id), value)) return std::nullopt;
  }
  return form;
}

}  // namespace belay::cpu
