#include "runtime/kernels/packed/weight_only_gemm.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/vector_halves.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/weight_only_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/bfloat16-inl.h"
#include "runtime/kernels/packed/row_epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kColumns = kWeightOnlyPanelColumns;
constexpr size_t kBlockRows = 8;
constexpr size_t kVectors = 2;  // of columns per step

using TagF32 = hn::CappedTag<float, kColumns / kVectors>;
using TagU32 = hn::RebindToUnsigned<TagF32>;
using V = hn::Vec<TagF32>;

// Prefetches the lines at some distance after `kBytes` bytes of B to the L2 cache. A core decodes
// few lines at a time, so that memory would be idle otherwise: 2.8 instead of 3.4 ms for a token of
// 110 million int8 weights on a Zen 5; 45 instead of 59 ms for 268 million bfloat16 weights on
// Sapphire Rapids, and 49 ms if they are prefetched to the L1 cache. Then prefetches lines at a
// shorter distance to the L1 cache: a token of that model takes 39 instead of 42 ms. Never faults.
template <size_t kBytes>
HWY_INLINE void FetchAhead(const void* bytes) {
  constexpr size_t kFar = size_t{8} << 10, kNear = size_t{2} << 10, kLine = 64;
  const std::byte* const at = static_cast<const std::byte*>(bytes);
  HWY_UNROLL(kBytes / kLine)
  for (size_t i = 0; i < kBytes; i += kLine) {
    __builtin_prefetch(at + kFar + i, /*rw=*/0, /*locality=*/2);
    __builtin_prefetch(at + kNear + i, /*rw=*/0, /*locality=*/3);
  }
}

// Decoders of kVectors vectors of Tag, for columns from `column` of a panel on. Start() receives
// their zero points in the group, or null; Load() loads a block of rows; Row() returns q - zero of
// one row. kHalves: uses half vectors, to which Zen 4 widens bytes in less than half of the time.
// kEvenOdd: EvenOrOdd() returns the even (v = 0) or odd columns of all vectors at less cost.
template <bool kZeros, bool kHalves>
class Int8Decoder {
 public:
  using Tag = hn::CappedTag<float, kHalves ? 8 : kColumns / 2>;
  static constexpr size_t kVectors = kHalves ? 4 : 2;
  static constexpr bool kEvenOdd = false;

  Int8Decoder(const void* panel, size_t column) : b_(static_cast<const int8_t*>(panel) + column) {}
  HWY_INLINE void Start(const float* zeros) { zeros_ = zeros; }
  HWY_INLINE void Load(size_t row) {
    at_ = b_ + row * kColumns;
    FetchAhead<kBlockRows * kVectors * hn::MaxLanes(Tag())>(at_);
  }
  HWY_INLINE hn::Vec<Tag> Row(size_t row, size_t v) const {
    const Tag d;
    const hn::Rebind<int8_t, Tag> d8;
    const auto q = hn::LoadU(d8, at_ + row * kColumns + v * hn::Lanes(d));
    const auto x = hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<Tag>(), q));
    return kZeros ? hn::Sub(x, hn::LoadU(d, zeros_ + v * hn::Lanes(d))) : x;
  }

 private:
  const int8_t *b_, *at_ = nullptr;
  const float* zeros_ = nullptr;
};

class BFloat16Decoder {
 public:
  using Tag = TagF32;
  static constexpr size_t kVectors = belay::HWY_NAMESPACE::kVectors;
  static constexpr bool kEvenOdd = true;

  BFloat16Decoder(const void* panel, size_t column)
      : b_(static_cast<const uint16_t*>(panel) + column) {}
  HWY_INLINE void Start(const float*) {}
  HWY_INLINE void Load(size_t row) {
    at_ = b_ + row * kColumns;
    FetchAhead<kBlockRows * kVectors * hn::MaxLanes(TagF32()) * sizeof(uint16_t)>(at_);
  }
  HWY_INLINE V Row(size_t row, size_t v) const {
    const hn::Rebind<uint16_t, TagF32> d16;
    const auto bits = hn::LoadU(d16, at_ + row * kColumns + v * hn::Lanes(d16));
    return hn::BitCast(TagF32(), hn::ShiftLeft<16>(hn::PromoteTo(TagU32(), bits)));
  }
  HWY_INLINE V EvenOrOdd(size_t row, size_t v) const {
    static_assert(kVectors == 2 && std::endian::native == std::endian::little);
    const hn::Repartition<uint16_t, TagF32> d16;
    const auto pairs = hn::BitCast(TagU32(), hn::LoadU(d16, at_ + row * kColumns));
    return hn::BitCast(TagF32(), v == 0 ? hn::ShiftLeft<16>(pairs)
                                        : hn::And(pairs, hn::Set(TagU32(), 0xffff0000u)));
  }

 private:
  const uint16_t *b_, *at_ = nullptr;
};

// Four bits become the mantissa of a float in place: with the exponent of 2^(23 - first bit) they
// count as integers. Subtracting that power of two and 8 from the float is exact. The upper three
// nibbles do not fit the mantissa and are shifted once.
template <bool kZeros>
class Int4Decoder {
 public:
  using Tag = TagF32;
  static constexpr size_t kVectors = belay::HWY_NAMESPACE::kVectors;
  static constexpr bool kEvenOdd = false;

  Int4Decoder(const void* panel, size_t column)
      : b_(static_cast<const uint32_t*>(panel) + column) {}
  HWY_INLINE void Start(const float* zeros) {
    if (!kZeros) return;
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      zeros_[v] = hn::LoadU(TagF32(), zeros + v * hn::Lanes(TagF32()));
    }
  }
  HWY_INLINE void Load(size_t row) {
    const TagU32 d;
    FetchAhead<kVectors * hn::MaxLanes(d) * sizeof(uint32_t)>(b_ + row / kBlockRows * kColumns);
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      low_[v] = hn::LoadU(d, b_ + row / kBlockRows * kColumns + v * hn::Lanes(d));
      high_[v] = hn::ShiftRight<4 * kPlaces>(low_[v]);
    }
  }
  HWY_INLINE V Row(size_t row, size_t v) const {
    const TagU32 d;
    const size_t nibble = row % 2 * 4 + row / 2, place = nibble % kPlaces;
    const auto mask = hn::Set(d, 15u << (4 * place)), power = hn::Set(d, Power(place));
    const auto bits = hn::Or(hn::And(nibble < kPlaces ? low_[v] : high_[v], mask), power);
    const V offset = hn::Add(hn::BitCast(TagF32(), power), hn::Set(TagF32(), 8.0f));
    const V q = hn::Sub(hn::BitCast(TagF32(), bits), offset);
    return kZeros ? hn::Sub(q, zeros_[v]) : q;
  }

 private:
  static constexpr size_t kPlaces = 5;
  static constexpr uint32_t Power(size_t place) {
    return static_cast<uint32_t>(127 + 23 - 4 * place) << 23;
  }

  const uint32_t* b_;
  hn::Vec<TagU32> low_[kVectors], high_[kVectors];
  V zeros_[kVectors];
};

template <class Decoder>
HWY_INLINE auto RowInAnyOrder(const Decoder& decoder, size_t row, size_t v) {
  if constexpr (Decoder::kEvenOdd) {
    return decoder.EvenOrOdd(row, v);
  } else {
    return decoder.Row(row, v);
  }
}

// A panel of weights and its parameters.
struct Panel {
  const std::byte* b;
  const float *scales, *zeros;  // null for none
  size_t k, group;
};

// Calls f(first row, last row, scales or null, zero points or null) for each group.
template <class F>
HWY_INLINE void ForEachGroup(const Panel& panel, const F& f) {
  size_t at = 0;
  for (size_t row = 0; row < panel.k; row += panel.group, at += kColumns) {
    f(row, HWY_MIN(panel.k, row + panel.group),
      panel.scales == nullptr ? nullptr : panel.scales + at,
      panel.zeros == nullptr ? nullptr : panel.zeros + at);
  }
}

// sums[r * kColumns + j] of kRows rows of A and all columns of the panel. Each element has kParts
// interleaved accumulators, to hide the latency of additions if there are few rows.
//   a(ko, r, ki) = A[r, ko * kBlockRows + ki], zeros after k
template <class Decoder, size_t kRows, size_t kParts>
HWY_NOINLINE void MultiplyPanel(const Panel& panel, const float* HWY_RESTRICT a,
                                float* HWY_RESTRICT sums) {
  constexpr size_t kVectors = Decoder::kVectors;
  const typename Decoder::Tag d;
  using V = hn::Vec<typename Decoder::Tag>;
  const size_t lanes = hn::Lanes(d);
  std::fill(sums, sums + kRows * kColumns, 0.0f);
  ForEachGroup(
      panel, [&](size_t begin, size_t end, const float* scales, const float* zeros) HWY_ATTR {
        for (size_t column = 0; column < kColumns; column += kVectors * lanes) {
          Decoder decoder(panel.b, column);
          decoder.Start(zeros == nullptr ? nullptr : zeros + column);
          V at[kParts][kRows][kVectors];
          HWY_UNROLL(kParts)
          for (size_t s = 0; s < kParts; ++s) {
            HWY_UNROLL(kRows)
            for (size_t r = 0; r < kRows; ++r) {
              HWY_UNROLL(kVectors)
              for (size_t v = 0; v < kVectors; ++v) at[s][r][v] = hn::Zero(d);
            }
          }
          for (size_t p = begin; p < end; p += kBlockRows) {
            decoder.Load(p);
            const float* block = a + p * kRows;
            HWY_UNROLL(kBlockRows)
            for (size_t i = 0; i < kBlockRows; ++i) {
              HWY_UNROLL(kVectors)
              for (size_t v = 0; v < kVectors; ++v) {
                const V w = RowInAnyOrder(decoder, i, v);
                HWY_UNROLL(kRows)
                for (size_t r = 0; r < kRows; ++r) {
                  V& sum = at[i % kParts][r][v];
                  sum = hn::MulAdd(w, hn::Set(d, block[r * kBlockRows + i]), sum);
                }
              }
            }
          }
          HWY_UNROLL(kRows)
          for (size_t r = 0; r < kRows; ++r) {
            V* const sum = at[0][r];
            HWY_UNROLL(kVectors)
            for (size_t v = 0; v < kVectors; ++v) {
              HWY_UNROLL(kParts)
              for (size_t s = 1; s < kParts; ++s) sum[v] = hn::Add(sum[v], at[s][r][v]);
            }
            if constexpr (Decoder::kEvenOdd) {
              const V even = sum[0], odd = sum[1];
              sum[0] = hn::InterleaveWholeLower(d, even, odd);
              sum[1] = hn::InterleaveWholeUpper(d, even, odd);
            }
            HWY_UNROLL(kVectors)
            for (size_t v = 0; v < kVectors; ++v) {
              float* to = sums + r * kColumns + column + v * lanes;
              const V scale =
                  scales == nullptr ? hn::Set(d, 1.0f) : hn::LoadU(d, scales + column + v * lanes);
              hn::StoreU(hn::MulAdd(sum[v], scale, hn::LoadU(d, to)), d, to);
            }
          }
        }
      });
}

// Zen 4 executes bfloat16 dot products as fast as float multiply-adds. On Sapphire Rapids they take
// longer than decoding: 91 instead of 56 us for 768 x 2048 weights.
#if HWY_NATIVE_DOT_BF16 && HWY_TARGET == HWY_AVX3_ZEN4
// Splits a row's elements into sums of two bfloat16 values, with an error of at most 2^-17, and
// pads them with zeros. Returns false if an element is not finite, or so large or small that the
// error bound does not hold.
HWY_NOINLINE bool SplitRow(const float* HWY_RESTRICT a, size_t k, uint16_t* HWY_RESTRICT high,
                           uint16_t* HWY_RESTRICT low) {
  const TagF32 d;
  const TagU32 du;
  const hn::Rebind<uint16_t, TagF32> d16;
  const size_t lanes = hn::Lanes(d);
  const auto rounded = [&](V x) HWY_ATTR {
    return hn::ShiftRight<16>(RoundToBFloat16(du, hn::BitCast(du, x)));
  };
  auto fits = hn::Eq(hn::Zero(d), hn::Zero(d));
  for (size_t p = 0; p < k; p += lanes) {
    const V x = hn::LoadN(d, a + p, HWY_MIN(lanes, k - p));
    const auto upper = rounded(x);
    const auto rest = rounded(hn::Sub(x, hn::BitCast(d, hn::ShiftLeft<16>(upper))));
    // The buffers have space for whole vectors.
    hn::StoreU(hn::TruncateTo(d16, upper), d16, high + p);
    hn::StoreU(hn::TruncateTo(d16, rest), d16, low + p);
    const V size = hn::Abs(x);
    const auto medium =
        hn::And(hn::Ge(size, hn::Set(d, 0x1p-90f)), hn::Le(size, hn::Set(d, 0x1p120f)));
    fits = hn::And(fits, hn::Or(medium, hn::Eq(x, hn::Zero(d))));
  }
  return hn::AllTrue(d, fits);
}

// MultiplyPanel for a split row and int4 weights without zero points: pairs of weights are
// converted to bfloat16 by a table lookup and multiplied by dot products.
HWY_NOINLINE void MultiplyInt4Panel(const Panel& panel, const uint16_t* HWY_RESTRICT high,
                                    const uint16_t* HWY_RESTRICT low, float* HWY_RESTRICT sums) {
  const TagF32 d;
  const TagU32 du;
  const hn::Repartition<uint16_t, TagF32> d16;
  const hn::Repartition<hwy::bfloat16_t, TagF32> half;
  constexpr size_t kParts = 2;
  HWY_ALIGN uint16_t numbers[hn::MaxLanes(d16)];
  for (size_t i = 0; i < hn::Lanes(d16); ++i) {
    numbers[i] =
        static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(i % 16) - 8.0f) >> 16);
  }
  const auto table = hn::Load(d16, numbers);
  const uint32_t* b = reinterpret_cast<const uint32_t*>(panel.b);
  std::fill(sums, sums + kColumns, 0.0f);
  ForEachGroup(panel, [&](size_t begin, size_t end, const float* scales, const float*) HWY_ATTR {
    V at[kParts][2][kVectors], unused = hn::Zero(d);
    HWY_UNROLL(kParts)
    for (size_t s = 0; s < kParts; ++s) {
      HWY_UNROLL(2)
      for (size_t i = 0; i < 2; ++i) {
        HWY_UNROLL(kVectors)
        for (size_t v = 0; v < kVectors; ++v) at[s][i][v] = hn::Zero(d);
      }
    }
    for (size_t p = begin; p < end; p += kBlockRows) {
      FetchAhead<kColumns * sizeof(uint32_t)>(b + p / kBlockRows * kColumns);
      const auto pair = [&](const uint16_t* x) HWY_ATTR {
        uint32_t two;
        std::memcpy(&two, x + p, sizeof(two));
        return hn::BitCast(half, hn::Set(du, two));
      };
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        const auto word = hn::LoadU(du, b + p / kBlockRows * kColumns + v * hn::Lanes(d));
        // Only the last five bits of an index are used, and the table has all values twice: bits of
        // the neighboring weight do not matter.
        const auto multiply = [&](auto bits, size_t i) HWY_ATTR {
          const hn::Indices512<uint16_t> indices = {bits.raw};
          const auto w = hn::BitCast(half, hn::TableLookupLanes(table, indices));
          V &upper = at[i % kParts][0][v], &lower = at[i % kParts][1][v];
          upper = hn::ReorderWidenMulAccumulate(d, w, pair(high + 2 * i), upper, unused);
          lower = hn::ReorderWidenMulAccumulate(d, w, pair(low + 2 * i), lower, unused);
        };
        multiply(word, 0);
        multiply(hn::ShiftRight<4>(word), 1);
        multiply(hn::ShiftRight<8>(word), 2);
        multiply(hn::ShiftRight<12>(word), 3);
      }
    }
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      const V sum = hn::Add(hn::Add(at[0][0][v], at[1][0][v]), hn::Add(at[0][1][v], at[1][1][v]));
      float* to = sums + v * hn::Lanes(d);
      const V scale = hn::LoadU(d, scales + v * hn::Lanes(d));
      hn::StoreU(hn::MulAdd(sum, scale, hn::LoadU(d, to)), d, to);
    }
  });
}
#endif

// Decodes a panel to PackedGemm's layout: k rows of 32 floats.
template <class Decoder>
HWY_NOINLINE void DecodePanel(const Panel& panel, float* HWY_RESTRICT to) {
  constexpr size_t kVectors = Decoder::kVectors;
  const typename Decoder::Tag d;
  const size_t lanes = hn::Lanes(d);
  ForEachGroup(
      panel, [&](size_t begin, size_t end, const float* scales, const float* zeros) HWY_ATTR {
        for (size_t column = 0; column < kColumns; column += kVectors * lanes) {
          Decoder decoder(panel.b, column);
          decoder.Start(zeros == nullptr ? nullptr : zeros + column);
          for (size_t p = begin; p < end; p += kBlockRows) {
            decoder.Load(p);
            HWY_UNROLL(kBlockRows)
            for (size_t i = 0; i < kBlockRows; ++i) {
              if (p + i >= end) break;
              HWY_UNROLL(kVectors)
              for (size_t v = 0; v < kVectors; ++v) {
                const size_t j = column + v * lanes;
                const auto q = decoder.Row(i, v);
                const auto w = scales == nullptr ? q : hn::Mul(q, hn::LoadU(d, scales + j));
                hn::StoreU(w, d, to + (p + i) * kColumns + j);
              }
            }
          }
        }
      });
}

// Rows that are multiplied at once: their accumulators, a weight and a scale fit the registers.
template <class Decoder>
constexpr size_t kMostRows =
    (HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64 ? 24 : 12) / Decoder::kVectors;

// Rows that MultiplyPanel computes for a block of `rows` rows: fewer instances, at most a third
// more rows.
HWY_INLINE size_t PaddedRows(size_t rows) {
  return rows <= 4 ? rows : rows <= 6 ? 6 : rows <= 8 ? 8 : 12;
}

// Calls f(first row, number of rows) for blocks of at most `most` rows of about the same size.
template <class F>
HWY_INLINE void ForEachRowBlock(size_t first_row, size_t last_row, size_t most, const F& f) {
  const size_t rows = last_row - first_row, blocks = (rows + most - 1) / most;
  const size_t size = (rows + blocks - 1) / blocks;
  for (size_t row = first_row; row < last_row; row += size) {
    f(row, HWY_MIN(size, last_row - row));
  }
}

// Interleaves rows of A as MultiplyPanel expects it, and returns the end.
HWY_INLINE float* InterleaveRows(const WeightOnlyGemmArgs& g, size_t first, size_t rows,
                                 float* HWY_RESTRICT to) {
  const size_t padded = PaddedRows(rows);
  for (size_t p = 0; p < g.k; p += kBlockRows) {
    const size_t count = HWY_MIN(kBlockRows, g.k - p);
    for (size_t r = 0; r < padded; ++r, to += kBlockRows) {
      const size_t used = r < rows ? count : 0;
      if (used != 0) std::copy_n(g.a + (first + r) * g.lda + p, used, to);
      std::fill(to + used, to + kBlockRows, 0.0f);
    }
  }
  return to;
}

// Multiplies a block of `rows` interleaved rows of an A of m rows by a panel.
template <class Decoder>
HWY_INLINE void MultiplyRows(const Panel& panel, size_t m, size_t rows, const float* a,
                             float* sums) {
  constexpr size_t kMost = kMostRows<Decoder>;
  if (m == 1) return MultiplyPanel<Decoder, 1, 4>(panel, a, sums);
  switch (PaddedRows(rows)) {
    case 1:
      return MultiplyPanel<Decoder, 1, 1>(panel, a, sums);
    case 2:
      return MultiplyPanel<Decoder, 2, 1>(panel, a, sums);
    case 3:
      return MultiplyPanel<Decoder, 3, 1>(panel, a, sums);
    case 4:
      return MultiplyPanel<Decoder, HWY_MIN(4, kMost), 1>(panel, a, sums);
    case 6:
      return MultiplyPanel<Decoder, HWY_MIN(6, kMost), 1>(panel, a, sums);
    case 8:
      return MultiplyPanel<Decoder, HWY_MIN(8, kMost), 1>(panel, a, sums);
    default:
      return MultiplyPanel<Decoder, HWY_MIN(12, kMost), 1>(panel, a, sums);
  }
}

template <class Decoder>
HWY_INLINE void Run(const WeightOnlyGemmArgs& g, size_t first_row, size_t last_row,
                    size_t first_column, size_t last_column) {
  const size_t depth = (g.k + kBlockRows - 1) / kBlockRows * kBlockRows;
  const size_t bytes_of_16 = g.format == WeightFormat::kInt4   ? 8
                             : g.format == WeightFormat::kInt8 ? 16
                                                               : 32;
  const size_t panel_bytes = depth * kColumns / 16 * bytes_of_16;
  const size_t group = g.scales == nullptr ? HWY_MAX(g.k, size_t{1}) : g.group;
  const size_t panel_scales = (g.k + group - 1) / group * kColumns;
  bool split = false;
#if HWY_NATIVE_DOT_BF16 && HWY_TARGET == HWY_AVX3_ZEN4
  uint16_t* high = reinterpret_cast<uint16_t*>(g.scratch);
  uint16_t* low = high + WeightOnlyRowFloats(g.k);
  // With fewer rows of B, the error of SplitRow would be visible.
  if (std::is_same_v<Decoder, Int4Decoder<false>> && g.m == 1 && g.k >= 128) {
    split = SplitRow(g.a, g.k, high, low);
  }
#endif
  constexpr size_t kMost = kMostRows<Decoder>;
  if (g.m <= kWeightOnlyRows && !split) {
    float* to = g.scratch;
    ForEachRowBlock(first_row, last_row, kMost, [&](size_t row, size_t rows) HWY_ATTR {
      to = InterleaveRows(g, row, rows, to);
    });
  }
  for (size_t j = first_column; j < last_column; j += kColumns) {
    const size_t index = j / kColumns, count = HWY_MIN(kColumns, last_column - j);
    const Panel panel = {.b = static_cast<const std::byte*>(g.b) + index * panel_bytes,
                         .scales = g.scales == nullptr ? nullptr : g.scales + index * panel_scales,
                         .zeros = g.zeros == nullptr ? nullptr : g.zeros + index * panel_scales,
                         .k = g.k,
                         .group = group};
    const EpilogueF32& e = g.epilogue;
    const float* bias = e.bias == nullptr ? nullptr : e.bias + j;
    if (g.m > kWeightOnlyRows) {
      float* tile = g.scratch + WeightOnlyRowFloats(g.k) * kColumns;
      DecodePanel<Decoder>(panel, g.scratch);
      PackedGemmArgs p = {.m = g.m,
                          .n = count,
                          .k = g.k,
                          .a = g.a,
                          .lda = g.lda,
                          .tile = TileSize(g.k, g.lda) == 0 ? nullptr : tile,
                          .b = g.scratch,
                          .c = g.c + j,
                          .ldc = g.ldc,
                          .epilogue = e};
      p.epilogue.bias = bias;
      if (e.other != nullptr) p.epilogue.other = e.other + j;
      PackedGemmRange(p, first_row, last_row, 0, count);
      continue;
    }
    const float* a = g.scratch;
    ForEachRowBlock(first_row, last_row, kMost, [&](size_t row, size_t rows) HWY_ATTR {
      HWY_ALIGN float sums[kMost * kColumns];
      if (split) {
#if HWY_NATIVE_DOT_BF16 && HWY_TARGET == HWY_AVX3_ZEN4
        MultiplyInt4Panel(panel, high, low, sums);
#endif
      } else {
        MultiplyRows<Decoder>(panel, g.m, rows, a, sums);
        a += PaddedRows(rows) * depth;
      }
      for (size_t r = 0; r < rows; ++r) {
        const size_t at = (row + r) * g.ldc + j;
        FinishRow(TagF32(), e, sums + r * kColumns, bias,
                  e.other == nullptr ? nullptr : e.other + at, g.c + at, count);
      }
    });
  }
}

template <bool kHalves>
HWY_INLINE void RunInt8(const WeightOnlyGemmArgs& g, size_t first_row, size_t last_row,
                        size_t first_column, size_t last_column) {
  if (g.zeros == nullptr) {
    return Run<Int8Decoder<false, kHalves>>(g, first_row, last_row, first_column, last_column);
  }
  Run<Int8Decoder<true, kHalves>>(g, first_row, last_row, first_column, last_column);
}

void WeightOnlyGemmImpl(const WeightOnlyGemmArgs& g, size_t first_row, size_t last_row,
                        size_t first_column, size_t last_column) {
  if (first_row >= last_row) return;
  switch (g.format) {
    case WeightFormat::kInt8:
      // The only target whose CPUs may execute vectors in halves.
      if constexpr (HWY_TARGET == HWY_AVX3_ZEN4) {
        if (ExecutesVectorsInHalves()) {
          return RunInt8<true>(g, first_row, last_row, first_column, last_column);
        }
      }
      return RunInt8<false>(g, first_row, last_row, first_column, last_column);
    case WeightFormat::kInt4:
      if (g.zeros == nullptr) {
        return Run<Int4Decoder<false>>(g, first_row, last_row, first_column, last_column);
      }
      return Run<Int4Decoder<true>>(g, first_row, last_row, first_column, last_column);
    case WeightFormat::kBFloat16:
      return Run<BFloat16Decoder>(g, first_row, last_row, first_column, last_column);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {
HWY_EXPORT(WeightOnlyGemmImpl);
void WeightOnlyGemmRange(const WeightOnlyGemmArgs& args, size_t first_row, size_t last_row,
                         size_t first_column, size_t last_column) {
  HWY_DYNAMIC_DISPATCH(WeightOnlyGemmImpl)(args, first_row, last_row, first_column, last_column);
}

}  // namespace belay
#endif  // HWY_ONCE
