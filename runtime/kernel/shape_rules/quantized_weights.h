// Shapes of operators on quantized weights.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_QUANTIZED_WEIGHTS_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_QUANTIZED_WEIGHTS_H_

#include "runtime/kernel/shape_rules/strided.h"

namespace belay {

// Elements of 4 and 2 bits have the range that their bits give; bytes say theirs.
inline absl::Status CheckPackedRange(int bits, int64_t quant_min, int64_t quant_max) {
  const int64_t half = int64_t{1} << (bits - 1);
  if (bits == 8 || (quant_min == -half && quant_max == half - 1)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("weight_quant_min, weight_quant_max: expected ",
                                                 -half, " and ", half - 1, ", got ", quant_min,
                                                 " and ", quant_max));
}

// How the rows of an embedding's weight divide: [rows, width] elements after unpacking, in
// `groups` groups each.
template <class D>
struct GroupedRows {
  D rows, width, groups;
};

// `per_byte` elements are packed in one byte. Scales and zero points are [rows] or [rows, groups].
template <class D>
absl::StatusOr<GroupedRows<D>> EmbeddingRows(absl::Span<const D> weight, absl::Span<const D> scales,
                                             const Dims<D>* zero_points, int per_byte) {
  if (weight.size() != 2 || (scales.size() != 1 && scales.size() != 2)) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight: expected a matrix with scales of rank 1 or 2, got shapes ",
                     FormatDims<D>(weight), " and ", FormatDims<D>(scales)));
  }
  GroupedRows<D> r = {weight[0], weight[1] * D(int64_t{per_byte}),
                      scales.size() == 2 ? scales[1] : D(int64_t{1})};
  bool fits = !KnownDifferent(weight[0], scales[0]);
  if (zero_points != nullptr) {
    fits = fits && absl::Span<const D>(*zero_points).size() == scales.size();
    for (size_t d = 0; fits && d < scales.size(); ++d) {
      fits = !KnownDifferent((*zero_points)[d], scales[d]);
    }
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weight_scales, weight_zero_points: shape ", FormatDims<D>(scales),
        zero_points == nullptr ? "" : absl::StrCat(" and ", FormatDims<D>(*zero_points)),
        " are not those of a weight ", FormatDims<D>(weight)));
  }
  const std::optional<int64_t> width = KnownInt(r.width), groups = KnownInt(r.groups);
  if (width.has_value() && groups.has_value() &&
      (*groups < 1 || *width % *groups != 0 || *width / *groups < 2)) {
    return absl::InvalidArgumentError(absl::StrCat("weight_scales: ", *groups,
                                                   " scales per row of ", *width,
                                                   " elements; groups have at least 2"));
  }
  return r;
}

// indices […] into rows of `width` -> […,width].
template <class D>
absl::StatusOr<Dims<D>> EmbeddingShape(absl::Span<const D> indices, const D& width) {
  ABSL_RETURN_IF_ERROR(CheckRank(indices.size() + 1));
  Dims<D> out;
  for (const D& d : indices) out.push_back(d);
  out.push_back(width);
  return out;
}

// The result [m,n] of a product, and how many scales each row of a linear weight has.
template <class D>
struct MixedShape {
  Dims<D> out;
  D groups;
};

// input [m,k] and weight [k,n] with scales [k]; or for `linear` weight [n,k] with scales [n] or
// [n,groups]. Zero points have the shape of the scales.
template <class D>
absl::StatusOr<MixedShape<D>> MixedProductShape(absl::Span<const D> input,
                                                absl::Span<const D> weight,
                                                absl::Span<const D> scales,
                                                const Dims<D>* zero_points, bool linear) {
  const size_t most = linear ? 2 : 1;
  bool fits = input.size() == 2 && weight.size() == 2 && !scales.empty() && scales.size() <= most &&
              !KnownDifferent(input[1], weight[linear ? 1 : 0]) &&
              !KnownDifferent(scales[0], weight[0]);
  if (zero_points != nullptr) {
    fits = fits && absl::Span<const D>(*zero_points).size() == scales.size();
    for (size_t d = 0; fits && d < scales.size(); ++d) {
      fits = !KnownDifferent((*zero_points)[d], scales[d]);
    }
  }
  MixedShape<D> shape;
  shape.groups = D(int64_t{1});
  if (fits && scales.size() == 2) {
    shape.groups = scales[1];
    const std::optional<int64_t> groups = KnownInt(scales[1]);
    fits = !groups.has_value() || *groups > 0;
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("shapes of input ", FormatDims<D>(input), ", weight ", FormatDims<D>(weight),
                     ", weight_scales ", FormatDims<D>(scales), " do not belong together"));
  }
  shape.out.push_back(input[0]);
  shape.out.push_back(weight[linear ? 0 : 1]);
  return shape;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_QUANTIZED_WEIGHTS_H_
