// The calls of the CPU backend's operators: what their meta kernels and their kernels read.
//
// Every operator ends with an epilogue: it computes
//
//   clamp(activation(sum + bias + other), low, high)        combine "add", or no `other`
//   clamp(activation(sum + bias) * other, low, high)        combine "mul"
//
// where `other` has the shape of the result. relu is a clamp from 0 to infinity. All tensors are
// float32. Weights are packed (runtime/kernels/packed/packed_weights.h). Source:
// docs/performance.md, fused operators.
#ifndef BELAY_BACKENDS_CPU_CALLS_H_
#define BELAY_BACKENDS_CPU_CALLS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/convolution.h"
#include "runtime/kernels/packed/epilogue.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {

inline constexpr DTypeSet kFloat = {DType::kFloat32};

// kInvalidArgument unless `weight` is a list of so many floats as the packed form has.
template <class D>
absl::Status CheckPackedSize(absl::Span<const D> weight, std::optional<int64_t> expected) {
  if (!expected.has_value()) {
    return absl::InvalidArgumentError("weight: its packed form is too large");
  }
  if (weight.size() != 1 || KnownInt(weight[0]) != expected) {
    return absl::InvalidArgumentError(absl::StrCat("weight: expected the packed shape [", *expected,
                                                   "], got ", FormatDims<D>(weight)));
  }
  return absl::OkStatus();
}

// bias, other, activation, combine, low and high.
template <class Arguments>
struct EpilogueCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef bias, other;  // null for none
  Activation activation = Activation::kNone;
  bool multiply = false;
  float low = 0, high = 0;

  static absl::StatusOr<EpilogueCall> Read(const Arguments& arguments) {
    EpilogueCall call;
    ABSL_ASSIGN_OR_RETURN(call.bias, arguments.OptionalTensor("bias", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.other, arguments.OptionalTensor("other", kFloat));
    ABSL_ASSIGN_OR_RETURN(const auto name, arguments.String("activation"));
    const std::optional<Activation> activation = ActivationOf(name);
    if (!activation.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("activation: expected one of ", ActivationNames(), ", got '", name, "'"));
    }
    call.activation = *activation;
    ABSL_ASSIGN_OR_RETURN(const auto combine, arguments.String("combine"));
    if (combine != "add" && combine != "mul") {
      return absl::InvalidArgumentError(
          absl::StrCat("combine: expected 'add' or 'mul', got '", combine, "'"));
    }
    call.multiply = combine == "mul";
    ABSL_ASSIGN_OR_RETURN(const double low, arguments.Double("low"));
    ABSL_ASSIGN_OR_RETURN(const double high, arguments.Double("high"));
    if (!(low <= high)) {
      return absl::InvalidArgumentError(
          absl::StrCat("low: expected at most high, ", high, ", got ", low));
    }
    call.low = static_cast<float>(low);
    call.high = static_cast<float>(high);
    return call;
  }

  // Of a result of this shape whose dimension `channels` the bias runs along.
  absl::Status CheckShapes(absl::Span<const D> result, int channels) const {
    if (bias != nullptr) {
      const Dims<D> sizes = Dims<D>(Arguments::SizesOf(bias));
      if (sizes.size() != 1 || KnownDifferent(sizes[0], result[channels])) {
        return absl::InvalidArgumentError(absl::StrCat("bias: expected shape [",
                                                       DimToString(result[channels]), "], got ",
                                                       FormatDims<D>(sizes)));
      }
    }
    if (other == nullptr) return absl::OkStatus();
    return CheckSameShape<D>("other", Arguments::SizesOf(other), result);
  }
};

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
    ABSL_ASSIGN_OR_RETURN(call.out_features, arguments.StaticInt("out_features"));
    ABSL_RETURN_IF_ERROR(ExpectAtLeast("out_features", {&call.out_features, 1}, 1));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, EpilogueCall<Arguments>::Read(arguments));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    Dims<D> shape = Dims<D>(Arguments::SizesOf(input));
    const std::optional<int64_t> k =
        shape.size() == 0 ? std::nullopt : KnownInt(shape[shape.size() - 1]);
    if (!k.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input: expected a last dimension that is known, got ", FormatDims<D>(shape)));
    }
    ABSL_RETURN_IF_ERROR(
        CheckPackedSize<D>(Arguments::SizesOf(weight), PackedMatrixSize(*k, out_features)));
    shape[shape.size() - 1] = D(out_features);
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(shape, static_cast<int>(shape.size()) - 1));
    return shape;
  }
};

// stride, padding, dilation and kernel_size of images.
struct Window {
  std::array<int64_t, 2> kernel_size, stride, padding, dilation;
  int64_t taps() const { return kernel_size[0] * kernel_size[1]; }
};

template <class Arguments>
absl::StatusOr<Window> ReadWindow(const Arguments& arguments) {
  Window window;
  const auto read = [&](std::string_view name, int64_t least,
                        std::array<int64_t, 2>& to) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const Sizes list, arguments.StaticIntList(name));
    ABSL_ASSIGN_OR_RETURN(const Sizes two, ExactlyPerDimension(name, list, 2));
    ABSL_RETURN_IF_ERROR(ExpectAtLeast(name, two, least));
    to = {two[0], two[1]};
    // So that places of a window are far from the end of int64.
    for (int64_t value : to) {
      if (value > int64_t{1} << 24) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": expected numbers of at most 2^24, got ", FormatSizes(two)));
      }
    }
    return absl::OkStatus();
  };
  ABSL_RETURN_IF_ERROR(read("kernel_size", 1, window.kernel_size));
  ABSL_RETURN_IF_ERROR(read("stride", 1, window.stride));
  ABSL_RETURN_IF_ERROR(read("padding", 0, window.padding));
  ABSL_RETURN_IF_ERROR(read("dilation", 1, window.dilation));
  return window;
}

// belay_cpu::conv2d (kDepthwise false): input [n, c, h, w], weight of [taps * c, out_channels], the
// taps row by row, channels innermost -> [n, out_channels, …], channels last.
// belay_cpu::depthwise_conv2d: every channel by itself; no out_channels; weight of [c, taps].
template <class Arguments, bool kDepthwise>
struct Conv2dCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input, weight;
  int64_t out_channels = 0;
  Window window;
  EpilogueCall<Arguments> epilogue;

  static absl::StatusOr<Conv2dCall> Read(const Arguments& arguments) {
    Conv2dCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", kFloat));
    if constexpr (!kDepthwise) {
      ABSL_ASSIGN_OR_RETURN(call.out_channels, arguments.StaticInt("out_channels"));
      ABSL_RETURN_IF_ERROR(ExpectAtLeast("out_channels", {&call.out_channels, 1}, 1));
    }
    ABSL_ASSIGN_OR_RETURN(call.window, ReadWindow(arguments));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, EpilogueCall<Arguments>::Read(arguments));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    Dims<D> in = Dims<D>(Arguments::SizesOf(input));
    const std::optional<int64_t> channels = in.size() == 4 ? KnownInt(in[1]) : std::nullopt;
    if (!channels.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input: expected images [n, c, h, w] of known channels, got ", FormatDims<D>(in)));
    }
    const CheckedInt rows = CheckedInt(window.taps()) * CheckedInt(*channels);
    ABSL_RETURN_IF_ERROR(CheckPackedSize<D>(
        Arguments::SizesOf(weight), kDepthwise  ? PackedDepthwiseSize(*channels, window.taps())
                                    : rows.ok() ? PackedMatrixSize(rows.value(), out_channels)
                                                : std::nullopt));
    Dims<D> out = in;
    if (!kDepthwise) out[1] = D(out_channels);
    for (int s = 0; s < 2; ++s) {
      out[2 + s] = WindowCount(in[2 + s], D(window.kernel_size[s]), window.stride[s],
                               window.padding[s], window.dilation[s]);
      const std::optional<int64_t> known = KnownInt(out[2 + s]);
      if (known.has_value() && *known < 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("input: ", FormatDims<D>(in), " is too small for a window of ",
                         window.kernel_size[0], " by ", window.kernel_size[1]));
      }
    }
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(out, 1));
    return out;
  }
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_CALLS_H_
