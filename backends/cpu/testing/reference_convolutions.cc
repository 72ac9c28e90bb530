// Reference kernels of float32 and bfloat16 convolutions and of pooling.
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cpu/bfloat16_calls.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/chain_calls.h"
#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/testing/reference_elements.h"
#include "backends/cpu/testing/reference_tables.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/packed/winograd_matrices.h"

namespace belay::cpu {
namespace {

// Convolution sum at an index of the result, with packed weights.
double ConvolutionSum(const TensorView& input, const TensorView& packed, const Window& window,
                      bool depthwise, const Sizes& index) {
  const Sizes& in = input.sizes;
  const auto* weight = packed.as<const float>();
  const auto weight_at = [&](int64_t tap, int64_t channel, int64_t result) -> double {
    if (depthwise) {
      return weight[result / kDepthwiseChannels * kDepthwiseChannels * window.taps() +
                    tap * kDepthwiseChannels + result % kDepthwiseChannels];
    }
    return weight[result / kPanelColumns * kPanelColumns * window.taps() * in[1] +
                  (tap * in[1] + channel) * kPanelColumns + result % kPanelColumns];
  };
  double sum = 0;
  ForEachTap(window, in, index, [&](int64_t tap, Sizes at, bool inside) {
    if (!inside) return;
    if (depthwise) {
      sum += FloatAt(input, at) * weight_at(tap, 0, index[1]);
      return;
    }
    for (at[1] = 0; at[1] < in[1]; ++at[1]) {
      sum += At(input, at) * weight_at(tap, at[1], index[1]);
    }
  });
  return sum;
}

absl::Status RunBFloat16Conv2d(KernelContext& context,
                               const BFloat16Conv2dCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int64_t channels = call.input->sizes[1], paired = PairedChannels(channels);
  const int64_t k = call.window.taps() * paired;
  return ForEachResult<BFloat16>(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    double sum = 0;
    ForEachTap(call.window, call.input->sizes, index, [&](int64_t tap, Sizes at, bool inside) {
      for (at[1] = 0; inside && at[1] < channels; ++at[1]) {
        sum += static_cast<float>(At<BFloat16>(*call.input, at)) *
               PairElement(*call.weight, k, tap * paired + at[1], index[1]);
      }
    });
    return sum;
  });
}

absl::Status RunBFloat16DepthwiseConv2d(KernelContext& context,
                                        const BFloat16DepthwiseConv2dCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  return ForEachResult<BFloat16>(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    return ConvolutionSum(*call.input, *call.weight, call.window, /*depthwise=*/true, index);
  });
}

template <bool kDepthwise>
absl::Status RunConv2d(KernelContext& context,
                       const Conv2dCall<KernelArguments, kDepthwise>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  return ForEachResult(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    return ConvolutionSum(*call.input, *call.weight, call.window, kDepthwise, index);
  });
}

// Element (p, j) of group `group` of packed groups of k rows and n columns; of bfloat16 in VNNI-2
// layout.
template <class T>
double GroupElement(const T* packed, int64_t k, int64_t n, int64_t groups, int64_t group, int64_t p,
                    int64_t j) {
  int64_t panel = 0, column = j;
  if (groups == 1 || n > kNarrowGroup) {
    panel = group * ((n + kPanelColumns - 1) / kPanelColumns) + j / kPanelColumns;
    column = j % kPanelColumns;
  } else {
    panel = group / 2;
    column = group % 2 * kNarrowGroup + j;
  }
  constexpr int64_t kRows = std::is_same_v<T, BFloat16> ? 2 : 1;  // interleaved
  const int64_t line = (panel * k + p) / kRows;
  return static_cast<float>(packed[(line * kPanelColumns + column) * kRows + p % kRows]);
}

template <class T, class Call>
absl::Status RunConvolution(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const Sizes& in = call.input->sizes;
  const auto& axes = call.window.axes;
  const int spatial = call.window.spatial;
  constexpr bool kPairs = std::is_same_v<T, BFloat16>;
  const int64_t channels = in[1] / call.groups, n = call.out_channels / call.groups;
  const int64_t k = kPairs ? PairedChannels(channels) : channels;
  const bool narrow = IsNarrowGroup(call.groups, k, n);
  const int64_t row = PackedTapFloats(call.groups, k, call.out_channels);
  return ForEachResult<T>(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    const int64_t group = index[1] / n;
    double sum = 0;
    for (int64_t z = 0; z < axes[0].kernel; ++z) {
      for (int64_t y = 0; y < axes[1].kernel; ++y) {
        for (int64_t x = 0; x < axes[2].kernel; ++x) {
          const int64_t tap[] = {z, y, x};
          Sizes at = index;
          bool inside = true;
          for (int s = 0; s < spatial; ++s) {
            const WindowAxis& a = call.window.axis(s);
            const int64_t t = tap[3 - spatial + s];
            int64_t& place = at[2 + s];
            if (call.transposed) {
              place = index[2 + s] + a.padding - t * a.dilation;
              inside = inside && place % a.stride == 0;
              place /= a.stride;
            } else {
              place = index[2 + s] * a.stride - a.padding + t * a.dilation;
            }
            inside = inside && place >= 0 && place < in[2 + s];
          }
          if (!inside) continue;
          // The phase of first taps tap % step: after all phases of smaller first taps.
          int64_t taps[3], first[3], number[3], before[3];
          for (size_t s = 0; s < 3; ++s) {
            const int64_t step = axes[s].tap_step();
            first[s] = tap[s] % step, number[s] = tap[s] / step;
            taps[s] = before[s] = 0;
            for (int64_t t = 0; t < axes[s].kernel; ++t) {
              taps[s] += t % step == first[s];
              before[s] += t % step < first[s];
            }
          }
          const T* packed = call.weight->template as<const T>() +
                            (before[0] * axes[1].kernel * axes[2].kernel +
                             taps[0] * (before[1] * axes[2].kernel + taps[1] * before[2])) *
                                k * row;
          const int64_t i = (number[0] * taps[1] + number[1]) * taps[2] + number[2];
          for (int64_t c = 0; c < channels; ++c) {
            at[1] = group * channels + c;
            const int64_t depth = taps[0] * taps[1] * taps[2] * k, p = i * k + c;
            const double w =
                narrow ? double{packed[(index[1] / kDepthwiseChannels * depth + p) *
                                           kDepthwiseChannels +
                                       index[1] % kDepthwiseChannels]}
                       : GroupElement(packed, depth, n, call.groups, group, p, index[1] % n);
            sum += FloatAt(*call.input, at) * w;
          }
        }
      }
    }
    return sum;
  });
}

// Returns the sum of a result of the plane at dimensions `row` and `row` + 1, over the pixels of the
// plane `at`. The weight's matrices have `k` rows; `first_row` is that of the first channel.
double WinogradSum(const TensorView& input, const TensorView& packed, WinogradTile tile,
                   const Sizes& index, int row, int64_t padding_y, int64_t padding_x, int64_t k,
                   int64_t first_row, int64_t out_channels, Sizes at) {
  const Sizes& in = input.sizes;
  const WinogradMatrices& m = WinogradMatricesOf(tile);
  const int64_t results = WinogradResults(tile), pixels = WinogradPixels(tile);
  const int64_t matrix = *PackedMatrixSize(k, out_channels);
  const int64_t y = index[row] % results, x = index[row + 1] % results;
  const int64_t panel = index[1] / kPanelColumns * k + first_row;
  double sum = 0;
  // Pixel (i, j) of the tile contributes to all of its transformed elements (p, q).
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t j = 0; j < pixels; ++j) {
      at[row] = index[row] - y - padding_y + i;
      at[row + 1] = index[row + 1] - x - padding_x + j;
      if (at[row] < 0 || at[row] >= in[row] || at[row + 1] < 0 || at[row + 1] >= in[row + 1]) {
        continue;
      }
      for (at[1] = 0; at[1] < in[1]; ++at[1]) {
        const float* weight =
            packed.as<const float>() + (panel + at[1]) * kPanelColumns + index[1] % kPanelColumns;
        for (int64_t p = 0; p < pixels; ++p) {
          for (int64_t q = 0; q < pixels; ++q, weight += matrix) {
            const double part = m.a[y][p] * m.a[x][q] * m.b[p][i] * m.b[q][j];
            if (part != 0) sum += part * *weight * At(input, at);
          }
        }
      }
    }
  }
  return sum;
}

absl::Status RunWinogradConv2d(KernelContext& context,
                               const WinogradConv2dCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int64_t channels = call.input->sizes[1];
  return ForEachResult(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    return WinogradSum(*call.input, *call.weight, call.tile(), index, 2, call.window.padding[0],
                       call.window.padding[1], channels, 0, call.out_channels, index);
  });
}

absl::Status RunWinogradConvolution(KernelContext& context,
                                    const WinogradConvolutionCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int64_t channels = call.input->sizes[1];
  const auto& axes = call.window.axes;
  return ForEachResult(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    double sum = 0;
    for (int64_t z = 0; z < axes[0].kernel; ++z) {
      Sizes at = index;
      at[2] = index[2] * axes[0].stride - axes[0].padding + z * axes[0].dilation;
      if (at[2] < 0 || at[2] >= call.input->sizes[2]) continue;
      sum += WinogradSum(*call.input, *call.weight, call.tile(), index, 3, axes[1].padding,
                         axes[2].padding, axes[0].kernel * channels, z * channels,
                         call.out_channels, at);
    }
    return sum;
  });
}

// Runs stage by stage and materializes each result.
absl::Status RunConv2dChain(KernelContext& context, const Conv2dChainCall<KernelArguments>& call) {
  TensorView images = *call.input;
  std::vector<float> memory;
  for (int k = 0; k < call.count; ++k) {
    const ChainStage<KernelArguments>& stage = call.stages[static_cast<size_t>(k)];
    const auto sum = [&](const Sizes& index) {
      return ConvolutionSum(images, *stage.weight, stage.window, stage.depthwise(), index);
    };
    ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.StageShape(k, ToDims(images.sizes)));
    if (k == call.count - 1) {
      return ForEachResult(context, shape, stage.epilogue, 1, sum);
    }
    ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
    TensorView result = TensorView::Contiguous(DType::kFloat32, sizes, nullptr);
    std::vector<float> results(static_cast<size_t>(result.numel()));
    result.data = results.data();
    Sizes index(sizes.size(), int64_t{0});
    for (float& element : results) {
      element = Finish(stage.epilogue, sum(index), index, 1);
      for (int d = sizes.size() - 1; d >= 0 && ++index[d] == sizes[d]; --d) index[d] = 0;
    }
    memory = std::move(results);
    images = result;
  }
  return absl::InternalError("a chain of no stages");
}

absl::Status RunMaxPool2d(KernelContext& context, const MaxPool2dCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const auto maxima = [&]<class T>(T least) {
    return ForEachPlace<T>(context, shape, [&](const Sizes& index) {
      T most = least;
      ForEachTap(call.window, call.input->sizes, index, [&](int64_t, const Sizes& at, bool inside) {
        if (!inside || most != most) return;  // NaN compares greater than every number
        const T x = At<T>(*call.input, at);
        if (!(x <= most)) most = x;
      });
      return most;
    });
  };
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  if (call.input->dtype == DType::kUint8) return maxima(uint8_t{0});
  if (call.input->dtype == DType::kBFloat16) return maxima(BFloat16(kLeast));
  return maxima(kLeast);
}

constexpr Kernel kKernels[] = {
    KernelRow<&RunConv2d<false>>("belay_cpu.conv2d.default",
                                 "input weight bias other out_channels kernel_size stride padding "
                                 "dilation activation combine low high",
                                 "Conv2dReference", KernelEngine::kReference),
    KernelRow<&RunConv2d<true>>("belay_cpu.depthwise_conv2d.default",
                                "input weight bias other kernel_size stride padding dilation "
                                "activation combine low high",
                                "DepthwiseConv2dReference", KernelEngine::kReference),
    KernelRow<&RunBFloat16Conv2d>("belay_cpu.bfloat16_conv2d.default",
                                  "input weight bias other out_channels kernel_size stride padding "
                                  "dilation activation combine low high",
                                  "BFloat16Conv2dReference", KernelEngine::kReference),
    KernelRow<&RunBFloat16DepthwiseConv2d>(
        "belay_cpu.bfloat16_depthwise_conv2d.default",
        "input weight bias other kernel_size stride padding dilation activation combine low high",
        "BFloat16DepthwiseConv2dReference", KernelEngine::kReference),
    KernelRow<&RunWinogradConv2d>("belay_cpu.winograd_conv2d.default",
                                  "input weight bias other out_channels kernel_size stride padding "
                                  "dilation activation combine low high",
                                  "WinogradConv2dReference", KernelEngine::kReference),
    KernelRow<&RunWinogradConvolution>("belay_cpu.winograd_convolution.default",
                                       "input weight bias other out_channels groups transposed "
                                       "kernel_size stride padding output_padding dilation "
                                       "activation combine low high",
                                       "WinogradConvolutionReference", KernelEngine::kReference),
    KernelRow<&RunConvolution<BFloat16, BFloat16ConvolutionCall<KernelArguments>>>(
        "belay_cpu.bfloat16_convolution.default",
        "input weight bias other out_channels groups transposed kernel_size stride padding "
        "output_padding dilation activation combine low high",
        "BFloat16ConvolutionReference", KernelEngine::kReference),
    KernelRow<&RunConvolution<float, GeneralConvolutionCall<KernelArguments>>>(
        "belay_cpu.convolution.default",
        "input weight bias other out_channels groups transposed "
        "kernel_size stride padding output_padding dilation activation "
        "combine low high",
        "ConvolutionReference", KernelEngine::kReference),
    KernelRow<&RunConv2dChain>(
        "belay_cpu.conv2d_chain.default",
        "input weights biases other out_channels kernel_size stride padding dilation activations "
        "combine low high",
        "Conv2dChainReference", KernelEngine::kReference),
    KernelRow<&RunMaxPool2d>("belay_cpu.max_pool2d.default",
                             "input kernel_size stride padding dilation", "MaxPool2dReference",
                             KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> ReferenceConvolutions() { return kKernels; }

}  // namespace belay::cpu
