// Where the tiles of a convolution by winograd.h lie, for all instruction sets.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_TILES_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_TILES_H_

#include <cstdint>

namespace belay {

// Results of a tile in one direction, pixels, and products of matrices.
inline constexpr int64_t kWinogradResults = 4, kWinogradPixels = 6;
inline constexpr int64_t kWinogradProducts = kWinogradPixels * kWinogradPixels;

// How far apart rows of so many columns are between the steps: they begin at whole lines, and none at
// a multiple of the size of a way of the first-level cache (TileSize of packed_gemm.h).
constexpr int64_t WinogradRow(int64_t columns) {
  const int64_t row = (columns + 15) / 16 * 16;
  return row % 1024 == 0 ? row + 16 : row;
}

// Tiles of all images one behind the other, row by row.
struct WinogradTiles {
  int64_t down, across;  // in an image

  // Of at least one result each way.
  WinogradTiles(int64_t out_height, int64_t out_width)
      : down((out_height - 1) / kWinogradResults + 1),
        across((out_width - 1) / kWinogradResults + 1) {}

  int64_t ImageOf(int64_t tile) const { return tile / across / down; }
  // Of its first result.
  int64_t RowOf(int64_t tile) const { return tile / across % down * kWinogradResults; }
  int64_t ColumnOf(int64_t tile) const { return tile % across * kWinogradResults; }
};

// What is between the steps, of tiles [first, first + count): for each product that many rows.
struct WinogradRows {
  int64_t first, count;
  float* at;

  int64_t product(int64_t row) const { return count * row; }  // floats, of rows so far apart
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_TILES_H_
