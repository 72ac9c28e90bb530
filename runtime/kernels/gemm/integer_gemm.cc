#include "runtime/kernels/gemm/integer_gemm.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/integer_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// As for floats (gemm.cc): accumulators, two vectors of B and one of A fill the registers.
constexpr size_t kRows = HWY_TARGET <= HWY_AVX3 ? 12 : 4;

template <class T, size_t kTileRows>
HWY_INLINE void IntegerTile(const IntegerPanel<T>& p, size_t row, size_t column) {
  const hn::CappedTag<T, kPanelColumns / 2> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const T* HWY_RESTRICT a = p.a + row * p.lda;
  const T* HWY_RESTRICT b = p.b + column;
  V sum0[kTileRows], sum1[kTileRows];
  for (size_t r = 0; r < kTileRows; ++r) sum0[r] = sum1[r] = hn::Zero(d);
  for (size_t k = 0; k < p.k; ++k, b += kPanelColumns) {
    const V b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + lanes);
    for (size_t r = 0; r < kTileRows; ++r) {
      const V x = hn::Set(d, a[r * p.lda + k]);
      sum0[r] = hn::Add(sum0[r], hn::Mul(x, b0));
      sum1[r] = hn::Add(sum1[r], hn::Mul(x, b1));
    }
  }
  const size_t columns = HWY_MIN(p.n - column, 2 * lanes);
  for (size_t r = 0; r < kTileRows; ++r) {
    T* HWY_RESTRICT c = p.c + (row + r) * p.ldc + column;
    hn::StoreN(sum0[r], d, c, HWY_MIN(columns, lanes));
    if (columns > lanes) hn::StoreN(sum1[r], d, c + lanes, columns - lanes);
  }
}

template <class T>
HWY_INLINE void MultiplyPanel(const IntegerPanel<T>& p) {
  const hn::CappedTag<T, kPanelColumns / 2> d;
  for (size_t j = 0; j < p.n; j += 2 * hn::Lanes(d)) {
    size_t i = 0;
    for (; i + kRows <= p.m; i += kRows) IntegerTile<T, kRows>(p, i, j);
    for (; i < p.m; ++i) IntegerTile<T, 1>(p, i, j);
  }
}

void MultiplyInt32Impl(const IntegerPanel<int32_t>& p) { MultiplyPanel(p); }
void MultiplyInt64Impl(const IntegerPanel<int64_t>& p) { MultiplyPanel(p); }

template <size_t kTileRows>
HWY_INLINE void ByteTile(const BytePanel& p, size_t row, size_t column) {
  const hn::CappedTag<int32_t, kPanelColumns / 2> d;
  const hn::Repartition<int8_t, decltype(d)> d8;
  const hn::Repartition<uint8_t, decltype(d)> du8;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d), lda = p.quads * kQuad;
  const uint8_t* HWY_RESTRICT a = p.a + row * lda;
  const int8_t* HWY_RESTRICT b = p.b + column * kQuad;
  V sum0[kTileRows], sum1[kTileRows];
  for (size_t r = 0; r < kTileRows; ++r) sum0[r] = sum1[r] = hn::Zero(d);
  for (size_t q = 0; q < p.quads; ++q, b += kPanelColumns * kQuad) {
    const auto b0 = hn::LoadU(d8, b), b1 = hn::LoadU(d8, b + lanes * kQuad);
    for (size_t r = 0; r < kTileRows; ++r) {
      int32_t four;
      std::memcpy(&four, a + r * lda + q * kQuad, kQuad);
      const auto x = hn::BitCast(du8, hn::Set(d, four));
      sum0[r] = hn::SumOfMulQuadAccumulate(d, x, b0, sum0[r]);
      sum1[r] = hn::SumOfMulQuadAccumulate(d, x, b1, sum1[r]);
    }
  }
  const size_t columns = HWY_MIN(p.n - column, 2 * lanes);
  for (size_t r = 0; r < kTileRows; ++r) {
    int32_t* HWY_RESTRICT c = p.c + (row + r) * p.ldc + column;
    hn::StoreN(sum0[r], d, c, HWY_MIN(columns, lanes));
    if (columns > lanes) hn::StoreN(sum1[r], d, c + lanes, columns - lanes);
  }
}

void MultiplyBytesImpl(const BytePanel& p) {
  const hn::CappedTag<int32_t, kPanelColumns / 2> d;
  for (size_t j = 0; j < p.n; j += 2 * hn::Lanes(d)) {
    size_t i = 0;
    for (; i + kRows <= p.m; i += kRows) ByteTile<kRows>(p, i, j);
    for (; i < p.m; ++i) ByteTile<1>(p, i, j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(MultiplyInt32Impl);
HWY_EXPORT(MultiplyInt64Impl);
HWY_EXPORT(MultiplyBytesImpl);
void MultiplyIntegers(const IntegerPanel<int32_t>& panel) {
  HWY_DYNAMIC_DISPATCH(MultiplyInt32Impl)(panel);
}
void MultiplyIntegers(const IntegerPanel<int64_t>& panel) {
  HWY_DYNAMIC_DISPATCH(MultiplyInt64Impl)(panel);
}
void MultiplyBytes(const BytePanel& panel) { HWY_DYNAMIC_DISPATCH(MultiplyBytesImpl)(panel); }

}  // namespace belay
#endif  // HWY_ONCE
