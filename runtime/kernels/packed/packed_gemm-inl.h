// Ranges of a GEMM with a prepacked right operand, for float and for bfloat16 in VNNI-2 layout.
// Included once per target inside foreach_target.
#if defined(BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_INL_H_
#undef BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/core/budget.h"
#include "runtime/kernels/packed/gemm_tile-inl.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/row_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Share of the L2 cache for a group of tiles of A, in words. The cache also holds two panels of B:
// the current one, and the next, which is prefetched.
constexpr size_t kGroupWords = size_t{144} << 10;
// Share of the L2 cache for partial sums, in floats.
constexpr size_t kSumFloats = size_t{48} << 10;

// Division of the depth into K blocks. Depends only on the depth and on whether A has few rows,
// which stay in the cache.
struct KBlocks {
  size_t count;
  size_t taps, k;         // per block, at most
  size_t blocks_per_tap;  // 1 if a block has several taps

  template <class T>
  explicit KBlocks(const ProductArgs<T>& g) {
    const bool whole = kTerms<T> > 1 || g.m <= 3 || g.taps * g.k <= kBlockDepth;
    const size_t words = g.k / kTerms<T>;
    k = whole ? words : BalancedBlock(words, kBlockDepth);
    blocks_per_tap = whole ? 1 : (words + k - 1) / k;
    taps = whole ? g.taps : BalancedBlock(g.taps, HWY_MAX(size_t{1}, kBlockDepth / k));
    count = blocks_per_tap * (whole ? 1 : (g.taps + taps - 1) / taps);
  }
  template <class T>
  KBlock At(const ProductArgs<T>& g, size_t i) const {
    if (count == 1) return {0, g.taps, 0, g.k / kTerms<T>, true, true};
    const size_t tap = i / blocks_per_tap * taps, start = i % blocks_per_tap * k;
    return {.tap = tap,
            .taps = HWY_MIN(taps, g.taps - tap),
            .start = start,
            .k = HWY_MIN(k, g.k / kTerms<T> - start),
            .first = i == 0,
            .last = i + 1 == count};
  }
};

// Whether a tile of this many rows is copied first. A few rows fit the ways of a cache set.
template <class T>
HWY_INLINE bool CopiesTile(const ProductArgs<T>& g, size_t rows) {
  return g.tile != nullptr && rows > 6;
}

// Finds the addresses of rows [row, row + count) of A, a tile, at the terms of `block`. `pointers`
// has space for count * taps. If `copies` is not null, it holds copies of the tile's rows.
template <class T>
HWY_INLINE void FindRows(const ProductArgs<T>& g, const KBlock& block, size_t row, size_t count,
                         const T** pointers, const T* copies) {
  if (g.row_pointers != nullptr) {
    g.row_pointers(g.source, row, count, block.tap, block.taps, pointers);
    if (block.start == 0) return;
    for (size_t i = 0; i < count * block.taps; ++i) pointers[i] += block.start * kTerms<T>;
    return;
  }
  const T* from = copies != nullptr ? copies : g.a + row * g.lda;
  const size_t step = copies != nullptr ? CopiedRowStride<T>(g.k) : g.lda;
  for (size_t i = 0; i < count; ++i) {
    pointers[i] = g.k == 0 ? nullptr : from + i * step + block.start * kTerms<T>;
  }
}

// Whether C is computed along its rows, one tile of rows after the other. Storing short sums takes
// longer than computing them; if C exceeds the L2 cache and its rows are long, stores along rows
// are faster than stores down columns: 8.5 instead of 28 ms for 4096 rows of 3000 sums of 48 terms
// on Sapphire Rapids.
template <class T>
HWY_INLINE bool StoresAlongRows(const ProductArgs<T>& g, size_t depth) {
  constexpr size_t kShortSum = 384, kLongRow = 1024, kUncachedC = size_t{256} << 10;  // words
  return depth <= kShortSum && g.ldc >= kLongRow && g.groups == 1 && g.m * g.n >= kUncachedC;
}

// Number of columns of B that stay in the L2 cache while C is computed along its rows.
HWY_INLINE size_t ColumnsAlongRows(size_t depth) {
  constexpr size_t kCachedB = size_t{96} << 10;  // words
  return kCachedB / HWY_MAX(depth, size_t{1}) / kPanelColumns * kPanelColumns;
}

// Maximal number of rows of A that share a panel of B; `depth` is that of a block.
template <class T>
HWY_INLINE size_t GroupRows(const ProductArgs<T>& g, size_t depth) {
  if (StoresAlongRows(g, depth)) return 1;
  return HWY_MIN(kGroupWords / HWY_MAX(depth, size_t{1}),
                 g.tile != nullptr ? kCopiedRows : kGroupRows);
}

// Range of C to compute.
template <class T>
struct Range {
  const ProductArgs<T>& g;
  size_t first_row;
  KBlocks blocks;
  RowTiles tiles;
  PanelFn<T> large, small;  // for tiles of both sizes

  Range(const ProductArgs<T>& g, size_t first_row, size_t last_row)
      : g(g),
        first_row(first_row),
        blocks(g),
        tiles(last_row - first_row, kMaxTileRows<T>, GroupRows(g, blocks.taps * blocks.k)) {
    const size_t parts = g.m == 1 ? 4 : g.m <= 3 ? 2 : 1;
    small = PanelOf<T>(tiles.small, parts);
    large = tiles.large == 0 ? small : PanelOf<T>(tiles.small + 1, parts);
  }
};

// Columns of C that a panel of B computes: all of them, or those of one of its two groups.
struct PanelPart {
  size_t column, columns;
  size_t offset;  // OutputTile's
};

// Returns part `part` of the panel at column j of B; without columns if the group does not exist.
template <class T>
HWY_INLINE PanelPart PartOf(const ProductArgs<T>& g, size_t j, size_t part, size_t last_column) {
  if (g.groups == 1) return {j, HWY_MIN(size_t{kPanelColumns}, last_column - j), 0};
  const size_t panel = j / kPanelColumns, k = g.k / kTerms<T>;
  if (g.n <= kNarrowGroup) {
    const size_t group = 2 * panel + part;
    return {group * g.n, group < g.groups ? g.n : 0, group * k};
  }
  const size_t panels = (g.n + kPanelColumns - 1) / kPanelColumns;
  const size_t group = panel / panels, column = panel % panels * kPanelColumns;
  return {group * g.n + column, HWY_MIN(size_t{kPanelColumns}, g.n - column), group * k};
}

// Computes rows [row, row + count) of C, stored in several runs, in a dense copy. c and other of
// `out` are those of row 0.
template <class T>
HWY_NOINLINE void MultiplyRuns(const ProductArgs<T>& g, PanelFn<T> panel, const T* const* rows,
                               const T* b, size_t row, size_t count, OutputTile<T> out,
                               const KBlock& block, const PanelPrefetch<T>& prefetch) {
  T sums[kTileRows * kPanelColumns], addends[kTileRows * kPanelColumns];
  ProductArgs<T> dense = g;
  dense.ldc = kPanelColumns;
  T* const c = out.c;
  for (size_t i = 0; i < count; ++i) {
    const size_t offset = g.RowOffset(row + i), bytes = out.columns * sizeof(T);
    if (!block.first) hwy::CopyBytes(c + offset, sums + i * kPanelColumns, bytes);
    if (out.other != nullptr) {
      hwy::CopyBytes(out.other + offset, addends + i * kPanelColumns, bytes);
    }
  }
  out.c = sums;
  if (out.other != nullptr) out.other = addends;
  panel(dense, rows, b, out, block, prefetch);
  if (block.last && !IsLinear(g.epilogue)) {
    FinishTile(g.epilogue, out.other, out.c, dense.ldc, count, out.columns);
  }
  for (size_t i = 0; i < count; ++i) {
    hwy::CopyBytes(sums + i * kPanelColumns, c + g.RowOffset(row + i), out.columns * sizeof(T));
  }
}

// Computes one row of C for the panel at `b` and the next one, with the sums of Panel. `out` is that of
// the first one. Memory serves two streams faster than one, and a B that does not fit the L2 cache is
// prefetched to it: 73 instead of 76 ms for 268 million weights on Sapphire Rapids.
template <class T>
HWY_NOINLINE void TwoPanels(const ProductArgs<T>& g, const T* const* row, const T* HWY_RESTRICT b,
                            const OutputTile<T>& out, const KBlock& block) {
  constexpr size_t kParts = 4, kPanels = 2;
  constexpr size_t kAhead = (size_t{8} << 10) / sizeof(T);
  const TagF32 d;
  const size_t lanes = hn::Lanes(d), step = 2 * lanes, k = block.k;
  const bool far = g.n * g.k * sizeof(T) > size_t{1} << 20;
  for (size_t j = 0; j < kPanelColumns; j += step) {
    Accumulators<1, 2> sums[kPanels][kParts];
    HWY_UNROLL(kPanels)
    for (size_t i = 0; i < kPanels; ++i) {
      HWY_UNROLL(kParts)
      for (size_t s = 0; s < kParts; ++s) {
        sums[i][s].at[0][0] = hn::Zero(d);
        sums[i][s].at[0][1] = hn::Zero(d);
      }
    }
    const T* first = b + j;
    const T* second = first + k * kPanelColumns;
    size_t p = 0;
    for (; p + kParts <= k; p += kParts) {
      if (far) {
        HWY_UNROLL(kParts)
        for (size_t at = 0; at < kParts * kPanelColumns; at += kLine) {
          PrefetchToL2(first + kAhead + at);
          PrefetchToL2(second + kAhead + at);
        }
      }
      HWY_UNROLL(kParts)
      for (size_t s = 0; s < kParts; ++s, first += kPanelColumns, second += kPanelColumns) {
        Step(row, p + s, first, sums[0][s]);
        Step(row, p + s, second, sums[1][s]);
      }
    }
    for (; p < k; ++p, first += kPanelColumns, second += kPanelColumns) {
      Step(row, p, first, sums[0][0]);
      Step(row, p, second, sums[1][0]);
    }
    HWY_UNROLL(kPanels)
    for (size_t i = 0; i < kPanels; ++i) {
      HWY_UNROLL(2)
      for (size_t v = 0; v < 2; ++v) {
        HWY_UNROLL(kParts)
        for (size_t s = 1; s < kParts; ++s) {
          sums[i][0].at[0][v] = hn::Add(sums[i][0].at[0][v], sums[i][s].at[0][v]);
        }
        Finish</*kPartial=*/false>(g, out, block, v, i * kPanelColumns + j + v * lanes, lanes,
                                   sums[i][0]);
      }
    }
  }
}

// A K block of tiles [group, end) and columns [first_column, last_column).
template <class T>
HWY_INLINE void MultiplyBlock(const Range<T>& range, const KBlock& block, size_t group, size_t end,
                              size_t first_column, size_t last_column, Budget::Pace& pace) {
  const ProductArgs<T>& g = range.g;
  const RowTiles& tiles = range.tiles;
  const size_t depth = g.taps * g.k;  // of a panel, in elements
  const bool in_place = kTerms<T> == 1 && g.ldb != 0;
  const size_t start = tiles.RowOf(group);
  const T* direct[kGroupRows];
  const T** pointers = g.row_pointers != nullptr ? g.pointers : direct;
  const size_t pointers_of_row = g.row_pointers != nullptr ? block.taps : 1;
  for (size_t t = group; t < end; ++t) {
    const size_t row = tiles.RowOf(t), count = tiles.SizeOf(t);
    FindRows(g, block, range.first_row + row, count, pointers + (row - start) * pointers_of_row,
             CopiesTile(g, count) ? g.tile + (row - start) * CopiedRowStride<T>(g.k) : nullptr);
  }
  // The tiles of a panel share the prefetch of the next panel, unless it was packed just now.
  const size_t parts = g.groups > 1 && g.n <= kNarrowGroup ? 2 : 1;
  const size_t tiles_of_panel = parts * (end - group);
  const size_t lines_per_tile =
      tiles_of_panel == 1 || g.panels != nullptr
          ? 0
          : (kPrefetchInterval * kPanelColumns / kLine + tiles_of_panel - 1) / tiles_of_panel;
  for (size_t j = first_column; j < last_column; j += kPanelColumns) {
    const size_t in_block = (block.tap * g.k / kTerms<T> + block.start) * RowOfB(g);
    const T* b = g.b + j * (in_place ? 1 : depth) + in_block;
    const size_t lines = j + kPanelColumns < last_column ? lines_per_tile : 0;
    const size_t rows = (end - group) * kMaxTileRows<T>;
    if (pace.Stop(static_cast<int64_t>(rows * kPanelColumns * (block.taps * block.k + 1)))) return;
    // With 16 registers, the sums of two panels do not fit.
    if constexpr (kTerms<T> == 1 && kMaxTileRows<T> == kTileRows) {
      constexpr size_t kColumns = 2 * kPanelColumns;
      if (g.m == 1 && g.taps == 1 && g.groups == 1 && g.panels == nullptr && g.ldb == 0 &&
          j + kColumns <= last_column) {
        const size_t offset = g.RowOffset(range.first_row);
        OutputTile<T> out = {
            .c = g.c + offset + j,
            .other = g.epilogue.other == nullptr ? nullptr : g.epilogue.other + offset + j,
            .bias = g.epilogue.bias == nullptr ? nullptr : g.epilogue.bias + j,
            .columns = kColumns,
            .row_bias = g.row_bias};
        TwoPanels(g, pointers, b, out, block);
        if (!IsLinear(g.epilogue)) FinishTile(g.epilogue, out.other, out.c, g.ldc, 1, kColumns);
        j += kPanelColumns;
        continue;
      }
    }
    size_t fetched = 0;
    for (size_t p = 0; p < parts; ++p) {
      const PanelPart part = PartOf(g, j, p, last_column);
      if (part.columns == 0) continue;
      const T* const columns = b + p * kNarrowGroup * kTerms<T>;
      for (size_t t = group; t < end; ++t) {
        const size_t row = tiles.RowOf(t), count = tiles.SizeOf(t);
        const T* const* at = pointers + (row - start) * pointers_of_row;
        const PanelFn<T> panel = t < tiles.large ? range.large : range.small;
        const PanelPrefetch<T> prefetch = {b + depth * kPanelColumns + fetched * kLine * kTerms<T>,
                                           lines};
        fetched += block.taps * block.k / kPrefetchInterval * lines;
        OutputTile<T> out = {
            .c = g.c + part.column,
            .other = g.epilogue.other == nullptr ? nullptr : g.epilogue.other + part.column,
            .bias = g.epilogue.bias == nullptr ? nullptr : g.epilogue.bias + part.column,
            .columns = part.columns,
            .offset = part.offset};
        const size_t first = range.first_row + row;
        if (g.row_bias != nullptr) out.row_bias = g.row_bias + first;
        if (g.run != 0 && first % g.run + count > g.run) {
          MultiplyRuns(g, panel, at, columns, first, count, out, block, prefetch);
          continue;
        }
        const size_t offset = g.RowOffset(first);
        out.c += offset;
        if (out.other != nullptr) out.other += offset;
        panel(g, at, columns, out, block, prefetch);
        if (block.last && !IsLinear(g.epilogue)) {
          FinishTile(g.epilogue, out.other, out.c, g.ldc, count, part.columns);
        }
      }
    }
  }
}

// Computes columns [first_column, last_column) of a range. Copies rows of A that would evict each
// other from the cache (TileSize).
template <class T>
HWY_NOINLINE void MultiplyColumns(const Range<T>& range, size_t first_column, size_t last_column,
                                  Budget::Pace& pace) {
  const ProductArgs<T>& g = range.g;
  const RowTiles& tiles = range.tiles;
  for (size_t group = 0; group < tiles.count; group += tiles.per_group) {
    const size_t end = HWY_MIN(group + tiles.per_group, tiles.count);
    const size_t start = tiles.RowOf(group), rows = tiles.RowOf(end) - start;
    if (CopiesTile(g, tiles.SizeOf(group))) {
      for (size_t i = 0; i < rows; ++i) {
        hwy::CopyBytes(g.a + (range.first_row + start + i) * g.lda,
                       g.tile + i * CopiedRowStride<T>(g.k), g.k * sizeof(T));
      }
    }
    // Limits the columns so that their sums stay in the L2 cache between K blocks.
    size_t width = last_column - first_column;
    if (range.blocks.count > 1) {
      width = HWY_MAX(kSumFloats / rows / kPanelColumns, size_t{1}) * kPanelColumns;
    }
    for (size_t column = first_column; column < last_column; column += width) {
      for (size_t i = 0; i < range.blocks.count; ++i) {
        MultiplyBlock(range, range.blocks.At(g, i), group, end, column,
                      HWY_MIN(column + width, last_column), pace);
        if (pace.stopped()) return;
      }
    }
  }
}

// Implements PackedGemmRange for a prepacked B, or one with rows `ldb` apart and whole vectors of
// columns.
template <class T>
HWY_NOINLINE void MultiplyRange(const ProductArgs<T>& g, size_t first_row, size_t last_row,
                                size_t first_column, size_t last_column, Budget::Pace& pace) {
  if (first_row >= last_row || first_column >= last_column) return;
  const Range<T> range(g, first_row, last_row);
  const size_t depth = g.taps * g.k;
  const size_t width =
      StoresAlongRows(g, depth) ? ColumnsAlongRows(depth) : last_column - first_column;
  for (size_t column = first_column; column < last_column && !pace.stopped(); column += width) {
    MultiplyColumns(range, column, HWY_MIN(column + width, last_column), pace);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif
