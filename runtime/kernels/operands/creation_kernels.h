// Operators that create tensors filled with one scalar or with an arithmetic sequence. The code is
// shared by all engines and parameterized by the functions that write elements. An engine has these
// static functions:
//
//   absl::Status Fill(const TensorView& output, const EValue& value);  // converted to the dtype
//   // Element i is first + i * step, modulo 2^64 and truncated to the dtype.
//   void CountIntegers(const TensorView& output, uint64_t first, uint64_t step);
//   void CountFloats(const TensorView& output, double first, double step);  // rounded to the dtype
//   absl::Status Copy(const TensorView& from, const TensorView& to);  // like CopyElements
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_CREATION_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_CREATION_KERNELS_H_

#include <complex>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/arange.h"
#include "runtime/kernel_interface/shape_rules/creation.h"
#include "runtime/kernel_interface/shape_rules/dims.h"

namespace belay {

// Returns output 0 of these sizes. kInvalidArgument if it has another dtype, or if `dtype` is
// complex32.
inline absl::StatusOr<TensorView*> CreatedOutput(KernelContext& context, DType dtype,
                                                 absl::Span<const CheckedInt> dims) {
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, context.Output(0, sizes));
  if (output->dtype != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("output 0: expected dtype ", DTypeName(dtype),
                                                   ", got ", DTypeName(output->dtype)));
  }
  if (dtype == DType::kComplex32)
    return absl::InvalidArgumentError("output 0: dtype complex32 is not supported");
  return output;
}

inline absl::StatusOr<TensorView*> CreatedOutput(KernelContext& context,
                                                 const SizedCall<KernelArguments>& call) {
  return CreatedOutput(context, call.dtype, call.sizes);
}
inline absl::StatusOr<TensorView*> CreatedOutput(KernelContext& context,
                                                 const LikeCall<KernelArguments>& call) {
  return CreatedOutput(context, call.dtype, ToDims(call.self->sizes));
}

// Fills the output with kValue. Call: SizedCall or LikeCall.
template <class Engine, template <class> class Call, int64_t kValue>
absl::Status Constant(KernelContext& context, const Call<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, call));
  return Engine::Fill(*output, EValue(kValue));
}

// Fills the output with the call's value.
template <class Engine, template <class> class Call>
absl::Status Full(KernelContext& context, const Call<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, call));
  return Engine::Fill(*output, *call.value.value);
}

// The output has the requested strides already.
template <class Engine>
absl::Status EmptyStrided(KernelContext& context, const EmptyStridedCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, call.dtype, call.sizes));
  return Engine::Fill(*output, EValue(int64_t{0}));
}

template <class Engine>
absl::Status Fill(KernelContext& context, const FillCall<KernelArguments>& call) {
  const TensorView& self = *call.self;
  ABSL_ASSIGN_OR_RETURN(TensorView * output,
                        CreatedOutput(context, self.dtype, ToDims(self.sizes)));
  if (call.value.tensor == nullptr) return Engine::Fill(*output, *call.value.value);
  TensorView repeated = *output;
  repeated.dtype = call.value.tensor->dtype;
  repeated.strides = Strides(output->rank(), int64_t{0});
  repeated.data = call.value.tensor->data;
  return Engine::Copy(repeated, *output);
}

template <class Engine>
absl::Status ScalarTensor(KernelContext& context, const ScalarTensorCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, call.dtype, {}));
  return Engine::Fill(*output, *call.value.value);
}

// Returns a scalar argument of the call; `fallback` if the argument is none. kInvalidArgument for a
// complex scalar with an imaginary part.
inline absl::StatusOr<RealNumber> RealNumberOf(const KernelArguments::OperandRef& number,
                                               int64_t fallback) {
  if (number.value == nullptr) return RealNumber(fallback);
  if (const int64_t* integer = number.value->get_if<int64_t>()) return RealNumber(*integer);
  if (const bool* boolean = number.value->get_if<bool>()) return RealNumber(int64_t{*boolean});
  if (const double* real = number.value->get_if<double>()) return RealNumber(*real);
  const auto& complex = *number.value->get_if<std::complex<double>>();
  if (complex.imag() == 0) return RealNumber(complex.real());
  return absl::InvalidArgumentError(
      absl::StrCat("expected a real number, got ", number.value->KindName()));
}

template <class Engine>
absl::Status Arange(KernelContext& context, const ArangeCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const RealNumber start, RealNumberOf(call.start, 0));
  ABSL_ASSIGN_OR_RETURN(const RealNumber end, RealNumberOf(call.end, 0));
  ABSL_ASSIGN_OR_RETURN(const RealNumber step, RealNumberOf(call.step, 1));
  ABSL_ASSIGN_OR_RETURN(const int64_t length, ArangeLength(start, end, step, call.dtype));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, call.dtype, {length}));
  if (IsIntegral(call.dtype, /*include_bool=*/false)) {
    Engine::CountIntegers(*output, TruncateToInt(start), TruncateToInt(step));
  } else {
    Engine::CountFloats(*output, ToDouble(start), ToDouble(step));
  }
  return absl::OkStatus();
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_CREATION_KERNELS_H_
