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

// From y to q. Because rounding is monotonic, the clamps of y and of q are one of bytes.
template <class D32>
class ByteQuantizer {
 public:
  using DF = hn::RebindToFloat<D32>;
  using D16 = hn::Repartition<int16_t, D32>;
  using D8 = hn::Repartition<uint8_t, D32>;
  using DQuarter = hn::Rebind<uint8_t, D32>;
  using VF = hn::Vec<DF>;

  // Of QuantizedEpilogue or QuantizedAddArgs.
  template <class Params>
  HWY_INLINE explicit ByteQuantizer(const Params& p)
      : inverse_(hn::Set(DF(), p.inverse_scale)),
        zero_(hn::Set(D16(), static_cast<int16_t>(p.zero_point))),
        inner_inverse_(hn::Zero(DF())),
        inner_quant_min_(hn::Zero(DF())),
        inner_quant_max_(hn::Zero(DF())),
        inner_scale_(hn::Zero(DF())),
        least_(hn::Zero(D8())),
        most_(hn::Set(D8(), uint8_t{255})) {
    if constexpr (requires { p.rounds; }) {
      rounds_ = p.rounds;
      inner_inverse_ = hn::Set(DF(), p.inner_inverse_scale);
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
  }

  // As many bytes as `y` has lanes.
  HWY_INLINE hn::Vec<DQuarter> operator()(VF y) const {
    const hn::Rebind<int16_t, D32> d16;
    const DQuarter d8;
    const auto rounded = hn::NearestInt(Scaled(y));
    const auto q = hn::SaturatedAdd(hn::DemoteTo(d16, rounded), hn::ResizeBitCast(d16, zero_));
    return hn::Min(hn::ResizeBitCast(d8, most_),
                   hn::Max(hn::ResizeBitCast(d8, least_), hn::DemoteTo(d8, q)));
  }

  // In each block of 16 bytes, the four numbers of that block of y0, then those of y1, y2, y3. None
  // of them is quantized to 2^31 or more: BytesFit.
  HWY_INLINE hn::Vec<D8> Blocks(VF y0, VF y1, VF y2, VF y3) const {
    // ReorderDemote2To works block by block on x86; on NEON there is one block.
    const auto q01 = hn::ReorderDemote2To(D16(), Round(y0), Round(y1)),
               q23 = hn::ReorderDemote2To(D16(), Round(y2), Round(y3));
    const auto q =
        hn::ReorderDemote2To(D8(), hn::SaturatedAdd(q01, zero_), hn::SaturatedAdd(q23, zero_));
    return hn::Min(most_, hn::Max(least_, q));
  }

  // What the inner quantization, if there is one, makes of y.
  HWY_INLINE VF Inner(VF y) const {
    if (!rounds_) return y;
    // As an integer, which has no negative zero.
    const VF n = hn::Add(hn::Round(hn::Mul(y, inner_inverse_)), hn::Zero(DF()));
    // x86 takes the second of two if one is NaN.
    const VF least = HWY_ARCH_X86 ? n : hn::IfThenElse(hn::IsNaN(n), inner_quant_min_, n);
    return hn::Mul(hn::Min(hn::Max(least, inner_quant_min_), inner_quant_max_), inner_scale_);
  }

 private:
  HWY_INLINE VF Scaled(VF y) const {
    const VF x = hn::Mul(Inner(y), inverse_);
    // x86 converts NaN to the least integer.
    return HWY_ARCH_X86 ? x
                        : hn::IfThenElse(hn::IsNaN(x), hn::Set(DF(), hwy::LowestValue<float>()), x);
  }
  HWY_INLINE hn::Vec<D32> Round(VF y) const {
#if HWY_ARCH_X86
    return hn::NearestIntInRange(D32(), Scaled(y));  // two instructions less
#else
    return hn::NearestInt(Scaled(y));
#endif
  }

  VF inverse_;
  hn::Vec<D16> zero_;
  bool rounds_ = false;
  // In steps from the inner zero point.
  VF inner_inverse_, inner_quant_min_, inner_quant_max_, inner_scale_;
  hn::Vec<D8> least_, most_;
};

// Whether ByteQuantizer::Blocks is all that columns [first, last) need: no activation, and no sum
// that is too large for it.
inline HWY_NOINLINE bool BytesFit(const QuantizedEpilogue& e, size_t first, size_t last) {
  if (!e.quantizes || e.activation != Activation::kNone) return false;
  if (e.rounds) return 255 * e.inner_scale * e.inverse_scale < 0x1p30f;
  const hn::CappedTag<float, 16> df;
  const size_t lanes = hn::Lanes(df);
  auto beyond = hn::MaskFalse(df);
  for (size_t j = first; j < last; j += lanes) {
    const size_t count = HWY_MIN(lanes, last - j);
    const auto scale = hn::Abs(hn::LoadN(df, e.scale + j, count));
    const auto bias = e.bias == nullptr ? hn::Zero(df) : hn::Abs(hn::LoadN(df, e.bias + j, count));
    const auto most = hn::MulAdd(scale, hn::Set(df, 0x1p31f), bias);
    const auto fits = hn::Lt(hn::Mul(most, hn::Set(df, e.inverse_scale)), hn::Set(df, 0x1p30f));
    beyond = hn::Or(beyond, hn::Not(fits));  // so is NaN
  }
  return hn::AllFalse(df, beyond);
}

// The results of `rows` rows of `columns` sums, whose zero points are accounted for already: of any
// epilogue and number of columns. The rows of `sums` are `stride` apart and readable to whole
// vectors. `column` is that of the first sums; `c` is where the first one's row begins in C.
inline HWY_NOINLINE void FinishSums(const QuantizedEpilogue& e, size_t column, const int32_t* sums,
                                    size_t stride, size_t rows, size_t columns, void* c,
                                    size_t ldc) {
  const hn::CappedTag<int32_t, 16> d;
  const hn::RebindToFloat<decltype(d)> df;
  const size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(df, e.low), high = hn::Set(df, e.high);
  const ByteQuantizer<hn::CappedTag<int32_t, 16>> quantizer(e);
  for (size_t j = 0; j < columns; j += lanes) {
    const size_t count = HWY_MIN(lanes, columns - j);
    const auto scale = hn::LoadN(df, e.scale + column + j, count);
    const auto bias = e.bias == nullptr ? hn::Zero(df) : hn::LoadN(df, e.bias + column + j, count);
    for (size_t r = 0; r < rows; ++r) {
      const auto sum = hn::ConvertTo(df, hn::Load(d, sums + r * stride + j));
      const auto y = Activate(df, hn::Add(hn::Mul(sum, scale), bias), e.activation);
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
