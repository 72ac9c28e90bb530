// Shape rules of reductions over dimensions.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_REDUCTION_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_REDUCTION_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

// Bit d of a mask is dimension d. Precondition: rank <= kMaxRank.
inline uint32_t AllDims(int rank) { return (uint32_t{1} << rank) - 1; }
inline bool HasDim(uint32_t mask, int d) { return (mask >> d & 1) != 0; }

// Form of the `dim` argument in an operator's schema.
enum class DimsAre : uint8_t {
  kAll,          // absent: reduces all
  kOne,          // int
  kOptionalOne,  // int?; None means all
  kList,         // int[] or int[]?; None and empty mean all
  kExactList,    // int[]?; None means all, empty means no dimension
};

// Returns the mask of reduced dimensions: all for None and, unless `empty_is_none`, for an empty
// list. A scalar tensor accepts dimension 0, which reduces nothing.
inline absl::StatusOr<uint32_t> FoldedDims(std::optional<absl::Span<const int64_t>> dims, int rank,
                                           bool empty_is_none = false) {
  ABSL_RETURN_IF_ERROR(CheckRank(rank));
  if (!dims.has_value() || (dims->empty() && !empty_is_none)) return AllDims(rank);
  ABSL_ASSIGN_OR_RETURN(const uint32_t mask, DimMask(*dims, rank));
  return mask & AllDims(rank);
}

template <class D>
Dims<D> FoldedShape(absl::Span<const D> dims, uint32_t folded, bool keepdim) {
  Dims<D> out;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!HasDim(folded, static_cast<int>(d))) {
      out.push_back(dims[d]);
    } else if (keepdim) {
      out.push_back(D(int64_t{1}));
    }
  }
  return out;
}

// For reductions without an identity (max, argmax): reduced dimensions must not be empty.
template <class D>
absl::Status CheckNotEmpty(absl::Span<const D> dims, uint32_t folded) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (HasDim(folded, static_cast<int>(d)) && KnownInt(dims[d]) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dimension ", d, " of shape ", FormatDims<D>(dims), " is reduced but has no elements"));
    }
  }
  return absl::OkStatus();
}

inline constexpr DTypeSet kSummableTypes = kRealTypes | kComplexTypes | kUnsignedWideTypes;

// Arguments common to all reductions: `self`, `dim` and `keepdim`.
template <class Arguments>
struct FoldCall {
  typename Arguments::TensorRef self;
  uint32_t mask = 0;  // bits of the reduced dimensions
  bool keepdim = false;

  static absl::StatusOr<FoldCall> Read(const Arguments& arguments, DTypeSet allowed,
                                       DimsAre dims_are) {
    FoldCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", allowed));
    const int rank = call.self->rank();
    if (dims_are == DimsAre::kAll || arguments.IsNone("dim")) {
      ABSL_ASSIGN_OR_RETURN(call.mask, FoldedDims(std::nullopt, rank));
    } else if (dims_are == DimsAre::kOne || dims_are == DimsAre::kOptionalOne) {
      ABSL_ASSIGN_OR_RETURN(const int64_t dim, arguments.StaticInt("dim"));
      ABSL_ASSIGN_OR_RETURN(call.mask, FoldedDims(absl::MakeConstSpan(&dim, 1), rank));
    } else {
      ABSL_ASSIGN_OR_RETURN(const Sizes dims, arguments.StaticIntList("dim"));
      ABSL_ASSIGN_OR_RETURN(call.mask,
                            FoldedDims(dims.span(), rank, dims_are == DimsAre::kExactList));
    }
    if (dims_are != DimsAre::kAll) {
      ABSL_ASSIGN_OR_RETURN(call.keepdim, arguments.Bool("keepdim"));
    }
    return call;
  }
  Dims<typename Arguments::Dim> Shape() const {
    return FoldedShape<typename Arguments::Dim>(Arguments::SizesOf(self), mask, keepdim);
  }
  // For operators without an identity.
  absl::Status CheckHasElements() const {
    return CheckNotEmpty<typename Arguments::Dim>(Arguments::SizesOf(self), mask);
  }
};

// sum, prod: integers become int64 unless `dtype` is given.
template <class Arguments, DimsAre kDims>
struct SumCall {
  FoldCall<Arguments> fold;
  DType dtype = DType::kFloat32;  // of the result

  static absl::StatusOr<SumCall> Read(const Arguments& arguments) {
    SumCall call;
    ABSL_ASSIGN_OR_RETURN(call.fold, FoldCall<Arguments>::Read(arguments, kSummableTypes, kDims));
    const DType self = call.fold.self->dtype;
    ABSL_ASSIGN_OR_RETURN(
        call.dtype, arguments.DtypeOr("dtype", IsIntegral(self, true) ? DType::kInt64 : self));
    return call;
  }
};

template <class Arguments, DimsAre kDims>
struct MeanCall {
  FoldCall<Arguments> fold;
  DType dtype = DType::kFloat32;  // of the result

  static absl::StatusOr<MeanCall> Read(const Arguments& arguments) {
    MeanCall call;
    ABSL_ASSIGN_OR_RETURN(call.fold, FoldCall<Arguments>::Read(arguments, kSummableTypes, kDims));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.DtypeOr("dtype", call.fold.self->dtype));
    if ((kFloatTypes | kComplexTypes).contains(call.dtype)) return call;
    return absl::InvalidArgumentError(absl::StrCat(
        "mean: expected a floating point or complex type, got ", DTypeName(call.dtype)));
  }
};

// max, min, amax, amin and, if kPlaces, argmax and argmin.
template <class Arguments, DimsAre kDims, bool kPlaces>
struct ExtremeCall {
  FoldCall<Arguments> fold;

  static absl::StatusOr<ExtremeCall> Read(const Arguments& arguments) {
    ExtremeCall call;
    ABSL_ASSIGN_OR_RETURN(
        call.fold, FoldCall<Arguments>::Read(
                       arguments, kPlaces ? kIntegralTypes | kFloatTypes : kRealTypes, kDims));
    return call;
  }
};

// any, all: the result is bool, or uint8 for uint8.
template <class Arguments, DimsAre kDims>
struct TruthCall {
  FoldCall<Arguments> fold;
  DType dtype = DType::kBool;  // of the result

  static absl::StatusOr<TruthCall> Read(const Arguments& arguments) {
    TruthCall call;
    ABSL_ASSIGN_OR_RETURN(call.fold, FoldCall<Arguments>::Read(arguments, kSummableTypes, kDims));
    if (call.fold.self->dtype == DType::kUint8) call.dtype = DType::kUint8;
    return call;
  }
};

// var.dim, var.correction, var_mean.
template <class Arguments>
struct VarCall {
  FoldCall<Arguments> fold;
  double correction = 1;  // shapes do not depend on it: it may be unknown at compile time

  static absl::StatusOr<VarCall> Read(const Arguments& arguments) {
    VarCall call;
    ABSL_ASSIGN_OR_RETURN(call.fold, FoldCall<Arguments>::Read(
                                         arguments, kFloatTypes | kComplexTypes, DimsAre::kList));
    if constexpr (std::is_same_v<typename Arguments::Dim, CheckedInt>) {
      if (arguments.Has("unbiased")) {
        ABSL_ASSIGN_OR_RETURN(const bool unbiased, arguments.Bool("unbiased"));
        call.correction = unbiased ? 1 : 0;
      } else if (!arguments.IsNone("correction")) {
        ABSL_ASSIGN_OR_RETURN(call.correction, arguments.Double("correction"));
      }
    }
    return call;
  }
};

// Checks the dtype in which a norm is computed: complex if the input is, and no narrower.
inline absl::Status CheckNormDType(DType input, DType dtype) {
  if (IsComplex(input) != IsComplex(dtype) || PromoteTypes(input, dtype) != dtype ||
      !(IsFloatingPoint(dtype) || IsComplex(dtype))) {
    return absl::InvalidArgumentError(absl::StrCat("dtype: expected one that holds ",
                                                   DTypeName(input), ", got ", DTypeName(dtype)));
  }
  return absl::OkStatus();
}

template <class Arguments>
struct VectorNormCall {
  FoldCall<Arguments> fold;
  double order = 2;
  DType dtype = DType::kFloat32;  // dtype of the computation

  static absl::StatusOr<VectorNormCall> Read(const Arguments& arguments) {
    VectorNormCall call;
    ABSL_ASSIGN_OR_RETURN(call.fold, FoldCall<Arguments>::Read(
                                         arguments, kFloatTypes | kComplexTypes, DimsAre::kList));
    ABSL_ASSIGN_OR_RETURN(call.order, arguments.Double("ord"));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.DtypeOr("dtype", call.fold.self->dtype));
    ABSL_RETURN_IF_ERROR(CheckNormDType(call.fold.self->dtype, call.dtype));
    return call;
  }
  // Norms of negative order and the infinity norm are undefined for empty vectors.
  absl::Status CheckShapes() const {
    const bool undefined = order < 0 || order > std::numeric_limits<double>::max();
    return undefined ? fold.CheckHasElements() : absl::OkStatus();
  }
};

// Returns the input's shape with `k` elements at `dim`. kInvalidArgument unless 0 <= k <= its size.
template <class D>
absl::StatusOr<Dims<D>> TopKShape(absl::Span<const D> dims, int dim, const D& k) {
  const D size = dims.empty() ? D(int64_t{1}) : dims[dim];
  const std::optional<int64_t> known_k = KnownInt(k), known_size = KnownInt(size);
  if (known_k.has_value() && (*known_k < 0 || (known_size.has_value() && *known_k > *known_size))) {
    return absl::InvalidArgumentError(
        absl::StrCat("k is ", *known_k, ", expected a number from 0 to ", DimToString(size)));
  }
  Dims<D> out;
  for (size_t d = 0; d < dims.size(); ++d) out.push_back(static_cast<int>(d) == dim ? k : dims[d]);
  return out;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_REDUCTION_H_
