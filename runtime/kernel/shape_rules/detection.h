// Calls of torchvision's detection operators.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_DETECTION_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_DETECTION_H_

#include <optional>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/dims.h"

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

// roi_align: images [n,c,h,w], regions [k,5] as (image index, x1, y1, x2, y2).
template <class Arguments>
struct RoiAlignCall {
  typename Arguments::TensorRef input, rois;
  double spatial_scale = 1;
  typename Arguments::Dim pooled_height = 0, pooled_width = 0;
  int64_t sampling_ratio = 0;  // samples per axis of a bin; <= 0: derived from its size
  bool aligned = false;

  static absl::StatusOr<RoiAlignCall> Read(const Arguments& arguments) {
    RoiAlignCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.rois, arguments.Tensor("rois", DTypeSet{call.input->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.spatial_scale, arguments.Double("spatial_scale"));
    ABSL_ASSIGN_OR_RETURN(call.pooled_height, arguments.Int("pooled_height"));
    ABSL_ASSIGN_OR_RETURN(call.pooled_width, arguments.Int("pooled_width"));
    ABSL_ASSIGN_OR_RETURN(call.sampling_ratio, arguments.StaticInt("sampling_ratio"));
    ABSL_ASSIGN_OR_RETURN(call.aligned, arguments.Bool("aligned"));
    if (Arguments::SizesOf(call.input).size() != 4) {
      return arguments.ArgumentError("input", "expected images of channels, height and width");
    }
    const auto& rois = Arguments::SizesOf(call.rois);
    if (rois.size() != 2 || KnownInt(rois[1]).value_or(5) != 5) {
      return arguments.ArgumentError("rois", "expected regions of five numbers, a row each");
    }
    if (KnownInt(call.pooled_height).value_or(1) < 1 ||
        KnownInt(call.pooled_width).value_or(1) < 1) {
      return arguments.Error("expected pooled sizes that are positive");
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
    Dims<typename Arguments::Dim> sizes = input_sizes;
    sizes[0] = rois_sizes[0];
    sizes[2] = pooled_height;
    sizes[3] = pooled_width;
    return sizes;
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_DETECTION_H_
