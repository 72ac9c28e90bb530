// Operators that make tensors out of sizes and numbers.
//
// Arguments named layout, device, pin_memory and memory_format are not read: there is one of each,
// and the output has its layout already. What PyTorch leaves uninitialised is zero.
#include <cmath>
#include <complex>
#include <iterator>
#include <numbers>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/arange.h"
#include "runtime/kernel/shape_rules/dims.h"
#include "runtime/kernel/type_promotion.h"
#include "runtime/kernels/reference/element_run.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/random_stream.h"

namespace belay {
namespace {

// Output 0 of this dtype.
absl::StatusOr<TensorView*> OutputOf(KernelContext& context, DType dtype,
                                     absl::Span<const int64_t> sizes) {
  ABSL_ASSIGN_OR_RETURN(const Sizes checked, ToSizes(ToDims(sizes)));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, context.Output(0, checked));
  if (output->dtype != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("output 0: expected dtype ", DTypeName(dtype),
                                                   ", got ", DTypeName(output->dtype)));
  }
  if (dtype == DType::kComplex32)
    return absl::InvalidArgumentError("output 0: dtype complex32 is not supported");
  return output;
}

// Fills a tensor with runs: make(first, n, buffer) sets elements first … first + n - 1 as elements
// of class `type`.
template <class Make>
void FillRuns(const TensorView& output, ComputeClass type, Make&& make) {
  RunCursor cursor(output.sizes, output.strides);
  const int64_t total = output.numel();
  RunBuffer buffer;
  for (int64_t done = 0; done < total; done += kRunLength) {
    const int n = static_cast<int>(std::min<int64_t>(kRunLength, total - done));
    make(done, n, buffer);
    StoreRun(buffer, type, n, cursor, output.data, output.dtype);
  }
}

// Sets all elements to a number that ConvertScalar made for the dtype.
void FillNumber(const TensorView& output, const EValue& number) {
  const auto fill = [&](ComputeClass type, auto value) {
    FillRuns(output, type, [&](int64_t, int n, RunBuffer& buffer) {
      for (int i = 0; i < n; ++i) buffer.as<decltype(value)>()[i] = value;
    });
  };
  if (const int64_t* integer = number.get_if<int64_t>()) fill(ComputeClass::kInt, *integer);
  if (const bool* boolean = number.get_if<bool>()) fill(ComputeClass::kInt, int64_t{*boolean});
  if (const double* real = number.get_if<double>()) fill(ComputeClass::kDouble, *real);
  if (const auto* complex = number.get_if<std::complex<double>>())
    fill(ComputeClass::kComplex, *complex);
}

absl::Status FillConverted(const TensorView& output, const EValue& value) {
  ABSL_ASSIGN_OR_RETURN(const EValue number, ConvertScalar(value, output.dtype));
  FillNumber(output, number);
  return absl::OkStatus();
}

// (size, …): argument kDtype is the dtype, float32 by default. The elements are kValue.
template <int kArguments, int kSize, int kDtype, int64_t kValue>
absl::Status Constant(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(kArguments, 1));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, context.IntList(kSize));
  DType fallback = DType::kFloat32;
  if constexpr (kSize == 1) {  // new_zeros(self, size, …)
    ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
    fallback = self->dtype;
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(kDtype, fallback));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, dtype, sizes));
  return FillConverted(*output, EValue(kValue));
}

// (self, …): argument kDtype is the dtype, that of self by default.
template <int64_t kValue>
absl::Status ConstantLike(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, self->dtype));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, dtype, self->sizes));
  return FillConverted(*output, EValue(kValue));
}

// (size, stride, *, dtype?, …). The strides are those of the output already.
absl::Status EmptyStrided(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, context.IntList(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes strides, context.IntList(1));
  if (strides.size() != sizes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("argument 1: expected ", sizes.size(), " strides, got ", strides.size()));
  }
  for (int64_t s : strides) {
    if (s < 0) return absl::InvalidArgumentError(absl::StrCat("argument 1: a stride of ", s));
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(2, DType::kFloat32));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, dtype, sizes));
  return FillConverted(*output, EValue(int64_t{0}));
}

// (self, value), the value a number or a tensor without dimensions.
absl::Status Fill(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  const TensorView* value = context.argument(1).get_if<TensorView>();
  if (value != nullptr && value->rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("argument 1: expected a tensor without dimensions, got ", value->ToString()));
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, self->dtype, self->sizes));
  if (value == nullptr) {
    ABSL_ASSIGN_OR_RETURN(const EValue number, context.Scalar(1));
    return FillConverted(*output, number);
  }
  TensorView repeated = *output;
  repeated.dtype = value->dtype;
  repeated.strides = Strides(output->rank(), int64_t{0});
  repeated.data = value->data;
  return CopyElements(repeated, *output);
}

// (size, value, *, dtype?, …): the value's category is the default dtype.
absl::Status Full(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, context.IntList(0));
  ABSL_ASSIGN_OR_RETURN(const EValue value, context.Scalar(1));
  ABSL_ASSIGN_OR_RETURN(const DType dtype,
                        context.DtypeOr(2, ScalarCategory(value).value_or(DType::kFloat32)));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, dtype, sizes));
  return FillConverted(*output, value);
}

// (self, value, *, dtype?, …)
absl::Status FullLike(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const EValue value, context.Scalar(1));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(2, self->dtype));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, dtype, self->sizes));
  return FillConverted(*output, value);
}

// (self, size, value, *, dtype?, …)
absl::Status NewFull(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const EValue value, context.Scalar(2));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(3, self->dtype));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, dtype, sizes));
  return FillConverted(*output, value);
}

// (s, *, dtype?, …)
absl::Status ScalarTensor(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 1));
  ABSL_ASSIGN_OR_RETURN(const EValue value, context.Scalar(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, DType::kFloat32));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, dtype, {}));
  return FillConverted(*output, value);
}

absl::StatusOr<RealNumber> RealArgument(const KernelContext& context, int i) {
  if (context.argument(i).is<double>() || context.argument(i).is<std::complex<double>>()) {
    ABSL_ASSIGN_OR_RETURN(const double value, context.Double(i));
    return RealNumber(value);
  }
  ABSL_ASSIGN_OR_RETURN(const int64_t value, context.Int(i));
  return RealNumber(value);
}

// (start, end, step, *, dtype?, …) with as many of the first three as kNumbers says: (end), (start,
// end), all.
template <int kNumbers>
absl::Status Arange(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(kNumbers + 4, 1));
  RealNumber start = int64_t{0}, end = int64_t{0}, step = int64_t{1};
  bool integral = true;
  for (int i = 0; i < kNumbers; ++i) {
    ABSL_ASSIGN_OR_RETURN(const RealNumber number, RealArgument(context, i));
    integral = integral && std::holds_alternative<int64_t>(number);
    (kNumbers == 1 || i == 1 ? end : i == 0 ? start : step) = number;
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype,
                        context.DtypeOr(kNumbers, integral ? DType::kInt64 : DType::kFloat32));
  if (IsComplex(dtype) || dtype == DType::kBool) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype ", DTypeName(dtype), " is not supported"));
  }
  ABSL_ASSIGN_OR_RETURN(const int64_t length, ArangeLength(start, end, step, dtype));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, dtype, {length}));
  if (IsIntegral(dtype, /*include_bool=*/false)) {
    const uint64_t first = TruncateToInt(start), by = TruncateToInt(step);
    FillRuns(*output, ComputeClass::kInt, [&](int64_t done, int n, RunBuffer& buffer) {
      int64_t* out = buffer.as<int64_t>();
      for (int i = 0; i < n; ++i)
        out[i] = static_cast<int64_t>(first + static_cast<uint64_t>(done + i) * by);
    });
  } else {
    const double first = ToDouble(start), by = ToDouble(step);
    FillRuns(*output, ComputeClass::kDouble, [&](int64_t done, int n, RunBuffer& buffer) {
      double* out = buffer.as<double>();
      for (int i = 0; i < n; ++i) out[i] = first + by * static_cast<double>(done + i);
    });
  }
  return absl::OkStatus();
}

// The bits of a significand: as many random bits a uniform number can have without being rounded
// to 1.
int SignificandBits(DType dtype) {
  switch (RealPart(dtype)) {
    case DType::kFloat16:
      return 11;
    case DType::kBFloat16:
      return 8;
    case DType::kFloat32:
      return 24;
    default:
      return 53;
  }
}

// Uniform in [0, 1) or normal; the parts of a complex normal number have variance 1/2 each.
void FillRandom(const TensorView& output, bool normal) {
  RandomStream random(output.data);
  const int bits = SignificandBits(output.dtype);
  const auto next = [&] { return normal ? random.Normal() : random.Uniform(bits); };
  if (IsComplex(output.dtype)) {
    const double scale = normal ? 1 / std::numbers::sqrt2 : 1;
    FillRuns(output, ComputeClass::kComplex, [&](int64_t, int n, RunBuffer& buffer) {
      for (int i = 0; i < n; ++i) {
        const double real = next();
        buffer.as<std::complex<double>>()[i] = {real * scale, next() * scale};
      }
    });
  } else {
    FillRuns(output, ComputeClass::kDouble, [&](int64_t, int n, RunBuffer& buffer) {
      for (int i = 0; i < n; ++i) buffer.as<double>()[i] = next();
    });
  }
}

absl::Status CheckRandom(DType dtype) {
  if ((kFloatTypes | kComplexTypes).contains(dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("dtype ", DTypeName(dtype),
                                                 " is not supported, expected one of ",
                                                 FormatDTypeSet(kFloatTypes | kComplexTypes)));
}

// (size, *, dtype?, …)
template <bool kNormal>
absl::Status Random(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 1));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, context.IntList(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, DType::kFloat32));
  ABSL_RETURN_IF_ERROR(CheckRandom(dtype));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, dtype, sizes));
  FillRandom(*output, kNormal);
  return absl::OkStatus();
}

// (self, *, dtype?, …, memory_format?)
template <bool kNormal>
absl::Status RandomLike(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, self->dtype));
  ABSL_RETURN_IF_ERROR(CheckRandom(dtype));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, dtype, self->sizes));
  FillRandom(*output, kNormal);
  return absl::OkStatus();
}

// (n, *, dtype?, …)
absl::Status Randperm(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 1));
  ABSL_ASSIGN_OR_RETURN(const int64_t n, context.Int(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, DType::kInt64));
  if (!kNumericTypes.contains(dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("dtype ", DTypeName(dtype),
                                                   " is not supported, expected one of ",
                                                   FormatDTypeSet(kNumericTypes)));
  }
  ABSL_RETURN_IF_ERROR(ConvertScalar(EValue(n), dtype).status());
  if (IsFloatingPoint(dtype) && n > (int64_t{1} << SignificandBits(dtype)) + 1) {
    return absl::InvalidArgumentError(absl::StrCat(DTypeName(dtype), " can't count to ", n));
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * output, OutputOf(context, dtype, {n}));
  RandomStream random(output->data);
  DispatchDType<kNumericTypes>(dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    T* out = output->as<T>();
    const int64_t stride = output->strides[0];
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = static_cast<int64_t>(random.Below(static_cast<uint64_t>(i) + 1));
      out[i * stride] = out[j * stride];
      out[j * stride] = ConvertElement<T>(i);
    }
  });
  return absl::OkStatus();
}

constexpr Kernel Row(std::string_view op, std::string_view name,
                     absl::Status (*run)(KernelContext&)) {
  return {op, name, KernelEngine::kReference, run};
}

constexpr Kernel kKernels[] = {
    Row("aten.arange.default", "ArangeEnd", &Arange<1>),
    Row("aten.arange.start", "ArangeStart", &Arange<2>),
    Row("aten.arange.start_step", "Arange", &Arange<3>),
    Row("aten.empty.memory_format", "Empty", &Constant<6, 0, 1, 0>),
    Row("aten.empty_like.default", "EmptyLike", &ConstantLike<0>),
    Row("aten.empty_strided.default", "EmptyStrided", &EmptyStrided),
    Row("aten.fill.Scalar", "FillScalar", &Fill),
    Row("aten.fill.Tensor", "Fill", &Fill),
    Row("aten.full.default", "Full", &Full),
    Row("aten.full_like.default", "FullLike", &FullLike),
    Row("aten.new_empty.default", "NewEmpty", &Constant<6, 1, 2, 0>),
    Row("aten.new_full.default", "NewFull", &NewFull),
    Row("aten.new_ones.default", "NewOnes", &Constant<6, 1, 2, 1>),
    Row("aten.new_zeros.default", "NewZeros", &Constant<6, 1, 2, 0>),
    Row("aten.ones.default", "Ones", &Constant<5, 0, 1, 1>),
    Row("aten.ones_like.default", "OnesLike", &ConstantLike<1>),
    Row("aten.rand.default", "Rand", &Random<false>),
    Row("aten.rand_like.default", "RandLike", &RandomLike<false>),
    Row("aten.randn.default", "Randn", &Random<true>),
    Row("aten.randn_like.default", "RandnLike", &RandomLike<true>),
    Row("aten.randperm.default", "Randperm", &Randperm),
    Row("aten.scalar_tensor.default", "ScalarTensor", &ScalarTensor),
    Row("aten.zeros.default", "Zeros", &Constant<5, 0, 1, 0>),
    Row("aten.zeros_like.default", "ZerosLike", &ConstantLike<0>),
};

}  // namespace

absl::Span<const Kernel> CreationKernels() { return kKernels; }

}  // namespace belay
