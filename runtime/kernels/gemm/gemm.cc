#include "runtime/kernels/gemm/gemm.h"

#include "runtime/core/budget.h"
#include "runtime/kernels/operands/ranges.h"

#ifndef BELAY_RUNTIME_KERNELS_GEMM_GEMM_PART_
#define BELAY_RUNTIME_KERNELS_GEMM_GEMM_PART_
namespace belay {
// The rows and columns of C that one call computes, and its panel of B.
struct GemmPart {
  size_t first_row, last_row, first_column, last_column;
  float* scratch;
};
}  // namespace belay
#endif

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

using V = hn::Vec<TagF32>;

// Computes kRows rows of C by kVectors vectors, one or two, and stores `columns` columns. `b` has
// rows of full vectors, `stride` apart.
template <size_t kRows, size_t kVectors>
HWY_INLINE void Tile(const GemmF32Args& g, size_t row, size_t column, size_t columns,
                     const float* HWY_RESTRICT b, size_t stride) {
  const TagF32 d;
  const size_t lanes = hn::Lanes(d);
  // If k is 0, A and B have no elements and may have no memory.
  const float* HWY_RESTRICT a = g.k == 0 ? nullptr : g.a + row * g.lda;
  // A long sum is the sum of block sums. Its error grows with the block length and the number of
  // blocks instead of with k. The totals are in memory; the registers accumulate a block.
  HWY_ALIGN float totals[2 * kRows * HWY_MAX_BYTES / sizeof(float)];
  // Arrays of vectors: scalable-vector targets are disabled (third_party/highway).
  V sum0[kRows], sum1[kRows];
  const size_t block = BlockOf(g);
  size_t p = 0;
  do {
    const bool first = p == 0;
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) sum0[r] = sum1[r] = hn::Zero(d);
    const size_t end = HWY_MIN(g.k, p + block);
    for (; p < end; ++p, b += stride) {
      const V b0 = hn::LoadU(d, b);
      V b1 = b0;
      if constexpr (kVectors == 2) b1 = hn::LoadU(d, b + lanes);
      HWY_UNROLL(kRows)
      for (size_t r = 0; r < kRows; ++r) {
        const V x = hn::Set(d, a[r * g.lda + p]);
        sum0[r] = hn::MulAdd(x, b0, sum0[r]);
        if constexpr (kVectors == 2) sum1[r] = hn::MulAdd(x, b1, sum1[r]);
      }
    }
    const bool last = p == g.k;
    if (first && last) break;
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      float* HWY_RESTRICT total = totals + 2 * r * lanes;
      if (!first) {
        sum0[r] = hn::Add(hn::Load(d, total), sum0[r]);
        if constexpr (kVectors == 2) sum1[r] = hn::Add(hn::Load(d, total + lanes), sum1[r]);
      }
      if (!last) {
        hn::Store(sum0[r], d, total);
        if constexpr (kVectors == 2) hn::Store(sum1[r], d, total + lanes);
      }
    }
  } while (p < g.k);
  const V alpha = hn::Set(d, g.alpha);
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const V bias = g.row_bias == nullptr ? hn::Zero(d) : hn::Set(d, g.row_bias[row + r]);
    float* HWY_RESTRICT c = g.c + (row + r) * g.ldc + column;
    const auto finish = [&](V sum, size_t at, size_t count) HWY_ATTR {
      V y = hn::Add(hn::Mul(sum, alpha), bias);
      if (g.column_bias != nullptr)
        y = hn::Add(y, hn::LoadN(d, g.column_bias + column + at, count));
      if (HWY_LIKELY(count == lanes)) {
        hn::StoreU(y, d, c + at);
      } else {
        hn::StoreN(y, d, c + at, count);
      }
    };
    finish(sum0[r], 0, HWY_MIN(columns, lanes));
    if constexpr (kVectors == 2) {
      if (columns > lanes) finish(sum1[r], lanes, columns - lanes);
    }
  }
}

// Computes rows [first, last) of a panel of at most kVectors vectors. Returns false if the budget is
// used up.
template <size_t kVectors>
HWY_INLINE bool Panel(const GemmF32Args& g, size_t first, size_t last, size_t column,
                      size_t columns, const float* HWY_RESTRICT b, size_t stride,
                      Budget::Pace& pace) {
  // 12 accumulators, 2 vectors of B and 1 of A fit the 16 registers of AVX2. With 32 registers,
  // more rows fit.
  constexpr size_t kRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;
  const auto units = static_cast<int64_t>(kRows * kVectors * hn::Lanes(TagF32()) * (g.k + 1));
  size_t i = first;
  for (; i + kRows <= last; i += kRows) {
    if (pace.Stop(units)) return false;
    Tile<kRows, kVectors>(g, i, column, columns, b, stride);
  }
  if constexpr (kRows > 8) {
    for (; i + 8 <= last; i += 8) Tile<8, kVectors>(g, i, column, columns, b, stride);
  }
  for (; i + 4 <= last; i += 4) Tile<4, kVectors>(g, i, column, columns, b, stride);
  for (; i < last; ++i) Tile<1, kVectors>(g, i, column, columns, b, stride);
  return !pace.Stop(units);
}

// Number of columns up to which rows of A are multiplied by columns of B, both contiguous.
constexpr size_t kFewColumns = 8;

// Computes the sums of kRows rows of A with each column. `columns` has the columns of B, k apart.
template <size_t kRows>
HWY_INLINE void DotProducts(const GemmF32Args& g, size_t row, const float* HWY_RESTRICT columns) {
  constexpr size_t kParts = 2;  // accumulators per row, which hide the latency of additions
  const TagF32 d;
  const size_t lanes = hn::Lanes(d), step = kParts * lanes, whole = g.k - g.k % step;
  const size_t block = BlockOf(g) * step;
  const float* HWY_RESTRICT a = g.a + row * g.lda;
  for (size_t j = 0; j < g.n; ++j) {
    const float* HWY_RESTRICT b = columns + j * g.k;
    V totals[kRows];
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) totals[r] = hn::Zero(d);
    for (size_t start = 0; start < whole; start += block) {
      V sums[kRows * kParts];
      HWY_UNROLL(kRows * kParts)
      for (size_t i = 0; i < kRows * kParts; ++i) sums[i] = hn::Zero(d);
      for (size_t p = start; p < HWY_MIN(whole, start + block); p += step) {
        HWY_UNROLL(kRows * kParts)
        for (size_t i = 0; i < kRows * kParts; ++i) {
          const size_t at = p + i % kParts * lanes;
          sums[i] =
              hn::MulAdd(hn::LoadU(d, a + i / kParts * g.lda + at), hn::LoadU(d, b + at), sums[i]);
        }
      }
      HWY_UNROLL(kRows * kParts)
      for (size_t i = 0; i < kRows * kParts; ++i) {
        totals[i / kParts] = hn::Add(totals[i / kParts], sums[i]);
      }
    }
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t p = whole; p < g.k; p += lanes) {
        totals[r] = hn::MulAdd(hn::LoadN(d, a + r * g.lda + p, g.k - p),
                               hn::LoadN(d, b + p, g.k - p), totals[r]);
      }
      float y = hn::ReduceSum(d, totals[r]) * g.alpha;
      y += g.row_bias == nullptr ? 0.0f : g.row_bias[row + r];
      if (g.column_bias != nullptr) y += g.column_bias[j];
      g.c[(row + r) * g.ldc + j] = y;
    }
  }
}

// Computes the rows of a part if B has few columns, by dot products.
void FewColumns(const GemmF32Args& g, const GemmPart& part) {
  const bool in_place = g.pack == nullptr && g.n == 1 && g.ldb == 1;
  const float* columns = in_place ? g.b : part.scratch;
  for (size_t j = 0; j < g.n && !in_place; ++j) {
    float* HWY_RESTRICT to = part.scratch + j * g.k;
    if (g.pack != nullptr) {
      g.pack(g.pack_source, j, 1, 1, to);
    } else {
      for (size_t p = 0; p < g.k; ++p) to[p] = g.b[p * g.ldb + j];
    }
  }
  Budget::Pace pace;
  constexpr size_t kRows = 4;
  size_t i = part.first_row;
  for (; i + kRows <= part.last_row; i += kRows) {
    if (pace.Stop(static_cast<int64_t>(kRows * g.n * g.k))) return;
    DotProducts<kRows>(g, i, columns);
  }
  for (; i < part.last_row; ++i) DotProducts<1>(g, i, columns);
}

void GemmPartImpl(const GemmF32Args& g, const GemmPart& part) {
  const TagF32 d;
  const size_t lanes = hn::Lanes(d), width = 2 * lanes;
  if (g.n <= kFewColumns && g.k >= 4 * lanes) return FewColumns(g, part);
  constexpr size_t kReads = 24;  // rows of A from which a copied panel pays off
  Budget::Pace pace;
  for (size_t j = part.first_column; j < part.last_column; j += width) {
    const size_t columns = HWY_MIN(width, part.last_column - j);
    const size_t used = columns <= lanes ? lanes : width;
    const float* b = part.scratch;
    size_t stride = used;
    if (g.pack != nullptr) {
      g.pack(g.pack_source, j, columns, used, part.scratch);
      for (size_t p = 0; columns < used && p < g.k; ++p) {
        for (size_t i = columns; i < used; ++i) part.scratch[p * used + i] = 0;
      }
    } else if (g.m > kReads || columns < used) {
      // Partial panels are padded with zeros.
      float* HWY_RESTRICT to = part.scratch;
      for (size_t p = 0; p < g.k; ++p, to += used) {
        const float* HWY_RESTRICT from = g.b + p * g.ldb + j;
        size_t i = 0;
        for (; i < columns; ++i) to[i] = from[i];
        for (; i < used; ++i) to[i] = 0;
      }
    } else {
      b = g.k == 0 ? nullptr : g.b + j;
      stride = g.ldb;
    }
    const bool goes_on =
        used == lanes ? Panel<1>(g, part.first_row, part.last_row, j, columns, b, stride, pace)
                      : Panel<2>(g, part.first_row, part.last_row, j, columns, b, stride, pace);
    if (!goes_on) return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(GemmPartImpl);

void GemmF32(const GemmF32Args& args) {
  HWY_DYNAMIC_DISPATCH(GemmPartImpl)(args, {0, args.m, 0, args.n, args.scratch});
}

void GemmF32(const KernelContext& context, const GemmF32Args& args) {
  const double work =
      static_cast<double>(args.m) * static_cast<double>(args.n) * static_cast<double>(args.k);
  const bool by_columns =
      args.n >= 2 * kGemmPanelColumns * static_cast<size_t>(context.num_threads());
  // Whole panels, or whole tiles of every instruction set.
  const int64_t step = by_columns ? int64_t{kGemmPanelColumns} : 12;
  const size_t count = by_columns ? args.n : args.m;
  RunRanges(context, static_cast<int64_t>(count), step, work,
            [&](int part, int64_t begin, int64_t end) {
              const auto first = static_cast<size_t>(begin), last = static_cast<size_t>(end);
              float* const scratch = args.scratch + static_cast<size_t>(part) * GemmScratch(args.k);
              HWY_DYNAMIC_DISPATCH(GemmPartImpl)
              (args, by_columns ? GemmPart{0, args.m, first, last, scratch}
                                : GemmPart{first, last, 0, args.n, scratch});
            });
}

}  // namespace belay
#endif  // HWY_ONCE
