// Calls of operators that write elements at positions given by index tensors or masks.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SCATTER_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SCATTER_H_

#include <cstdint>
#include <string_view>

#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/index.h"

namespace belay {

// How elements written to the same position are combined.
enum class ScatterReduction : uint8_t { kNone, kSum, kProduct, kMean, kMaximum, kMinimum };

// Parses the names used by scatter.
inline absl::StatusOr<ScatterReduction> ScatterReductionOf(std::string_view reduce) {
  if (reduce == "add") return ScatterReduction::kSum;
  if (reduce == "multiply") return ScatterReduction::kProduct;
  return absl::InvalidArgumentError(
      absl::StrCat("scatter: reduce must be 'add' or 'multiply', got '", reduce, "'"));
}

// Parses the names used by scatter_reduce, for elements of `dtype`.
inline absl::StatusOr<ScatterReduction> ScatterReductionOf(std::string_view reduce, DType dtype) {
  if (reduce == "sum") return ScatterReduction::kSum;
  if (reduce == "prod") return ScatterReduction::kProduct;
  if (reduce == "amax") return ScatterReduction::kMaximum;
  if (reduce == "amin") return ScatterReduction::kMinimum;
  if (reduce != "mean") {
    return absl::InvalidArgumentError(absl::StrCat(
        "scatter_reduce: reduce must be sum, prod, mean, amax or amin, got '", reduce, "'"));
  }
  if (dtype != DType::kBool) return ScatterReduction::kMean;
  return absl::InvalidArgumentError("scatter_reduce: booleans have no mean");
}

// scatter, scatter_add, scatter_reduce, with a tensor or a scalar source.
template <class Arguments>
struct ScatterCall {
  typename Arguments::TensorRef self, index;
  typename Arguments::TensorRef src = nullptr;  // null for a scalar
  typename Arguments::ScalarRef value = {};     // the scalar
  int64_t dim = 0;
  ScatterReduction reduction = ScatterReduction::kNone;  // if the call names one
  bool include_self = true;

  static absl::StatusOr<ScatterCall> Read(const Arguments& arguments) {
    ScatterCall call;
    const bool reduces = arguments.Has("include_self");  // scatter_reduce
    ABSL_ASSIGN_OR_RETURN(
        call.self, reduces ? arguments.Tensor("self", kRealTypes) : arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.dim, arguments.StaticInt("dim"));
    ABSL_ASSIGN_OR_RETURN(call.index, arguments.Tensor("index", kIndexTypes));
    if (arguments.Has("src")) {
      ABSL_ASSIGN_OR_RETURN(call.src, arguments.Tensor("src", DTypeSet{call.self->dtype}));
    } else {
      ABSL_ASSIGN_OR_RETURN(call.value, arguments.ScalarFor("value", call.self->dtype));
    }
    if (arguments.Has("reduce")) {
      ABSL_ASSIGN_OR_RETURN(const auto reduce, arguments.String("reduce"));
      ABSL_ASSIGN_OR_RETURN(call.reduction, reduces ? ScatterReductionOf(reduce, call.self->dtype)
                                                    : ScatterReductionOf(reduce));
    }
    if (reduces) {
      ABSL_ASSIGN_OR_RETURN(call.include_self, arguments.Bool("include_self"));
    }
    return call;
  }
  // Returns the dimension counted from 0.
  absl::StatusOr<int> CheckShapes() const {
    using D = typename Arguments::Dim;
    Dims<D> src_dims;
    if (src != nullptr) src_dims = Arguments::SizesOf(src);
    const absl::Span<const D> src_sizes = src_dims;
    return CheckGatherShapes<D>("scatter", Arguments::SizesOf(self), dim, Arguments::SizesOf(index),
                                src == nullptr ? nullptr : &src_sizes);
  }
};

// index_add (which has an alpha), index_copy and index_copy_.
template <class Arguments>
struct IndexUpdateCall {
  typename Arguments::TensorRef self, index, source;
  MutableArgument target;  // self, if the call mutates it
  typename Arguments::ScalarRef alpha = {};
  int64_t dim = 0;
  bool adds = false;

  static absl::StatusOr<IndexUpdateCall> Read(const Arguments& arguments) {
    IndexUpdateCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.target, arguments.Mutable("self"));
    ABSL_ASSIGN_OR_RETURN(call.dim, arguments.StaticInt("dim"));
    ABSL_ASSIGN_OR_RETURN(call.index, arguments.Tensor("index", kIndexTypes));
    ABSL_ASSIGN_OR_RETURN(call.source, arguments.Tensor("source", DTypeSet{call.self->dtype}));
    call.adds = arguments.Has("alpha");
    if (call.adds) {
      ABSL_ASSIGN_OR_RETURN(call.alpha, arguments.ScalarFor("alpha", call.self->dtype));
    }
    return call;
  }
  // Returns the dimension counted from 0.
  absl::StatusOr<int> CheckShapes() const {
    using D = typename Arguments::Dim;
    const Dims<D> source_dims = Arguments::SizesOf(source);
    const absl::Span<const D> source_sizes = source_dims;
    return CheckIndexUpdateShapes<D>(adds ? "index_add" : "index_copy", Arguments::SizesOf(self),
                                     dim, Arguments::SizesOf(index), &source_sizes);
  }
};

// index_fill with a scalar or, if kTensor, a tensor of rank 0.
template <class Arguments, bool kTensor>
struct IndexFillCall {
  typename Arguments::TensorRef self, index;
  typename Arguments::TensorRef tensor = nullptr;
  typename Arguments::ScalarRef number = {};
  int64_t dim = 0;

  static absl::StatusOr<IndexFillCall> Read(const Arguments& arguments) {
    IndexFillCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.dim, arguments.StaticInt("dim"));
    ABSL_ASSIGN_OR_RETURN(call.index, arguments.Tensor("index", kIndexTypes));
    if constexpr (kTensor) {
      ABSL_ASSIGN_OR_RETURN(call.tensor, arguments.Tensor("value"));
      if (call.tensor->rank() != 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "index_fill: value must be a scalar, got one of rank ", call.tensor->rank()));
      }
    } else {
      ABSL_ASSIGN_OR_RETURN(call.number, arguments.ScalarFor("value", call.self->dtype));
    }
    return call;
  }
  // Returns the dimension counted from 0.
  absl::StatusOr<int> CheckShapes() const {
    using D = typename Arguments::Dim;
    return CheckIndexUpdateShapes<D>("index_fill", Arguments::SizesOf(self), dim,
                                     Arguments::SizesOf(index), nullptr);
  }
};

template <class Arguments>
struct MaskedScatterCall {
  typename Arguments::TensorRef self, mask, source;

  static absl::StatusOr<MaskedScatterCall> Read(const Arguments& arguments) {
    MaskedScatterCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.mask, arguments.Tensor("mask", DTypeSet{DType::kBool}));
    ABSL_ASSIGN_OR_RETURN(call.source, arguments.Tensor("source", DTypeSet{call.self->dtype}));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return BroadcastShape<typename Arguments::Dim>(Arguments::SizesOf(self),
                                                   Arguments::SizesOf(mask));
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SCATTER_H_
