// Shapes of products of matrices, and of distances between rows.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_MATMUL_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_MATMUL_H_

#include <cmath>
#include <string_view>

#include "runtime/core/dtype.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/broadcast.h"
#include "runtime/kernel/shape_rules/strided.h"

namespace belay {

template <class D>
absl::Status ExpectRank(std::string_view name, absl::Span<const D> dims, size_t rank) {
  if (dims.size() == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected rank ", rank, ", got shape ", FormatDims<D>(dims)));
}

// A factor of a product of integers is cut to an integer, which must be one of the dtype; for
// unsigned ones its magnitude must be. `name` is what it belongs to.
inline absl::Status CheckIntegerFactor(std::string_view name, DType dtype, double factor) {
  const int bits = static_cast<int>(DTypeSize(dtype)) * 8;
  const double limit = dtype == DType::kUint8 ? 256.0 : std::ldexp(1.0, bits - 1);
  const double cut = std::trunc(factor);
  if (cut < limit && (dtype == DType::kUint8 ? cut > -limit : cut >= -limit)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": ", factor, " is beyond the integers of ", DTypeName(dtype)));
}

// [n,k] x [k,m] -> [n,m], with `batch` leading dimensions that must be equal.
template <class D>
absl::StatusOr<Dims<D>> MatMulShape(absl::Span<const D> a, absl::Span<const D> b, int batch) {
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("first matrix", a, batch + 2));
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("second matrix", b, batch + 2));
  bool fits = !KnownDifferent(a[batch + 1], b[batch]);
  Dims<D> out;
  for (int i = 0; i < batch; ++i) {
    fits = fits && !KnownDifferent(a[i], b[i]);
    out.push_back(KnownInt(a[i]).has_value() ? a[i] : b[i]);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("shapes ", FormatDims<D>(a), " and ",
                                                   FormatDims<D>(b), " cannot be multiplied"));
  }
  out.push_back(a[batch]);
  out.push_back(b[batch + 1]);
  return out;
}

// [n,k] x [k] -> [n].
template <class D>
absl::StatusOr<Dims<D>> MatVecShape(absl::Span<const D> matrix, absl::Span<const D> vector) {
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("matrix", matrix, 2));
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("vector", vector, 1));
  if (KnownDifferent(matrix[1], vector[0])) {
    return absl::InvalidArgumentError(absl::StrCat("shapes ", FormatDims<D>(matrix), " and ",
                                                   FormatDims<D>(vector), " cannot be multiplied"));
  }
  Dims<D> out;
  out.push_back(matrix[0]);
  return out;
}

// [k] . [k] -> [].
template <class D>
absl::StatusOr<Dims<D>> DotShape(absl::Span<const D> a, absl::Span<const D> b) {
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("first vector", a, 1));
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("second vector", b, 1));
  if (KnownDifferent(a[0], b[0])) {
    return absl::InvalidArgumentError(absl::StrCat("shapes ", FormatDims<D>(a), " and ",
                                                   FormatDims<D>(b), " cannot be multiplied"));
  }
  return Dims<D>();
}

// OK when a tensor of shape `from` can be expanded to `to`.
template <class D>
absl::Status CheckExpandable(std::string_view name, absl::Span<const D> from,
                             absl::Span<const D> to) {
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    fits = KnownInt(from[i]) == 1 || !KnownDifferent(from[i], to[i + to.size() - from.size()]);
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": shape ", FormatDims<D>(from),
                                                 " does not expand to ", FormatDims<D>(to)));
}

// [...,p,m] and [...,r,m] -> [...,p,r], batches broadcast.
template <class D>
absl::StatusOr<Dims<D>> CdistShape(absl::Span<const D> x1, absl::Span<const D> x2) {
  if (x1.size() < 2 || x2.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("cdist: expected at least two dimensions, got shapes ", FormatDims<D>(x1),
                     " and ", FormatDims<D>(x2)));
  }
  if (KnownDifferent(x1.back(), x2.back())) {
    return absl::InvalidArgumentError(absl::StrCat("cdist: x1 ", FormatDims<D>(x1), " and x2 ",
                                                   FormatDims<D>(x2),
                                                   " have rows of different length"));
  }
  ABSL_ASSIGN_OR_RETURN(
      Dims<D> out, BroadcastShape<D>(x1.subspan(0, x1.size() - 2), x2.subspan(0, x2.size() - 2)));
  if (out.size() + 2 > kMaxRank) {
    return absl::InvalidArgumentError("cdist: the rank of the result is too large");
  }
  out.push_back(x1[x1.size() - 2]);
  out.push_back(x2[x2.size() - 2]);
  return out;
}

// Pairs of different rows of an [n,m] matrix: n * (n - 1) / 2.
template <class D>
absl::StatusOr<Dims<D>> PdistShape(absl::Span<const D> x) {
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("pdist", x, 2));
  Dims<D> out;
  out.push_back(FloorDiv(x[0] * (x[0] - D(int64_t{1})), D(int64_t{2})));
  return out;
}

// The shape to which the three operands of _trilinear broadcast, each after `expand` has inserted
// dimensions of size 1 at the given places, and the shape left when the dimensions of `sum` go.
template <class D>
absl::StatusOr<Dims<D>> ExpandedShape(absl::Span<const D> dims, absl::Span<const int64_t> expand,
                                      int rank) {
  Dims<D> out;
  size_t next = 0;
  if (rank > kMaxRank || dims.size() + expand.size() != static_cast<size_t>(rank)) {
    return absl::InvalidArgumentError(absl::StrCat("shape ", FormatDims<D>(dims), " with ",
                                                   expand.size(), " new dimensions has not rank ",
                                                   rank));
  }
  for (int i = 0; i < rank; ++i) {
    if (std::find(expand.begin(), expand.end(), i) != expand.end()) {
      out.push_back(D(int64_t{1}));
    } else if (next < dims.size()) {
      out.push_back(dims[next++]);
    } else {
      return absl::InvalidArgumentError(
          "the list of new dimensions repeats one or is out of range");
    }
  }
  if (next != dims.size()) {
    return absl::InvalidArgumentError("the list of new dimensions repeats one or is out of range");
  }
  return out;
}

// The dimension over which _trilinear is to go last, one of the broadcast ones.
inline absl::Status CheckUnrolledDim(int64_t dim, int rank) {
  if (dim >= 0 && dim < rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("unroll_dim: expected one of ", rank, " dimensions, got ", dim));
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_MATMUL_H_
