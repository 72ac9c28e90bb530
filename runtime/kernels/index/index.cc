#include "runtime/kernels/index/index.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/index/index.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

size_t AddPlacesImpl(const int64_t* HWY_RESTRICT index, size_t n, const IndexedDim& dim,
                     int64_t* HWY_RESTRICT places) {
  const int64_t size = dim.size, stride = dim.stride, least = dim.wraps ? -size : 0;
  int64_t outside = 0;
  for (size_t i = 0; i < n; ++i) {
    const int64_t x = index[i];
    outside |= (x < least ? 1 : 0) | (x >= size ? 1 : 0);
    // An index out of range may be any number. Its offset is not used, but the arithmetic must not
    // overflow.
    const uint64_t place = static_cast<uint64_t>(x) + (x < 0 ? static_cast<uint64_t>(size) : 0);
    places[i] = static_cast<int64_t>(static_cast<uint64_t>(places[i]) +
                                     place * static_cast<uint64_t>(stride));
  }
  for (size_t i = 0; outside != 0 && i < n; ++i) {
    if (index[i] < least || index[i] >= size) return i;
  }
  return n;
}

template <size_t kBytes>
HWY_INLINE void CopyFixed(const std::byte* HWY_RESTRICT from, const int64_t* HWY_RESTRICT from_at,
                          std::byte* HWY_RESTRICT to, const int64_t* HWY_RESTRICT to_at, size_t n,
                          int64_t unit) {
  for (size_t i = 0; i < n; ++i)
    std::memcpy(to + to_at[i] * unit, from + from_at[i] * unit, kBytes);
}

// Copies blocks of at least one vector by whole vectors; the last vector may overlap the previous
// one.
template <class D>
HWY_INLINE void CopyVectors(D d, const std::byte* from, const int64_t* HWY_RESTRICT from_at,
                            std::byte* to, const int64_t* HWY_RESTRICT to_at, size_t n,
                            int64_t unit, size_t bytes) {
  const size_t lanes = hn::Lanes(d), last = bytes - lanes;
  for (size_t i = 0; i < n; ++i) {
    const uint8_t* HWY_RESTRICT in = reinterpret_cast<const uint8_t*>(from + from_at[i] * unit);
    uint8_t* HWY_RESTRICT out = reinterpret_cast<uint8_t*>(to + to_at[i] * unit);
    for (size_t b = 0; b < last; b += lanes) hn::StoreU(hn::LoadU(d, in + b), d, out + b);
    hn::StoreU(hn::LoadU(d, in + last), d, out + last);
  }
}

void CopyBlocksImpl(const std::byte* from, const int64_t* from_at, std::byte* to,
                    const int64_t* to_at, size_t n, int64_t unit, size_t bytes) {
  switch (bytes) {
    case 1:
      return CopyFixed<1>(from, from_at, to, to_at, n, unit);
    case 2:
      return CopyFixed<2>(from, from_at, to, to_at, n, unit);
    case 4:
      return CopyFixed<4>(from, from_at, to, to_at, n, unit);
    case 8:
      return CopyFixed<8>(from, from_at, to, to_at, n, unit);
    default:
      break;
  }
  const hn::ScalableTag<uint8_t> d;
  const hn::Full128<uint8_t> d16;
  constexpr size_t kLongBlock = 1024;  // where memcpy is fastest
  if (bytes >= kLongBlock || bytes < hn::Lanes(d16)) {
    for (size_t i = 0; i < n; ++i) {
      std::memcpy(to + to_at[i] * unit, from + from_at[i] * unit, bytes);
    }
  } else if (bytes >= hn::Lanes(d)) {
    CopyVectors(d, from, from_at, to, to_at, n, unit, bytes);
  } else {
    CopyVectors(d16, from, from_at, to, to_at, n, unit, bytes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(AddPlacesImpl);
HWY_EXPORT(CopyBlocksImpl);
size_t AddPlaces(const int64_t* index, size_t n, const IndexedDim& dim, int64_t* places) {
  return HWY_DYNAMIC_DISPATCH(AddPlacesImpl)(index, n, dim, places);
}
void CopyBlocks(const std::byte* from, const int64_t* from_at, std::byte* to, const int64_t* to_at,
                size_t n, int64_t unit, size_t bytes) {
  HWY_DYNAMIC_DISPATCH(CopyBlocksImpl)(from, from_at, to, to_at, n, unit, bytes);
}

}  // namespace belay
#endif  // HWY_ONCE
