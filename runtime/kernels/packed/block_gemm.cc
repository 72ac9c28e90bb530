#include "runtime/kernels/packed/block_gemm.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/core/budget.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/block_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "runtime/kernels/packed/row_epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL

constexpr size_t kRows = kBlockGemmRows, kTerms = kBlockGemmTerms, kColumns = kBlockGemmColumns;
constexpr size_t kQuad = 4, kVectors = 2, kCacheLine = 64;
constexpr size_t kQuadBytes = kColumns * kQuad;  // of four rows of a panel
constexpr size_t kWeightRows = 8;                // of a block of packed weights

using Tag32 = hn::FixedTag<int32_t, 16>;
using TagF32 = hn::RebindToFloat<Tag32>;
using TagU32 = hn::RebindToUnsigned<Tag32>;
using TagS8 = hn::Repartition<int8_t, Tag32>;
using TagU8 = hn::Repartition<uint8_t, Tag32>;

// Order of 16 rows for int4 weights: the lower nibbles of a word are rows 0, 4, 1 and 5, the upper
// ones rows 2, 6, 3 and 7 (weight_only_weights.h).
HWY_ALIGN constexpr uint8_t kNibbleOrder[16] = {0, 4,  1, 5,  2,  6,  3,  7,
                                                8, 12, 9, 13, 10, 14, 11, 15};

// Bytes of two rows a and b of kColumns int8 weights in the order of VNNI-4 words, whose other two
// bytes are those of two more rows: {a[0], b[0], a[0], b[0], a[1], …}.
struct PairOrder {
  uint8_t index[kQuadBytes];
};
constexpr PairOrder MakePairOrder() {
  PairOrder order = {};
  for (size_t i = 0; i < kQuadBytes; ++i) {
    order.index[i] = static_cast<uint8_t>(i / kQuad + (i % 2) * kColumns);
  }
  return order;
}
HWY_ALIGN constexpr PairOrder kPairOrder = MakePairOrder();

// Quantizes one block to bytes q + 128, and returns its scale. `count` elements exist. With two
// bytes per element, writes kTerms upper bytes, then kTerms lower ones.
HWY_INLINE float QuantizeBlock(const float* HWY_RESTRICT a, size_t count, bool int4, size_t bytes,
                               uint8_t* HWY_RESTRICT to) {
  const TagF32 d;
  const TagU32 du;
  const Tag32 di;
  const hn::Rebind<uint8_t, Tag32> d8;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<TagF32> x[kVectors];
  auto bits = hn::Zero(du);
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t some = count <= v * lanes ? 0 : HWY_MIN(lanes, count - v * lanes);
    x[v] = some == 0 ? hn::Zero(d) : hn::LoadN(d, a + v * lanes, some);
    // As integers, NaN exceeds infinity, which exceeds numbers.
    bits = hn::Max(bits, hn::BitCast(du, hn::Abs(x[v])));
  }
  const uint32_t most_bits = hn::ReduceMax(du, bits);
  constexpr uint32_t kInfinity = 0x7f800000, kLeast = uint32_t{127 - 100} << 23;
  float most, inverse = 0, scale = 0;
  std::memcpy(&most, &most_bits, sizeof(most));
  if (most_bits >= kInfinity) {
    constexpr uint32_t kNan = 0x7fc00000;
    std::memcpy(&scale, &kNan, sizeof(scale));
  } else if (most_bits >= kLeast) {
    const float limit = bytes == 1 ? 127 : 127 * 256;
    scale = most * (1 / limit);
    inverse = limit / most;
  }
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) {
    // NaN times zero: any byte, since the scale is NaN.
    auto q = hn::Add(hn::NearestInt(hn::Mul(x[v], hn::Set(d, inverse))), hn::Set(di, 128));
    const auto write = [&](hn::Vec<Tag32> value, uint8_t* place) HWY_ATTR {
      auto narrow = hn::DemoteTo(d8, value);
      if (int4) narrow = hn::TableLookupBytes(narrow, hn::Load(d8, kNibbleOrder));
      hn::StoreU(narrow, d8, place + v * lanes);
    };
    if (bytes == 2) {
      write(hn::And(q, hn::Set(di, 255)), to + kTerms);
      q = hn::Add(hn::ShiftRight<8>(q), hn::Set(di, 128));
    }
    write(q, to);
  }
  return scale;
}

//   to(r, b) = kTerms * bytes, kTerms * bytes * blocks per row; then floats: scale(b, r)
void QuantizeBlocksImpl(const float* a, size_t lda, size_t m, size_t k, bool int4, size_t bytes,
                        size_t first, size_t last, std::byte* to) {
  const size_t blocks = (k + kTerms - 1) / kTerms, block_bytes = kTerms * bytes;
  for (size_t i = first; i < last; ++i) {
    auto* q = reinterpret_cast<uint8_t*>(to + i * BlockRowsBytes(k, bytes));
    float* scales = reinterpret_cast<float*>(q + kRows * blocks * block_bytes);
    for (size_t r = 0; r < kRows; ++r) {
      const size_t row = i * kRows + r;
      uint8_t* const row_bytes = q + r * blocks * block_bytes;
      for (size_t b = 0; b < blocks; ++b) {
        const size_t count = row < m ? HWY_MIN(kTerms, k - b * kTerms) : 0;
        scales[b * kRows + r] = QuantizeBlock(a + (row < m ? row * lda : 0) + b * kTerms, count,
                                              int4, bytes, row_bytes + b * block_bytes);
      }
    }
  }
}

// Converts eight rows of a panel to two lines of VNNI-4 words: line(j) = {q[p][j], …} of four rows.
template <bool kInt4>
HWY_INLINE void ConvertRows(const uint8_t* HWY_RESTRICT from, int8_t* HWY_RESTRICT to) {
  if constexpr (kInt4) {
    const TagU8 d;
    const auto low = hn::Set(d, uint8_t{15}), eight = hn::Set(d, uint8_t{8});
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      const size_t at = v * hn::Lanes(d);
      const auto words = hn::LoadU(d, from + at);
      const auto upper = hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(TagU32(), words)));
      hn::StoreU(hn::BitCast(TagS8(), hn::Sub(hn::And(words, low), eight)), TagS8(), to + at);
      hn::StoreU(hn::BitCast(TagS8(), hn::Sub(hn::And(upper, low), eight)), TagS8(),
                 to + kQuadBytes + at);
    }
  } else {
    const TagU8 d;
    const auto low = hn::SetTableIndices(d, kPairOrder.index),
               high = hn::SetTableIndices(d, kPairOrder.index + hn::Lanes(d));
    const auto is_second = hn::MaskFromVec(hn::BitCast(d, hn::Set(TagU32(), 0xffff0000u)));
    for (size_t line = 0; line < 2; ++line, from += kQuad * kColumns, to += kQuadBytes) {
      const auto ab = hn::LoadU(d, from), ce = hn::LoadU(d, from + 2 * kColumns);
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        const auto order = v == 0 ? low : high;
        const auto words = hn::IfThenElse(is_second, hn::TableLookupLanes(ce, order),
                                          hn::TableLookupLanes(ab, order));
        hn::StoreU(hn::BitCast(TagS8(), words), TagS8(), to + v * hn::Lanes(d));
      }
    }
  }
}

// Converts a panel, and writes starts(b, j) = -128 * sum over p in b of q[p, j]: the bytes of A are
// q + 128.
template <bool kInt4>
HWY_NOINLINE void ConvertPanel(const uint8_t* from, size_t k, int8_t* HWY_RESTRICT to,
                               int32_t* HWY_RESTRICT starts) {
  const Tag32 d;
  const size_t lanes = hn::Lanes(d), blocks = (k + kTerms - 1) / kTerms;
  constexpr size_t kFrom = kInt4 ? kColumns * sizeof(uint32_t) : kColumns * kWeightRows;
  const auto ones = hn::Set(TagU8(), uint8_t{1});
  for (size_t b = 0; b < blocks; ++b, to += kTerms * kColumns, starts += kColumns) {
    for (size_t p = 0; p < kTerms; p += kWeightRows) {
      int8_t* const lines = to + p * kColumns;
      if (b * kTerms + p < k) {
        ConvertRows<kInt4>(from, lines);
        from += kFrom;
      } else {
        std::fill(lines, lines + kWeightRows * kColumns, int8_t{0});
      }
    }
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      auto sum = hn::Zero(d);
      for (size_t q = 0; q < kTerms / kQuad; ++q) {
        const auto w = hn::LoadU(TagS8(), to + q * kQuadBytes + v * lanes * kQuad);
        sum = hn::SumOfMulQuadAccumulate(d, ones, w, sum);
      }
      hn::StoreU(hn::Neg(hn::ShiftLeft<7>(sum)), d, starts + v * lanes);
    }
  }
}

// sums[r * kColumns + j] of kRows rows and the columns of a panel. Prefetches `next_bytes` per
// block from `next` on, unless null: with few rows, reading weights takes as long as multiplying.
HWY_NOINLINE void MultiplyPanel(const uint8_t* HWY_RESTRICT rows, const int8_t* HWY_RESTRICT w,
                                const int32_t* HWY_RESTRICT starts,
                                const float* HWY_RESTRICT scales, size_t blocks, size_t bytes,
                                size_t blocks_of_group, const uint8_t* next, size_t next_bytes,
                                float* HWY_RESTRICT sums) {
  const Tag32 d;
  const TagF32 df;
  const size_t lanes = hn::Lanes(d), row_bytes = blocks * kTerms * bytes;
  const float* row_scales = reinterpret_cast<const float*>(rows + kRows * row_bytes);
  hn::Vec<TagF32> total[kRows][kVectors];
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) total[r][0] = total[r][1] = hn::Zero(df);
  size_t rest = blocks_of_group;  // of the group
  for (size_t b = 0; b < blocks; ++b) {
    for (size_t i = 0; next != nullptr && i < next_bytes; i += kCacheLine) {
      __builtin_prefetch(next + b * next_bytes + i, 0, 2);  // to the second-level cache
    }
    hn::Vec<Tag32> inner[kRows][kVectors];
    const auto start0 = hn::LoadU(d, starts + b * kColumns);
    const auto start1 = hn::LoadU(d, starts + b * kColumns + lanes);
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      inner[r][0] = start0;
      inner[r][1] = start1;
    }
    for (size_t byte = bytes;;) {
      HWY_UNROLL(kTerms / kQuad)
      for (size_t q = 0; q < kTerms / kQuad; ++q) {
        const int8_t* const line = w + q * kQuadBytes;
        const auto w0 = hn::LoadU(TagS8(), line), w1 = hn::LoadU(TagS8(), line + kQuad * lanes);
        HWY_UNROLL(kRows)
        for (size_t r = 0; r < kRows; ++r) {
          int32_t quad;
          std::memcpy(&quad, rows + r * row_bytes + q * kQuad, kQuad);
          const auto x = hn::BitCast(TagU8(), hn::Set(d, quad));
          inner[r][0] = hn::SumOfMulQuadAccumulate(d, x, w0, inner[r][0]);
          inner[r][1] = hn::SumOfMulQuadAccumulate(d, x, w1, inner[r][1]);
        }
      }
      rows += kTerms;
      if (--byte == 0) break;
      HWY_UNROLL(kRows)
      for (size_t r = 0; r < kRows; ++r) {
        inner[r][0] = hn::Add(hn::ShiftLeft<8>(inner[r][0]), start0);
        inner[r][1] = hn::Add(hn::ShiftLeft<8>(inner[r][1]), start1);
      }
    }
    w += kTerms * kColumns;
    const auto scale0 = hn::LoadU(df, scales), scale1 = hn::LoadU(df, scales + lanes);
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      const auto s = hn::Set(df, row_scales[b * kRows + r]);
      total[r][0] = hn::MulAdd(hn::Mul(hn::ConvertTo(df, inner[r][0]), scale0), s, total[r][0]);
      total[r][1] = hn::MulAdd(hn::Mul(hn::ConvertTo(df, inner[r][1]), scale1), s, total[r][1]);
    }
    if (--rest == 0) {
      rest = blocks_of_group;
      scales += kColumns;
    }
  }
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    hn::StoreU(total[r][0], df, sums + r * kColumns);
    hn::StoreU(total[r][1], df, sums + r * kColumns + lanes);
  }
}

void BlockGemmImpl(const BlockGemmArgs& g, size_t first_row, size_t last_row, size_t first_column,
                   size_t last_column) {
  const bool int4 = g.format == WeightFormat::kInt4;
  const size_t blocks = (g.k + kTerms - 1) / kTerms;
  const size_t weight_blocks = (g.k + kWeightRows - 1) / kWeightRows;
  const size_t panel_bytes = weight_blocks * kColumns * (int4 ? sizeof(uint32_t) : kWeightRows);
  // With one group, its scales are used for all blocks.
  const size_t blocks_of_group = g.group >= g.k ? HWY_MAX(blocks, size_t{1}) : g.group / kTerms;
  const size_t panel_scales = (g.k + g.group - 1) / g.group * kColumns;
  auto* weights = reinterpret_cast<int8_t*>(g.scratch);
  auto* starts = reinterpret_cast<int32_t*>(g.scratch + blocks * kTerms * kColumns);
  const EpilogueF32& e = g.epilogue;
  // Rows whose bytes stay in the L2 cache while the panels are multiplied.
  constexpr size_t kCachedBytes = size_t{1} << 20;
  const size_t group_bytes = BlockRowsBytes(g.k, g.bytes);
  const size_t chunk = HWY_MAX(kCachedBytes / HWY_MAX(group_bytes, size_t{1}), size_t{16}) * kRows;
  HWY_ALIGN float sums[kRows * kColumns];
  Budget::Pace pace;
  for (size_t begin = first_row; begin < last_row; begin += chunk) {
    const size_t end = HWY_MIN(last_row, begin + chunk);
    for (size_t j = first_column; j < last_column; j += kColumns) {
      const size_t index = j / kColumns, count = HWY_MIN(kColumns, last_column - j);
      const uint8_t* panel = static_cast<const uint8_t*>(g.b) + index * panel_bytes;
      if (int4) {
        ConvertPanel<true>(panel, g.k, weights, starts);
      } else {
        ConvertPanel<false>(panel, g.k, weights, starts);
      }
      for (size_t row = begin; row < end; row += kRows) {
        if (pace.Stop(static_cast<int64_t>(kRows * kColumns * g.k))) return;
        const size_t rows = HWY_MIN(kRows, last_row - row);
        for (size_t r = 0; e.other != nullptr && r < rows; ++r) {
          const float* const other = e.other + (row + r) * g.ldc + j;
          hwy::Prefetch(other);
          hwy::Prefetch(other + count / 2);
        }
        const bool is_first = row == begin && j + kColumns < last_column;
        MultiplyPanel(reinterpret_cast<const uint8_t*>(g.rows + row / kRows * group_bytes), weights,
                      starts, g.scales + index * panel_scales, blocks, g.bytes, blocks_of_group,
                      is_first ? panel + panel_bytes : nullptr,
                      panel_bytes / HWY_MAX(blocks, size_t{1}), sums);
        for (size_t r = 0; r < rows; ++r) {
          const size_t at = (row + r) * g.ldc + j;
          FinishRow(TagF32(), e, sums + r * kColumns, e.bias == nullptr ? nullptr : e.bias + j,
                    e.other == nullptr ? nullptr : e.other + at, g.c + at, count);
        }
      }
    }
  }
}

bool HasBlockGemmImpl() { return true; }

#else

void QuantizeBlocksImpl(const float*, size_t, size_t, size_t, bool, size_t, size_t, size_t,
                        std::byte*) {}
void BlockGemmImpl(const BlockGemmArgs&, size_t, size_t, size_t, size_t) {}
bool HasBlockGemmImpl() { return false; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(HasBlockGemmImpl);
bool HasBlockGemm() { return HWY_DYNAMIC_DISPATCH(HasBlockGemmImpl)(); }

HWY_EXPORT(QuantizeBlocksImpl);
void QuantizeBlocks(const float* a, size_t lda, size_t m, size_t k, WeightFormat format,
                    size_t bytes, size_t first, size_t last, std::byte* to) {
  HWY_DYNAMIC_DISPATCH(QuantizeBlocksImpl)
  (a, lda, m, k, format == WeightFormat::kInt4, bytes, first, last, to);
}

HWY_EXPORT(BlockGemmImpl);
void BlockGemmRange(const BlockGemmArgs& args, size_t first_row, size_t last_row,
                    size_t first_column, size_t last_column) {
  if (first_row >= last_row || first_column >= last_column) return;
  HWY_DYNAMIC_DISPATCH(BlockGemmImpl)(args, first_row, last_row, first_column, last_column);
}

}  // namespace belay
#endif  // HWY_ONCE
