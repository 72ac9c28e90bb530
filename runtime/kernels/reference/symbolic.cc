// Operators on scalars: sizes and strides of tensors, elements as scalars, arithmetic, and
// assertions.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/scalar_arithmetic.h"
#include "runtime/kernel_interface/shape_rules/symbolic.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Sums and comparisons of ints, which each iteration of a loop computes. Returns false for all
// others, and if the sum overflows.
template <ScalarOp kOp>
bool RunOnInts(KernelContext& context, const EValue& a, const EValue& b) {
  const int64_t *x = a.get_if<int64_t>(), *y = b.get_if<int64_t>();
  if (x == nullptr || y == nullptr) return false;
  if constexpr (kOp == ScalarOp::kLt) {
    context.SetScalarOutput(0, EValue(*x < *y));
    return true;
  }
  if constexpr (kOp == ScalarOp::kAdd) {
    const std::optional<int64_t> sum = CheckedAdd(*x, *y);
    if (!sum.has_value()) return false;
    context.SetScalarOutput(0, EValue(*sum));
    return true;
  }
  return false;
}

template <ScalarOp kOp>
absl::Status Run(KernelContext& context,
                 const ScalarCall<KernelArguments, ScalarOpArity(kOp)>& call) {
  if constexpr (ScalarOpArity(kOp) == 2) {
    if (RunOnInts<kOp>(context, *call.values[0], *call.values[1])) return absl::OkStatus();
  }
  EValue values[ScalarOpArity(kOp)];
  for (int k = 0; k < ScalarOpArity(kOp); ++k) values[k] = *call.values[k];
  ABSL_ASSIGN_OR_RETURN(const EValue result, ApplyScalarOp(kOp, values));
  context.SetScalarOutput(0, result);
  return absl::OkStatus();
}

absl::Status SymSize(KernelContext& context, const OfDimensionCall<KernelArguments>& call) {
  context.SetScalarOutput(0, EValue(call.self->sizes[call.dim]));
  return absl::OkStatus();
}

absl::Status SymStride(KernelContext& context, const OfDimensionCall<KernelArguments>& call) {
  context.SetScalarOutput(0, EValue(call.self->strides[call.dim]));
  return absl::OkStatus();
}

absl::Status SymNumel(KernelContext& context, const OfTensorCall<KernelArguments>& call) {
  context.SetScalarOutput(0, EValue(call.self->numel()));
  return absl::OkStatus();
}

// Whether the tensor is dense with these dimensions from the outermost to the innermost. Dimensions
// of size 1 are ignored.
bool IsDenseInOrder(const TensorView& self, const DimOrder& order) {
  const Strides expected = DenseStrides(self.sizes, order);
  for (int d = 0; d < self.rank(); ++d) {
    if (self.sizes[d] != 1 && self.strides[d] != expected[d]) return false;
  }
  return true;
}

absl::Status SymIsContiguous(KernelContext& context,
                             const IsContiguousCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  bool result = false;
  switch (call.format) {
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

// Returns the first element as a scalar.
absl::StatusOr<EValue> FirstElement(const TensorView& self) {
  if (self.numel() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("self: expected an element, got ", self.ToString()));
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

absl::Status LocalScalarDense(KernelContext& context, const OfTensorCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const EValue value, FirstElement(*call.self));
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

// Error of a failed assertion of the program: the data violate an assumption of the export.
absl::Status AssertionFailed(std::string_view message) {
  return absl::FailedPreconditionError(absl::StrCat("assertion failed: ", message));
}

absl::Status AssertScalar(KernelContext& context, const AssertScalarCall<KernelArguments>& call) {
  return IsTrue(*call.value.value) ? absl::OkStatus() : AssertionFailed(call.message);
}

absl::Status AssertTensor(KernelContext& context, const AssertTensorCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const EValue value, FirstElement(*call.self));
  return IsTrue(value) ? absl::OkStatus() : AssertionFailed(call.message);
}

absl::Status AssertTensorMetadata(KernelContext& context,
                                  const AssertMetadataCall<KernelArguments>& call) {
  const TensorView& a = *call.tensor;
  const Dims<CheckedInt> sizes = ToDims(a.sizes);
  if (call.has_sizes &&
      !std::equal(call.sizes.begin(), call.sizes.end(), sizes.begin(), sizes.end())) {
    return AssertionFailed(absl::StrCat("expected sizes ", FormatDims<CheckedInt>(call.sizes),
                                        ", got ", FormatSizes(a.sizes)));
  }
  if (call.dtype != a.dtype) {
    return AssertionFailed(
        absl::StrCat("expected dtype ", DTypeName(call.dtype), ", got ", DTypeName(a.dtype)));
  }
  return absl::OkStatus();
}

template <int64_t kDefaultMin>
absl::Status ConstrainRange(KernelContext& context,
                            const ConstrainRangeCall<KernelArguments>& call) {
  const int64_t size = call.size.value();
  const int64_t min = call.min.value_or(kDefaultMin), max = call.max.value_or(INT64_MAX);
  if (size < min || size > max) {
    return AssertionFailed(absl::StrCat(size, " is not in the range [", min, ", ", max, "]"));
  }
  return absl::OkStatus();
}

absl::Status CheckErrors(KernelContext& context, const CheckErrorsCall<KernelArguments>& call) {
  const TensorView* const info = call.info;
  int64_t matrix = 0;
  for (StridedIterator<1> it(info->sizes, {info->strides}); !it.done(); it.Next(), ++matrix) {
    const int32_t code = info->as<int32_t>()[it.offset(0)];
    if (code == 0) continue;
    return AssertionFailed(
        absl::StrCat(call.api, ": matrix ", matrix, " can't be factorized (info ", code, ")"));
  }
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

template <ScalarOp kOp>
constexpr Kernel Row(std::string_view op, std::string_view name) {
  constexpr std::string_view kSignatures[] = {"a", "a b", "b t f"};
  return KernelRow<&Run<kOp>>(op, kSignatures[ScalarOpArity(kOp) - 1], name, kReference);
}

constexpr Kernel kKernels[] = {
    Row<ScalarOp::kAdd>("_operator.add", "ScalarAdd"),
    Row<ScalarOp::kAnd>("_operator.and_", "ScalarAnd"),
    Row<ScalarOp::kEq>("_operator.eq", "ScalarEq"),
    Row<ScalarOp::kFloorDiv>("_operator.floordiv", "ScalarFloorDiv"),
    Row<ScalarOp::kGe>("_operator.ge", "ScalarGe"),
    Row<ScalarOp::kGt>("_operator.gt", "ScalarGt"),
    Row<ScalarOp::kLe>("_operator.le", "ScalarLe"),
    Row<ScalarOp::kLShift>("_operator.lshift", "ScalarLShift"),
    Row<ScalarOp::kLt>("_operator.lt", "ScalarLt"),
    Row<ScalarOp::kMod>("_operator.mod", "ScalarMod"),
    Row<ScalarOp::kMul>("_operator.mul", "ScalarMul"),
    Row<ScalarOp::kNe>("_operator.ne", "ScalarNe"),
    Row<ScalarOp::kNeg>("_operator.neg", "ScalarNeg"),
    Row<ScalarOp::kOr>("_operator.or_", "ScalarOr"),
    Row<ScalarOp::kPos>("_operator.pos", "ScalarPos"),
    Row<ScalarOp::kPow>("_operator.pow", "ScalarPow"),
    Row<ScalarOp::kRShift>("_operator.rshift", "ScalarRShift"),
    Row<ScalarOp::kSub>("_operator.sub", "ScalarSub"),
    Row<ScalarOp::kTrueDiv>("_operator.truediv", "ScalarTrueDiv"),
    KernelRow<&AssertTensor>("aten._assert_async.default", "self -> 0", "AssertAsync", kReference),
    KernelRow<&AssertTensor>("aten._assert_async.msg", "self assert_msg -> 0", "AssertAsyncMessage",
                             kReference),
    KernelRow<&AssertScalar>("aten._assert_scalar.default", "self assert_msg -> 0", "AssertScalar",
                             kReference),
    KernelRow<&AssertTensorMetadata>("aten._assert_tensor_metadata.default",
                                     "a size stride dtype device layout -> 0",
                                     "AssertTensorMetadata", kReference),
    KernelRow<&CheckErrors>("aten._linalg_check_errors.default", "info api_name is_matrix -> 0",
                            "LinalgCheckErrors", kReference),
    KernelRow<&LocalScalarDense>("aten._local_scalar_dense.default", "self", "LocalScalarDense",
                                 kReference),
    KernelRow<&ConstrainRange<INT64_MIN>>("aten.sym_constrain_range.default", "size min max -> 0",
                                          "ConstrainRange", kReference),
    KernelRow<&ConstrainRange<0>>("aten.sym_constrain_range_for_size.default", "size min max -> 0",
                                  "ConstrainRangeForSize", kReference),
    KernelRow<&SymIsContiguous>("aten.sym_is_contiguous.default", "self memory_format",
                                "SymIsContiguous", kReference),
    KernelRow<&SymNumel>("aten.sym_numel.default", "self", "SymNumel", kReference),
    KernelRow<&SymSize>("aten.sym_size.int", "self dim", "SymSize", kReference),
    KernelRow<&SymStride>("aten.sym_stride.int", "self dim", "SymStride", kReference),
    Row<ScalarOp::kAdd>("executorch_prim.add.Scalar", "PrimAdd"),
    Row<ScalarOp::kCeil>("executorch_prim.ceil.Scalar", "PrimCeil"),
    Row<ScalarOp::kEq>("executorch_prim.eq.Scalar", "PrimEq"),
    Row<ScalarOp::kFloorDiv>("executorch_prim.floordiv.Scalar", "PrimFloordiv"),
    Row<ScalarOp::kGe>("executorch_prim.ge.Scalar", "PrimGe"),
    Row<ScalarOp::kGt>("executorch_prim.gt.Scalar", "PrimGt"),
    Row<ScalarOp::kLe>("executorch_prim.le.Scalar", "PrimLe"),
    Row<ScalarOp::kLt>("executorch_prim.lt.Scalar", "PrimLt"),
    Row<ScalarOp::kMul>("executorch_prim.mul.Scalar", "PrimMul"),
    Row<ScalarOp::kNeg>("executorch_prim.neg.Scalar", "PrimNeg"),
    Row<ScalarOp::kSub>("executorch_prim.sub.Scalar", "PrimSub"),
    Row<ScalarOp::kToFloat>("executorch_prim.sym_float.Scalar", "PrimSymFloat"),
    Row<ScalarOp::kToInt>("executorch_prim.sym_int.Scalar", "PrimSymInt"),
    Row<ScalarOp::kIfThenElse>("executorch_prim.sym_ite.Scalar", "PrimSymIte"),
    Row<ScalarOp::kMax>("executorch_prim.sym_max.Scalar", "PrimSymMax"),
    Row<ScalarOp::kMin>("executorch_prim.sym_min.Scalar", "PrimSymMin"),
    Row<ScalarOp::kNot>("executorch_prim.sym_not.Scalar", "PrimSymNot"),
    Row<ScalarOp::kTrueDiv>("executorch_prim.truediv.Scalar", "PrimTruediv"),
    Row<ScalarOp::kTrunc>("executorch_prim.trunc.Scalar", "PrimTrunc"),
    Row<ScalarOp::kCeil>("math.ceil", "ScalarCeil"),
    Row<ScalarOp::kFloor>("math.floor", "ScalarFloor"),
    Row<ScalarOp::kTrunc>("math.trunc", "ScalarTrunc"),
    Row<ScalarOp::kToFloat>("torch.sym_float", "SymFloat"),
    Row<ScalarOp::kToInt>("torch.sym_int", "SymInt"),
    Row<ScalarOp::kIfThenElse>("torch.sym_ite", "SymIfThenElse"),
    Row<ScalarOp::kMax>("torch.sym_max", "SymMax"),
    Row<ScalarOp::kMin>("torch.sym_min", "SymMin"),
    Row<ScalarOp::kNot>("torch.sym_not", "SymNot"),
    Row<ScalarOp::kSqrt>("torch._sym_sqrt", "SymSqrtTraced"),
    Row<ScalarOp::kSqrt>("torch.sym_sqrt", "SymSqrt"),
};

}  // namespace

absl::Span<const Kernel> SymbolicKernels() { return kKernels; }

}  // namespace belay
