#include "runtime/kernels/packed/token_rows.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/token_rows.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;

float SumOfSquares(const float* HWY_RESTRICT in, size_t n) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto x = hn::LoadU(d, in + i), y = hn::LoadU(d, in + i + lanes);
    const auto z = hn::LoadU(d, in + i + 2 * lanes), w = hn::LoadU(d, in + i + 3 * lanes);
    a = hn::MulAdd(x, x, a);
    b = hn::MulAdd(y, y, b);
    c = hn::MulAdd(z, z, c);
    e = hn::MulAdd(w, w, e);
  }
  for (; i < n; i += lanes) {
    const auto x = hn::LoadN(d, in + i, HWY_MIN(lanes, n - i));
    a = hn::MulAdd(x, x, a);
  }
  return hn::ReduceSum(d, hn::Add(hn::Add(a, b), hn::Add(c, e)));
}

void RmsNorm(const float* in, const float* weight, float epsilon, size_t rows, size_t n,
             float* out) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  for (size_t r = 0; r < rows; ++r, in += n, out += n) {
    const float mean = SumOfSquares(in, n) / static_cast<float>(n);
    const auto factor = hn::Set(d, 1.0f / std::sqrt(mean + epsilon));
    for (size_t i = 0; i < n; i += lanes) {
      const size_t some = HWY_MIN(lanes, n - i);
      auto y = hn::Mul(hn::LoadN(d, in + i, some), factor);
      if (weight != nullptr) y = hn::Mul(y, hn::LoadN(d, weight + i, some));
      hn::StoreN(y, d, out + i, some);
    }
  }
}

void Rotate(const float* HWY_RESTRICT in, const float* HWY_RESTRICT cosine,
            const float* HWY_RESTRICT sine, size_t half, size_t second, float* HWY_RESTRICT out) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  for (size_t j = 0; j < half; j += lanes) {
    const size_t some = HWY_MIN(lanes, half - j);
    const auto load = [&](const float* from) HWY_ATTR { return hn::LoadN(d, from + j, some); };
    const auto x = load(in), y = load(in + half);
    const auto cos0 = load(cosine), sin0 = load(sine);
    const auto cos1 = load(cosine + second), sin1 = load(sine + second);
    hn::StoreN(hn::NegMulAdd(y, sin0, hn::Mul(x, cos0)), d, out + j, some);
    hn::StoreN(hn::MulAdd(x, sin1, hn::Mul(y, cos1)), d, out + half + j, some);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(RmsNorm);
HWY_EXPORT(Rotate);
void RmsNormRows(const float* in, const float* weight, float epsilon, size_t rows, size_t n,
                 float* out) {
  HWY_DYNAMIC_DISPATCH(RmsNorm)(in, weight, epsilon, rows, n, out);
}
void RotateRow(const float* in, const float* cosine, const float* sine, size_t half, size_t second,
               float* out) {
  HWY_DYNAMIC_DISPATCH(Rotate)(in, cosine, sine, half, second, out);
}

}  // namespace belay
#endif  // HWY_ONCE
