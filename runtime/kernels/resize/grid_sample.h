// grid_sampler_2d and grid_sampler_3d.
//
// Positions and weights are computed in double, as by the reference kernels, and the weights are
// rounded to float. Nearest neighbors have the same bits. Interpolated elements have an error of at
// most (T + 8) 2^-24 sum |w v| over the T = 4, 8 or 16 neighbors v and their weights w.
#ifndef BELAY_RUNTIME_KERNELS_RESIZE_GRID_SAMPLE_H_
#define BELAY_RUNTIME_KERNELS_RESIZE_GRID_SAMPLE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/resample.h"

namespace belay {

// Positions of one step of the loops, and neighbors per position.
inline constexpr int64_t kGridPositions = 128;
inline constexpr int kMostNeighbors = 16;

// Neighbors along one dimension: index, or -1 outside of the input, and weight.
struct GridTaps {
  int32_t index[4][kGridPositions];
  float weight[4][kGridPositions];
};

// index[k][p], weight[k][p] = the two neighbors of at[p]: floor(at) and the next one.
void LinearTaps(const double* at, int64_t count, int64_t size, GridTaps& taps);
// index[0][p] = at[p] rounded to even, weight[0][p] = 1.
void NearestTaps(const double* at, int64_t count, int64_t size, GridTaps& taps);

// Neighbors along all dimensions: offset in the image, negative outside of it, and weight.
struct GridNeighbors {
  int32_t offset[kMostNeighbors][kGridPositions];
  float weight[kMostNeighbors][kGridPositions];
};
// out[p] = sum_k weight[k][p] * image[offset[k][p]] over k < neighbors, for p < count. Negative
// offsets give 0.
void BlendPositions(const GridNeighbors& at, int neighbors, int64_t count, const float* image,
                    float* out);
// out[p * step + c] = sum_k weight[k][p] * image[offset[k][p] + c] over k < neighbors, for c < channels
// and p < count: the same bits.
void BlendPixels(const GridNeighbors& at, int neighbors, int64_t count, const float* image,
                 int64_t channels, float* out, int64_t step);

bool AcceptsGrid(const KernelContext& context, const TensorView& input, const TensorView& grid);

// Working memory for a copy of the images channels last.
template <int kSpatial>
uint64_t GridScratch(const KernelContext& context,
                     const GridSampleCall<KernelArguments, kSpatial>& call);

template <int kSpatial>
absl::Status GridSample(KernelContext& context,
                        const GridSampleCall<KernelArguments, kSpatial>& call);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_RESIZE_GRID_SAMPLE_H_
