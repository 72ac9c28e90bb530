// Chooses scales of channels that reduce the loss of quantization, and applies them.
#ifndef BELAY_EXIR_QUANTIZE_CHANNEL_SCALES_H_
#define BELAY_EXIR_QUANTIZE_CHANNEL_SCALES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/quantize/affine.h"
#include "exir/quantize/calibration.h"
#include "exir/quantize/observer.h"
#include "exir/quantize/program_quantizer.h"
#include "exir/quantize/recipe.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// Statistics of the channels of an activation. Thread-compatible.
struct ChannelStatistics {
  std::vector<float> low, high;           // at most 0 and at least 0
  std::vector<double> magnitude, square;  // sums of |x| and x^2
  double count = 0;                       // elements of each channel
  // Rows x of a tensor whose last dimension has the channels: every `stride`-th one, less than
  // 2 * kMaxSamples.
  static constexpr size_t kMaxSamples = 256;
  std::vector<float> samples;  // [rows, channels]
  uint64_t rows = 0, stride = 1;

  // Adds a float32 tensor whose dimension `axis` has the channels. Skips elements that are not
  // finite. O(elements).
  void Add(const TensorView& tensor, int axis);
};

// A weight [rows, columns], row-major. Row n multiplies channels from
// n / (rows / groups) * (channels / groups); each of them has columns / (channels / groups) elements.
struct ChannelWeight {
  absl::Span<const float> elements;
  int64_t rows = 0, columns = 0, groups = 1;
};

// Returns factors s for which quantizing W * s loses least, of s = mean(|x|)^a with a from 0 to
// 0.95. Empty if a = 0 is best. The loss is the squared error of the outputs x * W'^T of the samples,
// with up to 128 rows per weight, W' = quantized(W * s) / s.
//
// Source: Lin et al., "AWQ: Activation-aware Weight Quantization", 2023, §3.2. Precondition: groups
// of 1. `kernels` must have aten.mm. Errors of the kernel.
absl::StatusOr<std::vector<float>> ActivationScales(const ChannelStatistics& statistics,
                                                    absl::Span<const ChannelWeight> weights,
                                                    absl::Span<const RowsOptions> options,
                                                    const KernelRegistry& kernels);

// Returns factors s for static quantization: s_c = (r_c / w_c)^b with the b from 0 to 1 that loses
// least, where r_c is the largest |x| of the channel, and w_c the largest |w| of the channel relative
// to its row. Empty if b = 0 is best. b = 0.5 makes both ranges equal.
//
//   loss = sum_c mean((x_c - s_c * x'_c)^2) * sum_n w_nc^2
//          + sum_nc mean(x_c^2) * (step_n / s_c)^2 / 12
//   x'_c = quantized(x_c / s_c)    step_n = max_c(|w_nc| * s_c) / 127
//
// x' has the range that a copy of `observer` chooses for the samples. Without samples, the error of
// x' is uniform, and its range is that of all elements.
//
// Source: Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction",
// 2019, §4.1. There, the range of a channel is that of the preceding weight, and b = 0.5. Here,
// weights have a scale per row, so that only the activation loses; and it is observed.
std::vector<float> EqualizingScales(const ChannelStatistics& statistics,
                                    absl::Span<const ChannelWeight> weights,
                                    const Observer& observer);

// Scales the sites (exir/quantize/channel_sites.h) of anchors with Scheme::activation_scaling; and
// of the static anchors that Recipe::equalization selects, if the scales fold into the layers
// before them, or if a layer norm computes the activation: it is float32, so that a product before
// its quantization costs little. Linear layers after norms gain most: some channels of a norm's
// result are often many times as large as the others (Xiao et al., "SmoothQuant", 2022). Methods
// that share the weights of a site share its scales, from the data of all. Executes the calls once.
// Deterministic. `kernels` may be null if no program has such anchors.
//   kInvalidArgument  a program with such anchors has no calibration data, or `kernels` is null
//   errors of RunCalls, MatrixOf and ProgramQuantizer::ScaleChannels, annotated with the method
absl::Status ScaleChannelsByData(absl::Span<const std::unique_ptr<ProgramQuantizer>> programs,
                                 const Recipe& recipe, const KernelRegistry* kernels,
                                 CallProgress& progress);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_CHANNEL_SCALES_H_
