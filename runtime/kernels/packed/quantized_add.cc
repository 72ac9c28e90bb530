#include "runtime/kernels/packed/quantized_add.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/quantized_add.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/packed/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag32 = hn::CappedTag<int32_t, 16>;
using TagF32 = hn::RebindToFloat<Tag32>;
using TagU8 = hn::Repartition<uint8_t, Tag32>;

// The ULP of 2^23 is 1: the lowest byte of 2^23 + q is q.
constexpr float kLastPlaceIsOne = 0x1p23f;
constexpr uint16_t kUpperHalf = 0x4b00;  // upper half of the bits of 2^23 + q

struct Addend {
  Addend(int32_t zero_point, float scale)
      : zero(hn::Set(TagF32(), kLastPlaceIsOne + static_cast<float>(zero_point))),
        scale(hn::Set(TagF32(), scale)) {}
  hn::Vec<TagF32> zero;  // 2^23 + zero_point
  hn::Vec<TagF32> scale;

  // Dequantizes 2^23 + q; the difference is exact.
  HWY_INLINE hn::Vec<TagF32> Real(hn::Vec<TagF32> q) const {
    return hn::Mul(hn::Sub(q, zero), scale);
  }
};

// Bytes 4 i to 4 i + 3 of each block, as 2^23 + q, in vector i.
struct Quarters {
  hn::Vec<TagF32> at[4];
};
HWY_INLINE Quarters Widened(hn::Vec<TagU8> q) {
  const TagF32 d;
  const TagU8 d8;
  const hn::Repartition<uint16_t, Tag32> d16;
  const auto zero = hn::Zero(d8);
  const auto upper = hn::Set(d16, kUpperHalf);
  const auto low = hn::BitCast(d16, hn::InterleaveLower(d8, q, zero)),
             high = hn::BitCast(d16, hn::InterleaveUpper(d8, q, zero));
  return {{hn::BitCast(d, hn::InterleaveLower(d16, low, upper)),
           hn::BitCast(d, hn::InterleaveUpper(d16, low, upper)),
           hn::BitCast(d, hn::InterleaveLower(d16, high, upper)),
           hn::BitCast(d, hn::InterleaveUpper(d16, high, upper))}};
}

void QuantizedAddImpl(const QuantizedAddArgs& g, size_t first, size_t last) {
  const Tag32 d;
  const TagF32 df;
  const TagU8 d8;
  const hn::Rebind<uint8_t, Tag32> quarter;
  const ByteQuantizer<Tag32> quantizer(g);
  const Addend a(g.a_zero_point, g.a_scale), b(g.b_zero_point, g.b_scale);
  const size_t lanes = hn::Lanes(d);
  const float most = 255 * (hwy::ScalarAbs(g.a_scale) + hwy::ScalarAbs(g.b_scale));
  size_t i = first;
  if (most * g.inverse_scale < 0x1p30f) {  // limit of Blocks
    for (; i + 4 * lanes <= last; i += 4 * lanes) {
      const Quarters x = Widened(hn::LoadU(d8, g.a + i)), y = Widened(hn::LoadU(d8, g.b + i));
      hn::Vec<TagF32> sums[4];
      HWY_UNROLL(4)
      for (size_t v = 0; v < 4; ++v) sums[v] = hn::Add(a.Real(x.at[v]), b.Real(y.at[v]));
      hn::StoreU(quantizer.Blocks(sums[0], sums[1], sums[2], sums[3]), d8, g.out + i);
    }
  }
  for (; i < last; i += lanes) {
    const size_t count = HWY_MIN(lanes, last - i);
    const auto widened = [&](const uint8_t* from) HWY_ATTR {
      const auto q = hn::PromoteTo(d, hn::LoadN(quarter, from + i, count));
      return hn::Add(hn::ConvertTo(df, q), hn::Set(df, kLastPlaceIsOne));
    };
    const auto sum = hn::Add(a.Real(widened(g.a)), b.Real(widened(g.b)));
    hn::StoreN(quantizer(sum), quarter, g.out + i, count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(QuantizedAddImpl);
void QuantizedAdd(const QuantizedAddArgs& args, size_t first, size_t last) {
  HWY_DYNAMIC_DISPATCH(QuantizedAddImpl)(args, first, last);
}

}  // namespace belay
#endif  // HWY_ONCE
