// Calls of torchvision's detection operators.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_DETECTION_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_DETECTION_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/dims.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

// nms: boxes f[n,4] as corners (x1, y1, x2, y2); scores [n] of the same dtype.
template <class Arguments>
struct NmsCall {
  typename Arguments::TensorRef dets, scores;
  double iou_threshold = 0;

  static absl::StatusOr<NmsCall> Read(const Arguments& arguments) {
    constexpr DTypeSet kTypes = {DType::kFloat32, DType::kFloat64};
    NmsCall call;
    ABSL_ASSIGN_OR_RETURN(call.dets, arguments.Tensor("dets", kTypes));
    ABSL_ASSIGN_OR_RETURN(call.scores, arguments.Tensor("scores", DTypeSet{call.dets->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.iou_threshold, arguments.Double("iou_threshold"));
    const auto& boxes = Arguments::SizesOf(call.dets);
    const auto& scores = Arguments::SizesOf(call.scores);
    if (boxes.size() != 2 || KnownInt(boxes[1]).value_or(4) != 4) {
      return arguments.ArgumentError("dets", "expected boxes of four numbers, a row each");
    }
    if (scores.size() != 1 || KnownDifferent(scores[0], boxes[0])) {
      return arguments.ArgumentError("scores", "expected a score for each box");
    }
    return call;
  }

 private:
  template <class D>
  static bool KnownDifferent(const D& a, const D& b) {
    const std::optional<int64_t> first = KnownInt(a), second = KnownInt(b);
    return first.has_value() && second.has_value() && *first != *second;
  }
};

// Operators that reduce the bins of regions of images.
enum class RegionOp : uint8_t { kRoiAlign, kRoiPool, kPsRoiAlign, kPsRoiPool };

// Images [n,c,h,w], regions [k,5] as (image index, x1, y1, x2, y2) of the same dtype. Result:
// [k,c,ph,pw]. The position-sensitive operators (ps) reduce each bin of another channel:
// [k, c / (ph * pw), ph, pw].
template <class Arguments, RegionOp kOp>
struct RegionCall {
  static constexpr bool kPositionSensitive =
      kOp == RegionOp::kPsRoiAlign || kOp == RegionOp::kPsRoiPool;

  typename Arguments::TensorRef input, rois;
  double spatial_scale = 1;
  typename Arguments::Dim pooled_height = 0, pooled_width = 0;
  int64_t sampling_ratio = 0;  // samples per axis of a bin; <= 0: derived from its size
  // Regions are moved by half a pixel, and small ones are not enlarged. An argument of kRoiAlign.
  bool aligned = kOp == RegionOp::kPsRoiAlign;

  static absl::StatusOr<RegionCall> Read(const Arguments& arguments) {
    RegionCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.rois, arguments.Tensor("rois", DTypeSet{call.input->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.spatial_scale, arguments.Double("spatial_scale"));
    ABSL_ASSIGN_OR_RETURN(call.pooled_height, arguments.Int("pooled_height"));
    ABSL_ASSIGN_OR_RETURN(call.pooled_width, arguments.Int("pooled_width"));
    if constexpr (kOp == RegionOp::kRoiAlign || kOp == RegionOp::kPsRoiAlign) {
      ABSL_ASSIGN_OR_RETURN(call.sampling_ratio, arguments.StaticInt("sampling_ratio"));
    }
    if constexpr (kOp == RegionOp::kRoiAlign) {
      ABSL_ASSIGN_OR_RETURN(call.aligned, arguments.Bool("aligned"));
    }
    const auto& sizes = Arguments::SizesOf(call.input);
    if (sizes.size() != 4) {
      return arguments.ArgumentError("input", "expected images of channels, height and width");
    }
    const auto& rois = Arguments::SizesOf(call.rois);
    if (rois.size() != 2 || KnownInt(rois[1]).value_or(5) != 5) {
      return arguments.ArgumentError("rois", "expected regions of five numbers, a row each");
    }
    const std::optional<int64_t> height = KnownInt(call.pooled_height),
                                 width = KnownInt(call.pooled_width);
    if (height.value_or(1) < 1 || width.value_or(1) < 1) {
      return arguments.Error("expected pooled sizes that are positive");
    }
    const std::optional<int64_t> channels = KnownInt(typename Arguments::Dim(sizes[1]));
    const std::optional<int64_t> bins = KnownInt(call.pooled_height * call.pooled_width);
    if (kPositionSensitive && channels.has_value() && height.has_value() && width.has_value() &&
        (!bins.has_value() || *channels % *bins != 0)) {
      return arguments.ArgumentError("input",
                                     absl::StrCat("expected a multiple of ", *height, " * ", *width,
                                                  " channels, got ", *channels));
    }
    constexpr int64_t kMostSamples = 1024;
    if (call.sampling_ratio > kMostSamples) {
      return arguments.ArgumentError("sampling_ratio",
                                     absl::StrCat("expected at most ", kMostSamples));
    }
    return call;
  }
  Dims<typename Arguments::Dim> Sizes() const {
    const auto& rois_sizes = Arguments::SizesOf(rois);
    const auto& input_sizes = Arguments::SizesOf(input);
    Dims<typename Arguments::Dim> sizes = {rois_sizes[0], input_sizes[1], pooled_height,
                                           pooled_width};
    if constexpr (kPositionSensitive) {
      sizes[1] = FloorDiv(sizes[1], pooled_height * pooled_width);
    }
    return sizes;
  }
};
template <class Arguments>
using RoiAlignCall = RegionCall<Arguments, RegionOp::kRoiAlign>;

// deform_conv2d: a convolution whose taps are moved by offsets and scaled by a mask.
//
//   y = oy * stride_h - pad_h + i * dilation_h + offset[n, ((g * kh + i) * kw + j) * 2, oy, ox]
//   x = ox * stride_w - pad_w + j * dilation_w + offset[n, ((g * kh + i) * kw + j) * 2 + 1, oy, ox]
//   out[n, o, oy, ox] = bias[o] + sum over c, i, j of
//       weight[o, c, i, j] * mask[n, (g * kh + i) * kw + j, oy, ox] * bilinear(input[n, c], y, x)
//
// Offset group g has in_channels / offset_groups adjacent input channels.
template <class Arguments>
struct DeformConvCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input, weight, offset, mask, bias;
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};  // height, width
  int64_t groups = 1, offset_groups = 1;
  bool use_mask = false;

  static absl::StatusOr<DeformConvCall> Read(const Arguments& arguments) {
    DeformConvCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloatTypes));
    const DTypeSet same = {call.input->dtype};
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", same));
    ABSL_ASSIGN_OR_RETURN(call.offset, arguments.Tensor("offset", same));
    ABSL_ASSIGN_OR_RETURN(call.mask, arguments.Tensor("mask", same));
    ABSL_ASSIGN_OR_RETURN(call.bias, arguments.Tensor("bias", same));
    const struct {
      std::string_view name;
      int64_t* number;
      int64_t least;
    } numbers[] = {{"stride_h", &call.stride[0], 1},     {"stride_w", &call.stride[1], 1},
                   {"pad_h", &call.padding[0], 0},       {"pad_w", &call.padding[1], 0},
                   {"dilation_h", &call.dilation[0], 1}, {"dilation_w", &call.dilation[1], 1},
                   {"groups", &call.groups, 1},          {"offset_groups", &call.offset_groups, 1}};
    for (const auto& [name, number, least] : numbers) {
      ABSL_ASSIGN_OR_RETURN(*number, arguments.StaticInt(name));
      if (*number < least || *number > INT32_MAX) {
        return arguments.ArgumentError(
            name, absl::StrCat("expected ", least, " to ", INT32_MAX, ", got ", *number));
      }
    }
    ABSL_ASSIGN_OR_RETURN(call.use_mask, arguments.Bool("use_mask"));
    const auto& input = Arguments::SizesOf(call.input);
    const auto& weight = Arguments::SizesOf(call.weight);
    if (input.size() != 4) {
      return arguments.ArgumentError("input", "expected images of channels, height and width");
    }
    if (weight.size() != 4 || KnownInt(D(weight[2])).value_or(1) < 1 ||
        KnownInt(D(weight[3])).value_or(1) < 1) {
      return arguments.ArgumentError("weight", "expected [out, in / groups, height, width]");
    }
    if (KnownDifferent(weight[1] * D(call.groups), input[1]) ||
        KnownInt(D(weight[0])).value_or(0) % call.groups != 0) {
      return arguments.ArgumentError(
          "weight",
          absl::StrCat("expected [out, in / groups, height, width] for ", DimToString(D(input[1])),
                       " channels in ", call.groups, " groups, got ", FormatDims<D>(weight)));
    }
    if (KnownInt(D(input[1])).value_or(0) % call.offset_groups != 0) {
      return arguments.ArgumentError("offset_groups", "expected a divisor of the input's channels");
    }
    const auto sizes = call.Sizes();
    for (int d = 2; d < 4; ++d) {
      if (KnownInt(sizes[d]).value_or(1) < 1) {
        return arguments.Error("expected an image that is not smaller than the kernel");
      }
    }
    const D taps = D(call.offset_groups) * weight[2] * weight[3];
    ABSL_RETURN_IF_ERROR(
        call.CheckMap(arguments, "offset", Arguments::SizesOf(call.offset), taps * D(2)));
    if (call.use_mask) {
      ABSL_RETURN_IF_ERROR(call.CheckMap(arguments, "mask", Arguments::SizesOf(call.mask), taps));
    }
    const auto& bias = Arguments::SizesOf(call.bias);
    if (bias.size() != 1 || KnownDifferent(bias[0], weight[0])) {
      return arguments.ArgumentError("bias", "expected a number for each output channel");
    }
    return call;
  }

  Dims<D> Sizes() const {
    const auto& in = Arguments::SizesOf(input);
    const auto& kernel = Arguments::SizesOf(weight);
    Dims<D> sizes = {in[0], kernel[0], in[2], in[3]};
    for (int d = 0; d < 2; ++d) {
      const D span = D(dilation[d]) * (kernel[2 + d] - D(1)) + D(1);
      sizes[2 + d] = FloorDiv(in[2 + d] + D(2 * padding[d]) - span, D(stride[d])) + D(1);
    }
    return sizes;
  }

 private:
  // Checks the sizes [n, channels, out height, out width].
  absl::Status CheckMap(const Arguments& arguments, std::string_view name,
                        absl::Span<const D> actual, const D& channels) const {
    Dims<D> expected = Sizes();
    expected[1] = channels;
    if (MayBeEqual<D>(actual, expected)) return absl::OkStatus();
    return arguments.ArgumentError(
        name, absl::StrCat("expected ", FormatDims<D>(expected), ", got ", FormatDims<D>(actual)));
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_DETECTION_H_
