#include "runtime/kernels/resize/fold.h"

#include <algorithm>
#include <cstdint>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/element_copy/add_row.h"
#include "runtime/kernels/operands/inside_range.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"

namespace belay {
absl::Status Fold(KernelContext& context, const Col2ImCall<KernelArguments>& call) {
  const TensorView& self = *call.self;
  const PatchParams& p = call.params;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self.dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();
  const int rank = self.rank(), last = out->rank() - 1;
  const int64_t height = out->sizes[last - 1], width = out->sizes[last];
  const int64_t planes = out->numel() / (height * width), channels = out->sizes[last - 2];
  const int64_t row = self.strides[rank - 2], batch = rank == 3 ? self.strides[0] : 0;
  const int64_t taps = p.kernel[0] * p.kernel[1];
  int64_t windows[2];
  for (int d = 0; d < 2; ++d) {
    windows[d] = WindowCount<CheckedInt>(call.output_size[d], p.kernel[d], p.stride[d],
                                         p.padding[d], p.dilation[d])
                     .value();
  }
  const auto inside = [&](int d, int64_t k, int64_t pixels) {
    return Inside(p.stride[d], k * p.dilation[d] - p.padding[d], pixels, windows[d]);
  };
  const auto fold_plane = [&](const float* from, float* to, Budget::Pace& pace) {
    std::fill_n(to, height * width, 0.0f);
    for (int64_t i = 0; i < p.kernel[0]; ++i) {
      const InsideRange rows = inside(0, i, height);
      for (int64_t k = 0; k < p.kernel[1]; ++k, from += row) {
        const InsideRange columns = inside(1, k, width);
        if (pace.Stop(windows[0] * windows[1])) return;
        if (columns.first == columns.last) continue;
        const int64_t x = columns.first * p.stride[1] + k * p.dilation[1] - p.padding[1];
        for (int64_t r = rows.first; r < rows.last; ++r) {
          const int64_t y = r * p.stride[0] + i * p.dilation[0] - p.padding[0];
          AddRow(from + r * windows[1] + columns.first, columns.last - columns.first, p.stride[1],
                 to + y * width + x);
        }
      }
    }
  };
  RunRanges(context, planes, 1, kElementWork * static_cast<double>(self.numel()),
            [&](int, int64_t first, int64_t end) {
              Budget::Pace pace;
              for (int64_t i = first; i < end && !pace.stopped(); ++i) {
                fold_plane(
                    self.as<const float>() + i / channels * batch + i % channels * taps * row,
                    out->as<float>() + i * height * width, pace);
              }
            });
  return absl::OkStatus();
}

bool AcceptsFold(const KernelContext& context, const Col2ImCall<KernelArguments>& call) {
  const TensorView& self = *call.self;
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  const int last = self.rank() - 1;
  return self.dtype == DType::kFloat32 && last >= 1 &&
         (self.strides[last] == 1 || self.sizes[last] == 1) && out.ok() &&
         (*out)->rank() == self.rank() + 1 && (*out)->is_contiguous();
}

}  // namespace belay
