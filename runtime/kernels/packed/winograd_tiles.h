// Tile positions of winograd.h, for all instruction sets.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_TILES_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_TILES_H_

#include <cstdint>

namespace belay {

// Results and pixels of a tile per dimension; number of GEMMs.
inline constexpr int64_t kWinogradResults = 4, kWinogradPixels = 6;
inline constexpr int64_t kWinogradProducts = kWinogradPixels * kWinogradPixels;

// Distance between rows of `columns` columns in the scratch memory. Rows begin at cache lines, but
// not at multiples of the size of an L1 way (TileSize of packed_gemm.h).
constexpr int64_t WinogradRow(int64_t columns) {
  const int64_t row = (columns + 15) / 16 * 16;
  return row % 1024 == 0 ? row + 16 : row;
}

// Tiles of all images in order, row by row.
struct WinogradTiles {
  int64_t down, across;  // per image

  // Precondition: at least one result per dimension.
  WinogradTiles(int64_t out_height, int64_t out_width)
      : down((out_height - 1) / kWinogradResults + 1),
        across((out_width - 1) / kWinogradResults + 1) {}

  int64_t ImageOf(int64_t tile) const { return tile / across / down; }
  // Row and column of the tile's first result.
  int64_t RowOf(int64_t tile) const { return tile / across % down * kWinogradResults; }
  int64_t ColumnOf(int64_t tile) const { return tile % across * kWinogradResults; }
};

// Scratch layout of tiles [first, first + count): `count` rows per GEMM.
struct WinogradRows {
  int64_t first, count;
  float* at;

  int64_t product(int64_t row) const { return count * row; }  // floats; `row`: row distance
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_TILES_H_
