// Resizing, grid sampling, and assembling images from patches.

#include <cmath>
#include <optional>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/resample.h"

namespace belay::exir {

// n * scale, rounded toward zero. UpsampleCall selects this function by the type of `n`.
static absl::StatusOr<SymInt> ScaledSize(const SymInt& n, double scale) {
  if (const std::optional<int64_t> known = n.AsInt()) {
    ABSL_ASSIGN_OR_RETURN(const CheckedInt scaled, belay::ScaledSize(CheckedInt(*known), scale));
    return SymInt(scaled.value());
  }
  if (scale == std::floor(scale) && std::fabs(scale) < 1e9) {
    return n * SymInt(static_cast<int64_t>(scale));
  }
  return SymExpr::Function("TruncToInt",
                           {SymExpr::Function("ToFloat", {n}) * SymExpr::Float(scale)});
}

namespace {

absl::Status UpsampleMeta(MetaContext& context, const UpsampleCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetOutput(
      0, DenseInFormat(call.input->dtype, std::move(shape), LooksChannelsLast(*call.input)));
  return absl::OkStatus();
}

template <int kSpatial>
absl::Status GridSamplerMeta(MetaContext& context,
                             const GridSampleCall<MetaArguments, kSpatial>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, call.input->dtype, std::move(shape));
  return absl::OkStatus();
}

absl::Status Col2ImMeta(MetaContext& context, const Col2ImCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, call.self->dtype, std::move(shape));
  return absl::OkStatus();
}

constexpr Tolerance kSampled = {1e-5, 1e-5};

constexpr OpDef kRows[] = {
    {.schema = "aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool "
               "align_corners, float[]? scale_factors) -> Tensor",
     .meta = &MetaKernel<&UpsampleMeta>,
     .traits = kCore,
     .dtypes = "input:A ->:A A=float+{u8}",
     .tolerance = kSampled},
    {.schema = "aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, "
               "float? scales_h=None, float? scales_w=None) -> Tensor",
     .meta = &MetaKernel<&UpsampleMeta>,
     .dtypes = "self:A ->:A A=float+{u8}",
     .tolerance = kSampled},
    {.schema = "aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool "
               "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     .meta = &MetaKernel<&UpsampleMeta>,
     .dtypes = "self:A ->:A A=float+{u8}",
     .tolerance = kSampled},
    {.schema = "aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool "
               "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     .meta = &MetaKernel<&UpsampleMeta>,
     .dtypes = "self:A ->:A A=float+{u8}",
     .tolerance = kSampled},
    {.schema = "aten::_upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool "
               "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     .meta = &MetaKernel<&UpsampleMeta>,
     .dtypes = "self:A ->:A A=float+{u8}",
     .tolerance = kSampled},
    {.schema = "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? "
               "scale_factors) -> Tensor",
     .meta = &MetaKernel<&UpsampleMeta>,
     .traits = kCore,
     .dtypes = "input:A ->:A A=float+{u8}",
     .tolerance = {0, 0}},
    {.schema = "aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, "
               "float? scales_w=None) -> Tensor",
     .meta = &MetaKernel<&UpsampleMeta>,
     .dtypes = "self:A ->:A A=float+{u8}",
     .tolerance = {0, 0}},
    {.schema = "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int "
               "padding_mode, bool align_corners) -> Tensor",
     .meta = &MetaKernel<&GridSamplerMeta<2>>,
     .traits = kCore,
     .dtypes = "input:A grid:A ->:A A=float",
     .tolerance = kSampled,
     .domain = {-1.5, 1.5}},
    {.schema = "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int "
               "padding_mode, bool align_corners) -> Tensor",
     .meta = &MetaKernel<&GridSamplerMeta<3>>,
     .dtypes = "input:A grid:A ->:A A=float",
     .tolerance = kSampled,
     .domain = {-1.5, 1.5}},
    {.schema = "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] "
               "dilation, int[2] padding, int[2] stride) -> Tensor",
     .meta = &MetaKernel<&Col2ImMeta>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float+complex+bool",
     .tolerance = kSampled},
};

}  // namespace

absl::Span<const OpDef> ResampleOps() { return kRows; }

}  // namespace belay::exir
