// Operators on scalars: sizes and strides of tensors, elements as numbers, arithmetic, and
// assertions.
#include <complex>
#include <iterator>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/scalar_arithmetic.h"
#include "runtime/kernel/shape_rules/dims.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

template <ScalarOp kOp>
absl::Status Run(KernelContext& context) {
  const int arity = ScalarOpArity(kOp);
  ABSL_RETURN_IF_ERROR(context.CheckArity(arity, 1));
  EValue arguments[3];
  for (int i = 0; i < arity; ++i) arguments[i] = context.argument(i);
  ABSL_ASSIGN_OR_RETURN(const EValue result,
                        ApplyScalarOp(kOp, absl::MakeConstSpan(arguments, arity)));
  context.SetScalarOutput(0, result);
  return absl::OkStatus();
}

// Arguments (self, dim): the dimension counted from 0.
absl::StatusOr<int> DimOf(const KernelContext& context, const TensorView& self) {
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.Int(1));
  if (self.rank() == 0) {
    return absl::OutOfRangeError(absl::StrCat("dim ", dim, " of a tensor without dimensions"));
  }
  return NormalizeDim(dim, self.rank());
}

absl::Status SymSize(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int dim, DimOf(context, *self));
  context.SetScalarOutput(0, EValue(self->sizes[dim]));
  return absl::OkStatus();
}

absl::Status SymStride(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int dim, DimOf(context, *self));
  context.SetScalarOutput(0, EValue(self->strides[dim]));
  return absl::OkStatus();
}

absl::Status SymNumel(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  context.SetScalarOutput(0, EValue(self->numel()));
  return absl::OkStatus();
}

// Dense with these dimensions from the outermost to the innermost; those of size 1 may lie
// anywhere.
bool IsDenseInOrder(const TensorView& self, const DimOrder& order) {
  const Strides expected = DenseStrides(self.sizes, order);
  for (int d = 0; d < self.rank(); ++d) {
    if (self.sizes[d] != 1 && self.strides[d] != expected[d]) return false;
  }
  return true;
}

absl::Status SymIsContiguous(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  const MemoryFormat* given = context.argument(1).get_if<MemoryFormat>();
  if (given == nullptr && !context.is_none(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("argument 1: expected memory format, got ", context.argument(1).KindName()));
  }
  bool result = false;
  switch (given == nullptr ? MemoryFormat::kContiguous : *given) {
    case MemoryFormat::kPreserve:
    case MemoryFormat::kContiguous:
      result = self->is_contiguous();
      break;
    case MemoryFormat::kChannelsLast:
      result = self->rank() == 4 && IsDenseInOrder(*self, ChannelsLastOrder(4));
      break;
    case MemoryFormat::kChannelsLast3d:
      result = self->rank() == 5 && IsDenseInOrder(*self, ChannelsLastOrder(5));
      break;
  }
  context.SetScalarOutput(0, EValue(result));
  return absl::OkStatus();
}

// The first element as a number.
absl::StatusOr<EValue> FirstElement(const TensorView& self) {
  if (self.numel() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("argument 0: expected an element, got ", self.ToString()));
  }
  EValue value;
  const bool known = DispatchDType<kAllTypes>(self.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    if constexpr (std::is_same_v<T, bool>) {
      value = EValue(*self.as<uint8_t>() != 0);
    } else if constexpr (kIsComplex<T>) {
      value = EValue(ConvertElement<std::complex<double>>(*self.as<T>()));
    } else if constexpr (kIsFloating<T>) {
      value = EValue(ConvertElement<double>(*self.as<T>()));
    } else {
      value = EValue(static_cast<int64_t>(*self.as<T>()));
    }
  });
  if (!known)
    return absl::InvalidArgumentError(
        absl::StrCat("dtype ", DTypeName(self.dtype), " is not supported"));
  return value;
}

absl::Status LocalScalarDense(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const EValue value, FirstElement(*self));
  context.SetScalarOutput(0, value);
  return absl::OkStatus();
}

bool IsTrue(const EValue& value) {
  if (const bool* b = value.get_if<bool>()) return *b;
  if (const int64_t* i = value.get_if<int64_t>()) return *i != 0;
  if (const double* d = value.get_if<double>()) return *d != 0;
  const auto* c = value.get_if<std::complex<double>>();
  return c != nullptr && *c != std::complex<double>();
}

// The only element as a number.
absl::StatusOr<EValue> OnlyElement(const TensorView& self) {
  if (self.numel() == 1) return FirstElement(self);
  return absl::InvalidArgumentError(
      absl::StrCat("argument 0: expected one element, got ", self.ToString()));
}

// The check that the program carries failed: its data are not what it was exported for.
absl::Status AssertionFailed(std::string_view message) {
  return absl::FailedPreconditionError(absl::StrCat("assertion failed: ", message));
}

// (self, message), a number.
absl::Status AssertScalar(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 0));
  ABSL_ASSIGN_OR_RETURN(const EValue value, context.Scalar(0));
  ABSL_ASSIGN_OR_RETURN(const std::string_view message, context.String(1));
  return IsTrue(value) ? absl::OkStatus() : AssertionFailed(message);
}

// (self), (self, message), a tensor of one element.
absl::Status AssertTensor(KernelContext& context, std::string_view message) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const EValue value, OnlyElement(*self));
  return IsTrue(value) ? absl::OkStatus() : AssertionFailed(message);
}
absl::Status AssertAsync(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1, 0));
  return AssertTensor(context, "expected a tensor that is not zero");
}
absl::Status AssertAsyncMessage(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 0));
  ABSL_ASSIGN_OR_RETURN(const std::string_view message, context.String(1));
  return AssertTensor(context, message);
}

// (a, size?, stride?, dtype?, *, device?, layout?). Strides are the compiler's to choose and are
// not checked.
absl::Status AssertTensorMetadata(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 0));
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, context.Tensor(0));
  if (!context.is_none(1)) {
    ABSL_ASSIGN_OR_RETURN(const Sizes sizes, context.IntList(1));
    if (sizes != a->sizes) {
      return AssertionFailed(
          absl::StrCat("expected sizes ", FormatSizes(sizes), ", got ", FormatSizes(a->sizes)));
    }
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(3, a->dtype));
  if (dtype != a->dtype) {
    return AssertionFailed(
        absl::StrCat("expected dtype ", DTypeName(dtype), ", got ", DTypeName(a->dtype)));
  }
  return absl::OkStatus();
}

// (size, *, min?, max?)
template <int64_t kDefaultMin>
absl::Status ConstrainRange(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 0));
  ABSL_ASSIGN_OR_RETURN(const int64_t size, context.Int(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t min, context.IntOr(1, kDefaultMin));
  ABSL_ASSIGN_OR_RETURN(const int64_t max, context.IntOr(2, INT64_MAX));
  if (size < min || size > max) {
    return AssertionFailed(absl::StrCat(size, " is not in the range [", min, ", ", max, "]"));
  }
  return absl::OkStatus();
}

// (info, api_name, *, is_matrix): info is 0 where a factorization succeeded.
absl::Status CheckErrors(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 0));
  ABSL_ASSIGN_OR_RETURN(const TensorView* info, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const std::string_view api, context.String(1));
  if (info->dtype != DType::kInt32) {
    return absl::InvalidArgumentError(
        absl::StrCat("info: expected int32, got ", DTypeName(info->dtype)));
  }
  int64_t matrix = 0;
  for (StridedIterator<1> it(info->sizes, {info->strides}); !it.done(); it.Next(), ++matrix) {
    const int32_t code = info->as<int32_t>()[it.offset(0)];
    if (code == 0) continue;
    return AssertionFailed(
        absl::StrCat(api, ": matrix ", matrix, " can't be factorized (info ", code, ")"));
  }
  return absl::OkStatus();
}

constexpr Kernel Row(std::string_view op, std::string_view name,
                     absl::Status (*run)(KernelContext&)) {
  return {op, name, KernelEngine::kReference, run};
}

constexpr Kernel kKernels[] = {
    Row("_operator.add", "ScalarAdd", &Run<ScalarOp::kAdd>),
    Row("_operator.and_", "ScalarAnd", &Run<ScalarOp::kAnd>),
    Row("_operator.eq", "ScalarEq", &Run<ScalarOp::kEq>),
    Row("_operator.floordiv", "ScalarFloorDiv", &Run<ScalarOp::kFloorDiv>),
    Row("_operator.ge", "ScalarGe", &Run<ScalarOp::kGe>),
    Row("_operator.gt", "ScalarGt", &Run<ScalarOp::kGt>),
    Row("_operator.le", "ScalarLe", &Run<ScalarOp::kLe>),
    Row("_operator.lshift", "ScalarLShift", &Run<ScalarOp::kLShift>),
    Row("_operator.lt", "ScalarLt", &Run<ScalarOp::kLt>),
    Row("_operator.mod", "ScalarMod", &Run<ScalarOp::kMod>),
    Row("_operator.mul", "ScalarMul", &Run<ScalarOp::kMul>),
    Row("_operator.ne", "ScalarNe", &Run<ScalarOp::kNe>),
    Row("_operator.neg", "ScalarNeg", &Run<ScalarOp::kNeg>),
    Row("_operator.or_", "ScalarOr", &Run<ScalarOp::kOr>),
    Row("_operator.pos", "ScalarPos", &Run<ScalarOp::kPos>),
    Row("_operator.pow", "ScalarPow", &Run<ScalarOp::kPow>),
    Row("_operator.rshift", "ScalarRShift", &Run<ScalarOp::kRShift>),
    Row("_operator.sub", "ScalarSub", &Run<ScalarOp::kSub>),
    Row("_operator.truediv", "ScalarTrueDiv", &Run<ScalarOp::kTrueDiv>),
    Row("aten._assert_async.default", "AssertAsync", &AssertAsync),
    Row("aten._assert_async.msg", "AssertAsyncMessage", &AssertAsyncMessage),
    Row("aten._assert_scalar.default", "AssertScalar", &AssertScalar),
    Row("aten._assert_tensor_metadata.default", "AssertTensorMetadata", &AssertTensorMetadata),
    Row("aten._linalg_check_errors.default", "LinalgCheckErrors", &CheckErrors),
    Row("aten._local_scalar_dense.default", "LocalScalarDense", &LocalScalarDense),
    Row("aten.sym_constrain_range.default", "ConstrainRange", &ConstrainRange<INT64_MIN>),
    Row("aten.sym_constrain_range_for_size.default", "ConstrainRangeForSize", &ConstrainRange<0>),
    Row("aten.sym_is_contiguous.default", "SymIsContiguous", &SymIsContiguous),
    Row("aten.sym_numel.default", "SymNumel", &SymNumel),
    Row("aten.sym_size.int", "SymSize", &SymSize),
    Row("aten.sym_stride.int", "SymStride", &SymStride),
    Row("math.ceil", "ScalarCeil", &Run<ScalarOp::kCeil>),
    Row("math.floor", "ScalarFloor", &Run<ScalarOp::kFloor>),
    Row("math.trunc", "ScalarTrunc", &Run<ScalarOp::kTrunc>),
    Row("torch.sym_float", "SymFloat", &Run<ScalarOp::kToFloat>),
    Row("torch.sym_int", "SymInt", &Run<ScalarOp::kToInt>),
    Row("torch.sym_ite", "SymIfThenElse", &Run<ScalarOp::kIfThenElse>),
    Row("torch.sym_max", "SymMax", &Run<ScalarOp::kMax>),
    Row("torch.sym_min", "SymMin", &Run<ScalarOp::kMin>),
    Row("torch.sym_not", "SymNot", &Run<ScalarOp::kNot>),
    Row("torch._sym_sqrt", "SymSqrtTraced", &Run<ScalarOp::kSqrt>),
    Row("torch.sym_sqrt", "SymSqrt", &Run<ScalarOp::kSqrt>),
};

}  // namespace

absl::Span<const Kernel> SymbolicKernels() { return kKernels; }

}  // namespace belay
