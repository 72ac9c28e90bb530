#include "exir/passes/scalar_to_tensor.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/type_promotion.h"

namespace belay::exir {
namespace {

class Lifter {
 public:
  explicit Lifter(ExportedProgram& program) : program_(program), top_(program.top()) {}

  // A new constant's value in the top graph: each use has its own, so that each goes where its user
  // goes. Bodies get none: they have no constants of their own.
  ValueId Lift(DType dtype, double value, int64_t bits) {
    const std::string fqn = UnusedTensorName(program_, "_lifted_tensor_constant", next_);
    program_.state_dict.emplace(fqn, IsFloatingPoint(dtype)
                                         ? ConstantTensor::Scalar(dtype, value)
                                         : ConstantTensor::ScalarInt(dtype, bits));
    return InsertConstantInput(program_, top_, EndOfConstants(program_), fqn, fqn,
                               TensorMeta::Contiguous(dtype, {}), InputKind::kBuffer);
  }
  GraphEditor& top() { return top_; }

 private:
  ExportedProgram& program_;
  GraphEditor top_;
  int next_ = 0;
};

struct Literal {
  DType dtype;
  double value;
  int64_t bits;  // of a number that is not floating point: the number
};

std::optional<Literal> AsLiteral(const Argument& argument) {
  if (const auto* b = argument.get_if<bool>()) return Literal{DType::kBool, 0, *b ? 1 : 0};
  if (const auto* i = argument.get_if<int64_t>()) return Literal{DType::kInt64, 0, *i};
  if (const auto* d = argument.get_if<double>()) return Literal{DType::kFloat32, *d, 0};
  return std::nullopt;
}

std::optional<DType> SymbolicDType(const ValueType& type) {
  if (std::holds_alternative<SymIntType>(type)) return DType::kInt32;
  if (std::holds_alternative<SymFloatType>(type)) return DType::kFloat32;
  if (std::holds_alternative<SymBoolType>(type)) return DType::kBool;
  return std::nullopt;
}

// The dtype of the tensor that stands for a number of dtype `natural` among the node's operands:
// one with which they promote as with the number, which counts less than any tensor. `exact`: a
// float32 holds the number.
DType DTypeAmong(const Graph& graph, const Node& node, DType natural, bool exact) {
  TypePromotion with_number, with_tensor;
  for (const Argument& argument : node.arguments) {
    const ValueId* value = argument.get_if<ValueId>();
    const TensorMeta* meta = value == nullptr ? nullptr : graph.value(*value).tensor();
    if (meta == nullptr) continue;
    with_number.AddTensor(meta->dtype, static_cast<int>(meta->rank()));
    with_tensor.AddTensor(meta->dtype, static_cast<int>(meta->rank()));
  }
  with_number.AddScalar(IsIntegral(natural, /*include_bool=*/false) ? DType::kInt64 : natural);
  with_tensor.AddTensor(natural, 0);
  const absl::StatusOr<DType> wanted = with_number.Result(), given = with_tensor.Result();
  if (!wanted.ok() || !given.ok())
    return natural;  // the operator's own check will say what is wrong
  if (natural == DType::kFloat32 && !exact && *wanted == DType::kFloat64) return *wanted;
  return *wanted == *given || !node.target->has_trait(kPointwise) ? natural : *wanted;
}

// Whether a half precision dtype holds the number.
bool HalfHolds(DType dtype, double value) {
  const bool bfloat = dtype == DType::kBFloat16;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent) * (bfloat ? 0x1p8 : 0x1p11);
  const bool in_range =
      bfloat ? exponent > -126 && exponent <= 128 : exponent > -14 && exponent <= 16;
  return value == 0 || (in_range && mantissa == std::trunc(mantissa));
}

// The overload for a number in the place of the second tensor, where PyTorch multiplies or divides
// by it in float32; a tensor of the half precision dtype would round the number, as PyTorch does
// before it adds. nullopt when it would not, and for other operators.
std::optional<std::string_view> ScalarTwin(const Graph& graph, const Node& node, size_t argument,
                                           double number) {
  constexpr std::pair<std::string_view, std::string_view> kTwins[] = {
      {"aten.div.Tensor", "aten.div.Scalar"},
      {"aten.mul.Tensor", "aten.mul.Scalar"},
  };
  const ValueId* value = argument == 1 ? node.arguments[0].get_if<ValueId>() : nullptr;
  const TensorMeta* meta = value == nullptr ? nullptr : graph.value(*value).tensor();
  if (meta == nullptr || (meta->dtype != DType::kFloat16 && meta->dtype != DType::kBFloat16) ||
      HalfHolds(meta->dtype, number)) {
    return std::nullopt;
  }
  for (const auto& [op, twin] : kTwins) {
    if (node.target->name() == op) return twin;
  }
  return std::nullopt;
}

// A call of `target` with all arguments at their defaults.
std::vector<Argument> DefaultArguments(const OpOverload* target) {
  std::vector<Argument> arguments;
  for (const SchemaArgument& a : target->schema()->arguments) {
    Argument value;
    if (a.default_value.has_value()) {
      std::visit(
          [&](const auto& v) {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_constructible_v<Argument, T>) value = Argument(v);
          },
          *a.default_value);
    }
    arguments.push_back(std::move(value));
  }
  return arguments;
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  bool changed = false;
  Lifter lifter(program);
  const OpOverload* scalar_tensor = program.ops->Find("aten.scalar_tensor.default");
  const OpOverload* full = program.ops->Find("aten.full.default");
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    std::optional<GraphEditor> body;
    if (GraphId(g) != ExportedProgram::kTop) body.emplace(program.graphs[GraphId(g)]);
    GraphEditor& editor = body.has_value() ? *body : lifter.top();
    const Graph& graph = editor.graph();
    for (NodeId id : graph.NodeList()) {
      const OpOverload* target = graph.node(id).target;
      if (target->schema() == nullptr) continue;
      for (size_t i = 0; i < target->schema()->arguments.size(); ++i) {
        const SchemaType& type = target->schema()->arguments[i].type;
        if (type.base != BaseType::kTensor || type.list) continue;
        const Argument& argument = graph.node(id).arguments[i];
        if (std::optional<Literal> literal = AsLiteral(argument)) {
          const double number = literal->dtype == DType::kFloat32
                                    ? literal->value
                                    : static_cast<double>(literal->bits);
          if (const auto name = ScalarTwin(graph, graph.node(id), i, number)) {
            const OpOverload* twin = program.ops->Find(*name);
            if (twin == nullptr) {
              return absl::UnimplementedError(
                  absl::StrCat(std::string(*name), " is not registered"));
            }
            editor.SetTarget(id, twin);
            changed = true;
            break;
          }
          const bool exact =
              static_cast<double>(static_cast<float>(literal->value)) == literal->value;
          literal->dtype = DTypeAmong(graph, graph.node(id), literal->dtype, exact);
          if (!body.has_value()) {
            editor.SetArgument(id, i, lifter.Lift(literal->dtype, literal->value, literal->bits));
          } else {
            if (full == nullptr)
              return absl::UnimplementedError("aten.full.default is not registered");
            std::vector<Argument> arguments = DefaultArguments(full);
            arguments[0] = Argument::List{};
            arguments[1] = argument;
            arguments[2] = literal->dtype;
            const ValueId value = editor.InsertOp(id,
                                                  {.name = "scalar",
                                                   .target = full,
                                                   .arguments = std::move(arguments),
                                                   .provenance = graph.node(id).provenance},
                                                  TensorMeta::Contiguous(literal->dtype, {}));
            editor.SetArgument(id, i, value);
          }
          changed = true;
        } else if (const ValueId* value = argument.get_if<ValueId>()) {
          std::optional<DType> dtype = SymbolicDType(graph.value(*value).type);
          if (!dtype.has_value()) continue;
          dtype = DTypeAmong(graph, graph.node(id), *dtype, /*exact=*/false);
          if (scalar_tensor == nullptr) {
            return absl::UnimplementedError("aten.scalar_tensor.default is not registered");
          }
          std::vector<Argument> arguments = DefaultArguments(scalar_tensor);
          arguments[0] = *value;
          arguments[1] = *dtype;
          const ValueId tensor = editor.InsertOp(id,
                                                 {.name = "scalar_tensor",
                                                  .target = scalar_tensor,
                                                  .arguments = std::move(arguments),
                                                  .provenance = graph.node(id).provenance},
                                                 TensorMeta::Contiguous(*dtype, {}));
          editor.SetArgument(id, i, tensor);
          changed = true;
        }
      }
    }
  }
  return changed;
}

}  // namespace

Pass ScalarToTensor() { return {"scalar_to_tensor", Run}; }

}  // namespace belay::exir
