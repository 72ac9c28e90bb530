// torchvision's detection operators, with the schemas that it registers.
#include "runtime/kernel/shape_rules/detection.h"

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

absl::Status RoiAlignMeta(MetaContext& context, const RoiAlignCall<MetaArguments>& call) {
  context.SetOutput(0, TensorMeta::Contiguous(call.input->dtype, call.Sizes()));
  return absl::OkStatus();
}

constexpr OpDef kOps[] = {
    {.schema = "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
     .meta = &MetaKernel<&NmsMeta>,
     .traits = kDataDependent,
     .tolerance = {0, 0}},
    {.schema = "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt "
               "pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
     .meta = &MetaKernel<&RoiAlignMeta>,
     .tolerance = {1e-5, 1e-6}},
};

}  // namespace

absl::Span<const OpDef> DetectionOps() { return kOps; }

}  // namespace belay::exir
