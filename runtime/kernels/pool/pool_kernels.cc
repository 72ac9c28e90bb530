#include <algorithm>
#include <limits>
#include <optional>

#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/pool.h"
#include "runtime/kernels/dense.h"
#include "runtime/kernels/pool/pool.h"
#include "runtime/kernels/reference/operands.h"

namespace belay {
namespace {

constexpr DTypeSet kF32 = {DType::kFloat32};

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
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "self", kF32));
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
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*input));
  if (!Fits(*input, params))
    return absl::InvalidArgumentError("pooling: the image or the window is too large");
  return Call{input, params, shape};
}

// Calls fn(row, y, offset of the row's first output) for every row of outputs.
template <class Fn>
void ForEachRow(const Call& call, const TensorView& out, const Fn& fn) {
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
    row.plane = in.as<float>() + n * height * width;
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
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, call.shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* index, OutputOf(context, 1, DType::kInt64, call.shape));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*out));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*index));
  ForEachRow(call, *out, [&](const PoolRow& row, int64_t, int64_t at) {
    MaxPoolRowF32(row, out->as<float>() + at, index->as<int64_t>() + at);
  });
  return absl::OkStatus();
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
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, call.shape));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*out));
  const PoolParams& p = call.params;
  ForEachRow(call, *out, [&](const PoolRow& row, int64_t, int64_t at) {
    float* to = out->as<float>() + at;
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
  return absl::OkStatus();
}

bool AcceptsInput(const KernelContext& context, int arguments, int outputs) {
  if (context.num_arguments() != arguments || context.num_outputs() != outputs ||
      !IsRowMajorF32(context, 0) || !IsRowMajorF32Output(context, 0)) {
    return false;
  }
  const int rank = context.argument(0).get_if<TensorView>()->rank();
  return rank == 3 || rank == 4;
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
    {"aten.max_pool2d_with_indices.default", "MaxPool2dF32", KernelEngine::kHighway, &MaxPool2d,
     &AcceptsMaxPool},
    {"aten.avg_pool2d.default", "AvgPool2dF32", KernelEngine::kHighway, &AvgPool2d,
     &AcceptsAvgPool},
};

}  // namespace

absl::Span<const Kernel> PoolHighwayKernels() { return kKernels; }

}  // namespace belay
