// Checks of quantized dtypes, ranges and parameter shapes.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_QUANTIZED_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_QUANTIZED_H_

#include <string_view>
#include <utility>

#include "runtime/core/dtype.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

// Floating point dtypes that can be quantized, and quantized dtypes.
inline constexpr DTypeSet kQuantizableTypes = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};
inline constexpr DTypeSet kQuantizedTypes = {DType::kUint8, DType::kInt8, DType::kUint16,
                                             DType::kInt16, DType::kInt32};

// Returns the minimum and maximum of a quantized dtype.
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

// Checks that quant_min and quant_max are values of the dtype.
inline absl::Status CheckQuantizedRange(DType dtype, int64_t quant_min, int64_t quant_max) {
  using Bounds = std::pair<int64_t, int64_t>;
  ABSL_ASSIGN_OR_RETURN(const Bounds bounds, QuantizedBounds(dtype));
  if (quant_min >= bounds.first && quant_max <= bounds.second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("quant_min, quant_max: [", quant_min, ", ",
                                                 quant_max, "] is beyond ", DTypeName(dtype),
                                                 "'s [", bounds.first, ", ", bounds.second, "]"));
}

// Checks a range for choosing parameters: it contains zero and at least two values.
inline absl::Status CheckChosenRange(DType dtype, int64_t quant_min, int64_t quant_max) {
  ABSL_RETURN_IF_ERROR(QuantizedBounds(dtype).status());
  if (quant_min <= 0 && quant_max >= 0 && quant_min < quant_max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("quant_min, quant_max: expected a range around 0, ", "got [", quant_min, ", ",
                   quant_max, "]"));
}

// Checks that a tensor has one element.
template <class D>
absl::Status CheckOneElement(std::string_view name, absl::Span<const D> dims) {
  const std::optional<int64_t> count = KnownInt(ProductOf<D>(dims));
  if (!count.has_value() || *count == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected one element, got shape ", FormatDims<D>(dims)));
}

// Checks for one value per index of the input's dimension `axis`, or one for all.
template <class D>
absl::Status CheckChannelParameter(std::string_view name, absl::Span<const D> dims,
                                   absl::Span<const D> input, int axis) {
  if (dims.size() == 1 && (KnownInt(dims[0]) == 1 || !KnownDifferent(dims[0], input[axis]))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": expected shape [", DimToString(input[axis]), "], got ", FormatDims<D>(dims)));
}

// Returns the dimension `axis` of the input. kOutOfRange if it does not exist.
template <class D>
absl::StatusOr<int> ChannelAxis(absl::Span<const D> input, int64_t axis) {
  if (input.empty()) return absl::OutOfRangeError("axis: the scalar tensor has no channels");
  return NormalizeDim(axis, static_cast<int>(input.size()));
}

// Checks for one value per row of the last dimension: the input's shape with a last size of 1. If
// the parameter broadcasts, it may have fewer leading dimensions.
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

// Returns the number of groups of `group_size` elements per row of the matrix `input`. If there is
// one scale per row, a group may be larger than the row and covers it.
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

// Checks for one value per group, [rows, groups], or one for all.
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

// Returns the shape of per-row parameters: the input's with a last size of 1. Rows must not be
// empty.
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

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_QUANTIZED_H_
