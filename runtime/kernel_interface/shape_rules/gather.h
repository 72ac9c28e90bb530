// Calls of operators that read elements at positions given by index tensors or masks, and of
// index_put, which writes to such positions.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_GATHER_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_GATHER_H_

#include <cstdint>

#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/index.h"
#include "runtime/kernel_interface/shape_rules/same_shape.h"

namespace belay {

template <class Arguments>
struct GatherCall {
  typename Arguments::TensorRef self, index;  // the result has the shape of `index`
  int64_t dim = 0;

  static absl::StatusOr<GatherCall> Read(const Arguments& arguments) {
    GatherCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.dim, arguments.StaticInt("dim"));
    ABSL_ASSIGN_OR_RETURN(call.index, arguments.Tensor("index", kIndexTypes));
    return call;
  }
  // Returns the dimension counted from 0.
  absl::StatusOr<int> CheckShapes() const {
    return CheckGatherShapes<typename Arguments::Dim>("gather", Arguments::SizesOf(self), dim,
                                                      Arguments::SizesOf(index), nullptr);
  }
};

template <class Arguments>
struct IndexSelectCall {
  typename Arguments::TensorRef self, index;
  int64_t dim = 0;

  static absl::StatusOr<IndexSelectCall> Read(const Arguments& arguments) {
    IndexSelectCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.dim, arguments.StaticInt("dim"));
    ABSL_ASSIGN_OR_RETURN(call.index, arguments.Tensor("index", kIndexTypes));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return IndexSelectShape<typename Arguments::Dim>(Arguments::SizesOf(self), dim,
                                                     Arguments::SizesOf(index));
  }
};

// index.Tensor.
template <class Arguments>
struct IndexCall {
  typename Arguments::TensorRef self;
  typename Arguments::TensorListRef indices;  // one per leading dimension; elements may be None

  static absl::StatusOr<IndexCall> Read(const Arguments& arguments) {
    IndexCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.indices, arguments.OptionalTensorList("indices"));
    return call;
  }
};

// index_put, index_put_.
template <class Arguments>
struct IndexPutCall {
  typename Arguments::TensorRef self, values;
  MutableArgument target;  // self, if the call mutates it
  typename Arguments::TensorListRef indices;
  bool accumulate = false;

  static absl::StatusOr<IndexPutCall> Read(const Arguments& arguments) {
    IndexPutCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.target, arguments.Mutable("self"));
    ABSL_ASSIGN_OR_RETURN(call.indices, arguments.OptionalTensorList("indices"));
    ABSL_ASSIGN_OR_RETURN(call.values, arguments.Tensor("values"));
    ABSL_ASSIGN_OR_RETURN(call.accumulate, arguments.Bool("accumulate"));
    return call;
  }
};

template <class Arguments>
struct MaskedSelectCall {
  typename Arguments::TensorRef self, mask;

  static absl::StatusOr<MaskedSelectCall> Read(const Arguments& arguments) {
    MaskedSelectCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.mask, arguments.Tensor("mask", DTypeSet{DType::kBool}));
    return call;
  }
  // Returns the broadcast shape of self and mask, from which elements are selected.
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return BroadcastShape<typename Arguments::Dim>(Arguments::SizesOf(self),
                                                   Arguments::SizesOf(mask));
  }
};

template <class Arguments>
struct NonzeroCall {
  typename Arguments::TensorRef self;

  static absl::StatusOr<NonzeroCall> Read(const Arguments& arguments) {
    NonzeroCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    return call;
  }
};

// searchsorted and bucketize: insertion positions of `values` in rows of sorted `boundaries`. There
// is one row of boundaries per row of values, or one for all.
template <class Arguments>
struct SearchCall {
  typename Arguments::TensorRef boundaries, values;
  typename Arguments::TensorRef sorter = nullptr;  // null for none
  bool right = false;
  DType dtype = DType::kInt64;          // of the result
  DType search_type = DType::kFloat32;  // common dtype of comparisons

  static absl::StatusOr<SearchCall> Read(const Arguments& arguments) {
    SearchCall call;
    const bool bucketizes = arguments.Has("boundaries");
    ABSL_ASSIGN_OR_RETURN(call.boundaries,
                          arguments.Tensor(bucketizes ? "boundaries" : "sorted_sequence"));
    ABSL_ASSIGN_OR_RETURN(call.values, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(const bool narrow, arguments.Bool("out_int32"));
    call.dtype = narrow ? DType::kInt32 : DType::kInt64;
    ABSL_ASSIGN_OR_RETURN(call.right, arguments.Bool("right"));
    if (bucketizes && call.boundaries->rank() != 1) {
      return absl::InvalidArgumentError("bucketize: boundaries must be a vector");
    }
    if (!arguments.IsNone("side")) {
      ABSL_ASSIGN_OR_RETURN(const auto side, arguments.String("side"));
      if ((side != "left" && side != "right") || (side == "left" && call.right)) {
        return absl::InvalidArgumentError(
            absl::StrCat("searchsorted: side '", side, "' contradicts right=", call.right));
      }
      call.right = side == "right";
    }
    if (!arguments.IsNone("sorter")) {
      ABSL_ASSIGN_OR_RETURN(call.sorter, arguments.Tensor("sorter", DTypeSet{DType::kInt64}));
    }
    ABSL_ASSIGN_OR_RETURN(call.search_type,
                          SearchType(call.boundaries->dtype, call.boundaries->rank(),
                                     call.values->dtype, call.values->rank()));
    return call;
  }
  absl::Status CheckShapes() const {
    using D = typename Arguments::Dim;
    ABSL_RETURN_IF_ERROR(
        CheckSearchShapes<D>(Arguments::SizesOf(boundaries), Arguments::SizesOf(values)));
    if (sorter == nullptr) return absl::OkStatus();
    return CheckSameShape<D>("sorter", Arguments::SizesOf(sorter), Arguments::SizesOf(boundaries));
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_GATHER_H_
