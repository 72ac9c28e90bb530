// belay_cpu::max_pool2d.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/calls.h"
#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/rows.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/pool/pool.h"

namespace belay::cpu {
namespace {

using Call = MaxPool2dCall<KernelArguments>;

// Where a row of results reads: row `y0` of an image and the window's rows behind it.
struct Row {
  const TensorView& in;
  const Window& window;
  int64_t image, y0, width;
};

// A number that is ordered as bfloat16 are, NaN above all: its bits, those of negative numbers but
// for the sign inverted.
int16_t KeyOf(BFloat16 element) {
  const auto bits = static_cast<int16_t>(element.bits);
  const auto key = static_cast<int16_t>(bits ^ (bits < 0 ? 0x7FFF : 0));
  return (bits & 0x7FFF) > 0x7F80 ? int16_t{0x7FFF} : key;
}
BFloat16 ElementOf(int16_t key) {
  BFloat16 element;
  element.bits = static_cast<uint16_t>(key ^ (key < 0 ? 0x7FFF : 0));
  return element;
}

// Plain loops over elements that lie together, of which compilers make vectors.
void TakeMaxima(const uint8_t* __restrict from, int64_t count, uint8_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = std::max(to[i], from[i]);
}
void TakeMaxima(const BFloat16* __restrict from, int64_t count, BFloat16* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = ElementOf(std::max(KeyOf(to[i]), KeyOf(from[i])));
}

// A row of results [width, channels].
template <class T>
void Maxima(const Row& row, T* out) {
  const Window& w = row.window;
  const int64_t channels = row.in.sizes[1], height = row.in.sizes[2], width = row.in.sizes[3];
  for (int64_t x = 0; x < row.width; ++x, out += channels) {
    const int64_t x0 = x * w.stride[1] - w.padding[1];
    bool first = true;
    for (int64_t y = std::max<int64_t>(row.y0, 0); y < std::min(row.y0 + w.kernel_size[0], height);
         ++y) {
      for (int64_t k = std::max<int64_t>(x0, 0); k < std::min(x0 + w.kernel_size[1], width); ++k) {
        const T* pixel = row.in.as<const T>() + ((row.image * height + y) * width + k) * channels;
        if (first) {
          std::copy(pixel, pixel + channels, out);
          first = false;
        } else {
          TakeMaxima(pixel, channels, out);
        }
      }
    }
    // There is no such window in images that have elements.
    constexpr bool kUnsigned = std::is_same_v<T, uint8_t>;
    if (first) std::fill(out, out + channels, T(kUnsigned ? 0 : -HUGE_VALF));
  }
}

void Maxima(const Row& row, float* out) {
  const Sizes& sizes = row.in.sizes;
  MaxPoolChannelsF32(
      {.plane = row.in.as<const float>() + row.image * sizes[1] * sizes[2] * sizes[3],
       .height = sizes[2],
       .width = sizes[3],
       .first_row = row.y0,
       .kernel_height = row.window.kernel_size[0],
       .kernel_width = row.window.kernel_size[1],
       .stride = row.window.stride[1],
       .padding = row.window.padding[1],
       .outputs = row.width},
      sizes[1], out, /*index=*/nullptr);
}

template <class T>
void MaximaOf(const KernelContext& context, const Call& call, const TensorView& out) {
  const Window& w = call.window;
  const int64_t height = out.sizes[2], width = out.sizes[3], channels = out.sizes[1];
  constexpr double kWork = sizeof(T) / 16.0;  // of a multiply-add
  const double work = kWork * static_cast<double>(out.numel()) * static_cast<double>(w.taps());
  RunRows(context, out.sizes[0] * height, work, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      Maxima({*call.input, w, row / height, row % height * w.stride[0] - w.padding[0], width},
             out.as<T>() + row * width * channels);
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

constexpr Kernel kKernels[] = {
    KernelRow<&MaxPool2d, &Accepts>("belay_cpu.max_pool2d.default",
                                    "input kernel_size stride padding dilation",
                                    "MaxPool2dWithoutPlaces", KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> MaxPool2dKernels() { return kKernels; }

}  // namespace belay::cpu
