#include "runtime/kernels/pool/pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pool/pool.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Index of the first nonnegative position of a window dimension that begins at `start`.
HWY_INLINE int64_t FirstPlace(int64_t start, int64_t dilation) {
  return start >= 0 ? 0 : (-start + dilation - 1) / dilation;
}
// End index of the window's `kernel` positions that are before `size`.
HWY_INLINE int64_t EndOfPlaces(int64_t start, int64_t dilation, int64_t size, int64_t kernel) {
  if (dilation == 1) return HWY_MAX(int64_t{0}, HWY_MIN(kernel, size - start));
  return start >= size ? 0 : HWY_MIN(kernel, (size - start + dilation - 1) / dilation);
}

// The planes and rows of a row's windows that are inside the volume: first <= i < last.
struct RowRange {
  int64_t first_plane, last_plane, first_row, last_row;

  template <class T>
  static RowRange Of(const PoolRowOf<T>& row) {
    return {FirstPlace(row.first_plane, row.plane_dilation),
            EndOfPlaces(row.first_plane, row.plane_dilation, row.depth, row.kernel_depth),
            FirstPlace(row.first_row, row.row_dilation),
            EndOfPlaces(row.first_row, row.row_dilation, row.height, row.kernel_height)};
  }
  bool empty() const { return first_plane >= last_plane || first_row >= last_row; }
};

// Returns plane * height + row of window row (i, j).
template <class T>
HWY_INLINE int64_t RowAt(const PoolRowOf<T>& row, int64_t i, int64_t j) {
  return (row.first_plane + i * row.plane_dilation) * row.height + row.first_row +
         j * row.row_dilation;
}

// Calls visit(plane * height + row) for the rows of a window that are inside the volume, in order.
template <class T, class Visit>
HWY_INLINE void WalkRows(const PoolRowOf<T>& row, const RowRange& rows, const Visit& visit) {
  for (int64_t i = rows.first_plane; i < rows.last_plane; ++i) {
    for (int64_t j = rows.first_row; j < rows.last_row; ++j) visit(RowAt(row, i, j));
  }
}

// Returns every kStride-th of the elements from `from` on, which are before `end`.
template <int kStride, class D>
HWY_INLINE hn::Vec<D> LoadStrided(D d, const float* from, const float* end) {
  const auto low = hn::LoadU(d, from);
  if constexpr (kStride == 1) return low;
  const size_t lanes = hn::Lanes(d);
  // The last element that is needed may be the last of the volume.
  const auto high = end - from >= static_cast<ptrdiff_t>(2 * lanes)
                        ? hn::LoadU(d, from + lanes)
                        : hn::Reverse2(d, hn::LoadU(d, from + lanes - 1));
  return hn::ConcatEven(d, high, low);
}

// Whether masked loads read only the lanes of their mask.
constexpr bool kHasMaskedLoads = HWY_TARGET <= HWY_AVX2;

// LoadStrided of the elements at offsets [first, last) from `from`; the others are 0 and not read.
template <int kStride, class D>
HWY_INLINE hn::Vec<D> LoadBetween(D d, const float* from, int64_t first, int64_t last) {
  const auto load = [&](int64_t before) HWY_ATTR {
    const auto below = [&](int64_t end) HWY_ATTR {
      const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
      const int64_t count = HWY_MIN(HWY_MAX(end - before, int64_t{0}), lanes);
      return hn::FirstN(d, static_cast<size_t>(count));
    };
    return hn::MaskedLoad(hn::AndNot(below(first), below(last)), d, from + before);
  };
  const auto low = load(0);
  if constexpr (kStride == 1) return low;
  return hn::ConcatEven(d, load(static_cast<int64_t>(hn::Lanes(d))), low);
}

// Calls visit(values, places, inside) for each position in the window, in order, for the windows x,
// x + 1, … of one vector.
template <class D, class Visit>
HWY_INLINE void WalkWindows(D d, const PoolRow& row, const RowRange& rows, int64_t x,
                            const Visit& visit) {
  const hn::RebindToSigned<D> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto lane = hn::Iota(di, 0);
  const auto zero = hn::Zero(di), width = hn::Set(di, static_cast<int32_t>(row.width));
  const auto live =
      hn::Lt(lane, hn::Set(di, static_cast<int32_t>(HWY_MIN(row.outputs - x, int64_t{64}))));
  const auto column0 = hn::Add(hn::Mul(lane, hn::Set(di, static_cast<int32_t>(row.stride))),
                               hn::Set(di, static_cast<int32_t>(x * row.stride - row.padding)));
  // If a window is much larger than its image, only positions inside the image are visited.
  const int64_t first_column = x * row.stride - row.padding;
  const int64_t last_column = first_column + (HWY_MIN(lanes, row.outputs - x) - 1) * row.stride;
  const int64_t k0 = FirstPlace(last_column, row.dilation),
                k1 = EndOfPlaces(first_column, row.dilation, row.width, row.kernel_width);
  const float* const end = row.volume + row.depth * row.height * row.width;
  const bool whole = row.outputs - x >= lanes;
  WalkRows(row, rows, [&](int64_t r) HWY_ATTR {
    const auto start = hn::Set(di, static_cast<int32_t>(r * row.width));
    for (int64_t k = k0; k < k1; ++k) {
      const int64_t shift = k * row.dilation;
      const auto column = hn::Add(column0, hn::Set(di, static_cast<int32_t>(shift)));
      if (whole && row.stride <= 2 && first_column + shift >= 0 &&
          last_column + shift < row.width) {
        const float* const from = row.volume + r * row.width + first_column + shift;
        visit(row.stride == 1 ? LoadStrided<1>(d, from, end) : LoadStrided<2>(d, from, end),
              hn::Add(start, column), live);
        continue;
      }
      const auto inside = hn::And(live, hn::AndNot(hn::Lt(column, zero), hn::Lt(column, width)));
      if (hn::AllFalse(di, inside)) continue;
      if (kHasMaskedLoads && row.stride <= 2) {
        const int64_t first = HWY_MAX(int64_t{0}, -(first_column + shift)),
                      last = HWY_MIN(row.width, last_column + shift + 1) - first_column - shift;
        const float* const from = row.volume + r * row.width + first_column + shift;
        visit(row.stride == 1 ? LoadBetween<1>(d, from, first, last)
                              : LoadBetween<2>(d, from, first, last),
              hn::Add(start, column), inside);
        continue;
      }
      const auto place = hn::IfThenElseZero(inside, hn::Add(start, column));
      visit(hn::MaskedGatherIndex(hn::RebindMask(d, inside), d, row.volume, place), place, inside);
    }
  });
}

// Position of the first nonnegative plane, row and column of window `x`, even if it is beyond the
// volume. PyTorch returns it for a window without an element.
HWY_INLINE int64_t FirstPlaceOfWindow(const PoolRow& row, int64_t x) {
  const int64_t column = x * row.stride - row.padding;
  const int64_t y = row.first_row + FirstPlace(row.first_row, row.row_dilation) * row.row_dilation;
  const int64_t z =
      row.first_plane + FirstPlace(row.first_plane, row.plane_dilation) * row.plane_dilation;
  return (z * row.height + y) * row.width + column +
         FirstPlace(column, row.dilation) * row.dilation;
}

// The window at which the vector after that of window x begins. The last vector overlaps the
// previous one rather than be partial, if the row has as many windows.
HWY_INLINE int64_t NextVector(int64_t x, int64_t outputs, int64_t lanes) {
  x += lanes;
  return x < outputs && x + lanes > outputs ? outputs - lanes : x;
}

// Elements from row to row.
HWY_INLINE int64_t PitchOf(const PoolRow& row) {
  return row.padded_pitch != 0 ? row.padded_pitch : row.width;
}
// The end of the elements that can be read.
HWY_INLINE const float* EndOf(const PoolRow& row) {
  return row.volume + row.depth * row.height * PitchOf(row) +
         (row.padded_pitch != 0 ? kPoolSlack : 0);
}

// The maxima of a vector of windows that are inside the columns of the volume or of its padded
// copy, and their positions. Precondition: `rows` is not empty.
template <int kStride, class D, class VI>
HWY_INLINE hn::Vec<D> MaximaInside(D d, const PoolRow& row, const RowRange& rows, int64_t column,
                                   VI& at) {
  const hn::DFromV<VI> di;
  const float* const end = EndOf(row);
  const int64_t pitch = PitchOf(row);
  const auto steps = hn::Mul(hn::Iota(di, 0), hn::Set(di, kStride));
  const auto place_at = [&](int64_t place) HWY_ATTR {
    return hn::Add(steps, hn::Set(di, static_cast<int32_t>(place)));
  };
  // The first element of the volume is taken even if it is -infinity.
  auto best = hn::Set(d, -std::numeric_limits<float>::infinity());
  const int64_t start = RowAt(row, rows.first_plane, rows.first_row) * row.width;
  at = hn::Add(hn::Max(place_at(column), hn::Zero(di)), hn::Set(di, static_cast<int32_t>(start)));
  WalkRows(row, rows, [&](int64_t r) HWY_ATTR {
    for (int64_t k = 0; k < row.kernel_width; ++k) {
      const int64_t x = column + k * row.dilation, place = r * row.width + x;
      const auto value = LoadStrided<kStride>(d, row.volume + r * pitch + x, end);
      const auto take = hn::Or(hn::Gt(value, best), hn::IsNaN(value));
      best = hn::IfThenElse(take, value, best);
      at = hn::IfThenElse(hn::RebindMask(di, take), place_at(place), at);
    }
  });
  return best;
}

template <class D>
HWY_INLINE void MaxPoolRowBy(D d, const PoolRow& row, float* HWY_RESTRICT out,
                             int64_t* HWY_RESTRICT index) {
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RepartitionToWide<decltype(di)> dl;
  const auto zero = hn::Zero(di);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN int32_t places[HWY_MAX_BYTES / sizeof(int32_t)];
  const RowRange rows = RowRange::Of(row);
  const int64_t reach = (lanes - 1) * row.stride + (row.kernel_width - 1) * row.dilation;
  const bool padded = row.padded_pitch != 0;
  const bool inner = !rows.empty() && row.stride <= 2 && row.outputs >= lanes;
  const int64_t half = lanes / 2;
  for (int64_t x = 0; x < row.outputs; x = padded ? x + lanes : NextVector(x, row.outputs, lanes)) {
    auto best = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto at = hn::Set(di, -1);
    const int64_t column = x * row.stride - row.padding;
    const int64_t count = HWY_MIN(lanes, row.outputs - x);
    const auto store = [&]() HWY_ATTR {
      if (count == lanes) {
        hn::StoreU(best, d, out + x);
        hn::StoreU(hn::PromoteLowerTo(dl, at), dl, index + x);
        hn::StoreU(hn::PromoteUpperTo(dl, at), dl, index + x + half);
        return;
      }
      hn::StoreN(best, d, out + x, static_cast<size_t>(count));
      hn::StoreN(hn::PromoteLowerTo(dl, at), dl, index + x,
                 static_cast<size_t>(HWY_MIN(count, half)));
      if (count > half) {
        hn::StoreN(hn::PromoteUpperTo(dl, at), dl, index + x + half,
                   static_cast<size_t>(count - half));
      }
    };
    if (padded || (inner && column >= 0 && column + reach < row.width)) {
      best = row.stride == 1 ? MaximaInside<1>(d, row, rows, column, at)
                             : MaximaInside<2>(d, row, rows, column, at);
      store();
      continue;
    }
    WalkWindows(d, row, rows, x, [&](auto value, auto place, auto inside) HWY_ATTR {
      // The first element of a window is always taken.
      const auto first = hn::Lt(at, hn::Zero(di));
      const auto better = hn::RebindMask(di, hn::Or(hn::Gt(value, best), hn::IsNaN(value)));
      const auto take = hn::And(inside, hn::Or(first, better));
      best = hn::IfThenElse(hn::RebindMask(d, take), value, best);
      at = hn::IfThenElse(take, place, at);
    });
    store();
    const auto found =
        hn::Or(hn::Ge(at, zero), hn::Not(hn::FirstN(di, static_cast<size_t>(count))));
    if (HWY_LIKELY(hn::AllTrue(di, found))) continue;
    hn::Store(at, di, places);
    for (int64_t i = 0; i < count; ++i) {
      index[x + i] = places[i] >= 0 ? places[i] : FirstPlaceOfWindow(row, x + i);
    }
  }
}

// Vectors that are not longer than a row, down to four windows, since whole vectors are faster. If
// windows cross the edges and loads are masked, or if rows are padded, the shortest vector that has
// the whole row.
void MaxPoolRowF32Impl(const PoolRow& row, float* HWY_RESTRICT out, int64_t* HWY_RESTRICT index) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const bool masked =
      row.padded_pitch != 0 || (kHasMaskedLoads && row.stride <= 2 && row.padding > 0);
  if constexpr (HWY_MAX_LANES_D(decltype(d)) > 8) {
    const bool fits = masked ? row.outputs > 4 && row.outputs <= 8 : row.outputs >= 8;
    if (row.outputs < lanes && fits) {
      return MaxPoolRowBy(hn::CappedTag<float, 8>(), row, out, index);
    }
  }
  if constexpr (HWY_MAX_LANES_D(decltype(d)) > 4) {
    if (row.outputs < lanes && (masked ? row.outputs <= 4 : row.outputs >= 4)) {
      return MaxPoolRowBy(hn::CappedTag<float, 4>(), row, out, index);
    }
  }
  MaxPoolRowBy(d, row, out, index);
}

// Columns of a window that are inside the volume: first <= k < last.
struct WindowColumns {
  int64_t first, last;

  // Clips a window of the row that begins at `column`.
  template <class T>
  static WindowColumns Of(const PoolRowOf<T>& row, int64_t column) {
    return {FirstPlace(column, row.dilation),
            EndOfPlaces(column, row.dilation, row.width, row.kernel_width)};
  }
};

// Returns the maxima of `count` channels from c on in a window that begins at `column`. With
// kPlaces, `at` receives their positions. Initially `at` has the position for a window without an
// element.
template <bool kPlaces, class V, class VI>
HWY_INLINE V MaximaOfChannels(const PoolRow& row, const RowRange& rows,
                              const WindowColumns& columns, int64_t column, int64_t channels,
                              int64_t c, size_t count, VI& at) {
  const hn::DFromV<V> d;
  const hn::DFromV<VI> di;
  V best = hn::Set(d, -std::numeric_limits<float>::infinity());
  bool first = true;
  WalkRows(row, rows, [&](int64_t r) HWY_ATTR {
    for (int64_t k = columns.first; k < columns.last; ++k) {
      const int64_t place = r * row.width + column + k * row.dilation;
      const V value = hn::LoadN(d, row.volume + place * channels + c, count);
      // The first element is always taken.
      const auto take = hn::Or(hn::Gt(value, best), hn::IsNaN(value));
      best = first ? value : hn::IfThenElse(take, value, best);
      if constexpr (kPlaces) {
        const VI here = hn::Set(di, static_cast<int32_t>(place));
        at = first ? here : hn::IfThenElse(hn::RebindMask(di, take), here, at);
      }
      first = false;
    }
  });
  return best;
}

// The maxima of a vector of channels from `from` on, the first pixel of the volume. Two pixels at a time,
// whose maximum and whether one is NaN take one instruction each.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> WholeMaxima(const PoolRow& row, const RowRange& rows,
                                                       const WindowColumns& columns, int64_t column,
                                                       int64_t channels, const float* from,
                                                       bool& has_nan) {
  const hn::ScalableTag<float> d;
  auto best = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto nan = hn::IsNaN(best);
  const int64_t step = row.dilation * channels;
  WalkRows(row, rows, [&](int64_t r) HWY_ATTR {
    const float* at = from + (r * row.width + column + columns.first * row.dilation) * channels;
    int64_t k = columns.first;
    for (; k + 2 <= columns.last; k += 2, at += 2 * step) {
      const auto a = hn::LoadU(d, at), b = hn::LoadU(d, at + step);
      nan = hn::Or(nan, hn::IsEitherNaN(a, b));
      best = hn::Max(best, hn::Max(a, b));
    }
    if (k < columns.last) {
      const auto a = hn::LoadU(d, at);
      nan = hn::Or(nan, hn::IsNaN(a));
      best = hn::Max(best, a);
    }
  });
  has_nan = !hn::AllFalse(d, nan);
  return best;
}

template <bool kPlaces>
HWY_INLINE void MaxPoolChannels(const PoolRow& row, int64_t channels, float* HWY_RESTRICT out,
                                int64_t* HWY_RESTRICT index) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN int32_t places[HWY_MAX_BYTES / sizeof(int32_t)];
  const RowRange rows = RowRange::Of(row);
  for (int64_t x = 0; x < row.outputs; ++x) {
    const int64_t column = x * row.stride - row.padding;
    const WindowColumns columns = WindowColumns::Of(row, column);
    for (int64_t c = 0; c < channels; c += lanes) {
      const size_t count = static_cast<size_t>(HWY_MIN(lanes, channels - c));
      if (!kPlaces && channels - c >= lanes) {
        bool has_nan;
        const auto best =
            WholeMaxima(row, rows, columns, column, channels, row.volume + c, has_nan);
        if (HWY_LIKELY(!has_nan)) {
          hn::StoreU(best, d, out + x * channels + c);
          continue;
        }
      }
      auto at = hn::Zero(di);
      if constexpr (kPlaces) at = hn::Set(di, static_cast<int32_t>(FirstPlaceOfWindow(row, x)));
      const auto best = MaximaOfChannels<kPlaces, hn::Vec<decltype(d)>>(row, rows, columns, column,
                                                                        channels, c, count, at);
      hn::StoreN(best, d, out + x * channels + c, count);
      if constexpr (kPlaces) {
        hn::Store(at, di, places);
        for (size_t i = 0; i < count; ++i) {
          index[x * channels + c + static_cast<int64_t>(i)] = places[i];
        }
      }
    }
  }
}

// Maps elements to integers of the same order.
struct ByteKeys {
  using T = uint8_t;
  static constexpr uint8_t kLeast = 0;
  template <class D, class V>
  static HWY_INLINE V KeysOf(D, V elements) {
    return elements;
  }
  template <class D, class V>
  static HWY_INLINE V ElementsOf(D, V keys) {
    return keys;
  }
};
// The element's bits; for negative numbers all bits except the sign are inverted. NaN is above all.
struct BFloat16Keys {
  using T = int16_t;
  static constexpr int16_t kLeast = -0x7F81;  // key of -infinity
  template <class D, class V>
  static HWY_INLINE V Turned(D d, V bits) {
    return hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(d, int16_t{0x7FFF})));
  }
  template <class D, class V>
  static HWY_INLINE V KeysOf(D d, V bits) {
    const auto all = hn::Set(d, int16_t{0x7FFF});
    const auto nan = hn::Gt(hn::And(bits, all), hn::Set(d, int16_t{0x7F80}));
    return hn::IfThenElse(nan, all, Turned(d, bits));
  }
  template <class D, class V>
  static HWY_INLINE V ElementsOf(D d, V keys) {
    return Turned(d, keys);
  }
};

template <class Keys, class Element>
HWY_INLINE void MaxPoolKeys(const PoolRowOf<Element>& row, int64_t channels, Element* result) {
  using T = typename Keys::T;
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* HWY_RESTRICT volume = reinterpret_cast<const T*>(row.volume);
  T* HWY_RESTRICT out = reinterpret_cast<T*>(result);
  const RowRange rows = RowRange::Of(row);
  for (int64_t x = 0; x < row.outputs; ++x, out += channels) {
    const int64_t column = x * row.stride - row.padding;
    const WindowColumns columns = WindowColumns::Of(row, column);
    for (int64_t c = 0; c < channels; c += lanes) {
      const size_t count = static_cast<size_t>(HWY_MIN(lanes, channels - c));
      auto best = hn::Set(d, Keys::kLeast);
      WalkRows(row, rows, [&](int64_t r) HWY_ATTR {
        const int64_t pixel = r * row.width + column;
        for (int64_t k = columns.first; k < columns.last; ++k) {
          const T* from = volume + (pixel + k * row.dilation) * channels + c;
          const auto elements = hn::LoadN(d, from, count);
          best = hn::Max(best, Keys::KeysOf(d, elements));
        }
      });
      hn::StoreN(Keys::ElementsOf(d, best), d, out + c, count);
    }
  }
}

void MaxPoolBytesImpl(const PoolRowOf<uint8_t>& row, int64_t channels, uint8_t* out) {
  MaxPoolKeys<ByteKeys>(row, channels, out);
}
void MaxPoolBFloat16Impl(const PoolRowOf<BFloat16>& row, int64_t channels, BFloat16* out) {
  MaxPoolKeys<BFloat16Keys>(row, channels, out);
}

void MaxPoolChannelsF32Impl(const PoolRow& row, int64_t channels, float* out, int64_t* index) {
  if (index != nullptr) {
    MaxPoolChannels<true>(row, channels, out, index);
  } else {
    MaxPoolChannels<false>(row, channels, out, nullptr);
  }
}

// The sums of a vector of windows that are inside the columns of the volume or of its padded copy.
template <int kStride, class D>
HWY_INLINE hn::Vec<D> SumsInside(D d, const PoolRow& row, const RowRange& rows, int64_t column) {
  const float* const end = EndOf(row);
  const int64_t pitch = PitchOf(row);
  auto sum = hn::Zero(d);
  WalkRows(row, rows, [&](int64_t r) HWY_ATTR {
    const float* const from = row.volume + r * pitch + column;
    for (int64_t k = 0; k < row.kernel_width; ++k) {
      sum = hn::Add(sum, LoadStrided<kStride>(d, from + k * row.dilation, end));
    }
  });
  return sum;
}

template <class D>
HWY_INLINE void AveragePoolRowBy(D d, const PoolRow& row, float lines,
                                 const float* HWY_RESTRICT columns, float* HWY_RESTRICT out) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const RowRange rows = RowRange::Of(row);
  const int64_t reach = (lanes - 1) * row.stride + (row.kernel_width - 1) * row.dilation;
  const bool padded = row.padded_pitch != 0;
  const bool inner = row.stride <= 2 && row.outputs >= lanes;
  for (int64_t x = 0; x < row.outputs; x = padded ? x + lanes : NextVector(x, row.outputs, lanes)) {
    const int64_t column = x * row.stride - row.padding;
    const size_t count = static_cast<size_t>(HWY_MIN(lanes, row.outputs - x));
    auto sum = hn::Zero(d);
    if (padded || (inner && column >= 0 && column + reach < row.width)) {
      sum = row.stride == 1 ? SumsInside<1>(d, row, rows, column)
                            : SumsInside<2>(d, row, rows, column);
    } else {
      WalkWindows(d, row, rows, x,
                  [&](auto value, auto, auto) HWY_ATTR { sum = hn::Add(sum, value); });
    }
    const auto divisor = hn::Mul(hn::Set(d, lines), hn::LoadN(d, columns + x, count));
    hn::StoreN(hn::Div(sum, divisor), d, out + x, count);
  }
}

void AveragePoolRowF32Impl(const PoolRow& row, float lines, const float* columns, float* out) {
  const hn::ScalableTag<float> d;
  if constexpr (HWY_MAX_LANES_D(decltype(d)) > 8) {
    if (row.padded_pitch != 0 && row.outputs <= 8) {
      return AveragePoolRowBy(hn::CappedTag<float, 8>(), row, lines, columns, out);
    }
  }
  AveragePoolRowBy(d, row, lines, columns, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(MaxPoolRowF32Impl);
HWY_EXPORT(MaxPoolChannelsF32Impl);
HWY_EXPORT(MaxPoolBytesImpl);
HWY_EXPORT(MaxPoolBFloat16Impl);
HWY_EXPORT(AveragePoolRowF32Impl);
void MaxPoolRowF32(const PoolRow& row, float* out, int64_t* index) {
  HWY_DYNAMIC_DISPATCH(MaxPoolRowF32Impl)(row, out, index);
}
void MaxPoolChannelsF32(const PoolRow& row, int64_t channels, float* out, int64_t* index) {
  HWY_DYNAMIC_DISPATCH(MaxPoolChannelsF32Impl)(row, channels, out, index);
}
void MaxPoolChannels(const PoolRowOf<BFloat16>& row, int64_t channels, BFloat16* out) {
  HWY_DYNAMIC_DISPATCH(MaxPoolBFloat16Impl)(row, channels, out);
}
void MaxPoolChannels(const PoolRowOf<uint8_t>& row, int64_t channels, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(MaxPoolBytesImpl)(row, channels, out);
}
void AveragePoolRowF32(const PoolRow& row, float lines, const float* columns, float* out) {
  HWY_DYNAMIC_DISPATCH(AveragePoolRowF32Impl)(row, lines, columns, out);
}

}  // namespace belay
#endif  // HWY_ONCE
