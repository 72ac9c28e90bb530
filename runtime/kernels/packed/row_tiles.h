// Division of a range of rows into register tiles.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_ROW_TILES_H_
#define BELAY_RUNTIME_KERNELS_PACKED_ROW_TILES_H_

#include <algorithm>
#include <cstddef>

namespace belay {

// Returns the block size for the fewest blocks of nearly equal size, at most `limit`, that cover
// `total`. Both are at least 1.
inline size_t BalancedBlock(size_t total, size_t limit) {
  if (total <= limit) return total;
  const size_t blocks = (total + limit - 1) / limit;
  return (total + blocks - 1) / blocks;
}

// Divides rows into register tiles of nearly equal size, since a last tile of one row would cost as
// much as one of four. Groups of `per_group` tiles (the last may have fewer) share the panels of
// the right operand.
struct RowTiles {
  size_t count, per_group, small, large;

  // `rows` > 0. A tile has at most `tile_rows` rows. A group has at most `group_rows` rows, or one
  // tile.
  RowTiles(size_t rows, size_t tile_rows, size_t group_rows)
      : count((rows + tile_rows - 1) / tile_rows),
        per_group(BalancedBlock(count, std::max(group_rows / tile_rows, size_t{1}))),
        small(rows / count),
        large(rows % count) {}

  // The first `large` tiles have small + 1 rows, the others `small`.
  size_t SizeOf(size_t tile) const { return small + (tile < large ? 1 : 0); }
  size_t RowOf(size_t tile) const { return tile * small + std::min(tile, large); }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_ROW_TILES_H_
