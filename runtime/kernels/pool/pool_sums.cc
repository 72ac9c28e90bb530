#include "runtime/kernels/pool/pool_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pool/pool_sums.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void SumRowsImpl(const float* HWY_RESTRICT in, int64_t rows, int64_t step, int64_t n, bool add,
                 double* HWY_RESTRICT sums) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    auto a = add ? hn::LoadU(d, sums + i) : hn::Zero(d);
    auto b = add ? hn::LoadU(d, sums + i + lanes) : hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r) {
      a = hn::Add(a, hn::PromoteTo(d, hn::LoadU(df, in + r * step + i)));
      b = hn::Add(b, hn::PromoteTo(d, hn::LoadU(df, in + r * step + i + lanes)));
    }
    hn::StoreU(a, d, sums + i);
    hn::StoreU(b, d, sums + i + lanes);
  }
  for (; i < n; i += lanes) {
    const auto count = static_cast<size_t>(HWY_MIN(lanes, n - i));
    auto a = add ? hn::LoadN(d, sums + i, count) : hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r) {
      a = hn::Add(a, hn::PromoteTo(d, hn::LoadN(df, in + r * step + i, count)));
    }
    hn::StoreN(a, d, sums + i, count);
  }
}

void ScaleSumsImpl(const double* HWY_RESTRICT sums, double factor, int64_t n,
                   float* HWY_RESTRICT out) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < n; i += lanes) {
    const auto count = static_cast<size_t>(HWY_MIN(lanes, n - i));
    hn::StoreN(hn::DemoteTo(df, hn::Mul(hn::LoadN(d, sums + i, count), hn::Set(d, factor))), df,
               out + i, count);
  }
}

void AverageWindowImpl(const float* HWY_RESTRICT in, const WindowPixels& w, float factor,
                       float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, factor);
  const auto for_each = [&](auto add) HWY_ATTR {
    for (int64_t p = 0; p < w.planes; ++p) {
      for (int64_t r = 0; r < w.rows; ++r) {
        const float* x = in + p * w.plane_step + r * w.row_step;
        for (int64_t c = 0; c < w.columns; ++c, x += w.channels) add(x);
      }
    }
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= w.channels; i += 2 * lanes) {
    auto a = hn::Zero(d), b = hn::Zero(d);
    for_each([&](const float* x) HWY_ATTR {
      a = hn::Add(a, hn::LoadU(d, x + i));
      b = hn::Add(b, hn::LoadU(d, x + i + lanes));
    });
    hn::StoreU(hn::Mul(a, scale), d, out + i);
    hn::StoreU(hn::Mul(b, scale), d, out + i + lanes);
  }
  for (; i < w.channels; i += lanes) {
    const auto n = static_cast<size_t>(HWY_MIN(lanes, w.channels - i));
    auto a = hn::Zero(d);
    for_each([&](const float* x) HWY_ATTR { a = hn::Add(a, hn::LoadN(d, x + i, n)); });
    hn::StoreN(hn::Mul(a, scale), d, out + i, n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(SumRowsImpl);
HWY_EXPORT(ScaleSumsImpl);
HWY_EXPORT(AverageWindowImpl);
void SumRows(const float* in, int64_t rows, int64_t step, int64_t n, bool add, double* sums) {
  HWY_DYNAMIC_DISPATCH(SumRowsImpl)(in, rows, step, n, add, sums);
}
void ScaleSums(const double* sums, double factor, int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(ScaleSumsImpl)(sums, factor, n, out);
}
void AverageWindow(const float* in, const WindowPixels& window, float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(AverageWindowImpl)(in, window, factor, out);
}

}  // namespace belay
#endif  // HWY_ONCE
