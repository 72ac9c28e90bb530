// Shape rules and calls of constant, reflection and replication padding.
//
// Source: aten/src/ATen/native/{PadNd,ReflectionPad,ReplicationPadding}.cpp of PyTorch.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_PAD_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_PAD_H_

#include <cstdint>
#include <string_view>

#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

// Padding before and after each dimension; negative values crop.
template <class D>
struct Padding {
  Dims<D> before;
  Dims<D> after;
};

// Reads PyTorch's list: (before, after) of the last dimension, then of the second to last, and so
// on. Pads `count` dimensions; if negative, as many as the list has.
template <class Arguments, class D = typename Arguments::Dim>
absl::StatusOr<Padding<D>> ReadPadding(std::string_view op, const Arguments& arguments,
                                       std::string_view name, int rank, int count = -1) {
  ABSL_RETURN_IF_ERROR(CheckRank(static_cast<size_t>(rank)));
  ABSL_ASSIGN_OR_RETURN(const int length, arguments.ListSize(name));
  if (count >= 0 && length != 2 * count) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": expected a padding of ", 2 * count, " numbers, got ", length));
  }
  if (length % 2 != 0 || length / 2 > rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        op, ": a padding of ", length, " numbers does not fit a tensor of rank ", rank));
  }
  Padding<D> padding;
  for (int d = 0; d < rank; ++d) {
    padding.before.push_back(D(int64_t{0}));
    padding.after.push_back(D(int64_t{0}));
  }
  for (int k = 0; k < length / 2; ++k) {
    ABSL_ASSIGN_OR_RETURN(padding.before[rank - 1 - k], arguments.ListInt(name, 2 * k));
    ABSL_ASSIGN_OR_RETURN(padding.after[rank - 1 - k], arguments.ListInt(name, 2 * k + 1));
  }
  return padding;
}

// constant_pad_nd. kInvalidArgument if more is cropped than a dimension has.
template <class D>
absl::StatusOr<Dims<D>> PaddedShape(std::string_view op, absl::Span<const D> sizes,
                                    const Padding<D>& padding) {
  Dims<D> out;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const D zero = D(int64_t{0});
    const D size = sizes[d] + padding.before[d] + padding.after[d];
    const D kept = sizes[d] + MinOf(padding.before[d], zero) + MinOf(padding.after[d], zero);
    if (KnownNegative(size) || KnownNegative(kept)) {
      return absl::InvalidArgumentError(absl::StrCat(
          op, ": padding (", DimToString(padding.before[d]), ", ", DimToString(padding.after[d]),
          ") leaves nothing of size ", DimToString(sizes[d])));
    }
    out.push_back(size);
  }
  return out;
}

template <class Arguments>
struct ConstantPadCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef self;
  Padding<D> padding;
  typename Arguments::ScalarRef value = {};

  static absl::StatusOr<ConstantPadCall> Read(const Arguments& arguments) {
    ConstantPadCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.padding,
                          ReadPadding("constant_pad_nd", arguments, "pad", call.self->rank()));
    ABSL_ASSIGN_OR_RETURN(call.value, arguments.ScalarFor("value", call.self->dtype));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    return PaddedShape<D>("constant_pad_nd", Arguments::SizesOf(self), padding);
  }
};

enum class PadMode : uint8_t { kReflect, kReplicate };

// reflection_pad<n>d and replication_pad<n>d: `spatial` padded dimensions after the channel
// dimension and an optional batch dimension.
template <class D>
absl::StatusOr<Dims<D>> MirroredShape(std::string_view op, PadMode mode, absl::Span<const D> sizes,
                                      int spatial, const Padding<D>& padding) {
  const int rank = static_cast<int>(sizes.size());
  bool valid = rank == spatial + 1 || rank == spatial + 2;
  for (int d = rank == spatial + 2 ? 1 : 0; d < rank; ++d) {
    valid = valid && KnownInt(sizes[d]) != 0;
  }
  if (!valid) {
    return absl::InvalidArgumentError(absl::StrCat(op, ": expected rank ", spatial + 1, " or ",
                                                   spatial + 2, " without empty dimensions, got ",
                                                   FormatDims<D>(sizes)));
  }
  Dims<D> out;
  bool something = false;  // padded sizes may become zero, but not all of them
  for (int d = 0; d < rank; ++d) {
    const D size = sizes[d] + padding.before[d] + padding.after[d];
    const bool padded = d >= rank - spatial;
    if (padded && mode == PadMode::kReflect &&
        (KnownLessEqual(sizes[d], padding.before[d]) == true ||
         KnownLessEqual(sizes[d], padding.after[d]) == true)) {
      return absl::InvalidArgumentError(absl::StrCat(
          op, ": padding (", DimToString(padding.before[d]), ", ", DimToString(padding.after[d]),
          ") must be less than size ", DimToString(sizes[d]), " of dimension ", d));
    }
    const bool none = KnownLessEqual(size, D(int64_t{0})) == true;
    something = something || (padded && !none);
    if (padded && none && (KnownNegative(size) || (d == rank - 1 && !something))) {
      return absl::InvalidArgumentError(absl::StrCat(op, ": dimension ", d, " of size ",
                                                     DimToString(sizes[d]), " would get size ",
                                                     DimToString(size)));
    }
    out.push_back(size);
  }
  return out;
}

// reflection_pad<n>d, replication_pad<n>d.
template <class Arguments, PadMode kMode, int kSpatial>
struct MirroredPadCall {
  using D = typename Arguments::Dim;
  static constexpr std::string_view kName =
      kMode == PadMode::kReflect ? "reflection_pad" : "replication_pad";
  typename Arguments::TensorRef self;
  Padding<D> padding;

  static absl::StatusOr<MirroredPadCall> Read(const Arguments& arguments) {
    MirroredPadCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.padding,
                          ReadPadding(kName, arguments, "padding", call.self->rank(), kSpatial));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    return MirroredShape<D>(kName, kMode, Arguments::SizesOf(self), kSpatial, padding);
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_PAD_H_
