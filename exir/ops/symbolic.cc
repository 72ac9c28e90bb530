// Operators on scalars: sizes and strides of tensors, elements as numbers, arithmetic, and
// assertions.
#include <array>
#include <complex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/pointwise.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/scalar_arithmetic.h"
#include "runtime/kernel/shape_rules/dims.h"

namespace belay::exir {
namespace {

using ValueKind = SymExpr::ValueKind;

// The expression that a scalar argument is. kInvalidArgument for other kinds.
absl::StatusOr<SymExpr> ExprOf(const MetaContext& context, int i) {
  const MetaValue& value = context.argument(i);
  if (const SymExpr* expr = value.get_if<SymExpr>()) return *expr;
  if (const double* real = value.get_if<double>()) return SymExpr::Float(*real);
  if (const bool* boolean = value.get_if<bool>()) return SymExpr::Bool(*boolean);
  return ArgumentError(context, i, "expected a real number");
}

// The number that an expression is, if it is one.
std::optional<EValue> NumberOf(const SymExpr& e) {
  if (e.kind() == SymExpr::Kind::kFloat) return EValue(*e.AsFloat());
  if (const std::optional<int64_t> integer = e.AsInt()) return EValue(*integer);
  if (const std::optional<bool> boolean = e.AsBool()) return EValue(*boolean);
  return std::nullopt;
}

MetaValue ToMetaValue(const EValue& value) {
  if (const int64_t* integer = value.get_if<int64_t>()) return SymExpr(*integer);
  if (const double* real = value.get_if<double>()) return *real;
  return *value.get_if<bool>();
}

// As an int or a float: bools count as 0 and 1.
SymExpr Arithmetic(const SymExpr& e) {
  if (e.value_kind() != ValueKind::kBool) return e;
  if (const std::optional<bool> value = e.AsBool()) return SymExpr(*value ? 1 : 0);
  return SymExpr::Function("Where", {e, SymExpr(1), SymExpr(0)});
}

SymExpr AsFloat(const SymExpr& e) {
  const SymExpr number = Arithmetic(e);
  return number.value_kind() == ValueKind::kFloat ? number : SymExpr::Function("ToFloat", {number});
}

bool IsFloat(const SymExpr& e) { return e.value_kind() == ValueKind::kFloat; }
bool IsBool(const SymExpr& e) { return e.value_kind() == ValueKind::kBool; }

SymExpr Call(std::string_view name, const SymExpr& a) { return SymExpr::Function(name, {a}); }
SymExpr Call(std::string_view name, const SymExpr& a, const SymExpr& b) {
  return SymExpr::Function(name, {a, b});
}

// A rounding to int.
SymExpr Rounded(std::string_view name, const SymExpr& e) {
  const SymExpr number = Arithmetic(e);
  return IsFloat(number) ? Call(name, number) : number;
}

// The expression of an operation of which not all arguments are numbers. nullopt when there is
// none.
std::optional<SymExpr> Symbolic(ScalarOp op, const std::vector<SymExpr>& x) {
  const SymExpr a = Arithmetic(x[0]);
  if (op == ScalarOp::kNeg) return SymExpr(-1) * a;
  if (op == ScalarOp::kPos) return a;
  if (op == ScalarOp::kTrunc || op == ScalarOp::kToInt) return Rounded("TruncToInt", a);
  if (op == ScalarOp::kCeil) return Rounded("CeilToInt", a);
  if (op == ScalarOp::kFloor) return Rounded("FloorToInt", a);
  if (op == ScalarOp::kNot) return Call("Not", IsBool(x[0]) ? x[0] : Call("Ne", a, SymExpr(0)));
  if (op == ScalarOp::kToFloat) return AsFloat(a);
  if (op == ScalarOp::kSqrt) return Call("OpaqueUnaryFn_sqrt", AsFloat(a));
  if (op == ScalarOp::kIfThenElse) {
    return SymExpr::Function("Where",
                             {IsBool(x[0]) ? x[0] : Call("Ne", a, SymExpr(0)), x[1], x[2]});
  }
  const SymExpr b = Arithmetic(x[1]);
  const bool real = IsFloat(a) || IsFloat(b);
  switch (op) {
    case ScalarOp::kEq:
      return Call("Eq", a, b);
    case ScalarOp::kNe:
      return Call("Ne", a, b);
    case ScalarOp::kLe:
      return Call("Le", a, b);
    case ScalarOp::kGe:
      return Call("Ge", a, b);
    case ScalarOp::kLt:
      return Call("Lt", a, b);
    case ScalarOp::kGt:
      return Call("Gt", a, b);
    case ScalarOp::kMul:
      return a * b;
    case ScalarOp::kAdd:
      return a + b;
    case ScalarOp::kSub:
      return a - b;
    case ScalarOp::kFloorDiv:
      return Call("FloorDiv", a, b);
    case ScalarOp::kMod:
      return Call("PythonMod", a, b);
    case ScalarOp::kPow:
      return Call(real ? "FloatPow" : "Pow", a, b);
    case ScalarOp::kTrueDiv:
      return Call(real ? "FloatTrueDiv" : "IntTrueDiv", a, b);
    case ScalarOp::kMax:
      return Call("Max", a, b);
    case ScalarOp::kMin:
      return Call("Min", a, b);
    case ScalarOp::kAnd:
      return IsBool(x[0]) && IsBool(x[1]) ? Call("And", x[0], x[1])
                                          : Call("BitwiseFn_bitwise_and", a, b);
    case ScalarOp::kOr:
      return IsBool(x[0]) && IsBool(x[1]) ? Call("Or", x[0], x[1])
                                          : Call("BitwiseFn_bitwise_or", a, b);
    case ScalarOp::kLShift:
      return Call("LShift", a, b);
    case ScalarOp::kRShift:
      return Call("RShift", a, b);
    default:
      return std::nullopt;
  }
}

template <ScalarOp kOp>
absl::Status Infer(MetaContext& context) {
  std::vector<SymExpr> arguments;
  std::vector<EValue> numbers;
  for (int i = 0; i < ScalarOpArity(kOp); ++i) {
    ABSL_ASSIGN_OR_RETURN(SymExpr e, ExprOf(context, i));
    if (std::optional<EValue> number = NumberOf(e)) numbers.push_back(*number);
    arguments.push_back(std::move(e));
  }
  if (numbers.size() == arguments.size()) {
    const absl::StatusOr<EValue> result = ApplyScalarOp(kOp, numbers);
    if (!result.ok()) return MetaError(context, FromAbsl(result.status().message()));
    context.SetOutput(0, ToMetaValue(*result));
    return absl::OkStatus();
  }
  const bool divides =
      kOp == ScalarOp::kFloorDiv || kOp == ScalarOp::kMod || kOp == ScalarOp::kTrueDiv;
  if (divides && Arithmetic(arguments[1]).AsFloat() == 0.0)
    return ArgumentError(context, 1, "division by zero");
  const std::optional<SymExpr> result = Symbolic(kOp, arguments);
  if (!result.has_value()) return MetaError(context, "not defined on symbols");
  const std::optional<EValue> number = NumberOf(*result);
  context.SetOutput(0, number.has_value() ? ToMetaValue(*number) : MetaValue(*result));
  return absl::OkStatus();
}

// Arguments (self, dim): the dimension counted from 0.
absl::StatusOr<int> DimOf(const MetaContext& context, const TensorMeta& self) {
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(1));
  if (self.rank() == 0)
    return ArgumentError(context, 1, absl::StrCat("dim ", dim, " of a tensor without dimensions"));
  absl::StatusOr<int> normal = NormalizeDim(dim, self.rank());
  if (!normal.ok()) return ArgumentError(context, 1, FromAbsl(normal.status().message()));
  return normal;
}

absl::Status InferSize(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int dim, DimOf(context, *self));
  context.SetOutput(0, self->sizes[dim]);
  return absl::OkStatus();
}

absl::Status InferStride(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int dim, DimOf(context, *self));
  context.SetOutput(0, self->strides[dim]);
  return absl::OkStatus();
}

absl::Status InferNumel(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  context.SetOutput(0, self->NumElements());
  return absl::OkStatus();
}

absl::Status InferStorageOffset(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  context.SetOutput(0, self->storage_offset);
  return absl::OkStatus();
}

absl::Status InferIsContiguous(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const MemoryFormat format,
                        context.MemoryFormatOr(1, MemoryFormat::kContiguous));
  bool result = false;
  if (format == MemoryFormat::kContiguous || format == MemoryFormat::kPreserve) {
    result = self->is_contiguous();
  } else if (self->rank() == (format == MemoryFormat::kChannelsLast ? 4 : 5)) {
    const TensorMeta dense =
        TensorMeta::Dense(self->dtype, self->sizes, ChannelsLastOrder(self->rank()));
    result = true;
    for (int d = 0; d < self->rank(); ++d) {
      result = result && (self->sizes[d].AsInt() == 1 || self->strides[d] == dense.strides[d]);
    }
  }
  context.SetOutput(0, result);
  return absl::OkStatus();
}

// A number that only the data decide. Symbols are ints: a float is one converted, a bool one
// compared.
absl::Status InferLocalScalarDense(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  const std::optional<int64_t> count = self->NumElements().AsInt();
  if (count == 0) return ArgumentError(context, 0, "expected an element, got none");
  SymRange range = {SymRange::kUnboundedBelow, SymRange::kUnboundedAbove};
  if (self->dtype == DType::kBool) range = {0, 1};
  if (self->dtype == DType::kUint8) range = {0, 255};
  ABSL_ASSIGN_OR_RETURN(const SymExpr symbol, context.FreshSymbol(range));
  if (self->dtype == DType::kBool) {
    context.SetOutput(0, Call("Eq", symbol, SymExpr(1)));
  } else if (IsFloatingPoint(self->dtype)) {
    context.SetOutput(0, Call("ToFloat", symbol));
  } else if (IsComplex(self->dtype)) {
    context.SetOutput(0, Call("ToComplex", symbol));
  } else {
    context.SetOutput(0, symbol);
  }
  return absl::OkStatus();
}

// (self, message), a number.
absl::Status InferAssertScalar(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const std::string message, context.String(1));
  ABSL_ASSIGN_OR_RETURN(const SymExpr e, ExprOf(context, 0));
  const std::optional<EValue> number = NumberOf(e);
  if (!number.has_value()) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const EValue fails, ApplyScalarOp(ScalarOp::kNot, {*number}));
  if (*fails.get_if<bool>()) return MetaError(context, absl::StrCat("always fails: ", message));
  return absl::OkStatus();
}

// (self), (self, message), a tensor of one element.
absl::Status InferAssertTensor(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  const std::optional<int64_t> count = self->NumElements().AsInt();
  if (count.has_value() && *count != 1) {
    return ArgumentError(context, 0, absl::StrCat("expected one element, got ", *count));
  }
  return absl::OkStatus();
}

// (a, size?, stride?, dtype?, *, device?, layout?)
absl::Status InferAssertTensorMetadata(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* a, context.Tensor(0));
  if (!context.is_none(1)) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> sizes, context.IntList(1));
    bool same = sizes.size() == a->sizes.size();
    for (size_t d = 0; same && d < sizes.size(); ++d) {
      const std::optional<int64_t> x = sizes[d].AsInt(), y = a->sizes[d].AsInt();
      same = !x.has_value() || !y.has_value() || *x == *y;
    }
    if (!same) {
      return ArgumentError(context, 0,
                           absl::StrCat("expected sizes ", FormatDims<SymInt>(sizes), ", got ",
                                        FormatDims<SymInt>(a->sizes)));
    }
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(3, a->dtype));
  if (dtype != a->dtype) {
    return ArgumentError(
        context, 0,
        absl::StrCat("expected dtype ", DTypeName(dtype), ", got ", DTypeName(a->dtype)));
  }
  return absl::OkStatus();
}

// (size, *, min?, max?)
absl::Status InferConstrainRange(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const SymInt size, context.Int(0));
  for (int i = 1; i <= 2; ++i) {
    if (context.is_none(i)) continue;
    ABSL_ASSIGN_OR_RETURN(const int64_t bound, context.StaticInt(i));
    if (size.AsInt().has_value() && (i == 1 ? *size.AsInt() < bound : *size.AsInt() > bound)) {
      return ArgumentError(
          context, 0, absl::StrCat(*size.AsInt(), " is ", i == 1 ? "below " : "above ", bound));
    }
  }
  return absl::OkStatus();
}

absl::Status InferLinalgCheckErrors(MetaContext& context) {
  ABSL_RETURN_IF_ERROR(context.Tensor(0).status());
  ABSL_RETURN_IF_ERROR(context.String(1).status());
  return context.Bool(2).status();
}

constexpr OpDef Scalar(std::string_view schema, MetaFn meta) {
  return {schema, meta, kSymbolic, "", kExact};
}
constexpr OpDef Property(std::string_view schema, MetaFn meta) {
  return {schema, meta, kCore | kSymbolic, "", kExact};
}
constexpr OpDef Assertion(std::string_view schema, MetaFn meta, uint32_t traits = 0) {
  return {schema, meta, kSideEffect | traits, "", kExact};
}

constexpr OpDef kOps[] = {
    Scalar("_operator::add(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kAdd>),
    Scalar("_operator::and_(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kAnd>),
    Scalar("_operator::eq(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kEq>),
    Scalar("_operator::floordiv(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kFloorDiv>),
    Scalar("_operator::ge(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kGe>),
    Scalar("_operator::gt(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kGt>),
    Scalar("_operator::le(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kLe>),
    Scalar("_operator::lshift(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kLShift>),
    Scalar("_operator::lt(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kLt>),
    Scalar("_operator::mod(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kMod>),
    Scalar("_operator::mul(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kMul>),
    Scalar("_operator::ne(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kNe>),
    Scalar("_operator::neg(Scalar a) -> Scalar", &Infer<ScalarOp::kNeg>),
    Scalar("_operator::or_(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kOr>),
    Scalar("_operator::pos(Scalar a) -> Scalar", &Infer<ScalarOp::kPos>),
    Scalar("_operator::pow(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kPow>),
    Scalar("_operator::rshift(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kRShift>),
    Scalar("_operator::sub(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kSub>),
    Scalar("_operator::truediv(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kTrueDiv>),
    Assertion("aten::_assert_async(Tensor self) -> ()", &InferAssertTensor),
    Assertion("aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", &InferAssertTensor,
              kAtenInEdge),
    Assertion("aten::_assert_scalar(Scalar self, str assert_msg) -> ()", &InferAssertScalar,
              kAtenInEdge),
    Assertion("aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, "
              "ScalarType? "
              "dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
              &InferAssertTensorMetadata),
    Assertion("aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
              &InferLinalgCheckErrors),
    {"aten::_local_scalar_dense(Tensor self) -> Scalar", &InferLocalScalarDense,
     kCore | kDataDependent | kSymbolic | kAlwaysDecomposed, "", kExact},
    Assertion("aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
              &InferConstrainRange, kAtenInEdge),
    Assertion(
        "aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
        &InferConstrainRange, kAtenInEdge),
    Property("aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=0) -> SymBool",
             &InferIsContiguous),
    Property("aten::sym_numel(Tensor self) -> SymInt", &InferNumel),
    Property("aten::sym_size.int(Tensor self, int dim) -> SymInt", &InferSize),
    Property("aten::sym_storage_offset(Tensor self) -> SymInt", &InferStorageOffset),
    Property("aten::sym_stride.int(Tensor self, int dim) -> SymInt", &InferStride),
    Scalar("math::ceil(Scalar a) -> Scalar", &Infer<ScalarOp::kCeil>),
    Scalar("math::floor(Scalar a) -> Scalar", &Infer<ScalarOp::kFloor>),
    Scalar("math::trunc(Scalar a) -> Scalar", &Infer<ScalarOp::kTrunc>),
    Scalar("torch::sym_float(Scalar a) -> Scalar", &Infer<ScalarOp::kToFloat>),
    Scalar("torch::sym_int(Scalar a) -> Scalar", &Infer<ScalarOp::kToInt>),
    Scalar("torch::sym_ite(Scalar b, Scalar t, Scalar f) -> Scalar", &Infer<ScalarOp::kIfThenElse>),
    Scalar("torch::sym_max(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kMax>),
    Scalar("torch::sym_min(Scalar a, Scalar b) -> Scalar", &Infer<ScalarOp::kMin>),
    Scalar("torch::sym_not(Scalar a) -> Scalar", &Infer<ScalarOp::kNot>),
    Scalar("torch::_sym_sqrt(Scalar a) -> Scalar", &Infer<ScalarOp::kSqrt>),
    Scalar("torch::sym_sqrt(Scalar a) -> Scalar", &Infer<ScalarOp::kSqrt>),
};

}  // namespace

absl::Span<const OpDef> SymbolicOps() { return kOps; }

}  // namespace belay::exir
