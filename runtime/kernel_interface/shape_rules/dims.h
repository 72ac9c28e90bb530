// Dimension types of shape formulas.
//
// Shape formulas are templates over the dimension type, so that each formula exists once. Kernels
// instantiate them with CheckedInt (integers with sticky overflow), the compiler's meta kernels
// with SymInt (expressions; exir/symbolic/sym_expr.h).
//
// A dimension type D has: construction from int64_t; + - *; FloorDiv(D, D); operator== (true only
// if known to be equal); KnownInt(const D&) → std::optional<int64_t>, the value of a constant;
// SymMax(D, D) and SymMin(D, D). If a formula's branch depends on an unknown symbolic size, it
// takes the branch that holds for sizes other than 0 and 1. PyTorch export makes the same
// assumption.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_DIMS_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_DIMS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/sizes.h"

namespace belay {

inline std::optional<int64_t> KnownInt(const CheckedInt& d) {
  return d.ok() ? std::optional<int64_t>(d.value()) : std::nullopt;
}
inline CheckedInt SymMax(CheckedInt a, CheckedInt b) { return a < b ? b : a; }
inline CheckedInt SymMin(CheckedInt a, CheckedInt b) { return !a.ok() || a < b ? a : b; }
inline std::string DimToString(const CheckedInt& d) {
  return d.ok() ? absl::StrCat(d.value()) : "overflow";
}

// Container of sizes in formulas. Inline for integers, so that kernels do not allocate; a vector
// for symbolic sizes.
template <class D>
struct DimsOf {
  using type = std::vector<D>;
};
template <>
struct DimsOf<CheckedInt> {
  using type = DimVector<CheckedInt>;
};
template <class D>
using Dims = typename DimsOf<D>::type;

// kInvalidArgument if a size overflowed or is negative, or if the number of elements exceeds int64.
absl::StatusOr<Sizes> ToSizes(absl::Span<const CheckedInt> dims);
Dims<CheckedInt> ToDims(absl::Span<const int64_t> sizes);

// Returns `dim` counted from 0. kOutOfRange "dim 3 is out of range [-2, 1]" unless -rank <= dim <
// rank; rank 0 counts as 1.
absl::StatusOr<int> NormalizeDim(int64_t dim, int rank);

// Reads the argument `dim` of a call, counted from 0.
template <class Arguments>
absl::StatusOr<int> ReadDim(const Arguments& arguments, int rank) {
  const absl::StatusOr<int64_t> dim = arguments.StaticInt("dim");
  if (!dim.ok()) return dim.status();
  return NormalizeDim(*dim, rank);
}

template <class D>
std::string FormatDims(absl::Span<const D> dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    absl::StrAppend(&s, i == 0 ? "" : ",", DimToString(dims[i]));
  return s + "]";
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_DIMS_H_
