#include "runtime/kernels/softmax/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/softmax/softmax.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <cmath>

#include "hwy/highway.h"
#include "runtime/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

// max(top, x), or NaN if x is: x86 gives the second operand when one is NaN, Arm the number.
template <class D, class V>
HWY_INLINE V Larger(D d, V top, V x) {
  const V either = hn::Max(top, x);
  return HWY_TARGET_IS_NEON ? hn::IfThenElse(hn::IsNaN(x), x, either) : either;
}

// Returns the maximum of a row without NaN. A row of only NaN gives NaN, to distinguish it from a
// row of -inf. For other rows with NaN, the result is unspecified.
HWY_INLINE float MaxOf(const float* HWY_RESTRICT in, size_t n) {
  const hn::ScalableTag<float> d;
  const auto larger = [&](auto top, auto x) HWY_ATTR { return Larger(d, top, x); };
  const size_t lanes = hn::Lanes(d);
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto top = lowest;
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) top = larger(top, hn::LoadU(d, in + i));
  if (i < n) top = larger(top, hn::LoadNOr(lowest, d, in + i, n - i));
  return hn::ReduceMax(d, top);
}

// exp(x) for x <= 0 or NaN, which stays NaN; 0 if the result were subnormal, since arithmetic with
// subnormal numbers is slow.
template <class D, class V>
HWY_INLINE V NormalExp(D d, V x) {
  const V least = hn::Set(d, -87.0f);
  return hn::IfThenZeroElse(hn::Lt(x, least), SafeExp(d, x));
}

// Returns the sum of exp(x - top); with kStore, writes the exponentials to `out`.
template <bool kStore>
HWY_INLINE float SumOfExponentials(const float* in, size_t n, float top, float* out) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto offset = hn::Set(d, top);
  auto sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto y = NormalExp(d, hn::Sub(hn::LoadU(d, in + i), offset));
    if (kStore) hn::StoreU(y, d, out + i);
    sum = hn::Add(sum, y);
  }
  if (i < n) {
    const auto y = NormalExp(d, hn::Sub(hn::LoadN(d, in + i, n - i), offset));
    if (kStore) hn::StoreN(y, d, out + i, n - i);
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, n - i), y));
  }
  return hn::ReduceSum(d, sum);
}

void SoftmaxRowF32Impl(const float* in, size_t n, float* out) {
  const float sum = SumOfExponentials<true>(in, n, MaxOf(in, n), out);
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto divisor = hn::Set(d, sum);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Div(hn::LoadU(d, out + i), divisor), d, out + i);
  if (i < n) hn::StoreN(hn::Div(hn::LoadN(d, out + i, n - i), divisor), d, out + i, n - i);
}

// kVectors vectors of columns; with kPartial one vector of `count` columns. With kLog, the logarithm.
template <bool kLog, size_t kVectors, bool kPartial>
HWY_INLINE void SoftmaxBlock(const float* in, size_t n, size_t in_step, size_t count, float* out,
                             size_t out_step) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const auto load = [&](const float* from, size_t v) HWY_ATTR {
    return kPartial ? hn::LoadN(d, from, count) : hn::LoadU(d, from + v * lanes);
  };
  const auto store = [&](V x, float* to, size_t v) HWY_ATTR {
    if constexpr (kPartial) {
      hn::StoreN(x, d, to, count);
    } else {
      hn::StoreU(x, d, to + v * lanes);
    }
  };
  V top[kVectors], sum[kVectors];
  for (size_t v = 0; v < kVectors; ++v) {
    top[v] = hn::Set(d, -std::numeric_limits<float>::infinity());
    sum[v] = hn::Zero(d);
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t v = 0; v < kVectors; ++v) top[v] = Larger(d, top[v], load(in + i * in_step, v));
  }
  if constexpr (kLog) {
    // As LogOfSum: elements equal to `top` are counted. If `top` is not finite, all results are NaN.
    const V one = hn::Set(d, 1.0f);
    V others[kVectors];
    for (size_t v = 0; v < kVectors; ++v) others[v] = hn::Sub(hn::Sub(top[v], top[v]), one);
    for (size_t i = 0; i < n; ++i) {
      for (size_t v = 0; v < kVectors; ++v) {
        const V x = load(in + i * in_step, v);
        const auto is_top = hn::Eq(x, top[v]);
        others[v] = hn::Add(others[v], hn::IfThenElseZero(is_top, one));
        sum[v] = hn::Add(sum[v], hn::IfThenZeroElse(is_top, NormalExp(d, hn::Sub(x, top[v]))));
      }
    }
    for (size_t v = 0; v < kVectors; ++v) {
      sum[v] = hn::Add(sum[v], others[v]);
      sum[v] = hn::MulAdd(sum[v], hn::Zero(d), hn::Log1p(d, sum[v]));  // keeps NaN
    }
    for (size_t i = 0; i < n; ++i) {
      for (size_t v = 0; v < kVectors; ++v) {
        const V x = load(in + i * in_step, v);
        store(hn::Sub(hn::Sub(x, top[v]), sum[v]), out + i * out_step, v);
      }
    }
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t v = 0; v < kVectors; ++v) {
      const V y = NormalExp(d, hn::Sub(load(in + i * in_step, v), top[v]));
      sum[v] = hn::Add(sum[v], y);
      store(y, out + i * out_step, v);
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t v = 0; v < kVectors; ++v) {
      store(hn::Div(load(out + i * out_step, v), sum[v]), out + i * out_step, v);
    }
  }
}

template <bool kLog>
HWY_INLINE void Columns(const float* in, size_t n, size_t in_step, size_t columns, float* out,
                        size_t out_step) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  size_t c = 0;
  if constexpr (!kLog) {
    for (; c + 4 * lanes <= columns; c += 4 * lanes)
      SoftmaxBlock<kLog, 4, false>(in + c, n, in_step, 0, out + c, out_step);
    for (; c + lanes <= columns; c += lanes)
      SoftmaxBlock<kLog, 1, false>(in + c, n, in_step, 0, out + c, out_step);
  }
  for (; c < columns; c += lanes) {
    const size_t count = HWY_MIN(lanes, columns - c);
    SoftmaxBlock<kLog, 1, true>(in + c, n, in_step, count, out + c, out_step);
  }
}
void SoftmaxColumnsF32Impl(const float* in, size_t n, size_t in_step, size_t columns, float* out,
                           size_t out_step) {
  Columns<false>(in, n, in_step, columns, out, out_step);
}
void LogSoftmaxColumnsF32Impl(const float* in, size_t n, size_t in_step, size_t columns, float* out,
                              size_t out_step) {
  Columns<true>(in, n, in_step, columns, out, out_step);
}

// log(sum of exp(x - top)). Each maximal element adds 1. One of them is excluded from the sum and
// added by log1p, which keeps the digits of a sum near 1.
HWY_INLINE float LogOfSum(const float* in, size_t n, float top) {
  if (!std::isfinite(top)) return std::log(SumOfExponentials<false>(in, n, top, nullptr));
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto offset = hn::Set(d, top);
  auto sum = hn::Zero(d);
  size_t largest = 0;
  for (size_t i = 0; i < n; i += lanes) {
    const size_t count = HWY_MIN(lanes, n - i);
    const auto live = hn::FirstN(d, count);
    const auto x = hn::LoadN(d, in + i, count);
    const auto is_top = hn::And(live, hn::Eq(x, offset));
    largest += hn::CountTrue(d, is_top);
    sum = hn::Add(sum,
                  hn::IfThenElseZero(hn::AndNot(is_top, live), NormalExp(d, hn::Sub(x, offset))));
  }
  const float others = static_cast<float>(largest) - 1 + hn::ReduceSum(d, sum);
  return hn::GetLane(hn::Log1p(d, hn::Set(d, others)));
}

void LogSoftmaxRowF32Impl(const float* in, size_t n, float* out) {
  const float top = MaxOf(in, n);
  const float log_sum = LogOfSum(in, n, top);
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto a = hn::Set(d, top), b = hn::Set(d, log_sum);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, in + i), a), b), d, out + i);
  if (i < n) hn::StoreN(hn::Sub(hn::Sub(hn::LoadN(d, in + i, n - i), a), b), d, out + i, n - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(SoftmaxRowF32Impl);
HWY_EXPORT(LogSoftmaxRowF32Impl);
HWY_EXPORT(SoftmaxColumnsF32Impl);
void SoftmaxColumnsF32(const float* in, size_t n, size_t in_step, size_t columns, float* out,
                       size_t out_step) {
  HWY_DYNAMIC_DISPATCH(SoftmaxColumnsF32Impl)(in, n, in_step, columns, out, out_step);
}
HWY_EXPORT(LogSoftmaxColumnsF32Impl);
void LogSoftmaxColumnsF32(const float* in, size_t n, size_t in_step, size_t columns, float* out,
                          size_t out_step) {
  HWY_DYNAMIC_DISPATCH(LogSoftmaxColumnsF32Impl)(in, n, in_step, columns, out, out_step);
}
void SoftmaxRowF32(const float* in, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(SoftmaxRowF32Impl)(in, n, out);
}
void LogSoftmaxRowF32(const float* in, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(LogSoftmaxRowF32Impl)(in, n, out);
}

}  // namespace belay
#endif  // HWY_ONCE
