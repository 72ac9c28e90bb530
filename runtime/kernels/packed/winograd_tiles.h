// Tile positions of winograd.h, for all instruction sets.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_TILES_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_TILES_H_

#include <cstdint>

namespace belay {

// The variants F(2 x 2, 3 x 3) and F(4 x 4, 3 x 3). The value is the number of results of a tile per
// dimension.
enum class WinogradTile : uint8_t { k2x2 = 2, k4x4 = 4 };

// Results and pixels of a tile per dimension; number of GEMMs.
constexpr int64_t WinogradResults(WinogradTile tile) { return static_cast<int64_t>(tile); }
constexpr int64_t WinogradPixels(WinogradTile tile) { return WinogradResults(tile) + 2; }
constexpr int64_t WinogradProducts(WinogradTile tile) {
  return WinogradPixels(tile) * WinogradPixels(tile);
}

// Terms of a sum over channels and planes from which F(2 x 2, 3 x 3) is about as accurate as the
// plain sum: the bounds of winograd.h differ by 16 %.
inline constexpr int64_t kAccurateWinogradTerms = 24;

// Cost of a multiply-add of the GEMMs relative to one of a GEMM of patches. With the filters of at
// most one vector, each of them loads an operand; GEMMs of patches reuse operands along lines of
// pixels.
constexpr double WinogradGemmWork(int64_t filters) { return filters <= 16 ? 1.4 : 1; }

// Maximal number of planes of a window over volumes.
inline constexpr int64_t kWinogradPlanes = 8;

// Distance between rows of `columns` columns in the scratch memory. Rows begin at cache lines, but
// not at multiples of the size of an L1 way (TileSize of packed_gemm.h).
constexpr int64_t WinogradRow(int64_t columns) {
  const int64_t row = (columns + 15) / 16 * 16;
  return row % 1024 == 0 ? row + 16 : row;
}

// Tiles of all images in order, row by row.
struct WinogradTiles {
  int64_t results;       // of a tile, per dimension
  int64_t down, across;  // tiles per image

  // Precondition: at least one result per dimension.
  WinogradTiles(WinogradTile tile, int64_t out_height, int64_t out_width)
      : results(WinogradResults(tile)),
        down((out_height - 1) / results + 1),
        across((out_width - 1) / results + 1) {}

  int64_t ImageOf(int64_t tile) const { return tile / across / down; }
  // Row and column of the tile's first result.
  int64_t RowOf(int64_t tile) const { return tile / across % down * results; }
  int64_t ColumnOf(int64_t tile) const { return tile % across * results; }
};

// Scratch layout of the tiles from `first` on: a matrix of `count` rows per GEMM.
struct WinogradRows {
  int64_t first, count;
  float* at;

  // Floats between the matrices of two GEMMs for rows `row` apart: an odd number of cache lines, so
  // that a tile's elements in all matrices do not share cache sets.
  int64_t product(int64_t row) const { return (count * row / 16 | 1) * 16; }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_TILES_H_
