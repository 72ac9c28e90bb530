// belay_cpu::quantized_add, belay_cpu::max_pool2d and belay_cpu::lookup.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/ranges.h"
#include "runtime/kernels/elements/channels_last.h"
#include "runtime/kernels/packed/quantized_add.h"

namespace belay::cpu {
namespace {

using AddCall = QuantizedAddCall<KernelArguments>;
using PoolCall = MaxPool2dCall<KernelArguments>;
using TableCall = LookupCall<KernelArguments>;

absl::Status Add(KernelContext& context, const AddCall& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kUint8, *call.a));
  const auto expect = call.a->rank() == 4 ? &ExpectChannelsLast : &ExpectContiguous;
  ABSL_RETURN_IF_ERROR(expect("a", *call.a));
  ABSL_RETURN_IF_ERROR(expect("b", *call.b));
  ABSL_RETURN_IF_ERROR(expect("result", *out));
  QuantizedAddArgs g;
  g.a = call.a->as<const uint8_t>();
  g.b = call.b->as<const uint8_t>();
  g.out = out->as<uint8_t>();
  g.a_scale = static_cast<float>(call.a_scale);
  g.b_scale = static_cast<float>(call.b_scale);
  g.a_zero_point = call.a_zero_point;
  g.b_zero_point = call.b_zero_point;
  g.inverse_scale = call.output.inverse_scale();
  g.zero_point = call.output.zero_point;
  g.quant_min = call.output.quant_min;
  g.quant_max = call.output.quant_max;
  constexpr int64_t kStep = 1024;
  RunRanges(context, out->numel(), kStep, static_cast<double>(out->numel()),
            [&](int, int64_t first, int64_t last) {
              QuantizedAdd(g, static_cast<size_t>(first), static_cast<size_t>(last));
            });
  return absl::OkStatus();
}

// Plain loops over bytes that lie together, of which compilers make vectors.
void TakeMaxima(const uint8_t* __restrict from, int64_t count, uint8_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = std::max(to[i], from[i]);
}

// One row of results [width, channels].
void MaxPoolRow(const TensorView& in, const Window& w, int64_t image, int64_t y0, int64_t width,
                uint8_t* out) {
  const int64_t channels = in.sizes[1], in_height = in.sizes[2], in_width = in.sizes[3];
  for (int64_t x = 0; x < width; ++x, out += channels) {
    const int64_t x0 = x * w.stride[1] - w.padding[1];
    bool first = true;
    for (int64_t y = std::max<int64_t>(y0, 0); y < std::min(y0 + w.kernel_size[0], in_height);
         ++y) {
      for (int64_t k = std::max<int64_t>(x0, 0); k < std::min(x0 + w.kernel_size[1], in_width);
           ++k) {
        const uint8_t* pixel =
            in.as<const uint8_t>() + ((image * in_height + y) * in_width + k) * channels;
        if (first) {
          std::memcpy(out, pixel, static_cast<size_t>(channels));
          first = false;
        } else {
          TakeMaxima(pixel, channels, out);
        }
      }
    }
    // There is no such window in images that have elements.
    if (first) std::fill(out, out + channels, uint8_t{0});
  }
}

absl::Status MaxPool2d(KernelContext& context, const PoolCall& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kUint8, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  if (out->numel() == 0) return absl::OkStatus();
  const Window& w = call.window;
  const int64_t height = out->sizes[2], width = out->sizes[3], channels = out->sizes[1];
  constexpr double kWork = 1.0 / 16;
  const double work = kWork * static_cast<double>(out->numel()) * static_cast<double>(w.taps());
  RunRanges(context, out->sizes[0] * height, 1, work, [&](int, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      MaxPoolRow(*call.input, w, row / height, row % height * w.stride[0] - w.padding[0], width,
                 out->as<uint8_t>() + row * width * channels);
    }
  });
  return absl::OkStatus();
}

absl::Status Lookup(KernelContext& context, const TableCall& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("table", *call.table));
  const TensorView& in = *call.input;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kUint8, in));
  if (!IsDense(in.sizes, in.strides) || !HasStrides(*out, in.strides)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input: expected a dense tensor that lies as the "
                     "result, ",
                     out->ToString(), ", got ", in.ToString()));
  }
  const uint8_t *from = in.as<const uint8_t>(), *table = call.table->as<const uint8_t>();
  uint8_t* to = out->as<uint8_t>();
  constexpr int64_t kStep = 1024;
  RunRanges(context, in.numel(), kStep, static_cast<double>(in.numel()),
            [&](int, int64_t first, int64_t last) {
              for (int64_t i = first; i < last; ++i) to[i] = table[from[i]];
            });
  return absl::OkStatus();
}

bool AcceptsTable(const KernelContext& context, const TableCall& call) {
  return call.CheckShapes().ok();
}
bool AcceptsAdd(const KernelContext& context, const AddCall& call) {
  return call.CheckShapes().ok();
}
bool AcceptsPool(const KernelContext& context, const PoolCall& call) { return call.Shape().ok(); }

constexpr Kernel kKernels[] = {
    KernelRow<&Add, &AcceptsAdd>(
        "belay_cpu.quantized_add.default",
        "a b a_scale a_zero_point b_scale b_zero_point output_scale output_range",
        "QuantizedAddTogether", KernelEngine::kHighway),
    KernelRow<&MaxPool2d, &AcceptsPool>("belay_cpu.max_pool2d.default",
                                        "input kernel_size stride padding dilation",
                                        "MaxPool2dBytes", KernelEngine::kHighway),
    KernelRow<&Lookup, &AcceptsTable>("belay_cpu.lookup.default", "input table", "LookupBytes",
                                      KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> QuantizedPointwiseKernels() { return kKernels; }

}  // namespace belay::cpu
