// Shapes of reductions over dimensions.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_REDUCTION_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_REDUCTION_H_

#include <bitset>

#include "runtime/kernel/shape_rules/compare.h"

namespace belay {

using DimMask = std::bitset<64>;

// The dimensions as a mask. kOutOfRange for one that does not exist, kInvalidArgument for one that
// is named twice. Ranks above 64 are an error, too.
inline absl::StatusOr<DimMask> ToDimMask(absl::Span<const int64_t> dims, int rank) {
  DimMask mask;
  for (int64_t dim : dims) {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, rank));
    if (d >= 64 || mask[d]) {
      return absl::InvalidArgumentError(
          absl::StrCat("dim ", dim, " appears twice in the list of dimensions"));
    }
    mask.set(d);
  }
  return mask;
}

inline DimMask AllDims(int rank) {
  DimMask mask;
  for (int d = 0; d < rank && d < 64; ++d) mask.set(d);
  return mask;
}

// The dimensions a list means: all for none and, unless `empty_is_none`, for an empty one.
inline absl::StatusOr<DimMask> ReducedDims(std::optional<absl::Span<const int64_t>> dims, int rank,
                                           bool empty_is_none = false) {
  if (!dims.has_value() || (dims->empty() && !empty_is_none)) return AllDims(rank);
  return ToDimMask(*dims, rank);
}

template <class D>
Dims<D> ReducedShape(absl::Span<const D> dims, DimMask reduced, bool keepdim) {
  Dims<D> out;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!reduced[d]) {
      out.push_back(dims[d]);
    } else if (keepdim) {
      out.push_back(D(int64_t{1}));
    }
  }
  return out;
}

// For reductions without an identity (max, argmax): every folded dimension must have elements.
template <class D>
absl::Status CheckNotEmpty(absl::Span<const D> dims, DimMask reduced) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (reduced[d] && KnownInt(dims[d]) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", d, " of shape ",
                                                     FormatDims<D>(dims),
                                                     " is folded but has no elements"));
    }
  }
  return absl::OkStatus();
}

// The input's shape with `k` elements at `dim`, for topk; kInvalidArgument unless 0 <= k <= size.
template <class D>
absl::StatusOr<Dims<D>> TopKShape(absl::Span<const D> dims, int dim, const D& k) {
  const D size = dims.empty() ? D(int64_t{1}) : dims[dim];
  const std::optional<int64_t> known_k = KnownInt(k), known_size = KnownInt(size);
  if (KnownBelow(k, 0) || (known_k.has_value() && known_size.has_value() && *known_k > *known_size)) {
    return absl::InvalidArgumentError(absl::StrCat("k is ", DimToString(k),
                                                   ", expected a number from 0 to ",
                                                   DimToString(size)));
  }
  Dims<D> out;
  for (size_t d = 0; d < dims.size(); ++d) out.push_back(static_cast<int>(d) == dim ? k : dims[d]);
  return out;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_REDUCTION_H_
