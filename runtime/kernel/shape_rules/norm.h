// Shapes of normalizations.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_NORM_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_NORM_H_

#include <string_view>

#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/same_shape.h"

namespace belay {

// A parameter with one element per channel.
template <class D>
absl::Status CheckChannelVector(std::string_view name, absl::Span<const D> dims,
                                const D& channels) {
  if (dims.size() == 1 && !KnownDifferent(dims[0], channels)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": expected shape [", DimToString(channels),
                                                 "], got ", FormatDims<D>(dims)));
}

// Batch norm's input: [n,c,…].
template <class D>
absl::Status CheckBatchNormInput(absl::Span<const D> input) {
  if (input.size() >= 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input: expected at least two dimensions, got shape ", FormatDims<D>(input)));
}

// What statistics are taken of.
template <class D>
absl::Status CheckHasElements(absl::Span<const D> input) {
  for (const D& size : input) {
    if (KnownInt(size) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input: shape ", FormatDims<D>(input), " has no elements"));
    }
  }
  return absl::OkStatus();
}

// The last dimensions of `input` must be `normalized`. Returns the shape of the statistics: the
// leading dimensions, then ones.
template <class D>
absl::StatusOr<Dims<D>> LayerNormStatsShape(absl::Span<const D> input,
                                            absl::Span<const D> normalized) {
  bool fits = !normalized.empty() && normalized.size() <= input.size();
  const size_t leading = fits ? input.size() - normalized.size() : 0;
  for (size_t i = 0; fits && i < normalized.size(); ++i) {
    fits = !KnownDifferent(input[leading + i], normalized[i]);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("normalized_shape: ", FormatDims<D>(normalized),
                                                   " is not the end of the input's shape ",
                                                   FormatDims<D>(input)));
  }
  Dims<D> out;
  for (size_t i = 0; i < input.size(); ++i) out.push_back(i < leading ? input[i] : D(int64_t{1}));
  return out;
}

// [n,c,…] with n, c and the product of the rest given again. Returns the shape [n,group] of the
// statistics.
template <class D>
absl::StatusOr<Dims<D>> GroupNormStatsShape(absl::Span<const D> input, const D& n, const D& c,
                                            const D& hxw, int64_t group) {
  if (group < 1) {
    return absl::InvalidArgumentError(absl::StrCat("group: expected at least 1, got ", group));
  }
  const std::optional<int64_t> channels = KnownInt(c);
  if (channels.has_value() && *channels % group != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("group: ", *channels, " channels do not divide into ", group, " groups"));
  }
  if (input.size() < 2 || KnownDifferent(input[0], n) || KnownDifferent(input[1], c) ||
      KnownDifferent(ProductOf<D>(input.subspan(2)), hxw)) {
    return absl::InvalidArgumentError(absl::StrCat("input: shape ", FormatDims<D>(input),
                                                   " is not that of N ", DimToString(n), ", C ",
                                                   DimToString(c), ", HxW ", DimToString(hxw)));
  }
  Dims<D> out;
  out.push_back(n);
  out.push_back(D(group));
  return out;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_NORM_H_
