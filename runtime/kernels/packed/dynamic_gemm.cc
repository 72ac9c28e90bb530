#include "runtime/kernels/packed/dynamic_gemm.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/budget.h"
#include "runtime/kernels/packed/quantized_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/dynamic_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "runtime/kernels/packed/row_epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kColumns = kDynamicPanelColumns;
constexpr size_t kBlockRows = 8;
constexpr size_t kQuad = 4;
constexpr size_t kVectors = 2;  // of columns per step

using Tag32 = hn::CappedTag<int32_t, kColumns / kVectors>;
using TagF32 = hn::RebindToFloat<Tag32>;
using TagU32 = hn::RebindToUnsigned<Tag32>;
using TagS8 = hn::Repartition<int8_t, Tag32>;
using TagU8 = hn::Repartition<uint8_t, Tag32>;

// With fewer registers, accumulators and weights of four rows fill them.
constexpr size_t kMaxRows = (HWY_TARGET <= HWY_AVX3 || HWY_TARGET_IS_NEON) ? kDynamicRows : 4;

// int4 weights are multiplied as 16 q, the upper half of a byte.
template <bool kInt4>
constexpr int32_t kFactor = kInt4 ? 16 : 1;

// A prepared row: scale and zero point, then k bytes padded to whole blocks of 8. For int4 the
// bytes are in the order of the nibbles. Bytes and zero point are converted to uint8.
struct PreparedRow {
  DynamicRow numbers;
  const uint8_t* bytes;
};
HWY_INLINE PreparedRow ReadRow(const std::byte* row) {
  PreparedRow read;
  std::memcpy(&read.numbers, row, sizeof(read.numbers));
  read.bytes = reinterpret_cast<const uint8_t*>(row + sizeof(read.numbers));
  return read;
}

// Weights of 8 rows for kVectors vectors of columns from `column` of a panel on, as two VNNI-4
// words per column.
template <bool kInt4>
class Weights {
 public:
  Weights(const DynamicGemmArgs& g, size_t column) {
    if (g.k == 0) return;  // nothing is loaded; b may be null
    const size_t lanes = hn::Lanes(Tag32()), lines = (g.k + kQuad - 1) / kQuad;
    const auto* b = static_cast<const int8_t*>(g.b);
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      // A panel after the last column may not exist.
      const size_t at = column + v * lanes < g.n ? column + v * lanes : column;
      if (kInt4) {
        const size_t blocks = (g.k + kBlockRows - 1) / kBlockRows;
        b_[v] = b + (at / kColumns * blocks * kColumns + at % kColumns) * sizeof(uint32_t);
      } else {
        b_[v] = b + (at / kQuantizedPanelColumns * lines * kQuantizedPanelColumns +
                     at % kQuantizedPanelColumns) *
                        kQuad;
      }
    }
  }
  // kSecond: whether rows from `row` + 4 on exist.
  template <bool kSecond>
  HWY_INLINE void Load(size_t row, hn::Vec<TagS8> (&quads)[2][kVectors]) const {
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      if (kInt4) {
        const TagU32 d;
        const auto word = hn::BitCast(
            d, hn::LoadU(TagS8(), b_[v] + row / kBlockRows * kColumns * sizeof(uint32_t)));
        // q + 8 -> 16 q: the upper bit of a nibble is inverted.
        const auto mask = hn::Set(d, 0xf0f0f0f0u), sign = hn::Set(d, 0x80808080u);
        quads[0][v] = hn::BitCast(TagS8(), hn::And(hn::Xor(hn::ShiftLeft<4>(word), sign), mask));
        quads[1][v] = hn::BitCast(TagS8(), hn::And(hn::Xor(word, sign), mask));
      } else {
        const int8_t* line = b_[v] + row * kQuantizedPanelColumns;
        quads[0][v] = hn::LoadU(TagS8(), line);
        if (kSecond) quads[1][v] = hn::LoadU(TagS8(), line + kQuad * kQuantizedPanelColumns);
      }
    }
  }

  // Fetches the weights that are loaded kPrefetchBytes later.
  HWY_INLINE void Prefetch(size_t row) const {
    if (kInt4) {
      const int8_t* line = b_[0] + row / kBlockRows * kColumns * sizeof(uint32_t);
      hwy::Prefetch(line + kPrefetchBytes);
      hwy::Prefetch(line + kPrefetchBytes + kColumns * sizeof(uint32_t) / 2);
    } else {
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        const int8_t* line = b_[v] + row * kQuantizedPanelColumns + kPrefetchBytes;
        hwy::Prefetch(line);
        hwy::Prefetch(line + kQuad * kQuantizedPanelColumns);
      }
    }
  }

 private:
  static constexpr size_t kPrefetchBytes = 8192;
  const int8_t* b_[kVectors] = {};
};

HWY_INLINE hn::Vec<TagU8> Quad(const uint8_t* a) {
  int32_t quad;
  std::memcpy(&quad, a, kQuad);
  return hn::BitCast(TagU8(), hn::Set(Tag32(), quad));
}

// A single row of int4 weights is bound by memory. It multiplies the weights with its zero point
// instead of reading their sums, which take a quarter of the weights' memory for groups of 32.
template <bool kInt4, size_t kRows>
constexpr bool kReadsSums = !(kInt4 && kRows == 1);

// Accumulates kQuads VNNI-4 words of each row, from byte `p` on, times the weights. Unless
// kReadsSums, also accumulates `zero` times the weights.
template <size_t kQuads, bool kInt4, size_t kParts, size_t kRows>
HWY_INLINE void MultiplyBlock(const Weights<kInt4>& weights, const PreparedRow* rows, size_t p,
                              hn::Vec<TagU8> zero, hn::Vec<Tag32> (&inner)[kParts][kRows][kVectors],
                              hn::Vec<Tag32> (&zero_sums)[kVectors]) {
  hn::Vec<TagS8> w[2][kVectors];
  weights.template Load<kQuads == 2>(p, w);
  if constexpr (kRows == 1) weights.Prefetch(p);
  if constexpr (!kReadsSums<kInt4, kRows>) {
    HWY_UNROLL(kQuads)
    for (size_t q = 0; q < kQuads; ++q) {
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        zero_sums[v] = hn::SumOfMulQuadAccumulate(Tag32(), zero, w[q][v], zero_sums[v]);
      }
    }
  }
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(kQuads)
    for (size_t q = 0; q < kQuads; ++q) {
      const auto x = Quad(rows[r].bytes + p + q * kQuad);
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        auto& sum = inner[q % kParts][r][v];
        sum = hn::SumOfMulQuadAccumulate(Tag32(), x, w[q][v], sum);
      }
    }
  }
}

// Scales of a vector of columns, `at` an index into the packed scales.
HWY_INLINE hn::Vec<TagF32> LoadScales(const DynamicGemmArgs& g, size_t at) {
  const TagU32 d;
  if (g.bfloat16_scales == nullptr) return hn::LoadU(TagF32(), g.scales + at);
  const auto bits = hn::LoadU(hn::Rebind<uint16_t, TagU32>(), g.bfloat16_scales + at);
  return hn::BitCast(TagF32(), hn::ShiftLeft<16>(hn::PromoteTo(d, bits)));
}

// Largest group whose sum of int4 weights is an int16.
constexpr size_t kShortSums = 32767 / 8;

// sums[r * kColumns + j] of kRows rows and all columns of the panel at `first_column`, multiplied
// by the row scales.
template <bool kInt4, size_t kRows>
HWY_NOINLINE void MultiplyPanel(const DynamicGemmArgs& g, const PreparedRow* rows,
                                size_t first_column, float* HWY_RESTRICT sums) {
  const Tag32 d;
  const TagF32 df;
  const hn::RepartitionToNarrow<Tag32> d16;
  const size_t lanes = hn::Lanes(d);
  // Two interleaved accumulators hide the latency of additions for a single row.
  constexpr size_t kParts = kRows == 1 ? 2 : 1;
  const size_t groups = (g.k + g.group - 1) / g.group;
  const size_t panel = first_column / kColumns * groups * kColumns;
  const bool short_sums = kInt4 && g.group <= kShortSums;
  int32_t zeros[kRows];
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) zeros[r] = -kFactor<kInt4> * rows[r].numbers.zero;
  const auto zero = hn::Set(TagU8(), static_cast<uint8_t>(rows[0].numbers.zero));
  for (size_t column = 0; column < kColumns && first_column + column < g.n;
       column += kVectors * lanes) {
    const Weights<kInt4> weights(g, first_column + column);
    hn::Vec<TagF32> total[kRows][kVectors];
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) total[r][v] = hn::Zero(df);
    }
    for (size_t group = 0; group < groups; ++group) {
      const size_t begin = group * g.group, end = HWY_MIN(g.k, begin + g.group);
      const size_t at = panel + group * kColumns + column;
      hn::Vec<Tag32> inner[kParts][kRows][kVectors];
      hn::Vec<Tag32> zero_sums[kVectors];
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        zero_sums[v] = hn::Zero(d);
        HWY_UNROLL(kRows)
        for (size_t r = 0; r < kRows; ++r) {
          HWY_UNROLL(kParts)
          for (size_t s = 0; s < kParts; ++s) inner[s][r][v] = hn::Zero(d);
        }
        if constexpr (kReadsSums<kInt4, kRows>) {
          const auto weight_sums = hn::LoadU(d, g.weight_sums + at + v * lanes);
          HWY_UNROLL(kRows)
          for (size_t r = 0; r < kRows; ++r) {
            // An int16 zero times the lower halves of the sums; the upper halves times 0.
            inner[0][r][v] = short_sums ? hn::WidenMulPairwiseAdd(
                                              d, hn::BitCast(d16, weight_sums),
                                              hn::BitCast(d16, hn::Set(d, zeros[r] & 0xffff)))
                                        : hn::Mul(weight_sums, hn::Set(d, zeros[r]));
          }
        }
      }
      // int4 weights are padded to whole blocks.
      const size_t whole =
          kInt4 ? end : begin + (end - begin + kQuad - 1) / kBlockRows * kBlockRows;
      size_t p = begin;
      for (; p < whole; p += kBlockRows) {
        MultiplyBlock<2>(weights, rows, p, zero, inner, zero_sums);
      }
      if (p < end) MultiplyBlock<1>(weights, rows, p, zero, inner, zero_sums);
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        const auto scale = LoadScales(g, at + v * lanes);
        HWY_UNROLL(kRows)
        for (size_t r = 0; r < kRows; ++r) {
          auto sum = inner[0][r][v];
          HWY_UNROLL(kParts)
          for (size_t s = 1; s < kParts; ++s) sum = hn::Add(sum, inner[s][r][v]);
          if constexpr (!kReadsSums<kInt4, kRows>) sum = hn::Sub(sum, zero_sums[v]);
          total[r][v] = hn::MulAdd(hn::ConvertTo(df, sum), scale, total[r][v]);
        }
      }
    }
    const auto factor = hn::Set(df, 1.0f / kFactor<kInt4>);
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      const auto scale = hn::Set(df, rows[r].numbers.scale);
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        const auto sum = hn::Mul(total[r][v], factor);
        hn::StoreU(hn::Mul(sum, scale), df, sums + r * kColumns + column + v * lanes);
      }
    }
  }
}

using MultiplyFn = void (*)(const DynamicGemmArgs&, const PreparedRow*, size_t, float*);

// Returns the function for the most rows, at most `rows`, that has an instantiation.
template <bool kInt4, size_t kRows = kMaxRows>
HWY_INLINE MultiplyFn MultiplyOf(size_t rows, size_t* taken) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return MultiplyOf<kInt4, kRows / 2>(rows, taken);
  }
  *taken = kRows;
  return &MultiplyPanel<kInt4, kRows>;
}

template <bool kInt4>
void Run(const DynamicGemmArgs& g, size_t first_row, size_t last_row, size_t first_column,
         size_t last_column) {
  const size_t row_bytes = DynamicRowBytes(g.k);
  const EpilogueF32& e = g.epilogue;
  HWY_ALIGN float sums[kMaxRows * kColumns];
  Budget::Pace pace;
  for (size_t j = first_column; j < last_column; j += kColumns) {
    const size_t count = HWY_MIN(kColumns, last_column - j);
    size_t taken = 0;
    for (size_t row = first_row; row < last_row; row += taken) {
      const MultiplyFn multiply = MultiplyOf<kInt4>(last_row - row, &taken);
      if (pace.Stop(static_cast<int64_t>(taken * kColumns * g.k))) return;
      PreparedRow rows[kMaxRows];
      for (size_t r = 0; r < taken; ++r) rows[r] = ReadRow(g.rows + (row + r) * row_bytes);
      multiply(g, rows, j, sums);
      for (size_t r = 0; r < taken; ++r) {
        const size_t at = (row + r) * g.ldc + j;
        FinishRow(TagF32(), e, sums + r * kColumns, e.bias == nullptr ? nullptr : e.bias + j,
                  e.other == nullptr ? nullptr : e.other + at, g.c + at, count);
      }
    }
  }
}

void DynamicGemmImpl(const DynamicGemmArgs& g, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column) {
  if (g.format == WeightFormat::kInt4) {
    Run<true>(g, first_row, last_row, first_column, last_column);
  } else {
    Run<false>(g, first_row, last_row, first_column, last_column);
  }
}

// Byte order of eight rows for int4 weights: the lower nibbles of a word multiply the first four
// bytes, the upper nibbles the others (weight_only_weights.h).
constexpr size_t kNibbleOrder[kBlockRows] = {0, 4, 1, 5, 2, 6, 3, 7};

// to[i] = from[i] ^ flip, each block of 8 in kNibbleOrder if kInt4. `to` may be `from`.
template <bool kInt4>
void PrepareBytes(const uint8_t* from, uint8_t flip, size_t k, uint8_t* to) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  const auto flips = hn::Set(d, flip);
  size_t p = 0;
  if (lanes % 16 == 0) {
    HWY_ALIGN static constexpr uint8_t kOrder[16] = {0, 4,  1, 5,  2,  6,  3,  7,
                                                     8, 12, 9, 13, 10, 14, 11, 15};
    const auto order = hn::LoadDup128(d, kOrder);
    for (; p + lanes <= k; p += lanes) {
      auto bytes = hn::Xor(hn::LoadU(d, from + p), flips);
      if (kInt4) bytes = hn::TableLookupBytes(bytes, order);
      hn::StoreU(bytes, d, to + p);
    }
  }
  for (; p < k; p += kBlockRows) {
    uint8_t block[kBlockRows] = {};
    for (size_t i = 0; i < HWY_MIN(kBlockRows, k - p); ++i) block[i] = from[p + i] ^ flip;
    for (size_t i = 0; i < kBlockRows; ++i) to[p + i] = block[kInt4 ? kNibbleOrder[i] : i];
  }
}

void PrepareBytesImpl(const uint8_t* from, uint8_t flip, bool int4, size_t k, uint8_t* to) {
  return int4 ? PrepareBytes<true>(from, flip, k, to) : PrepareBytes<false>(from, flip, k, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

size_t DynamicRowBytes(size_t k) {
  constexpr size_t kBlock = 8;
  return sizeof(DynamicRow) + (k + kBlock - 1) / kBlock * kBlock;
}

HWY_EXPORT(PrepareBytesImpl);
void PrepareDynamicRow(const void* a, bool is_signed, const DynamicRow& row, WeightFormat format,
                       size_t k, std::byte* to) {
  const DynamicRow numbers = {row.scale, row.zero + (is_signed ? 128 : 0)};
  std::memcpy(to, &numbers, sizeof(numbers));
  const uint8_t flip = is_signed ? 0x80 : 0;
  HWY_DYNAMIC_DISPATCH(PrepareBytesImpl)(static_cast<const uint8_t*>(a), flip,
                                         format == WeightFormat::kInt4, k,
                                         reinterpret_cast<uint8_t*>(to + sizeof(numbers)));
}

HWY_EXPORT(DynamicGemmImpl);
void DynamicGemmRange(const DynamicGemmArgs& args, size_t first_row, size_t last_row,
                      size_t first_column, size_t last_column) {
  if (first_row >= last_row || first_column >= last_column) return;
  HWY_DYNAMIC_DISPATCH(DynamicGemmImpl)(args, first_row, last_row, first_column, last_column);
}

}  // namespace belay
#endif  // HWY_ONCE
