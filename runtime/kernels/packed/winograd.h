// Convolutions with filters of 3 by 3, stride and dilation 1, of images whose channels lie together,
// by fewer multiplications: Winograd's F(4 x 4, 3 x 3) (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2016, section 4.3).
//
// A tile of 4 by 4 results comes of 6 by 6 pixels d. With the matrices of the paper, of 6 rows, and
// `*` element by element, each result is an element of
//
//   A^T (sum over channels of (G g G^T) * (B^T d B)) A
//
// which takes 36 multiply-adds a channel where the plain sum takes 144. For each of the 36 places the
// sums over channels, of all tiles at once, are a product with a packed right side (packed_gemm.h).
// Filters are transformed ahead of time, in double, and take four times the memory.
//
// Accuracy: at most (channels + 24) * 2^-24 * S from the exact result, where S is the same expression
// with absolute values of all matrices and operands, and |bias| and |other| besides. Each path from an
// operand to the result is rounded once by the filter, three times each way by B^T, `channels` times
// and some by the product, three times each way by A^T, and by bias and `other`. Where all
// numbers are equally large, S is 28 times the plain sum's sum |a b| in a corner of a tile and 256 times
// in the opposite one: this is not the sum that the program says, and only computed where it is asked
// for. Instruction sets
// differ, and chunks of less than four tiles; how steps are divided makes no difference.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/checked_math.h"
#include "runtime/kernels/packed/epilogue.h"
#include "runtime/kernels/packed/winograd_tiles.h"

namespace belay {

// All images [n, h, w, c] are dense. 0 <= padding; everything else at least 1; places outside of the
// image are zeros.
struct WinogradArgs {
  int64_t batch = 0, channels = 0, height = 0, width = 0;
  int64_t out_channels = 0, out_height = 0, out_width = 0;
  int64_t padding_y = 0, padding_x = 0;  // above and to the left
  const float* in = nullptr;
  const float* weight = nullptr;  // PackWinograd (winograd_weights.h)
  float* out = nullptr;           // epilogue.other lies alike
  EpilogueF32 epilogue = {};

  // Of all images.
  int64_t tiles() const {
    const WinogradTiles of_image(out_height, out_width);
    return batch * of_image.down * of_image.across;
  }
};

// So many tiles are worked on at once, at most: what is between their steps stays in a cache.
int64_t WinogradChunkTiles(int64_t channels, int64_t out_channels);
// Floats of working memory for so many tiles.
CheckedInt WinogradScratchSize(int64_t channels, int64_t out_channels, int64_t tiles);

// Tiles [first, first + count) and the memory that they are computed in.
class WinogradChunk {
 public:
  // `scratch`: WinogradScratchSize(…, count) floats, which must outlive this as `args` must. Sets
  // those that stand for pixels outside.
  WinogradChunk(const WinogradArgs& args, int64_t first, int64_t count, float* scratch);

  // The three steps, each of which needs all of the one before. Of tiles [begin, end) of the chunk:
  // pixels to B^T d B.
  void TransformPixels(int64_t begin, int64_t end) const;
  // Of products [begin, end) of kWinogradProducts. Ends early when the budget says so.
  void Multiply(int64_t begin, int64_t end) const;
  // Of tiles [begin, end): sums to results. `out` overlaps no input but perhaps epilogue.other.
  void TransformSums(int64_t begin, int64_t end) const;

 private:
  const WinogradArgs& args_;
  const float* zeros_;
  WinogradRows pixels_, sums_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_H_
