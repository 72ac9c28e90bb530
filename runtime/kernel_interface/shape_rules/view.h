// Views that keep all elements: permute, expand, reshape and reinterpretations.
//
// Source: aten/src/ATen/native/TensorShape.cpp, ATen/TensorUtils.cpp (computeStride) and
// ATen/InferSize.h of PyTorch.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_VIEW_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_VIEW_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

// alias, detach, lift_fresh.
template <class Arguments>
struct IdentityRule {
  using D = typename Arguments::Dim;
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const { return in; }
};

template <class Arguments>
struct PermuteRule {
  using D = typename Arguments::Dim;
  Sizes dims;

  static absl::StatusOr<PermuteRule> Read(const Arguments& arguments) {
    PermuteRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.dims, arguments.StaticIntList("dims"));
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    if (dims.size() != in.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("permute: expected ", in.rank(), " dims, got ", FormatSizes(dims)));
    }
    ABSL_RETURN_IF_ERROR(DimMask(dims, in.rank()).status());
    StridedDims<D> out;
    for (int64_t dim : dims) {
      const int64_t d = dim < 0 ? dim + in.rank() : dim;
      out.sizes.push_back(in.sizes[d]);
      out.strides.push_back(in.strides[d]);
    }
    out.offset = in.offset;
    return out;
  }
};

template <class D>
StridedDims<D> SwapDims(StridedDims<D> dims, int a, int b) {
  std::swap(dims.sizes[a], dims.sizes[b]);
  std::swap(dims.strides[a], dims.strides[b]);
  return dims;
}

// transpose.int
template <class Arguments>
struct TransposeRule {
  using D = typename Arguments::Dim;
  int64_t dim0 = 0, dim1 = 0;

  static absl::StatusOr<TransposeRule> Read(const Arguments& arguments) {
    TransposeRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.dim0, arguments.StaticInt("dim0"));
    ABSL_ASSIGN_OR_RETURN(rule.dim1, arguments.StaticInt("dim1"));
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const int a, NormalizeDim(dim0, in.rank()));
    ABSL_ASSIGN_OR_RETURN(const int b, NormalizeDim(dim1, in.rank()));
    if (in.rank() == 0) return in;
    return SwapDims(in, a, b);
  }
};

// t
template <class Arguments>
struct MatrixTransposeRule {
  using D = typename Arguments::Dim;
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    if (in.rank() > 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("t: expected at most 2 dimensions, got ", in.rank()));
    }
    return in.rank() < 2 ? in : SwapDims(in, 0, 1);
  }
};

// Returns `in` expanded to `sizes`: dimensions of size 1 repeat; -1 keeps the size of an existing
// dimension.
template <class D>
absl::StatusOr<StridedDims<D>> ExpandDims(const StridedDims<D>& in, absl::Span<const D> sizes) {
  ABSL_RETURN_IF_ERROR(CheckRank(sizes.size()));
  const int rank = static_cast<int>(sizes.size());
  const int added = rank - in.rank();
  if (added < 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot expand ", FormatDims<D>(in.sizes),
                                                   " to the smaller rank of ",
                                                   FormatDims<D>(sizes)));
  }
  const auto mismatch = [&](int d) {
    return absl::InvalidArgumentError(absl::StrCat("cannot expand ", FormatDims<D>(in.sizes),
                                                   " to ", FormatDims<D>(sizes), ": dimension ", d,
                                                   " has another size"));
  };
  StridedDims<D> out;
  for (int d = 0; d < rank; ++d) {
    out.sizes.push_back(D(int64_t{1}));
    out.strides.push_back(D(int64_t{1}));
  }
  out.offset = in.offset;
  for (int d = rank - 1; d >= 0; --d) {
    const bool exists = d >= added;
    const D size = exists ? in.sizes[d - added] : D(int64_t{1});
    if (exists) {
      out.strides[d] = in.strides[d - added];
    } else if (d + 1 < rank) {
      out.strides[d] = out.sizes[d + 1] * out.strides[d + 1];
    }
    const bool keeps = KnownInt(sizes[d]) == -1;
    if (keeps && !exists) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot expand ", FormatDims<D>(in.sizes), " to ", FormatDims<D>(sizes),
                       ": -1 in dimension ", d, ", which does not exist yet"));
    }
    if (keeps || size == sizes[d]) {
      out.sizes[d] = size;
    } else if (KnownInt(size) == 1 && !KnownNegative(sizes[d])) {
      out.sizes[d] = sizes[d];
      out.strides[d] = D(int64_t{0});
    } else {
      return mismatch(d);
    }
  }
  return out;
}

template <class Arguments>
struct ExpandRule {
  using D = typename Arguments::Dim;
  Dims<D> size;

  static absl::StatusOr<ExpandRule> Read(const Arguments& arguments) {
    ExpandRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.size, arguments.IntList("size"));
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    return ExpandDims<D>(in, size);
  }
};

// Removes the dimensions of `mask` whose size is known to be 1.
template <class D>
StridedDims<D> SqueezeDims(const StridedDims<D>& in, uint32_t mask) {
  StridedDims<D> out;
  for (int d = 0; d < in.rank(); ++d) {
    if (((mask >> d) & 1) != 0 && KnownInt(in.sizes[d]) == 1) continue;
    out.sizes.push_back(in.sizes[d]);
    out.strides.push_back(in.strides[d]);
  }
  out.offset = in.offset;
  return out;
}

template <class Arguments>
struct SqueezeRule {
  using D = typename Arguments::Dim;
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    return SqueezeDims(in, ~uint32_t{0});
  }
};

// squeeze.dim
template <class Arguments>
struct SqueezeDimRule {
  using D = typename Arguments::Dim;
  int64_t dim = 0;

  static absl::StatusOr<SqueezeDimRule> Read(const Arguments& arguments) {
    SqueezeDimRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.dim, arguments.StaticInt("dim"));
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, in.rank()));
    return SqueezeDims(in, uint32_t{1} << d);
  }
};

// squeeze.dims
template <class Arguments>
struct SqueezeDimsRule {
  using D = typename Arguments::Dim;
  Sizes dims;

  static absl::StatusOr<SqueezeDimsRule> Read(const Arguments& arguments) {
    SqueezeDimsRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.dims, arguments.StaticIntList("dim"));
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const uint32_t mask, DimMask(dims, in.rank()));
    return SqueezeDims(in, mask);
  }
};

// Inserts a dimension of size 1 before dimension `d`. Precondition: 0 <= d <= in.rank().
template <class D>
absl::StatusOr<StridedDims<D>> UnsqueezeDims(const StridedDims<D>& in, int d) {
  ABSL_RETURN_IF_ERROR(CheckRank(in.sizes.size() + 1));
  StridedDims<D> out;
  for (int i = 0; i <= in.rank(); ++i) {
    if (i == d) {
      out.sizes.push_back(D(int64_t{1}));
      out.strides.push_back(i < in.rank() ? in.sizes[i] * in.strides[i] : D(int64_t{1}));
    }
    if (i == in.rank()) break;
    out.sizes.push_back(in.sizes[i]);
    out.strides.push_back(in.strides[i]);
  }
  out.offset = in.offset;
  return out;
}

template <class Arguments>
struct UnsqueezeRule {
  using D = typename Arguments::Dim;
  int64_t dim = 0;

  static absl::StatusOr<UnsqueezeRule> Read(const Arguments& arguments) {
    UnsqueezeRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.dim, arguments.StaticInt("dim"));
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, in.rank() + 1));
    return UnsqueezeDims(in, d);
  }
};

// Resolves `requested` for a tensor of sizes `in`; infers at most one -1. kInvalidArgument if the
// numbers of elements are known to differ.
template <class D>
absl::StatusOr<Dims<D>> InferViewSizes(absl::Span<const D> in, absl::Span<const D> requested) {
  const auto invalid = [&](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("cannot view ", FormatDims<D>(in), " as ",
                                                   FormatDims<D>(requested), ": ", why));
  };
  ABSL_RETURN_IF_ERROR(CheckRank(requested.size()));
  Dims<D> out;
  int inferred = -1;
  for (const D& size : requested) {
    if (KnownInt(size) == -1) {
      if (inferred >= 0) return invalid("only one size can be -1");
      inferred = static_cast<int>(out.size());
    } else if (KnownNegative(size)) {
      return invalid("negative size");
    }
    out.push_back(size);
  }
  const D numel = ProductOf(in);
  if (inferred < 0) {
    if (KnownUnequal(ProductOf(requested), numel)) return invalid("numbers of elements differ");
    return out;
  }
  // Cancels equal factors first, so that symbols that divide exactly need no division.
  D divisor = D(int64_t{1});
  D dividend = D(int64_t{1});
  uint32_t cancelled = 0;
  D known = D(int64_t{1});
  for (int d = 0; d < static_cast<int>(requested.size()); ++d) {
    if (d == inferred) continue;
    known = known * requested[d];
    bool found = false;
    for (int i = 0; i < static_cast<int>(in.size()) && i < 32 && !found; ++i) {
      if (((cancelled >> i) & 1) != 0 || KnownInt(in[i]) == 0 || !(in[i] == requested[d])) continue;
      cancelled |= uint32_t{1} << i;
      found = true;
    }
    if (!found) divisor = divisor * requested[d];
  }
  for (int i = 0; i < static_cast<int>(in.size()); ++i) {
    if (i >= 32 || ((cancelled >> i) & 1) == 0) dividend = dividend * in[i];
  }
  if (KnownInt(known) == 0) return invalid("-1 is ambiguous without elements");
  out[inferred] = KnownInt(divisor) == 1 ? dividend : FloorDiv(dividend, divisor);
  if (KnownDifferent(out[inferred] * divisor, dividend)) return invalid("sizes do not divide");
  return out;
}

// Returns strides that view the elements of `in` under `sizes` without a copy; nullopt if
// impossible. Precondition: the numbers of elements are equal.
template <class D>
std::optional<Dims<D>> ViewStrides(const StridedDims<D>& in, absl::Span<const D> sizes) {
  if (in.rank() == 0 || KnownInt(ProductOf<D>(in.sizes)) == 0) {
    if (absl::Span<const D>(in.sizes) == sizes) return in.strides;
    return ContiguousStridesOf(sizes);
  }
  Dims<D> strides = ContiguousStridesOf(sizes);
  int v = static_cast<int>(sizes.size()) - 1;
  D base = in.strides[in.rank() - 1];
  D in_elements = D(int64_t{1}), out_elements = D(int64_t{1});
  for (int d = in.rank() - 1; d >= 0; --d) {
    in_elements = in_elements * in.sizes[d];
    // A run of dimensions without gaps between them ends here.
    if (d > 0 && (KnownInt(in.sizes[d - 1]) == 1 || in.strides[d - 1] == in_elements * base)) {
      continue;
    }
    while (v >= 0 && (!(out_elements == in_elements) || KnownInt(sizes[v]) == 1)) {
      strides[v] = out_elements * base;
      out_elements = out_elements * sizes[v];
      --v;
    }
    if (!(out_elements == in_elements)) return std::nullopt;
    if (d > 0) {
      base = in.strides[d - 1];
      in_elements = D(int64_t{1});
      out_elements = D(int64_t{1});
    }
  }
  if (v >= 0) return std::nullopt;
  return strides;
}

template <class D>
bool IsRowMajor(const StridedDims<D>& dims) {
  const Dims<D> expected = ContiguousStridesOf<D>(dims.sizes);
  for (int d = 0; d < dims.rank(); ++d) {
    if (KnownInt(dims.sizes[d]) != 1 && !(dims.strides[d] == expected[d])) return false;
  }
  return true;
}

// Returns `in` viewed as `sizes`. kInvalidArgument if that requires a copy.
template <class D>
absl::StatusOr<StridedDims<D>> ViewDims(const StridedDims<D>& in, Dims<D> sizes) {
  std::optional<Dims<D>> strides = ViewStrides<D>(in, sizes);
  if (!strides.has_value() && IsRowMajor(in)) strides = ContiguousStridesOf<D>(sizes);
  if (!strides.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot view ", FormatDims<D>(in.sizes), " with strides ", FormatDims<D>(in.strides),
        " as ", FormatDims<D>(sizes), " without moving elements"));
  }
  return StridedDims<D>{std::move(sizes), *std::move(strides), in.offset};
}

// view, reshape and similar operators.
template <class Arguments>
struct ReshapeCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef self;
  Dims<D> requested;  // at most one -1

  static absl::StatusOr<ReshapeCall> Read(const Arguments& arguments) {
    ReshapeCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.requested,
                          arguments.IntList(arguments.Has("shape") ? "shape" : "size"));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    return InferViewSizes<D>(Arguments::SizesOf(self), requested);
  }
};

// Reinterprets elements of `from` bytes as elements of `to` bytes: the last dimension grows or
// shrinks.
template <class D>
absl::StatusOr<StridedDims<D>> ReinterpretDims(const StridedDims<D>& in, int64_t from, int64_t to) {
  if (from == to) return in;
  const auto invalid = [&](std::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot view ", FormatDims<D>(in.sizes), " with strides ", FormatDims<D>(in.strides),
        " and elements of ", from, " bytes as elements of ", to, " bytes: ", what));
  };
  if (in.rank() == 0) return invalid("it has no dimensions");
  const int last = in.rank() - 1;
  if (KnownDifferent(in.strides[last], D(int64_t{1}))) return invalid("the last stride is not 1");
  StridedDims<D> out = in;
  if (from > to) {
    const D ratio = D(from / to);
    for (int d = 0; d < last; ++d) out.strides[d] = in.strides[d] * ratio;
    out.sizes[last] = in.sizes[last] * ratio;
    out.offset = in.offset * ratio;
    return out;
  }
  const D ratio = D(to / from);
  const auto divide = [&](const D& d) -> std::optional<D> {
    const D quotient = FloorDiv(d, ratio);
    if (KnownDifferent(quotient * ratio, d)) return std::nullopt;
    return quotient;
  };
  const std::optional<D> size = divide(in.sizes[last]);
  if (!size.has_value()) return invalid("the last size does not divide");
  out.sizes[last] = *size;
  for (int d = 0; d < last; ++d) {
    if (KnownInt(in.sizes[d]) == 1) continue;
    const std::optional<D> stride = divide(in.strides[d]);
    if (!stride.has_value()) return invalid("a stride does not divide");
    out.strides[d] = *stride;
  }
  const std::optional<D> offset = divide(in.offset);
  if (!offset.has_value()) return invalid("the offset does not divide");
  out.offset = *offset;
  return out;
}

// Calls that reinterpret the elements as another `dtype`.

// view.dtype
template <class Arguments>
struct ViewDtypeCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef self;
  DType dtype = DType::kFloat32;

  static absl::StatusOr<ViewDtypeCall> Read(const Arguments& arguments) {
    ViewDtypeCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.Dtype("dtype"));
    return call;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    return ReinterpretDims(in, static_cast<int64_t>(DTypeSize(self->dtype)),
                           static_cast<int64_t>(DTypeSize(dtype)));
  }
};

// view_as_real: appends a dimension for the real and the imaginary part.
template <class Arguments>
struct ViewAsRealCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef self;
  DType dtype = DType::kFloat32;

  static absl::StatusOr<ViewAsRealCall> Read(const Arguments& arguments) {
    ViewAsRealCall call;
    ABSL_ASSIGN_OR_RETURN(call.self,
                          arguments.Tensor("self", kComplexTypes | DTypeSet{DType::kComplex32}));
    call.dtype = RealPart(call.self->dtype);
    return call;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    ABSL_RETURN_IF_ERROR(CheckRank(in.sizes.size() + 1));
    const D two = D(int64_t{2});
    StridedDims<D> out;
    for (int d = 0; d < in.rank(); ++d) {
      out.sizes.push_back(in.sizes[d]);
      out.strides.push_back(in.strides[d] * two);
    }
    out.sizes.push_back(two);
    out.strides.push_back(D(int64_t{1}));
    out.offset = in.offset * two;
    return out;
  }
};

// view_as_complex: the inverse of view_as_real.
template <class Arguments>
struct ViewAsComplexCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef self;
  DType dtype = DType::kComplex64;

  static absl::StatusOr<ViewAsComplexCall> Read(const Arguments& arguments) {
    ViewAsComplexCall call;
    ABSL_ASSIGN_OR_RETURN(
        call.self, arguments.Tensor("self", {DType::kFloat16, DType::kFloat32, DType::kFloat64}));
    const DType real = call.self->dtype;
    call.dtype = real == DType::kFloat16   ? DType::kComplex32
                 : real == DType::kFloat32 ? DType::kComplex64
                                           : DType::kComplex128;
    return call;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    const D two = D(int64_t{2});
    if (in.rank() == 0 || KnownDifferent(in.sizes[in.rank() - 1], two)) {
      return absl::InvalidArgumentError(
          absl::StrCat("view_as_complex: the last size of ", FormatDims<D>(in.sizes), " is not 2"));
    }
    ABSL_ASSIGN_OR_RETURN(const StridedDims<D> pairs, ReinterpretDims(in, 1, 2));
    StridedDims<D> out;
    for (int d = 0; d + 1 < pairs.rank(); ++d) {
      out.sizes.push_back(pairs.sizes[d]);
      out.strides.push_back(pairs.strides[d]);
    }
    out.offset = pairs.offset;
    return out;
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_VIEW_H_
