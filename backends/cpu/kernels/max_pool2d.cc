// belay_cpu::max_pool2d.
#include <cstdint>

#include "backends/cpu/calls.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/rows.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/pool/pool.h"

namespace belay::cpu {
namespace {

using Call = MaxPool2dCall<KernelArguments>;

template <class T>
void MaximaOf(const KernelContext& context, const Call& call, const TensorView& out) {
  const Window& w = call.window;
  const TensorView& in = *call.input;
  const int64_t height = out.sizes[2], channels = out.sizes[1];
  constexpr double kWork = sizeof(T);  // of an element of a window, relative to a multiply-add
  const double work = kWork * static_cast<double>(out.numel()) * static_cast<double>(w.taps());
  RunRows(context, out.sizes[0] * height, work, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const PoolRowOf<T> windows = {
          .volume = in.as<const T>() + row / height * in.sizes[2] * in.sizes[3] * channels,
          .height = in.sizes[2],
          .width = in.sizes[3],
          .first_row = row % height * w.stride[0] - w.padding[0],
          .kernel_height = w.kernel_size[0],
          .kernel_width = w.kernel_size[1],
          .stride = w.stride[1],
          .padding = w.padding[1],
          .outputs = out.sizes[3]};
      MaxPoolChannels(windows, channels, out.as<T>() + row * out.sizes[3] * channels);
    }
  });
}

absl::Status MaxPool2d(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.input->dtype, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  if (out->numel() == 0) return absl::OkStatus();
  if (out->dtype == DType::kUint8) {
    MaximaOf<uint8_t>(context, call, *out);
  } else if (out->dtype == DType::kBFloat16) {
    MaximaOf<BFloat16>(context, call, *out);
  } else {
    MaximaOf<float>(context, call, *out);
  }
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context, const Call& call) { return call.Shape().ok(); }

constexpr OperatorFacts kFacts = {.work = {WorkRule::Kind::kWindow, 1}};
constexpr Kernel kKernels[] = {
    KernelRow<&MaxPool2d, &Accepts>("belay_cpu.max_pool2d.default",
                                    "input kernel_size stride padding dilation",
                                    "MaxPool2dWithoutPlaces", KernelEngine::kHighway, &kFacts),
};

}  // namespace

absl::Span<const Kernel> MaxPool2dKernels() { return kKernels; }

}  // namespace belay::cpu
