#include "runtime/kernels/packed/packed_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/packed_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/core/flush_subnormals.h"
#include "runtime/kernels/packed/few_columns.h"
#include "runtime/kernels/packed/packed_gemm-inl.h"
#include "runtime/kernels/packed/short_gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

// Maximal number of rows of A for which rows of B are read in place. With more, it pays to pack.
constexpr size_t kInPlaceRows = 24;

// Packs columns [first, last) of B to panels. Missing columns of the last vector are zeros.
void PackPanels(const PackedGemmArgs& g, size_t first, size_t last) {
  const TagF32 d;
  const size_t depth = g.taps * g.k, lanes = hn::Lanes(d);
  float* panel = g.panels;
  for (size_t j = first; j < last; j += kPanelColumns, panel += depth * kPanelColumns) {
    const size_t columns = HWY_MIN(size_t{kPanelColumns}, last - j);
    const float* from = panel;
    size_t step = kPanelColumns;
    if (g.pack != nullptr) {
      g.pack(g.pack_source, j, columns, kPanelColumns, panel);
      if (columns % lanes == 0) continue;
    } else {
      from = g.b + j;
      step = g.ldb;
    }
    for (size_t p = 0; p < depth; ++p, from += step) {
      float* to = panel + p * kPanelColumns;
      size_t i = 0;
      for (; i + lanes <= columns; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
      if (i < columns) hn::StoreU(hn::LoadN(d, from + i, columns - i), d, to + i);
    }
  }
}

// Computes columns [first, last), which it packs a few panels at a time.
HWY_NOINLINE void MultiplyPacked(const PackedGemmArgs& g, size_t first_row, size_t last_row,
                                 size_t first, size_t last, Budget::Pace& pace) {
  const size_t panel = HWY_MAX(g.taps * g.k, size_t{1}) * kPanelColumns;
  const size_t width = HWY_MAX(kPanelsFloats / panel, size_t{1}) * kPanelColumns;
  PackedGemmArgs part = g;
  part.b = g.panels;
  part.ldb = 0;
  for (; first < last && !pace.stopped(); first += width) {
    const size_t columns = HWY_MIN(width, last - first);
    PackPanels(g, first, first + columns);
    part.c = g.c + first;
    if (g.epilogue.bias != nullptr) part.epilogue.bias = g.epilogue.bias + first;
    if (g.epilogue.other != nullptr) part.epilogue.other = g.epilogue.other + first;
    MultiplyRange(part, first_row, last_row, 0, columns, pace);
  }
}

void Multiply(const PackedGemmArgs& g, size_t first_row, size_t last_row, size_t first_column,
              size_t last_column) {
  if (first_row >= last_row || first_column >= last_column) return;
  Budget::Pace pace;
  // The columns that need no packing: a prepacked B, or whole vectors of columns in place.
  size_t column = last_column;
  if (g.panels != nullptr) {
    const bool in_place =
        g.pack == nullptr && g.ldb != 0 && g.m <= kInPlaceRows && g.taps * g.k != 0;
    column -=
        in_place ? (last_column - first_column) % hn::Lanes(TagF32()) : last_column - first_column;
  }
  MultiplyRange(g, first_row, last_row, first_column, column, pace);
  if (column < last_column) MultiplyPacked(g, first_row, last_row, column, last_column, pace);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

namespace {

// Whether ShortGemm is faster: one panel, or few weights, which stay in the L1 cache, or short sums of
// many rows, whose panels are read again for each block of rows.
bool IsShort(const PackedGemmArgs& g, size_t rows) {
  constexpr size_t kMostTerms = 256, kMostWeights = 8192;
  constexpr size_t kFewTerms = 144, kMoreWeights = size_t{48} << 10, kManyRows = 96;
  if (g.taps != 1 || g.row_pointers != nullptr || g.panels != nullptr || g.ldb != 0 ||
      g.groups != 1 || g.alpha != 1 || g.row_bias != nullptr || g.run != 0 || g.m <= 3 ||
      rows < kLeastShortRows || g.k < 1 || g.k > kBlockDepth) {
    return false;
  }
  return g.n <= kPanelColumns || (g.k <= kMostTerms && g.n * g.k <= kMostWeights) ||
         (g.k <= kFewTerms && g.n * g.k <= kMoreWeights && rows >= kManyRows);
}

}  // namespace

HWY_EXPORT(MultiplyShort);
void ShortGemm(const ShortGemmArgs& args) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(MultiplyShort)(args);
}

HWY_EXPORT(Multiply);
void PackedGemmRange(const PackedGemmArgs& args, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column) {
  const FlushSubnormals flush;
  if (HasFewColumns(args) && first_column < last_column) {
    return FewColumnsRange(args, first_row, last_row);
  }
  if (first_row < last_row && first_column < last_column && IsShort(args, last_row - first_row)) {
    const float* const a = args.a + first_row * args.lda;
    const size_t b_row = 0, at = first_row * args.ldc;
    ShortGemmArgs g = {.m = last_row - first_row,
                       .first_column = first_column,
                       .last_column = last_column,
                       .k = args.k,
                       .a = &a,
                       .lda = args.lda,
                       .b = args.b,
                       .b_rows = &b_row,
                       .depth = args.k,
                       .c = args.c + at,
                       .ldc = args.ldc,
                       .epilogue = args.epilogue};
    if (g.epilogue.other != nullptr) g.epilogue.other += at;
    return ShortGemm(g);
  }
  HWY_DYNAMIC_DISPATCH(Multiply)(args, first_row, last_row, first_column, last_column);
}

}  // namespace belay
#endif  // HWY_ONCE
