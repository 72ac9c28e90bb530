// A transposed convolution as a convolution that computes the phases of its result as channels (a
// sub-pixel convolution: Shi et al., "Is the deconvolution layer the same as a convolutional
// layer?", 2016).
#ifndef BELAY_EXIR_PASSES_PHASE_CONVOLUTION_H_
#define BELAY_EXIR_PASSES_PHASE_CONVOLUTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "exir/ir/graph.h"
#include "runtime/core/sizes.h"

namespace belay::exir {

//   convolution(x, W [c,f,k_y,k_x], b, [s,s], [p_y,p_x], [1,1], transposed, [o_y,o_x])
//     ->  pixel_shuffle(convolution(x, W' [f*s*s,c,K_y,K_x], b', [1,1], [P_y,P_x], [1,1]), s)
//           [:, :, S_y : S_y + size_y, S_x : S_x + size_x]
//
// Along an axis, element s I + r of the result (phase r) reads element I + d of x through tap
// r + p - s d of the window. So the offsets d are those from L to H, and the result has M more
// blocks of s elements than x:
//
//   L = ceil((p - k + 1) / s), H = floor((s - 1 + p) / s), K = H - L + 1
//   M = ceil((k + o - 2 p - s) / s), P = max(-L, M + H, 0), S = s (L + P)
//   W'[f*s*s + r_y*s + r_x, c, j_y, j_x] =
//       W[c, f, r_y + p_y - s (L_y + j_y), r_x + p_x - s (L_x + j_x)], or 0 outside of W
struct PhaseConvolution {
  struct Axis {
    int64_t kernel, padding;  // k, p
    int64_t first;            // L
    int64_t new_kernel, new_padding;
    int64_t start;  // S
    bool slices;    // whether the slice leaves elements out

    // The tap of phase r at position j of the new window, or nullopt.
    std::optional<int64_t> Tap(int64_t stride, int64_t r, int64_t j) const;
  };
  int64_t channels, filters, stride;
  Axis axes[2];

  // nullopt unless `node` is a transposed aten.convolution with two spatial dimensions, one group,
  // no dilation, equal strides up to 8, and a weight of these sizes, which is not empty.
  static std::optional<PhaseConvolution> Of(const Node& node, const Sizes& weight);

  int64_t phases() const { return stride * stride; }
  // Multiply-adds per element of x and channel, of the convolution and of the transposed one.
  int64_t work() const { return filters * phases() * axes[0].new_kernel * axes[1].new_kernel; }
  int64_t transposed_work() const { return filters * axes[0].kernel * axes[1].kernel; }
  // Sizes of W'.
  Sizes weight_sizes() const;
  // W' and b' of the row-major elements of W and b.
  std::vector<float> Weight(absl::Span<const float> elements) const;
  std::vector<float> Bias(absl::Span<const float> elements) const;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_PHASE_CONVOLUTION_H_
