// The epilogue on vectors. Included once per target inside foreach_target.
#if defined(BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_INL_H_
#undef BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_INL_H_
#endif

#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "runtime/core/element.h"
#include "runtime/kernels/math-inl.h"
#include "runtime/kernels/packed/epilogue.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Clamps and keeps NaN. If one operand is NaN, x86 min and max return the second operand, Arm the
// number.
template <class D, class V>
HWY_INLINE V ClampKeepingNaN(D d, V x, V low, V high) {
  const V clamped = hn::Min(high, hn::Max(low, x));
  return HWY_TARGET_IS_NEON ? hn::IfThenElse(hn::IsNaN(x), x, clamped) : clamped;
}

// Whether there are 32 vector registers. Kernels that fewer registers cannot hold are not compiled.
constexpr bool kHasManyRegisters = HWY_TARGET <= HWY_AVX3 || HWY_TARGET_IS_NEON;

// Whether the epilogue is only bias, `other` added and clamp. The kernels then store final results.
template <class T>
HWY_INLINE bool IsLinear(const EpilogueOn<T>& e) {
  return e.activation == Activation::kNone && !(e.multiply && e.other != nullptr);
}

// Whether the epilogue clamps.
template <class T>
HWY_INLINE bool HasBounds(const EpilogueOn<T>& e) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return e.low != -kInfinity || e.high != kInfinity;
}

// Loads `count` elements as floats, at most one vector; the other lanes are 0.
template <class D>
HWY_INLINE hn::Vec<D> LoadSome(D d, const float* from, size_t count) {
  return count >= hn::Lanes(d) ? hn::LoadU(d, from) : hn::LoadN(d, from, count);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadSome(D d, const BFloat16* from, size_t count) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  const auto* bits = reinterpret_cast<const uint16_t*>(from);
  const auto some = count >= hn::Lanes(d) ? hn::LoadU(d16, bits) : hn::LoadN(d16, bits, count);
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, some)));
}

// Whether an instruction rounds floats to bfloat16, to nearest even. It flushes subnormal numbers
// to 0 and keeps the upper bits of NaN.
constexpr bool kRoundsToBFloat16 = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_ZEN4;

// Rounds to the nearest value of T, as FloatToBFloat16Bits does.
template <class T, class D>
HWY_INLINE hn::Vec<D> RoundTo(D d, hn::Vec<D> x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else if constexpr (kRoundsToBFloat16) {
    return hn::PromoteTo(d, hn::DemoteTo(hn::Rebind<hwy::bfloat16_t, D>(), x));
  } else {
    const hn::RebindToUnsigned<D> d32;
    const auto bits = hn::BitCast(d32, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1u));
    const auto rounded =
        hn::And(hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7FFFu))), hn::Set(d32, 0xFFFF0000u));
    return hn::IfThenElse(hn::IsNaN(x), hn::BitCast(d, hn::Set(d32, 0x7FC00000u)),
                          hn::BitCast(d, rounded));
  }
}

// Stores `count` lanes, at most one vector.
template <class D>
HWY_INLINE void StoreSome(D d, hn::Vec<D> x, float* to, size_t count) {
  if (count >= hn::Lanes(d)) {
    hn::StoreU(x, d, to);
  } else {
    hn::StoreN(x, d, to, count);
  }
}
template <class D>
HWY_INLINE void StoreSome(D d, hn::Vec<D> x, BFloat16* to, size_t count) {
  const hn::Rebind<uint16_t, D> d16;
  const auto bits = [&]() HWY_ATTR {
    if constexpr (kRoundsToBFloat16) {
      return hn::BitCast(d16, hn::DemoteTo(hn::Rebind<hwy::bfloat16_t, D>(), x));
    } else {
      const hn::RebindToUnsigned<D> d32;
      const auto rounded = hn::BitCast(d32, RoundTo<BFloat16>(d, x));
      return hn::TruncateTo(d16, hn::ShiftRight<16>(rounded));
    }
  }();
  auto* at = reinterpret_cast<uint16_t*>(to);
  if (count >= hn::Lanes(d)) {
    hn::StoreU(bits, d16, at);
  } else {
    hn::StoreN(bits, d16, at, count);
  }
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// x - floor(x); 0 for infinite x.
HWY_INLINE hn::Vec512<float> AboveFloor(hn::Vec512<float> x) {
  return hn::Vec512<float>{_mm512_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}
HWY_INLINE hn::Vec256<float> AboveFloor(hn::Vec256<float> x) {
  return hn::Vec256<float>{_mm256_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}
template <size_t kLanes>
HWY_INLINE hn::Vec128<float, kLanes> AboveFloor(hn::Vec128<float, kLanes> x) {
  return hn::Vec128<float, kLanes>{_mm_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}
#endif

// x * sigmoid(x). Absolute error: 4 * 2^-24 * |x|, and 2^-118 below -87. -inf gives about 0, the limit.
// The error of results that are rounded to bfloat16 is below 2^-12 * |x| before they are.
template <class T, class D, class V>
HWY_INLINE V Silu(D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  // 1 / (1 + 2^y) with y = -x log2(e). Rounding y costs |y| * 2^-25 of 2^y, whose share of the result is
  // small where |y| is large. 2^y = P(y - floor(y)) * 2^floor(y): scalef rounds its operand down. P is a
  // minimax polynomial with a relative error of 7.4e-9. Max gives its second operand where one is NaN.
  const V low = hn::Max(hn::Set(d, -87.0f), x), y = hn::Mul(low, hn::Set(d, -1.44269504088896341f));
  const V fraction = AboveFloor(y);
  const V one = hn::Set(d, 1.0f);
  if constexpr (std::is_same_v<T, BFloat16>) {
    // P has an error of 7.5e-5, and the approximation of the reciprocal one of 2^-14.
    V p = hn::Set(d, 0.07802452f);
    for (const float c : {0.22606716f, 0.69583356f, 0.9999252f}) {
      p = hn::MulAdd(p, fraction, hn::Set(d, c));
    }
    return hn::Mul(low, hn::ApproximateReciprocal(hn::Add(TimesPowerOf2(p, y), one)));
  }
  V p = hn::Set(d, 0.00021702256f);
  for (const float c : {0.0012439688f, 0.009678841f, 0.05548334f, 0.24022983f, 0.693147f, 1.0f}) {
    p = hn::MulAdd(p, fraction, hn::Set(d, c));
  }
  const V sum = hn::Add(TimesPowerOf2(p, y), one);
  // One step of Newton's method doubles the 14 bits of the approximation.
  const V r = hn::ApproximateReciprocal(sum);
  return hn::Mul(low, hn::MulAdd(hn::NegMulAdd(sum, r, one), r, r));
#else
  return hn::Mul(x, Sigmoid(d, x));
#endif
}

// x * (1 + erf(x / sqrt(2))) / 2. Absolute error: 4 * 2^-24 * |x|. As SafeTanh: erf is
// 2 p q / (q^2 + p^2) with p / q = tanh(atanh(erf) / 2), as x P(x^2) / Q(x^2), whose errors vanish where
// erf is near 1. The minimax fit contributes 4e-8 to the result. Beyond 6, erf is 1 in float. -inf gives
// 0, the limit.
template <class D, class V>
HWY_INLINE V Gelu(D d, V value) {
  const V bound = hn::Set(d, 6.0f);
  // Max and Min give their second operand where one is NaN, or NaN.
  const V low = hn::Max(hn::Neg(bound), value);
  const V x = hn::Min(bound, low), x2 = hn::Mul(x, x);
  V p = hn::Set(d, 0.00030299698f), q = hn::Set(d, 1.6911921e-05f);
  for (const float c : {0.006566249f, 0.12751265f, 0.7579904f})
    p = hn::MulAdd(p, x2, hn::Set(d, c));
  for (const float c : {0.0019604824f, 0.02640242f, 0.3339026f, 1.9f})
    q = hn::MulAdd(q, x2, hn::Set(d, c));
  p = hn::Mul(p, x);
  const V half_erf = DivideByNormal(d, hn::Mul(p, q), hn::MulAdd(p, p, hn::Mul(q, q)));
  return hn::MulAdd(low, half_erf, hn::Mul(low, hn::Set(d, 0.5f)));
}

template <class T, class D, class V>
HWY_INLINE V Activate(D d, V x, Activation activation) {
  const auto half = hn::Set(d, 0.5f), one = hn::Set(d, 1.0f);
  const auto hardsigmoid = [&]() HWY_ATTR {
    return hn::Mul(ClampKeepingNaN(d, hn::Add(x, hn::Set(d, 3.0f)), hn::Zero(d), hn::Set(d, 6.0f)),
                   hn::Set(d, 1.0f / 6.0f));
  };
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kSigmoid:
      return Sigmoid(d, x);
    case Activation::kTanh:
      return SafeTanh(d, x);
    case Activation::kHardsigmoid:
      return hardsigmoid();
    case Activation::kHardswish:
      return hn::Mul(x, hardsigmoid());
    case Activation::kSilu:
      return Silu<T>(d, x);
    case Activation::kGelu:
      return Gelu(d, x);
    case Activation::kGeluTanh: {
      const auto cube = hn::Mul(hn::Mul(x, x), x);
      const auto inner =
          hn::Mul(hn::Set(d, 0.79788456080286536f), hn::MulAdd(cube, hn::Set(d, 0.044715f), x));
      return hn::Mul(hn::Mul(half, x), hn::Add(one, SafeTanh(d, inner)));
    }
  }
  return x;
}

// FinishTile for activate(x).
template <class T, class Fn>
HWY_INLINE void FinishTileWith(const EpilogueOn<T>& e, const T* other, T* c, size_t ldc,
                               size_t rows, size_t columns, const Fn& activate) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  const bool multiply = e.multiply && other != nullptr, clamps = HasBounds(e);
  if (columns == ldc) {  // Rows without gaps are one, with fewer partial vectors.
    columns *= rows;
    rows = 1;
  }
  for (size_t r = 0; r < rows; ++r) {
    size_t i = 0;
    // Most epilogues end with the activation.
    for (; !multiply && !clamps && i + lanes <= columns; i += lanes) {
      StoreSome(d, activate(LoadSome(d, c + r * ldc + i, lanes)), c + r * ldc + i, lanes);
    }
    for (; i < columns; i += lanes) {
      const size_t some = HWY_MIN(lanes, columns - i), at = r * ldc + i;
      auto x = activate(LoadSome(d, c + at, some));
      if (multiply) x = hn::Mul(RoundTo<T>(d, x), LoadSome(d, other + at, some));
      StoreSome(d, ClampKeepingNaN(d, x, low, high), c + at, some);
    }
  }
}

// Completes the epilogue for `rows` by `columns` sums that include the bias, and `other` if it is
// added. Not for IsLinear epilogues. `other` is null or points to the same elements as c; rows of
// both are ldc apart.
template <class T>
HWY_NOINLINE void FinishTile(const EpilogueOn<T>& e, const T* other, T* c, size_t ldc, size_t rows,
                             size_t columns) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  // For frequent activations, constants stay in registers. The choice for each vector, which loads
  // them again, costs as much as the activation itself.
  if (e.activation == Activation::kHardswish) {
    return FinishTileWith(e, other, c, ldc, rows, columns,
                          [&](V x) HWY_ATTR { return Activate<T>(d, x, Activation::kHardswish); });
  }
  if constexpr (kHasManyRegisters) {
    if (e.activation == Activation::kSilu) {
      return FinishTileWith(e, other, c, ldc, rows, columns,
                            [&](V x) HWY_ATTR { return Silu<T>(d, x); });
    }
    if (e.activation == Activation::kGelu) {
      return FinishTileWith(e, other, c, ldc, rows, columns,
                            [&](V x) HWY_ATTR { return Gelu(d, x); });
    }
  }
  FinishTileWith(e, other, c, ldc, rows, columns,
                 [&](V x) HWY_ATTR { return Activate<T>(d, x, e.activation); });
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif
