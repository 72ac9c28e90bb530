// Images of other sizes, sampled at other places, or put together from patches.

#include <cmath>
#include <optional>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_checks.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/resample.h"

namespace belay::exir {
namespace {

constexpr DTypeSet kImageTypes = kFloatTypes | DTypeSet{DType::kUint8};
constexpr DTypeSet kPatchTypes = kFloatTypes | kComplexTypes | kBoolType;

// n * scale, rounded towards zero.
SymInt ScaledSymbol(const SymInt& n, double scale) {
  if (scale == std::floor(scale) && std::fabs(scale) < 1e9) {
    return n * SymInt(static_cast<int64_t>(scale));
  }
  return SymExpr::Function("TruncToInt",
                           {SymExpr::Function("ToFloat", {n}) * SymExpr::Float(scale)});
}

absl::StatusOr<std::vector<double>> Doubles(const MetaContext& context, int i) {
  const MetaList* list = context.argument(i).get_if<MetaList>();
  std::vector<double> values;
  bool fits = list != nullptr;
  for (size_t k = 0; fits && k < list->size(); ++k) {
    const MetaValue& element = (*list)[k];
    std::optional<double> value;
    if (const double* d = element.get_if<double>()) value = *d;
    if (const SymExpr* e = element.get_if<SymExpr>()) value = e->AsFloat();
    fits = value.has_value();
    values.push_back(value.value_or(0));
  }
  if (fits) return values;
  return absl::InvalidArgumentError(
      absl::StrCat(context.schema().arguments[i].name, ": expected a list of floats"));
}

// The output size is argument 1; or argument `scales_at` gives it as a multiple of the input's.
absl::Status UpsampleVec(MetaContext& context, DTypeSet allowed, int scales_at) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, allowed));
  if (context.is_none(1) == context.is_none(scales_at)) {
    return absl::InvalidArgumentError("upsample: expected one of output_size and scale_factors");
  }
  std::vector<SymInt> size;
  if (!context.is_none(1)) {
    ABSL_ASSIGN_OR_RETURN(size, context.IntList(1));
  } else {
    ABSL_ASSIGN_OR_RETURN(const std::vector<double> scales, Doubles(context, scales_at));
    if (scales.size() != 2 || input->rank() != 4) {
      return absl::InvalidArgumentError(
          "upsample: expected an input of rank 4 and two scale factors");
    }
    for (int d = 0; d < 2; ++d) {
      const SymInt& n = input->sizes[d + 2];
      if (const std::optional<int64_t> known = n.AsInt()) {
        const CheckedInt scaled = ScaledSize(*known, scales[d]);
        if (!scaled.ok()) return absl::InvalidArgumentError("scale_factors: out of range");
        size.push_back(scaled.value());
      } else {
        size.push_back(ScaledSymbol(n, scales[d]));
      }
    }
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, UpsampleShape<SymInt>(input->sizes, size));
  context.SetOutput(0, DenseInFormat(input->dtype, std::move(shape), LooksChannelsLast(*input)));
  return absl::OkStatus();
}

absl::Status UpsampleBilinearVecMeta(MetaContext& context) {
  return UpsampleVec(context, kImageTypes, 3);
}
absl::Status UpsampleNearestVecMeta(MetaContext& context) {
  return UpsampleVec(context, kImageTypes, 2);
}

absl::Status UpsampleMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kImageTypes));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> size, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, UpsampleShape<SymInt>(input->sizes, size));
  context.SetOutput(0, DenseInFormat(input->dtype, std::move(shape), LooksChannelsLast(*input)));
  return absl::OkStatus();
}

template <int kSpatial>
absl::Status GridSamplerMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* grid, TensorOf(context, 1, input->dtype));
  for (int i : {2, 3}) {
    ABSL_ASSIGN_OR_RETURN(const int64_t mode, context.StaticInt(i));
    // Volumes are not sampled bicubically.
    if (mode < 0 || mode > (kSpatial == 3 && i == 2 ? 1 : 2)) {
      return absl::InvalidArgumentError(
          absl::StrCat(context.schema().arguments[i].name, ": there is no mode ", mode));
    }
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape,
                        GridSampleShape<SymInt>(input->sizes, grid->sizes, kSpatial));
  context.SetTensor(0, input->dtype, std::move(shape));
  return absl::OkStatus();
}

absl::Status Col2ImMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kPatchTypes));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> size, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel, context.StaticIntList(2));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> dilation, context.StaticIntList(3));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> padding, context.StaticIntList(4));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> stride, context.StaticIntList(5));
  ABSL_ASSIGN_OR_RETURN(const PatchParams params,
                        MakePatchParams(kernel, dilation, padding, stride));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, Col2ImShape<SymInt>(self->sizes, size, params));
  context.SetTensor(0, self->dtype, std::move(shape));
  return absl::OkStatus();
}

constexpr Tolerance kSampled = {1e-5, 1e-5};

constexpr OpDef kRows[] = {
    {.schema = "aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool "
               "align_corners, float[]? scale_factors) -> Tensor",
     .meta = &UpsampleBilinearVecMeta,
     .traits = kCore,
     .dtypes = "input:A ->:A A=float+{u8}",
     .tolerance = kSampled},
    {.schema = "aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, "
               "float? scales_h=None, float? scales_w=None) -> Tensor",
     .meta = &UpsampleMeta,
     .dtypes = "self:A ->:A A=float+{u8}",
     .tolerance = kSampled},
    {.schema = "aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool "
               "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     .meta = &UpsampleMeta,
     .dtypes = "self:A ->:A A=float+{u8}",
     .tolerance = kSampled},
    {.schema = "aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool "
               "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     .meta = &UpsampleMeta,
     .dtypes = "self:A ->:A A=float+{u8}",
     .tolerance = kSampled},
    {.schema = "aten::_upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool "
               "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     .meta = &UpsampleMeta,
     .dtypes = "self:A ->:A A=float+{u8}",
     .tolerance = kSampled},
    {.schema = "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? "
               "scale_factors) -> Tensor",
     .meta = &UpsampleNearestVecMeta,
     .traits = kCore,
     .dtypes = "input:A ->:A A=float+{u8}",
     .tolerance = {0, 0}},
    {.schema = "aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, "
               "float? scales_w=None) -> Tensor",
     .meta = &UpsampleMeta,
     .dtypes = "self:A ->:A A=float+{u8}",
     .tolerance = {0, 0}},
    {.schema = "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int "
               "padding_mode, bool align_corners) -> Tensor",
     .meta = &GridSamplerMeta<2>,
     .traits = kCore,
     .dtypes = "input:A grid:A ->:A A=float",
     .tolerance = kSampled,
     .domain = {-1.5, 1.5}},
    {.schema = "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int "
               "padding_mode, bool align_corners) -> Tensor",
     .meta = &GridSamplerMeta<3>,
     .dtypes = "input:A grid:A ->:A A=float",
     .tolerance = kSampled,
     .domain = {-1.5, 1.5}},
    {.schema = "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] "
               "dilation, int[2] padding, int[2] stride) -> Tensor",
     .meta = &Col2ImMeta,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float+complex+bool",
     .tolerance = kSampled},
};

}  // namespace

absl::Span<const OpDef> ResampleOps() { return kRows; }

}  // namespace belay::exir
