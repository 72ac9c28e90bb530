// Shapes of reductions over dimensions.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_REDUCTION_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_REDUCTION_H_

#include <cstdint>

#include "runtime/core/dtype.h"
#include "runtime/kernel/shape_rules/strided.h"

namespace belay {

// Bit d stands for dimension d. Precondition: rank <= kMaxRank.
inline uint32_t AllDims(int rank) { return (uint32_t{1} << rank) - 1; }
inline bool HasDim(uint32_t mask, int d) { return (mask >> d & 1) != 0; }

// Where an operator's dimensions stand in its schema.
enum class DimsAre : uint8_t {
  kAll,          // not there: all are folded
  kOne,          // int
  kOptionalOne,  // int?, none meaning all
  kList,         // int[] or int[]?, none and empty meaning all
  kExactList,    // int[]?, none meaning all and empty none
};

// The dimensions that an operator's `dim` list folds: all for none and, unless `empty_is_none`, for
// an empty list. The scalar tensor has a dimension 0 to name, which folds nothing.
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

// For reductions without an identity (max, argmax): every folded dimension must have elements.
template <class D>
absl::Status CheckNotEmpty(absl::Span<const D> dims, uint32_t folded) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (HasDim(folded, static_cast<int>(d)) && KnownInt(dims[d]) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dimension ", d, " of shape ", FormatDims<D>(dims), " is folded but has no elements"));
    }
  }
  return absl::OkStatus();
}

// The dtype in which a norm is computed: as complex as the input, and no narrower.
inline absl::Status CheckNormDType(DType input, DType dtype) {
  if (IsComplex(input) != IsComplex(dtype) || PromoteTypes(input, dtype) != dtype ||
      !(IsFloatingPoint(dtype) || IsComplex(dtype))) {
    return absl::InvalidArgumentError(absl::StrCat("dtype: expected one that holds ",
                                                   DTypeName(input), ", got ", DTypeName(dtype)));
  }
  return absl::OkStatus();
}

// The input's shape with `k` elements at `dim`. kInvalidArgument unless 0 <= k <= its size.
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

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_REDUCTION_H_
