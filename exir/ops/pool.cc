// Pooling over windows of given or adaptive extent, and its gradients.

#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_checks.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/pool.h"

namespace belay::exir {
namespace {

constexpr DTypeSet kAverageTypes = kFloatTypes | DTypeSet{DType::kInt64};
constexpr DTypeSet kMaxTypes = kIntegralTypes | kFloatTypes;

// kernel_size, stride, padding and, if `dilated`, dilation, then ceil_mode, from `first` on.
absl::StatusOr<PoolParams> ParamsOf(const MetaContext& context, int first, bool dilated,
                                    int spatial) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel, context.StaticIntList(first));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> stride, context.StaticIntList(first + 1));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> padding, context.StaticIntList(first + 2));
  std::vector<int64_t> dilation = {1};
  if (dilated) {
    ABSL_ASSIGN_OR_RETURN(dilation, context.StaticIntList(first + 3));
  }
  ABSL_ASSIGN_OR_RETURN(const bool ceil_mode, context.Bool(first + (dilated ? 4 : 3)));
  return MakePoolParams(kernel, stride, padding, dilation, ceil_mode, spatial);
}

absl::Status CheckDivisor(const MetaContext& context, int i) {
  if (context.is_none(i)) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const int64_t divisor, context.StaticInt(i));
  if (divisor != 0) return absl::OkStatus();
  return absl::InvalidArgumentError("divisor_override: expected a number other than 0");
}

// One-dimensional pooling is two-dimensional pooling of images one pixel high; what is channels
// last is decided on those.
bool LooksChannelsLast1d(const TensorMeta& meta) {
  if (meta.rank() != 3) return false;
  TensorMeta image = meta;
  image.sizes.insert(image.sizes.begin() + 2, SymInt(1));
  image.strides.insert(image.strides.begin() + 2, meta.sizes[2] * meta.strides[2]);
  return LooksChannelsLast(image);
}

// The result's layout follows that of a batch of images.
TensorMeta PooledLike(const TensorMeta& input, DType dtype, std::vector<SymInt> shape,
                      int spatial) {
  if (spatial == 1 && LooksChannelsLast1d(input)) {
    constexpr uint8_t kOrder[] = {0, 2, 1};
    return TensorMeta::Dense(dtype, std::move(shape), kOrder);
  }
  const bool batched = input.rank() == spatial + 2;
  return DenseInFormat(dtype, std::move(shape), batched && LooksChannelsLast(input));
}

template <int kSpatial>
absl::Status AvgPoolMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kAverageTypes));
  ABSL_ASSIGN_OR_RETURN(const PoolParams params, ParamsOf(context, 1, false, kSpatial));
  if (kSpatial > 1) {
    ABSL_RETURN_IF_ERROR(CheckDivisor(context, 6));
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, PoolShape<SymInt>(self->sizes, params));
  if (kSpatial == 3) {
    ABSL_RETURN_IF_ERROR(CheckHoldsKernel<SymInt>(self->sizes, params));
    context.SetTensor(0, self->dtype, std::move(shape));
  } else {
    context.SetOutput(0, PooledLike(*self, self->dtype, std::move(shape), kSpatial));
  }
  return absl::OkStatus();
}

template <int kSpatial>
absl::Status MaxPoolMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kMaxTypes));
  ABSL_ASSIGN_OR_RETURN(const PoolParams params, ParamsOf(context, 1, true, kSpatial));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, PoolShape<SymInt>(self->sizes, params));
  context.SetOutput(0, PooledLike(*self, self->dtype, shape, kSpatial));
  context.SetOutput(1, PooledLike(*self, DType::kInt64, shape, kSpatial));
  return absl::OkStatus();
}

template <int kSpatial, bool kMax>
absl::Status AdaptivePoolMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> size, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape,
                        AdaptivePoolShape<SymInt>(self->sizes, size, kSpatial));
  const auto result = [&](DType dtype) {
    return kSpatial == 3 ? TensorMeta::Contiguous(dtype, shape)
                         : PooledLike(*self, dtype, shape, kSpatial);
  };
  context.SetOutput(0, result(self->dtype));
  if (kMax) context.SetOutput(1, result(DType::kInt64));
  return absl::OkStatus();
}

// The gradient of the input (argument 1).
absl::Status SetInputGradient(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(1));
  context.SetOutput(0, PooledLike(*self, self->dtype, self->sizes, 2));
  return absl::OkStatus();
}

absl::Status AvgPoolBackwardMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* grad, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 1, grad->dtype));
  ABSL_ASSIGN_OR_RETURN(const PoolParams params, ParamsOf(context, 2, false, 2));
  ABSL_RETURN_IF_ERROR(CheckDivisor(context, 7));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, PoolShape<SymInt>(self->sizes, params));
  ABSL_RETURN_IF_ERROR(CheckSameShape<SymInt>("grad_output", grad->sizes, shape));
  return SetInputGradient(context);
}

absl::Status MaxPoolBackwardMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* grad, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 1, grad->dtype));
  ABSL_ASSIGN_OR_RETURN(const PoolParams params, ParamsOf(context, 2, true, 2));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* indices, TensorOf(context, 7, DType::kInt64));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, PoolShape<SymInt>(self->sizes, params));
  ABSL_RETURN_IF_ERROR(CheckSameShape<SymInt>("grad_output", grad->sizes, shape));
  ABSL_RETURN_IF_ERROR(CheckSameShape<SymInt>("indices", indices->sizes, shape));
  return SetInputGradient(context);
}

absl::Status AdaptiveAvgPoolBackwardMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* grad, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 1, grad->dtype));
  ABSL_RETURN_IF_ERROR(AdaptiveGradientShape<SymInt>(grad->sizes, self->sizes, 2));
  return SetInputGradient(context);
}

constexpr Tolerance kAverage = {1e-5, 1e-6};
constexpr Tolerance kExact = {0, 0};
constexpr std::string_view kMaxDtypes = "self:A ->0:A ->1:{i64} A=int+float";

constexpr OpDef kRows[] = {
    {.schema = "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
               "padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
     .meta = &AvgPoolMeta<1>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float+{i64}",
     .tolerance = kAverage},
    {.schema = "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
               "padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
               "divisor_override=None) -> Tensor",
     .meta = &AvgPoolMeta<2>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float+{i64}",
     .tolerance = kAverage},
    {.schema = "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
               "padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
               "divisor_override=None) -> Tensor",
     .meta = &AvgPoolMeta<3>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float+{i64}",
     .tolerance = kAverage},
    {.schema = "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
               "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     .meta = &MaxPoolMeta<2>,
     .traits = kCore,
     .dtypes = kMaxDtypes,
     .tolerance = kExact},
    {.schema = "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], "
               "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     .meta = &MaxPoolMeta<3>,
     .traits = kCore,
     .dtypes = kMaxDtypes,
     .tolerance = kExact},
    {.schema = "aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
     .meta = &AdaptivePoolMeta<1, false>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float",
     .tolerance = kAverage},
    {.schema = "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     .meta = &AdaptivePoolMeta<2, false>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float",
     .tolerance = kAverage},
    {.schema = "aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
     .meta = &AdaptivePoolMeta<3, false>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float",
     .tolerance = kAverage},
    {.schema = "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
     .meta = &AdaptivePoolMeta<2, true>,
     .dtypes = "self:A ->0:A ->1:{i64} A=float",
     .tolerance = kExact},
    {.schema = "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
     .meta = &AdaptivePoolMeta<3, true>,
     .dtypes = "self:A ->0:A ->1:{i64} A=float",
     .tolerance = kExact},
    {.schema = "aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
               "int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? "
               "divisor_override) -> Tensor",
     .meta = &AvgPoolBackwardMeta,
     .traits = kCore,
     .dtypes = "grad_output:A self:A ->:A A=float",
     .tolerance = kAverage},
    {.schema = "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] "
               "kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, "
               "Tensor indices) -> Tensor",
     .meta = &MaxPoolBackwardMeta,
     .traits = kCore,
     .dtypes = "grad_output:A self:A indices:{i64} ->:A A=float",
     .tolerance = kAverage},
    {.schema = "aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
     .meta = &AdaptiveAvgPoolBackwardMeta,
     .traits = kCore,
     .dtypes = "grad_output:A self:A ->:A A=float",
     .tolerance = kAverage},
};

}  // namespace

absl::Span<const OpDef> PoolOps() { return kRows; }

}  // namespace belay::exir
