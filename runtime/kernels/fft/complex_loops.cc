#include "runtime/kernels/fft/complex_loops.h"

#include <complex>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/fft/complex_loops.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using DF = hn::Rebind<float, D>;

void MultiplyComplexImpl(const float* a, const float* b, size_t n, float* out) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  // Recovers infinities from NaN, as C's complex product does, and products that overflow in float.
  const auto one = [&](size_t k) HWY_ATTR {
    const std::complex<double> x(static_cast<double>(a[2 * k]), static_cast<double>(a[2 * k + 1]));
    const std::complex<double> y(static_cast<double>(b[2 * k]), static_cast<double>(b[2 * k + 1]));
    const std::complex<double> product = x * y;
    out[2 * k] = static_cast<float>(product.real());
    out[2 * k + 1] = static_cast<float>(product.imag());
  };
  for (size_t i = 0; i < 2 * n; i += lanes) {
    const size_t count = HWY_MIN(lanes, 2 * n - i);
    const auto x = hn::LoadN(d, a + i, count), y = hn::LoadN(d, b + i, count);
    // Even elements are xr yr - xi yi, odd ones xi yr + xr yi.
    const auto product =
        hn::MulAddSub(x, hn::DupEven(y), hn::Mul(hn::Reverse2(d, x), hn::DupOdd(y)));
    if (HWY_LIKELY(hn::AllTrue(d, hn::IsFinite(product)))) {
      hn::StoreN(product, d, out + i, count);
    } else {
      for (size_t k = i / 2; k < (i + count) / 2; ++k) one(k);
    }
  }
}

void ComplexMagnitudesImpl(const float* a, size_t n, float* out) {
  const D d;
  const DF df;
  const size_t lanes = hn::Lanes(d);
  const auto magnitude = [&](auto re, auto im) HWY_ATTR {
    const auto x = hn::PromoteTo(d, re), y = hn::PromoteTo(d, im);
    const auto root = hn::Sqrt(hn::Add(hn::Mul(x, x), hn::Mul(y, y)));
    const auto infinite = hn::Or(hn::IsInf(x), hn::IsInf(y));
    const auto inf = hn::Set(d, std::numeric_limits<double>::infinity());
    return hn::DemoteTo(df, hn::IfThenElse(infinite, inf, root));
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::Vec<DF> re, im;
    hn::LoadInterleaved2(df, a + 2 * i, re, im);
    hn::StoreU(magnitude(re, im), df, out + i);
  }
  for (; i < n; ++i) {
    const auto result = magnitude(hn::Set(df, a[2 * i]), hn::Set(df, a[2 * i + 1]));
    out[i] = hn::GetLane(result);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(MultiplyComplexImpl);
HWY_EXPORT(ComplexMagnitudesImpl);
void MultiplyComplex(const float* a, const float* b, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(MultiplyComplexImpl)(a, b, n, out);
}
void ComplexMagnitudes(const float* a, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(ComplexMagnitudesImpl)(a, n, out);
}

}  // namespace belay
#endif  // HWY_ONCE
