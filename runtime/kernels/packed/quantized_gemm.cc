#include "runtime/kernels/packed/quantized_gemm.h"

#include "runtime/core/budget.h"

#include <cstddef>
#include <cstring>

#include "runtime/kernels/amx.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/quantized_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "runtime/kernels/packed/requantize-inl.h"
#include "runtime/kernels/packed/row_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kQuad = 4;
constexpr size_t kLine = kQuantizedPanelColumns * kQuad;

using Tag32 = hn::CappedTag<int32_t, kQuantizedPanelColumns>;
using TagF32 = hn::RebindToFloat<Tag32>;
using TagS8 = hn::Repartition<int8_t, Tag32>;
using TagU8 = hn::Repartition<uint8_t, Tag32>;
using V = hn::Vec<Tag32>;

// With 32 registers: 24 accumulators, 2 vectors of B, one of A. With 16 registers, and without a
// four-way dot product: 8 accumulators, 4 vectors of B and 2 of A as operands of the emulation.
constexpr size_t kMaxTileRows =
    (HWY_TARGET <= HWY_AVX3 || HWY_TARGET_IS_NEON) ? kQuantizedTileRows : 4;

// Share of the L2 cache for a group of tiles of A.
constexpr size_t kGroupBytes = size_t{384} << 10;

// Columns of a tile: the first of C, their number, and the number of their matrix.
struct Columns {
  size_t first, count, matrix = 0;
};

// Lines of the next panels to prefetch during a tile: `lines` per kPrefetchInterval lines of B.
struct PanelPrefetch {
  const int8_t* next;
  size_t lines;
};
constexpr size_t kPrefetchInterval = 16;

// Accumulators of kRows rows by kVectors vectors. Indexed only by constants, so that they stay in
// registers. The constructor is explicit: on Arm, an implicit one would be compiled without the
// target's features.
template <size_t kRows, size_t kVectors>
struct Accumulators {
  HWY_INLINE Accumulators() {}
  V at[kRows][kVectors];
};

// Accumulates four bytes of each row times the line of B at offset `at` of each vector's panel.
template <size_t kRows, size_t kVectors>
HWY_INLINE void MultiplyQuad(const int32_t (&a)[kRows], const int8_t* const (&b)[kVectors],
                             size_t at, Accumulators<kRows, kVectors>& sums) {
  const Tag32 d;
  hn::Vec<TagS8> bv[kVectors];
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(TagS8(), b[v] + at);
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const auto x = hn::BitCast(TagU8(), hn::Set(d, a[r]));
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      sums.at[r][v] = hn::SumOfMulQuadAccumulate(d, x, bv[v], sums.at[r][v]);
    }
  }
}

HWY_INLINE int32_t LoadQuad(const uint8_t* a) {
  int32_t quad;
  std::memcpy(&quad, a, kQuad);
  return quad;
}

// Loads the last k % 4 bytes of k. The other bytes are arbitrary; they are multiplied by zeros of
// B.
HWY_INLINE int32_t LoadLast(const uint8_t* a, size_t k) {
  const size_t left = k % kQuad;
  if (k >= kQuad) {
    return static_cast<int32_t>(static_cast<uint32_t>(LoadQuad(a + k - kQuad)) >>
                                (8 * (kQuad - left)));
  }
  uint32_t quad = a[0];
  if (left > 1) quad |= uint32_t{a[1]} << 8;
  if (left > 2) quad |= uint32_t{a[2]} << 16;
  return static_cast<int32_t>(quad);
}

// Parameters shared by all tiles of a GEMM.
struct Product {
  const QuantizedGemmArgs& args;
  ByteQuantizer<Tag32> quantizer;
  bool bytes;  // whether results are stored by StoreBytes

  size_t lines() const { return (args.k + kQuad - 1) / kQuad * args.taps; }  // of a panel
  size_t panels() const { return (args.n + kQuantizedPanelColumns - 1) / kQuantizedPanelColumns; }
  // Panel `panel` of a matrix; that after the last one is the next matrix.
  const int8_t* Panel(size_t matrix, size_t panel) const {
    return args.b + (matrix * panels() + panel) * lines() * kLine;
  }
};

// Permutation of the dwords of ByteQuantizer::Blocks to rows: each block has four columns of each
// of kVectors vectors of a row, then the same of the next rows.
template <size_t kVectors>
HWY_INLINE auto GroupOrder() {
  const hn::Repartition<uint32_t, Tag32> d;
  const size_t lanes = hn::Lanes(d), blocks = lanes / 4, row = kVectors * blocks;
  HWY_ALIGN uint32_t order[hn::MaxLanes(d)];
  for (size_t i = 0; i < lanes; ++i) {
    order[i] = static_cast<uint32_t>(i % blocks * 4 + i / row * kVectors + i % row / blocks);
  }
  return hn::SetTableIndices(d, order);
}

// Stores the tile's rows as bytes; `c` is the first row.
template <size_t kRows, size_t kVectors>
HWY_INLINE void StoreBytes(const Product& product, const Columns& columns,
                           const Accumulators<kRows, kVectors>& sums, uint8_t* c) {
  const Tag32 d;
  const TagF32 df;
  const hn::Repartition<uint32_t, Tag32> du32;
  const hn::CappedTag<uint8_t, hn::MaxLanes(d) * kVectors> row_tag;
  constexpr size_t kGroup = 4 / kVectors;  // rows that fill a vector of bytes
  const size_t lanes = hn::Lanes(d), ldc = product.args.ldc;
  const QuantizedEpilogue& e = product.args.epilogue;
  const bool whole = columns.count >= kVectors * lanes;
  const auto order = GroupOrder<kVectors>();
  hn::Vec<TagF32> scale[kVectors], bias[kVectors];
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t column = columns.first + v * lanes, count = columns.count - v * lanes;
    scale[v] = hn::LoadN(df, e.scale + column, count);
    bias[v] = e.bias == nullptr ? hn::Zero(df) : hn::LoadN(df, e.bias + column, count);
  }
  HWY_UNROLL(kRows)
  for (size_t first = 0; first < kRows; first += kGroup) {
    hn::Vec<TagF32> y[4];
    HWY_UNROLL(4)
    for (size_t i = 0; i < 4; ++i) {
      const size_t r = HWY_MIN(first + i / kVectors, kRows - 1), v = i % kVectors;
      y[i] = hn::Add(hn::Mul(hn::ConvertTo(df, sums.at[r][v]), scale[v]), bias[v]);
    }
    const auto q = product.quantizer.Blocks(y[0], y[1], y[2], y[3]);
    HWY_ALIGN uint8_t bytes[hn::MaxLanes(d) * 4];
    hn::Store(hn::BitCast(TagU8(), hn::TableLookupLanes(hn::BitCast(du32, q), order)), TagU8(),
              bytes);
    HWY_UNROLL(kGroup)
    for (size_t i = 0; i < kGroup && first + i < kRows; ++i) {
      const auto row = hn::LoadU(row_tag, bytes + i * kVectors * lanes);
      if (whole) {
        hn::StoreU(row, row_tag, c + (first + i) * ldc);
      } else {
        hn::StoreN(row, row_tag, c + (first + i) * ldc, columns.count);
      }
    }
  }
}

// Initial accumulator of vector v: corrects the contribution of the input's zero point.
HWY_INLINE V StartOf(const QuantizedEpilogue& e, const Columns& columns, size_t v) {
  const Tag32 d;
  if (e.weight_sums == nullptr) return hn::Zero(d);
  const size_t at = v * hn::Lanes(d);
  return hn::Mul(hn::LoadN(d, e.weight_sums + columns.first + at, columns.count - at),
                 hn::Set(d, -e.input_zero_point));
}

// Applies the epilogue to a tile of sums and stores it; `place` as in Tile.
template <size_t kRows, size_t kVectors>
HWY_INLINE void FinishTile(const Product& product, const Columns& columns,
                           const Accumulators<kRows, kVectors>& sums, size_t place) {
  const Tag32 d;
  const size_t lanes = hn::Lanes(d);
  const QuantizedGemmArgs& g = product.args;
  const QuantizedEpilogue& e = g.epilogue;
  if (product.bytes) {
    return StoreBytes(product, columns, sums, static_cast<uint8_t*>(g.c) + place + columns.first);
  }
  HWY_ALIGN int32_t stored[kRows * kVectors * hn::MaxLanes(d)];
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      hn::Store(sums.at[r][v], d, stored + (r * kVectors + v) * lanes);
    }
  }
  FinishSums(e, columns.first, stored, kVectors * lanes, kRows,
             HWY_MIN(columns.count, kVectors * lanes),
             static_cast<std::byte*>(g.c) + place * (e.quantizes ? 1 : sizeof(float)), g.ldc);
}

// Computes kRows rows by kVectors vectors. rows[t * kRows + r] points to the bytes of row r at tap
// t; `place` is the offset of the first row and column 0 in C. Each element has kParts
// accumulators, which are added at the end, to hide the latency of additions if there are few rows.
template <size_t kRows, size_t kVectors, size_t kParts>
HWY_NOINLINE void Tile(const Product& product, const uint8_t* const* HWY_RESTRICT rows,
                       const Columns& columns, size_t place, PanelPrefetch prefetch) {
  const Tag32 d;
  const size_t lanes = hn::Lanes(d);
  const QuantizedGemmArgs& g = product.args;
  const size_t k = g.k, offset = columns.matrix * k;
  Accumulators<kRows, kVectors> sums[kParts];
  const int8_t* b[kVectors];
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t column = columns.first - columns.matrix * g.n + v * lanes;
    b[v] = product.Panel(columns.matrix, column / kQuantizedPanelColumns) +
           column % kQuantizedPanelColumns * kQuad;
    const V start = StartOf(g.epilogue, columns, v);
    HWY_UNROLL(kParts)
    for (size_t s = 0; s < kParts; ++s) {
      HWY_UNROLL(kRows)
      for (size_t r = 0; r < kRows; ++r) sums[s].at[r][v] = s == 0 ? start : hn::Zero(d);
    }
  }
  size_t at = 0;  // offset in B
  for (size_t t = 0; t < g.taps; ++t, rows += kRows) {
    const uint8_t* a[kRows];
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) a[r] = rows[r] + offset;
    const auto step = [&](size_t p, Accumulators<kRows, kVectors>& into) HWY_ATTR {
      int32_t quads[kRows];
      HWY_UNROLL(kRows)
      for (size_t r = 0; r < kRows; ++r) quads[r] = LoadQuad(a[r] + p);
      MultiplyQuad(quads, b, at, into);
      at += kLine;
    };
    size_t p = 0;
    if constexpr (kParts == 1) {
      // Prefetches between runs of steps, since a run uses all registers.
      while (p + kQuad <= k) {
        const size_t end = HWY_MIN(k, p + kPrefetchInterval * kQuad);
        for (size_t i = 0; i < prefetch.lines; ++i, prefetch.next += kLine) {
          hwy::Prefetch(prefetch.next);
        }
        for (; p + kQuad <= end; p += kQuad) step(p, sums[0]);
      }
    }
    for (; p + kParts * kQuad <= k; p += kParts * kQuad) {
      HWY_UNROLL(kParts)
      for (size_t s = 0; s < kParts; ++s) step(p + s * kQuad, sums[s]);
    }
    for (; kParts > 1 && p + kQuad <= k; p += kQuad) step(p, sums[0]);
    if (p < k) {
      int32_t quads[kRows];
      HWY_UNROLL(kRows)
      for (size_t r = 0; r < kRows; ++r) quads[r] = LoadLast(a[r], k);
      MultiplyQuad(quads, b, at, sums[0]);
      at += kLine;
    }
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
  FinishTile(product, columns, sums[0], place);
}

using TileFn = void (*)(const Product&, const uint8_t* const*, const Columns&, size_t,
                        PanelPrefetch);

// Returns Tile for `rows` rows, 1 to kMaxTileRows.
template <size_t kVectors, size_t kRows = kMaxTileRows>
HWY_INLINE TileFn TileOf(size_t rows) {
  if constexpr (kRows == 0) {
    return nullptr;
  } else {
    if (rows != kRows) return TileOf<kVectors, kRows - 1>(rows);
    return &Tile < kRows, kVectors, kRows == 1 ? 4 : kRows <= 3 ? 2 : 1 > ;
  }
}

// Bound of the lines of a matrix of narrow groups.
constexpr size_t kNarrowLines = 128;

// Quads of the channels that a column of a matrix reads per tap, for matrices of 16 channels and 16
// filters; 0 for others, or if vectors are shorter than a panel. Groups of less than a quad are
// seen as groups of one.
HWY_INLINE size_t NarrowQuads(const QuantizedGemmArgs& g) {
  constexpr size_t kColumns = kQuantizedPanelColumns;
  if (hn::MaxLanes(Tag32()) != kColumns || g.taps == 1) return 0;
  if (g.k != kColumns || g.n != kColumns || kColumns % g.joined != 0) return 0;
  const size_t quads = HWY_MAX(kColumns / g.joined / kQuad, size_t{1});
  return g.taps * quads <= kNarrowLines ? quads : 0;
}

// Writes the panel of a matrix without the zeros of other groups: per tap, `quads` lines.
HWY_INLINE void CompressLines(const int8_t* panel, size_t taps, size_t quads,
                              int8_t* HWY_RESTRICT lines) {
  const hn::CappedTag<int8_t, kLine> d;
  constexpr size_t kTapLines = kQuantizedPanelColumns / kQuad;
  for (size_t t = 0; t < taps; ++t, panel += kTapLines * kLine) {
    for (size_t q = 0; q < quads; ++q, lines += kLine) {
      auto line = hn::LoadU(d, panel + q * kLine);
      for (size_t i = q + quads; i < kTapLines; i += quads) {
        line = hn::Or(line, hn::LoadU(d, panel + i * kLine));
      }
      hn::Store(line, d, lines);
    }
  }
}

// Computes kRows rows of a matrix from its compressed lines. A tap is 16 bytes of a row; column j
// reads its quad j / (4 * kQuads) * kQuads + q in line q.
template <size_t kRows, size_t kQuads>
HWY_NOINLINE void NarrowTile(const Product& product, const uint8_t* const* HWY_RESTRICT rows,
                             const Columns& columns, size_t place, const int8_t* lines) {
  const Tag32 d;
  const hn::CappedTag<uint8_t, kQuantizedPanelColumns> bytes;
  const size_t offset = columns.matrix * product.args.k;
  Accumulators<kRows, 1> sums;
  const V start = StartOf(product.args.epilogue, columns, 0);
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) sums.at[r][0] = start;
  const V first_quads = hn::And(hn::ShiftRight<2>(hn::Iota(d, 0)), hn::Set(d, 4 - int32_t{kQuads}));
  for (size_t t = 0; t < product.args.taps; ++t, rows += kRows, lines += kQuads * kLine) {
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      const auto tap = hn::ResizeBitCast(d, hn::LoadU(bytes, rows[r] + offset));
      HWY_UNROLL(kQuads)
      for (size_t q = 0; q < kQuads; ++q) {
        const V index = hn::Add(first_quads, hn::Set(d, static_cast<int32_t>(q)));
        const auto x =
            hn::BitCast(TagU8(), hn::TableLookupLanes(tap, hn::IndicesFromVec(d, index)));
        sums.at[r][0] =
            hn::SumOfMulQuadAccumulate(d, x, hn::LoadU(TagS8(), lines + q * kLine), sums.at[r][0]);
      }
    }
  }
  FinishTile(product, columns, sums, place);
}

using NarrowTileFn = void (*)(const Product&, const uint8_t* const*, const Columns&, size_t,
                              const int8_t*);

// Returns NarrowTile for `rows` rows, 1 to kMaxTileRows.
template <size_t kQuads, size_t kRows = kMaxTileRows>
HWY_INLINE NarrowTileFn NarrowTileOf(size_t rows) {
  if constexpr (kRows == 0) {
    return nullptr;
  } else {
    return rows == kRows ? &NarrowTile<kRows, kQuads> : NarrowTileOf<kQuads, kRows - 1>(rows);
  }
}

// Sets `pointers` to the bytes of `count` rows from `row` on, tap by tap.
HWY_INLINE void FindRows(const QuantizedGemmArgs& g, size_t row, size_t count,
                         const uint8_t** pointers) {
  if (g.row_pointers != nullptr) return g.row_pointers(g.source, row, count, 0, g.taps, pointers);
  for (size_t i = 0; i < count; ++i) pointers[i] = g.k == 0 ? nullptr : g.a + (row + i) * g.lda;
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
// With fewer rows, the kernel without tiles is faster.
constexpr size_t kLeastAmxRows = 4;

// Whether tiles are loaded from A in place, without a copy.
bool LoadsInPlace(const QuantizedGemmArgs& g) {
  return g.row_pointers == nullptr && g.k % kQuad == 0;
}

bool CanUseAmx(const QuantizedGemmArgs& g, size_t rows) {
  return rows >= kLeastAmxRows && g.k > 0 && (LoadsInPlace(g) || g.copy != nullptr) && UsesAmx();
}

// Copies `count` rows from `row` on with contiguous taps, each padded to a multiple of 4 bytes. The
// padding is multiplied by zeros of B. Taps begin at byte `offset` of their rows.
HWY_INLINE void CopyRows(const QuantizedGemmArgs& g, size_t row, size_t count, size_t depth,
                         size_t offset) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d), tap_bytes = depth / g.taps;
  const uint8_t* direct[kQuantizedTileRows];
  const uint8_t** pointers = g.row_pointers != nullptr ? g.pointers : direct;
  for (size_t first = 0; first < count; first += kQuantizedTileRows) {
    const size_t rows = HWY_MIN(kQuantizedTileRows, count - first);
    FindRows(g, row + first, rows, pointers);
    for (size_t t = 0; t < g.taps; ++t) {
      for (size_t i = 0; i < rows; ++i) {
        const uint8_t* from = pointers[t * rows + i] + offset;
        uint8_t* to = g.copy + (first + i) * depth + t * tap_bytes;
        size_t p = 0;
        for (; p + lanes <= g.k; p += lanes) hn::StoreU(hn::LoadU(d, from + p), d, to + p);
        if (p < g.k) hn::StoreN(hn::LoadN(d, from + p, g.k - p), d, to + p, g.k - p);
      }
    }
  }
}

// Applies the epilogue to `rows` rows of sums, kAmxColumns apart, and stores them. `place`: as in
// Tile.
template <size_t kVectors>
HWY_NOINLINE void FinishTiles(const Product& product, const Columns& columns, size_t rows,
                              size_t place, int32_t* HWY_RESTRICT sums) {
  const Tag32 d;
  constexpr size_t kRows = 8;
  const size_t lanes = hn::Lanes(d);
  const QuantizedGemmArgs& g = product.args;
  const QuantizedEpilogue& e = g.epilogue;
  V start[kVectors];
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) start[v] = StartOf(e, columns, v);
  for (size_t first = 0; first < rows; first += kRows, sums += kRows * kAmxColumns) {
    Accumulators<kRows, kVectors> finished;
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        int32_t* at = sums + r * kAmxColumns + v * lanes;
        finished.at[r][v] = hn::Add(hn::Load(d, at), start[v]);
        hn::Store(finished.at[r][v], d, at);
      }
    }
    const size_t at = place + first * g.ldc;
    if (product.bytes && first + kRows <= rows) {
      StoreBytes(product, columns, finished, static_cast<uint8_t*>(g.c) + at + columns.first);
    } else {
      FinishSums(e, columns.first, sums, kAmxColumns, HWY_MIN(kRows, rows - first),
                 HWY_MIN(columns.count, kVectors * lanes),
                 static_cast<std::byte*>(g.c) + at * (e.quantizes ? 1 : sizeof(float)), g.ldc);
    }
  }
}

// Computes columns [first_column, last_column) of a matrix.
void AmxGemm(const Product& product, size_t matrix, size_t first_row, size_t last_row,
             size_t first_column, size_t last_column) {
  const QuantizedGemmArgs& g = product.args;
  const size_t lines = product.lines(), depth = lines * kQuad, offset = matrix * g.k;
  MultiplyByAmx<uint8_t>(
      lines, first_row, last_row, first_column, last_column,
      [&](size_t row, size_t count) HWY_ATTR -> AmxRows<uint8_t> {
        if (LoadsInPlace(g)) return {g.a + row * g.lda + offset, g.lda};
        CopyRows(g, row, count, depth, offset);
        return {g.copy, depth};
      },
      [&](size_t column) HWY_ATTR -> AmxParts<uint8_t> {
        const int8_t* panel = product.Panel(matrix, column / kQuantizedPanelColumns);
        return {panel, panel + lines * kLine};
      },
      [&](size_t row, size_t count, size_t column, size_t columns, int32_t* sums) HWY_ATTR {
        const bool two = columns > kQuantizedPanelColumns;
        (two ? FinishTiles<2> : FinishTiles<1>)(product, {matrix * g.n + column, columns}, count,
                                                row * g.ldc, sums);
      });
}
#endif

// Calls body(matrix, first, last) for the columns of each matrix, counted from its first one.
template <class Body>
HWY_INLINE void ForMatrices(const QuantizedGemmArgs& g, size_t first_column, size_t last_column,
                            const Body& body) {
  for (size_t i = first_column / g.n; i * g.n < last_column; ++i) {
    const size_t before = i * g.n;
    body(i, HWY_MAX(first_column, before) - before, HWY_MIN(last_column - before, g.n));
  }
}

// Rows whose tiles share panels of B, and their pointers.
struct TileGroup {
  const RowTiles& tiles;
  size_t first, end;  // tiles
  size_t first_row;   // of C
  const uint8_t* const* pointers;

  size_t start() const { return tiles.RowOf(first); }
  size_t rows() const { return tiles.RowOf(end) - start(); }
  const uint8_t* const* PointersOf(size_t tile, size_t taps) const {
    return pointers + (tiles.RowOf(tile) - start()) * taps;
  }
};

// Computes columns [first, last) of a matrix for a group of tiles.
void MultiplyMatrix(const Product& product, const TileGroup& group, size_t matrix, size_t first,
                    size_t last, Budget::Pace& pace) {
  const QuantizedGemmArgs& g = product.args;
  const size_t lanes = hn::Lanes(Tag32()), width = 2 * lanes, lines = product.lines();
  const size_t before = matrix * g.n;
  if (const size_t quads = NarrowQuads(g); quads != 0) {
    if (pace.Stop(static_cast<int64_t>(group.rows() * g.n * quads * g.taps))) return;
    HWY_ALIGN int8_t compressed[kNarrowLines * kLine];
    const int8_t* lines_of_matrix = product.Panel(matrix, 0);
    if (g.joined != 1) {
      CompressLines(lines_of_matrix, g.taps, quads, compressed);
      lines_of_matrix = compressed;
    }
    for (size_t t = group.first; t < group.end; ++t) {
      const size_t rows = group.tiles.SizeOf(t);
      const NarrowTileFn tile = quads == 1   ? NarrowTileOf<1>(rows)
                                : quads == 2 ? NarrowTileOf<2>(rows)
                                             : NarrowTileOf<4>(rows);
      tile(product, group.PointersOf(t, g.taps), {before, last, matrix},
           (group.first_row + group.tiles.RowOf(t)) * g.ldc, lines_of_matrix);
    }
    return;
  }
  // The tiles of a group share the prefetch of the next panels; each run of a tile prefetches
  // lines.
  const size_t runs = (g.k / kQuad + kPrefetchInterval - 1) / kPrefetchInterval * g.taps;
  const size_t all_runs = HWY_MAX(runs * (group.end - group.first), size_t{1});
  const size_t fetched_lines = (lines * width / kQuantizedPanelColumns + all_runs - 1) / all_runs;
  for (size_t j = first; j < last; j += width) {
    if (pace.Stop(static_cast<int64_t>(group.rows() * width * (lines * kQuad + 1)))) return;
    const bool is_last = j + width >= g.n;
    const int8_t* next =
        product.Panel(matrix, is_last ? product.panels() : (j + width) / kQuantizedPanelColumns);
    const bool fetches = is_last ? matrix + 1 < g.matrices : j + width < last;
    for (size_t t = group.first; t < group.end; ++t) {
      const size_t count = group.tiles.SizeOf(t);
      const PanelPrefetch prefetch = {next + (t - group.first) * runs * fetched_lines * kLine,
                                      fetches ? fetched_lines : 0};
      const TileFn tile = last - j > lanes ? TileOf<2>(count) : TileOf<1>(count);
      tile(product, group.PointersOf(t, g.taps), {before + j, last - j, matrix},
           (group.first_row + group.tiles.RowOf(t)) * g.ldc, prefetch);
    }
  }
}

void QuantizedGemmImpl(const QuantizedGemmArgs& g, size_t first_row, size_t last_row,
                       size_t first_column, size_t last_column) {
  if (first_row >= last_row || first_column >= last_column) return;
  const Product product = {g, ByteQuantizer<Tag32>(g.epilogue),
                           BytesFit(g.epilogue, first_column, last_column)};
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
  if (NarrowQuads(g) == 0 && CanUseAmx(g, last_row - first_row)) {
    return ForMatrices(g, first_column, last_column,
                       [&](size_t matrix, size_t first, size_t last) HWY_ATTR {
                         AmxGemm(product, matrix, first_row, last_row, first, last);
                       });
  }
#endif
  const size_t lines = product.lines();
  const RowTiles tiles(
      last_row - first_row, kMaxTileRows,
      HWY_MIN(kGroupBytes / HWY_MAX(g.matrices * lines * kQuad, size_t{1}), kQuantizedGroupRows));
  const uint8_t* direct[kQuantizedGroupRows];
  const uint8_t** pointers = g.row_pointers != nullptr ? g.pointers : direct;
  Budget::Pace pace;
  for (size_t first = 0; first < tiles.count; first += tiles.per_group) {
    const size_t end = HWY_MIN(first + tiles.per_group, tiles.count);
    const TileGroup group = {tiles, first, end, first_row, pointers};
    for (size_t t = first; t < end; ++t) {
      FindRows(g, first_row + tiles.RowOf(t), tiles.SizeOf(t),
               pointers + (tiles.RowOf(t) - group.start()) * g.taps);
    }
    ForMatrices(g, first_column, last_column, [&](size_t matrix, size_t from, size_t to) HWY_ATTR {
      if (!pace.stopped()) MultiplyMatrix(product, group, matrix, from, to, pace);
    });
    if (pace.stopped()) return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

CheckedInt QuantizedCopySize(int64_t k, int64_t taps) {
  if (!HasAmx()) return 0;
  const CheckedInt tap_bytes = FloorDiv(CheckedInt(k) + 3, 4) * 4;
  return CheckedInt(int64_t{kAmxRows}) * tap_bytes * taps;
}

HWY_EXPORT(QuantizedGemmImpl);
void QuantizedGemmRange(const QuantizedGemmArgs& args, size_t first_row, size_t last_row,
                        size_t first_column, size_t last_column) {
  HWY_DYNAMIC_DISPATCH(QuantizedGemmImpl)(args, first_row, last_row, first_column, last_column);
}

}  // namespace belay
#endif  // HWY_ONCE
