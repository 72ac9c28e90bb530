// The quantized epilogue on vectors. Included once per target inside foreach_target.
#if defined(BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_INL_H_
#undef BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/packed/epilogue-inl.h"
#include "runtime/kernels/packed/requantize.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether a table lookup of 256 bytes takes only a few instructions.
constexpr bool kLooksUpBytes = HWY_TARGET <= HWY_AVX3_DL;

// Computes q from y. Since rounding is monotonic, the clamps of y and of q are combined into one
// clamp of bytes.
template <class D32>
class ByteQuantizer {
 public:
  using DF = hn::RebindToFloat<D32>;
  using D16 = hn::Repartition<int16_t, D32>;
  using D8 = hn::Repartition<uint8_t, D32>;
  using DQuarter = hn::Rebind<uint8_t, D32>;
  using VF = hn::Vec<DF>;

  // Params: QuantizedEpilogue or QuantizedAddArgs.
  template <class Params>
  HWY_INLINE explicit ByteQuantizer(const Params& p)
      : inverse_(hn::Set(DF(), p.inverse_scale)),
        zero_(hn::Set(D16(), static_cast<int16_t>(p.zero_point))),
        inner_inverse_(hn::Zero(DF())),
        inner_zero_(hn::Zero(D16())),
        inner_quant_min_(hn::Zero(DF())),
        inner_quant_max_(hn::Zero(DF())),
        inner_scale_(hn::Zero(DF())),
        least_(hn::Zero(D8())),
        most_(hn::Set(D8(), uint8_t{255})) {
    if constexpr (requires { p.rounds; }) {
      rounds_ = p.rounds;
      inner_inverse_ = hn::Set(DF(), p.inner_inverse_scale);
      inner_zero_ = hn::Set(D16(), static_cast<int16_t>(p.inner_zero_point));
      inner_quant_min_ = hn::Set(DF(), static_cast<float>(p.inner_quant_min - p.inner_zero_point));
      inner_quant_max_ = hn::Set(DF(), static_cast<float>(p.inner_quant_max - p.inner_zero_point));
      inner_scale_ = hn::Set(DF(), p.inner_scale);
    }
    const auto bound = [&](float y) HWY_ATTR {
      const uint8_t q = hn::GetLane((*this)(hn::Set(DF(), y)));
      return hn::Set(D8(), static_cast<uint8_t>(HWY_MIN(p.quant_max, HWY_MAX(p.quant_min, q))));
    };
    const auto least = bound(p.low), most = bound(p.high);
    least_ = least;
    most_ = most;
    if constexpr (kLooksUpBytes && requires { p.rounds; }) {
      for (size_t b = 0; p.rounds && b < sizeof(outer_); b += hn::Lanes(DF())) {
        const auto inner = hn::Sub(hn::Iota(DF(), static_cast<float>(b)),
                                   hn::Set(DF(), static_cast<float>(p.inner_zero_point)));
        hn::StoreU(Outer(OfInner(inner)), DQuarter(), outer_ + b);
      }
    }
  }

  // Returns as many bytes as `y` has lanes.
  HWY_INLINE hn::Vec<DQuarter> operator()(VF y) const { return Outer(Inner(y)); }

  // Returns bytes: each block of 16 has the four values of that block of y0, then those of y1, y2,
  // y3. Precondition: none of them is quantized to 2^31 or more (BytesFit).
  HWY_INLINE hn::Vec<D8> Blocks(VF y0, VF y1, VF y2, VF y3) const {
    if constexpr (kLooksUpBytes) {
      if (rounds_) return LookUp(Pack(inner_inverse_, inner_zero_, y0, y1, y2, y3));
      return Bounded(Pack(inverse_, zero_, y0, y1, y2, y3));
    } else {
      return Bounded(Pack(inverse_, zero_, Inner(y0), Inner(y1), Inner(y2), Inner(y3)));
    }
  }

  // Applies the inner quantization, if there is one.
  HWY_INLINE VF Inner(VF y) const {
    if (!rounds_) return y;
    // Adds 0, since an integer has no negative zero.
    return OfInner(hn::Add(hn::Round(hn::Mul(y, inner_inverse_)), hn::Zero(DF())));
  }

 private:
  // Dequantizes an integer, relative to the inner zero point, or NaN.
  HWY_INLINE VF OfInner(VF n) const {
    // If one operand is NaN, x86 returns the second one.
    const VF least = HWY_ARCH_X86 ? n : hn::IfThenElse(hn::IsNaN(n), inner_quant_min_, n);
    return hn::Mul(hn::Min(hn::Max(least, inner_quant_min_), inner_quant_max_), inner_scale_);
  }

  HWY_INLINE hn::Vec<DQuarter> Outer(VF y) const {
    const hn::Rebind<int16_t, D32> d16;
    const DQuarter d8;
    const auto rounded = hn::NearestInt(Scaled(inverse_, y));
    const auto q = hn::SaturatedAdd(hn::DemoteTo(d16, rounded), hn::ResizeBitCast(d16, zero_));
    return hn::Min(hn::ResizeBitCast(d8, most_),
                   hn::Max(hn::ResizeBitCast(d8, least_), hn::DemoteTo(d8, q)));
  }

  HWY_INLINE hn::Vec<D8> Bounded(hn::Vec<D8> q) const { return hn::Min(most_, hn::Max(least_, q)); }

  // Quantizes y0 to y3 by `inverse` and `zero` to bytes in the order of Blocks.
  HWY_INLINE static hn::Vec<D8> Pack(VF inverse, hn::Vec<D16> zero, VF y0, VF y1, VF y2, VF y3) {
    // ReorderDemote2To works within blocks on x86; NEON has one block.
    const auto q01 = hn::ReorderDemote2To(D16(), Round(inverse, y0), Round(inverse, y1)),
               q23 = hn::ReorderDemote2To(D16(), Round(inverse, y2), Round(inverse, y3));
    return hn::ReorderDemote2To(D8(), hn::SaturatedAdd(q01, zero), hn::SaturatedAdd(q23, zero));
  }

#if HWY_TARGET <= HWY_AVX3_DL
  // Looks up the results of Outer for bytes of the inner quantization.
  HWY_INLINE hn::Vec<D8> LookUp(hn::Vec<D8> inner) const {
    const hn::ScalableTag<uint8_t> d;  // two vectors hold half the table
    const auto byte = hn::ResizeBitCast(d, inner);
    const auto at = hn::IndicesFromVec(d, hn::And(byte, hn::Set(d, uint8_t{127})));
    const auto half = [&](size_t begin) HWY_ATTR {
      return hn::TwoTablesLookupLanes(d, hn::LoadU(d, outer_ + begin),
                                      hn::LoadU(d, outer_ + begin + 64), at);
    };
    const auto is_upper = hn::Ge(byte, hn::Set(d, uint8_t{128}));
    return hn::ResizeBitCast(D8(), hn::IfThenElse(is_upper, half(128), half(0)));
  }
#endif

  HWY_INLINE static VF Scaled(VF inverse, VF y) {
    const VF x = hn::Mul(y, inverse);
    // x86 converts NaN to the smallest integer.
    return HWY_ARCH_X86 ? x
                        : hn::IfThenElse(hn::IsNaN(x), hn::Set(DF(), hwy::LowestValue<float>()), x);
  }
  HWY_INLINE static hn::Vec<D32> Round(VF inverse, VF y) {
#if HWY_ARCH_X86
    return hn::NearestIntInRange(D32(), Scaled(inverse, y));  // two instructions less
#else
    return hn::NearestInt(Scaled(inverse, y));
#endif
  }

  VF inverse_;
  hn::Vec<D16> zero_;
  bool rounds_ = false;
  VF inner_inverse_;
  hn::Vec<D16> inner_zero_;
  VF inner_quant_min_, inner_quant_max_, inner_scale_;  // relative to the inner zero point
  hn::Vec<D8> least_, most_;
  uint8_t outer_[kLooksUpBytes ? 256 : 1];  // indexed by the byte of the inner quantization
};

// Whether ByteQuantizer::Blocks can compute columns [first, last): no activation, and no value that
// overflows it.
inline HWY_NOINLINE bool BytesFit(const QuantizedEpilogue& e, size_t first, size_t last) {
  if (!e.quantizes || e.activation != Activation::kNone) return false;
  if (e.rounds && !kLooksUpBytes) return 255 * e.inner_scale * e.inverse_scale < 0x1p30f;
  const float inverse = e.rounds ? e.inner_inverse_scale : e.inverse_scale;
  const hn::CappedTag<float, 16> df;
  const size_t lanes = hn::Lanes(df);
  auto beyond = hn::MaskFalse(df);
  for (size_t j = first; j < last; j += lanes) {
    const size_t count = HWY_MIN(lanes, last - j);
    const auto scale = hn::Abs(hn::LoadN(df, e.scale + j, count));
    const auto bias = e.bias == nullptr ? hn::Zero(df) : hn::Abs(hn::LoadN(df, e.bias + j, count));
    const auto most = hn::MulAdd(scale, hn::Set(df, 0x1p31f), bias);
    const auto fits = hn::Lt(hn::Mul(most, hn::Set(df, inverse)), hn::Set(df, 0x1p30f));
    beyond = hn::Or(beyond, hn::Not(fits));  // also true for NaN
  }
  return hn::AllFalse(df, beyond);
}

// Finishes `rows` rows of `columns` sums whose zero points are corrected already, for any epilogue
// and number of columns. Rows of `sums` are `stride` apart and readable up to whole vectors.
// `column` is the column of the first sum; `c` is the beginning of the first row of C.
inline HWY_NOINLINE void FinishSums(const QuantizedEpilogue& e, size_t column, const int32_t* sums,
                                    size_t stride, size_t rows, size_t columns, void* c,
                                    size_t ldc) {
  const hn::CappedTag<int32_t, 16> d;
  const hn::RebindToFloat<decltype(d)> df;
  const size_t lanes = hn::Lanes(d);
  if (e.scale == nullptr) {
    for (size_t r = 0; r < rows; ++r) {
      hwy::CopyBytes(sums + r * stride, static_cast<int32_t*>(c) + r * ldc + column,
                     columns * sizeof(int32_t));
    }
    return;
  }
  const auto low = hn::Set(df, e.low), high = hn::Set(df, e.high);
  const ByteQuantizer<hn::CappedTag<int32_t, 16>> quantizer(e);
  for (size_t j = 0; j < columns; j += lanes) {
    const size_t count = HWY_MIN(lanes, columns - j);
    const auto scale = hn::LoadN(df, e.scale + column + j, count);
    const auto bias = e.bias == nullptr ? hn::Zero(df) : hn::LoadN(df, e.bias + column + j, count);
    for (size_t r = 0; r < rows; ++r) {
      const auto sum = hn::ConvertTo(df, hn::Load(d, sums + r * stride + j));
      const auto y = Activate<float>(df, hn::Add(hn::Mul(sum, scale), bias), e.activation);
      const size_t at = r * ldc + column + j;
      if (e.quantizes) {
        hn::StoreN(quantizer(y), hn::Rebind<uint8_t, decltype(d)>(), static_cast<uint8_t*>(c) + at,
                   count);
      } else {
        hn::StoreN(quantizer.Inner(ClampKeepingNaN(df, y, low, high)), df,
                   static_cast<float*>(c) + at, count);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif
