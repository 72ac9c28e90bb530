#include "exir/passes/scalar_to_tensor.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/op_definition/op_table.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/type_promotion.h"

namespace belay::exir {
namespace {

class Lifter {
 public:
  explicit Lifter(ExportedProgram& program) : program_(program), top_(program.top()) {}

  // Returns the value of a new constant in the top graph. Each use has its own, so that each can
  // move with its user. Not for subgraphs, which have no constants.
  ValueId Lift(ConstantTensor constant) {
    const DType dtype = constant.dtype();
    const std::string fqn = UnusedTensorName(program_, "_lifted_tensor_constant", next_);
    program_.state_dict.emplace(fqn, std::move(constant));
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
  std::complex<double> value;
  int64_t bits = 0;  // of an integer or a bool: the value

  // Returns whether float32 (both parts) represents it exactly; integers are never converted to
  // floats here.
  bool exact() const {
    const auto holds = [](double x) {
      return std::isnan(x) || static_cast<double>(static_cast<float>(x)) == x;
    };
    return holds(value.real()) && holds(value.imag());
  }
};

std::optional<Literal> AsLiteral(const Argument& argument) {
  if (const auto* b = argument.get_if<bool>()) return Literal{DType::kBool, *b ? 1.0 : 0.0, *b};
  if (const auto* i = argument.get_if<int64_t>())
    return Literal{DType::kInt64, static_cast<double>(*i), *i};
  if (const auto* d = argument.get_if<double>()) return Literal{DType::kFloat32, *d};
  if (const auto* c = argument.get_if<std::complex<double>>())
    return Literal{DType::kComplex64, *c};
  return std::nullopt;
}

template <class Part>
ConstantTensor ComplexConstant(DType dtype, Part real, Part imaginary) {
  const Part parts[] = {real, imaginary};
  std::vector<std::byte> bytes(sizeof(parts));
  std::memcpy(bytes.data(), parts, sizeof(parts));
  absl::StatusOr<ConstantTensor> tensor =
      ConstantTensor::Contiguous(dtype, {}, Storage::Own(std::move(bytes)));
  ABSL_CHECK(tensor.ok());  // the size matches the dtype
  return *std::move(tensor);
}

ConstantTensor ConstantOf(const Literal& literal, DType dtype) {
  const double real = literal.value.real(), imaginary = literal.value.imag();
  switch (dtype) {
    case DType::kComplex32:
      return ComplexConstant(dtype, FloatToHalfBits(static_cast<float>(real)),
                             FloatToHalfBits(static_cast<float>(imaginary)));
    case DType::kComplex64:
      return ComplexConstant(dtype, static_cast<float>(real), static_cast<float>(imaginary));
    case DType::kComplex128:
      return ComplexConstant(dtype, real, imaginary);
    default:
      return IsFloatingPoint(dtype) ? ConstantTensor::Scalar(dtype, real)
                                    : ConstantTensor::ScalarInt(dtype, literal.bits);
  }
}

// int64 for integers, as in PyTorch: products of sizes may exceed int32.
std::optional<DType> SymbolicDType(const ValueType& type) {
  if (std::holds_alternative<SymIntType>(type)) return DType::kInt64;
  if (std::holds_alternative<SymFloatType>(type)) return DType::kFloat32;
  if (std::holds_alternative<SymBoolType>(type)) return DType::kBool;
  return std::nullopt;
}

// Returns the dtype of the tensor for a scalar of dtype `natural` among the node's operands. With
// it, operands promote as with the scalar, which has lower priority than any tensor. `exact`:
// float32 represents the scalar, or both of its parts, exactly.
DType DTypeAmong(const Graph& graph, const Node& node, DType natural, bool exact) {
  TypePromotion with_number, with_tensor;
  for (const Argument& argument : node.arguments) {
    const ValueId* value = argument.get_if<ValueId>();
    const TensorMeta* meta = value == nullptr ? nullptr : graph.value(*value).tensor();
    if (meta == nullptr) continue;
    with_number.AddTensor(meta->dtype, static_cast<int>(meta->rank()));
    with_tensor.AddTensor(meta->dtype, static_cast<int>(meta->rank()));
  }
  with_number.AddScalar(natural);
  with_tensor.AddTensor(natural, 0);
  const absl::StatusOr<DType> wanted = with_number.Result(), given = with_tensor.Result();
  if (!wanted.ok() || !given.ok()) return natural;  // the operator's own check reports the error
  if (!exact && (*wanted == DType::kFloat64 || *wanted == DType::kComplex128)) {
    if (natural == DType::kFloat32) return DType::kFloat64;
    if (natural == DType::kComplex64) return DType::kComplex128;
  }
  return *wanted == *given || !node.target->has_trait(kPointwise) ? natural : *wanted;
}

// Returns whether a half-precision dtype represents the number exactly.
bool HalfHolds(DType dtype, double value) {
  const bool bfloat = dtype == DType::kBFloat16;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent) * (bfloat ? 0x1p8 : 0x1p11);
  const bool in_range =
      bfloat ? exponent > -126 && exponent <= 128 : exponent > -14 && exponent <= 16;
  return value == 0 || (in_range && mantissa == std::trunc(mantissa));
}

// The overload with a scalar in place of the second tensor. PyTorch multiplies and divides by such
// a scalar in float32; a half-precision tensor would round it. For additions PyTorch rounds it too.
struct ScalarOverload {
  std::string_view op, scalar;
};
constexpr ScalarOverload kScalarOverloads[] = {
    {"aten.div.Tensor", "aten.div.Scalar"},
    {"aten.mul.Tensor", "aten.mul.Scalar"},
};

// Returns whether the scalar argument `other` would be rounded to the dtype of `self`. `number`:
// nullopt if it is not known.
bool RoundsInHalf(const Graph& graph, const Node& node, std::optional<double> number) {
  const ValueId* value = node.value_argument("self");
  const TensorMeta* meta = value == nullptr ? nullptr : graph.value(*value).tensor();
  return meta != nullptr && (meta->dtype == DType::kFloat16 || meta->dtype == DType::kBFloat16) &&
         !(number.has_value() && HalfHolds(meta->dtype, *number));
}

// Emits the operators that create tensors, before their user.
class TensorMaker {
 public:
  TensorMaker(const OpRegistry& ops, GraphEditor& editor, NodeId user)
      : ops_(ops), editor_(editor), user_(user) {}

  absl::StatusOr<ValueId> Full(Argument number, DType dtype) {
    return Call("aten.full.default", "scalar", dtype,
                {{"size", Argument::List{}}, {"fill_value", std::move(number)}});
  }
  absl::StatusOr<ValueId> ScalarTensor(ValueId number, DType dtype) {
    return Call("aten.scalar_tensor.default", "scalar_tensor", dtype, {{"s", number}});
  }
  absl::StatusOr<ValueId> Cast(ValueId tensor, DType dtype) {
    return Call("aten._to_copy.default", "_to_copy", dtype, {{"self", tensor}});
  }

 private:
  // Calls with `dtype`, the given arguments, and defaults for all others.
  absl::StatusOr<ValueId> Call(std::string_view op, std::string name, DType dtype,
                               std::vector<std::pair<std::string_view, Argument>> given) {
    const OpOverload* target = ops_.Find(op);
    if (target == nullptr) return absl::UnimplementedError(absl::StrCat(op, " is not registered"));
    given.emplace_back("dtype", dtype);
    return editor_.InsertOp(user_,
                            {.name = std::move(name),
                             .target = target,
                             .arguments = ArgumentsByName(*target->schema(), std::move(given)),
                             .provenance = editor_.graph().node(user_).provenance},
                            TensorMeta::Contiguous(dtype, {}));
  }

  const OpRegistry& ops_;
  GraphEditor& editor_;
  NodeId user_;
};

absl::StatusOr<bool> Run(ExportedProgram& program) {
  const OpTable<ScalarOverload> scalar_overloads(*program.ops, kScalarOverloads);
  bool changed = false;
  Lifter lifter(program);
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    std::optional<GraphEditor> body;
    if (GraphId(g) != ExportedProgram::kTop) body.emplace(program.graphs[GraphId(g)]);
    GraphEditor& editor = body.has_value() ? *body : lifter.top();
    const Graph& graph = editor.graph();
    // Keeps the scalar by using the scalar overload, if appropriate; returns whether it did.
    const auto keep_number = [&](NodeId id, std::string_view argument,
                                 std::optional<double> number) -> absl::StatusOr<bool> {
      const Node& node = graph.node(id);
      const ScalarOverload* row = scalar_overloads.Find(node.target);
      if (row == nullptr || argument != "other" || !RoundsInHalf(graph, node, number)) return false;
      const OpOverload* scalar = program.ops->Find(row->scalar);
      if (scalar == nullptr)
        return absl::UnimplementedError(absl::StrCat(row->scalar, " is not registered"));
      editor.SetTarget(id, scalar);
      changed = true;
      return true;
    };
    for (NodeId id : graph.NodeList()) {
      const OpOverload* target = graph.node(id).target;
      if (target->schema() == nullptr) continue;
      TensorMaker make(*program.ops, editor, id);
      for (size_t i = 0; i < target->schema()->arguments.size(); ++i) {
        const std::string& name = target->schema()->arguments[i].name;
        const SchemaType& type = target->schema()->arguments[i].type;
        if (type.base != BaseType::kTensor || type.list) continue;
        const Argument& argument = graph.node(id).arguments[i];
        if (const std::optional<Literal> literal = AsLiteral(argument)) {
          if (!IsComplex(literal->dtype)) {
            ABSL_ASSIGN_OR_RETURN(const bool kept, keep_number(id, name, literal->value.real()));
            if (kept) break;
          }
          const DType dtype = DTypeAmong(graph, graph.node(id), literal->dtype, literal->exact());
          ValueId tensor;
          if (body.has_value()) {
            ABSL_ASSIGN_OR_RETURN(tensor, make.Full(argument, dtype));
          } else {
            tensor = lifter.Lift(ConstantOf(*literal, dtype));
          }
          editor.SetArgument(id, i, tensor);
          changed = true;
        } else if (const ValueId* value = argument.get_if<ValueId>()) {
          const std::optional<DType> natural = SymbolicDType(graph.value(*value).type);
          if (!natural.has_value()) continue;
          if (*natural != DType::kBool) {
            ABSL_ASSIGN_OR_RETURN(const bool kept, keep_number(id, name, std::nullopt));
            if (kept) break;
          }
          const DType dtype = DTypeAmong(graph, graph.node(id), *natural, /*exact=*/false);
          // If an integer scalar gets another dtype, that is a narrower integer, to which it wraps:
          // a cast wraps, while creating the tensor rejects numbers out of range.
          const bool wraps = *natural == DType::kInt64;
          ABSL_ASSIGN_OR_RETURN(ValueId tensor,
                                make.ScalarTensor(*value, wraps ? DType::kInt64 : dtype));
          if (wraps && dtype != DType::kInt64) {
            ABSL_ASSIGN_OR_RETURN(tensor, make.Cast(tensor, dtype));
          }
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
