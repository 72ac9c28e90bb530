#include "runtime/kernels/packed/bfloat16_gemm.h"

#include <algorithm>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "runtime/kernels/amx.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/bfloat16_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/packed/bfloat16_dispatch.h"
#include "runtime/kernels/packed/packed_gemm-inl.h"

#ifndef BELAY_RUNTIME_KERNELS_PACKED_WIDENED_ROWS_
#define BELAY_RUNTIME_KERNELS_PACKED_WIDENED_ROWS_
namespace belay {

// Most rows of A in a group of widened rows. They share the L2 cache with a panel of B.
inline size_t WidenedRows(size_t depth) {
  constexpr size_t kFloats = size_t{96} << 10;
  return std::clamp(kFloats / std::max<size_t>(depth, 1), kTileRows, kGroupRows);
}

}  // namespace belay
#endif

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

// Adds biases and `other` to kRows rows of sums, kPanelColumns apart, and stores them.
template <size_t kRows>
HWY_INLINE void StoreRows(const BFloat16GemmArgs& g, const KBlock& all,
                          const OutputTile<BFloat16>& out, const float* HWY_RESTRICT sums) {
  const TagF32 d;
  const size_t lanes = hn::Lanes(d);
  for (size_t j = 0; j < out.columns; j += lanes) {
    Accumulators<kRows, 1> finished;
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      finished.at[r][0] = hn::LoadU(d, sums + r * kPanelColumns + j);
    }
    if (out.columns >= j + lanes) {
      Finish</*kPartial=*/false>(g, out, all, 0, j, lanes, finished);
    } else {
      Finish</*kPartial=*/true>(g, out, all, 0, j, out.columns - j, finished);
    }
  }
}

// Applies the epilogue to `rows` rows of sums, kPanelColumns apart, and stores them.
HWY_NOINLINE void FinishRows(const BFloat16GemmArgs& g, const OutputTile<BFloat16>& out,
                             size_t rows, const float* HWY_RESTRICT sums) {
  constexpr size_t kRows = 8;
  const KBlock all = KBlocks(g).At(g, 0);
  OutputTile<BFloat16> row = out;
  const auto next = [&](size_t count) HWY_ATTR {
    sums += count * kPanelColumns;
    row.c += count * g.ldc;
    if (row.other != nullptr) row.other += count * g.ldc;
  };
  size_t r = 0;
  for (; r + kRows <= rows; r += kRows, next(kRows)) StoreRows<kRows>(g, all, row, sums);
  for (; r < rows; ++r, next(1)) StoreRows<1>(g, all, row, sums);
  if (!IsLinear(g.epilogue)) FinishTile(g.epilogue, out.other, out.c, g.ldc, rows, out.columns);
}

// The rows of C from `row` on, and its columns from `column` on.
HWY_INLINE OutputTile<BFloat16> OutputOf(const BFloat16GemmArgs& g, size_t row, size_t column,
                                         size_t columns) {
  const size_t place = row * g.ldc + column;
  return {.c = g.c + place,
          .other = g.epilogue.other == nullptr ? nullptr : g.epilogue.other + place,
          .bias = g.epilogue.bias == nullptr ? nullptr : g.epilogue.bias + column,
          .columns = columns};
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
// With fewer rows, the kernel without tiles is faster. All rows of A count, so that every part of a
// GEMM has the same sums.
constexpr size_t kLeastAmxRows = 4;

bool CanUseAmx(const BFloat16GemmArgs& g) {
  return g.m >= kLeastAmxRows && g.k * g.taps > 0 && g.groups == 1 && g.run == 0 &&
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
      [&](size_t row, size_t count, size_t column, size_t columns, const float* sums)
          HWY_ATTR { FinishRows(g, OutputOf(g, row, column, columns), count, sums); });
}
#endif

// With fewer rows, copying B costs more than it saves.
constexpr size_t kLeastWidenedRows = 8;

HWY_INLINE void WidenRow(const BFloat16* HWY_RESTRICT from, size_t n, float* HWY_RESTRICT to) {
  const TagF32 d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(LoadSome(d, from + i, lanes), d, to + i);
  if (i < n) hn::StoreN(LoadSome(d, from + i, n - i), d, to + i, n - i);
}

// Widens a panel of B to the layout of floats.
HWY_INLINE void WidenPanel(const BFloat16* HWY_RESTRICT from, size_t depth,
                           float* HWY_RESTRICT to) {
  const TagF32 d;
  const hn::RebindToUnsigned<TagF32> d32;
  const auto* HWY_RESTRICT words = reinterpret_cast<const uint32_t*>(from);
  for (size_t p = 0; p < depth; p += 2, to += 2 * kPanelColumns, words += kPanelColumns) {
    for (size_t j = 0; j < kPanelColumns; j += hn::Lanes(d)) {
      const auto pair = hn::LoadU(d32, words + j);
      hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(pair)), d, to + j);
      hn::StoreU(hn::BitCast(d, hn::And(pair, hn::Set(d32, 0xFFFF0000u))), d,
                 to + kPanelColumns + j);
    }
  }
}

// Multiplies floats: groups of rows of A by each panel of B.
void MultiplyWidened(const BFloat16GemmArgs& g, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column) {
  const size_t depth = g.taps * g.k, most = WidenedRows(depth);
  ProductArgs<float> product;
  product.m = most;  // also of smaller groups: sums depend on it
  product.n = product.ldc = kPanelColumns;
  product.k = depth;
  product.lda = CopiedRowStride<float>(depth);
  float* const panel = g.widened;
  float* const sums = panel + depth * kPanelColumns;
  float* const copies = sums + most * kPanelColumns;
  product.a = copies;
  product.b = panel;
  product.c = sums;
  const BFloat16* direct[kTileRows];
  const BFloat16** pointers = g.row_pointers != nullptr ? g.pointers : direct;
  const KBlock all = KBlocks(g).At(g, 0);
  for (size_t first = first_row, rows; first < last_row; first += rows) {
    rows = HWY_MIN(most, last_row - first);
    for (size_t i = 0, count; i < rows; i += count) {
      count = HWY_MIN(kTileRows, rows - i);
      FindRows<BFloat16>(g, all, first + i, count, pointers, nullptr);
      for (size_t r = 0; r < count; ++r) {
        float* const to = copies + (i + r) * product.lda;
        for (size_t tap = 0; tap < g.taps; ++tap) {
          WidenRow(pointers[tap * count + r], g.k, to + tap * g.k);
        }
      }
    }
    for (size_t j = first_column; j < last_column; j += kPanelColumns) {
      const size_t columns = HWY_MIN(kPanelColumns, last_column - j);
      WidenPanel(g.b + j * depth, depth, panel);
      PackedGemmRange(product, 0, rows, 0, columns);
      if (Budget::Stop()) return;
      FinishRows(g, OutputOf(g, first, j, columns), rows, sums);
    }
  }
}

// Whether the target has dot products.
bool HasDots() { return HWY_NATIVE_DOT_BF16 && HWY_TARGET != HWY_NEON_WITHOUT_AES; }

void MultiplyBFloat16(const BFloat16GemmArgs& g, size_t first_row, size_t last_row,
                      size_t first_column, size_t last_column) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
  if (CanUseAmx(g)) return MultiplyByTiles(g, first_row, last_row, first_column, last_column);
#endif
  if (g.widened != nullptr && g.m >= kLeastWidenedRows && g.groups == 1 && g.run == 0) {
    return MultiplyWidened(g, first_row, last_row, first_column, last_column);
  }
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

HWY_EXPORT(HasDots);
HWY_EXPORT(MultiplyBFloat16);
namespace {

bool IsIntel() {
#if HWY_ARCH_X86
  unsigned a, b, c, d;
  return __get_cpuid(0, &a, &b, &c, &d) != 0 && b == signature_INTEL_ebx;
#else
  return false;
#endif
}

// A panel of deeper products would leave the L2 cache.
constexpr int64_t kDeepest = 8192;

}  // namespace

CheckedInt WidenedSize(int64_t k, int64_t taps) {
  const CheckedInt depth = CheckedInt(k) * taps;
  static const bool slow = IsIntel();
  if (UsesAmx() || (BELAY_BFLOAT16_DISPATCH(HasDots)() && !slow) || !(depth <= kDeepest)) return 0;
  const auto elements = static_cast<size_t>(depth.value());
  // A panel of B, and the sums and the copy of each row.
  return static_cast<int64_t>(elements * kPanelColumns +
                              WidenedRows(elements) *
                                  (kPanelColumns + CopiedRowStride<float>(elements)));
}

void PackedGemmRange(const BFloat16GemmArgs& args, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column) {
  BELAY_BFLOAT16_DISPATCH(MultiplyBFloat16)(args, first_row, last_row, first_column, last_column);
}

}  // namespace belay
#endif  // HWY_ONCE
