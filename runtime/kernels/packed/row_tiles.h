// How products divide the rows of a range.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_ROW_TILES_H_
#define BELAY_RUNTIME_KERNELS_PACKED_ROW_TILES_H_

#include <algorithm>
#include <cstddef>

namespace belay {

// The size of the fewest blocks of nearly equal size, at most `limit`, that cover `total`. Both are
// at least 1.
inline size_t BalancedBlock(size_t total, size_t limit) {
  const size_t blocks = (total + limit - 1) / limit;
  return (total + blocks - 1) / blocks;
}

// Rows as register tiles of nearly equal size: a last tile of one row would cost as much as one of
// four. Groups of `per_group` tiles, the last one perhaps of fewer, meet the panels of the right side
// together.
struct RowTiles {
  size_t rows, count, per_group;

  // `rows` > 0; `tile_rows` are a tile's at most, `group_rows` those of a group at most, but for groups
  // of one tile.
  RowTiles(size_t rows, size_t tile_rows, size_t group_rows)
      : rows(rows),
        count((rows + tile_rows - 1) / tile_rows),
        per_group(BalancedBlock(count, std::max(group_rows / tile_rows, size_t{1}))) {}

  // The first Large() tiles have a row more than the others.
  size_t SmallSize() const { return rows / count; }
  size_t Large() const { return rows % count; }
  size_t SizeOf(size_t tile) const { return SmallSize() + (tile < Large() ? 1 : 0); }
  size_t RowOf(size_t tile) const { return tile * SmallSize() + std::min(tile, Large()); }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_ROW_TILES_H_
