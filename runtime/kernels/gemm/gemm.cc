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

// Vectors whose lanes do not exceed the size of the scratch panel.
using TagF32 = hn::CappedTag<float, kGemmPanelColumns / 2>;

// Number of products summed per K block. Large enough that storing partial sums between blocks
// costs almost nothing. Small GEMMs use smaller blocks for accuracy, since their cost is small
// anyway.
HWY_INLINE size_t BlockOf(const GemmF32Args& g) {
  constexpr size_t kSmall = size_t{1} << 17;
  return g.m * g.n * g.k <= kSmall ? 32 : 128;
}

// Computes kRows rows of C by two vectors, and stores `columns` columns. `b` has rows of two full
// vectors, `stride` apart.
template <size_t kRows>
HWY_INLINE void Tile(const GemmF32Args& g, size_t row, size_t column, size_t columns,
                     const float* HWY_RESTRICT b, size_t stride) {
  const TagF32 d;
  using V = hn::Vec<TagF32>;
  const size_t lanes = hn::Lanes(d);
  // If k is 0, A and B have no elements and may have no memory.
  const float* HWY_RESTRICT a = g.k == 0 ? nullptr : g.a + row * g.lda;
  // A long sum is the sum of block sums. Its error grows with the block length and the number of
  // blocks instead of with k. The totals are in memory; the registers accumulate a block.
  HWY_ALIGN float total[2 * kRows * HWY_MAX_BYTES / sizeof(float)];
  const size_t block = BlockOf(g);
  size_t p = 0;
  do {
    // Arrays of vectors: scalable-vector targets are disabled (third_party/highway).
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
  // 12 accumulators, 2 vectors of B and 1 of A fit the 16 registers of AVX2. With 32 registers,
  // more rows fit.
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
      // If the panel is reused often enough, a contiguous copy pays off. Partial panels are padded
      // with zeros.
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
