// Pooling with fixed or adaptive windows, and its gradients.

#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/pool.h"

namespace belay::exir {
namespace {

// 1-d pooling is 2-d pooling of images of height 1; channels last is decided on those.
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
absl::Status AvgPoolMeta(MetaContext& context, const AvgPoolCall<MetaArguments, kSpatial>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  if (kSpatial == 3) {
    context.SetTensor(0, call.self->dtype, std::move(shape));
  } else {
    context.SetOutput(0, PooledLike(*call.self, call.self->dtype, std::move(shape), kSpatial));
  }
  return absl::OkStatus();
}

template <int kSpatial>
absl::Status MaxPoolMeta(MetaContext& context, const MaxPoolCall<MetaArguments, kSpatial>& call) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, call.Shape());
  context.SetOutput(0, PooledLike(*call.self, call.self->dtype, shape, kSpatial));
  context.SetOutput(1, PooledLike(*call.self, DType::kInt64, shape, kSpatial));
  return absl::OkStatus();
}

template <int kSpatial, bool kMax>
absl::Status AdaptivePoolMeta(MetaContext& context,
                              const AdaptivePoolCall<MetaArguments, kSpatial>& call) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, call.Shape());
  const auto result = [&](DType dtype) {
    return kSpatial == 3 ? TensorMeta::Contiguous(dtype, shape)
                         : PooledLike(*call.self, dtype, shape, kSpatial);
  };
  context.SetOutput(0, result(call.self->dtype));
  if (kMax) context.SetOutput(1, result(DType::kInt64));
  return absl::OkStatus();
}

// The gradient of the input.
template <class Call>
absl::Status PoolBackwardMeta(MetaContext& context, const Call& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  context.SetOutput(0, PooledLike(*call.self, call.self->dtype, call.self->sizes, 2));
  return absl::OkStatus();
}

constexpr Tolerance kAverage = {1e-5, 1e-6};
constexpr Tolerance kExact = {0, 0};
constexpr std::string_view kMaxDtypes = "self:A ->0:A ->1:{i64} A=int+float";

constexpr OpDef kRows[] = {
    {.schema = "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
               "padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
     .meta = &MetaKernel<&AvgPoolMeta<1>>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float+{i64}",
     .tolerance = kAverage},
    {.schema = "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
               "padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
               "divisor_override=None) -> Tensor",
     .meta = &MetaKernel<&AvgPoolMeta<2>>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float+{i64}",
     .tolerance = kAverage},
    {.schema = "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
               "padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
               "divisor_override=None) -> Tensor",
     .meta = &MetaKernel<&AvgPoolMeta<3>>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float+{i64}",
     .tolerance = kAverage},
    {.schema = "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
               "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&MaxPoolMeta<2>>,
     .traits = kCore,
     .dtypes = kMaxDtypes,
     .tolerance = kExact},
    {.schema = "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], "
               "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&MaxPoolMeta<3>>,
     .traits = kCore,
     .dtypes = kMaxDtypes,
     .tolerance = kExact},
    {.schema = "aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
     .meta = &MetaKernel<&AdaptivePoolMeta<1, false>>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float",
     .tolerance = kAverage},
    {.schema = "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     .meta = &MetaKernel<&AdaptivePoolMeta<2, false>>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float",
     .tolerance = kAverage},
    {.schema = "aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
     .meta = &MetaKernel<&AdaptivePoolMeta<3, false>>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float",
     .tolerance = kAverage},
    {.schema = "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&AdaptivePoolMeta<2, true>>,
     .dtypes = "self:A ->0:A ->1:{i64} A=float",
     .tolerance = kExact},
    {.schema = "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&AdaptivePoolMeta<3, true>>,
     .dtypes = "self:A ->0:A ->1:{i64} A=float",
     .tolerance = kExact},
    {.schema = "aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
               "int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? "
               "divisor_override) -> Tensor",
     .meta = &MetaKernel<&PoolBackwardMeta<AvgPoolBackwardCall<MetaArguments>>>,
     .traits = kCore,
     .dtypes = "grad_output:A self:A ->:A A=float",
     .tolerance = kAverage},
    {.schema = "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] "
               "kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, "
               "Tensor indices) -> Tensor",
     .meta = &MetaKernel<&PoolBackwardMeta<MaxPoolBackwardCall<MetaArguments>>>,
     .traits = kCore,
     .dtypes = "grad_output:A self:A indices:{i64} ->:A A=float",
     .tolerance = kAverage},
    {.schema = "aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
     .meta = &MetaKernel<&PoolBackwardMeta<AdaptivePoolBackwardCall<MetaArguments>>>,
     .traits = kCore,
     .dtypes = "grad_output:A self:A ->:A A=float",
     .tolerance = kAverage},
};

}  // namespace

absl::Span<const OpDef> PoolOps() { return kRows; }

}  // namespace belay::exir
