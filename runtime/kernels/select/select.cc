#include "runtime/kernels/select/select.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/select/select.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void Gather(const void* source, int64_t step, int64_t rest, const int64_t* HWY_RESTRICT index,
            size_t n, void* target, int64_t out_step) {
  const T* HWY_RESTRICT from = static_cast<const T*>(source);
  T* HWY_RESTRICT out = static_cast<T*>(target);
  const int64_t count = static_cast<int64_t>(n);
  if (step == 1 && rest == 0 && out_step == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = from[index[i]];
  } else {
    for (int64_t i = 0; i < count; ++i) out[i * out_step] = from[index[i] * step + i * rest];
  }
}

void GatherRowImpl(const void* from, int64_t step, int64_t rest, const int64_t* index, size_t n,
                   size_t bytes, void* out, int64_t out_step) {
  switch (bytes) {
    case 1:
      return Gather<uint8_t>(from, step, rest, index, n, out, out_step);
    case 2:
      return Gather<uint16_t>(from, step, rest, index, n, out, out_step);
    case 4:
      return Gather<uint32_t>(from, step, rest, index, n, out, out_step);
    default:
      return Gather<uint64_t>(from, step, rest, index, n, out, out_step);
  }
}

template <class T>
HWY_INLINE uint64_t BeatingBits(const T* HWY_RESTRICT x, size_t n, T bound, bool largest) {
  const hn::CappedTag<T, 64> d;
  const size_t lanes = hn::Lanes(d);
  // If the bound is NaN, every number is smaller.
  const auto limit = hn::Set(d, bound), all = hn::Set(d, bound != bound ? T{1} : T{0});
  const auto some = hn::Ne(all, hn::Zero(d));
  uint64_t bits = 0;
  for (size_t i = 0; i < n; i += lanes) {
    const auto v = hn::LoadN(d, x + i, HWY_MIN(lanes, n - i));
    const auto beats = largest ? hn::Not(hn::Le(v, limit)) : hn::Or(hn::Lt(v, limit), some);
    uint64_t of_vector = 0;
    hn::StoreMaskBits(d, beats, reinterpret_cast<uint8_t*>(&of_vector));
    bits |= of_vector << i;
  }
  return n < 64 ? bits & ((uint64_t{1} << n) - 1) : bits;
}
uint64_t BeatingFloats(const float* x, size_t n, float bound, bool largest) {
  return BeatingBits(x, n, bound, largest);
}
uint64_t BeatingIntegers(const int64_t* x, size_t n, int64_t bound, bool largest) {
  return BeatingBits(x, n, bound, largest);
}

size_t FirstOutsideImpl(const int64_t* HWY_RESTRICT index, size_t n, int64_t size) {
  // The sign bit of x or of size - 1 - x is set if x is outside.
  const uint64_t last = static_cast<uint64_t>(size) - 1;
  uint64_t any = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto x = static_cast<uint64_t>(index[i]);
    any |= x | (last - x);
  }
  if (any >> 63 == 0) return n;
  for (size_t i = 0; i < n; ++i) {
    if (index[i] < 0 || index[i] >= size) return i;
  }
  return n;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(GatherRowImpl);
HWY_EXPORT(BeatingFloats);
HWY_EXPORT(BeatingIntegers);
HWY_EXPORT(FirstOutsideImpl);
void GatherRow(const void* from, int64_t step, int64_t rest, const int64_t* index, size_t n,
               size_t bytes, void* out, int64_t out_step) {
  HWY_DYNAMIC_DISPATCH(GatherRowImpl)(from, step, rest, index, n, bytes, out, out_step);
}
uint64_t Beating(const float* x, size_t n, float bound, bool largest) {
  return HWY_DYNAMIC_DISPATCH(BeatingFloats)(x, n, bound, largest);
}
uint64_t Beating(const int64_t* x, size_t n, int64_t bound, bool largest) {
  return HWY_DYNAMIC_DISPATCH(BeatingIntegers)(x, n, bound, largest);
}
size_t FirstOutside(const int64_t* index, size_t n, int64_t size) {
  return HWY_DYNAMIC_DISPATCH(FirstOutsideImpl)(index, n, size);
}

}  // namespace belay
#endif  // HWY_ONCE
