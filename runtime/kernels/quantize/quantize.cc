#include "runtime/kernels/quantize/quantize.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/quantize/quantize.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Op>
HWY_INLINE void Map(const float* in, size_t n, float* out, const Op& op) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(op(d, hn::LoadU(d, in + i)), d, out + i);
  if (i < n) hn::StoreN(op(d, hn::LoadN(d, in + i, n - i)), d, out + i, n - i);
}

template <class D, class V>
HWY_INLINE V Quantized(D d, V x, const QuantizeStepOf<hn::TFromD<D>>& s) {
  const auto zero = hn::Set(d, s.zero), low = hn::Set(d, s.low), high = hn::Set(d, s.high);
  auto q = hn::Mul(x, hn::Set(d, s.inverse));
  // All floats beyond 2^23, and doubles beyond 2^52, are integers; Round leaves them unchanged.
  q = s.add_first ? hn::Round(hn::Add(q, zero)) : hn::Add(hn::Round(q), zero);
  const auto raised = hn::IfThenElse(hn::Lt(q, low), low, q);
  return hn::IfThenElse(hn::Gt(raised, high), high, raised);
}
void QuantizeRunImpl(const float* in, size_t n, const QuantizeStep& s, float* out) {
  Map(in, n, out, [&s](auto d, auto x) HWY_ATTR { return Quantized(d, x, s); });
}

template <class S, class T>
HWY_INLINE void QuantizeBytes(const float* HWY_RESTRICT in, size_t n, const QuantizeStepOf<S>& s,
                              T* HWY_RESTRICT out) {
  const hn::ScalableTag<S> d;
  const hn::Rebind<float, decltype(d)> df;
  const hn::Rebind<int32_t, decltype(d)> d32;
  const hn::Rebind<T, decltype(d)> d8;
  const auto map = [&](auto bytes) HWY_ATTR {
    const size_t lanes = hn::Lanes(d);
    size_t i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(bytes(hn::LoadU(df, in + i)), d8, out + i);
    if (i < n) hn::StoreN(bytes(hn::LoadN(df, in + i, n - i)), d8, out + i, n - i);
  };
  if constexpr (std::is_same_v<S, float>) {
    // Bounds and zero point are integers: clamping before rounding gives the same.
    constexpr S kMostZero = 1 << 22;
    if (!s.add_first && s.zero >= -kMostZero && s.zero <= kMostZero &&
        s.zero == static_cast<S>(static_cast<int32_t>(s.zero))) {
      const auto inverse = hn::Set(d, s.inverse), low = hn::Set(d, s.low - s.zero),
                 high = hn::Set(d, s.high - s.zero);
      const auto zero = hn::Set(d32, static_cast<int32_t>(s.zero));
      return map([=](auto x) HWY_ATTR {
        const auto product = hn::Mul(x, inverse);
        const auto q = hn::NearestInt(hn::Min(hn::Max(product, low), high));
        const auto nan = hn::RebindMask(d32, hn::IsNaN(product));
        return hn::DemoteTo(d8, hn::IfThenZeroElse(nan, hn::Add(q, zero)));
      });
    }
  }
  map([&](auto x) HWY_ATTR {
    if constexpr (std::is_same_v<S, double>) {
      const auto q = Quantized(d, hn::PromoteTo(d, x), s);
      return hn::DemoteTo(d8, hn::DemoteTo(d32, hn::IfThenZeroElse(hn::IsNaN(q), q)));
    } else {
      const auto q = Quantized(d, x, s);
      return hn::DemoteTo(d8, hn::ConvertTo(d32, hn::IfThenZeroElse(hn::IsNaN(q), q)));
    }
  });
}
void QuantizeInt8RunImpl(const float* in, size_t n, const QuantizeStep& s, int8_t* out) {
  QuantizeBytes(in, n, s, out);
}
void QuantizeUint8RunImpl(const float* in, size_t n, const QuantizeStep& s, uint8_t* out) {
  QuantizeBytes(in, n, s, out);
}
void QuantizeInt8RunF64Impl(const float* in, size_t n, const QuantizeStepOf<double>& s,
                            int8_t* out) {
  QuantizeBytes(in, n, s, out);
}
void QuantizeUint8RunF64Impl(const float* in, size_t n, const QuantizeStepOf<double>& s,
                             uint8_t* out) {
  QuantizeBytes(in, n, s, out);
}

void DequantizeRunImpl(const float* in, size_t n, float zero, float scale, float* out) {
  Map(in, n, out, [zero, scale](auto d, auto x) HWY_ATTR {
    return hn::Mul(hn::Sub(x, hn::Set(d, zero)), hn::Set(d, scale));
  });
}

// A plain loop, which compilers vectorize best.
template <class T>
HWY_INLINE void DequantizeIntegers(const T* HWY_RESTRICT in, size_t n, float zero, float scale,
                                   float* HWY_RESTRICT out) {
  for (size_t i = 0; i < n; ++i) out[i] = (static_cast<float>(in[i]) - zero) * scale;
}
void DequantizeInt8RunImpl(const int8_t* in, size_t n, float zero, float scale, float* out) {
  DequantizeIntegers(in, n, zero, scale, out);
}
void DequantizeUint8RunImpl(const uint8_t* in, size_t n, float zero, float scale, float* out) {
  DequantizeIntegers(in, n, zero, scale, out);
}
void DequantizeInt16RunImpl(const int16_t* in, size_t n, float zero, float scale, float* out) {
  DequantizeIntegers(in, n, zero, scale, out);
}

template <class T>
HWY_INLINE void EachOf(const void* in, size_t n, const float* HWY_RESTRICT zero,
                       const float* HWY_RESTRICT scale, float* HWY_RESTRICT out) {
  const T* HWY_RESTRICT x = static_cast<const T*>(in);
  for (size_t i = 0; i < n; ++i) out[i] = (static_cast<float>(x[i]) - zero[i]) * scale[i];
}
void DequantizeEachImpl(DType dtype, const void* in, size_t n, const float* zero,
                        const float* scale, float* out) {
  if (dtype == DType::kInt8) return EachOf<int8_t>(in, n, zero, scale, out);
  if (dtype == DType::kUint8) return EachOf<uint8_t>(in, n, zero, scale, out);
  EachOf<int16_t>(in, n, zero, scale, out);
}

void AddRunsImpl(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, size_t n,
                 float* HWY_RESTRICT out) {
  for (size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

bool WidenExtentImpl(const float* HWY_RESTRICT in, size_t n, float& low, float& high) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  // Two accumulators each, to hide latency. Missing lanes have the value of `low`.
  auto low0 = hn::Set(d, low), low1 = low0, high0 = hn::Set(d, high), high1 = high0;
  auto nan = hn::MaskFalse(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto x = hn::LoadU(d, in + i), y = hn::LoadU(d, in + i + lanes);
    low0 = hn::Min(low0, x);
    low1 = hn::Min(low1, y);
    high0 = hn::Max(high0, x);
    high1 = hn::Max(high1, y);
    nan = hn::Or(nan, hn::Or(hn::IsNaN(x), hn::IsNaN(y)));
  }
  for (; i < n; i += lanes) {
    const auto x = hn::LoadNOr(hn::Set(d, low), d, in + i, n - i);
    low0 = hn::Min(low0, x);
    high0 = hn::Max(high0, x);
    nan = hn::Or(nan, hn::IsNaN(x));
  }
  low = hn::ReduceMin(d, hn::Min(low0, low1));
  high = hn::ReduceMax(d, hn::Max(high0, high1));
  return hn::AllFalse(d, nan);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(QuantizeRunImpl);
HWY_EXPORT(QuantizeInt8RunImpl);
HWY_EXPORT(QuantizeUint8RunImpl);
void QuantizeInt8Run(const float* in, size_t n, const QuantizeStep& step, int8_t* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeInt8RunImpl)(in, n, step, out);
}
void QuantizeUint8Run(const float* in, size_t n, const QuantizeStep& step, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeUint8RunImpl)(in, n, step, out);
}
HWY_EXPORT(QuantizeInt8RunF64Impl);
HWY_EXPORT(QuantizeUint8RunF64Impl);
void QuantizeInt8Run(const float* in, size_t n, const QuantizeStepOf<double>& step, int8_t* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeInt8RunF64Impl)(in, n, step, out);
}
void QuantizeUint8Run(const float* in, size_t n, const QuantizeStepOf<double>& step, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeUint8RunF64Impl)(in, n, step, out);
}
HWY_EXPORT(DequantizeRunImpl);
void QuantizeRun(const float* in, size_t n, const QuantizeStep& step, float* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeRunImpl)(in, n, step, out);
}
void DequantizeRun(const float* in, size_t n, float zero, float scale, float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeRunImpl)(in, n, zero, scale, out);
}

HWY_EXPORT(DequantizeInt8RunImpl);
HWY_EXPORT(DequantizeUint8RunImpl);
HWY_EXPORT(DequantizeInt16RunImpl);
void DequantizeInt8Run(const int8_t* in, size_t n, float zero, float scale, float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeInt8RunImpl)(in, n, zero, scale, out);
}
void DequantizeUint8Run(const uint8_t* in, size_t n, float zero, float scale, float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeUint8RunImpl)(in, n, zero, scale, out);
}
void DequantizeInt16Run(const int16_t* in, size_t n, float zero, float scale, float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeInt16RunImpl)(in, n, zero, scale, out);
}

HWY_EXPORT(DequantizeEachImpl);
void DequantizeEach(DType dtype, const void* in, size_t n, const float* zero, const float* scale,
                    float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeEachImpl)(dtype, in, n, zero, scale, out);
}
HWY_EXPORT(AddRunsImpl);
HWY_EXPORT(WidenExtentImpl);
void AddRuns(const float* a, const float* b, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(AddRunsImpl)(a, b, n, out);
}
bool WidenExtent(const float* in, size_t n, float& low, float& high) {
  return HWY_DYNAMIC_DISPATCH(WidenExtentImpl)(in, n, low, high);
}

}  // namespace belay
#endif  // HWY_ONCE
