#include "runtime/kernels/packed/packed_gemm.h"

#include "runtime/kernels/packed/packed_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/packed_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "runtime/kernels/packed/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TagF32 = hn::CappedTag<float, kPanelColumns / 2>;
using V = hn::Vec<TagF32>;

// With 32 registers: 24 sums, 2 vectors of B, and of A what is broadcast from memory; 12 row
// pointers fit the general registers. With 16 registers 6 rows.
constexpr size_t kMostRows = (HWY_TARGET <= HWY_AVX3 || HWY_TARGET_IS_NEON) ? kTileRows : 6;

// Part of the second-level cache for a group of tiles of A, in floats. Two panels of B are there as
// well: the one that is multiplied, and the next, which is fetched meanwhile.
constexpr size_t kGroupFloats = size_t{144} << 10;

// The terms that one go sums: `k` from `first` on of each of `taps` taps.
struct Depth {
  size_t tap, taps;
  size_t first, k;
  size_t rows() const { return taps * k; }
};

// The size of as few even parts of `total` as there can be of `most` each.
HWY_INLINE size_t Even(size_t total, size_t most) {
  const size_t parts = (total + most - 1) / most;
  return (total + parts - 1) / parts;
}

// All terms, in goes. Which they are depends on nothing but the product's depth and whether it has
// few rows of A, which are in the cache anyway.
struct Goes {
  size_t count;
  size_t taps, k;  // of a go, at most
  size_t pieces;   // of a tap

  explicit Goes(const PackedGemmArgs& g) {
    const bool whole = g.m <= 3 || g.taps * g.k <= kMostDepth;
    k = whole ? g.k : Even(g.k, kMostDepth);
    pieces = whole ? 1 : (g.k + k - 1) / k;
    taps = whole ? g.taps : Even(g.taps, HWY_MAX(size_t{1}, kMostDepth / k));
    count = pieces * (whole ? 1 : (g.taps + taps - 1) / taps);
  }
  Depth At(const PackedGemmArgs& g, size_t go) const {
    const size_t tap = go / pieces * taps, first = go % pieces * k;
    return {.tap = tap,
            .taps = HWY_MIN(taps, g.taps - tap),
            .first = first,
            .k = HWY_MIN(k, g.k - first)};
  }
};

// Where the tile lies in C, and how many columns of it are wanted.
struct Place {
  float* c;
  const float* other;  // the same place of epilogue.other, or null
  const float* bias;   // of the first column, or null
  size_t columns;
};

constexpr size_t kRun = 32;

// One go of one tile.
struct Go {
  Depth depth;
  bool first, last;  // of the tile's
  // What to fetch meanwhile: `ahead_step` cache lines for each kRun of B's rows.
  const float* ahead;
  size_t ahead_step;
};

// Sums of kRows rows by kVectors vectors. Always of constant indices, so that it is in registers.
template <size_t kRows, size_t kVectors>
struct Sums {
  V at[kRows][kVectors];
};

template <size_t kRows, size_t kVectors>
HWY_INLINE void Step(const float* const* a, size_t p, const float* HWY_RESTRICT b,
                     Sums<kRows, kVectors>& sums) {
  const TagF32 d;
  V bv[kVectors];
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(d, b + v * hn::Lanes(d));
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const V x = hn::Set(d, a[r][p]);
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) sums.at[r][v] = hn::MulAdd(x, bv[v], sums.at[r][v]);
  }
}

// Columns [first, first + count) of a row from `from` on, a vector of them at most; others are 0.
HWY_INLINE V LoadColumns(const float* from, size_t first, size_t count) {
  const TagF32 d;
  return count >= hn::Lanes(d) ? hn::LoadU(d, from + first) : hn::LoadN(d, from + first, count);
}

// Vector v of each row: its first `count` columns, all unless kPartial. The first go adds bias and
// `other`, the last one bounds.
template <bool kPartial, size_t kRows, size_t kVectors>
HWY_INLINE void Finish(const PackedGemmArgs& g, const Place& place, const Go& go, size_t v,
                       size_t count, const Sums<kRows, kVectors>& sums) {
  const TagF32 d;
  const bool clamps = go.last && IsLinear(g.epilogue);
  const V low = hn::Set(d, g.epilogue.low), high = hn::Set(d, g.epilogue.high);
  const float* other = g.epilogue.multiply || !go.first ? nullptr : place.other;
  const size_t first = v * hn::Lanes(d);
  V bias = hn::Zero(d);
  if (place.bias != nullptr && go.first) {
    bias = kPartial ? hn::LoadN(d, place.bias + first, count) : hn::LoadU(d, place.bias + first);
  }
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const size_t at = r * g.ldc + first;
    V y = hn::Add(sums.at[r][v], bias);
    if (other != nullptr) {
      y = hn::Add(y, kPartial ? hn::LoadN(d, other + at, count) : hn::LoadU(d, other + at));
    }
    if (clamps) y = ClampKeepingNaN(d, y, low, high);
    if constexpr (kPartial) {
      hn::StoreN(y, d, place.c + at, count);
    } else {
      hn::StoreU(y, d, place.c + at);
    }
  }
}

// Fetches a line to the second-level cache. Never faults.
HWY_INLINE void FetchSoon(const float* line) { __builtin_prefetch(line, 0, 2); }

// kRows rows by kVectors vectors. rows[t * kRows + r]: the floats of row r at the go's tap t; b: the
// first of B's rows of these columns. kParts sums per element, which are added in the end: a few
// rows alone would wait for each other's additions.
template <size_t kRows, size_t kVectors, size_t kParts>
HWY_INLINE void Tile(const PackedGemmArgs& g, const float* const* HWY_RESTRICT rows,
                     const float* HWY_RESTRICT b, const Place& place, const Go& go) {
  const TagF32 d;
  const size_t lanes = hn::Lanes(d);
  Sums<kRows, kVectors> sums[kParts];
  HWY_UNROLL(kParts)
  for (size_t s = 0; s < kParts; ++s) {
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) sums[s].at[r][v] = hn::Zero(d);
    }
  }
  if (!go.first) {
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      if (place.columns <= v * lanes) continue;
      HWY_UNROLL(kRows)
      for (size_t r = 0; r < kRows; ++r) {
        sums[0].at[r][v] = LoadColumns(place.c + r * g.ldc, v * lanes, place.columns - v * lanes);
      }
    }
  } else if constexpr (kParts == 1) {
    // What the sums will be added to and stored over, to the second-level cache: rows whose distance
    // is a multiple of 4096 bytes would displace each other in the first.
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        FetchSoon(place.c + r * g.ldc + v * lanes);
        if (place.other != nullptr) FetchSoon(place.other + r * g.ldc + v * lanes);
      }
    }
  }
  const size_t k = go.depth.k;
  const float* ahead = go.ahead;
  for (size_t t = 0; t < go.depth.taps; ++t, rows += kRows, b += (g.k - k) * kPanelColumns) {
    const float* a[kRows];
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) a[r] = rows[r];
    size_t p = 0;
    if constexpr (kParts == 1) {
      // Between runs of steps, whose registers are all taken.
      while (p < k) {
        const size_t end = HWY_MIN(k, p + kRun);
        for (size_t i = 0; i < go.ahead_step; ++i, ahead += kLine) hwy::Prefetch(ahead);
        for (; p < end; ++p, b += kPanelColumns) Step(a, p, b, sums[0]);
      }
    }
    for (; p + kParts <= k; p += kParts) {
      HWY_UNROLL(kParts)
      for (size_t s = 0; s < kParts; ++s, b += kPanelColumns) Step(a, p + s, b, sums[s]);
    }
    for (; kParts > 1 && p < k; ++p, b += kPanelColumns) Step(a, p, b, sums[0]);
  }
  HWY_UNROLL(kParts)
  for (size_t s = 1; s < kParts; ++s) {
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        sums[0].at[r][v] = hn::Add(sums[0].at[r][v], sums[s].at[r][v]);
      }
    }
  }
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) {
    if (place.columns >= (v + 1) * lanes) {
      Finish</*kPartial=*/false>(g, place, go, v, lanes, sums[0]);
    } else if (place.columns > v * lanes) {
      Finish</*kPartial=*/true>(g, place, go, v, place.columns - v * lanes, sums[0]);
    }
  }
}

// A tile of up to a panel's columns.
template <size_t kRows, size_t kParts>
HWY_NOINLINE void Panel(const PackedGemmArgs& g, const float* const* rows, const float* b,
                        const Place& place, const Go& go) {
  const size_t lanes = hn::Lanes(TagF32());
  for (size_t j = 0; j < place.columns; j += 2 * lanes) {
    const Place part = {place.c + j, place.other == nullptr ? nullptr : place.other + j,
                        place.bias == nullptr ? nullptr : place.bias + j, place.columns - j};
    if (part.columns > lanes) {
      Tile<kRows, 2, kParts>(g, rows, b + j, part, go);
    } else {
      Tile<kRows, 1, kParts>(g, rows, b + j, part, go);
    }
  }
}

using PanelFn = void (*)(const PackedGemmArgs&, const float* const*, const float*, const Place&,
                         const Go&);

// Of `rows` rows, 1 to kMostRows. `parts` is how many sums interleave, which all of A's rows
// decide: few of them.
template <size_t kRows = kMostRows>
HWY_INLINE PanelFn PanelOf(size_t rows, size_t parts) {
  if constexpr (kRows == 0) {
    return nullptr;
  } else {
    if (rows != kRows) return PanelOf<kRows - 1>(rows, parts);
    if constexpr (kRows == 1) {
      if (parts == 4) return &Panel<kRows, 4>;
    }
    if constexpr (kRows <= 3) {
      if (parts == 2) return &Panel<kRows, 2>;
    }
    return &Panel<kRows, 1>;
  }
}

// Where rows [row, row + count) of A, a tile, are at the terms of `depth`. `pointers` has room for
// count * taps, `copies`, if not null, for the tile.
HWY_INLINE void FindRows(const PackedGemmArgs& g, const Depth& depth, size_t row, size_t count,
                         const float** pointers, float* copies) {
  if (g.row_pointers != nullptr) {
    g.row_pointers(g.source, row, count, depth.tap, depth.taps, pointers);
    if (depth.first == 0) return;
    for (size_t i = 0; i < count * depth.taps; ++i) pointers[i] += depth.first;
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    pointers[i] = g.k == 0 ? nullptr : g.a + (row + i) * g.lda + depth.first;
    // Few rows fit the ways of a set.
    if (copies == nullptr || count <= 6) continue;
    float* to = copies + i * (depth.k + kLine);
    hwy::CopyBytes(pointers[i], to, depth.k * sizeof(float));
    pointers[i] = to;
  }
}

// The rows of a range in groups of tiles, as even as can be: a last tile of one row costs as much
// as one of four.
struct Tiles {
  size_t rows, count, each;  // all rows, all tiles, tiles of a group at most
  Tiles(const PackedGemmArgs& g, size_t rows, size_t depth)
      : rows(rows), count((rows + kMostRows - 1) / kMostRows) {
    size_t most = kGroupFloats / HWY_MAX(depth, size_t{1});
    most = HWY_MIN(most, g.one_tile ? 1 : g.tile != nullptr ? kCopiedRows : kGroupRows);
    each = Even(count, HWY_MAX(most / kMostRows, size_t{1}));
  }
  size_t RowsOf(size_t tile) const { return rows / count + (tile < rows % count ? 1 : 0); }
  size_t RowOf(size_t tile) const { return tile * (rows / count) + HWY_MIN(tile, rows % count); }
};

void PackedGemmImpl(const PackedGemmArgs& g, size_t first_row, size_t last_row, size_t first_column,
                    size_t last_column) {
  if (first_row >= last_row || first_column >= last_column) return;
  const size_t depth = g.taps * g.k;  // of a panel
  const Goes goes(g);
  const Tiles tiles(g, last_row - first_row, goes.taps * goes.k);
  const bool linear = IsLinear(g.epilogue);
  const size_t parts = g.m == 1 ? 4 : g.m <= 3 ? 2 : 1;
  const float* direct[kGroupRows];
  const float** pointers = g.row_pointers != nullptr ? g.pointers : direct;
  for (size_t group = 0; group < tiles.count; group += tiles.each) {
    const size_t end = HWY_MIN(group + tiles.each, tiles.count);
    const size_t start = tiles.RowOf(group);
    // The tiles of a panel fetch the next panel together.
    const size_t ahead_step =
        end - group == 1 ? 0 : (kRun * kPanelColumns / kLine + end - group - 1) / (end - group);
    for (size_t i = 0; i < goes.count; ++i) {
      Go go = {.depth = goes.At(g, i),
               .first = i == 0,
               .last = i + 1 == goes.count,
               .ahead = nullptr,
               .ahead_step = 0};
      const size_t pointers_of_row = g.row_pointers != nullptr ? go.depth.taps : 1;
      for (size_t t = group; t < end; ++t) {
        const size_t row = tiles.RowOf(t);
        FindRows(g, go.depth, first_row + row, tiles.RowsOf(t),
                 pointers + (row - start) * pointers_of_row,
                 g.tile == nullptr ? nullptr : g.tile + (row - start) * (go.depth.k + kLine));
      }
      for (size_t j = first_column; j < last_column; j += kPanelColumns) {
        const float* panel_b = g.b + j * depth;
        const float* b = panel_b + (go.depth.tap * g.k + go.depth.first) * kPanelColumns;
        const bool fetches = ahead_step != 0 && j + kPanelColumns < last_column;
        go.ahead_step = fetches ? ahead_step : 0;
        const size_t columns = HWY_MIN(size_t{kPanelColumns}, last_column - j);
        for (size_t t = group; t < end; ++t) {
          const size_t row = tiles.RowOf(t), count = tiles.RowsOf(t);
          float* c = g.c + (first_row + row) * g.ldc + j;
          const float* other = g.epilogue.other == nullptr
                                   ? nullptr
                                   : g.epilogue.other + (first_row + row) * g.ldc + j;
          go.ahead = b + depth * kPanelColumns +
                     (t - group) * ahead_step * kLine * (go.depth.rows() / kRun);
          PanelOf(count, parts)(g, pointers + (row - start) * pointers_of_row, b,
                                {.c = c,
                                 .other = other,
                                 .bias = g.epilogue.bias == nullptr ? nullptr : g.epilogue.bias + j,
                                 .columns = columns},
                                go);
          if (go.last && !linear) FinishTile(g.epilogue, other, c, g.ldc, count, columns);
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(PackedGemmImpl);
void PackedGemmRange(const PackedGemmArgs& args, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column) {
  HWY_DYNAMIC_DISPATCH(PackedGemmImpl)(args, first_row, last_row, first_column, last_column);
}

}  // namespace belay
#endif  // HWY_ONCE
