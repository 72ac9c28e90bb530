// Operators that make tensors of one number, or of numbers at equal distances, by what writes the
// elements: one text for every engine. An engine has these static functions:
//
//   absl::Status Fill(const TensorView& output, const EValue& value);  // converted to the dtype
//   // Element i is first + i * step, modulo 2^64 and cut to the dtype.
//   void CountIntegers(const TensorView& output, uint64_t first, uint64_t step);
//   void CountFloats(const TensorView& output, double first, double step);  // rounded to the dtype
//   absl::Status Copy(const TensorView& from, const TensorView& to);  // like CopyElements
#ifndef BELAY_RUNTIME_KERNELS_CALL_CREATION_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_CALL_CREATION_KERNELS_H_

#include <cstdint>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_rules/arange.h"
#include "runtime/kernel/shape_rules/dims.h"
#include "runtime/kernel/type_promotion.h"

namespace belay {

// Output 0 of this dtype.
inline absl::StatusOr<TensorView*> CreatedOutput(KernelContext& context, DType dtype,
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

// (size, …): argument kDtype is the dtype, float32 by default. The elements are kValue.
template <class Engine, int kArguments, int kSize, int kDtype, int64_t kValue>
absl::Status Constant(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(kArguments, 1));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, context.IntList(kSize));
  DType fallback = DType::kFloat32;
  if constexpr (kSize == 1) {  // new_zeros(self, size, …)
    ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
    fallback = self->dtype;
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(kDtype, fallback));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, dtype, sizes));
  return Engine::Fill(*output, EValue(kValue));
}

// (self, …): argument kDtype is the dtype, that of self by default.
template <class Engine, int64_t kValue>
absl::Status ConstantLike(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, self->dtype));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, dtype, self->sizes));
  return Engine::Fill(*output, EValue(kValue));
}

// (size, stride, *, dtype?, …). The strides are those of the output already.
template <class Engine>
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
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, dtype, sizes));
  return Engine::Fill(*output, EValue(int64_t{0}));
}

// (self, value), the value a number or a tensor without dimensions.
template <class Engine>
absl::Status Fill(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  const TensorView* value = context.argument(1).get_if<TensorView>();
  if (value != nullptr && value->rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("argument 1: expected a tensor without dimensions, got ", value->ToString()));
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, self->dtype, self->sizes));
  if (value == nullptr) {
    ABSL_ASSIGN_OR_RETURN(const EValue number, context.Scalar(1));
    return Engine::Fill(*output, number);
  }
  TensorView repeated = *output;
  repeated.dtype = value->dtype;
  repeated.strides = Strides(output->rank(), int64_t{0});
  repeated.data = value->data;
  return Engine::Copy(repeated, *output);
}

// (size, value, *, dtype?, …): the value's category is the default dtype.
template <class Engine>
absl::Status Full(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, context.IntList(0));
  ABSL_ASSIGN_OR_RETURN(const EValue value, context.Scalar(1));
  ABSL_ASSIGN_OR_RETURN(const DType dtype,
                        context.DtypeOr(2, ScalarCategory(value).value_or(DType::kFloat32)));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, dtype, sizes));
  return Engine::Fill(*output, value);
}

// (self, value, *, dtype?, …)
template <class Engine>
absl::Status FullLike(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const EValue value, context.Scalar(1));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(2, self->dtype));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, dtype, self->sizes));
  return Engine::Fill(*output, value);
}

// (self, size, value, *, dtype?, …)
template <class Engine>
absl::Status NewFull(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const EValue value, context.Scalar(2));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(3, self->dtype));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, dtype, sizes));
  return Engine::Fill(*output, value);
}

// (s, *, dtype?, …)
template <class Engine>
absl::Status ScalarTensor(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 1));
  ABSL_ASSIGN_OR_RETURN(const EValue value, context.Scalar(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, DType::kFloat32));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, dtype, {}));
  return Engine::Fill(*output, value);
}

inline absl::StatusOr<RealNumber> RealArgument(const KernelContext& context, int i) {
  if (context.argument(i).is<double>() || context.argument(i).is<std::complex<double>>()) {
    ABSL_ASSIGN_OR_RETURN(const double value, context.Double(i));
    return RealNumber(value);
  }
  ABSL_ASSIGN_OR_RETURN(const int64_t value, context.Int(i));
  return RealNumber(value);
}

// (start, end, step, *, dtype?, …) with as many of the first three as kNumbers says: (end), (start,
// end), all.
template <class Engine, int kNumbers>
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
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, dtype, {length}));
  if (IsIntegral(dtype, /*include_bool=*/false)) {
    Engine::CountIntegers(*output, TruncateToInt(start), TruncateToInt(step));
  } else {
    Engine::CountFloats(*output, ToDouble(start), ToDouble(step));
  }
  return absl::OkStatus();
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_CREATION_KERNELS_H_
