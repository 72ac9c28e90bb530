#include <algorithm>
#include <limits>
#include <optional>

#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/pool.h"
#include "runtime/kernels/elements/copy_strided.h"
#include "runtime/kernels/pool/pool.h"
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/reference/operands.h"

namespace belay {
namespace {

constexpr DTypeSet kTypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

bool IsRowMajorF32(const TensorView& t) { return t.dtype == DType::kFloat32 && t.is_contiguous(); }

// Working memory: copies of what is not row-major float32, in floats.
uint64_t CopyOf(const TensorView& t) {
  return IsRowMajorF32(t) ? 0 : static_cast<uint64_t>(t.numel());
}

// The input as row-major floats and room for the result, each in place or in working memory.
class FloatImages {
 public:
  static absl::StatusOr<FloatImages> Create(const KernelContext& context, const TensorView& input,
                                            const TensorView& out) {
    FloatImages images(out);
    const uint64_t total = CopyOf(input) + CopyOf(out);
    ABSL_ASSIGN_OR_RETURN(float* room, ScratchArray<float>(context, static_cast<int64_t>(total)));
    images.in_ = input.as<const float>();
    if (!IsRowMajorF32(input)) {
      ABSL_RETURN_IF_ERROR(
          CopyStrided(input, TensorView::Contiguous(DType::kFloat32, input.sizes, room)));
      images.in_ = room;
      room += input.numel();
    }
    images.result_ = IsRowMajorF32(out) ? out.as<float>() : room;
    return images;
  }

  const float* in() const { return in_; }
  float* result() const { return result_; }
  absl::Status Finish() const {
    if (result_ == out_->data) return absl::OkStatus();
    return CopyStrided(TensorView::Contiguous(DType::kFloat32, out_->sizes, result_), *out_);
  }

 private:
  explicit FloatImages(const TensorView& out) : out_(&out) {}
  const TensorView* out_;
  const float* in_ = nullptr;
  float* result_ = nullptr;
};

uint64_t ImagesScratch(const KernelContext& context) {
  const TensorView* input = context.argument(0).get_if<TensorView>();
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (input == nullptr || !out.ok()) return 0;
  return (CopyOf(*input) + CopyOf(**out)) * sizeof(float);
}

struct Call {
  const TensorView* input;
  PoolParams params;
  Dims<CheckedInt> shape;
};

// Places are computed with 32 bits in the kernels: everything that they reach must fit.
bool Fits(const TensorView& input, const PoolParams& p) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 4;
  const int rank = input.rank();
  const CheckedInt plane = CheckedInt(input.sizes[rank - 2]) * input.sizes[rank - 1];
  for (int d = 0; d < 2; ++d) {
    const CheckedInt reach = CheckedInt(input.sizes[rank - 2 + d]) +
                             p.kernel[d] * CheckedInt(p.dilation[d]) + p.padding[d] +
                             CheckedInt(64) * p.stride[d];
    if (!(reach < kMost)) return false;
  }
  return plane < kMost;
}

// self, kernel_size, stride, padding, then dilation where `dilation` is its position, and ceil_mode
// at `ceil_mode`.
absl::StatusOr<Call> CallOf(const KernelContext& context, std::optional<int> dilation,
                            int ceil_mode) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "self", kTypes));
  ABSL_ASSIGN_OR_RETURN(const Sizes kernel, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const Sizes stride, context.IntList(2));
  ABSL_ASSIGN_OR_RETURN(const Sizes padding, context.IntList(3));
  Sizes dilations = {1, 1};
  if (dilation.has_value()) {
    ABSL_ASSIGN_OR_RETURN(dilations, context.IntList(*dilation));
  }
  ABSL_ASSIGN_OR_RETURN(const bool ceil, context.Bool(ceil_mode));
  ABSL_ASSIGN_OR_RETURN(PoolParams params,
                        MakePoolParams(kernel, stride, padding, dilations, ceil, 2));
  ABSL_ASSIGN_OR_RETURN(Dims<CheckedInt> shape,
                        PoolShape<CheckedInt>(ToDims(input->sizes), params));
  if (!Fits(*input, params))
    return absl::InvalidArgumentError("pooling: the image or the window is too large");
  return Call{input, params, shape};
}

// Calls fn(row, y, offset of the row's first output) for every row of outputs.
template <class Fn>
void ForEachRow(const Call& call, const float* images, const TensorView& out, const Fn& fn) {
  const TensorView& in = *call.input;
  const PoolParams& p = call.params;
  const int rank = in.rank();
  const int64_t height = in.sizes[rank - 2], width = in.sizes[rank - 1];
  const int64_t out_height = out.sizes[rank - 2], out_width = out.sizes[rank - 1];
  if (out.numel() == 0) return;
  PoolRow row;
  row.height = height;
  row.width = width;
  row.kernel_height = p.kernel[0];
  row.row_dilation = p.dilation[0];
  row.kernel_width = p.kernel[1];
  row.stride = p.stride[1];
  row.padding = p.padding[1];
  row.dilation = p.dilation[1];
  row.outputs = out_width;
  const int64_t planes = out.numel() / (out_height * out_width);
  for (int64_t n = 0; n < planes; ++n) {
    row.plane = images + n * height * width;
    for (int64_t y = 0; y < out_height; ++y) {
      row.first_row = y * p.stride[0] - p.padding[0];
      fn(row, y, (n * out_height + y) * out_width);
    }
  }
}

// self, kernel_size, stride, padding, dilation, ceil_mode
absl::Status MaxPool2d(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 2));
  ABSL_ASSIGN_OR_RETURN(const Call call, CallOf(context, 4, 5));
  const DType dtype = call.input->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, call.shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* index, OutputOf(context, 1, DType::kInt64, call.shape));
  if (!index->is_contiguous())
    return absl::InternalError("the layout changed after the kernel was chosen");
  ABSL_ASSIGN_OR_RETURN(const FloatImages images, FloatImages::Create(context, *call.input, *out));
  ForEachRow(call, images.in(), *out, [&](const PoolRow& row, int64_t, int64_t at) {
    MaxPoolRowF32(row, images.result() + at, index->as<int64_t>() + at);
  });
  return images.Finish();
}

// How many places of a window [start, start + kernel) count in one dimension: those inside, or with
// padding those before the padding's end.
struct Extent {
  int64_t inside, padded;
};
Extent ExtentOf(int64_t start, int64_t kernel, int64_t size, int64_t padding) {
  const int64_t end = std::min(start + kernel, size + padding);
  return {std::max<int64_t>(0, std::min(end, size) - std::max<int64_t>(start, 0)), end - start};
}

// self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override?
absl::Status AvgPool2d(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const Call call, CallOf(context, std::nullopt, 4));
  ABSL_ASSIGN_OR_RETURN(const bool include_pad, context.Bool(5));
  ABSL_ASSIGN_OR_RETURN(const int64_t divisor, context.IntOr(6, 0));
  if (!context.is_none(6) && divisor == 0)
    return absl::InvalidArgumentError("divisor_override: expected a number other than 0");
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.input->dtype, call.shape));
  ABSL_ASSIGN_OR_RETURN(const FloatImages images, FloatImages::Create(context, *call.input, *out));
  const PoolParams& p = call.params;
  ForEachRow(call, images.in(), *out, [&](const PoolRow& row, int64_t, int64_t at) {
    float* to = images.result() + at;
    SumPoolRowF32(row, to);
    const Extent rows = ExtentOf(row.first_row, row.kernel_height, row.height, p.padding[0]);
    for (int64_t x = 0; x < row.outputs; ++x) {
      const Extent columns =
          ExtentOf(x * row.stride - row.padding, row.kernel_width, row.width, row.padding);
      const int64_t count = divisor != 0  ? divisor
                            : include_pad ? rows.padded * columns.padded
                                          : rows.inside * columns.inside;
      to[x] /= static_cast<float>(count);
    }
  });
  return images.Finish();
}

// ---- Adaptive pools

// Where the i-th of `count` windows that divide `size` places evenly begins and ends.
struct Span {
  int64_t first, last;
};
Span EvenSpan(int64_t i, int64_t size, int64_t count) {
  using Wide = __int128;
  return {static_cast<int64_t>(Wide{i} * size / count),
          static_cast<int64_t>((Wide{i + 1} * size + count - 1) / count)};
}

// The sum of the places [x.first, x.last) of `rows` rows that are row_step apart.
double SumOfBox(const float* in, Span x, int64_t rows, int64_t row_step) {
  const ReduceLoop loop = FindReduceLoop(ReduceOp::kSum, DType::kFloat32);
  double lanes[kReduceLanes] = {};
  for (int64_t at = x.first; at < x.last; at += kReduceLanes)
    loop(in + at, rows, row_step, std::min(kReduceLanes, x.last - at), lanes, nullptr);
  double total = 0;
  for (double lane : lanes) total += lane;
  return total;
}

template <int kSpatial>
absl::Status AdaptiveAvgPool(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, TensorOf(context, 0, "self", kTypes));
  ABSL_ASSIGN_OR_RETURN(const Sizes size, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape,
                        AdaptivePoolShape<CheckedInt>(ToDims(self->sizes), ToDims(size), kSpatial));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const FloatImages images, FloatImages::Create(context, *self, *out));
  int64_t from[3] = {1, 1, 1}, to[3] = {1, 1, 1};
  for (int d = 0; d < kSpatial; ++d) {
    from[3 - kSpatial + d] = self->sizes[self->rank() - kSpatial + d];
    to[3 - kSpatial + d] = out->sizes[out->rank() - kSpatial + d];
  }
  const float* in = images.in();
  float* result = images.result();
  const int64_t volume = from[0] * from[1] * from[2];
  const int64_t count = out->numel() / (to[0] * to[1] * to[2]);
  for (int64_t n = 0; n < count; ++n, in += volume) {
    for (int64_t z = 0; z < to[0]; ++z) {
      const Span depth = EvenSpan(z, from[0], to[0]);
      for (int64_t y = 0; y < to[1]; ++y) {
        const Span rows = EvenSpan(y, from[1], to[1]);
        for (int64_t x = 0; x < to[2]; ++x) {
          const Span columns = EvenSpan(x, from[2], to[2]);
          const int64_t height = rows.last - rows.first;
          double total = 0;
          for (int64_t d = depth.first; d < depth.last; ++d) {
            total += SumOfBox(in + (d * from[1] + rows.first) * from[2], columns, height, from[2]);
          }
          const double places = static_cast<double>(depth.last - depth.first) *
                                static_cast<double>(height) *
                                static_cast<double>(columns.last - columns.first);
          *result++ = places == 0 ? 0.0f : static_cast<float>(total / places);
        }
      }
    }
  }
  return images.Finish();
}

bool AcceptsAdaptive(const KernelContext& context) {
  if (context.num_arguments() != 2) return false;
  const TensorView* self = context.argument(0).get_if<TensorView>();
  return self != nullptr && kTypes.contains(self->dtype);
}

bool AcceptsInput(const KernelContext& context, int arguments, int outputs) {
  if (context.num_arguments() != arguments || context.num_outputs() != outputs) return false;
  const TensorView* self = context.argument(0).get_if<TensorView>();
  return self != nullptr && kTypes.contains(self->dtype) &&
         (self->rank() == 3 || self->rank() == 4);
}

bool AcceptsMaxPool(const KernelContext& context) {
  if (!AcceptsInput(context, 6, 2)) return false;
  const auto index = context.PlannedOutput(1);
  return index.ok() && (*index)->dtype == DType::kInt64 && (*index)->is_contiguous() &&
         CallOf(context, 4, 5).ok();
}

bool AcceptsAvgPool(const KernelContext& context) {
  return AcceptsInput(context, 7, 1) && CallOf(context, std::nullopt, 4).ok();
}

constexpr Kernel kKernels[] = {
    {"aten.max_pool2d_with_indices.default", "MaxPool2dSimd", KernelEngine::kHighway, &MaxPool2d,
     &AcceptsMaxPool, &ImagesScratch},
    {"aten.avg_pool2d.default", "AvgPool2dSimd", KernelEngine::kHighway, &AvgPool2d,
     &AcceptsAvgPool, &ImagesScratch},
    {"aten.adaptive_avg_pool1d.default", "AdaptiveAvgPool1dSimd", KernelEngine::kHighway,
     &AdaptiveAvgPool<1>, &AcceptsAdaptive, &ImagesScratch},
    {"aten._adaptive_avg_pool2d.default", "AdaptiveAvgPool2dSimd", KernelEngine::kHighway,
     &AdaptiveAvgPool<2>, &AcceptsAdaptive, &ImagesScratch},
    {"aten._adaptive_avg_pool3d.default", "AdaptiveAvgPool3dSimd", KernelEngine::kHighway,
     &AdaptiveAvgPool<3>, &AcceptsAdaptive, &ImagesScratch},
};

}  // namespace

absl::Span<const Kernel> PoolHighwayKernels() { return kKernels; }

}  // namespace belay
