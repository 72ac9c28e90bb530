// torchvision's detection operators, with the schemas that it registers.
#include "runtime/kernel_interface/shape_rules/detection.h"

#include <optional>

#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// The result size is the number of boxes that are not suppressed.
absl::Status NmsMeta(MetaContext& context, const NmsCall<MetaArguments>& call) {
  const std::optional<int64_t> boxes = call.dets->sizes[0].AsInt();
  ABSL_ASSIGN_OR_RETURN(
      const SymInt count,
      context.FreshSymbol({.min = 0, .max = boxes.value_or(SymRange::kUnboundedAbove)}));
  context.SetOutput(0, TensorMeta::Contiguous(DType::kInt64, {count}));
  return absl::OkStatus();
}

template <RegionOp kOp>
absl::Status RegionMeta(MetaContext& context, const RegionCall<MetaArguments, kOp>& call) {
  context.SetOutput(0, TensorMeta::Contiguous(call.input->dtype, call.Sizes()));
  // The pixel of the maximum, or the channel of the bin.
  if (kOp != RegionOp::kRoiAlign) {
    context.SetOutput(1, TensorMeta::Contiguous(DType::kInt32, call.Sizes()));
  }
  return absl::OkStatus();
}

absl::Status DeformConvMeta(MetaContext& context, const DeformConvCall<MetaArguments>& call) {
  context.SetOutput(0, TensorMeta::Contiguous(call.input->dtype, call.Sizes()));
  return absl::OkStatus();
}

template <RegionOp kOp>
constexpr OpDef Region(std::string_view schema) {
  return {.schema = schema, .meta = &MetaKernel<&RegionMeta<kOp>>, .tolerance = {1e-5, 1e-6}};
}

constexpr OpDef kOps[] = {
    {.schema = "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor "
               "mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, "
               "SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool "
               "use_mask) -> Tensor",
     .meta = &MetaKernel<&DeformConvMeta>,
     .tolerance = {1e-4, 1e-5}},
    {.schema = "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
     .meta = &MetaKernel<&NmsMeta>,
     .traits = kDataDependent,
     .tolerance = {0, 0}},
    Region<RegionOp::kPsRoiAlign>(
        "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt "
        "pooled_height, SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)"),
    Region<RegionOp::kPsRoiPool>(
        "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt "
        "pooled_height, SymInt pooled_width) -> (Tensor, Tensor)"),
    Region<RegionOp::kRoiAlign>(
        "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt "
        "pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor"),
    Region<RegionOp::kRoiPool>(
        "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt "
        "pooled_height, SymInt pooled_width) -> (Tensor, Tensor)"),
};

}  // namespace

absl::Span<const OpDef> DetectionOps() { return kOps; }

}  // namespace belay::exir
