// Microkernels of short_gemm.h. Included once per target inside foreach_target.
#if defined(BELAY_RUNTIME_KERNELS_PACKED_SHORT_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_PACKED_SHORT_GEMM_INL_H_
#undef BELAY_RUNTIME_KERNELS_PACKED_SHORT_GEMM_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_PACKED_SHORT_GEMM_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "runtime/core/budget.h"
#include "runtime/kernels/packed/epilogue-inl.h"
#include "runtime/kernels/packed/gemm_tile-inl.h"
#include "runtime/kernels/packed/short_gemm.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of a tile of kVectors vectors: kPointers rows, and as many after them in each of kShifts
// groups, which share the pointers. Accumulators and pointers fit the registers.
template <size_t kVectors>
constexpr size_t kShortPointers = kMaxTileRows<float> == kTileRows && kVectors == 1 ? 8 : 6;
template <size_t kVectors>
constexpr size_t kShortShifts = kMaxTileRows<float> == kTileRows || kVectors == 1 ? 2 : 1;
template <size_t kVectors>
constexpr size_t kShortRows = kShortPointers<kVectors> * kShortShifts<kVectors>;

// Rows that are multiplied by all columns in turn, so that those of A stay in the L1 cache: whole
// tiles.
constexpr size_t kShortBlock = 48;
static_assert(kShortBlock % kShortRows<1> == 0 && kShortBlock % kShortRows<2> == 0);
static_assert(kShortRows<1> <= kLeastShortRows && kShortRows<2> <= kLeastShortRows);

// Steps between which the pointers do not advance. Their vectors of B are loaded ahead. With one
// vector, the loads of A limit the speed, and two steps of two vectors do not fit the registers.
template <size_t kVectors>
constexpr size_t kShortSteps = kMaxTileRows<float> == kTileRows && kVectors == 1 ? 4 : 1;

// Whether the epilogue is bias, a product with `other` and clamp.
HWY_INLINE bool IsGate(const EpilogueF32& e) {
  return e.activation == Activation::kNone && e.multiply && e.other != nullptr;
}

// Completes and stores rows [skip, rows) of a tile from their sums without bias, which are `stride`
// apart.
HWY_NOINLINE void CompleteShort(const ShortGemmArgs& g, size_t row, size_t column,
                                const float* sums, size_t stride, size_t skip, size_t rows) {
  const TagF32 d;
  const size_t lanes = hn::Lanes(d), columns = HWY_MIN(stride, g.last_column - column);
  const EpilogueF32& e = g.epilogue;
  const size_t at = (row + skip) * g.ldc + column;
  float* c = g.c + at;
  const float* other = e.other == nullptr ? nullptr : e.other + at;
  const bool adds = other != nullptr && !e.multiply, gates = IsGate(e);
  const bool is_hardswish = e.activation == Activation::kHardswish && (adds || other == nullptr);
  const bool clamps = e.activation == Activation::kNone || is_hardswish;
  const V low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  const auto complete = [&](V y) HWY_ATTR {
    if (is_hardswish) y = Activate<float>(d, y, Activation::kHardswish);
    return clamps ? ClampKeepingNaN(d, y, low, high) : y;
  };
  sums += skip * stride;
  for (size_t i = 0; i < columns; i += lanes) {
    const size_t some = HWY_MIN(lanes, columns - i);
    const V bias = e.bias == nullptr ? hn::Zero(d) : LoadSome(d, e.bias + column + i, some);
    for (size_t r = 0; r < rows - skip; ++r) {
      const size_t to = r * g.ldc + i;
      V y = hn::Add(hn::LoadU(d, sums + r * stride + i), bias);
      if (adds) y = hn::Add(y, LoadSome(d, other + to, some));
      if (gates) y = hn::Mul(y, LoadSome(d, other + to, some));
      StoreSome(d, complete(y), c + to, some);
    }
  }
  if (!clamps) FinishTile(e, other, c, g.ldc, rows - skip, columns);
}

// Stores complete(sum + bias, i) for whole vectors, where i is the position in C.
template <size_t kRows, size_t kVectors, class Fn>
HWY_INLINE void StoreShort(float* c, size_t ldc, const V (&bias)[kVectors],
                           const Accumulators<kRows, kVectors>& sums, const Fn& complete) {
  const TagF32 d;
  size_t at = 0;
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r, at += ldc) {
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      const size_t i = at + v * hn::Lanes(d);
      hn::StoreU(complete(hn::Add(sums.at[r][v], bias[v]), i), d, c + i);
    }
  }
}

// sums[s * kPointers + i] += from[s][offsets[i] + p] * b[0 .. kVectors * lanes)
template <size_t kPointers, size_t kShifts, size_t kRows, size_t kVectors>
HWY_INLINE void AddTerms(const float* HWY_RESTRICT b, const float* const (&from)[kShifts],
                         const size_t (&offsets)[kPointers], size_t p,
                         Accumulators<kRows, kVectors>& sums) {
  const TagF32 d;
  V bv[kVectors];
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(d, b + v * hn::Lanes(d));
  HWY_UNROLL(kShifts)
  for (size_t s = 0; s < kShifts; ++s) {
    HWY_UNROLL(kPointers)
    for (size_t i = 0; i < kPointers; ++i) {
      const V x = hn::Set(d, from[s][offsets[i] + p]);
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        V& sum = sums.at[s * kPointers + i][v];
        sum = hn::MulAdd(x, bv[v], sum);
      }
    }
  }
}

// Computes rows [row + skip, row + kRows) of C.
template <size_t kVectors, size_t kShifts>
HWY_NOINLINE void ShortTile(const ShortGemmArgs& g, size_t row, size_t column, size_t skip) {
  constexpr size_t kPointers = kShortPointers<kVectors>, kRows = kPointers * kShifts;
  constexpr size_t kSteps = kShortSteps<kVectors>;
  const TagF32 d;
  const size_t lanes = hn::Lanes(d);
  Accumulators<kRows, kVectors> sums;
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) sums.at[r][v] = hn::Zero(d);
  }
  const float* const panel =
      g.b + column / kPanelColumns * kPanelColumns * g.depth + column % kPanelColumns;
  const size_t step = g.b_step * kPanelColumns, shift = kPointers * g.lda;
  // Of the first rows. Neither they nor the address of a term may be combined ahead of a step: that
  // takes more registers than there are, or more additions than products.
  size_t offsets[kPointers];
  HWY_UNROLL(kPointers)
  for (size_t i = 0; i < kPointers; ++i) {
    offsets[i] = (row + i) * g.lda;
    hwy::PreventElision(offsets[i]);
  }
  for (size_t t = 0; t < g.taps; ++t) {
    const float* HWY_RESTRICT b = panel + g.b_rows[t] * kPanelColumns;
    const float* from[kShifts];
    HWY_UNROLL(kShifts)
    for (size_t s = 0; s < kShifts; ++s) from[s] = g.a[t] + s * shift;
    const auto advance = [&](size_t steps) HWY_ATTR {
      HWY_UNROLL(kShifts)
      for (size_t s = 0; s < kShifts; ++s) {
        from[s] += steps;
        hwy::PreventElision(from[s]);
      }
    };
    advance(0);
    for (size_t i = g.k / kSteps; i != 0; --i, advance(kSteps)) {
      HWY_UNROLL(kSteps)
      for (size_t p = 0; p < kSteps; ++p, b += step) AddTerms<kPointers>(b, from, offsets, p, sums);
    }
    // Not a loop, which would use other registers for the accumulators.
    const size_t rest = g.k % kSteps;
    if (rest > 0) AddTerms<kPointers>(b, from, offsets, 0, sums);
    if (rest > 1) AddTerms<kPointers>(b + step, from, offsets, 1, sums);
    if (rest > 2) AddTerms<kPointers>(b + 2 * step, from, offsets, 2, sums);
  }
  const EpilogueF32& e = g.epilogue;
  // Tiles of fewer rows are rare.
  const bool whole =
      kShifts == kShortShifts<kVectors> && skip == 0 && g.last_column - column >= kVectors * lanes;
  if (!whole || e.activation != Activation::kNone || IsGate(e)) {
    HWY_ALIGN float buffer[kRows * kVectors * kPanelColumns / 2];
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        hn::StoreU(sums.at[r][v], d, buffer + (r * kVectors + v) * lanes);
      }
    }
    return CompleteShort(g, row, column, buffer, kVectors * lanes, skip, kRows);
  }
  const size_t at = row * g.ldc + column;
  float* const c = g.c + at;
  V bias[kVectors];
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) {
    bias[v] = e.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, e.bias + column + v * lanes);
  }
  const V low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  if (e.other == nullptr) {
    return StoreShort<kRows, kVectors>(c, g.ldc, bias, sums, [&](V y, size_t) HWY_ATTR {
      return ClampKeepingNaN(d, y, low, high);
    });
  }
  const float* const other = e.other + at;
  StoreShort<kRows, kVectors>(c, g.ldc, bias, sums, [&](V y, size_t i) HWY_ATTR {
    return ClampKeepingNaN(d, hn::Add(y, hn::LoadU(d, other + i)), low, high);
  });
}

// Computes rows [first, last) of the vectors from `column` on; last is at least kShortRows.
template <size_t kVectors>
HWY_INLINE void ShortColumns(const ShortGemmArgs& g, size_t first, size_t last, size_t column) {
  constexpr size_t kRows = kShortRows<kVectors>, kShifts = kShortShifts<kVectors>;
  for (; first + kRows <= last; first += kRows) {
    ShortTile<kVectors, kShifts>(g, first, column, 0);
  }
  if (first == last) return;
  // The last rows, with some before them that are computed again.
  constexpr size_t kHalf = kShortPointers<kVectors>;
  if (kShifts > 1 && last - first <= kHalf) {
    ShortTile<kVectors, 1>(g, last - kHalf, column, first - (last - kHalf));
  } else {
    ShortTile<kVectors, kShifts>(g, last - kRows, column, first - (last - kRows));
  }
}

void MultiplyShort(const ShortGemmArgs& g) {
  const size_t lanes = hn::Lanes(TagF32());
  Budget::Pace pace;
  for (size_t row = 0; row < g.m; row += kShortBlock) {
    const size_t end = HWY_MIN(row + kShortBlock, g.m);
    const size_t work = (end - row) * (g.last_column - g.first_column) * (g.taps * g.k + 1);
    if (pace.Stop(static_cast<int64_t>(work))) return;
    for (size_t j = g.first_column; j < g.last_column; j += 2 * lanes) {
      if (g.last_column > j + lanes) {
        ShortColumns<2>(g, row, end, j);
      } else {
        ShortColumns<1>(g, row, end, j);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif
