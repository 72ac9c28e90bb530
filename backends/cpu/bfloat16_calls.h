// Calls of bfloat16_linear, bfloat16_conv2d, bfloat16_depthwise_conv2d and bfloat16_convolution:
// linear, conv2d, depthwise_conv2d (calls.h) and convolution (convolution_calls.h) on bfloat16
// tensors.
//
// Accumulators and the bias are float32. The result is rounded to bfloat16 after each step that
// replaces an operator of the program: sum + bias, + other, activation, * other. low and high are
// rounded to bfloat16 before they clamp.
//
// Weights are packed in the VNNI-2 layout (runtime/kernels/packed/packed_weights.h). The number of
// products per output element is therefore even. Weights of depthwise convolutions are float32, and
// packed as those of depthwise_conv2d.
#ifndef BELAY_BACKENDS_CPU_BFLOAT16_CALLS_H_
#define BELAY_BACKENDS_CPU_BFLOAT16_CALLS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/convolution_calls.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/packed/narrow_groups.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {

inline constexpr DTypeSet kBFloat16Alone = {DType::kBFloat16};

// Channels that a convolution reads: fewer than kFewChannels are copied and padded with zeros to an
// even number. Filters are packed with the same number of channels.
inline int64_t PairedChannels(int64_t channels) {
  return channels < kFewChannels ? channels + channels % 2 : channels;
}
// Whether bfloat16 convolutions support this number of channels.
inline bool HasPairsOfChannels(int64_t channels) {
  return channels > 0 && PairedChannels(channels) % 2 == 0;
}

// Elements of packed filters; nullopt on overflow.
inline std::optional<int64_t> PackedPairFiltersSize(int64_t channels, int64_t taps,
                                                    int64_t out_channels) {
  const CheckedInt rows = CheckedInt(taps) * CheckedInt(PairedChannels(channels));
  return rows.ok() ? PackedVnni2Size(rows.value(), out_channels) : std::nullopt;
}

// belay_cpu::bfloat16_linear: input [..., k], weight packed from [k, out_features] -> [...,
// out_features]. k is even.
template <class Arguments>
struct BFloat16LinearCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input, weight;
  int64_t out_features = 0;
  EpilogueCall<Arguments> epilogue;

  static absl::StatusOr<BFloat16LinearCall> Read(const Arguments& arguments) {
    BFloat16LinearCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kBFloat16Alone));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", kBFloat16Alone));
    ABSL_ASSIGN_OR_RETURN(call.out_features, ReadFeatures(arguments, "out_features"));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, EpilogueCall<Arguments>::Read(arguments, kBFloat16Alone));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    Dims<D> shape = Dims<D>(Arguments::SizesOf(input));
    ABSL_ASSIGN_OR_RETURN(const int64_t k, FeaturesOf<D>(shape));
    if (k % 2 != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input: expected an even last dimension, got ", FormatDims<D>(shape)));
    }
    ABSL_RETURN_IF_ERROR(
        CheckPackedSize<D>(Arguments::SizesOf(weight), PackedVnni2Size(k, out_features)));
    shape[shape.size() - 1] = D(out_features);
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(shape, static_cast<int>(shape.size()) - 1));
    return shape;
  }
};

// belay_cpu::bfloat16_conv2d: conv2d on images with an even number of channels, or fewer than 8.
template <class Arguments>
struct BFloat16Conv2dCall : Conv2dOperands<Arguments, /*kDepthwise=*/false> {
  using D = typename Arguments::Dim;
  EpilogueCall<Arguments> epilogue;

  static absl::StatusOr<BFloat16Conv2dCall> Read(const Arguments& arguments) {
    BFloat16Conv2dCall call;
    ABSL_RETURN_IF_ERROR(call.ReadOperands(arguments, kBFloat16Alone, kBFloat16Alone));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, EpilogueCall<Arguments>::Read(arguments, kBFloat16Alone));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    ABSL_ASSIGN_OR_RETURN(const int64_t channels, this->Channels());
    if (!HasPairsOfChannels(channels)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input: expected an even number of channels, or fewer than ", kFewChannels,
                       ", got ", channels));
    }
    ABSL_ASSIGN_OR_RETURN(
        const Dims<D> out,
        this->ShapeFor(PackedPairFiltersSize(channels, this->window.taps(), this->out_channels)));
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(out, 1));
    return out;
  }
};

// Whether bfloat16_convolution supports groups of k input channels and n filters. Narrow groups
// have float32 kernels only.
inline bool HasPairsInGroups(int64_t groups, bool transposed, int64_t k, int64_t n) {
  if (IsNarrowGroup(groups, k, n)) return false;
  return groups == 1 && !transposed ? HasPairsOfChannels(k) : k > 0 && k % 2 == 0;
}

// Elements of the packed weight of bfloat16_convolution; nullopt on overflow.
inline std::optional<int64_t> PackedPairVolumesSize(const VolumeWindow& window, int64_t groups,
                                                    int64_t k, int64_t out_channels) {
  const CheckedInt rows = window.taps() * CheckedInt(PairedChannels(k));
  if (!rows.ok() || groups < 1 || out_channels % groups != 0) return std::nullopt;
  return PackedGroupsSize(groups, rows.value(), out_channels / groups);
}

// belay_cpu::bfloat16_convolution: `convolution` with the groups' matrices in the VNNI-2 layout:
// with panels of two groups, the first one's columns from 0 and the second one's from 16, if n <=
// 16, else each packed as a matrix.
template <class Arguments>
struct BFloat16ConvolutionCall : GeneralConvolutionCall<Arguments> {
  using D = typename Arguments::Dim;

  static absl::StatusOr<BFloat16ConvolutionCall> Read(const Arguments& arguments) {
    using Base = GeneralConvolutionCall<Arguments>;
    BFloat16ConvolutionCall call;
    ABSL_ASSIGN_OR_RETURN(static_cast<Base&>(call), Base::Read(arguments, kBFloat16Alone));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    ABSL_ASSIGN_OR_RETURN(const int64_t k, this->GroupChannels());
    const int64_t n = this->out_channels / this->groups;
    if (!HasPairsInGroups(this->groups, this->transposed, k, n)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input: expected groups of an even number of channels that are not narrow, got ",
          this->groups, " groups of ", k, " channels and ", n, " filters"));
    }
    return this->ShapeOf(PackedPairVolumesSize(this->window, this->groups, k, this->out_channels));
  }
};

// belay_cpu::bfloat16_depthwise_conv2d.
template <class Arguments>
struct BFloat16DepthwiseConv2dCall : Conv2dOperands<Arguments, /*kDepthwise=*/true> {
  using D = typename Arguments::Dim;
  EpilogueCall<Arguments> epilogue;

  static absl::StatusOr<BFloat16DepthwiseConv2dCall> Read(const Arguments& arguments) {
    BFloat16DepthwiseConv2dCall call;
    ABSL_RETURN_IF_ERROR(call.ReadOperands(arguments, kBFloat16Alone, kFloat));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, EpilogueCall<Arguments>::Read(arguments, kBFloat16Alone));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    ABSL_ASSIGN_OR_RETURN(const int64_t channels, this->Channels());
    ABSL_ASSIGN_OR_RETURN(const Dims<D> out,
                          this->ShapeFor(PackedDepthwiseSize(channels, this->window.taps())));
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(out, 1));
    return out;
  }
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_BFLOAT16_CALLS_H_
