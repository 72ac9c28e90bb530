// Shape rules and calls of operators that copy elements to new positions: copies, concatenation,
// repetition, flips, pixel shuffles.
//
// Source: aten/src/ATen/native/{PixelShuffle,Repeat,TensorShape,TensorTransformations}.cpp of
// PyTorch.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_MOVEMENT_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_MOVEMENT_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

// clone, _to_copy and the dim_order_ops. The planned output encodes the other arguments.
template <class Arguments>
struct CopyCall {
  typename Arguments::TensorRef self;

  static absl::StatusOr<CopyCall> Read(const Arguments& arguments) {
    CopyCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    return call;
  }
};

// copy, copy_: replaces self by src, expanded.
template <class Arguments>
struct CopyFromCall {
  typename Arguments::TensorRef self, src;
  MutableArgument target;  // self, if the call mutates it

  static absl::StatusOr<CopyFromCall> Read(const Arguments& arguments) {
    CopyFromCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.target, arguments.Mutable("self"));
    ABSL_ASSIGN_OR_RETURN(call.src, arguments.Tensor("src"));
    return call;
  }
};

// Accumulates the result shape of `cat`, operand by operand. As in PyTorch (a legacy rule),
// operands of shape [0] are skipped, whatever the rank of the others.
template <class D>
class CatShape {
 public:
  // kInvalidArgument if the operand is incompatible with earlier ones.
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

  // kInvalidArgument without operands. [0] if all operands were skipped; PyTorch ignores `dim` in
  // that case.
  absl::StatusOr<Dims<D>> Result() const {
    if (count_ == 0) return absl::InvalidArgumentError("cat: expected at least one tensor");
    if (started_) return sizes_;
    Dims<D> nothing;
    nothing.push_back(D(int64_t{0}));
    return nothing;
  }
  // Counted from 0. Precondition: not all operands were skipped.
  int dim() const { return dim_; }

 private:
  int count_ = 0;
  bool started_ = false;
  Dims<D> sizes_;
  int dim_ = 0;
};

// cat, stack.
template <class Arguments>
struct JoinCall {
  typename Arguments::TensorListRef tensors = {};
  int64_t dim = 0;

  static absl::StatusOr<JoinCall> Read(const Arguments& arguments) {
    JoinCall call;
    ABSL_ASSIGN_OR_RETURN(call.tensors, arguments.TensorList("tensors"));
    ABSL_ASSIGN_OR_RETURN(call.dim, arguments.StaticInt("dim"));
    return call;
  }
};

template <class Arguments>
struct FlipCall {
  typename Arguments::TensorRef self;
  uint32_t mask = 0;  // bits of the flipped dimensions

  static absl::StatusOr<FlipCall> Read(const Arguments& arguments) {
    FlipCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    const int rank = call.self->rank();
    ABSL_RETURN_IF_ERROR(CheckRank(static_cast<size_t>(rank)));
    ABSL_ASSIGN_OR_RETURN(const Sizes dims, arguments.StaticIntList("dims"));
    ABSL_ASSIGN_OR_RETURN(call.mask, DimMask(dims, rank));
    return call;
  }
};

template <class Arguments>
struct RollCall {
  typename Arguments::TensorRef self;
  Dims<typename Arguments::Dim> shifts;
  Sizes dims;  // one per shift; empty: self is flattened

  static absl::StatusOr<RollCall> Read(const Arguments& arguments) {
    RollCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.shifts, arguments.IntList("shifts"));
    ABSL_ASSIGN_OR_RETURN(call.dims, arguments.StaticIntList("dims"));
    const int shifts = static_cast<int>(call.shifts.size()), dims = call.dims.size();
    if (shifts == 0 || shifts != (dims == 0 ? 1 : dims)) {
      return absl::InvalidArgumentError(
          absl::StrCat("roll: ", shifts, " shifts for ", dims, " dims"));
    }
    if (dims != 0 && call.self->rank() == 0) {
      return absl::OutOfRangeError("roll: a scalar tensor has no dimensions to roll along");
    }
    return call;
  }
};

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
    // An empty dimension may be repeated a negative number of times: it stays empty.
    if (KnownNegative(repeats[d]) && (d < added || KnownInt(sizes[d - added]) != 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("repeat: negative number in ", FormatDims<D>(repeats)));
    }
    out.push_back(d < added ? repeats[d] : sizes[d - added] * repeats[d]);
  }
  return out;
}

template <class Arguments>
struct RepeatCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef self;
  Dims<D> repeats;

  static absl::StatusOr<RepeatCall> Read(const Arguments& arguments) {
    RepeatCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.repeats, arguments.IntList("repeats"));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    return RepeatedShape<D>(Arguments::SizesOf(self), repeats);
  }
};

// repeat_interleave.Tensor: index k is repeated repeats[k] times.
template <class Arguments>
struct RepeatedIndicesCall {
  typename Arguments::TensorRef repeats;
  std::optional<typename Arguments::Dim> output_size;  // the sum of repeats

  static absl::StatusOr<RepeatedIndicesCall> Read(const Arguments& arguments) {
    RepeatedIndicesCall call;
    ABSL_ASSIGN_OR_RETURN(call.repeats,
                          arguments.Tensor("repeats", {DType::kInt32, DType::kInt64}));
    if (call.repeats->rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "repeat_interleave: repeats must be a vector, got rank ", call.repeats->rank()));
    }
    if (!arguments.IsNone("output_size")) {
      ABSL_ASSIGN_OR_RETURN(call.output_size, arguments.Int("output_size"));
    }
    return call;
  }
};

// repeat_interleave.self_int: repeats each element of a dimension, or of the flattened tensor.
template <class Arguments>
struct RepeatedElementsCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef self;
  D repeats = D(int64_t{1});
  int dim = 0;        // counted from 0
  bool flat = false;  // self is flattened

  static absl::StatusOr<RepeatedElementsCall> Read(const Arguments& arguments) {
    RepeatedElementsCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.repeats, arguments.Int("repeats"));
    call.flat = arguments.IsNone("dim");
    if (!call.flat) {
      ABSL_ASSIGN_OR_RETURN(call.dim, ReadDim(arguments, call.self->rank()));
    }
    return call;
  }
  // `elements` is self.numel().
  Dims<D> Shape(const D& elements) const {
    Dims<D> sizes = Arguments::SizesOf(self);
    if (flat || sizes.empty()) sizes = Dims<D>{elements};
    sizes[dim] = sizes[dim] * repeats;
    return sizes;
  }
};

// tril, triu.
template <class Arguments>
struct TriangleCall {
  typename Arguments::TensorRef self;
  typename Arguments::Dim diagonal = typename Arguments::Dim(int64_t{0});

  static absl::StatusOr<TriangleCall> Read(const Arguments& arguments) {
    TriangleCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.diagonal, arguments.Int("diagonal"));
    if (call.self->rank() >= 2) return call;
    return absl::InvalidArgumentError(
        absl::StrCat("expected at least 2 dimensions, got rank ", call.self->rank()));
  }
};

// pixel_shuffle: [.., c*r*r, h, w] -> [.., c, h*r, w*r]; pixel_unshuffle is its inverse. PyTorch's
// pixel_unshuffle returns an empty tensor unchanged; callers handle that case.
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

template <class Arguments>
struct PixelShuffleCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef self;
  int64_t factor = 1;
  bool inverse = false;  // pixel_unshuffle

  static absl::StatusOr<PixelShuffleCall> Read(const Arguments& arguments) {
    PixelShuffleCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    call.inverse = arguments.Has("downscale_factor");
    ABSL_ASSIGN_OR_RETURN(
        call.factor, arguments.StaticInt(call.inverse ? "downscale_factor" : "upscale_factor"));
    ABSL_RETURN_IF_ERROR(CheckRank(static_cast<size_t>(call.self->rank()) + 2));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    return PixelShuffleShape<D>(Arguments::SizesOf(self), factor, inverse);
  }
};

// resize_, and _empty_dim_order, which has no self: allocates memory of this size.
template <class Arguments>
struct ResizeCall {
  typename Arguments::TensorRef self = nullptr;
  MutableArgument target;  // self, which the call mutates
  Dims<typename Arguments::Dim> size;

  static absl::StatusOr<ResizeCall> Read(const Arguments& arguments) {
    ResizeCall call;
    if (arguments.Has("self")) {
      ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
      ABSL_ASSIGN_OR_RETURN(call.target, arguments.Mutable("self"));
    }
    ABSL_ASSIGN_OR_RETURN(call.size, arguments.IntList("size"));
    return call;
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_MOVEMENT_H_
