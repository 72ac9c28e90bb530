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

// Rounds to the nearest value of T, as FloatToBFloat16Bits does.
template <class T, class D>
HWY_INLINE hn::Vec<D> RoundTo(D d, hn::Vec<D> x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
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
  const hn::RebindToUnsigned<D> d32;
  const auto rounded = hn::BitCast(d32, RoundTo<BFloat16>(d, x));
  const auto bits = hn::TruncateTo(d16, hn::ShiftRight<16>(rounded));
  auto* at = reinterpret_cast<uint16_t*>(to);
  if (count >= hn::Lanes(d)) {
    hn::StoreU(bits, d16, at);
  } else {
    hn::StoreN(bits, d16, at, count);
  }
}

template <class D, class V>
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
      return hn::Mul(x, Sigmoid(d, x));
    case Activation::kGelu:
      return hn::Mul(hn::Mul(half, x),
                     hn::Add(one, Erf(d, hn::Mul(x, hn::Set(d, 0.70710678118654752f)))));
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
  const bool multiply = e.multiply && other != nullptr;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < columns; i += lanes) {
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
  // The choice of the activation for each vector costs as much as this one itself.
  if (e.activation == Activation::kHardswish) {
    return FinishTileWith(e, other, c, ldc, rows, columns,
                          [&](V x) HWY_ATTR { return Activate(d, x, Activation::kHardswish); });
  }
  FinishTileWith(e, other, c, ldc, rows, columns,
                 [&](V x) HWY_ATTR { return Activate(d, x, e.activation); });
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif
