#include "backends/cpu/aot/passes/activation_forms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "backends/cpu/aot/passes/float_casts.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::ValueId;
namespace m = exir::match;

// The longest decomposition: add, two clamps, division and multiplication.
constexpr int kMaxNodes = 5;

m::Pattern Mul(m::Pattern a, m::Pattern b) {
  return m::EitherOrder("mul", std::move(a), std::move(b));
}

}  // namespace

const ActivationForms::Row ActivationForms::kRows[] = {
    {"aten.gelu.default", "gelu"},           {"aten.hardsigmoid.default", "hardsigmoid"},
    {"aten.hardswish.default", "hardswish"}, {"aten.sigmoid.default", "sigmoid"},
    {"aten.silu.default", "silu"},           {"aten.tanh.default", "tanh"},
};

ActivationForms::ActivationForms(const exir::ExportedProgram& program,
                                 const ConstantViews& constants)
    : program_(program),
      activations_(*program.ops, kRows),
      constants_(constants),
      matcher_(program.top(),
               [this](const Argument& number) { return constants_.Number(number); }) {}

std::optional<ClampForm> ActivationForms::Clamp(NodeId id) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Node& node = graph().node(id);
  const std::string& op = node.target->name();
  if (op == "aten.relu.default") return ClampForm{0, kInfinity};
  const bool hardtanh = op == "aten.hardtanh.default";
  if (!hardtanh && op != "aten.clamp.default") return std::nullopt;
  const auto bound = [&](std::string_view name, float none) -> std::optional<float> {
    const Argument& argument = node.argument(name);
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

std::optional<Argument> ActivationForms::Addend(NodeId node, ValueId value) const {
  Argument other;
  const m::Pattern sum = m::Sum(m::Same(&value), m::Any(&other));
  return matcher_.Match(sum, node).has_value() ? std::optional(other) : std::nullopt;
}
std::optional<Argument> ActivationForms::Factor(NodeId node, ValueId value) const {
  Argument other;
  const m::Pattern product = Mul(m::Same(&value), m::Any(&other));
  return matcher_.Match(product, node).has_value() ? std::optional(other) : std::nullopt;
}

bool ActivationForms::IsLike(ValueId a, ValueId b) const {
  constexpr DTypeSet kTypes = {DType::kFloat32, DType::kBFloat16};
  const exir::TensorMeta* x = graph().value(a).tensor();
  const exir::TensorMeta* y = graph().value(b).tensor();
  return x != nullptr && y != nullptr && kTypes.contains(x->dtype) && y->dtype == x->dtype &&
         x->sizes == y->sizes;
}

bool ActivationForms::ClampsToSix(ValueId value) const {
  float low = -std::numeric_limits<float>::infinity(), high = -low;
  for (NodeId id = graph().value(value).producer; id.valid();) {
    const std::optional<ClampForm> clamp = Clamp(id);
    if (!clamp.has_value()) break;
    // This clamp precedes those with bounds low and high.
    low = std::clamp(clamp->low, low, high);
    high = std::clamp(clamp->high, low, high);
    id = graph().value(*graph().node(id).operand().get_if<ValueId>()).producer;
  }
  return low == 0 && high == 6;
}

std::optional<ActivationForm> ActivationForms::FindDecomposition(NodeId end, ValueId value) const {
  const m::Pattern x = m::Same(&value);
  const auto clamped = [](m::Pattern operand) {
    return m::Op({"relu", "clamp", "hardtanh"}, std::move(operand));
  };
  const m::Pattern sum = m::Sum(x, m::Number(3));
  const m::Pattern six = m::OneOf({clamped(sum), clamped(clamped(sum))}).If([this](ValueId result) {
    return ClampsToSix(result);
  });
  const auto by_six = [](m::Pattern operand) {
    return m::OneOf(
        {m::Op("div", operand, m::Number(6)).With("rounding_mode", m::Literal(Argument())),
         Mul(operand, m::Number([](double factor) {
               return static_cast<float>(factor) == static_cast<float>(1.0 / 6);
             }))});
  };
  const std::pair<std::string_view, m::Pattern> decompositions[] = {
      {"silu", Mul(x, m::Op("sigmoid", x))},
      {"hardsigmoid", by_six(six)},
      {"hardswish", m::OneOf({by_six(Mul(x, six)), Mul(x, by_six(six))})},
  };
  for (const auto& [activation, pattern] : decompositions) {
    std::optional<std::vector<NodeId>> nodes = matcher_.Match(pattern, end);
    if (!nodes.has_value()) continue;
    std::reverse(nodes->begin(), nodes->end());
    return ActivationForm{activation, *std::move(nodes)};
  }
  return std::nullopt;
}

std::optional<ActivationForm> ActivationForms::Find(ValueId value) const {
  std::optional<ActivationForm> form = FindInDType(value);
  if (form.has_value()) return form;
  const exir::TensorMeta* meta = graph().value(value).tensor();
  if (meta == nullptr || meta->dtype != DType::kBFloat16) return std::nullopt;
  const auto conversion_of = [&](ValueId operand, DType dtype) -> std::optional<NodeId> {
    const std::optional<NodeId> user = graph().SoleUser(operand);
    if (!user.has_value() || graph().node(*user).results().size() != 1) return std::nullopt;
    const ValueId result = graph().ResultOf(*user);
    if (ConvertedFloat(graph(), result) != operand) return std::nullopt;
    const exir::TensorMeta& converted = graph().MetaOf(result);
    const bool same = converted.dtype == dtype && converted.sizes == meta->sizes &&
                      converted.strides == meta->strides;
    return same ? user : std::nullopt;
  };
  const std::optional<NodeId> widen = conversion_of(value, DType::kFloat32);
  if (!widen.has_value()) return std::nullopt;
  form = FindInDType(graph().ResultOf(*widen));
  if (!form.has_value()) return std::nullopt;
  const std::optional<NodeId> narrow =
      conversion_of(graph().ResultOf(form->nodes.back()), DType::kBFloat16);
  if (!narrow.has_value()) return std::nullopt;
  form->nodes.insert(form->nodes.begin(), *widen);
  form->nodes.push_back(*narrow);
  return form;
}

std::optional<ActivationForm> ActivationForms::FindInDType(ValueId value) const {
  const std::vector<NodeId>& users = graph().value(value).users;
  if (graph().IsOutput(value) || users.empty() || users.size() > 2) return std::nullopt;
  const Row* row = activations_.Find(graph().node(users[0]).target);
  if (row != nullptr && users.size() == 1) {
    if (!IsLike(graph().ResultOf(users[0]), value)) return std::nullopt;
    const Argument& approximate = graph().node(users[0]).argument("approximate");
    return ActivationForm{approximate == Argument("tanh") ? "gelu_tanh" : row->activation,
                          {users[0]}};
  }
  // Other dtypes round between the nodes of a decomposition.
  const exir::TensorMeta* meta = graph().value(value).tensor();
  if (meta == nullptr || meta->dtype != DType::kFloat32 ||
      !m::OpNames({"add", "mul", "sigmoid"}).Contains(*graph().node(users[0]).target)) {
    return std::nullopt;
  }
  std::optional<NodeId> end = users[0];
  for (int i = 0; i < kMaxNodes && end.has_value(); ++i) {
    if (graph().node(*end).results().empty()) break;
    if (const std::optional<ActivationForm> form = FindDecomposition(*end, value)) {
      const auto is_inside = [&](NodeId user) {
        return std::find(form->nodes.begin(), form->nodes.end(), user) != form->nodes.end();
      };
      const bool closed =
          std::all_of(users.begin(), users.end(), is_inside) &&
          std::all_of(form->nodes.begin(), form->nodes.end(), [&](NodeId id) {
            const ValueId result = graph().ResultOf(id);
            return IsLike(result, value) && (id == *end || graph().HasOneUse(result));
          });
      if (closed) return form;
    }
    end = graph().SoleUser(graph().ResultOf(*end));
  }
  return std::nullopt;
}

}  // namespace belay::cpu
