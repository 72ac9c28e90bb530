#include "runtime/kernels/packed/bfloat16_gemm.h"

#include "runtime/kernels/amx.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/bfloat16_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/packed/packed_gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
// With fewer rows, the kernel without tiles is faster. All rows of A count, so that every part of a
// GEMM has the same sums.
constexpr size_t kLeastAmxRows = 4;

bool CanUseAmx(const BFloat16GemmArgs& g) {
  return g.m >= kLeastAmxRows && g.k * g.taps > 0 &&
         (g.row_pointers == nullptr || g.copy != nullptr) && UsesAmx();
}

// Copies `count` rows from `row` on, `stride` apart, with contiguous taps.
HWY_INLINE void CopyRows(const BFloat16GemmArgs& g, size_t row, size_t count, BFloat16* to,
                         size_t stride) {
  const BFloat16* direct[kTileRows];
  const BFloat16** pointers = g.row_pointers != nullptr ? g.pointers : direct;
  const KBlock all = KBlocks(g).At(g, 0);
  for (size_t first = 0; first < count; first += kTileRows) {
    const size_t rows = HWY_MIN(kTileRows, count - first);
    FindRows<BFloat16>(g, all, row + first, rows, pointers, nullptr);
    for (size_t t = 0; t < g.taps; ++t) {
      for (size_t i = 0; i < rows; ++i) {
        hwy::CopyBytes(pointers[t * rows + i], to + (first + i) * stride + t * g.k,
                       g.k * sizeof(BFloat16));
      }
    }
  }
}

// Applies the epilogue to `rows` rows of sums, kAmxColumns apart, and stores them.
HWY_NOINLINE void FinishTiles(const BFloat16GemmArgs& g, const OutputTile<BFloat16>& out,
                              size_t rows, const float* HWY_RESTRICT sums) {
  const TagF32 d;
  const size_t lanes = hn::Lanes(d);
  const KBlock all = KBlocks(g).At(g, 0);
  for (size_t r = 0; r < rows; ++r, sums += kAmxColumns) {
    const size_t skipped = r * g.ldc;
    const OutputTile<BFloat16> row = {out.c + skipped,
                                      out.other == nullptr ? nullptr : out.other + skipped,
                                      out.bias, out.columns};
    Accumulators<1, 2> finished;
    finished.at[0][0] = hn::Load(d, sums);
    finished.at[0][1] = hn::Load(d, sums + lanes);
    HWY_UNROLL(2)
    for (size_t v = 0; v < 2; ++v) {
      if (out.columns >= (v + 1) * lanes) {
        Finish</*kPartial=*/false>(g, row, all, v, v * lanes, lanes, finished);
      } else if (out.columns > v * lanes) {
        Finish</*kPartial=*/true>(g, row, all, v, v * lanes, out.columns - v * lanes, finished);
      }
    }
  }
  if (!IsLinear(g.epilogue)) FinishTile(g.epilogue, out.other, out.c, g.ldc, rows, out.columns);
}

void MultiplyByTiles(const BFloat16GemmArgs& g, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column) {
  static_assert(kAmxColumns == kPanelColumns);
  const size_t depth = g.taps * g.k;
  // Rows that evict each other in the L1 cache are copied to `tile`.
  BFloat16* copy = g.row_pointers != nullptr ? g.copy : g.tile;
  const size_t copied_row = g.row_pointers != nullptr ? depth : CopiedRowStride<BFloat16>(g.k);
  MultiplyByAmx<BFloat16>(
      depth / 2, first_row, last_row, first_column, last_column,
      [&](size_t row, size_t count) HWY_ATTR -> AmxRows<BFloat16> {
        if (copy == nullptr) return {g.a + row * g.lda, g.lda};
        CopyRows(g, row, count, copy, copied_row);
        return {copy, copied_row};
      },
      [&](size_t column) HWY_ATTR -> AmxParts<BFloat16> {
        const BFloat16* panel = g.b + column * depth;
        return {panel, panel + kAmxLineStep / 2};
      },
      [&](size_t row, size_t count, size_t column, size_t columns, const float* sums) HWY_ATTR {
        const size_t place = row * g.ldc + column;
        FinishTiles(g,
                    {.c = g.c + place,
                     .other = g.epilogue.other == nullptr ? nullptr : g.epilogue.other + place,
                     .bias = g.epilogue.bias == nullptr ? nullptr : g.epilogue.bias + column,
                     .columns = columns},
                    count, sums);
      });
}
#endif

void MultiplyBFloat16(const BFloat16GemmArgs& g, size_t first_row, size_t last_row,
                      size_t first_column, size_t last_column) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
  if (CanUseAmx(g)) return MultiplyByTiles(g, first_row, last_row, first_column, last_column);
#endif
  Budget::Pace pace;
  MultiplyRange(g, first_row, last_row, first_column, last_column, pace);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

CheckedInt BFloat16CopySize(int64_t k, int64_t taps) {
  if (!HasAmx()) return 0;
  return CheckedInt(int64_t{kAmxRows}) * k * taps;
}

HWY_EXPORT(MultiplyBFloat16);
void PackedGemmRange(const BFloat16GemmArgs& args, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column) {
  HWY_DYNAMIC_DISPATCH(MultiplyBFloat16)(args, first_row, last_row, first_column, last_column);
}

}  // namespace belay
#endif  // HWY_ONCE
