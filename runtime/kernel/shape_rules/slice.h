// Views that select some of the elements: select, slice, diagonal, windows, pieces.
//
// Source: aten/src/ATen/native/TensorShape.cpp of PyTorch. A symbolic index or bound counts as not
// negative when its sign is not known: a program writes the negative ones as numbers.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_SLICE_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_SLICE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/kernel/shape_rules/strided.h"

namespace belay {

// `in` without dimension `d`, at `index` of it.
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

// `in` cut down to `length` places from `start` in dimension `d`, every `step`-th of them.
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

// An index into `size` places, counted from the end when negative. kOutOfRange when it is known to
// lie outside.
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

// select.int(self, dim, index), also the trailing arguments of select_scatter.
template <class D>
absl::StatusOr<StridedDims<D>> SelectAt(const StridedDims<D>& in, int64_t dim, const D& index) {
  ABSL_ASSIGN_OR_RETURN(const int d, DimOfNonScalar("select", dim, in.rank()));
  ABSL_ASSIGN_OR_RETURN(const D i, NormalizeIndex(index, in.sizes[d]));
  return SelectDims(in, d, i);
}

// kFirst is the position of the dimension among the arguments.
template <int kFirst = 1>
struct SelectRule {
  static constexpr int kArguments = kFirst + 2;
  template <class Args, class D = typename Args::Dim>
  static absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in, const Args& args) {
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, args.StaticInt(kFirst));
    ABSL_ASSIGN_OR_RETURN(const D index, args.Int(kFirst + 1));
    return SelectAt(in, dim, index);
  }
};

// A bound of a slice as Python reads it: from the end when negative, then moved into [0, size].
template <class D>
D ClampBound(const D& bound, const D& size) {
  if (KnownInt(bound) == INT64_MAX) return size;
  const D zero = D(int64_t{0});
  const D from_start = KnownNegative(bound) ? bound + size : bound;
  if (KnownLessEqual(from_start, size) == true) return MaxOf(from_start, zero);
  return MinOf(MaxOf(from_start, zero), size);
}

// How many places `step` apart lie in `extent` places. Precondition: step > 0.
template <class D>
D StepsIn(const D& extent, int64_t step) {
  if (step == 1) return extent;
  const std::optional<int64_t> known = KnownInt(extent);
  if (known.has_value()) return D(*known == 0 ? int64_t{0} : (*known - 1) / step + 1);
  return FloorDiv(extent + D(step - 1), D(step));
}

// slice.Tensor(self, dim, start, end, step), also the trailing arguments of slice_scatter.
template <int kFirst = 1>
struct SliceRule {
  static constexpr int kArguments = kFirst + 4;
  template <class Args, class D = typename Args::Dim>
  static absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in, const Args& args) {
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, args.StaticInt(kFirst));
    ABSL_ASSIGN_OR_RETURN(const int d, DimOfNonScalar("slice", dim, in.rank()));
    ABSL_ASSIGN_OR_RETURN(const int64_t step, args.StaticInt(kFirst + 3));
    if (step <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("slice: the step must be positive, got ", step));
    }
    const D& size = in.sizes[d];
    D start = D(int64_t{0});
    D end = size;
    if (!args.is_none(kFirst + 1)) {
      ABSL_ASSIGN_OR_RETURN(const D bound, args.Int(kFirst + 1));
      start = ClampBound(bound, size);
    }
    if (!args.is_none(kFirst + 2)) {
      ABSL_ASSIGN_OR_RETURN(const D bound, args.Int(kFirst + 2));
      end = ClampBound(bound, size);
    }
    const D extent = MaxOf(end - start, D(int64_t{0}));
    return SliceDims(in, d, start, StepsIn(extent, step), step);
  }
};

// narrow(self, dim, start, length)
struct NarrowRule {
  static constexpr int kArguments = 4;
  template <class Args, class D = typename Args::Dim>
  static absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in, const Args& args) {
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, args.StaticInt(1));
    ABSL_ASSIGN_OR_RETURN(const D start, args.Int(2));
    ABSL_ASSIGN_OR_RETURN(const D length, args.Int(3));
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

// diagonal(self, offset, dim1, dim2), also the trailing arguments of diagonal_scatter.
template <int kFirst = 1>
struct DiagonalRule {
  static constexpr int kArguments = kFirst + 3;
  template <class Args, class D = typename Args::Dim>
  static absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in, const Args& args) {
    ABSL_ASSIGN_OR_RETURN(const int64_t offset, args.StaticInt(kFirst));
    ABSL_ASSIGN_OR_RETURN(const int64_t dim1, args.StaticInt(kFirst + 1));
    ABSL_ASSIGN_OR_RETURN(const int64_t dim2, args.StaticInt(kFirst + 2));
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

// unfold(self, dimension, size, step): windows as a last dimension.
struct UnfoldRule {
  static constexpr int kArguments = 4;
  template <class Args, class D = typename Args::Dim>
  static absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in, const Args& args) {
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, args.StaticInt(1));
    ABSL_ASSIGN_OR_RETURN(const int64_t window, args.StaticInt(2));
    ABSL_ASSIGN_OR_RETURN(const int64_t step, args.StaticInt(3));
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

// as_strided(self, size, stride, storage_offset) and, with kOffset < 0, _reshape_alias(self, size,
// stride). Whether the elements exist is for the caller to check: the compiler does not know a
// storage's extent.
template <int kSize = 1, int kOffset = 3>
struct AsStridedRule {
  static constexpr int kArguments = kOffset < 0 ? kSize + 2 : kOffset + 1;
  template <class Args, class D = typename Args::Dim>
  static absl::StatusOr<StridedDims<D>> Apply(const StridedDims<D>& in, const Args& args) {
    StridedDims<D> out;
    ABSL_ASSIGN_OR_RETURN(out.sizes, args.IntList(kSize));
    ABSL_ASSIGN_OR_RETURN(out.strides, args.IntList(kSize + 1));
    out.offset = in.offset;
    if constexpr (kOffset >= 0) {
      if (!args.is_none(kOffset)) {
        ABSL_ASSIGN_OR_RETURN(out.offset, args.Int(kOffset));
      }
    }
    if (out.sizes.size() != out.strides.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "as_strided: ", out.sizes.size(), " sizes and ", out.strides.size(), " strides"));
    }
    bool negative = KnownNegative(out.offset);
    for (int d = 0; d < out.rank(); ++d) {
      negative = negative || KnownNegative(out.sizes[d]) || KnownNegative(out.strides[d]);
    }
    if (negative) {
      return absl::InvalidArgumentError(absl::StrCat(
          "as_strided: sizes ", FormatDims<D>(out.sizes), ", strides ", FormatDims<D>(out.strides),
          " and offset ", DimToString(out.offset), " must not be negative"));
    }
    return out;
  }
};

// The pieces into which an operator cuts a dimension are described one by one:
//   static absl::StatusOr<int> Count(in, args)        how many; checks the arguments
//   static absl::Status ForEach(in, args, emit)       calls emit(k, StridedDims) for each
// More pieces than this are an error: the count comes from a file.
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

// unbind.int(self, dim)
struct UnbindRule {
  static constexpr int kArguments = 2;
  template <class Args, class D = typename Args::Dim>
  static absl::StatusOr<int> Count(const StridedDims<D>& in, const Args& args) {
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, args.StaticInt(1));
    ABSL_ASSIGN_OR_RETURN(const int d, DimOfNonScalar("unbind", dim, in.rank()));
    return PieceCount("unbind", in.sizes[d]);
  }
  template <class Args, class Emit, class D = typename Args::Dim>
  static absl::Status ForEach(const StridedDims<D>& in, const Args& args, Emit emit) {
    ABSL_ASSIGN_OR_RETURN(const int count, Count(in, args));
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, args.StaticInt(1));
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, in.rank()));
    for (int k = 0; k < count; ++k) {
      ABSL_RETURN_IF_ERROR(emit(k, SelectDims(in, d, D(int64_t{k}))));
    }
    return absl::OkStatus();
  }
};

// split.Tensor(self, split_size, dim)
struct SplitRule {
  static constexpr int kArguments = 3;
  template <class Args, class D = typename Args::Dim>
  static absl::StatusOr<int> Count(const StridedDims<D>& in, const Args& args) {
    ABSL_ASSIGN_OR_RETURN(const D piece, args.Int(1));
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, args.StaticInt(2));
    ABSL_ASSIGN_OR_RETURN(const int d, DimOfNonScalar("split", dim, in.rank()));
    const bool empty = KnownInt(in.sizes[d]) == 0;
    if (KnownNegative(piece) || (KnownInt(piece) == 0 && !empty)) {
      return absl::InvalidArgumentError(absl::StrCat("split: pieces of ", DimToString(piece),
                                                     " do not divide size ",
                                                     DimToString(in.sizes[d])));
    }
    if (empty) return 1;
    const std::optional<int64_t> size = KnownInt(in.sizes[d]), length = KnownInt(piece);
    if (size.has_value() && length.has_value()) {
      return PieceCount("split", D((*size - 1) / *length + 1));
    }
    return PieceCount("split", FloorDiv(in.sizes[d] + piece - D(int64_t{1}), piece));
  }
  template <class Args, class Emit, class D = typename Args::Dim>
  static absl::Status ForEach(const StridedDims<D>& in, const Args& args, Emit emit) {
    ABSL_ASSIGN_OR_RETURN(const int count, Count(in, args));
    ABSL_ASSIGN_OR_RETURN(const D piece, args.Int(1));
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, args.StaticInt(2));
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, in.rank()));
    D start = D(int64_t{0});
    for (int k = 0; k < count; ++k) {
      const D length = k + 1 < count ? piece : in.sizes[d] - start;
      ABSL_RETURN_IF_ERROR(emit(k, SliceDims(in, d, start, length)));
      start = start + piece;
    }
    return absl::OkStatus();
  }
};

// split_with_sizes(self, split_sizes, dim)
struct SplitWithSizesRule {
  static constexpr int kArguments = 3;
  template <class Args, class D = typename Args::Dim>
  static absl::StatusOr<int> Count(const StridedDims<D>& in, const Args& args) {
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, args.StaticInt(2));
    ABSL_ASSIGN_OR_RETURN(const int d, DimOfNonScalar("split_with_sizes", dim, in.rank()));
    ABSL_ASSIGN_OR_RETURN(const int count, args.ListSize(1));
    D sum = D(int64_t{0});
    for (int k = 0; k < count; ++k) {
      ABSL_ASSIGN_OR_RETURN(const D length, args.ListInt(1, k));
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
  template <class Args, class Emit, class D = typename Args::Dim>
  static absl::Status ForEach(const StridedDims<D>& in, const Args& args, Emit emit) {
    ABSL_ASSIGN_OR_RETURN(const int count, Count(in, args));
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, args.StaticInt(2));
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, in.rank()));
    D start = D(int64_t{0});
    for (int k = 0; k < count; ++k) {
      ABSL_ASSIGN_OR_RETURN(const D length, args.ListInt(1, k));
      ABSL_RETURN_IF_ERROR(emit(k, SliceDims(in, d, start, length)));
      start = start + length;
    }
    return absl::OkStatus();
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_SLICE_H_
