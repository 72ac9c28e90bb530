// PyTorch's broadcasting rule: shapes are aligned at the last dimension.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_BROADCAST_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_BROADCAST_H_

#include "runtime/kernel_interface/shape_rules/dims.h"

namespace belay {

// Required of a dimension type in addition to dims.h: whether two sizes that must be equal may be
// equal. For integers, whether they are equal. For expressions, whether no known constraint
// contradicts it (exir/symbolic/assumed_equalities.h).
inline bool AssumeEqual(const CheckedInt& a, const CheckedInt& b) { return a == b; }

// Returns the shape to which both broadcast. If two sizes may be equal and neither is known to be
// 1, returns the constant one, otherwise that of `a`. kInvalidArgument naming both shapes and the
// dimension if two sizes are incompatible.
template <class D>
absl::StatusOr<Dims<D>> BroadcastShape(absl::Span<const D> a, absl::Span<const D> b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims<D> out;
  for (size_t i = 0; i < rank; ++i) {
    const bool has_a = i + a.size() >= rank, has_b = i + b.size() >= rank;
    if (!has_a || !has_b) {
      out.push_back(has_a ? a[i + a.size() - rank] : b[i + b.size() - rank]);
      continue;
    }
    const D& x = a[i + a.size() - rank];
    const D& y = b[i + b.size() - rank];
    if (KnownInt(x) == 1) {
      out.push_back(y);
    } else if (KnownInt(y) == 1) {
      out.push_back(x);
    } else if (AssumeEqual(x, y)) {
      out.push_back(KnownInt(y).has_value() ? y : x);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "shapes ", FormatDims<D>(a), " and ", FormatDims<D>(b), " do not broadcast: sizes ",
          DimToString(x), " and ", DimToString(y), " at dimension ", i));
    }
  }
  return out;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_BROADCAST_H_
