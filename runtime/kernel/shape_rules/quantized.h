// What quantization asks of dtypes, ranges and the shapes of its parameters.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_QUANTIZED_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_QUANTIZED_H_

#include <string_view>
#include <utility>

#include "runtime/core/dtype.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/strided.h"

namespace belay {

// What floating point tensors may be quantized, and into what.
inline constexpr DTypeSet kQuantizableTypes = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};
inline constexpr DTypeSet kQuantizedTypes = {DType::kUint8, DType::kInt8, DType::kUint16,
                                             DType::kInt16, DType::kInt32};

// The least and the largest number of a quantized dtype.
inline absl::StatusOr<std::pair<int64_t, int64_t>> QuantizedBounds(DType dtype) {
  if (!kQuantizedTypes.contains(dtype)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dtype: expected uint8, int8, uint16, int16 or int32, got ", DTypeName(dtype)));
  }
  const int bits = static_cast<int>(DTypeSize(dtype)) * 8;
  const bool is_signed = dtype != DType::kUint8 && dtype != DType::kUint16;
  const int64_t count = int64_t{1} << (is_signed ? bits - 1 : bits);
  return std::pair<int64_t, int64_t>(is_signed ? -count : 0, count - 1);
}

// quant_min and quant_max must be numbers of the dtype.
inline absl::Status CheckQuantizedRange(DType dtype, int64_t quant_min, int64_t quant_max) {
  using Bounds = std::pair<int64_t, int64_t>;
  ABSL_ASSIGN_OR_RETURN(const Bounds bounds, QuantizedBounds(dtype));
  if (quant_min >= bounds.first && quant_max <= bounds.second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("quant_min, quant_max: [", quant_min, ", ",
                                                 quant_max, "] is beyond ", DTypeName(dtype),
                                                 "'s [", bounds.first, ", ", bounds.second, "]"));
}

// A range in which parameters are chosen: it has zero in it and at least two numbers.
inline absl::Status CheckChosenRange(DType dtype, int64_t quant_min, int64_t quant_max) {
  ABSL_RETURN_IF_ERROR(QuantizedBounds(dtype).status());
  if (quant_min <= 0 && quant_max >= 0 && quant_min < quant_max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("quant_min, quant_max: expected a range around 0, ", "got [", quant_min, ", ",
                   quant_max, "]"));
}

// A tensor with one element.
template <class D>
absl::Status CheckOneElement(std::string_view name, absl::Span<const D> dims) {
  const std::optional<int64_t> count = KnownInt(ProductOf<D>(dims));
  if (!count.has_value() || *count == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected one element, got shape ", FormatDims<D>(dims)));
}

// One number per index of the input's dimension `axis`, or one for all.
template <class D>
absl::Status CheckChannelParameter(std::string_view name, absl::Span<const D> dims,
                                   absl::Span<const D> input, int axis) {
  if (dims.size() == 1 && (KnownInt(dims[0]) == 1 || !KnownDifferent(dims[0], input[axis]))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": expected shape [", DimToString(input[axis]), "], got ", FormatDims<D>(dims)));
}

// The dimension `axis` of the input. kOutOfRange when there is none.
template <class D>
absl::StatusOr<int> ChannelAxis(absl::Span<const D> input, int64_t axis) {
  if (input.empty()) return absl::OutOfRangeError("axis: the scalar tensor has no channels");
  return NormalizeDim(axis, static_cast<int>(input.size()));
}

// One number per row of the last dimension: the input's shape with 1 at the end, or fewer leading
// dimensions of it when they broadcast.
template <class D>
absl::Status CheckTokenParameter(std::string_view name, absl::Span<const D> dims,
                                 absl::Span<const D> input) {
  bool fits = !dims.empty() && dims.size() <= input.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    const D& d = dims[dims.size() - 1 - i];
    fits = KnownInt(d) == 1 || !KnownDifferent(d, input[input.size() - 1 - i]);
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": shape ", FormatDims<D>(dims), " is not that of the rows of ", FormatDims<D>(input)));
}

// How many groups of `group_size` elements each row of the matrix `input` has. A group larger than
// the row is the row when there is one scale per row.
template <class D>
absl::StatusOr<D> GroupCount(absl::Span<const D> input, absl::Span<const D> scales,
                             int64_t group_size) {
  if (input.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input: expected a matrix, got shape ", FormatDims<D>(input)));
  }
  const std::optional<int64_t> width = KnownInt(input[1]);
  if (group_size <= 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("group_size: expected at least 2, got ", group_size));
  }
  if (width.has_value() && group_size > *width && !scales.empty() && KnownInt(scales.back()) == 1) {
    return D(int64_t{1});
  }
  if (width.has_value() && *width % group_size != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "group_size: rows of ", *width, " elements do not divide into groups of ", group_size));
  }
  return FloorDiv(input[1], D(group_size));
}

// One number per group, [rows, groups], or one for all.
template <class D>
absl::Status CheckGroupParameter(std::string_view name, absl::Span<const D> dims, const D& rows,
                                 const D& groups) {
  if (KnownInt(ProductOf<D>(dims)) == 1) return absl::OkStatus();
  if (dims.size() == 2 && !KnownDifferent(dims[0], rows) && !KnownDifferent(dims[1], groups)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(name, ": expected shape [", DimToString(rows), ",",
                                                 DimToString(groups), "], got ",
                                                 FormatDims<D>(dims)));
}

// The shape of per-row parameters: the input's with 1 at the end. Rows have elements.
template <class D>
absl::StatusOr<Dims<D>> TokenShape(absl::Span<const D> input) {
  if (input.empty()) {
    return absl::InvalidArgumentError("input: expected at least one dimension");
  }
  if (KnownInt(input.back()) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input: the rows of shape ", FormatDims<D>(input), " have no elements"));
  }
  Dims<D> out;
  for (size_t d = 0; d + 1 < input.size(); ++d) out.push_back(input[d]);
  out.push_back(D(int64_t{1}));
  return out;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_QUANTIZED_H_
