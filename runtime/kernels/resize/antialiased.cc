#include "runtime/kernels/resize/antialiased.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/antialias.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/resize/image_rows.h"
#include "runtime/kernels/resize/resize.h"

namespace belay {
namespace {

constexpr DTypeSet kTypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

// Upper bound of the number of pixels in a window.
int64_t WindowBound(double reach, double step, int64_t in) {
  const double count = std::ceil(2 * reach * std::fmax(step, 1)) + 2;
  return count < static_cast<double>(in) ? static_cast<int64_t>(count) : in;
}

// Upper bound of the number of weights of all columns, also for smaller sizes. A step that follows from
// the sizes is at most 2 in / out.
template <class Filter>
CheckedInt ColumnWeights(const Axis& axis) {
  constexpr auto kReach = static_cast<int64_t>(Filter::kReach);
  const bool scaled = axis.scale.has_value() && *axis.scale > 0;
  const int64_t by_scale = scaled ? WindowBound(Filter::kReach, 1 / *axis.scale, axis.in) : 0;
  return CheckedInt(axis.out) * std::max(by_scale, 2 * kReach + 4) +
         CheckedInt(axis.in) * (4 * kReach);
}

// Elements of 4 bytes beside the weights: the columns' first pixels and numbers of pixels, and for
// each thread a row of the input, a blend and a row of the output.
CheckedInt OtherElements(const KernelContext& context, const Axis& columns) {
  return CheckedInt(columns.out) * 2 +
         (CheckedInt(columns.in) * 2 + columns.out) * context.num_threads();
}

}  // namespace

template <class Filter>
absl::Status ResizeAntialiased(KernelContext& context, const UpsampleCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Upsample u, MakeUpsample(context, call));
  const TensorView &in = *u.input, &out = *u.output;
  if (out.numel() == 0) return absl::OkStatus();
  const Axis& columns = u.axes[1];
  if (columns.in > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError("upsample: the image is too wide");
  }
  const CheckedInt weight_count =
      CheckedInt(columns.out) *
      WindowBound(Filter::kReach, StepOf(columns, call.align_corners), columns.in);
  ABSL_ASSIGN_OR_RETURN(
      float* const weights,
      ScratchArray<float>(context, weight_count + OtherElements(context, columns)));
  auto* const first = reinterpret_cast<int32_t*>(weights + weight_count.value());
  int32_t* const counts = first + columns.out;
  float* const row_room = weights + weight_count.value() + 2 * columns.out;
  std::fill_n(weights, weight_count.value(), 0.0f);
  for (int64_t x = 0; x < columns.out; ++x) {
    const Window<Filter> window = WindowAt<Filter>(columns, x, call.align_corners);
    first[x] = static_cast<int32_t>(window.first);
    counts[x] = static_cast<int32_t>(window.last - window.first);
    for (int64_t i = window.first; i < window.last; ++i) {
      weights[(i - window.first) * columns.out + x] = static_cast<float>(window(i) / window.total);
    }
  }
  const bool first_row_only = BlendsFirstRowOnly(u);
  ForEachRow(context, out, false, [&](const ImageRow& at) {
    const auto& [part, n, c, y, follows] = at;
    float* const input_row = row_room + part * (2 * columns.in + columns.out);
    float* const blend = input_row + columns.in;
    const Window<Filter> window =
        WindowAt<Filter>(u.axes[0], first_row_only ? 0 : y, call.align_corners);
    std::fill_n(blend, columns.in, 0.0f);
    for (int64_t i = window.first; i < window.last; ++i) {
      AddScaledRow(FloatsOf(RowOf(in, n, c, i), input_row),
                   static_cast<float>(window(i) / window.total), static_cast<size_t>(columns.in),
                   blend);
    }
    const TensorView row = RowOf(out, n, c, y);
    const bool direct = row.dtype == DType::kFloat32 && row.strides[0] == 1;
    float* const to = direct ? row.as<float>() : blend + columns.in;
    BlendWindows(blend, first, counts, weights, static_cast<size_t>(columns.out), to);
    if (!direct) CopyConvertible(TensorView::Contiguous(DType::kFloat32, row.sizes, to), row);
  });
  return absl::OkStatus();
}

template <class Filter>
uint64_t AntialiasedScratch(const KernelContext& context,
                            const UpsampleCall<KernelArguments>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok() || (*out)->rank() != 4) return 0;
  const Axis columns = {call.input->sizes[3], (*out)->sizes[3], call.scales[1]};
  return ScratchBytesOf<float>(ColumnWeights<Filter>(columns) + OtherElements(context, columns));
}

bool AcceptsAntialiased(const KernelContext& context, const UpsampleCall<KernelArguments>& call) {
  return kTypes.contains(call.input->dtype) && call.input->rank() == 4;
}

#define BELAY_INSTANTIATE(Filter)                                                        \
  template absl::Status ResizeAntialiased<Filter>(KernelContext&,                        \
                                                  const UpsampleCall<KernelArguments>&); \
  template uint64_t AntialiasedScratch<Filter>(const KernelContext&,                     \
                                               const UpsampleCall<KernelArguments>&);
BELAY_INSTANTIATE(TriangleFilter)
BELAY_INSTANTIATE(CubicFilter)
BELAY_INSTANTIATE(LanczosFilter)
#undef BELAY_INSTANTIATE

}  // namespace belay
