#include "runtime/kernels/gemm/gemm.h"

#include "runtime/core/budget.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Lanes of a vector, never more than what the scratch is sized for.
using TagF32 = hn::CappedTag<float, kGemmPanelColumns / 2>;

// How many products are summed one after the other: so many that a trip to memory between two
// blocks costs next to nothing. Of small products, where that costs little in all, fewer, for their
// digits.
HWY_INLINE size_t BlockOf(const GemmF32Args& g) {
  constexpr size_t kSmall = size_t{1} << 17;
  return g.m * g.n * g.k <= kSmall ? 32 : 128;
}

// kRows rows of C by two vectors, of which `columns` columns are wanted. `b` has rows `stride`
// apart, each two full vectors.
template <size_t kRows>
HWY_INLINE void Tile(const GemmF32Args& g, size_t row, size_t column, size_t columns,
                     const float* HWY_RESTRICT b, size_t stride) {
  const TagF32 d;
  using V = hn::Vec<TagF32>;
  const size_t lanes = hn::Lanes(d);
  // Without products A and B have no elements, and may have no memory.
  const float* HWY_RESTRICT a = g.k == 0 ? nullptr : g.a + row * g.lda;
  // Sums of a long k are made of the sums of blocks, whose errors grow with the block's length and
  // the number of blocks instead of with k. They meet in memory: the registers are those of a
  // block.
  HWY_ALIGN float total[2 * kRows * HWY_MAX_BYTES / sizeof(float)];
  const size_t block = BlockOf(g);
  size_t p = 0;
  do {
    // Arrays of vectors: targets with vectors of unknown size are disabled (third_party/highway).
    V sum0[kRows], sum1[kRows];
    for (size_t r = 0; r < kRows; ++r) sum0[r] = sum1[r] = hn::Zero(d);
    const bool first = p == 0;
    const size_t end = HWY_MIN(g.k, p + block);
    for (; p < end; ++p, b += stride) {
      const V b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + lanes);
      for (size_t r = 0; r < kRows; ++r) {
        const V x = hn::Set(d, a[r * g.lda + p]);
        sum0[r] = hn::MulAdd(x, b0, sum0[r]);
        sum1[r] = hn::MulAdd(x, b1, sum1[r]);
      }
    }
    for (size_t r = 0; r < kRows; ++r) {
      float* HWY_RESTRICT to = total + 2 * r * lanes;
      hn::Store(first ? sum0[r] : hn::Add(hn::Load(d, to), sum0[r]), d, to);
      hn::Store(first ? sum1[r] : hn::Add(hn::Load(d, to + lanes), sum1[r]), d, to + lanes);
    }
  } while (p < g.k);
  const V alpha = hn::Set(d, g.alpha);
  for (size_t r = 0; r < kRows; ++r) {
    const V bias = g.row_bias == nullptr ? hn::Zero(d) : hn::Set(d, g.row_bias[row + r]);
    float* HWY_RESTRICT c = g.c + (row + r) * g.ldc + column;
    const auto finish = [&](V sum, size_t at, size_t count) HWY_ATTR {
      V y = hn::Add(hn::Mul(sum, alpha), bias);
      if (g.column_bias != nullptr)
        y = hn::Add(y, hn::LoadN(d, g.column_bias + column + at, count));
      hn::StoreN(y, d, c + at, count);
    };
    finish(hn::Load(d, total + 2 * r * lanes), 0, HWY_MIN(columns, lanes));
    if (columns > lanes) {
      finish(hn::Load(d, total + (2 * r + 1) * lanes), lanes, columns - lanes);
    }
  }
}

void GemmF32Impl(const GemmF32Args& g) {
  const TagF32 d;
  const size_t width = 2 * hn::Lanes(d);
  // 12 sums, 2 of B and 1 of A fill the 16 registers of AVX2; with 32 registers there is room for
  // more rows.
  constexpr size_t kRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;
  Budget::Pace pace;
  const auto tile_units = static_cast<int64_t>(kRows * width * (g.k + 1));
  for (size_t j = 0; j < g.n; j += width) {
    const size_t columns = HWY_MIN(width, g.n - j);
    const float* b = g.scratch;
    size_t stride = width;
    if (g.pack != nullptr) {
      g.pack(g.pack_source, j, columns, width, g.scratch);
      for (size_t p = 0; columns < width && p < g.k; ++p) {
        for (size_t i = columns; i < width; ++i) g.scratch[p * width + i] = 0;
      }
    } else if (g.m > 2 * kRows || columns < width) {
      // Read often enough to be worth a copy that lies together; partial panels are filled up with
      // zeros.
      float* HWY_RESTRICT to = g.scratch;
      for (size_t p = 0; p < g.k; ++p, to += width) {
        const float* HWY_RESTRICT from = g.b + p * g.ldb + j;
        size_t i = 0;
        for (; i < columns; ++i) to[i] = from[i];
        for (; i < width; ++i) to[i] = 0;
      }
    } else {
      b = g.k == 0 ? nullptr : g.b + j;
      stride = g.ldb;
    }
    size_t i = 0;
    for (; i + kRows <= g.m; i += kRows) {
      if (pace.Stop(tile_units)) return;
      Tile<kRows>(g, i, j, columns, b, stride);
    }
    for (; i + 4 <= g.m; i += 4) Tile<4>(g, i, j, columns, b, stride);
    for (; i < g.m; ++i) Tile<1>(g, i, j, columns, b, stride);
    if (pace.Stop(tile_units)) return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(GemmF32Impl);
void GemmF32(const GemmF32Args& args) { HWY_DYNAMIC_DISPATCH(GemmF32Impl)(args); }

}  // namespace belay
#endif  // HWY_ONCE
