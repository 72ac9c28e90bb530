// The epilogue on vectors. Included once per target inside foreach_target.
#if defined(BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_INL_H_
#undef BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_PACKED_EPILOGUE_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/math-inl.h"
#include "runtime/kernels/packed/epilogue.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// NaN stays NaN: x86 gives the second operand when one is NaN, Arm the one that is a number.
template <class D, class V>
HWY_INLINE V ClampKeepingNaN(D d, V x, V low, V high) {
  const V clamped = hn::Min(high, hn::Max(low, x));
  return HWY_TARGET_IS_NEON ? hn::IfThenElse(hn::IsNaN(x), x, clamped) : clamped;
}

// Whether the sums need no more than bias, `other` and clamp: then the kernels store them finished.
HWY_INLINE bool IsLinear(const EpilogueF32& e) {
  return e.activation == Activation::kNone && !(e.multiply && e.other != nullptr);
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

// What is left to do for `rows` by `columns` sums that have their bias, and `other` if it is added.
// Not for IsLinear epilogues. `other` is null, or that of these elements; rows of both are ldc apart.
inline HWY_NOINLINE void FinishTile(const EpilogueF32& e, const float* other, float* c, size_t ldc,
                                    size_t rows, size_t columns) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  const bool multiply = e.multiply && other != nullptr;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < columns; i += lanes) {
      const size_t some = HWY_MIN(lanes, columns - i), at = r * ldc + i;
      auto x = Activate(d, hn::LoadN(d, c + at, some), e.activation);
      if (multiply) x = hn::Mul(x, hn::LoadN(d, other + at, some));
      hn::StoreN(ClampKeepingNaN(d, x, low, high), d, c + at, some);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif
