#include "runtime/kernels/scan/running_extremes.h"

#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/scan/running_extremes.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Maps elements to integers in their order: a larger integer replaces a smaller or equal one. NaN is
// the largest, in both directions. Both zeros are equal.
template <bool kLargest, class D>
HWY_INLINE auto KeyOf(D d, hn::Vec<D> v) {
  using T = hn::TFromD<D>;
  const hn::RebindToSigned<D> di;
  using TI = hn::TFromD<decltype(di)>;
  if constexpr (std::is_integral_v<T>) {
    return kLargest ? v : hn::Not(v);
  } else {
    constexpr TI kMost = std::numeric_limits<TI>::max();
    const auto bits = hn::BitCast(di, hn::Add(v, hn::Zero(d)));
    // The magnitude of negative numbers is inverted.
    const auto key = hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(di, kMost)));
    const auto nan = hn::RebindMask(di, hn::IsNaN(v));
    return hn::IfThenElse(nan, hn::Set(di, kMost), kLargest ? key : hn::Not(key));
  }
}

// A vector of n elements is scanned in log2(n) steps. Step s joins each element with the one 2^s
// positions before, or with the first one: joining an element twice changes nothing.
template <bool kLargest, class T>
void Row(const T* HWY_RESTRICT in, int64_t n, T* HWY_RESTRICT best, int64_t* HWY_RESTRICT index,
         int64_t start, RunningExtreme<T>& state) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  using TI = hn::TFromD<decltype(di)>;
  const hn::ScalableTag<int64_t> d64;
  const size_t lanes = hn::Lanes(d);
  const auto positions = hn::Iota(di, 0);
  const auto last = hn::IndicesFromVec(di, hn::Set(di, static_cast<TI>(lanes - 1)));
  const auto last_value = hn::IndicesFromVec(d, hn::Set(di, static_cast<TI>(lanes - 1)));
  const auto last_index =
      hn::IndicesFromVec(d64, hn::Set(d64, static_cast<int64_t>(hn::Lanes(d64) - 1)));
  const auto store = [](auto v, auto tag, auto* to, size_t count) HWY_ATTR {
    if (count >= hn::Lanes(tag)) {
      hn::StoreU(v, tag, to);
    } else {
      hn::StoreN(v, tag, to, count);
    }
  };
  const auto scan = [&](auto v) HWY_ATTR {
    for (size_t step = 1; step < lanes; step *= 2) {
      const auto before =
          hn::Max(hn::Sub(positions, hn::Set(di, static_cast<TI>(step))), hn::Zero(di));
      v = hn::Max(v, hn::TableLookupLanes(v, hn::IndicesFromVec(di, before)));
    }
    return v;
  };
  const auto key_of = [&](auto v) HWY_ATTR { return KeyOf<kLargest>(d, v); };
  auto carried = key_of(hn::Set(d, state.value));
  // The extreme before this vector and its position, in all lanes.
  auto value = hn::Set(d, state.value);
  auto index_before = hn::Set(d64, state.index);
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(lanes)) {
    const size_t count = HWY_MIN(lanes, static_cast<size_t>(n - i));
    const auto v = hn::LoadNOr(hn::Set(d, in[i]), d, in + i, count);
    const auto key = key_of(v);
    const auto most = hn::Max(scan(key), carried);
    carried = hn::TableLookupLanes(most, last);
    // The position of the last element that replaced the one before; -1 in front of the first such.
    const auto place = scan(hn::IfThenElse(hn::Eq(key, most), positions, hn::Set(di, TI{-1})));
    const auto none = hn::RebindMask(d, hn::Lt(place, hn::Zero(di)));
    const auto found = hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::Max(place, hn::Zero(di))));
    const auto extremes = hn::IfThenElse(none, value, found);
    store(extremes, d, best + i, count);
    value = hn::TableLookupLanes(extremes, last_value);
    const auto store_index = [&](auto of, size_t first) HWY_ATTR {
      const auto joined = hn::IfThenElse(hn::Lt(of, hn::Zero(d64)), index_before,
                                         hn::Add(of, hn::Set(d64, start + i)));
      if (first < count) store(joined, d64, index + i + first, count - first);
      return joined;
    };
    if constexpr (sizeof(T) == sizeof(int64_t)) {
      index_before = hn::TableLookupLanes(store_index(place, 0), last_index);
    } else {
      store_index(hn::PromoteLowerTo(d64, place), 0);
      index_before = hn::TableLookupLanes(
          store_index(hn::PromoteUpperTo(d64, place), hn::Lanes(d64)), last_index);
    }
  }
  if (n > 0) state = {best[n - 1], index[n - 1]};
}

template <bool kLargest, class T>
void Step(const T* HWY_RESTRICT in, size_t n, int64_t position, T* HWY_RESTRICT best,
          int64_t* HWY_RESTRICT index, T* HWY_RESTRICT out, int64_t* HWY_RESTRICT out_index) {
  for (size_t i = 0; i < n; ++i) {
    const T x = in[i], b = best[i];
    const bool beats = kLargest ? x >= b : x <= b;
    const bool replaces = (x != x) | (beats & (b == b));
    best[i] = replaces ? x : b;
    index[i] = replaces ? position : index[i];
    out[i] = best[i];
    out_index[i] = index[i];
  }
}

template <class T>
RunningExtremeLoops<T> LoopsOf(bool largest) {
  constexpr T kLowest = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                    : std::numeric_limits<T>::lowest();
  constexpr T kHighest = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                     : std::numeric_limits<T>::max();
  if (largest) return {Row<true, T>, Step<true, T>, kLowest};
  return {Row<false, T>, Step<false, T>, kHighest};
}

RunningExtremeLoops<float> FloatExtremeLoopsImpl(bool largest) { return LoopsOf<float>(largest); }
RunningExtremeLoops<double> DoubleExtremeLoopsImpl(bool largest) {
  return LoopsOf<double>(largest);
}
RunningExtremeLoops<int64_t> IntegerExtremeLoopsImpl(bool largest) {
  return LoopsOf<int64_t>(largest);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(FloatExtremeLoopsImpl);
HWY_EXPORT(DoubleExtremeLoopsImpl);
HWY_EXPORT(IntegerExtremeLoopsImpl);
RunningExtremeLoops<float> FloatExtremeLoops(bool largest) {
  return HWY_DYNAMIC_DISPATCH(FloatExtremeLoopsImpl)(largest);
}
RunningExtremeLoops<double> DoubleExtremeLoops(bool largest) {
  return HWY_DYNAMIC_DISPATCH(DoubleExtremeLoopsImpl)(largest);
}
RunningExtremeLoops<int64_t> IntegerExtremeLoops(bool largest) {
  return HWY_DYNAMIC_DISPATCH(IntegerExtremeLoopsImpl)(largest);
}

}  // namespace belay
#endif  // HWY_ONCE
