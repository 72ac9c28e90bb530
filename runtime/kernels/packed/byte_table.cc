#include "runtime/kernels/packed/byte_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/byte_table.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void LookupBytesImpl(const uint8_t* table, const uint8_t* in, uint8_t* out, size_t n) {
  size_t i = 0;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
  // The table is four vectors. An instruction looks up in two of them.
  const hn::FixedTag<uint8_t, 64> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto t0 = hn::LoadU(d, table), t1 = hn::LoadU(d, table + 64);
  const auto t2 = hn::LoadU(d, table + 128), t3 = hn::LoadU(d, table + 192);
  for (; i < n; i += 64) {
    const size_t count = HWY_MIN(size_t{64}, n - i);
    const auto x = count == 64 ? hn::LoadU(d, in + i) : hn::LoadN(d, in + i, count);
    const auto index = hn::IndicesFromVec(d, hn::And(x, hn::Set(d, 0x7f)));
    const auto low = hn::TwoTablesLookupLanes(d, t0, t1, index);
    const auto high = hn::TwoTablesLookupLanes(d, t2, t3, index);
    const auto y = hn::BitCast(
        d, hn::IfNegativeThenElse(hn::BitCast(di, x), hn::BitCast(di, high), hn::BitCast(di, low)));
    if (count == 64) {
      hn::StoreU(y, d, out + i);
    } else {
      hn::StoreN(y, d, out + i, count);
    }
  }
#else
  // Reads and writes 8 bytes at a time.
  for (; i + 8 <= n; i += 8) {
    uint64_t x, y = 0;
    hwy::CopyBytes<8>(in + i, &x);
    HWY_UNROLL(8)
    for (int b = 0; b < 64; b += 8) y |= uint64_t{table[x >> b & 0xff]} << b;
    hwy::CopyBytes<8>(&y, out + i);
  }
  for (; i < n; ++i) out[i] = table[in[i]];
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(LookupBytesImpl);
void LookupBytes(const uint8_t* table, const uint8_t* in, uint8_t* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(LookupBytesImpl)(table, in, out, n);
}

}  // namespace belay
#endif  // HWY_ONCE
