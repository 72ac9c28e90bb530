// Sizes of operators that copy elements to new places: padding, repetition, joining, pixel
// shuffles.
//
// Source:
// aten/src/ATen/native/{PadNd,ReflectionPad,ReplicationPadding,PixelShuffle,TensorShape}.cpp of
// PyTorch.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_PAD_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_PAD_H_

#include <cstdint>
#include <string_view>

#include "runtime/kernel/shape_rules/strided.h"

namespace belay {

// What is added before and after each dimension; negative numbers take away.
template <class D>
struct Padding {
  Dims<D> before;
  Dims<D> after;
};

// Reads PyTorch's list: (before, after) of the last dimension, then of the one before, and so on.
// `count` dimensions, or as many as the list has when it is negative.
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

// constant_pad_nd. kInvalidArgument when more is taken away than there is.
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

// reflection_pad<n>d and replication_pad<n>d: `spatial` padded dimensions after channels and,
// perhaps, a batch.
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
  bool something = false;  // one size of several may become zero, not all of them
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

// repeat(self, repeats)
template <class D>
absl::StatusOr<Dims<D>> RepeatedShape(absl::Span<const D> sizes, absl::Span<const D> repeats) {
  ABSL_RETURN_IF_ERROR(CheckRank(repeats.size()));
  if (repeats.size() < sizes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("repeat: ", repeats.size(),
                                                   " repeats are fewer than the dimensions of ",
                                                   FormatDims<D>(sizes)));
  }
  const size_t added = repeats.size() - sizes.size();
  Dims<D> out;
  for (size_t d = 0; d < repeats.size(); ++d) {
    // A negative number of nothing is nothing.
    if (KnownNegative(repeats[d]) && (d < added || KnownInt(sizes[d - added]) != 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("repeat: negative number in ", FormatDims<D>(repeats)));
    }
    out.push_back(d < added ? repeats[d] : sizes[d - added] * repeats[d]);
  }
  return out;
}

// The shape that `cat` joins to, grown by one operand after the other. Operands of shape [0] count
// as nothing, whatever the other ranks are: PyTorch keeps this from its beginnings.
template <class D>
class CatShape {
 public:
  // kInvalidArgument when the operand does not fit the earlier ones.
  absl::Status Add(absl::Span<const D> sizes, int64_t dim) {
    if (sizes.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("cat: operand ", count_, " is a scalar"));
    }
    if (Skips(sizes)) {
      ++count_;
      return absl::OkStatus();
    }
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, static_cast<int>(sizes.size())));
    if (!started_) {
      started_ = true;
      for (const D& size : sizes) sizes_.push_back(size);
      dim_ = d;
      ++count_;
      return absl::OkStatus();
    }
    bool same = sizes.size() == static_cast<size_t>(sizes_.size());
    for (int i = 0; same && i < static_cast<int>(sizes.size()); ++i) {
      same = i == d || !KnownDifferent(sizes[i], sizes_[i]);
    }
    if (!same) {
      return absl::InvalidArgumentError(
          absl::StrCat("cat: operand ", count_, " of shape ", FormatDims<D>(sizes),
                       " does not fit ", FormatDims<D>(sizes_), " along dimension ", dim_));
    }
    sizes_[d] = sizes_[d] + sizes[d];
    ++count_;
    return absl::OkStatus();
  }
  static bool Skips(absl::Span<const D> sizes) {
    return sizes.size() == 1 && KnownInt(sizes[0]) == 0;
  }

  // kInvalidArgument when there was no operand. [0] when all of them counted as nothing.
  // PyTorch does not look at the dimension then.
  absl::StatusOr<Dims<D>> Result() const {
    if (count_ == 0) return absl::InvalidArgumentError("cat: expected at least one tensor");
    if (started_) return sizes_;
    Dims<D> nothing;
    nothing.push_back(D(int64_t{0}));
    return nothing;
  }
  // Counted from 0. Precondition: an operand of more than nothing.
  int dim() const { return dim_; }

 private:
  int count_ = 0;
  bool started_ = false;
  Dims<D> sizes_;
  int dim_ = 0;
};

// pixel_shuffle: [.., c*r*r, h, w] becomes [.., c, h*r, w*r]; pixel_unshuffle is its inverse.
// (PyTorch's pixel_unshuffle returns a tensor without elements as it is; callers see to that.)
template <class D>
absl::StatusOr<Dims<D>> PixelShuffleShape(absl::Span<const D> sizes, int64_t factor, bool inverse) {
  const std::string_view op = inverse ? "pixel_unshuffle" : "pixel_shuffle";
  if (sizes.size() < 3 || factor <= 0 || factor > (int64_t{1} << 31)) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": expected at least 3 dimensions and a positive factor, got ",
                     FormatDims<D>(sizes), " and ", factor));
  }
  Dims<D> out;
  for (const D& size : sizes) out.push_back(size);
  const int c = static_cast<int>(sizes.size()) - 3;
  const D r = D(factor);
  const D area = D(factor * factor);
  const auto divides = [&](int d, const D& by) {
    return !KnownDifferent(FloorDiv(out[d], by) * by, out[d]);
  };
  if (inverse ? !divides(c + 1, r) || !divides(c + 2, r) : !divides(c, area)) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": ", FormatDims<D>(sizes), " does not divide by the factor ", factor));
  }
  out[c] = inverse ? out[c] * area : FloorDiv(out[c], area);
  for (int d = c + 1; d < c + 3; ++d) out[d] = inverse ? FloorDiv(out[d], r) : out[d] * r;
  return out;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_PAD_H_
