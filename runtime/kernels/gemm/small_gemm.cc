#include "runtime/kernels/gemm/small_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/small_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/core/flush_subnormals.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

// Computes kRows rows of kVectors vectors of columns; the last vector has `last` columns.
template <size_t kRows, size_t kVectors>
HWY_INLINE void Tile(const PackedGemmArgs& g, const float* HWY_RESTRICT a,
                     const float* HWY_RESTRICT b, size_t last, float* HWY_RESTRICT c) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kRows][kVectors];
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (size_t p = 0; p < g.k; ++p, b += g.ldb) {
    V row[kVectors];
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v + 1 < kVectors; ++v) row[v] = hn::LoadU(d, b + v * lanes);
    row[kVectors - 1] = hn::LoadN(d, b + (kVectors - 1) * lanes, last);
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[r * g.lda + p]);
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, row[v], sums[r][v]);
    }
  }
  const V alpha = hn::Set(d, g.alpha);
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    float* const to = c + r * g.ldc;
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v + 1 < kVectors; ++v) {
      hn::StoreU(hn::Mul(alpha, sums[r][v]), d, to + v * lanes);
    }
    hn::StoreN(hn::Mul(alpha, sums[r][kVectors - 1]), d, to + (kVectors - 1) * lanes, last);
  }
}

template <size_t kVectors>
HWY_INLINE void Rows(const PackedGemmArgs& g, size_t first_row, size_t last_row, size_t column,
                     size_t last) {
  constexpr size_t kRows = 4;
  const float* const b = g.b + column;
  size_t r = first_row;
  for (; r + kRows <= last_row; r += kRows) {
    Tile<kRows, kVectors>(g, g.a + r * g.lda, b, last, g.c + r * g.ldc + column);
  }
  for (; r < last_row; ++r) {
    Tile<1, kVectors>(g, g.a + r * g.lda, b, last, g.c + r * g.ldc + column);
  }
}

void SmallRows(const PackedGemmArgs& g, size_t first_row, size_t last_row) {
  const size_t lanes = hn::Lanes(D());
  for (size_t j = 0; j < g.n; j += 2 * lanes) {
    const size_t columns = HWY_MIN(2 * lanes, g.n - j);
    if (columns > lanes) {
      Rows<2>(g, first_row, last_row, j, columns - lanes);
    } else {
      Rows<1>(g, first_row, last_row, j, columns);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(SmallRows);
void SmallGemmRows(const PackedGemmArgs& args, size_t first_row, size_t last_row) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(SmallRows)(args, first_row, last_row);
}

}  // namespace belay
#endif  // HWY_ONCE
