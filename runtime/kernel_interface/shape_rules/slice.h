// Views that select a subset of the elements: select, slice, diagonal, unfold, split.
//
// Source: aten/src/ATen/native/TensorShape.cpp of PyTorch. A symbolic index or bound of unknown
// sign counts as non-negative: programs store negative ones as constants.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SLICE_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SLICE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

// Returns `in` without dimension `d`, at `index` in it.
template <class D>
StridedDims<D> SelectDims(const StridedDims<D>& in, int d, const D& index) {
  StridedDims<D> out;
  for (int i = 0; i < in.rank(); ++i) {
    if (i == d) continue;
    out.sizes.push_back(in.sizes[i]);
    out.strides.push_back(in.strides[i]);
  }
  out.offset = in.offset + index * in.strides[d];
  return out;
}

// Returns `in` with `length` positions in dimension `d`, beginning at `start`, `step` apart.
template <class D>
StridedDims<D> SliceDims(StridedDims<D> in, int d, const D& start, const D& length,
                         int64_t step = 1) {
  in.offset = in.offset + start * in.strides[d];
  in.sizes[d] = length;
  in.strides[d] = in.strides[d] * D(step);
  return in;
}

inline absl::StatusOr<int> DimOfNonScalar(std::string_view op, int64_t dim, int rank) {
  if (rank == 0) {
    return absl::InvalidArgumentError(absl::StrCat(op, ": a scalar has no dimensions"));
  }
  return NormalizeDim(dim, rank);
}

// Normalizes an index into `size` positions; negative indices count from the end. kOutOfRange if it
// is known to be outside.
template <class D>
absl::StatusOr<D> NormalizeIndex(const D& index, const D& size) {
  const D last = size - D(int64_t{1});
  const bool negative = KnownNegative(index);
  if (KnownLessEqual(index, last) == false || (negative && KnownNegative(index + size))) {
    return absl::OutOfRangeError(absl::StrCat("index ", DimToString(index),
                                              " is out of range for size ", DimToString(size)));
  }
  return negative ? index + size : index;
}

// select.int, select_scatter.
template <class Arguments>
struct SelectRule {
  using D = typename Arguments::Dim;
  int64_t dim = 0;
  D index = D(int64_t{0});

  static absl::StatusOr<SelectRule> Read(const Arguments& arguments) {
    SelectRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.dim, arguments.StaticInt("dim"));
    ABSL_ASSIGN_OR_RETURN(rule.index, arguments.Int("index"));
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const int d, DimOfNonScalar("select", dim, in.rank()));
    ABSL_ASSIGN_OR_RETURN(const D i, NormalizeIndex(index, in.sizes[d]));
    return SelectDims(in, d, i);
  }
};

// Normalizes a slice bound as Python does: negative bounds count from the end, then clamps to [0,
// size].
template <class D>
D ClampBound(const D& bound, const D& size) {
  if (KnownInt(bound) == INT64_MAX) return size;
  const D zero = D(int64_t{0});
  const D from_start = KnownNegative(bound) ? bound + size : bound;
  if (KnownLessEqual(from_start, size) == true) return MaxOf(from_start, zero);
  return MinOf(MaxOf(from_start, zero), size);
}

// Returns ceil(extent / step). Precondition: step > 0.
template <class D>
D StepsIn(const D& extent, int64_t step) {
  if (step == 1) return extent;
  const std::optional<int64_t> known = KnownInt(extent);
  if (known.has_value()) return D(*known == 0 ? int64_t{0} : (*known - 1) / step + 1);
  return FloorDiv(extent + D(step - 1), D(step));
}

// slice.Tensor, slice_scatter.
template <class Arguments>
struct SliceRule {
  using D = typename Arguments::Dim;
  int64_t dim = 0, step = 1;
  std::optional<D> start, end;

  static absl::StatusOr<SliceRule> Read(const Arguments& arguments) {
    SliceRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.dim, arguments.StaticInt("dim"));
    ABSL_ASSIGN_OR_RETURN(rule.step, arguments.StaticInt("step"));
    if (rule.step <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("slice: the step must be positive, got ", rule.step));
    }
    if (!arguments.IsNone("start")) {
      ABSL_ASSIGN_OR_RETURN(rule.start, arguments.Int("start"));
    }
    if (!arguments.IsNone("end")) {
      ABSL_ASSIGN_OR_RETURN(rule.end, arguments.Int("end"));
    }
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const int d, DimOfNonScalar("slice", dim, in.rank()));
    const D& size = in.sizes[d];
    const D first = start.has_value() ? ClampBound(*start, size) : D(int64_t{0});
    const D last = end.has_value() ? ClampBound(*end, size) : size;
    const D extent = MaxOf(last - first, D(int64_t{0}));
    return SliceDims(in, d, first, StepsIn(extent, step), step);
  }
};

template <class Arguments>
struct NarrowRule {
  using D = typename Arguments::Dim;
  int64_t dim = 0;
  D start = D(int64_t{0}), length = D(int64_t{0});

  static absl::StatusOr<NarrowRule> Read(const Arguments& arguments) {
    NarrowRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.dim, arguments.StaticInt("dim"));
    ABSL_ASSIGN_OR_RETURN(rule.start, arguments.Int("start"));
    ABSL_ASSIGN_OR_RETURN(rule.length, arguments.Int("length"));
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const int d, DimOfNonScalar("narrow", dim, in.rank()));
    const D& size = in.sizes[d];
    const D first = KnownNegative(start) ? start + size : start;
    if (KnownNegative(first) || KnownNegative(length) || KnownLessEqual(first, size) == false ||
        KnownLessEqual(length, size - first) == false) {
      return absl::OutOfRangeError(absl::StrCat("narrow: start ", DimToString(start),
                                                " and length ", DimToString(length),
                                                " are out of range for size ", DimToString(size)));
    }
    return SliceDims(in, d, first, length);
  }
};

// diagonal, diagonal_scatter.
template <class Arguments>
struct DiagonalRule {
  using D = typename Arguments::Dim;
  int64_t offset = 0, dim1 = 0, dim2 = 1;

  static absl::StatusOr<DiagonalRule> Read(const Arguments& arguments) {
    DiagonalRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.offset, arguments.StaticInt("offset"));
    ABSL_ASSIGN_OR_RETURN(rule.dim1, arguments.StaticInt("dim1"));
    ABSL_ASSIGN_OR_RETURN(rule.dim2, arguments.StaticInt("dim2"));
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const int a, DimOfNonScalar("diagonal", dim1, in.rank()));
    ABSL_ASSIGN_OR_RETURN(const int b, DimOfNonScalar("diagonal", dim2, in.rank()));
    if (a == b) {
      return absl::InvalidArgumentError(
          absl::StrCat("diagonal: dim1 and dim2 are both dimension ", a));
    }
    const D zero = D(int64_t{0});
    const D shift = D(offset);
    const D length = offset >= 0 ? MaxOf(MinOf(in.sizes[a], in.sizes[b] - shift), zero)
                                 : MaxOf(MinOf(in.sizes[a] + shift, in.sizes[b]), zero);
    StridedDims<D> out;
    for (int d = 0; d < in.rank(); ++d) {
      if (d == a || d == b) continue;
      out.sizes.push_back(in.sizes[d]);
      out.strides.push_back(in.strides[d]);
    }
    out.sizes.push_back(length);
    out.strides.push_back(in.strides[a] + in.strides[b]);
    out.offset = in.offset;
    if (KnownInt(length) != 0) {
      out.offset =
          offset >= 0 ? in.offset + shift * in.strides[b] : in.offset - shift * in.strides[a];
    }
    return out;
  }
};

// unfold: appends a dimension of windows.
template <class Arguments>
struct UnfoldRule {
  using D = typename Arguments::Dim;
  int64_t dim = 0, window = 0, step = 1;

  static absl::StatusOr<UnfoldRule> Read(const Arguments& arguments) {
    UnfoldRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.dim, arguments.StaticInt("dimension"));
    ABSL_ASSIGN_OR_RETURN(rule.window, arguments.StaticInt("size"));
    ABSL_ASSIGN_OR_RETURN(rule.step, arguments.StaticInt("step"));
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, in.rank()));
    ABSL_RETURN_IF_ERROR(CheckRank(in.sizes.size() + 1));
    const D size = in.rank() == 0 ? D(int64_t{1}) : in.sizes[d];
    if (window < 0 || step <= 0 || KnownLessEqual(D(window), size) == false) {
      return absl::InvalidArgumentError(absl::StrCat("unfold: window ", window, " with step ", step,
                                                     " does not fit size ", DimToString(size)));
    }
    StridedDims<D> out = in;
    if (in.rank() > 0) {
      out.sizes[d] = StepsIn(size - D(window) + D(int64_t{1}), step);
      out.strides[d] = in.strides[d] * D(step);
    }
    out.sizes.push_back(D(window));
    out.strides.push_back(in.rank() == 0 ? D(int64_t{1}) : in.strides[d]);
    return out;
  }
};

// as_strided, as_strided_scatter and _reshape_alias, which has no offset. Callers must check that
// the elements exist: the compiler does not know the size of a storage.
template <class Arguments>
struct AsStridedRule {
  using D = typename Arguments::Dim;
  Dims<D> size, stride;
  std::optional<D> storage_offset;  // nullopt: that of the input

  static absl::StatusOr<AsStridedRule> Read(const Arguments& arguments) {
    AsStridedRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.size, arguments.IntList("size"));
    ABSL_ASSIGN_OR_RETURN(rule.stride, arguments.IntList("stride"));
    if (!arguments.IsNone("storage_offset")) {
      ABSL_ASSIGN_OR_RETURN(rule.storage_offset, arguments.Int("storage_offset"));
    }
    if (rule.size.size() != rule.stride.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "as_strided: ", rule.size.size(), " sizes and ", rule.stride.size(), " strides"));
    }
    const D offset = rule.storage_offset.value_or(D(int64_t{0}));
    bool negative = KnownNegative(offset);
    for (const D& size : rule.size) negative = negative || KnownNegative(size);
    for (const D& stride : rule.stride) negative = negative || KnownNegative(stride);
    if (negative) {
      return absl::InvalidArgumentError(absl::StrCat(
          "as_strided: sizes ", FormatDims<D>(rule.size), ", strides ", FormatDims<D>(rule.stride),
          " and offset ", DimToString(offset), " must not be negative"));
    }
    return rule;
  }
  absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in) const {
    return StridedDims<D>{size, stride, storage_offset.value_or(in.offset)};
  }
};

// Rules that split a dimension describe the pieces one by one:
//   absl::StatusOr<int> Count(in) const     number of pieces; checks the parameters
//   absl::Status ForEach(in, emit) const    calls emit(k, StridedDims) for each
// More pieces than kMaxPieces are an error: the count comes from a file.
inline constexpr int64_t kMaxPieces = int64_t{1} << 16;

template <class D>
absl::StatusOr<int> PieceCount(std::string_view op, const D& count) {
  const std::optional<int64_t> known = KnownInt(count);
  if (!known.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(op, ": the number of results, ",
                                                   DimToString(count), ", must not be symbolic"));
  }
  if (*known < 0 || *known > kMaxPieces) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": ", *known, " results are above the limit of ", kMaxPieces));
  }
  return static_cast<int>(*known);
}

// unbind.int
template <class Arguments>
struct UnbindRule {
  using D = typename Arguments::Dim;
  int64_t dim = 0;

  static absl::StatusOr<UnbindRule> Read(const Arguments& arguments) {
    UnbindRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.dim, arguments.StaticInt("dim"));
    return rule;
  }
  absl::StatusOr<int> Count(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const int d, DimOfNonScalar("unbind", dim, in.rank()));
    return PieceCount("unbind", in.sizes[d]);
  }
  template <class Emit>
  absl::Status ForEach(const StridedDims<D>& in, Emit emit) const {
    ABSL_ASSIGN_OR_RETURN(const int count, Count(in));
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, in.rank()));
    for (int k = 0; k < count; ++k) {
      ABSL_RETURN_IF_ERROR(emit(k, SelectDims(in, d, D(int64_t{k}))));
    }
    return absl::OkStatus();
  }
};

// split.Tensor
template <class Arguments>
struct SplitRule {
  using D = typename Arguments::Dim;
  D split_size = D(int64_t{0});
  int64_t dim = 0;

  static absl::StatusOr<SplitRule> Read(const Arguments& arguments) {
    SplitRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.split_size, arguments.Int("split_size"));
    ABSL_ASSIGN_OR_RETURN(rule.dim, arguments.StaticInt("dim"));
    return rule;
  }
  absl::StatusOr<int> Count(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const int d, DimOfNonScalar("split", dim, in.rank()));
    const bool empty = KnownInt(in.sizes[d]) == 0;
    if (KnownNegative(split_size) || (KnownInt(split_size) == 0 && !empty)) {
      return absl::InvalidArgumentError(absl::StrCat("split: pieces of ", DimToString(split_size),
                                                     " do not divide size ",
                                                     DimToString(in.sizes[d])));
    }
    if (empty) return 1;
    const std::optional<int64_t> size = KnownInt(in.sizes[d]), length = KnownInt(split_size);
    if (size.has_value() && length.has_value()) {
      return PieceCount("split", D((*size - 1) / *length + 1));
    }
    return PieceCount("split", FloorDiv(in.sizes[d] + split_size - D(int64_t{1}), split_size));
  }
  template <class Emit>
  absl::Status ForEach(const StridedDims<D>& in, Emit emit) const {
    ABSL_ASSIGN_OR_RETURN(const int count, Count(in));
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, in.rank()));
    D start = D(int64_t{0});
    for (int k = 0; k < count; ++k) {
      const D length = k + 1 < count ? split_size : in.sizes[d] - start;
      ABSL_RETURN_IF_ERROR(emit(k, SliceDims(in, d, start, length)));
      start = start + split_size;
    }
    return absl::OkStatus();
  }
};

template <class Arguments>
struct SplitWithSizesRule {
  using D = typename Arguments::Dim;
  typename Arguments::LongIntListRef split_sizes = {};
  int64_t dim = 0;

  static absl::StatusOr<SplitWithSizesRule> Read(const Arguments& arguments) {
    SplitWithSizesRule rule;
    ABSL_ASSIGN_OR_RETURN(rule.split_sizes, arguments.LongIntList("split_sizes"));
    ABSL_ASSIGN_OR_RETURN(rule.dim, arguments.StaticInt("dim"));
    return rule;
  }
  absl::StatusOr<int> Count(const StridedDims<D>& in) const {
    ABSL_ASSIGN_OR_RETURN(const int d, DimOfNonScalar("split_with_sizes", dim, in.rank()));
    const int count = Arguments::CountOf(split_sizes);
    D sum = D(int64_t{0});
    for (int k = 0; k < count; ++k) {
      ABSL_ASSIGN_OR_RETURN(const D length, Arguments::IntOf(split_sizes, k));
      if (KnownNegative(length)) {
        return absl::InvalidArgumentError(
            absl::StrCat("split_with_sizes: size ", k, " is negative: ", DimToString(length)));
      }
      sum = sum + length;
    }
    if (KnownDifferent(sum, in.sizes[d])) {
      return absl::InvalidArgumentError(absl::StrCat("split_with_sizes: the sizes sum to ",
                                                     DimToString(sum), ", not to ",
                                                     DimToString(in.sizes[d])));
    }
    return PieceCount("split_with_sizes", D(int64_t{count}));
  }
  template <class Emit>
  absl::Status ForEach(const StridedDims<D>& in, Emit emit) const {
    ABSL_ASSIGN_OR_RETURN(const int count, Count(in));
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, in.rank()));
    D start = D(int64_t{0});
    for (int k = 0; k < count; ++k) {
      ABSL_ASSIGN_OR_RETURN(const D length, Arguments::IntOf(split_sizes, k));
      ABSL_RETURN_IF_ERROR(emit(k, SliceDims(in, d, start, length)));
      start = start + length;
    }
    return absl::OkStatus();
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SLICE_H_
