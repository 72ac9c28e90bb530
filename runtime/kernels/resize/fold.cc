#include "runtime/kernels/resize/fold.h"

#include <algorithm>
#include <cstdint>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/ranges.h"
#include "runtime/kernels/resize/resize.h"

namespace belay {
namespace {

// Windows along one dimension whose element k is at a pixel: [first, last), at pixels `pixel` +
// stride * i.
struct Places {
  int64_t first = 0, last = 0, pixel = 0;
};
Places PlacesOf(const PatchParams& p, int d, int64_t k, int64_t windows, int64_t pixels) {
  const int64_t start = k * p.dilation[d] - p.padding[d];  // the pixel of window 0
  if (start >= pixels) return {};
  Places places;
  places.first = start < 0 ? (-start - 1) / p.stride[d] + 1 : 0;
  places.last = std::min(windows, (pixels - start - 1) / p.stride[d] + 1);
  if (places.first >= places.last) return {};
  places.pixel = start + places.first * p.stride[d];
  return places;
}

}  // namespace

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
  RunRanges(context, planes, 1, kElementWork * static_cast<double>(self.numel()),
            [&](int, int64_t first, int64_t end) {
              Budget::Pace pace;
              for (int64_t plane = first; plane < end; ++plane) {
                float* const to = out->as<float>() + plane * height * width;
                std::fill_n(to, height * width, 0.0f);
                const float* from = self.as<const float>() + plane / channels * batch +
                                    plane % channels * taps * row;
                for (int64_t i = 0; i < p.kernel[0]; ++i) {
                  const Places rows = PlacesOf(p, 0, i, windows[0], height);
                  for (int64_t k = 0; k < p.kernel[1]; ++k, from += row) {
                    const Places columns = PlacesOf(p, 1, k, windows[1], width);
                    if (pace.Stop(windows[0] * windows[1])) return;
                    const auto n = static_cast<size_t>(columns.last - columns.first);
                    if (n == 0) continue;
                    for (int64_t r = rows.first; r < rows.last; ++r) {
                      const int64_t y = rows.pixel + (r - rows.first) * p.stride[0];
                      AddSteppedRow(from + r * windows[1] + columns.first, n,
                                    static_cast<size_t>(p.stride[1]),
                                    to + y * width + columns.pixel);
                    }
                  }
                }
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
