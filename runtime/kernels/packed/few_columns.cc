#include "runtime/kernels/packed/few_columns.h"

#include "runtime/core/budget.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/few_columns.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/packed/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

// Rows of a tile: its sums and operands fit the registers.
constexpr size_t kRows = (HWY_TARGET <= HWY_AVX3 || HWY_TARGET_IS_NEON) ? 6 : 2;

// sums[r][j] += a[r][p] * b[j][p] for one vector of p.
template <size_t kColumns, class Load>
HWY_INLINE void Step(const float* const* a, const float* const* b, size_t p, const Load& load,
                     V (&sums)[kRows][kColumns]) {
  V bv[kColumns];
  HWY_UNROLL(kColumns)
  for (size_t j = 0; j < kColumns; ++j) bv[j] = load(b[j] + p);
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const V x = load(a[r] + p);
    HWY_UNROLL(kColumns)
    for (size_t j = 0; j < kColumns; ++j) sums[r][j] = hn::MulAdd(x, bv[j], sums[r][j]);
  }
}

// Computes kRows rows: out[r][j] = sum over taps t and p of rows[t * kRows + r][p] * b[j][t * k + p].
template <size_t kColumns>
HWY_INLINE void Tile(const PackedGemmArgs& g, const float* const* rows, const float* b,
                     float (*out)[kFewColumns]) {
  const D d;
  const size_t lanes = hn::Lanes(d), depth = g.taps * g.k;
  V sums[kRows][kColumns];
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(kColumns)
    for (size_t j = 0; j < kColumns; ++j) sums[r][j] = hn::Zero(d);
  }
  const float* columns[kColumns];
  for (size_t j = 0; j < kColumns; ++j) columns[j] = b + j * depth;
  for (size_t t = 0; t < g.taps; ++t, rows += kRows) {
    size_t p = 0;
    for (; p + lanes <= g.k; p += lanes) {
      Step<kColumns>(
          rows, columns, p, [&](const float* x) HWY_ATTR { return hn::LoadU(d, x); }, sums);
    }
    if (p < g.k) {
      const size_t rest = g.k - p;
      Step<kColumns>(
          rows, columns, p, [&](const float* x) HWY_ATTR { return hn::LoadN(d, x, rest); }, sums);
    }
    for (size_t j = 0; j < kColumns; ++j) columns[j] += g.k;
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t j = 0; j < kColumns; ++j) out[r][j] = hn::ReduceSum(d, sums[r][j]);
  }
}

// Completes row `row` of C from its sums.
HWY_INLINE void FinishRow(const PackedGemmArgs& g, size_t row, const float* sums) {
  const EpilogueF32& e = g.epilogue;
  const size_t at = g.RowOffset(row);
  const bool linear = IsLinear(e);
  for (size_t j = 0; j < g.n; ++j) {
    float y = sums[j] + (e.bias == nullptr ? 0 : e.bias[j]);
    if (e.other != nullptr && !e.multiply) y += e.other[at + j];
    if (linear) y = y < e.low ? e.low : y > e.high ? e.high : y;
    g.c[at + j] = y;
  }
  if (!linear) {
    FinishTile(e, e.other == nullptr ? nullptr : e.other + at, g.c + at, g.ldc, 1, g.n);
  }
}

template <size_t kColumns>
HWY_NOINLINE void Rows(const PackedGemmArgs& g, const float* b, size_t first_row, size_t last_row) {
  const float* direct[kRows];
  const float** pointers = g.row_pointers != nullptr ? g.pointers : direct;
  Budget::Pace pace;
  const auto work = static_cast<int64_t>(kRows * kColumns * (g.taps * g.k + 16));
  for (size_t row = first_row; row < last_row && !pace.Stop(work); row += kRows) {
    const size_t count = HWY_MIN(kRows, last_row - row);
    if (g.row_pointers != nullptr) {
      g.row_pointers(g.source, row, count, 0, g.taps, pointers);
      // Missing rows of the last tile repeat its first row, from the end: in place.
      for (size_t t = g.taps; count < kRows && t-- > 0;) {
        for (size_t r = kRows; r-- > 0;) {
          pointers[t * kRows + r] = pointers[t * count + (r < count ? r : 0)];
        }
      }
    } else {
      for (size_t r = 0; r < kRows; ++r) pointers[r] = g.a + (row + (r < count ? r : 0)) * g.lda;
    }
    float sums[kRows][kFewColumns];
    Tile<kColumns>(g, pointers, b, sums);
    for (size_t r = 0; r < count; ++r) FinishRow(g, row + r, sums[r]);
  }
}

void FewColumnsRangeImpl(const PackedGemmArgs& g, size_t first_row, size_t last_row) {
  HWY_ALIGN float b[kFewColumnsElements];
  const size_t depth = g.taps * g.k;
  for (size_t j = 0; j < g.n; ++j) {
    for (size_t p = 0; p < depth; ++p) b[j * depth + p] = g.b[p * kPanelColumns + j];
  }
  constexpr void (*kLoops[])(const PackedGemmArgs&, const float*, size_t, size_t) = {
      &Rows<1>, &Rows<2>, &Rows<3>, &Rows<4>};
  kLoops[g.n - 1](g, b, first_row, last_row);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(FewColumnsRangeImpl);
void FewColumnsRange(const PackedGemmArgs& args, size_t first_row, size_t last_row) {
  HWY_DYNAMIC_DISPATCH(FewColumnsRangeImpl)(args, first_row, last_row);
}

}  // namespace belay
#endif  // HWY_ONCE
