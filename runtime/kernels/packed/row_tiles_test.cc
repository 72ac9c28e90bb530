#include "runtime/kernels/packed/row_tiles.h"

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(RowTilesTest, TilesCoverAllRowsAndDifferByAtMostOne) {
  for (size_t tile_rows : {4, 6, 12}) {
    for (size_t rows = 1; rows < 5 * tile_rows; ++rows) {
      const RowTiles tiles(rows, tile_rows, 2 * tile_rows);
      size_t next = 0;
      for (size_t t = 0; t < tiles.count; ++t) {
        EXPECT_EQ(tiles.RowOf(t), next);
        EXPECT_GE(tiles.SizeOf(t), tiles.small);
        EXPECT_LE(tiles.SizeOf(t), std::min(tiles.small + 1, tile_rows));
        next += tiles.SizeOf(t);
      }
      EXPECT_EQ(next, rows);
      EXPECT_EQ(tiles.count, (rows + tile_rows - 1) / tile_rows);
    }
  }
}

TEST(RowTilesTest, GroupsAreBalanced) {
  EXPECT_EQ(RowTiles(60, 12, 48).per_group, 3u);  // 5 tiles, at most 4
  EXPECT_EQ(RowTiles(60, 12, 60).per_group, 5u);
  EXPECT_EQ(RowTiles(60, 12, 1).per_group, 1u);
}

}  // namespace
}  // namespace belay
