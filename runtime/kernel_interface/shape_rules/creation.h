// Calls of operators that create tensors from sizes and scalars.
//
// The arguments layout, device, pin_memory and memory_format are not read. Kernels support one
// layout and one device, and the output's memory format is already planned.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_CREATION_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_CREATION_H_

#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/dims.h"
#include "runtime/kernel_interface/type_promotion.h"

namespace belay {

// Reads the argument `size`; rejects sizes known to be negative.
template <class Arguments>
absl::StatusOr<Dims<typename Arguments::Dim>> ReadSize(const Arguments& arguments) {
  using D = typename Arguments::Dim;
  ABSL_ASSIGN_OR_RETURN(Dims<D> sizes, arguments.IntList("size"));
  int d = 0;
  for (const D& size : sizes) {
    if (KnownInt(size).value_or(0) < 0) {
      return arguments.ArgumentError("size",
                                     absl::StrCat("size ", DimToString(size), " at dimension ", d));
    }
    ++d;
  }
  return sizes;
}

// Operators of a size: empty, zeros, ones, full, their new_ variants, and rand, randn.
template <class Arguments>
struct SizedCall {
  Dims<typename Arguments::Dim> sizes;
  typename Arguments::OperandRef value;  // fill_value; null where the operator has none
  DType dtype = DType::kFloat32;         // default: of self, or the value's category

  static absl::StatusOr<SizedCall> Read(const Arguments& arguments) {
    SizedCall call;
    ABSL_ASSIGN_OR_RETURN(call.sizes, ReadSize(arguments));
    DType fallback = DType::kFloat32;
    if (arguments.Has("fill_value")) {
      ABSL_ASSIGN_OR_RETURN(call.value, arguments.Number("fill_value"));
      fallback = call.value.dtype;
    }
    if (arguments.Has("self")) {
      ABSL_ASSIGN_OR_RETURN(const typename Arguments::TensorRef self, arguments.Tensor("self"));
      fallback = self->dtype;
    }
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.DtypeOr("dtype", fallback));
    return call;
  }
};

// Operators of the size of self: empty_like, zeros_like, ones_like, full_like, and rand_like,
// randn_like.
template <class Arguments>
struct LikeCall {
  typename Arguments::TensorRef self;
  typename Arguments::OperandRef value;  // fill_value; null where the operator has none
  DType dtype = DType::kFloat32;         // default: of self

  static absl::StatusOr<LikeCall> Read(const Arguments& arguments) {
    LikeCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    if (arguments.Has("fill_value")) {
      ABSL_ASSIGN_OR_RETURN(call.value, arguments.Number("fill_value"));
    }
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.DtypeOr("dtype", call.self->dtype));
    return call;
  }
};

// A SizedCall or LikeCall of a random operator: floating point or complex dtypes.
template <class Call>
struct RandomCall : Call {
  template <class Arguments>
  static absl::StatusOr<RandomCall> Read(const Arguments& arguments) {
    ABSL_ASSIGN_OR_RETURN(Call call, Call::Read(arguments));
    constexpr DTypeSet kTypes = kFloatTypes | kComplexTypes;
    if (kTypes.contains(call.dtype)) return RandomCall{std::move(call)};
    return arguments.Error(absl::StrCat("dtype ", DTypeName(call.dtype),
                                        " is not supported, expected one of ",
                                        FormatDTypeSet(kTypes)));
  }
};

// empty_strided.
template <class Arguments>
struct EmptyStridedCall {
  Dims<typename Arguments::Dim> sizes, strides;
  DType dtype = DType::kFloat32;

  static absl::StatusOr<EmptyStridedCall> Read(const Arguments& arguments) {
    EmptyStridedCall call;
    ABSL_ASSIGN_OR_RETURN(call.sizes, ReadSize(arguments));
    ABSL_ASSIGN_OR_RETURN(call.strides, arguments.IntList("stride"));
    if (call.strides.size() != call.sizes.size()) {
      return arguments.ArgumentError("stride", absl::StrCat("expected ", call.sizes.size(),
                                                            " strides, got ", call.strides.size()));
    }
    for (const auto& stride : call.strides) {
      if (KnownInt(stride).value_or(0) < 0) {
        return arguments.ArgumentError("stride", absl::StrCat("stride ", DimToString(stride)));
      }
    }
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.DtypeOr("dtype", DType::kFloat32));
    return call;
  }
};

// fill: shape and dtype of self.
template <class Arguments>
struct FillCall {
  typename Arguments::TensorRef self;
  typename Arguments::OperandRef value;  // a scalar or a tensor of rank 0

  static absl::StatusOr<FillCall> Read(const Arguments& arguments) {
    FillCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.value, arguments.Operand("value"));
    if (call.value.tensor == nullptr || call.value.tensor->rank() == 0) return call;
    return arguments.ArgumentError("value",
                                   absl::StrCat("expected a tensor without dimensions, got ",
                                                call.value.tensor->rank(), " dimensions"));
  }
};

// scalar_tensor.
template <class Arguments>
struct ScalarTensorCall {
  typename Arguments::OperandRef value;
  DType dtype = DType::kFloat32;

  static absl::StatusOr<ScalarTensorCall> Read(const Arguments& arguments) {
    ScalarTensorCall call;
    ABSL_ASSIGN_OR_RETURN(call.value, arguments.Number("s"));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.DtypeOr("dtype", DType::kFloat32));
    return call;
  }
};

// arange; start defaults to 0, step to 1. ArangeLength (arange.h) gives its length.
template <class Arguments>
struct ArangeCall {
  typename Arguments::OperandRef start, end, step;  // start, step: null for none
  DType dtype = DType::kInt64;                      // default: int64, or float32 for floats

  static absl::StatusOr<ArangeCall> Read(const Arguments& arguments) {
    ArangeCall call;
    DType fallback = DType::kInt64;
    for (const auto& [name, number] : {std::pair("start", &call.start), std::pair("end", &call.end),
                                       std::pair("step", &call.step)}) {
      if (!arguments.Has(name)) continue;
      ABSL_ASSIGN_OR_RETURN(*number, arguments.NumberFor(name, DType::kFloat32));
      if (!IsIntegral(number->dtype, /*include_bool=*/true)) fallback = DType::kFloat32;
    }
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.DtypeOr("dtype", fallback));
    if (!IsComplex(call.dtype) && call.dtype != DType::kBool) return call;
    return arguments.ArgumentError(
        "dtype", absl::StrCat("dtype ", DTypeName(call.dtype), " is not supported"));
  }
};

// randperm.
template <class Arguments>
struct RandpermCall {
  typename Arguments::Dim n = 0;
  DType dtype = DType::kInt64;

  static absl::StatusOr<RandpermCall> Read(const Arguments& arguments) {
    RandpermCall call;
    ABSL_ASSIGN_OR_RETURN(call.n, arguments.Int("n"));
    if (KnownInt(call.n).value_or(0) < 0) {
      return arguments.ArgumentError("n", absl::StrCat("a size of ", DimToString(call.n)));
    }
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.DtypeOr("dtype", DType::kInt64));
    if (kNumericTypes.contains(call.dtype)) return call;
    return arguments.ArgumentError("dtype", absl::StrCat("dtype ", DTypeName(call.dtype),
                                                         " is not supported, expected one of ",
                                                         FormatDTypeSet(kNumericTypes)));
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_CREATION_H_
