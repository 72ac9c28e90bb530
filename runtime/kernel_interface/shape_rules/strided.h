// Strided layouts: the domain of view operators.
//
// A view operator maps the layout of its input and its parameters to the layout of its result. Each
// is written once, as a rule (view.h, slice.h): a template over the class of arguments
// (runtime/kernel_interface/kernel_arguments.h) that holds the parameters, with
//   static absl::StatusOr<Rule> Read(const Arguments& arguments);   unless there are no parameters
//   absl::StatusOr<StridedDims<Dim>> Apply(const StridedDims<Dim>& in) const;
// The compiler's meta kernel of the view variant uses the result as is; that of the `_copy` variant
// uses its sizes. The kernels of both copy the elements that the rule selects.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_STRIDED_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_STRIDED_H_

#include <cstdint>
#include <optional>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/dims.h"

namespace belay {

// Sizes, strides and the offset of the first element, all in elements. `offset` is relative to the
// input's first element in kernels, and to the start of the storage in the compiler.
template <class D>
struct StridedDims {
  Dims<D> sizes;
  Dims<D> strides;
  D offset = D(int64_t{0});
  int rank() const { return static_cast<int>(sizes.size()); }
};

// Required of a dimension type in addition to dims.h; nullopt if the order is unknown.
inline std::optional<bool> KnownLessEqual(const CheckedInt& a, const CheckedInt& b) {
  if (!a.ok() || !b.ok()) return std::nullopt;
  return a <= b;
}

template <class D>
bool KnownNegative(const D& d) {
  return KnownLessEqual(D(int64_t{0}), d) == false;
}

// Minimum and maximum: one of the operands if the order is known, otherwise an expression.
template <class D>
D MinOf(const D& a, const D& b) {
  const std::optional<bool> ordered = KnownLessEqual(a, b);
  if (ordered.has_value()) return *ordered ? a : b;
  return SymMin(a, b);
}
template <class D>
D MaxOf(const D& a, const D& b) {
  const std::optional<bool> ordered = KnownLessEqual(a, b);
  if (ordered.has_value()) return *ordered ? b : a;
  return SymMax(a, b);
}

// Returns whether two sizes differ for all values of the symbols. A shape formula may only reject a
// pair of sizes in this case.
template <class D>
bool KnownDifferent(const D& a, const D& b) {
  const std::optional<int64_t> x = KnownInt(a), y = KnownInt(b);
  if (x.has_value() && y.has_value()) return *x != *y;
  const std::optional<int64_t> difference = KnownInt(a - b);
  return difference.has_value() && *difference != 0;
}

// Returns whether the ranks are equal and no sizes are known to differ.
template <class D>
bool MayBeEqual(absl::Span<const D> a, absl::Span<const D> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (KnownDifferent(a[i], b[i])) return false;
  }
  return true;
}

// As KnownDifferent, and also uses the known order of the two sizes.
template <class D>
bool KnownUnequal(const D& a, const D& b) {
  const D one = D(int64_t{1});
  return KnownDifferent(a, b) || KnownLessEqual(a + one, b) == true ||
         KnownLessEqual(b + one, a) == true;
}

template <class D>
D ProductOf(absl::Span<const D> dims) {
  D product = D(int64_t{1});
  for (const D& d : dims) product = product * d;
  return product;
}

// Returns row-major strides. Sizes of 0 count as 1, as in PyTorch.
template <class D>
Dims<D> ContiguousStridesOf(absl::Span<const D> sizes) {
  Dims<D> strides;
  for (size_t i = 0; i < sizes.size(); ++i) strides.push_back(D(int64_t{1}));
  D stride = D(int64_t{1});
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (KnownInt(sizes[i]) != 0) stride = stride * sizes[i];
  }
  return strides;
}

inline absl::Status CheckRank(size_t rank) {
  if (rank <= static_cast<size_t>(kMaxRank)) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the result's rank ", rank, " is above the limit of ", kMaxRank));
}

// Returns a mask of the dimensions in `dims`. kOutOfRange for one that does not exist,
// kInvalidArgument for a repeated one.
inline absl::StatusOr<uint32_t> DimMask(absl::Span<const int64_t> dims, int rank) {
  uint32_t mask = 0;
  for (int64_t dim : dims) {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, rank));
    if ((mask >> d) & 1) {
      return absl::InvalidArgumentError(absl::StrCat("dim ", d, " appears more than once"));
    }
    mask |= uint32_t{1} << d;
  }
  return mask;
}

// The call of an operator that views the tensor `self` through a rule, or replaces the elements
// that the rule selects.
template <class Arguments, template <class> class Rule>
struct ViewCall {
  typename Arguments::TensorRef self;
  typename Arguments::TensorRef src =
      nullptr;  // replaces the selected elements, for scatter operators
  Rule<Arguments> rule = {};

  static absl::StatusOr<ViewCall> Read(const Arguments& arguments) {
    ViewCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    if (arguments.Has("src")) {
      ABSL_ASSIGN_OR_RETURN(call.src, arguments.Tensor("src"));
    }
    if constexpr (!std::is_empty_v<Rule<Arguments>>) {
      ABSL_ASSIGN_OR_RETURN(call.rule, Rule<Arguments>::Read(arguments));
    }
    return call;
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_STRIDED_H_
