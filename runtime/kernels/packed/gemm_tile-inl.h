// Register tiles of packed_gemm.h and bfloat16_gemm.h: some rows of A by a panel of B, for a K block.
// Included once per target inside foreach_target.
#if defined(BELAY_RUNTIME_KERNELS_PACKED_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_PACKED_GEMM_TILE_INL_H_
#undef BELAY_RUNTIME_KERNELS_PACKED_GEMM_TILE_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_PACKED_GEMM_TILE_INL_H_
#endif

#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "runtime/kernels/packed/epilogue-inl.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TagF32 = hn::CappedTag<float, kPanelColumns / 2>;
using V = hn::Vec<TagF32>;

// Elements of A per row and step: one 32-bit word, multiplied by as many elements of B in each
// lane. Below, depths are in words unless stated otherwise.
template <class T>
constexpr size_t kTerms = sizeof(float) / sizeof(T);

// With 32 registers: 24 accumulators, 2 vectors of B, and A broadcast from memory; 12 row pointers
// fit the general registers. With 16 registers: 6 rows, or 4 for bfloat16 that is widened to float.
template <class T>
constexpr size_t kMaxTileRows = (HWY_TARGET <= HWY_AVX3 || HWY_TARGET_IS_NEON) ? kTileRows
                                : kTerms<T> == 1                               ? 6
                                                                               : 4;

constexpr size_t kLine = kLineBytes / sizeof(float);  // words of a cache line

// A K block: terms that are accumulated before the sums are stored: `k` terms from `start` on of
// each of `taps` taps.
struct KBlock {
  size_t tap, taps;
  size_t start, k;
  bool first, last;  // whether it is the first or last block
};

// Position of a tile in C, and its number of columns.
template <class T>
struct OutputTile {
  T* c;
  const T* other;     // the same elements of epilogue.other, or null
  const float* bias;  // of the first column, or null
  size_t columns;
  size_t offset = 0;  // of the first element of A's rows that is read at each tap, in words
  const float* row_bias = nullptr;  // of the first row, or null
};

// Lines of the next panel to prefetch during a tile: `lines` per kPrefetchInterval rows of B.
template <class T>
struct PanelPrefetch {
  const T* next;
  size_t lines;
};
constexpr size_t kPrefetchInterval = 32;

// Accumulators of kRows rows by kVectors vectors. Indexed only by constants, so that they stay in
// registers. The constructor is explicit: on Arm, an implicit one would be compiled without the
// target's features.
template <size_t kRows, size_t kVectors>
struct Accumulators {
  HWY_INLINE Accumulators() {}
  V at[kRows][kVectors];
};

template <size_t kRows, size_t kVectors>
HWY_INLINE void Step(const float* const* a, size_t p, const float* HWY_RESTRICT b,
                     Accumulators<kRows, kVectors>& sums) {
  const TagF32 d;
  V bv[kVectors];
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(d, b + v * hn::Lanes(d));
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const V x = hn::Set(d, a[r][p]);
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) sums.at[r][v] = hn::MulAdd(x, bv[v], sums.at[r][v]);
  }
}

// Two steps of one vector, each row's after one another. With 12 rows, not all row pointers fit the
// registers; each is then loaded once for both steps.
template <size_t kRows>
HWY_INLINE void TwoSteps(const float* const* a, size_t p, const float* HWY_RESTRICT b, size_t row,
                         Accumulators<kRows, 1>& sums) {
  const TagF32 d;
  const V first = hn::LoadU(d, b), second = hn::LoadU(d, b + row);
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const float* x = a[r] + p;
    V& sum = sums.at[r][0];
    sum = hn::MulAdd(hn::Set(d, x[0]), first, sum);
    sum = hn::MulAdd(hn::Set(d, x[1]), second, sum);
  }
}

// The same for bfloat16 in VNNI-2 layout. Without dot products, each word is widened to two floats:
// the bits of the second element, and those of the first shifted left by 16.
template <size_t kRows, size_t kVectors>
HWY_INLINE void Step(const BFloat16* const* a, size_t p, const BFloat16* HWY_RESTRICT b,
                     Accumulators<kRows, kVectors>& sums) {
  const TagF32 d;
  const hn::RebindToUnsigned<TagF32> d32;
  const auto* words = reinterpret_cast<const uint16_t*>(b);
  const hn::Repartition<uint16_t, TagF32> d16;
  const auto word = [&](size_t r) HWY_ATTR {
    uint32_t bits;
    hwy::CopyBytes<sizeof(bits)>(a[r] + 2 * p, &bits);
    return hn::Set(d32, bits);
  };
// Highway 1.2.0 defines the macro for all of NEON. Without the instruction, `unused` holds half of
// each product.
#if HWY_NATIVE_DOT_BF16 && HWY_TARGET != HWY_NEON_WITHOUT_AES
  const hn::Repartition<hwy::bfloat16_t, TagF32> pairs;
  hn::Vec<decltype(pairs)> bv[kVectors];
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) {
    bv[v] = hn::BitCast(pairs, hn::LoadU(d16, words + v * hn::Lanes(d16)));
  }
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const auto x = hn::BitCast(pairs, word(r));
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      V unused = hn::Zero(d);
      sums.at[r][v] = hn::ReorderWidenMulAccumulate(d, x, bv[v], sums.at[r][v], unused);
    }
  }
#else
  const auto first = [&](auto bits) HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<16>(bits)); };
  const auto second = [&](auto bits) HWY_ATTR {
    return hn::BitCast(d, hn::And(bits, hn::Set(d32, 0xFFFF0000u)));
  };
  V b0[kVectors], b1[kVectors];
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) {
    const auto bits = hn::BitCast(d32, hn::LoadU(d16, words + v * hn::Lanes(d16)));
    b0[v] = first(bits);
    b1[v] = second(bits);
  }
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const auto bits = word(r);
    const V x0 = first(bits), x1 = second(bits);
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      sums.at[r][v] = hn::MulAdd(x1, b1[v], hn::MulAdd(x0, b0[v], sums.at[r][v]));
    }
  }
#endif
}

// The same for pairs of bfloat16.
template <size_t kRows>
HWY_INLINE void TwoSteps(const BFloat16* const* a, size_t p, const BFloat16* HWY_RESTRICT b,
                         size_t row, Accumulators<kRows, 1>& sums) {
#if HWY_NATIVE_DOT_BF16 && HWY_TARGET != HWY_NEON_WITHOUT_AES
  const TagF32 d;
  const hn::RebindToUnsigned<TagF32> d32;
  const hn::Repartition<uint16_t, TagF32> d16;
  const hn::Repartition<hwy::bfloat16_t, TagF32> pairs;
  const auto* words = reinterpret_cast<const uint16_t*>(b);
  const auto first = hn::BitCast(pairs, hn::LoadU(d16, words));
  const auto second = hn::BitCast(pairs, hn::LoadU(d16, words + row));
  const auto word = [&](const BFloat16* from) HWY_ATTR {
    uint32_t bits;
    hwy::CopyBytes<sizeof(bits)>(from, &bits);
    return hn::BitCast(pairs, hn::Set(d32, bits));
  };
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const BFloat16* x = a[r] + 2 * p;
    V unused = hn::Zero(d);
    V& sum = sums.at[r][0];
    sum = hn::ReorderWidenMulAccumulate(d, word(x), first, sum, unused);
    sum = hn::ReorderWidenMulAccumulate(d, word(x + 2), second, sum, unused);
  }
#else
  Step(a, p, b, sums);
  Step(a, p + 1, b + row, sums);
#endif
}

// Whether accumulators of a K block start from the result of the block before. With a factor, that is
// added at the end instead.
template <class T>
HWY_INLINE bool ContinuesSums(const ProductArgs<T>& g, const KBlock& block) {
  return !block.first && g.alpha == 1;
}

// Finishes vector v of each row, from column `first` of `out` on: its first `count` columns, or all
// unless kPartial. The first K block adds biases and `other`; the last one clamps.
template <bool kPartial, class T, size_t kRows, size_t kVectors>
HWY_INLINE void Finish(const ProductArgs<T>& g, const OutputTile<T>& out, const KBlock& block,
                       size_t v, size_t first, size_t count,
                       const Accumulators<kRows, kVectors>& sums) {
  const TagF32 d;
  const bool clamps = block.last && IsLinear(g.epilogue) && HasBounds(g.epilogue);
  const bool starts = block.first;
  const T* other =
      g.epilogue.multiply || !starts || out.other == nullptr ? nullptr : out.other + first;
  const float* row_bias = starts ? out.row_bias : nullptr;
  T* c = out.c + first;
  const size_t ldc = g.ldc;
  if constexpr (!kPartial) count = hn::Lanes(d);
  const V alpha = hn::Set(d, g.alpha);
  const V low = hn::Set(d, g.epilogue.low), high = hn::Set(d, g.epilogue.high);
  const auto finish = [&](size_t r, V addend) HWY_ATTR {
    V y = hn::MulAdd(sums.at[r][v], alpha, addend);
    if (other != nullptr) y = hn::Add(RoundTo<T>(d, y), LoadSome(d, other + r * ldc, count));
    if (clamps) y = ClampKeepingNaN(d, y, low, high);
    StoreSome(d, y, c + r * ldc, count);
  };
  V bias = hn::Zero(d);
  if (out.bias != nullptr && starts) bias = LoadSome(d, out.bias + first, count);
  const bool adds_result = !starts && !ContinuesSums(g, block);
  if (adds_result || row_bias != nullptr) {
    // Rare, and apart, so that the tests of these do not slow down short sums.
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      V addend = adds_result ? LoadSome(d, c + r * ldc, count) : bias;
      if (row_bias != nullptr) addend = hn::Add(addend, hn::Set(d, row_bias[r]));
      finish(r, addend);
    }
    return;
  }
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) finish(r, bias);
}

// Prefetches a line to the L2 cache. Never faults.
HWY_INLINE void PrefetchToL2(const void* line) { __builtin_prefetch(line, 0, 2); }

// Whether all rows of a tile point to `zeros`.
template <size_t kRows, class T>
HWY_INLINE bool AreZeros(const T* const* rows, const T* zeros) {
  for (size_t r = 0; r < kRows; ++r) {
    if (rows[r] != zeros) return false;
  }
  return true;
}

// Elements of B per step. Rows of B in place are read in whole vectors.
template <class T>
HWY_INLINE size_t RowOfB(const ProductArgs<T>& g) {
  return kTerms<T> == 1 && g.ldb != 0 ? g.ldb : kPanelColumns * kTerms<T>;
}

// Computes a K block of kRows rows by kVectors vectors. rows[t * kRows + r] points to the elements
// of row r at the block's tap t; b points to the first row of B from column `column` of `out` on. Each element has
// kParts accumulators, which are added at the end, to hide the latency of additions if there are
// few rows.
template <size_t kRows, size_t kVectors, size_t kParts, class T>
HWY_INLINE void Tile(const ProductArgs<T>& g, const T* const* HWY_RESTRICT rows,
                     const T* HWY_RESTRICT b, const OutputTile<T>& out, size_t column,
                     const KBlock& block, const PanelPrefetch<T>& prefetch) {
  const TagF32 d;
  const size_t lanes = hn::Lanes(d);
  Accumulators<kRows, kVectors> sums[kParts];
  HWY_UNROLL(kParts)
  for (size_t s = 0; s < kParts; ++s) {
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) sums[s].at[r][v] = hn::Zero(d);
    }
  }
  if (ContinuesSums(g, block)) {
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      const size_t first = column + v * lanes;
      if (out.columns <= first) continue;
      HWY_UNROLL(kRows)
      for (size_t r = 0; r < kRows; ++r) {
        sums[0].at[r][v] = LoadSome(d, out.c + r * g.ldc + first, out.columns - first);
      }
    }
  } else if (kParts == 1 && g.panels == nullptr) {
    // Prefetches the part of `other` to the L2 cache. Rows at a distance of a multiple of 4096 bytes
    // would evict each other in the L1 cache.
    const T* other = out.other + (out.other == nullptr ? 0 : column);
    for (size_t r = 0; out.other != nullptr && r < kRows; ++r, other += g.ldc) {
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) PrefetchToL2(other + v * lanes);
    }
  }
  const size_t k = block.k, row = RowOfB(g);
  const T* next = prefetch.next;
  const T* const zeros = g.zeros == nullptr ? nullptr : g.zeros + block.start * kTerms<T>;
  for (size_t t = 0; t < block.taps; ++t, rows += kRows, b += (g.k / kTerms<T> - k) * row) {
    if (zeros != nullptr && AreZeros<kRows>(rows, zeros)) {
      b += k * row;
      continue;
    }
    const T* a[kRows];
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) a[r] = rows[r];
    size_t p = out.offset;
    const size_t last = p + k;
    if constexpr (kParts == 1) {
      // Prefetches between runs of steps, since a run uses all registers.
      while (p < last) {
        const size_t end = prefetch.lines == 0 ? last : HWY_MIN(last, p + kPrefetchInterval);
        for (size_t i = 0; i < prefetch.lines; ++i, next += kLine * kTerms<T>) {
          hwy::Prefetch(next);
        }
        if constexpr (kVectors == 1 && kRows > 8) {
          for (; p + 2 <= end; p += 2, b += 2 * row) TwoSteps(a, p, b, row, sums[0]);
        }
        for (; p < end; ++p, b += row) Step(a, p, b, sums[0]);
      }
    }
    for (; p + kParts <= last; p += kParts) {
      HWY_UNROLL(kParts)
      for (size_t s = 0; s < kParts; ++s, b += row) Step(a, p + s, b, sums[s]);
    }
    for (; kParts > 1 && p < last; ++p, b += row) Step(a, p, b, sums[0]);
  }
  HWY_UNROLL(kParts)
  for (size_t s = 1; s < kParts; ++s) {
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) {
        sums[0].at[r][v] = hn::Add(sums[0].at[r][v], sums[s].at[r][v]);
      }
    }
  }
  HWY_UNROLL(kVectors)
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t first = column + v * lanes;
    if (out.columns >= first + lanes) {
      Finish</*kPartial=*/false>(g, out, block, v, first, lanes, sums[0]);
    } else if (out.columns > first) {
      Finish</*kPartial=*/true>(g, out, block, v, first, out.columns - first, sums[0]);
    }
  }
}

// Computes a tile of up to a panel's columns. `prefetch` is passed by reference: by value it would be
// copied by one load of 16 bytes, which waits for its two stores, and for all stores of the tile before.
template <size_t kRows, size_t kParts, class T>
HWY_NOINLINE void Panel(const ProductArgs<T>& g, const T* const* rows, const T* b,
                        const OutputTile<T>& out, const KBlock& block,
                        const PanelPrefetch<T>& prefetch) {
  const size_t lanes = hn::Lanes(TagF32());
  for (size_t j = 0; j < out.columns; j += 2 * lanes) {
    if (out.columns > j + lanes) {
      Tile<kRows, 2, kParts>(g, rows, b + j * kTerms<T>, out, j, block, prefetch);
    } else {
      Tile<kRows, 1, kParts>(g, rows, b + j * kTerms<T>, out, j, block, prefetch);
    }
  }
}

template <class T>
using PanelFn = void (*)(const ProductArgs<T>&, const T* const*, const T*, const OutputTile<T>&,
                         const KBlock&, const PanelPrefetch<T>&);

// Returns Panel for `rows` rows, 1 to kMaxTileRows. `parts` is the number of interleaved sums; it
// depends on the number of all rows of A.
template <class T, size_t kRows = kMaxTileRows<T>>
HWY_INLINE PanelFn<T> PanelOf(size_t rows, size_t parts) {
  if constexpr (kRows == 0) {
    return nullptr;
  } else {
    if (rows != kRows) return PanelOf<T, kRows - 1>(rows, parts);
    if constexpr (kRows == 1) {
      if (parts == 4) return &Panel<kRows, 4, T>;
    }
    if constexpr (kRows <= 3) {
      if (parts == 2) return &Panel<kRows, 2, T>;
    }
    return &Panel<kRows, 1, T>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif
