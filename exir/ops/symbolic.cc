// Scalar operators: sizes and strides of tensors, elements as scalars, arithmetic, and assertions.
#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/scalar_arithmetic.h"
#include "runtime/kernel_interface/shape_rules/symbolic.h"

namespace belay::exir {
namespace {

using ValueKind = SymExpr::ValueKind;

// Returns a scalar argument as an expression. kInvalidArgument for other kinds.
absl::StatusOr<SymExpr> ExprOf(const MetaContext& context, std::string_view name,
                               const MetaValue& value) {
  if (const SymExpr* expr = value.get_if<SymExpr>()) return *expr;
  if (const double* real = value.get_if<double>()) return SymExpr::Float(*real);
  if (const bool* boolean = value.get_if<bool>()) return SymExpr::Bool(*boolean);
  return MetaArguments(context).ArgumentError(name, "expected a real number");
}

// Returns the value of a constant expression.
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

// Converts bools to ints 0 and 1; ints and floats are unchanged.
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

// Rounds to int.
SymExpr Rounded(std::string_view name, const SymExpr& e) {
  const SymExpr number = Arithmetic(e);
  return IsFloat(number) ? Call(name, number) : number;
}

// Returns the expression of an operation with at least one symbolic argument. nullopt if it has no
// expression.
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

bool Divides(ScalarOp op) {
  return op == ScalarOp::kFloorDiv || op == ScalarOp::kMod || op == ScalarOp::kTrueDiv;
}

template <ScalarOp kOp>
absl::Status Infer(MetaContext& context,
                   const ScalarCall<MetaArguments, ScalarOpArity(kOp)>& call) {
  std::vector<SymExpr> arguments;
  std::vector<EValue> numbers;
  for (int k = 0; k < ScalarOpArity(kOp); ++k) {
    ABSL_ASSIGN_OR_RETURN(SymExpr e, ExprOf(context, call.Name(k), *call.values[k]));
    if (std::optional<EValue> number = NumberOf(e)) numbers.push_back(*number);
    arguments.push_back(std::move(e));
  }
  if (numbers.size() == arguments.size()) {
    const absl::StatusOr<EValue> result = ApplyScalarOp(kOp, numbers);
    if (!result.ok()) return MetaError(context, FromAbsl(result.status().message()));
    context.SetOutput(0, ToMetaValue(*result));
    return absl::OkStatus();
  }
  if (Divides(kOp) && Arithmetic(arguments[1]).AsFloat() == 0.0)
    return MetaArguments(context).ArgumentError(call.Name(1), "division by zero");
  const std::optional<SymExpr> result = Symbolic(kOp, arguments);
  if (!result.has_value()) return MetaError(context, "not defined on symbols");
  const std::optional<EValue> number = NumberOf(*result);
  context.SetOutput(0, number.has_value() ? ToMetaValue(*number) : MetaValue(*result));
  return absl::OkStatus();
}

absl::Status InferSize(MetaContext& context, const OfDimensionCall<MetaArguments>& call) {
  context.SetOutput(0, call.self->sizes[call.dim]);
  return absl::OkStatus();
}

absl::Status InferStride(MetaContext& context, const OfDimensionCall<MetaArguments>& call) {
  context.SetOutput(0, call.self->strides[call.dim]);
  return absl::OkStatus();
}

absl::Status InferNumel(MetaContext& context, const OfTensorCall<MetaArguments>& call) {
  context.SetOutput(0, call.self->NumElements());
  return absl::OkStatus();
}

absl::Status InferStorageOffset(MetaContext& context, const OfTensorCall<MetaArguments>& call) {
  context.SetOutput(0, call.self->storage_offset);
  return absl::OkStatus();
}

absl::Status InferIsContiguous(MetaContext& context, const IsContiguousCall<MetaArguments>& call) {
  const TensorMeta* const self = call.self;
  const MemoryFormat format = call.format;
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

// A data-dependent scalar. Symbols are ints: a float is a converted symbol, a bool a comparison.
absl::Status InferLocalScalarDense(MetaContext& context, const OfTensorCall<MetaArguments>& call) {
  const TensorMeta* const self = call.self;
  const std::optional<int64_t> count = self->NumElements().AsInt();
  if (count == 0) {
    return MetaArguments(context).ArgumentError("self", "expected an element, got none");
  }
  SymRange range = {SymRange::kUnboundedBelow, SymRange::kUnboundedAbove};
  if (self->dtype == DType::kBool) range = {0, 1};
  if (self->dtype == DType::kUint8) range = {0, 255};
  if (self->dtype == DType::kInt8) range = {-128, 127};
  if (self->dtype == DType::kInt16) range = {INT16_MIN, INT16_MAX};
  if (self->dtype == DType::kInt32) range = {INT32_MIN, INT32_MAX};
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

absl::Status InferAssertScalar(MetaContext& context, const AssertScalarCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const SymExpr e, ExprOf(context, "self", *call.value.value));
  const std::optional<EValue> number = NumberOf(e);
  if (!number.has_value()) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const EValue fails, ApplyScalarOp(ScalarOp::kNot, {*number}));
  if (*fails.get_if<bool>())
    return MetaError(context, absl::StrCat("always fails: ", call.message));
  return absl::OkStatus();
}

absl::Status InferAssertTensor(MetaContext& context, const AssertTensorCall<MetaArguments>& call) {
  return call.CheckShapes();
}

absl::Status InferAssertTensorMetadata(MetaContext& context,
                                       const AssertMetadataCall<MetaArguments>& call) {
  const std::vector<SymInt>&expected = call.sizes, &sizes = call.tensor->sizes;
  bool same = !call.has_sizes || expected.size() == sizes.size();
  for (size_t d = 0; same && d < expected.size(); ++d) {
    const std::optional<int64_t> x = expected[d].AsInt(), y = sizes[d].AsInt();
    same = !x.has_value() || !y.has_value() || *x == *y;
  }
  const MetaArguments arguments(context);
  if (!same) {
    return arguments.ArgumentError(
        "a", absl::StrCat("expected sizes ", FormatDims<SymInt>(expected), ", got ",
                          FormatDims<SymInt>(sizes)));
  }
  if (call.dtype == call.tensor->dtype) return absl::OkStatus();
  return arguments.ArgumentError("a", absl::StrCat("expected dtype ", DTypeName(call.dtype),
                                                   ", got ", DTypeName(call.tensor->dtype)));
}

absl::Status InferConstrainRange(MetaContext& context,
                                 const ConstrainRangeCall<MetaArguments>& call) {
  const std::optional<int64_t> size = call.size.AsInt();
  if (!size.has_value()) return absl::OkStatus();
  const MetaArguments arguments(context);
  if (call.min.has_value() && *size < *call.min) {
    return arguments.ArgumentError("size", absl::StrCat(*size, " is below ", *call.min));
  }
  if (call.max.has_value() && *size > *call.max) {
    return arguments.ArgumentError("size", absl::StrCat(*size, " is above ", *call.max));
  }
  return absl::OkStatus();
}

absl::Status InferLinalgCheckErrors(MetaContext& context, const CheckErrorsCall<MetaArguments>&) {
  return MetaArguments(context).Bool("is_matrix").status();
}

template <ScalarOp kOp>
constexpr OpDef Scalar(std::string_view schema) {
  return {schema, &MetaKernel<&Infer<kOp>>, kSymbolic, "", kExact};
}
constexpr OpDef Property(std::string_view schema, MetaFn meta) {
  return {schema, meta, kCore | kSymbolic, "", kExact};
}
constexpr OpDef Assertion(std::string_view schema, MetaFn meta, uint32_t traits = 0) {
  return {schema, meta, kSideEffect | traits, "", kExact};
}

constexpr OpDef kOps[] = {
    Scalar<ScalarOp::kAdd>("_operator::add(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kAnd>("_operator::and_(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kEq>("_operator::eq(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kFloorDiv>("_operator::floordiv(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kGe>("_operator::ge(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kGt>("_operator::gt(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kLe>("_operator::le(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kLShift>("_operator::lshift(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kLt>("_operator::lt(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kMod>("_operator::mod(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kMul>("_operator::mul(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kNe>("_operator::ne(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kNeg>("_operator::neg(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kOr>("_operator::or_(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kPos>("_operator::pos(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kPow>("_operator::pow(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kRShift>("_operator::rshift(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kSub>("_operator::sub(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kTrueDiv>("_operator::truediv(Scalar a, Scalar b) -> Scalar"),
    Assertion("aten::_assert_async(Tensor self) -> ()", &MetaKernel<&InferAssertTensor>),
    Assertion("aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
              &MetaKernel<&InferAssertTensor>, kAtenInEdge),
    Assertion("aten::_assert_scalar(Scalar self, str assert_msg) -> ()",
              &MetaKernel<&InferAssertScalar>, kAtenInEdge),
    Assertion("aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, "
              "ScalarType? "
              "dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
              &MetaKernel<&InferAssertTensorMetadata>),
    Assertion("aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
              &MetaKernel<&InferLinalgCheckErrors>),
    {"aten::_local_scalar_dense(Tensor self) -> Scalar", &MetaKernel<&InferLocalScalarDense>,
     kCore | kDataDependent | kSymbolic | kAlwaysDecomposed, "", kExact},
    Assertion("aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
              &MetaKernel<&InferConstrainRange>, kAtenInEdge),
    Assertion(
        "aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
        &MetaKernel<&InferConstrainRange>, kAtenInEdge),
    Property("aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=0) -> SymBool",
             &MetaKernel<&InferIsContiguous>),
    Property("aten::sym_numel(Tensor self) -> SymInt", &MetaKernel<&InferNumel>),
    Property("aten::sym_size.int(Tensor self, int dim) -> SymInt", &MetaKernel<&InferSize>),
    Property("aten::sym_storage_offset(Tensor self) -> SymInt", &MetaKernel<&InferStorageOffset>),
    Property("aten::sym_stride.int(Tensor self, int dim) -> SymInt", &MetaKernel<&InferStride>),
    Scalar<ScalarOp::kAdd>("executorch_prim::add.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kCeil>("executorch_prim::ceil.Scalar(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kEq>("executorch_prim::eq.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kFloorDiv>("executorch_prim::floordiv.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kGe>("executorch_prim::ge.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kGt>("executorch_prim::gt.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kLe>("executorch_prim::le.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kLt>("executorch_prim::lt.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kMul>("executorch_prim::mul.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kNeg>("executorch_prim::neg.Scalar(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kSub>("executorch_prim::sub.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kToFloat>("executorch_prim::sym_float.Scalar(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kToInt>("executorch_prim::sym_int.Scalar(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kIfThenElse>(
        "executorch_prim::sym_ite.Scalar(Scalar b, Scalar t, Scalar f) -> Scalar"),
    Scalar<ScalarOp::kMax>("executorch_prim::sym_max.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kMin>("executorch_prim::sym_min.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kNot>("executorch_prim::sym_not.Scalar(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kTrueDiv>("executorch_prim::truediv.Scalar(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kTrunc>("executorch_prim::trunc.Scalar(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kCeil>("math::ceil(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kFloor>("math::floor(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kTrunc>("math::trunc(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kToFloat>("torch::sym_float(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kToInt>("torch::sym_int(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kIfThenElse>("torch::sym_ite(Scalar b, Scalar t, Scalar f) -> Scalar"),
    Scalar<ScalarOp::kMax>("torch::sym_max(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kMin>("torch::sym_min(Scalar a, Scalar b) -> Scalar"),
    Scalar<ScalarOp::kNot>("torch::sym_not(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kSqrt>("torch::_sym_sqrt(Scalar a) -> Scalar"),
    Scalar<ScalarOp::kSqrt>("torch::sym_sqrt(Scalar a) -> Scalar"),
};

}  // namespace

absl::Span<const OpDef> SymbolicOps() { return kOps; }

}  // namespace belay::exir
