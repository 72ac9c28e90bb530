#include "runtime/kernels/packed/packed_gemm.h"

#include "runtime/kernels/packed/packed_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/packed_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
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

// Part of the second-level cache for the panels of a block of columns, in floats.
constexpr size_t kBlockFloats = size_t{128} << 10;

// Where the tile lies in C, and how many columns of it are wanted.
struct Place {
  float* c;
  const float* other;  // the same place of epilogue.other, or null
  const float* bias;   // of the first column, or null
  size_t columns;
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

// Vector v of each row: its first `count` columns, all unless kPartial.
template <bool kPartial, size_t kRows, size_t kVectors>
HWY_INLINE void Finish(const PackedGemmArgs& g, const Place& place, size_t v, size_t count,
                       const Sums<kRows, kVectors>& sums) {
  const TagF32 d;
  const bool linear = IsLinear(g.epilogue);
  const V low = hn::Set(d, g.epilogue.low), high = hn::Set(d, g.epilogue.high);
  const float* other = g.epilogue.multiply ? nullptr : place.other;
  const size_t first = v * hn::Lanes(d);
  V bias = hn::Zero(d);
  if (place.bias != nullptr) {
    bias = kPartial ? hn::LoadN(d, place.bias + first, count) : hn::LoadU(d, place.bias + first);
  }
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const size_t at = r * g.ldc + first;
    V y = hn::Add(sums.at[r][v], bias);
    if (other != nullptr) {
      y = hn::Add(y, kPartial ? hn::LoadN(d, other + at, count) : hn::LoadU(d, other + at));
    }
    if (linear) y = ClampKeepingNaN(d, y, low, high);
    if constexpr (kPartial) {
      hn::StoreN(y, d, place.c + at, count);
    } else {
      hn::StoreU(y, d, place.c + at);
    }
  }
}

// kRows rows by kVectors vectors. rows[t * kRows + r]: the floats of row r at tap t; b: the panel's
// first row of these columns. kParts sums per element, which are added in the end: a few rows alone
// would wait for each other's additions.
template <size_t kRows, size_t kVectors, size_t kParts>
HWY_INLINE void Tile(const PackedGemmArgs& g, const float* const* HWY_RESTRICT rows,
                     const float* HWY_RESTRICT b, const Place& place) {
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
  const size_t k = g.k;
  for (size_t t = 0; t < g.taps; ++t, rows += kRows) {
    const float* a[kRows];
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) a[r] = rows[r];
    size_t p = 0;
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
      Finish</*kPartial=*/false>(g, place, v, lanes, sums[0]);
    } else if (place.columns > v * lanes) {
      Finish</*kPartial=*/true>(g, place, v, place.columns - v * lanes, sums[0]);
    }
  }
}

// A tile of up to a panel's columns.
template <size_t kRows, size_t kParts>
HWY_NOINLINE void Panel(const PackedGemmArgs& g, const float* const* rows, const float* b,
                        const Place& place) {
  const size_t lanes = hn::Lanes(TagF32());
  for (size_t j = 0; j < place.columns; j += 2 * lanes) {
    const Place part = {place.c + j, place.other == nullptr ? nullptr : place.other + j,
                        place.bias == nullptr ? nullptr : place.bias + j, place.columns - j};
    if (part.columns > lanes) {
      Tile<kRows, 2, kParts>(g, rows, b + j, part);
    } else {
      Tile<kRows, 1, kParts>(g, rows, b + j, part);
    }
  }
}

using PanelFn = void (*)(const PackedGemmArgs&, const float* const*, const float*, const Place&);

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

void PackedGemmImpl(const PackedGemmArgs& g, size_t first_row, size_t last_row, size_t first_column,
                    size_t last_column) {
  if (first_row >= last_row || first_column >= last_column) return;
  const size_t depth = g.taps * g.k;
  const size_t panels = HWY_MAX(size_t{1}, kBlockFloats / (HWY_MAX(depth, 1) * kPanelColumns));
  const size_t block = panels * kPanelColumns;
  const bool linear = IsLinear(g.epilogue);
  const size_t parts = g.m == 1 ? 4 : g.m <= 3 ? 2 : 1;
  // As even as can be: a last tile of one row costs as much as one of four.
  const size_t rows = last_row - first_row;
  const size_t tiles = (rows + kMostRows - 1) / kMostRows;
  const float* direct[kTileRows];
  for (size_t begin = first_column; begin < last_column; begin += block) {
    const size_t end = HWY_MIN(last_column, begin + block);
    size_t row = first_row;
    for (size_t t = 0; t < tiles; ++t) {
      const size_t count = rows / tiles + (t < rows % tiles ? 1 : 0);
      const float* const* pointers = direct;
      if (g.row_pointers != nullptr) {
        g.row_pointers(g.source, row, count, g.pointers);
        pointers = g.pointers;
      } else {
        // Few rows fit the ways of a set.
        const bool copies = g.tile != nullptr && count > 6;
        for (size_t i = 0; i < count; ++i) {
          direct[i] = g.k == 0 ? nullptr : g.a + (row + i) * g.lda;
          if (!copies) continue;
          float* to = g.tile + i * (g.k + 16);
          hwy::CopyBytes(direct[i], to, g.k * sizeof(float));
          direct[i] = to;
        }
      }
      const PanelFn panel = PanelOf(count, parts);
      const float* other = g.epilogue.other == nullptr ? nullptr : g.epilogue.other + row * g.ldc;
      for (size_t j = begin; j < end; j += kPanelColumns) {
        panel(g, pointers, g.b + j * depth,
              {.c = g.c + row * g.ldc + j,
               .other = other == nullptr ? nullptr : other + j,
               .bias = g.epilogue.bias == nullptr ? nullptr : g.epilogue.bias + j,
               .columns = HWY_MIN(size_t{kPanelColumns}, end - j)});
      }
      if (!linear) {
        for (size_t i = 0; i < count; ++i) {
          FinishRow(g.epilogue, other == nullptr ? nullptr : other + i * g.ldc + begin,
                    g.c + (row + i) * g.ldc + begin, end - begin);
        }
      }
      row += count;
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
