#include "runtime/kernels/norm/norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/norm/norm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <cmath>

#include "hwy/highway.h"
#include "runtime/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

HWY_INLINE RowStatistics LayerNormRow(const float* in, size_t n, const float* HWY_RESTRICT weight,
                                      const float* HWY_RESTRICT bias, float eps, float* out) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const float mean = SumOf(d, in, n) / static_cast<float>(n);
  const auto center = hn::Set(d, mean);
  auto squares = hn::Zero(d), rests = hn::Zero(d);
  auto squares2 = hn::Zero(d), rests2 = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto x = hn::Sub(hn::LoadU(d, in + i), center);
    const auto y = hn::Sub(hn::LoadU(d, in + i + lanes), center);
    rests = hn::Add(rests, x);
    rests2 = hn::Add(rests2, y);
    squares = hn::MulAdd(x, x, squares);
    squares2 = hn::MulAdd(y, y, squares2);
  }
  rests = hn::Add(rests, rests2);
  squares = hn::Add(squares, squares2);
  for (; i + lanes <= n; i += lanes) {
    const auto x = hn::Sub(hn::LoadU(d, in + i), center);
    rests = hn::Add(rests, x);
    squares = hn::MulAdd(x, x, squares);
  }
  if (i < n) {
    const auto x =
        hn::IfThenElseZero(hn::FirstN(d, n - i), hn::Sub(hn::LoadN(d, in + i, n - i), center));
    rests = hn::Add(rests, x);
    squares = hn::MulAdd(x, x, squares);
  }
  // Corrects the rounding error of the mean, which matters if the elements are nearly equal.
  const float rest = hn::ReduceSum(d, rests) / static_cast<float>(n);
  const float variance = hn::ReduceSum(d, squares) / static_cast<float>(n) - rest * rest;
  const float rstd = 1.0f / std::sqrt((variance < 0 ? 0 : variance) + eps);
  const auto left = hn::Set(d, rest);
  const auto scale = hn::Set(d, rstd);
  const auto normalized = [&](auto x, size_t at, size_t count) HWY_ATTR {
    auto y = hn::Mul(hn::Sub(hn::Sub(x, center), left), scale);
    if (weight != nullptr) y = hn::Mul(y, hn::LoadN(d, weight + at, count));
    if (bias != nullptr) y = hn::Add(y, hn::LoadN(d, bias + at, count));
    return y;
  };
  i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(normalized(hn::LoadU(d, in + i), i, lanes), d, out + i);
  if (i < n) hn::StoreN(normalized(hn::LoadN(d, in + i, n - i), i, n - i), d, out + i, n - i);
  return {std::isfinite(mean) ? mean + rest : mean, rstd};
}

RowStatistics LayerNormRowF32Impl(const float* in, size_t n, const float* weight, const float* bias,
                                  float eps, float* out) {
  return LayerNormRow(in, n, weight, bias, eps, out);
}

void LayerNormRowsF32Impl(const float* in, size_t rows, size_t n, const float* weight,
                          const float* bias, float eps, float* out, float* mean, float* rstd) {
  for (size_t r = 0; r < rows; ++r, in += n, out += n) {
    const RowStatistics s = LayerNormRow(in, n, weight, bias, eps, out);
    mean[r] = s.mean;
    rstd[r] = s.rstd;
  }
}

void NormalizeF32Impl(const float* HWY_RESTRICT in, size_t n, float mean, float factor,
                      float offset, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto m = hn::Set(d, mean), f = hn::Set(d, factor), o = hn::Set(d, offset);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, in + i), m), f, o), d, out + i);
  if (i < n)
    hn::StoreN(hn::MulAdd(hn::Sub(hn::LoadN(d, in + i, n - i), m), f, o), d, out + i, n - i);
}

void NormalizeColumnsF32Impl(const float* in, size_t rows, size_t columns,
                             const float* HWY_RESTRICT mean, const float* HWY_RESTRICT factor,
                             const float* HWY_RESTRICT offset, float* out) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t r = 0; r < rows; ++r, in += columns, out += columns) {
    size_t c = 0;
    for (; c + lanes <= columns; c += lanes) {
      const auto x = hn::Sub(hn::LoadU(d, in + c), hn::LoadU(d, mean + c));
      hn::StoreU(hn::MulAdd(x, hn::LoadU(d, factor + c), hn::LoadU(d, offset + c)), d, out + c);
    }
    if (c < columns) {
      const size_t n = columns - c;
      const auto x = hn::Sub(hn::LoadN(d, in + c, n), hn::LoadN(d, mean + c, n));
      hn::StoreN(hn::MulAdd(x, hn::LoadN(d, factor + c, n), hn::LoadN(d, offset + c, n)), d,
                 out + c, n);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(LayerNormRowF32Impl);
HWY_EXPORT(LayerNormRowsF32Impl);
HWY_EXPORT(NormalizeF32Impl);
HWY_EXPORT(NormalizeColumnsF32Impl);
void NormalizeColumnsF32(const float* in, size_t rows, size_t columns, const float* mean,
                         const float* factor, const float* offset, float* out) {
  HWY_DYNAMIC_DISPATCH(NormalizeColumnsF32Impl)(in, rows, columns, mean, factor, offset, out);
}
RowStatistics LayerNormRowF32(const float* in, size_t n, const float* weight, const float* bias,
                              float eps, float* out) {
  return HWY_DYNAMIC_DISPATCH(LayerNormRowF32Impl)(in, n, weight, bias, eps, out);
}
void LayerNormRowsF32(const float* in, size_t rows, size_t n, const float* weight,
                      const float* bias, float eps, float* out, float* mean, float* rstd) {
  HWY_DYNAMIC_DISPATCH(LayerNormRowsF32Impl)(in, rows, n, weight, bias, eps, out, mean, rstd);
}
void NormalizeF32(const float* in, size_t n, float mean, float factor, float offset, float* out) {
  HWY_DYNAMIC_DISPATCH(NormalizeF32Impl)(in, n, mean, factor, offset, out);
}

}  // namespace belay
#endif  // HWY_ONCE
