// Calls of operators on scalars: arithmetic, tensor properties, item, and assertions.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SYMBOLIC_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SYMBOLIC_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/dims.h"

namespace belay {

// Arithmetic: arguments a, or a and b, or the three of sym_ite. The operation checks their kinds.
template <class Arguments, int kArity>
struct ScalarCall {
  const typename Arguments::Value* values[kArity] = {};  // point into their slots

  static constexpr std::string_view Name(int k) {
    constexpr std::string_view kNames[] = {"a", "b"}, kNamesOfThree[] = {"b", "t", "f"};
    return kArity == 3 ? kNamesOfThree[k] : kNames[k];
  }
  static absl::StatusOr<ScalarCall> Read(const Arguments& arguments) {
    ScalarCall call;
    for (int k = 0; k < kArity; ++k) call.values[k] = &arguments[Name(k)];
    return call;
  }
};

// Operators with a tensor as their only argument: sym_numel, sym_storage_offset,
// _local_scalar_dense.
template <class Arguments>
struct OfTensorCall {
  typename Arguments::TensorRef self;

  static absl::StatusOr<OfTensorCall> Read(const Arguments& arguments) {
    OfTensorCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    return call;
  }
};

// sym_size, sym_stride. kOutOfRange for a dimension that does not exist.
template <class Arguments>
struct OfDimensionCall {
  typename Arguments::TensorRef self;
  int dim = 0;  // counted from 0

  static absl::StatusOr<OfDimensionCall> Read(const Arguments& arguments) {
    OfDimensionCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(const int64_t given, arguments.StaticInt("dim"));
    if (call.self->rank() == 0) {
      return absl::OutOfRangeError(
          absl::StrCat("argument 'dim': dim ", given, " of a tensor without dimensions"));
    }
    const absl::StatusOr<int> dim = NormalizeDim(given, call.self->rank());
    if (!dim.ok()) {
      return absl::Status(dim.status().code(),
                          absl::StrCat("argument 'dim': ", dim.status().message()));
    }
    call.dim = *dim;
    return call;
  }
};

// sym_is_contiguous.
template <class Arguments>
struct IsContiguousCall {
  typename Arguments::TensorRef self;
  MemoryFormat format = MemoryFormat::kContiguous;

  static absl::StatusOr<IsContiguousCall> Read(const Arguments& arguments) {
    IsContiguousCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.format,
                          arguments.MemoryFormatOr("memory_format", MemoryFormat::kContiguous));
    return call;
  }
};

// _assert_scalar.
template <class Arguments>
struct AssertScalarCall {
  typename Arguments::OperandRef value;
  typename Arguments::Text message;

  static absl::StatusOr<AssertScalarCall> Read(const Arguments& arguments) {
    AssertScalarCall call;
    ABSL_ASSIGN_OR_RETURN(call.value, arguments.Number("self"));
    ABSL_ASSIGN_OR_RETURN(call.message, arguments.String("assert_msg"));
    return call;
  }
};

// _assert_async, with and without a message.
template <class Arguments>
struct AssertTensorCall {
  typename Arguments::TensorRef self;
  typename Arguments::Text message = "expected a tensor that is not zero";

  static absl::StatusOr<AssertTensorCall> Read(const Arguments& arguments) {
    AssertTensorCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    if (arguments.Has("assert_msg")) {
      ABSL_ASSIGN_OR_RETURN(call.message, arguments.String("assert_msg"));
    }
    return call;
  }
  // Checks that self has one element.
  absl::Status CheckShapes() const {
    const auto& sizes = Arguments::SizesOf(self);
    typename Arguments::Dim count = int64_t{1};
    for (const auto& size : sizes) count = count * size;
    const std::optional<int64_t> known = KnownInt(count);
    if (known.value_or(1) == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("argument 'self': expected one element, got ", *known));
  }
};

// _assert_tensor_metadata. Strides are not checked: the compiler chooses them.
template <class Arguments>
struct AssertMetadataCall {
  typename Arguments::TensorRef tensor;
  bool has_sizes = false;
  Dims<typename Arguments::Dim> sizes;  // expected
  DType dtype = DType::kFloat32;        // expected

  static absl::StatusOr<AssertMetadataCall> Read(const Arguments& arguments) {
    AssertMetadataCall call;
    ABSL_ASSIGN_OR_RETURN(call.tensor, arguments.Tensor("a"));
    call.has_sizes = !arguments.IsNone("size");
    if (call.has_sizes) {
      ABSL_ASSIGN_OR_RETURN(call.sizes, arguments.IntList("size"));
    }
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.DtypeOr("dtype", call.tensor->dtype));
    return call;
  }
};

// sym_constrain_range, sym_constrain_range_for_size.
template <class Arguments>
struct ConstrainRangeCall {
  typename Arguments::Dim size = int64_t{0};
  std::optional<int64_t> min, max;

  static absl::StatusOr<ConstrainRangeCall> Read(const Arguments& arguments) {
    ConstrainRangeCall call;
    ABSL_ASSIGN_OR_RETURN(call.size, arguments.Int("size"));
    ABSL_ASSIGN_OR_RETURN(call.min, arguments.OptionalInt("min"));
    ABSL_ASSIGN_OR_RETURN(call.max, arguments.OptionalInt("max"));
    return call;
  }
};

// _linalg_check_errors: info is 0 for matrices whose factorization succeeded.
template <class Arguments>
struct CheckErrorsCall {
  typename Arguments::TensorRef info;
  typename Arguments::Text api;

  static absl::StatusOr<CheckErrorsCall> Read(const Arguments& arguments) {
    CheckErrorsCall call;
    ABSL_ASSIGN_OR_RETURN(call.info, arguments.Tensor("info", DTypeSet{DType::kInt32}));
    ABSL_ASSIGN_OR_RETURN(call.api, arguments.String("api_name"));
    return call;
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SYMBOLIC_H_
