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
#include "runtime/kernels/packed/packed_gemm-inl.h"
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
  const bool adds = other != nullptr && !e.multiply;
  const bool is_hardswish = e.activation == Activation::kHardswish && (adds || other == nullptr);
  const bool clamps = IsLinear(e) || is_hardswish;
  const V low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  const auto complete = [&](V y) HWY_ATTR {
    if (is_hardswish) y = Activate(d, y, Activation::kHardswish);
    return clamps ? ClampKeepingNaN(d, y, low, high) : y;
  };
  sums += skip * stride;
  for (size_t i = 0; i < columns; i += lanes) {
    const size_t some = columns - i;
    const V bias = e.bias == nullptr ? hn::Zero(d) : LoadSome(d, e.bias + column + i, some);
    for (size_t r = 0; r < rows - skip; ++r) {
      const size_t to = r * g.ldc + i;
      V y = hn::Add(hn::LoadU(d, sums + r * stride + i), bias);
      if (some >= lanes) {
        if (adds) y = hn::Add(y, hn::LoadU(d, other + to));
        hn::StoreU(complete(y), d, c + to);
      } else {
        if (adds) y = hn::Add(y, hn::LoadN(d, other + to, some));
        hn::StoreN(complete(y), d, c + to, some);
      }
    }
  }
  if (!clamps) FinishTile(e, other, c, g.ldc, rows - skip, columns);
}

// Stores complete(sum + bias) for whole vectors.
template <size_t kRows, size_t kVectors, class Fn>
HWY_INLINE void StoreShort(float* c, size_t ldc, const V (&bias)[kVectors],
                           const Accumulators<kRows, kVectors>& sums, const Fn& complete) {
  const TagF32 d;
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r, c += ldc) {
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(complete(hn::Add(sums.at[r][v], bias[v])), d, c + v * hn::Lanes(d));
    }
  }
}

// Computes rows [row + skip, row + kShortRows) of C.
template <size_t kVectors>
HWY_NOINLINE void ShortTile(const ShortGemmArgs& g, size_t row, size_t column, size_t skip) {
  constexpr size_t kPointers = kShortPointers<kVectors>, kShifts = kShortShifts<kVectors>;
  constexpr size_t kRows = kPointers * kShifts;
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
    const float* a = g.a[t];
    for (size_t p = 0; p < g.k; ++p, ++a, b += step) {
      V bv[kVectors];
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(d, b + v * lanes);
      const float* from = a;
      HWY_UNROLL(kShifts)
      for (size_t s = 0; s < kShifts; ++s, from += shift) {
        hwy::PreventElision(from);
        HWY_UNROLL(kPointers)
        for (size_t i = 0; i < kPointers; ++i) {
          const V x = hn::Set(d, from[offsets[i]]);
          HWY_UNROLL(kVectors)
          for (size_t v = 0; v < kVectors; ++v) {
            V& sum = sums.at[s * kPointers + i][v];
            sum = hn::MulAdd(x, bv[v], sum);
          }
        }
      }
    }
  }
  const EpilogueF32& e = g.epilogue;
  const bool whole = skip == 0 && g.last_column - column >= kVectors * lanes;
  if (!whole || e.other != nullptr || !IsLinear(e)) {
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
  float* const c = g.c + row * g.ldc + column;
  V bias[kVectors];
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) {
    bias[v] = e.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, e.bias + column + v * lanes);
  }
  if (!HasBounds(e)) {
    return StoreShort<kRows, kVectors>(c, g.ldc, bias, sums, [](V y) HWY_ATTR { return y; });
  }
  const V low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  StoreShort<kRows, kVectors>(c, g.ldc, bias, sums,
                              [&](V y) HWY_ATTR { return ClampKeepingNaN(d, y, low, high); });
}

// Computes rows [first, last) of the vectors from `column` on; last is at least kShortRows.
template <size_t kVectors>
HWY_INLINE void ShortColumns(const ShortGemmArgs& g, size_t first, size_t last, size_t column) {
  constexpr size_t kRows = kShortRows<kVectors>;
  for (; first + kRows <= last; first += kRows) ShortTile<kVectors>(g, first, column, 0);
  if (first < last) ShortTile<kVectors>(g, last - kRows, column, first - (last - kRows));
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
