// Winograd convolutions with 3x3 filters, stride and dilation 1, on channels-last images, or on the
// planes of volumes: F(2 x 2, 3 x 3) and F(4 x 4, 3 x 3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks",
// 2016, sections 4.1 and 4.3).
//
// A tile of r x r results, r = 2 or 4, depends on (r + 2) x (r + 2) pixels d. With the matrices of the
// paper (winograd_matrices.h) and `*` element by element, each result is an element of
//
//   A^T (sum over channels of (G g G^T) * (B^T d B)) A
//
// This takes (r + 2)^2 multiply-adds per channel and tile instead of 9 r^2: 16 instead of 36, or 36
// instead of 144. For each of the (r + 2)^2 positions, the sum over channels of all tiles is a GEMM
// with a prepacked right operand (packed_gemm.h). Filters are transformed ahead of time, in double, and
// take 16/9 or 4 times the memory. Over volumes the sum also runs over the window's planes.
//
// Accuracy, with k = channels * kernel_depth: at most (k + 12) * 2^-24 * S from the exact result for r =
// 2, and (k + 24) * 2^-24 * S for r = 4. S is the same expression with absolute values of all matrices and operands, plus
// |bias| and |other|. Roundings on each path from an operand to the result:
// - the filter: once;
// - B^T: once each way for r = 2, three times for r = 4;
// - A^T: twice each way for r = 2, three times for r = 4;
// - the GEMM: k times and some;
// - bias and `other`: once each.
//
// If all operands are equally large, S is 64/9 times the plain sum |a b| for r = 2, while the plain sum
// has 9 times as many roundings: from k = 44 on, the bound is below that of the plain convolution.
// For r = 4, S is 28 times the plain sum in one corner of a tile and 256 times in the opposite one; this
// variant is only used on request.
//
// A NaN or an infinity makes each result that depends on it NaN or infinite. For r = 2 it affects no
// other result, for r = 4 all results of its tiles. An infinite
// pixel often makes it NaN.
//
// Instruction sets give different bits, and so do chunks of fewer than four tiles. The division of
// steps into ranges makes no difference.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/checked_math.h"
#include "runtime/kernels/packed/epilogue.h"
#include "runtime/kernels/packed/winograd_tiles.h"

namespace belay {

// All images are dense [n, d, h, w, c]. 0 <= padding; all other sizes are at least 1. Positions
// outside the image are zeros. Result plane z reads planes z * stride_z - padding_z + t * dilation_z
// for t < kernel_depth <= kWinogradPlanes.
struct WinogradArgs {
  WinogradTile tile = WinogradTile::k2x2;
  int64_t batch = 0, channels = 0, depth = 1, height = 0, width = 0;
  int64_t out_channels = 0, out_depth = 1, out_height = 0, out_width = 0;
  int64_t padding_y = 0, padding_x = 0;  // above and to the left
  int64_t kernel_depth = 1, stride_z = 1, padding_z = 0, dilation_z = 1;
  const float* in = nullptr;
  const float* weight = nullptr;  // PackWinograd (winograd_weights.h)
  float* out = nullptr;           // epilogue.other has the same layout
  EpilogueF32 epilogue = {};

  // Number of tiles of all images. A tile of a volume extends over all planes.
  int64_t tiles() const {
    const WinogradTiles of_image(tile, out_height, out_width);
    return batch * of_image.down * of_image.across;
  }
};

// Maximal number of tiles per chunk, so that the data between the steps stays in a cache.
int64_t WinogradChunkTiles(const WinogradArgs& g);
// Scratch floats for `tiles` tiles.
CheckedInt WinogradScratchSize(const WinogradArgs& g, int64_t tiles);

// Tiles [first, first + count) and their scratch memory.
class WinogradChunk {
 public:
  // `scratch`: WinogradScratchSize(args, count) floats. `args` and `scratch` must outlive the chunk.
  // Initializes the scratch pixels outside the image.
  WinogradChunk(const WinogradArgs& args, int64_t first, int64_t count, float* scratch);

  // The three steps; each requires that the previous one is complete. Transforms pixels of tiles
  // [begin, end) of the chunk: B^T d B.
  void TransformPixels(int64_t begin, int64_t end) const;
  // Computes GEMMs [begin, end) of WinogradProducts. Returns early if the budget is exhausted.
  void Multiply(int64_t begin, int64_t end) const;
  // Transforms the sums of tiles [begin, end) to results. `out` may alias epilogue.other, but no
  // input.
  void TransformSums(int64_t begin, int64_t end) const;

 private:
  const WinogradArgs& args_;
  const float* zeros_;
  // One row per tile and plane of the input, and of the result.
  WinogradRows pixels_, sums_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_H_
