// Calls of operators that sort or select along one dimension.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SORT_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SORT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/reduction.h"

namespace belay {

inline constexpr DTypeSet kSortTypes = kRealTypes | DTypeSet{DType::kUint16};
inline constexpr DTypeSet kSelectTypes = kIntegralTypes | kFloatTypes;

// sort, sort.stable -> (values, indices), both of the input's shape.
template <class Arguments>
struct SortCall {
  typename Arguments::TensorRef self;
  int dim = 0;  // counted from 0
  bool descending = false;

  static absl::StatusOr<SortCall> Read(const Arguments& arguments) {
    SortCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kSortTypes));
    ABSL_ASSIGN_OR_RETURN(call.dim, ReadDim(arguments, call.self->rank()));
    ABSL_ASSIGN_OR_RETURN(call.descending, arguments.Bool("descending"));
    return call;
  }
};

// topk -> (values, indices), both of Shape().
template <class Arguments>
struct TopKCall {
  typename Arguments::TensorRef self;
  typename Arguments::Dim k = 0;
  int dim = 0;  // counted from 0
  bool largest = true;

  static absl::StatusOr<TopKCall> Read(const Arguments& arguments) {
    TopKCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kSelectTypes));
    ABSL_ASSIGN_OR_RETURN(call.k, arguments.Int("k"));
    ABSL_ASSIGN_OR_RETURN(call.dim, ReadDim(arguments, call.self->rank()));
    ABSL_ASSIGN_OR_RETURN(call.largest, arguments.Bool("largest"));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return TopKShape<typename Arguments::Dim>(Arguments::SizesOf(self), dim, k);
  }
};

// Returns the shape of one selected element per row along `dim`, which must not be empty.
template <class D>
absl::StatusOr<Dims<D>> SelectedShape(absl::Span<const D> dims, int dim, bool keepdim) {
  ABSL_RETURN_IF_ERROR(CheckRank(dims.size()));
  const uint32_t mask = dims.empty() ? 0 : uint32_t{1} << dim;
  ABSL_RETURN_IF_ERROR(CheckNotEmpty<D>(dims, mask));
  return FoldedShape<D>(dims, mask, keepdim);
}

// median.dim -> (values, indices), both of Shape().
template <class Arguments>
struct MedianCall {
  typename Arguments::TensorRef self;
  int dim = 0;  // counted from 0
  bool keepdim = false;

  static absl::StatusOr<MedianCall> Read(const Arguments& arguments) {
    MedianCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kSelectTypes));
    ABSL_ASSIGN_OR_RETURN(call.dim, ReadDim(arguments, call.self->rank()));
    ABSL_ASSIGN_OR_RETURN(call.keepdim, arguments.Bool("keepdim"));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return SelectedShape<typename Arguments::Dim>(Arguments::SizesOf(self), dim, keepdim);
  }
};

// kthvalue -> (values, indices), both of Shape().
template <class Arguments>
struct KthValueCall {
  typename Arguments::TensorRef self;
  typename Arguments::Dim k = 0;  // counted from 1
  int dim = 0;                    // counted from 0
  bool keepdim = false;

  static absl::StatusOr<KthValueCall> Read(const Arguments& arguments) {
    KthValueCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kSelectTypes));
    ABSL_ASSIGN_OR_RETURN(call.k, arguments.Int("k"));
    ABSL_ASSIGN_OR_RETURN(call.dim, ReadDim(arguments, call.self->rank()));
    ABSL_ASSIGN_OR_RETURN(call.keepdim, arguments.Bool("keepdim"));
    return call;
  }
  // Also checks `k`, which may not be computed yet at program load.
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    using D = typename Arguments::Dim;
    if (KnownInt(k) == 0) return absl::InvalidArgumentError("k: expected at least 1, got 0");
    ABSL_RETURN_IF_ERROR(TopKShape<D>(Arguments::SizesOf(self), dim, k).status());
    return SelectedShape<D>(Arguments::SizesOf(self), dim, keepdim);
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SORT_H_
