#include "runtime/kernels/packed/dynamic_gemm.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/budget.h"
#include "runtime/kernels/packed/quantized_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/dynamic_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
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

// A prepared row: scale and zero point, then k bytes padded to whole blocks of 8. For int4 the
// bytes are in the order of the nibbles, followed by the sums of the groups' bytes. Bytes and zero
// point are converted to uint8.
struct PreparedRow {
  DynamicRow numbers;
  const uint8_t* bytes;
  const int32_t* sums;
};
HWY_INLINE PreparedRow ReadRow(const std::byte* row, size_t k) {
  PreparedRow read;
  std::memcpy(&read.numbers, row, sizeof(read.numbers));
  row += sizeof(read.numbers);
  read.bytes = reinterpret_cast<const uint8_t*>(row);
  read.sums =
      reinterpret_cast<const int32_t*>(row + (k + kBlockRows - 1) / kBlockRows * kBlockRows);
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
        const auto mask = hn::Set(d, 0x0f0f0f0fu);
        quads[0][v] = hn::BitCast(TagS8(), hn::And(word, mask));
        quads[1][v] = hn::BitCast(TagS8(), hn::And(hn::ShiftRight<4>(word), mask));
      } else {
        const int8_t* line = b_[v] + row * kQuantizedPanelColumns;
        quads[0][v] = hn::LoadU(TagS8(), line);
        if (kSecond) quads[1][v] = hn::LoadU(TagS8(), line + kQuad * kQuantizedPanelColumns);
      }
    }
  }

 private:
  const int8_t* b_[kVectors] = {};
};

HWY_INLINE hn::Vec<TagU8> Quad(const uint8_t* a) {
  int32_t quad;
  std::memcpy(&quad, a, kQuad);
  return hn::BitCast(TagU8(), hn::Set(Tag32(), quad));
}

// Accumulates kQuads VNNI-4 words of each row, from byte `p` on, times the weights.
template <size_t kQuads, bool kInt4, size_t kParts, size_t kRows>
HWY_INLINE void MultiplyBlock(const Weights<kInt4>& weights, const PreparedRow* rows, size_t p,
                              hn::Vec<Tag32> (&inner)[kParts][kRows][kVectors]) {
  hn::Vec<TagS8> w[2][kVectors];
  weights.template Load<kQuads == 2>(p, w);
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

// sums[r * kColumns + j] of kRows rows and all columns of the panel at `first_column`, multiplied
// by the row scales.
template <bool kInt4, size_t kRows>
HWY_NOINLINE void MultiplyPanel(const DynamicGemmArgs& g, const PreparedRow* rows,
                                size_t first_column, float* HWY_RESTRICT sums) {
  const Tag32 d;
  const TagF32 df;
  const size_t lanes = hn::Lanes(d);
  // Two interleaved accumulators hide the latency of additions for a single row.
  constexpr size_t kParts = kRows == 1 ? 2 : 1;
  const size_t groups = (g.k + g.group - 1) / g.group;
  const size_t panel = first_column / kColumns * groups * kColumns;
  std::fill(sums, sums + kRows * kColumns, 0.0f);
  for (size_t column = 0; column < kColumns && first_column + column < g.n;
       column += kVectors * lanes) {
    const Weights<kInt4> weights(g, first_column + column);
    for (size_t group = 0; group < groups; ++group) {
      const size_t begin = group * g.group, end = HWY_MIN(g.k, begin + g.group);
      const size_t at = panel + group * kColumns + column;
      hn::Vec<Tag32> inner[kParts][kRows][kVectors];
      HWY_UNROLL(kRows)
      for (size_t r = 0; r < kRows; ++r) {
        const auto zero = hn::Set(d, -rows[r].numbers.zero);
        const auto start = hn::Set(d, kInt4 ? -8 * rows[r].sums[group] : 0);
        HWY_UNROLL(kVectors)
        for (size_t v = 0; v < kVectors; ++v) {
          const auto weight_sums = hn::LoadU(d, g.weight_sums + at + v * lanes);
          inner[0][r][v] = hn::Add(hn::Mul(weight_sums, zero), start);
          HWY_UNROLL(kParts)
          for (size_t s = 1; s < kParts; ++s) inner[s][r][v] = hn::Zero(d);
        }
      }
      // int4 weights are padded to whole blocks.
      const size_t whole =
          kInt4 ? end : begin + (end - begin + kQuad - 1) / kBlockRows * kBlockRows;
      size_t p = begin;
      for (; p < whole; p += kBlockRows) MultiplyBlock<2>(weights, rows, p, inner);
      if (p < end) MultiplyBlock<1>(weights, rows, p, inner);
      HWY_UNROLL(kRows)
      for (size_t r = 0; r < kRows; ++r) {
        HWY_UNROLL(kVectors)
        for (size_t v = 0; v < kVectors; ++v) {
          auto sum = inner[0][r][v];
          HWY_UNROLL(kParts)
          for (size_t s = 1; s < kParts; ++s) sum = hn::Add(sum, inner[s][r][v]);
          float* to = sums + r * kColumns + column + v * lanes;
          const auto scale = hn::LoadU(df, g.scales + at + v * lanes);
          hn::StoreU(hn::MulAdd(hn::ConvertTo(df, sum), scale, hn::LoadU(df, to)), df, to);
        }
      }
    }
    for (size_t r = 0; r < kRows; ++r) {
      const auto scale = hn::Set(df, rows[r].numbers.scale);
      for (size_t v = 0; v < kVectors; ++v) {
        float* to = sums + r * kColumns + column + v * lanes;
        hn::StoreU(hn::Mul(hn::LoadU(df, to), scale), df, to);
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
  const size_t row_bytes = DynamicRowBytes(g.format, g.k, g.group);
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
      for (size_t r = 0; r < taken; ++r) rows[r] = ReadRow(g.rows + (row + r) * row_bytes, g.k);
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

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {
namespace {

constexpr size_t kBlock = 8;
// Byte order of eight rows for int4 weights: the lower nibbles of a word multiply the first four
// bytes, the upper nibbles the others (weight_only_weights.h).
constexpr size_t kNibbleOrder[kBlock] = {0, 4, 1, 5, 2, 6, 3, 7};

size_t Padded(size_t k) { return (k + kBlock - 1) / kBlock * kBlock; }

}  // namespace

size_t DynamicRowBytes(WeightFormat format, size_t k, size_t group) {
  const size_t sums = format == WeightFormat::kInt4 ? (k + group - 1) / group : 0;
  return (sizeof(DynamicRow) + Padded(k) + sums * sizeof(int32_t) + 7) / 8 * 8;
}

void PrepareDynamicRow(const void* a, bool is_signed, const DynamicRow& row, WeightFormat format,
                       size_t k, size_t group, std::byte* to) {
  const DynamicRow numbers = {row.scale, row.zero + (is_signed ? 128 : 0)};
  std::memcpy(to, &numbers, sizeof(numbers));
  const auto* from = static_cast<const uint8_t*>(a);
  auto* bytes = reinterpret_cast<uint8_t*>(to + sizeof(numbers));
  const uint8_t flip = is_signed ? 0x80 : 0;
  std::fill(bytes + k / kBlock * kBlock, bytes + Padded(k), uint8_t{0});
  if (format != WeightFormat::kInt4) {
    for (size_t p = 0; p < k; ++p) bytes[p] = from[p] ^ flip;
    return;
  }
  auto* sums = reinterpret_cast<int32_t*>(bytes + Padded(k));
  for (size_t begin = 0; begin < k; begin += group, ++sums) {
    *sums = 0;
    for (size_t p = begin; p < std::min(k, begin + group); p += kBlock) {
      for (size_t i = 0; i < kBlock; ++i) {
        const size_t at = p + kNibbleOrder[i];
        const uint8_t byte = at < k ? from[at] ^ flip : 0;
        bytes[p + i] = byte;
        *sums += byte;
      }
    }
  }
}

HWY_EXPORT(DynamicGemmImpl);
void DynamicGemmRange(const DynamicGemmArgs& args, size_t first_row, size_t last_row,
                      size_t first_column, size_t last_column) {
  if (first_row >= last_row || first_column >= last_column) return;
  HWY_DYNAMIC_DISPATCH(DynamicGemmImpl)(args, first_row, last_row, first_column, last_column);
}

}  // namespace belay
#endif  // HWY_ONCE
