#include "backends/cpu/testing/reference_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cpu/bfloat16_calls.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/chain_calls.h"
#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/dynamic_calls.h"
#include "backends/cpu/embedding_calls.h"
#include "backends/cpu/pointwise_calls.h"
#include "backends/cpu/quantized_calls.h"
#include "backends/cpu/token_calls.h"
#include "backends/cpu/weight_only_calls.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/packed/exact_activation.h"
#include "runtime/kernels/packed/winograd_matrices.h"

namespace belay::cpu {
namespace {

template <class T = float>
const T& At(const TensorView& tensor, absl::Span<const int64_t> index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * tensor.strides[d];
  return tensor.as<const T>()[offset];
}

// An element of float32, bfloat16 or float16.
float FloatAt(const TensorView& tensor, absl::Span<const int64_t> index) {
  if (tensor.dtype == DType::kBFloat16) return At<BFloat16>(tensor, index);
  if (tensor.dtype == DType::kFloat16) return At<Half>(tensor, index);
  return At(tensor, index);
}

// Applies the epilogue to a sum at `index` of the result. The bias runs along dimension `channels`.
// For bfloat16 every step rounds.
template <class T = float>
T Finish(const EpilogueCall<KernelArguments>& epilogue, double sum, absl::Span<const int64_t> index,
         size_t channels) {
  const auto round = [](double x) -> double {
    return std::is_same_v<T, float> ? x : static_cast<float>(T(static_cast<float>(x)));
  };
  if (epilogue.bias != nullptr) sum += At(*epilogue.bias, index.subspan(channels, 1));
  sum = round(sum);
  const double other =
      epilogue.other == nullptr ? 0 : static_cast<float>(At<T>(*epilogue.other, index));
  if (epilogue.other != nullptr && !epilogue.multiply) sum = round(sum + other);
  sum = round(ExactActivation(epilogue.activation, sum));
  if (epilogue.multiply && epilogue.other != nullptr) sum *= other;
  const auto result = static_cast<float>(sum);
  return T(std::isnan(result) ? result
                              : std::clamp(result, epilogue.bounds.low, epilogue.bounds.high));
}

// Stores value(index) at each index of the result.
template <class T, class Value>
absl::Status ForEachPlace(KernelContext& context, absl::Span<const CheckedInt> shape,
                          const Value& value) {
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
  ABSL_ASSIGN_OR_RETURN(TensorView* const output, context.Output(0, sizes));
  Sizes index(sizes.size(), int64_t{0});
  for (int64_t left = output->numel(); left > 0; --left) {
    const_cast<T&>(At<T>(*output, index)) = value(index);
    for (int d = sizes.size() - 1; d >= 0 && ++index[d] == sizes[d]; --d) index[d] = 0;
  }
  return absl::OkStatus();
}

// Calls `sum` for each index of the result and stores the sum after the epilogue.
template <class T = float, class Sum>
absl::Status ForEachResult(KernelContext& context, absl::Span<const CheckedInt> shape,
                           const EpilogueCall<KernelArguments>& epilogue, size_t channels,
                           Sum sum) {
  return ForEachPlace<T>(context, shape, [&](const Sizes& index) {
    return Finish<T>(epilogue, sum(index), index, channels);
  });
}

absl::Status RunLinear(KernelContext& context, const LinearCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t k = call.input->sizes[last];
  const float* weight = static_cast<const float*>(call.weight->data);
  return ForEachResult(
      context, shape, call.epilogue, static_cast<size_t>(last), [&](const Sizes& index) {
        const int64_t panel = index[last] / kPanelColumns;
        const float* column = weight + panel * k * kPanelColumns + index[last] % kPanelColumns;
        Sizes at = index;
        double sum = 0;
        for (at[last] = 0; at[last] < k; ++at[last]) {
          sum += double{At(*call.input, at)} * column[at[last] * kPanelColumns];
        }
        return sum;
      });
}

// Element (p, j) of packed weights with k rows, without zero point and scale.
double PackedNumber(const TensorView& weight, WeightFormat format, int64_t k, int64_t p,
                    int64_t j) {
  const int64_t block = j / kPanelColumns * ((k + 7) / 8) + p / 8;  // eight rows of a panel
  const int64_t row = p % 8, column = j % kPanelColumns;
  if (format == WeightFormat::kInt4) {
    const auto word = weight.as<const uint32_t>()[block * kPanelColumns + column];
    return static_cast<double>(word >> (4 * (row % 2 * 4 + row / 2)) & 15) - 8;
  }
  const int64_t at = (block * 8 + row) * kPanelColumns + column;
  if (format == WeightFormat::kInt8) return weight.as<const int8_t>()[at];
  return BFloat16BitsToFloat(weight.as<const uint16_t>()[at]);
}

absl::Status RunWeightOnlyLinear(KernelContext& context,
                                 const WeightOnlyLinearCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t k = call.input->sizes[last], group = std::max<int64_t>(call.group, 1);
  const int64_t groups = (k + group - 1) / group;
  return ForEachResult(
      context, shape, call.epilogue, static_cast<size_t>(last), [&](const Sizes& index) {
        const int64_t j = index[last], panel = j / kPanelColumns;
        Sizes at = index;
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) {
          at[last] = p;
          double number = PackedNumber(*call.weight, call.format->format, k, p, j);
          const int64_t of = (panel * groups + p / group) * kPanelColumns + j % kPanelColumns;
          if (call.zeros != nullptr) number -= call.zeros->as<const float>()[of];
          if (call.scales != nullptr) number *= call.scales->as<const float>()[of];
          sum += At(*call.input, at) * number;
        }
        return sum;
      });
}

// Calls visit(tap, position in the image, is inside) for each tap of the window at `index`.
template <class Visit>
void ForEachTap(const Window& window, const Sizes& image, const Sizes& index, const Visit& visit) {
  for (int64_t tap = 0; tap < window.taps(); ++tap) {
    const int64_t taps[] = {tap / window.kernel_size[1], tap % window.kernel_size[1]};
    Sizes at = index;
    bool inside = true;
    for (int s = 0; s < 2; ++s) {
      at[2 + s] =
          index[2 + s] * window.stride[s] - window.padding[s] + taps[s] * window.dilation[s];
      inside = inside && at[2 + s] >= 0 && at[2 + s] < image[2 + s];
    }
    visit(tap, at, inside);
  }
}

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
      sum += At(input, at) * weight_at(tap, 0, index[1]);
      return;
    }
    for (at[1] = 0; at[1] < in[1]; ++at[1]) {
      sum += At(input, at) * weight_at(tap, at[1], index[1]);
    }
  });
  return sum;
}

// Element (p, j) of a matrix with k rows in the VNNI-2 layout.
double PairElement(const TensorView& packed, int64_t k, int64_t p, int64_t j) {
  const int64_t pair = (j / kPanelColumns * (k / 2) + p / 2) * kPanelColumns + j % kPanelColumns;
  return static_cast<float>(packed.as<const BFloat16>()[2 * pair + p % 2]);
}

absl::Status RunBFloat16Linear(KernelContext& context,
                               const BFloat16LinearCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t k = call.input->sizes[last];
  return ForEachResult<BFloat16>(context, shape, call.epilogue, static_cast<size_t>(last),
                                 [&](const Sizes& index) {
                                   Sizes at = index;
                                   double sum = 0;
                                   for (at[last] = 0; at[last] < k; ++at[last]) {
                                     sum += static_cast<float>(At<BFloat16>(*call.input, at)) *
                                            PairElement(*call.weight, k, at[last], index[last]);
                                   }
                                   return sum;
                                 });
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

template <bool kDepthwise>
absl::Status RunConv2d(KernelContext& context,
                       const Conv2dCall<KernelArguments, kDepthwise>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  return ForEachResult(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    return ConvolutionSum(*call.input, *call.weight, call.window, kDepthwise, index);
  });
}

// Element (p, j) of group `group` of packed groups of k rows and n columns.
double GroupElement(const float* packed, int64_t k, int64_t n, int64_t groups, int64_t group,
                    int64_t p, int64_t j) {
  int64_t panel = 0, column = j;
  if (groups == 1 || n > kNarrowGroup) {
    panel = group * ((n + kPanelColumns - 1) / kPanelColumns) + j / kPanelColumns;
    column = j % kPanelColumns;
  } else {
    panel = group / 2;
    column = group % 2 * kNarrowGroup + j;
  }
  return packed[(panel * k + p) * kPanelColumns + column];
}

absl::Status RunConvolution(KernelContext& context,
                            const GeneralConvolutionCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const Sizes& in = call.input->sizes;
  const auto& axes = call.window.axes;
  const int spatial = call.window.spatial;
  const int64_t k = in[1] / call.groups, n = call.out_channels / call.groups;
  const bool narrow = IsNarrowGroup(call.groups, k, n);
  const int64_t row = PackedTapFloats(call.groups, k, call.out_channels);
  return ForEachResult(context, shape, call.epilogue, 1, [&](const Sizes& index) {
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
          const float* packed = call.weight->as<const float>() +
                                (before[0] * axes[1].kernel * axes[2].kernel +
                                 taps[0] * (before[1] * axes[2].kernel + taps[1] * before[2])) *
                                    k * row;
          const int64_t i = (number[0] * taps[1] + number[1]) * taps[2] + number[2];
          for (int64_t c = 0; c < k; ++c) {
            at[1] = group * k + c;
            const int64_t depth = taps[0] * taps[1] * taps[2] * k, p = i * k + c;
            const double w =
                narrow ? packed[(index[1] / kDepthwiseChannels * depth + p) * kDepthwiseChannels +
                                index[1] % kDepthwiseChannels]
                       : GroupElement(packed, depth, n, call.groups, group, p, index[1] % n);
            sum += At(*call.input, at) * w;
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

absl::Status RunAttention(KernelContext& context, const AttentionCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
  ABSL_ASSIGN_OR_RETURN(TensorView* const output, context.Output(0, sizes));
  if (output->numel() == 0) return absl::OkStatus();
  const int last = sizes.size() - 1, heads = last - 2, tokens = last - 1;
  const int64_t keys = call.key->sizes[tokens], shared = sizes[heads] / call.key->sizes[heads];
  // Masked score of the query at `index` and a key; -inf if it is not visible.
  const auto score = [&](const Sizes& index, int64_t key) -> double {
    constexpr double kUnseen = -std::numeric_limits<double>::infinity();
    Sizes query_at = index, key_at = index;
    key_at[heads] /= shared;
    key_at[tokens] = key;
    double sum = 0;
    for (int64_t k = 0; k < call.query->sizes[last]; ++k) {
      query_at[last] = key_at[last] = k;
      sum += double{At(*call.query, query_at)} * FloatAt(*call.key, key_at);
    }
    sum *= call.scale;
    if (call.is_causal && key > index[tokens]) return kUnseen;
    if (call.mask == nullptr) return sum;
    int64_t offset = 0;
    for (int back = 1; back <= call.mask->rank(); ++back) {
      const int d = call.mask->rank() - back;
      const int64_t at = back == 1 ? key : index[sizes.size() - back];
      if (call.mask->sizes[d] != 1) offset += at * call.mask->strides[d];
    }
    if (call.mask->dtype == DType::kBool) {
      return call.mask->as<const uint8_t>()[offset] != 0 ? sum : kUnseen;
    }
    return sum + call.mask->as<const float>()[offset];
  };
  Sizes index(sizes.size(), int64_t{0});
  for (int64_t left = output->numel(); left > 0; --left) {
    double most = -std::numeric_limits<double>::infinity(), total = 0, sum = 0;
    for (int64_t key = 0; key < keys; ++key) most = std::max(most, score(index, key));
    for (int64_t key = 0; key < keys && !std::isinf(most); ++key) {
      const double weight = std::exp(score(index, key) - most);
      Sizes at = index;
      at[heads] /= shared;
      at[tokens] = key;
      total += weight;
      sum += weight * FloatAt(*call.value, at);
    }
    double result = sum / total;
    if (total == 0) {
      result = call.nan_rows && keys > 0 ? std::numeric_limits<double>::quiet_NaN() : 0;
    }
    const_cast<float&>(At(*output, index)) = static_cast<float>(result);
    for (int d = last; d >= 0 && ++index[d] == sizes[d]; --d) index[d] = 0;
  }
  return absl::OkStatus();
}

// ---- Groups of elementwise operators

// A step's result; truth values are 0 and 1.
double ExactStep(const PointwiseStep& kind, const double* x, const double* scalars) {
  switch (kind.op) {
    case PointwiseOp::kAbs:
      return std::fabs(x[0]);
    case PointwiseOp::kAdd:
      return x[0] + x[1];
    case PointwiseOp::kCeil:
      return std::ceil(x[0]);
    case PointwiseOp::kClampBoth: {
      const double raised = x[0] < scalars[0] ? scalars[0] : x[0];
      return scalars[1] < raised ? scalars[1] : raised;
    }
    case PointwiseOp::kCos:
      return std::cos(x[0]);
    case PointwiseOp::kDiv:
      return x[0] / x[1];
    case PointwiseOp::kElu:
      return x[0] < 0 ? std::expm1(x[0] * scalars[2]) * scalars[0] * scalars[1] : x[0] * scalars[1];
    case PointwiseOp::kEq:
      return x[0] == x[1] ? 1 : 0;
    case PointwiseOp::kErf:
      return std::erf(x[0]);
    case PointwiseOp::kExp:
      return std::exp(x[0]);
    case PointwiseOp::kExpm1:
      return std::expm1(x[0]);
    case PointwiseOp::kFloor:
      return std::floor(x[0]);
    case PointwiseOp::kGe:
      return x[0] >= x[1] ? 1 : 0;
    case PointwiseOp::kGeluErf:
      return ExactActivation(Activation::kGelu, x[0]);
    case PointwiseOp::kGeluTanh:
      return ExactActivation(Activation::kGeluTanh, x[0]);
    case PointwiseOp::kGt:
      return x[0] > x[1] ? 1 : 0;
    case PointwiseOp::kLe:
      return x[0] <= x[1] ? 1 : 0;
    case PointwiseOp::kLeakyRelu:
      return x[0] > 0 ? x[0] : x[0] * scalars[0];
    case PointwiseOp::kLog:
      return std::log(x[0]);
    case PointwiseOp::kLog1p:
      return std::log1p(x[0]);
    case PointwiseOp::kLog2:
      return std::log2(x[0]);
    case PointwiseOp::kLogicalAnd:
      return x[0] != 0 && x[1] != 0 ? 1 : 0;
    case PointwiseOp::kLogicalNot:
      return x[0] != 0 ? 0 : 1;
    case PointwiseOp::kLogicalOr:
      return x[0] != 0 || x[1] != 0 ? 1 : 0;
    case PointwiseOp::kLt:
      return x[0] < x[1] ? 1 : 0;
    case PointwiseOp::kMaximum:
      return std::isnan(x[0]) || x[0] > x[1] ? x[0] : x[1];
    case PointwiseOp::kMinimum:
      return std::isnan(x[0]) || x[0] < x[1] ? x[0] : x[1];
    case PointwiseOp::kMul:
      return x[0] * x[1];
    case PointwiseOp::kNe:
      return x[0] != x[1] ? 1 : 0;
    case PointwiseOp::kNeg:
      return -x[0];
    case PointwiseOp::kPow:
      return std::pow(x[0], scalars[0]);
    case PointwiseOp::kReciprocal:
      return 1 / x[0];
    case PointwiseOp::kRelu:
      return x[0] < 0 ? 0 : x[0];
    case PointwiseOp::kRound:
      return std::nearbyint(x[0]);
    case PointwiseOp::kRsqrt:
      return 1 / std::sqrt(x[0]);
    case PointwiseOp::kSigmoid:
      return 1 / (1 + std::exp(-x[0]));
    case PointwiseOp::kSign:
      return (0 < x[0]) - (x[0] < 0);
    case PointwiseOp::kSin:
      return std::sin(x[0]);
    case PointwiseOp::kSqrt:
      return std::sqrt(x[0]);
    case PointwiseOp::kSub:
      return x[0] - x[1];
    case PointwiseOp::kTanh:
      return std::tanh(x[0]);
    case PointwiseOp::kTrunc:
      return std::trunc(x[0]);
    case PointwiseOp::kWhere:
      return x[0] != 0 ? x[1] : x[2];
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

// Every step is rounded to float32.
absl::Status RunPointwise(KernelContext& context, const PointwiseGroupCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  return ForEachPlace<float>(context, shape, [&](const Sizes& index) {
    std::vector<double> values;
    for (int k = 0; k < call.num_inputs; ++k) {
      const TensorView& input = *call.inputs[static_cast<size_t>(k)];
      const int lead = index.size() - input.rank();
      Sizes at(input.rank(), int64_t{0});
      for (int d = 0; d < input.rank(); ++d) at[d] = input.sizes[d] == 1 ? 0 : index[lead + d];
      values.push_back(input.dtype == DType::kBool ? (At<uint8_t>(input, at) != 0 ? 1 : 0)
                                                   : double{At(input, at)});
    }
    for (int k = 0; k < call.num_scalars; ++k) {
      values.push_back(double{call.scalars[static_cast<size_t>(k)]});
    }
    for (int k = 0; k < call.num_steps; ++k) {
      const auto& step = call.steps[static_cast<size_t>(k)];
      double operands[4] = {};
      for (int i = 0; i < step.kind->operands + step.kind->scalars; ++i) {
        operands[i] = values[step.operands[static_cast<size_t>(i)]];
      }
      values.push_back(double{
          static_cast<float>(ExactStep(*step.kind, operands, operands + step.kind->operands))});
    }
    return static_cast<float>(values.back());
  });
}

// ---- Quantized tensors

int32_t QuantizedNumber(const Quantization& q, float y) {
  const float number = std::nearbyint(y * q.inverse_scale()) + static_cast<float>(q.zero_point);
  return static_cast<int32_t>(
      std::clamp(number, static_cast<float>(q.quant_min), static_cast<float>(q.quant_max)));
}
float RealNumber(double scale, int32_t zero_point, int32_t number) {
  return static_cast<float>(number - zero_point) * static_cast<float>(scale);
}

// Computes y from a sum of bytes from which the zero point is not subtracted yet.
float FinishReal(const QuantizedEpilogueCall<KernelArguments>& e, int64_t sum, int64_t channel) {
  sum -= int64_t{e.input_zero_point} * At<int32_t>(*e.weight_sums, {&channel, 1});
  float y = static_cast<float>(static_cast<int32_t>(sum)) * At(*e.scales, {&channel, 1});
  if (e.bias != nullptr) y = y + At(*e.bias, {&channel, 1});
  y = static_cast<float>(ExactActivation(e.activation, y));
  y = std::clamp(y, e.bounds.low, e.bounds.high);
  if (!e.inner.has_value()) return y;
  return RealNumber(e.inner->scale, e.inner->zero_point, QuantizedNumber(*e.inner, y));
}

// Calls `sum` for each index of the result and stores the sum after the epilogue.
template <class Sum>
absl::Status ForEachQuantizedResult(KernelContext& context, absl::Span<const CheckedInt> shape,
                                    const QuantizedEpilogueCall<KernelArguments>& epilogue,
                                    int channels, Sum sum) {
  const auto real = [&](const Sizes& index) {
    return FinishReal(epilogue, sum(index), index[channels]);
  };
  if (!epilogue.output.has_value()) return ForEachPlace<float>(context, shape, real);
  return ForEachPlace<uint8_t>(context, shape, [&](const Sizes& index) {
    return static_cast<uint8_t>(QuantizedNumber(*epilogue.output, real(index)));
  });
}

// Element (tap, p, j) of a packed matrix with k rows per tap.
int32_t PackedWeight(const TensorView& weight, int64_t taps, int64_t k, int64_t tap, int64_t p,
                     int64_t j) {
  constexpr int64_t kColumns = kQuantizedPanelColumns;
  const int64_t lines = (k + 3) / 4;
  const int64_t line = (j / kColumns * taps + tap) * lines + p / 4;
  return weight.as<const int8_t>()[line * 64 + j % kColumns * 4 + p % 4];
}

// Weight of a channel at row y and column x of the window.
int32_t PackedDepthwiseWeight(const TensorView& weight, const Window& window, int64_t channel,
                              int64_t y, int64_t x) {
  constexpr int64_t kBlock = kQuantizedDepthwiseChannels;
  const int64_t groups = (window.kernel_size[0] + 3) / 4, c = channel % kBlock;
  const int64_t group = (channel / kBlock * groups + y / 4) * window.kernel_size[1] + x;
  return weight.as<const int8_t>()[group * 256 + c % 16 / 4 * 64 + c / 16 * 16 + c % 4 * 4 + y % 4];
}

// Element p of row `row` of a table, as packed for its linear layer, without zero point and scale.
double TableNumber(const PackedEmbeddingCall<KernelArguments>& call, int64_t row, int64_t p) {
  const TensorView& weight = *call.weight;
  const int64_t k = call.features, panel = row / kPanelColumns, column = row % kPanelColumns;
  if (const auto format = call.layout->weight_format) {
    return PackedNumber(weight, *format, k, p, row);
  }
  if (call.layout->layout == TableLayout::kFloat32) {
    return weight.as<const float>()[(panel * k + p) * kPanelColumns + column];
  }
  if (call.layout->layout == TableLayout::kVnni2) {
    const int64_t pair = panel * (k / 2) + p / 2;
    return BFloat16BitsToFloat(
        weight.as<const uint16_t>()[(pair * kPanelColumns + column) * 2 + p % 2]);
  }
  return PackedWeight(weight, 1, k, 0, p, row);
}

absl::Status RunPackedEmbedding(KernelContext& context,
                                const PackedEmbeddingCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.indices->rank();
  const int64_t group = std::max<int64_t>(call.group, 1);
  const int64_t groups = (call.features + group - 1) / group;
  const auto element = [&](const Sizes& index) {
    const absl::Span<const int64_t> at = absl::MakeConstSpan(index).first(last);
    const int64_t row = call.indices->dtype == DType::kInt32 ? At<int32_t>(*call.indices, at)
                                                             : At<int64_t>(*call.indices, at);
    const auto number = static_cast<float>(TableNumber(call, row, index[last]));
    if (call.scales == nullptr) return number;
    const int64_t of =
        (row / kPanelColumns * groups + index[last] / group) * kPanelColumns + row % kPanelColumns;
    const float zero = call.zeros == nullptr ? 0 : call.zeros->as<const float>()[of];
    return (number - zero) * call.scales->as<const float>()[of];
  };
  if (call.layout->result == DType::kFloat32) return ForEachPlace<float>(context, shape, element);
  return ForEachPlace<BFloat16>(context, shape,
                                [&](const Sizes& index) { return BFloat16(element(index)); });
}

absl::Status RunQuantizedLinear(KernelContext& context,
                                const QuantizedLinearCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t k = call.input->sizes[last];
  return ForEachQuantizedResult(context, shape, call.epilogue, last, [&](const Sizes& index) {
    Sizes at = index;
    int64_t sum = 0;
    for (at[last] = 0; at[last] < k; ++at[last]) {
      sum +=
          At<uint8_t>(*call.input, at) * PackedWeight(*call.weight, 1, k, 0, at[last], index[last]);
    }
    return sum;
  });
}

// Element i of a tensor of scalars, or its only element.
template <class T, class U>
double NumberAt(const TensorView& numbers, int64_t i) {
  if (numbers.numel() == 1) i = 0;
  return numbers.dtype == DTypeOf<T> ? static_cast<double>(numbers.as<const T>()[i])
                                     : static_cast<double>(numbers.as<const U>()[i]);
}

// Scale and zero point of row `row` of the input.
struct DynamicParameters {
  double scale = 1, zero = 0;
};
DynamicParameters ParametersOf(const DynamicQuantizedLinearCall<KernelArguments>& call,
                               int64_t row) {
  if (!call.Quantizes()) {
    return {NumberAt<float, double>(*call.input_scales, row),
            call.input_zeros->dtype == DType::kInt8
                ? NumberAt<int8_t, int8_t>(*call.input_zeros, row)
                : NumberAt<int32_t, int64_t>(*call.input_zeros, row)};
  }
  const int64_t k = call.input->sizes[call.input->rank() - 1];
  const float* x = call.input->as<const float>() + row * k;
  float low = 0, high = 0;
  for (int64_t p = 0; p < k; ++p) {
    low = std::min(low, x[p]);
    high = std::max(high, x[p]);
  }
  const float scale = std::max((high - low) / 255, std::numeric_limits<float>::epsilon());
  const float from_low = -128 - low / scale, from_high = 127 - high / scale;
  const bool is_low = (-128 + low / scale) + (127 + high / scale) > 0;
  return {scale, std::nearbyint(std::clamp(is_low ? from_low : from_high, -128.0f, 127.0f))};
}

absl::Status RunDynamicQuantizedLinear(KernelContext& context,
                                       const DynamicQuantizedLinearCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t k = call.input->sizes[last], group = call.group;
  const int64_t groups = (k + group - 1) / group;
  const bool is_int4 = call.format->format == WeightFormat::kInt4;
  return ForEachResult(
      context, shape, call.epilogue, static_cast<size_t>(last), [&](const Sizes& index) {
        const int64_t j = index[last], panel = j / kPanelColumns;
        int64_t row = 0;
        for (int d = 0; d < last; ++d) row = row * call.input->sizes[d] + index[d];
        const DynamicParameters parameters = ParametersOf(call, row);
        Sizes at = index;
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) {
          at[last] = p;
          const double number = is_int4 ? PackedNumber(*call.weight, WeightFormat::kInt4, k, p, j)
                                        : PackedWeight(*call.weight, 1, k, 0, p, j);
          double x = 0;
          if (call.Quantizes()) {
            const double rounded =
                std::nearbyint(At<float>(*call.input, at) * (1 / parameters.scale));
            x = std::clamp(rounded + parameters.zero, -128.0, 127.0);
          } else {
            x = call.input->dtype == DType::kInt8 ? At<int8_t>(*call.input, at)
                                                  : At<uint8_t>(*call.input, at);
          }
          const int64_t of = (panel * groups + p / group) * kPanelColumns + j % kPanelColumns;
          const float scale = call.scales->dtype == DType::kBFloat16
                                  ? float{call.scales->as<const BFloat16>()[of]}
                                  : call.scales->as<const float>()[of];
          sum += (x - parameters.zero) * number * scale;
        }
        return sum * parameters.scale;
      });
}

template <bool kDepthwise>
absl::Status RunQuantizedConv2d(KernelContext& context,
                                const QuantizedConv2dCall<KernelArguments, kDepthwise>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const Sizes& in = call.input->sizes;
  const Window& window = call.window;
  const auto weight_at = [&](int64_t tap, int64_t channel, int64_t result) {
    if (kDepthwise) {
      return PackedDepthwiseWeight(*call.weight, window, result, tap / window.kernel_size[1],
                                   tap % window.kernel_size[1]);
    }
    const TapSizes taps = PackedTaps(in[1], window);
    const int64_t element = tap * in[1] + channel;
    return PackedWeight(*call.weight, taps.count, taps.size, element / taps.size,
                        element % taps.size, result);
  };
  return ForEachQuantizedResult(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    int64_t sum = 0;
    ForEachTap(window, in, index, [&](int64_t tap, Sizes at, bool inside) {
      const int64_t first = kDepthwise ? index[1] : 0, end = kDepthwise ? index[1] + 1 : in[1];
      for (at[1] = first; at[1] < end; ++at[1]) {
        const int32_t x = inside ? At<uint8_t>(*call.input, at) : call.epilogue.input_zero_point;
        sum += x * weight_at(tap, at[1], index[1]);
      }
    });
    return sum;
  });
}

absl::Status RunQuantizedGroupedConv2d(KernelContext& context,
                                       const QuantizedGroupedConv2dCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const Sizes& in = call.input->sizes;
  const int64_t matrices = call.matrices(), taps = call.window.taps();
  const int64_t k = in[1] / matrices, n = call.out_channels / matrices;
  TensorView matrix = *call.weight;
  const int64_t matrix_bytes = matrix.numel() / matrices;
  return ForEachQuantizedResult(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    const int64_t of = index[1] / n;
    matrix.data = call.weight->as<int8_t>() + of * matrix_bytes;
    int64_t sum = 0;
    ForEachTap(call.window, in, index, [&](int64_t tap, Sizes at, bool inside) {
      for (int64_t p = 0; p < k; ++p) {
        at[1] = of * k + p;
        const int32_t x = inside ? At<uint8_t>(*call.input, at) : call.epilogue.input_zero_point;
        sum += x * PackedWeight(matrix, taps, k, tap, p, index[1] % n);
      }
    });
    return sum;
  });
}

absl::Status RunQuantizedAdd(KernelContext& context,
                             const QuantizedAddCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  return ForEachPlace<uint8_t>(context, ToDims(call.a->sizes), [&](const Sizes& index) {
    const float y = RealNumber(call.a_scale, call.a_zero_point, At<uint8_t>(*call.a, index)) +
                    RealNumber(call.b_scale, call.b_zero_point, At<uint8_t>(*call.b, index));
    return static_cast<uint8_t>(QuantizedNumber(call.output, y));
  });
}

absl::Status RunRmsNorm(KernelContext& context, const RmsNormCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t n = call.input->sizes[last];
  return ForEachPlace<float>(context, shape, [&](const Sizes& index) {
    Sizes at = index;
    double sum = 0;
    for (at[last] = 0; at[last] < n; ++at[last]) {
      sum += double{At(*call.input, at)} * At(*call.input, at);
    }
    const double weight =
        call.weight == nullptr ? 1 : At(*call.weight, absl::MakeConstSpan(index).subspan(last));
    const double mean = sum / static_cast<double>(n) + static_cast<float>(call.eps);
    return static_cast<float>(At(*call.input, index) / std::sqrt(mean) * weight);
  });
}

absl::Status RunRotaryEmbedding(KernelContext& context,
                                const RotaryEmbeddingCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t half = call.input->sizes[last] / 2;
  return ForEachPlace<float>(context, shape, [&](const Sizes& index) {
    const Sizes& own = call.cosine->sizes;
    const int lead = index.size() - own.size();
    Sizes angle(own.size(), int64_t{0});
    for (int d = 0; d < own.size(); ++d) {
      angle[d] = own[d] == 1 && own.size() - 1 != d ? 0 : index[lead + d];
    }
    if (own[own.size() - 1] == half) angle[own.size() - 1] = index[last] % half;
    const bool second = index[last] >= half;
    Sizes other = index;
    other[last] += second ? -half : half;
    const double x = At(*call.input, index), y = At(*call.input, other);
    const double turned = y * At(*call.sine, angle);
    return static_cast<float>(x * At(*call.cosine, angle) + (second ? turned : -turned));
  });
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

absl::Status RunLookup(KernelContext& context, const LookupCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  return ForEachPlace<uint8_t>(context, ToDims(call.input->sizes), [&](const Sizes& index) {
    const int64_t number = At<uint8_t>(*call.input, index);
    return At<uint8_t>(*call.table, {&number, 1});
  });
}

constexpr Kernel kKernels[] = {
    KernelRow<&RunPointwise>("belay_cpu.pointwise.default", "inputs ops operands scalars",
                             "PointwiseReference", KernelEngine::kReference),
    KernelRow<&RunAttention>("belay_cpu.attention.default",
                             "query key value mask scale is_causal nan_rows", "AttentionReference",
                             KernelEngine::kReference),
    KernelRow<&RunLinear>("belay_cpu.linear.default",
                          "input weight bias other out_features activation combine low high",
                          "LinearReference", KernelEngine::kReference),
    KernelRow<&RunWeightOnlyLinear>("belay_cpu.weight_only_linear.default",
                                    "input weight scales zeros bias other out_features format "
                                    "group activation combine low high",
                                    "WeightOnlyLinearReference", KernelEngine::kReference),
    KernelRow<&RunDynamicQuantizedLinear>(
        "belay_cpu.dynamic_quantized_linear.default",
        "input input_scales input_zeros weight scales weight_sums bias other out_features format "
        "group activation combine low high",
        "DynamicQuantizedLinearReference", KernelEngine::kReference),
    KernelRow<&RunPackedEmbedding>("belay_cpu.packed_embedding.default",
                                   "weight scales zeros indices rows features layout group",
                                   "PackedEmbeddingReference", KernelEngine::kReference),
    KernelRow<&RunConv2d<false>>("belay_cpu.conv2d.default",
                                 "input weight bias other out_channels kernel_size stride padding "
                                 "dilation activation combine low high",
                                 "Conv2dReference", KernelEngine::kReference),
    KernelRow<&RunConv2d<true>>("belay_cpu.depthwise_conv2d.default",
                                "input weight bias other kernel_size stride padding dilation "
                                "activation combine low high",
                                "DepthwiseConv2dReference", KernelEngine::kReference),
    KernelRow<&RunBFloat16Linear>(
        "belay_cpu.bfloat16_linear.default",
        "input weight bias other out_features activation combine low high",
        "BFloat16LinearReference", KernelEngine::kReference),
    KernelRow<&RunBFloat16Conv2d>("belay_cpu.bfloat16_conv2d.default",
                                  "input weight bias other out_channels kernel_size stride padding "
                                  "dilation activation combine low high",
                                  "BFloat16Conv2dReference", KernelEngine::kReference),
    KernelRow<&RunWinogradConv2d>("belay_cpu.winograd_conv2d.default",
                                  "input weight bias other out_channels kernel_size stride padding "
                                  "dilation activation combine low high",
                                  "WinogradConv2dReference", KernelEngine::kReference),
    KernelRow<&RunWinogradConvolution>("belay_cpu.winograd_convolution.default",
                                       "input weight bias other out_channels groups transposed "
                                       "kernel_size stride padding output_padding dilation "
                                       "activation combine low high",
                                       "WinogradConvolutionReference", KernelEngine::kReference),
    KernelRow<&RunConvolution>("belay_cpu.convolution.default",
                               "input weight bias other out_channels groups transposed "
                               "kernel_size stride padding output_padding dilation activation "
                               "combine low high",
                               "ConvolutionReference", KernelEngine::kReference),
    KernelRow<&RunConv2dChain>(
        "belay_cpu.conv2d_chain.default",
        "input weights biases other out_channels kernel_size stride padding dilation activations "
        "combine low high",
        "Conv2dChainReference", KernelEngine::kReference),
    KernelRow<&RunQuantizedLinear>(
        "belay_cpu.quantized_linear.default",
        "input weight scales weight_sums bias out_features input_zero_point activation low high "
        "inner_scale inner_range output_scale output_range",
        "QuantizedLinearReference", KernelEngine::kReference),
    KernelRow<&RunQuantizedConv2d<false>>(
        "belay_cpu.quantized_conv2d.default",
        "input weight scales weight_sums bias out_channels kernel_size stride padding dilation "
        "input_zero_point activation low high inner_scale inner_range output_scale output_range",
        "QuantizedConv2dReference", KernelEngine::kReference),
    KernelRow<&RunQuantizedConv2d<true>>(
        "belay_cpu.quantized_depthwise_conv2d.default",
        "input weight scales weight_sums bias kernel_size stride padding dilation "
        "input_zero_point activation low high inner_scale inner_range output_scale output_range",
        "QuantizedDepthwiseConv2dReference", KernelEngine::kReference),
    KernelRow<&RunQuantizedGroupedConv2d>(
        "belay_cpu.quantized_grouped_conv2d.default",
        "input weight scales weight_sums bias out_channels groups kernel_size stride padding "
        "dilation input_zero_point activation low high inner_scale inner_range output_scale "
        "output_range",
        "QuantizedGroupedConv2dReference", KernelEngine::kReference),
    KernelRow<&RunQuantizedAdd>(
        "belay_cpu.quantized_add.default",
        "a b a_scale a_zero_point b_scale b_zero_point output_scale output_range",
        "QuantizedAddReference", KernelEngine::kReference),
    KernelRow<&RunRmsNorm>("belay_cpu.rms_norm.default", "input weight eps", "RmsNormReference",
                           KernelEngine::kReference),
    KernelRow<&RunRotaryEmbedding>("belay_cpu.rotary_embedding.default", "input cosine sine",
                                   "RotaryEmbeddingReference", KernelEngine::kReference),
    KernelRow<&RunMaxPool2d>("belay_cpu.max_pool2d.default",
                             "input kernel_size stride padding dilation", "MaxPool2dReference",
                             KernelEngine::kReference),
    KernelRow<&RunLookup>("belay_cpu.lookup.default", "input table", "LookupReference",
                          KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> CpuReferenceKernels() { return kKernels; }

}  // namespace belay::cpu
