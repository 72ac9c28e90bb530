#include "runtime/kernels/sort/sort.h"

#include <algorithm>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/sort/sort.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Plain loops over arrays, which compilers vectorize best. `flip` is all ones for descending order.
void KeysOfFloatImpl(const float* HWY_RESTRICT in, size_t n, uint64_t first, uint32_t flip,
                     SortKey* HWY_RESTRICT keys) {
  for (size_t i = 0; i < n; ++i) {
    uint32_t bits = std::bit_cast<uint32_t>(in[i]);
    const uint32_t size = bits & 0x7FFFFFFFu;
    bits = size == 0 ? 0 : bits;  // -0 equals 0
    const uint32_t negative = 0u - (bits >> 31);
    const uint32_t order = size > 0x7F800000u ? ~0u : bits ^ (negative | 0x80000000u);
    keys[i] = static_cast<uint64_t>(order ^ flip) << 32 | (first + i);
  }
}

void KeysOfInt32Impl(const int32_t* HWY_RESTRICT in, size_t n, uint64_t first, uint32_t flip,
                     SortKey* HWY_RESTRICT keys) {
  for (size_t i = 0; i < n; ++i) {
    const uint32_t order = static_cast<uint32_t>(in[i]) ^ 0x80000000u;
    keys[i] = static_cast<uint64_t>(order ^ flip) << 32 | (first + i);
  }
}

void KeysOfDoubleImpl(const double* HWY_RESTRICT in, size_t n, int64_t first, uint64_t flip,
                      WideSortKey* HWY_RESTRICT keys) {
  constexpr uint64_t kSign = uint64_t{1} << 63, kInfinity = uint64_t{0x7FF} << 52;
  for (size_t i = 0; i < n; ++i) {
    uint64_t bits = std::bit_cast<uint64_t>(in[i]);
    const uint64_t size = bits & ~kSign;
    bits = size == 0 ? 0 : bits;
    const uint64_t negative = uint64_t{0} - (bits >> 63);
    const uint64_t order = size > kInfinity ? ~uint64_t{0} : bits ^ (negative | kSign);
    keys[i] = {order ^ flip, first + static_cast<int64_t>(i)};
  }
}

void KeysOfInt64Impl(const int64_t* HWY_RESTRICT in, size_t n, int64_t first, uint64_t flip,
                     WideSortKey* HWY_RESTRICT keys) {
  for (size_t i = 0; i < n; ++i) {
    const uint64_t order = static_cast<uint64_t>(in[i]) ^ uint64_t { 1 } << 63;
    keys[i] = {order ^ flip, first + static_cast<int64_t>(i)};
  }
}

// The position of a key among n <= kFewRanked keys is the number of smaller keys.
void SortByRankImpl(const SortKey* HWY_RESTRICT keys, size_t n, SortKey* HWY_RESTRICT sorted) {
  const hn::CappedTag<uint64_t, 8> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; ++i) {
    const auto key = hn::Set(d, keys[i]);
    size_t rank = 0, j = 0;
    for (; j + lanes <= n; j += lanes)
      rank += hn::CountTrue(d, hn::Lt(hn::LoadU(d, keys + j), key));
    if (j < n) rank += hn::CountTrue(d, hn::Lt(hn::LoadNOr(key, d, keys + j, n - j), key));
    sorted[rank] = keys[i];
  }
}

// Searches for all lanes at once; a lane that has ended keeps its result.
void FindBoundariesImpl(const float* HWY_RESTRICT boundaries, int32_t size, bool right,
                        const float* HWY_RESTRICT x, size_t n, int32_t* HWY_RESTRICT found) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto one = hn::Set(di, 1), last = hn::Set(di, size - 1);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t count = HWY_MIN(hn::Lanes(d), n - i);
    const auto value = hn::LoadN(d, x + i, count);
    auto begin = hn::Zero(di), end = hn::Set(di, size);
    while (true) {
      const auto active = hn::Lt(begin, end);
      if (hn::AllFalse(di, active)) break;
      const auto middle = hn::ShiftRight<1>(hn::Add(begin, end));
      const auto at = hn::GatherIndex(d, boundaries, hn::Min(middle, last));
      const auto stop = right ? hn::Gt(at, value) : hn::Ge(at, value);
      const auto below = hn::AndNot(hn::RebindMask(di, stop), active);
      end = hn::IfThenElse(hn::And(active, hn::RebindMask(di, stop)), middle, end);
      begin = hn::IfThenElse(below, hn::Add(middle, one), begin);
    }
    hn::StoreN(begin, di, found + i, count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(FindBoundariesImpl);
void FindBoundaries(const float* boundaries, int32_t size, bool right, const float* x, size_t n,
                    int32_t* found) {
  HWY_DYNAMIC_DISPATCH(FindBoundariesImpl)(boundaries, size, right, x, n, found);
}

HWY_EXPORT(SortByRankImpl);
HWY_EXPORT(KeysOfFloatImpl);
HWY_EXPORT(KeysOfInt32Impl);
HWY_EXPORT(KeysOfDoubleImpl);
HWY_EXPORT(KeysOfInt64Impl);

namespace {

constexpr int kDigitBits = 8;
constexpr size_t kDigits = size_t{1} << kDigitBits;
// Number of keys below which a comparison sort is faster than a counting sort.
constexpr size_t kFewKeys = 96;
// Number of keys up to which each key is compared with all: that is faster than other sorts up to
// about 100 keys with vectors of 64 bytes, and up to about 32 with shorter ones.
constexpr size_t kFewRanked = 64;

// Sort order of a key. A stable sort keeps equal elements in order of position.
uint32_t OrderOf(SortKey key) { return static_cast<uint32_t>(key >> 32); }
uint64_t OrderOf(const WideSortKey& key) { return key.order; }

bool Less(SortKey a, SortKey b) { return a < b; }
bool Less(const WideSortKey& a, const WideSortKey& b) {
  return a.order < b.order || (a.order == b.order && a.place < b.place);
}

template <class Key>
Key* SortByDigits(Key* keys, Key* room, size_t n) {
  if (n < kFewKeys) {
    std::sort(keys, keys + n, [](const Key& a, const Key& b) { return Less(a, b); });
    return keys;
  }
  constexpr int kPasses = static_cast<int>(sizeof(OrderOf(Key{})));
  size_t counts[kPasses][kDigits] = {};
  for (size_t i = 0; i < n; ++i) {
    const auto order = OrderOf(keys[i]);
    for (int p = 0; p < kPasses; ++p) ++counts[p][order >> (p * kDigitBits) & (kDigits - 1)];
  }
  for (int p = 0; p < kPasses; ++p) {
    size_t* const at = counts[p];
    const int shift = p * kDigitBits;
    if (at[OrderOf(keys[0]) >> shift & (kDigits - 1)] == n) continue;  // all keys have this digit
    size_t next = 0;
    for (size_t d = 0; d < kDigits; ++d) {
      const size_t count = at[d];
      at[d] = next;
      next += count;
    }
    for (size_t i = 0; i < n; ++i) {
      room[at[OrderOf(keys[i]) >> shift & (kDigits - 1)]++] = keys[i];
    }
    std::swap(keys, room);
  }
  return keys;
}

}  // namespace

void MakeSortKeys(const float* in, size_t n, int64_t first, bool descending, SortKey* keys) {
  HWY_DYNAMIC_DISPATCH(KeysOfFloatImpl)
  (in, n, static_cast<uint64_t>(first), descending ? ~uint32_t{0} : 0, keys);
}
void MakeSortKeys(const int32_t* in, size_t n, int64_t first, bool descending, SortKey* keys) {
  HWY_DYNAMIC_DISPATCH(KeysOfInt32Impl)
  (in, n, static_cast<uint64_t>(first), descending ? ~uint32_t{0} : 0, keys);
}
void MakeSortKeys(const double* in, size_t n, int64_t first, bool descending, WideSortKey* keys) {
  HWY_DYNAMIC_DISPATCH(KeysOfDoubleImpl)(in, n, first, descending ? ~uint64_t{0} : 0, keys);
}
void MakeSortKeys(const int64_t* in, size_t n, int64_t first, bool descending, WideSortKey* keys) {
  HWY_DYNAMIC_DISPATCH(KeysOfInt64Impl)(in, n, first, descending ? ~uint64_t{0} : 0, keys);
}

SortKey* SortKeys(SortKey* keys, SortKey* room, size_t n) {
  if (n > kFewRanked) return SortByDigits(keys, room, n);
  HWY_DYNAMIC_DISPATCH(SortByRankImpl)(keys, n, room);
  return room;
}
WideSortKey* SortKeys(WideSortKey* keys, WideSortKey* room, size_t n) {
  return SortByDigits(keys, room, n);
}

namespace {

template <class Key>
const Key& Select(Key* keys, size_t n, size_t place) {
  const auto less = [](const Key& a, const Key& b) { return Less(a, b); };
  std::nth_element(keys, keys + place, keys + n, less);
  return keys[place];
}

}  // namespace

SortKey SelectKey(SortKey* keys, size_t n, size_t place) { return Select(keys, n, place); }
WideSortKey SelectKey(WideSortKey* keys, size_t n, size_t place) { return Select(keys, n, place); }

}  // namespace belay
#endif  // HWY_ONCE
