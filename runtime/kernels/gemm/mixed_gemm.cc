#include "runtime/kernels/gemm/mixed_gemm.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/mixed_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TagF32 = hn::CappedTag<float, kPanelColumns / 2>;
using VecF32 = hn::Vec<TagF32>;

HWY_INLINE VecF32 LoadWeights(const int8_t* HWY_RESTRICT b) {
  const TagF32 d;
  const hn::RebindToSigned<TagF32> di;
  const hn::Rebind<int8_t, TagF32> d8;
  return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, b)));
}

// Computes kRows rows by two vectors of columns from `column` on. No multiplication is fused with
// an addition.
template <size_t kRows>
HWY_INLINE void MixedTile(const MixedPanel& p, size_t row, size_t column) {
  const TagF32 d;
  const size_t lanes = hn::Lanes(d);
  const float* HWY_RESTRICT a = p.a + row * p.lda;
  const int8_t* HWY_RESTRICT b = p.b + column;
  VecF32 sum0[kRows], sum1[kRows];
  for (size_t r = 0; r < kRows; ++r) sum0[r] = sum1[r] = hn::Zero(d);
  if (p.group == 0) {
    for (size_t k = 0; k < p.k; ++k, b += p.ldb) {
      const VecF32 zero = hn::Set(d, p.zero[k]), scale = hn::Set(d, p.scale[k]);
      const VecF32 w0 = hn::Sub(LoadWeights(b), zero), w1 = hn::Sub(LoadWeights(b + lanes), zero);
      for (size_t r = 0; r < kRows; ++r) {
        const VecF32 x = hn::Set(d, a[r * p.lda + k]);
        sum0[r] = hn::Add(sum0[r], hn::Mul(hn::Mul(x, w0), scale));
        sum1[r] = hn::Add(sum1[r], hn::Mul(hn::Mul(x, w1), scale));
      }
    }
  } else {
    const float* HWY_RESTRICT scale = p.scale + column;
    const float* HWY_RESTRICT zero = p.zero + column;
    for (size_t first = 0; first < p.k; first += p.group) {
      const size_t end = HWY_MIN(p.k, first + p.group);
      const VecF32 zero0 = hn::LoadU(d, zero), zero1 = hn::LoadU(d, zero + lanes);
      VecF32 part0[kRows], part1[kRows];
      for (size_t r = 0; r < kRows; ++r) part0[r] = part1[r] = hn::Zero(d);
      for (size_t k = first; k < end; ++k, b += p.ldb) {
        const VecF32 w0 = hn::Sub(LoadWeights(b), zero0),
                     w1 = hn::Sub(LoadWeights(b + lanes), zero1);
        for (size_t r = 0; r < kRows; ++r) {
          const VecF32 x = hn::Set(d, a[r * p.lda + k]);
          part0[r] = hn::Add(part0[r], hn::Mul(x, w0));
          part1[r] = hn::Add(part1[r], hn::Mul(x, w1));
        }
      }
      const VecF32 scale0 = hn::LoadU(d, scale), scale1 = hn::LoadU(d, scale + lanes);
      for (size_t r = 0; r < kRows; ++r) {
        sum0[r] = hn::Add(sum0[r], hn::Mul(part0[r], scale0));
        sum1[r] = hn::Add(sum1[r], hn::Mul(part1[r], scale1));
      }
      scale += kPanelColumns;
      zero += kPanelColumns;
    }
  }
  const size_t columns = HWY_MIN(p.n - column, 2 * lanes);
  for (size_t r = 0; r < kRows; ++r) {
    float* HWY_RESTRICT c = p.c + (row + r) * p.ldc + column;
    hn::StoreN(sum0[r], d, c, HWY_MIN(columns, lanes));
    if (columns > lanes) hn::StoreN(sum1[r], d, c + lanes, columns - lanes);
  }
}

void MultiplyMixedImpl(const MixedPanel& p) {
  const TagF32 d;
  constexpr size_t kRows = HWY_TARGET <= HWY_AVX3 ? 6 : 3;
  for (size_t j = 0; j < p.n; j += 2 * hn::Lanes(d)) {
    size_t i = 0;
    for (; i + kRows <= p.m; i += kRows) MixedTile<kRows>(p, i, j);
    for (; i < p.m; ++i) MixedTile<1>(p, i, j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(MultiplyMixedImpl);
void MultiplyMixed(const MixedPanel& panel) {
  if (panel.k != 0) return HWY_DYNAMIC_DISPATCH(MultiplyMixedImpl)(panel);
  // If k is 0, the operands may have no memory.
  for (size_t row = 0; row < panel.m; ++row) {
    std::fill_n(panel.c + row * panel.ldc, panel.n, 0.0f);
  }
}

}  // namespace belay
#endif  // HWY_ONCE
