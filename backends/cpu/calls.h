// Argument readers and shape rules of the CPU backend's operators, shared by meta kernels and
// kernels.
//
// linear, conv2d and depthwise_conv2d end with an epilogue. They compute
//
//   clamp(activation(sum + bias + other), low, high)        combine "add", or no `other`
//   clamp(activation(sum + bias) * other, low, high)        combine "mul"
//
// where `other` has the shape of the result. relu is a clamp from 0 to infinity. Unless stated
// otherwise, tensors are float32. Weights are packed (runtime/kernels/packed/packed_weights.h).
//
// Source: docs/performance.md §2.4.
#ifndef BELAY_BACKENDS_CPU_CALLS_H_
#define BELAY_BACKENDS_CPU_CALLS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/convolution.h"
#include "runtime/kernels/packed/epilogue.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/winograd_weights.h"

namespace belay::cpu {

inline constexpr DTypeSet kFloat = {DType::kFloat32};
inline constexpr DTypeSet kPooled = {DType::kFloat32, DType::kBFloat16, DType::kUint8};

// kInvalidArgument unless `packed`, the argument `name`, is a one-dimensional list of `expected`
// elements. nullopt: the packed form is too large.
template <class D>
absl::Status CheckPackedSize(absl::Span<const D> packed, std::optional<int64_t> expected,
                             std::string_view name = "weight") {
  if (!expected.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": its packed form is too large"));
  }
  if (packed.size() != 1 || KnownInt(packed[0]) != expected) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": expected the packed shape [", *expected,
                                                   "], got ", FormatDims<D>(packed)));
  }
  return absl::OkStatus();
}

// kInvalidArgument unless `sizes` are [channels].
template <class D>
absl::Status CheckPerChannel(std::string_view name, absl::Span<const D> sizes, const D& channels) {
  if (sizes.size() == 1 && !KnownDifferent(sizes[0], channels)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": expected shape [", DimToString(channels),
                                                 "], got ", FormatDims<D>(sizes)));
}

// low <= high; neither is NaN.
struct Bounds {
  float low = 0, high = 0;

  static absl::StatusOr<Bounds> Of(double low, double high) {
    if (low <= high) return Bounds{static_cast<float>(low), static_cast<float>(high)};
    return absl::InvalidArgumentError(
        absl::StrCat("low: expected at most high, ", high, ", got ", low));
  }
};
template <class Arguments>
absl::StatusOr<Bounds> ReadBounds(const Arguments& arguments) {
  ABSL_ASSIGN_OR_RETURN(const double low, arguments.Double("low"));
  ABSL_ASSIGN_OR_RETURN(const double high, arguments.Double("high"));
  return Bounds::Of(low, high);
}

template <class Arguments>
absl::StatusOr<Activation> ReadActivation(const Arguments& arguments) {
  ABSL_ASSIGN_OR_RETURN(const auto name, arguments.String("activation"));
  const std::optional<Activation> activation = ActivationOf(name);
  if (activation.has_value()) return *activation;
  return absl::InvalidArgumentError(
      absl::StrCat("activation: expected one of ", ActivationNames(), ", got '", name, "'"));
}

// True if `combine` is "mul", false if it is "add"; else kInvalidArgument.
template <class Arguments>
absl::StatusOr<bool> ReadMultiply(const Arguments& arguments) {
  ABSL_ASSIGN_OR_RETURN(const auto combine, arguments.String("combine"));
  if (combine == "add" || combine == "mul") return combine == "mul";
  return absl::InvalidArgumentError(
      absl::StrCat("combine: expected 'add' or 'mul', got '", combine, "'"));
}

// Reads bias, other, activation, combine, low and high.
template <class Arguments>
struct EpilogueCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef bias, other;  // null for none
  Activation activation = Activation::kNone;
  bool multiply = false;
  Bounds bounds;

  // `result` is the dtype of the result and of `other`.
  static absl::StatusOr<EpilogueCall> Read(const Arguments& arguments, DTypeSet result = kFloat) {
    EpilogueCall call;
    ABSL_ASSIGN_OR_RETURN(call.bias, arguments.OptionalTensor("bias", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.other, arguments.OptionalTensor("other", result));
    ABSL_ASSIGN_OR_RETURN(call.activation, ReadActivation(arguments));
    ABSL_ASSIGN_OR_RETURN(call.multiply, ReadMultiply(arguments));
    ABSL_ASSIGN_OR_RETURN(call.bounds, ReadBounds(arguments));
    return call;
  }

  // Checks the shapes of bias and `other` for a result of this shape. The bias runs along dimension
  // `channels`.
  absl::Status CheckShapes(absl::Span<const D> result, int channels) const {
    if (bias != nullptr) {
      ABSL_RETURN_IF_ERROR(CheckPerChannel<D>("bias", Arguments::SizesOf(bias), result[channels]));
    }
    if (other == nullptr) return absl::OkStatus();
    return CheckSameShape<D>("other", Arguments::SizesOf(other), result);
  }
};

// Reads the number of output features or channels. kInvalidArgument if it is below 1.
template <class Arguments>
absl::StatusOr<int64_t> ReadFeatures(const Arguments& arguments, std::string_view name) {
  ABSL_ASSIGN_OR_RETURN(const int64_t features, arguments.StaticInt(name));
  ABSL_RETURN_IF_ERROR(ExpectAtLeast(name, {&features, 1}, 1));
  return features;
}

// Returns the last size of an input. kInvalidArgument if it is symbolic or the input has rank 0.
template <class D>
absl::StatusOr<int64_t> FeaturesOf(absl::Span<const D> input) {
  const std::optional<int64_t> k = input.empty() ? std::nullopt : KnownInt(input.back());
  if (k.has_value()) return *k;
  return absl::InvalidArgumentError(
      absl::StrCat("input: expected a last dimension that is known, got ", FormatDims<D>(input)));
}

// belay_cpu::linear: input [..., k], weight of [k, out_features] -> [..., out_features].
template <class Arguments>
struct LinearCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input, weight;
  int64_t out_features = 0;
  EpilogueCall<Arguments> epilogue;

  static absl::StatusOr<LinearCall> Read(const Arguments& arguments) {
    LinearCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.out_features, ReadFeatures(arguments, "out_features"));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, EpilogueCall<Arguments>::Read(arguments));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    Dims<D> shape = Dims<D>(Arguments::SizesOf(input));
    ABSL_ASSIGN_OR_RETURN(const int64_t k, FeaturesOf<D>(shape));
    ABSL_RETURN_IF_ERROR(
        CheckPackedSize<D>(Arguments::SizesOf(weight), PackedMatrixSize(k, out_features)));
    shape[shape.size() - 1] = D(out_features);
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(shape, static_cast<int>(shape.size()) - 1));
    return shape;
  }
};

// kernel_size, stride, padding and dilation of 2-D windows, rows before columns.
struct Window {
  std::array<int64_t, 2> kernel_size, stride, dilation;
  std::array<int64_t, 2> padding, padding_after;  // above and to the left; below and to the right
  int64_t taps() const { return kernel_size[0] * kernel_size[1]; }
};

template <class Arguments>
absl::StatusOr<Window> ReadWindow(const Arguments& arguments) {
  Window window;
  // `padding` may also be given as [top, left, bottom, right]; `after` receives the last two.
  const auto read = [&](std::string_view name, int64_t least, std::array<int64_t, 2>& to,
                        std::array<int64_t, 2>* after = nullptr) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const Sizes list, arguments.StaticIntList(name));
    const bool both = after != nullptr && list.size() == 4;
    if (!both) ABSL_RETURN_IF_ERROR(ExactlyPerDimension(name, list, 2).status());
    ABSL_RETURN_IF_ERROR(ExpectAtLeast(name, list, least));
    // Bounds the values so that window positions stay far from the limits of int64.
    for (int64_t value : list) {
      if (value > int64_t{1} << 24) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": expected numbers of at most 2^24, got ", FormatSizes(list)));
      }
    }
    to = {list[0], list[1]};
    if (after != nullptr) *after = both ? std::array<int64_t, 2>{list[2], list[3]} : to;
    return absl::OkStatus();
  };
  ABSL_RETURN_IF_ERROR(read("kernel_size", 1, window.kernel_size));
  ABSL_RETURN_IF_ERROR(read("stride", 1, window.stride));
  ABSL_RETURN_IF_ERROR(read("padding", 0, window.padding, &window.padding_after));
  ABSL_RETURN_IF_ERROR(read("dilation", 1, window.dilation));
  return window;
}

// Whether winograd_conv2d supports the window.
inline bool IsForWinograd(const Window& window) {
  constexpr std::array<int64_t, 2> kOnes = {1, 1}, kThrees = {3, 3};
  return window.kernel_size == kThrees && window.stride == kOnes && window.dilation == kOnes;
}

// Images with fewer channels may have any layout: convolutions copy them, with their padding.
inline constexpr int64_t kFewChannels = 8;

// The terms of one output element: `count` taps of `size` contiguous elements each.
struct TapSizes {
  int64_t count, size;
};
// Whether the pixels of each row of the window are adjacent in the image.
inline bool RowsAreDense(const Window& window) {
  return window.dilation[1] == 1 || window.kernel_size[1] == 1;
}
// Taps of a window on padded images of few channels: window rows if they are dense, else pixels.
inline TapSizes FewChannelTaps(int64_t channels, const Window& window) {
  if (!RowsAreDense(window)) return {window.taps(), channels};
  return {window.kernel_size[0], window.kernel_size[1] * channels};
}

// Returns c of images [n, c, h, w]. kInvalidArgument for another rank or a symbolic c.
template <class D>
absl::StatusOr<int64_t> ChannelsOf(absl::Span<const D> images) {
  const std::optional<int64_t> channels = images.size() == 4 ? KnownInt(images[1]) : std::nullopt;
  if (channels.has_value()) return *channels;
  return absl::InvalidArgumentError(absl::StrCat(
      "input: expected images [n, c, h, w] of known channels, got ", FormatDims<D>(images)));
}

// Returns [n, c, window positions per dimension] for images [n, c, h, w]. kInvalidArgument if a
// dimension has no position.
template <class D>
absl::StatusOr<Dims<D>> PlacesOf(const Window& window, const Dims<D>& images) {
  Dims<D> places = images;
  for (int s = 0; s < 2; ++s) {
    const D padded = images[2 + s] + D(window.padding[s] + window.padding_after[s]);
    places[2 + s] = WindowCount(padded, D(window.kernel_size[s]), window.stride[s], /*padding=*/0,
                                window.dilation[s]);
    const std::optional<int64_t> known = KnownInt(places[2 + s]);
    if (known.has_value() && *known < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input: ", FormatDims<D>(images), " is too small for a window of ",
                       window.kernel_size[0], " by ", window.kernel_size[1]));
    }
  }
  return places;
}

// Elements of a packed weight; out_channels 0 means depthwise. nullopt on overflow.
inline std::optional<int64_t> PackedConvolutionSize(int64_t channels, int64_t taps,
                                                    int64_t out_channels) {
  if (out_channels == 0) return PackedDepthwiseSize(channels, taps);
  const CheckedInt rows = CheckedInt(taps) * CheckedInt(channels);
  return rows.ok() ? PackedMatrixSize(rows.value(), out_channels) : std::nullopt;
}

// Operands that all convolution calls share.
template <class Arguments, bool kDepthwise>
struct Conv2dOperands {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input, weight;
  int64_t out_channels = 0;  // not of depthwise convolutions
  Window window;

  absl::Status ReadOperands(const Arguments& arguments, DTypeSet input_types,
                            DTypeSet weight_types) {
    ABSL_ASSIGN_OR_RETURN(input, arguments.Tensor("input", input_types));
    ABSL_ASSIGN_OR_RETURN(weight, arguments.Tensor("weight", weight_types));
    if constexpr (!kDepthwise) {
      ABSL_ASSIGN_OR_RETURN(out_channels, ReadFeatures(arguments, "out_channels"));
    }
    ABSL_ASSIGN_OR_RETURN(window, ReadWindow(arguments));
    return absl::OkStatus();
  }
  absl::StatusOr<int64_t> Channels() const { return ChannelsOf<D>(Arguments::SizesOf(input)); }
  // Returns the result's shape, given the element count of the packed weight.
  absl::StatusOr<Dims<D>> ShapeFor(std::optional<int64_t> packed_size) const {
    ABSL_RETURN_IF_ERROR(CheckPackedSize<D>(Arguments::SizesOf(weight), packed_size));
    ABSL_ASSIGN_OR_RETURN(Dims<D> out, PlacesOf<D>(window, Dims<D>(Arguments::SizesOf(input))));
    if (!kDepthwise) out[1] = D(out_channels);
    return out;
  }
};

// belay_cpu::conv2d (kDepthwise false): input [n, c, h, w], weight packed from [taps * c,
// out_channels] -> [n, out_channels, …], channels last. Rows of the weight are ordered by tap, row
// by row, channels innermost. `padding` is [rows, columns] for both sides, or [top, left, bottom,
// right]; it pads with zeros.
//
// belay_cpu::depthwise_conv2d: one filter per channel, no out_channels, weight packed from [c,
// taps].
template <class Arguments, bool kDepthwise>
struct Conv2dCall : Conv2dOperands<Arguments, kDepthwise> {
  using D = typename Arguments::Dim;
  EpilogueCall<Arguments> epilogue;

  static absl::StatusOr<Conv2dCall> Read(const Arguments& arguments) {
    Conv2dCall call;
    ABSL_RETURN_IF_ERROR(call.ReadOperands(arguments, kFloat, kFloat));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, EpilogueCall<Arguments>::Read(arguments));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    ABSL_ASSIGN_OR_RETURN(const int64_t channels, this->Channels());
    return ShapeOf(PackedConvolutionSize(channels, this->window.taps(), this->out_channels));
  }

 protected:
  // Like Shape(), given the element count of the packed weight.
  absl::StatusOr<Dims<D>> ShapeOf(std::optional<int64_t> packed_size) const {
    ABSL_ASSIGN_OR_RETURN(const Dims<D> out, this->ShapeFor(packed_size));
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(out, 1));
    return out;
  }
};

// The tile that a packed weight of these sizes is transformed for, by its number of elements.
template <class D>
WinogradTile WinogradTileOf(absl::Span<const D> weight, int64_t planes, int64_t channels,
                            int64_t out_channels) {
  const std::optional<int64_t> elements = weight.size() == 1 ? KnownInt(weight[0]) : std::nullopt;
  const bool is_4x4 =
      elements.has_value() &&
      elements == PackedWinogradSize(WinogradTile::k4x4, planes, channels, out_channels);
  return is_4x4 ? WinogradTile::k4x4 : WinogradTile::k2x2;
}

// belay_cpu::winograd_conv2d: conv2d on channels last images with 3x3 filters, stride 1 and
// dilation 1. The weight is transformed ahead of time (runtime/kernels/packed/winograd_weights.h)
// and has PackedWinogradSize elements for tiles of 2x2 or of 4x4 results.
template <class Arguments>
struct WinogradConv2dCall : Conv2dCall<Arguments, false> {
  using D = typename Arguments::Dim;

  static absl::StatusOr<WinogradConv2dCall> Read(const Arguments& arguments) {
    using Base = Conv2dCall<Arguments, false>;
    WinogradConv2dCall call;
    ABSL_ASSIGN_OR_RETURN(static_cast<Base&>(call), Base::Read(arguments));
    if (IsForWinograd(call.window)) return call;
    return absl::InvalidArgumentError(
        "kernel_size: expected 3 by 3, with stride and dilation 1, for winograd_conv2d");
  }
  absl::StatusOr<Dims<D>> Shape() const {
    ABSL_ASSIGN_OR_RETURN(const int64_t channels, this->Channels());
    return this->ShapeOf(PackedWinogradSize(TileFor(channels), 1, channels, this->out_channels));
  }
  // The tile that the weight is transformed for. Precondition: Shape() returned a shape.
  WinogradTile tile() const { return TileFor(*this->Channels()); }

 private:
  WinogradTile TileFor(int64_t channels) const {
    return WinogradTileOf<D>(Arguments::SizesOf(this->weight), 1, channels, this->out_channels);
  }
};

// belay_cpu::max_pool2d: window maxima of float32, bfloat16 or uint8 images, without indices. NaN
// compares greater than every number. `padding` has the form that conv2d accepts and is less
// than the window, so every window contains a pixel. The dilation is 1.
template <class Arguments>
struct MaxPool2dCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input;
  Window window;

  static absl::StatusOr<MaxPool2dCall> Read(const Arguments& arguments) {
    MaxPool2dCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kPooled));
    ABSL_ASSIGN_OR_RETURN(call.window, ReadWindow(arguments));
    const Window& w = call.window;
    for (int s = 0; s < 2; ++s) {
      if (w.dilation[s] != 1 || w.padding[s] >= w.kernel_size[s] ||
          w.padding_after[s] >= w.kernel_size[s]) {
        return absl::InvalidArgumentError("padding: expected less than the window and no dilation");
      }
    }
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    const Dims<D> in = Dims<D>(Arguments::SizesOf(input));
    ABSL_RETURN_IF_ERROR(ChannelsOf<D>(in).status());
    return PlacesOf<D>(window, in);
  }
};

// Dtypes of keys and values.
inline constexpr DTypeSet kAttended = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};

// belay_cpu::attention:
//
//   query [..., heads, queries, size], key [..., kv_heads, keys, size],
//   value [..., kv_heads, keys, value_size] -> [..., heads, queries, value_size]
//
// Queries are float32; keys and values have one dtype of kAttended. All have the same batch and
// rank 3 or 4; heads is a multiple of kv_heads. The mask broadcasts to [..., heads, queries, keys].
// A float32 mask is added; in a bool mask true means visible.
template <class Arguments>
struct AttentionCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef query, key, value, mask;  // the last null for none
  double scale = 1;
  bool is_causal = false;
  bool nan_rows = false;  // rows without a score above -inf are NaN, as with softmax, else 0

  static absl::StatusOr<AttentionCall> Read(const Arguments& arguments) {
    AttentionCall call;
    ABSL_ASSIGN_OR_RETURN(call.query, arguments.Tensor("query", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.key, arguments.Tensor("key", kAttended));
    ABSL_ASSIGN_OR_RETURN(call.value, arguments.Tensor("value", DTypeSet{call.key->dtype}));
    ABSL_ASSIGN_OR_RETURN(
        call.mask, arguments.OptionalTensor("mask", DTypeSet{DType::kFloat32, DType::kBool}));
    ABSL_ASSIGN_OR_RETURN(call.scale, arguments.Double("scale"));
    ABSL_ASSIGN_OR_RETURN(call.is_causal, arguments.Bool("is_causal"));
    ABSL_ASSIGN_OR_RETURN(call.nan_rows, arguments.Bool("nan_rows"));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    const Dims<D> q = Dims<D>(Arguments::SizesOf(query)), k = Dims<D>(Arguments::SizesOf(key)),
                  v = Dims<D>(Arguments::SizesOf(value));
    const int rank = static_cast<int>(q.size());
    const auto fits = [&]() {
      if (rank < 3 || rank > 4 || k.size() != q.size() || v.size() != q.size()) return false;
      const std::optional<int64_t> heads = KnownInt(q[rank - 3]), shared = KnownInt(k[rank - 3]);
      return heads.has_value() && shared.has_value() && *shared >= 1 && *heads % *shared == 0 &&
             !KnownDifferent(k[rank - 3], v[rank - 3]) &&
             (rank == 3 || !KnownDifferent(q[0], k[0])) && !KnownDifferent(k[0], v[0]) &&
             !KnownDifferent(q[rank - 1], k[rank - 1]) && !KnownDifferent(k[rank - 2], v[rank - 2]);
    };
    if (!fits()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attention: expected query [.., heads, queries, size], key [.., kv_heads, keys, size] "
          "and value [.., kv_heads, keys, value_size], got ",
          FormatDims<D>(q), ", ", FormatDims<D>(k), " and ", FormatDims<D>(v)));
    }
    Dims<D> scores = q;
    scores[rank - 1] = k[rank - 2];
    if (mask != nullptr) {
      const Dims<D> m = Dims<D>(Arguments::SizesOf(mask));
      const int mask_rank = static_cast<int>(m.size());
      bool broadcasts = mask_rank <= rank;
      for (int i = 0; broadcasts && i < mask_rank; ++i) {
        const D& size = m[mask_rank - 1 - i];
        broadcasts = KnownInt(size) == 1 || !KnownDifferent(size, scores[rank - 1 - i]);
      }
      if (!broadcasts) {
        return absl::InvalidArgumentError(absl::StrCat("mask: expected a shape that broadcasts to ",
                                                       FormatDims<D>(scores), ", got ",
                                                       FormatDims<D>(m)));
      }
    }
    Dims<D> out = q;
    out[rank - 1] = v[rank - 1];
    return out;
  }
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_CALLS_H_
