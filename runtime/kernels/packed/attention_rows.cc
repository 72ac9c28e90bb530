#include "runtime/kernels/packed/attention_rows.h"

#include <algorithm>

#include "runtime/core/element.h"
#include "runtime/kernels/packed/packed_weights.h"  // kPanelColumns

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/attention_rows.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/packed/epilogue-inl.h"  // LoadSome

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kPanelColumns>;

// As LoadSome of epilogue-inl.h.
template <class D>
HWY_INLINE hn::Vec<D> LoadSome(D d, const Half* from, size_t count) {
  const hn::Rebind<hwy::float16_t, D> d16;
  const auto* elements = reinterpret_cast<const hwy::float16_t*>(from);
  const bool whole = count >= hn::Lanes(d);
  return hn::PromoteTo(d, whole ? hn::LoadU(d16, elements) : hn::LoadN(d16, elements, count));
}
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadAll(D d, const T* from) {
  return LoadSome(d, from, hn::Lanes(d));
}

// Fetches the row that is about kAhead bytes after `row` to the first-level cache: the hardware
// does not fetch beyond a page.
constexpr size_t kAhead = 4096;
template <class T>
HWY_INLINE void FetchAhead(const T* row, size_t n, size_t stride) {
  if (n == 0) return;
  const T* const ahead = row + (kAhead / (n * sizeof(T)) + 1) * stride;
  for (size_t i = 0; i < n; i += 64 / sizeof(T)) __builtin_prefetch(ahead + i);
}

// out[s] = scale * sum over i of query[i] * keys[s * stride + i].
template <class T>
void Dots(const float* HWY_RESTRICT query, const T* HWY_RESTRICT keys, size_t count, size_t stride,
          size_t n, float scale, bool is_first, float* HWY_RESTRICT out) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  size_t s = 0;
  for (; s + 4 <= count; s += 4) {
    const T* HWY_RESTRICT k0 = keys + s * stride;
    const T* HWY_RESTRICT k1 = k0 + stride;
    const T* HWY_RESTRICT k2 = k1 + stride;
    const T* HWY_RESTRICT k3 = k2 + stride;
    if (is_first) {
      for (const T* row : {k0, k1, k2, k3}) FetchAhead(row, n, stride);
    }
    auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
    size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      const auto q = hn::LoadU(d, query + i);
      sum0 = hn::MulAdd(q, LoadAll(d, k0 + i), sum0);
      sum1 = hn::MulAdd(q, LoadAll(d, k1 + i), sum1);
      sum2 = hn::MulAdd(q, LoadAll(d, k2 + i), sum2);
      sum3 = hn::MulAdd(q, LoadAll(d, k3 + i), sum3);
    }
    if (i < n) {
      const auto q = hn::LoadN(d, query + i, n - i);
      sum0 = hn::MulAdd(q, LoadSome(d, k0 + i, n - i), sum0);
      sum1 = hn::MulAdd(q, LoadSome(d, k1 + i, n - i), sum1);
      sum2 = hn::MulAdd(q, LoadSome(d, k2 + i, n - i), sum2);
      sum3 = hn::MulAdd(q, LoadSome(d, k3 + i, n - i), sum3);
    }
    out[s] = scale * hn::ReduceSum(d, sum0);
    out[s + 1] = scale * hn::ReduceSum(d, sum1);
    out[s + 2] = scale * hn::ReduceSum(d, sum2);
    out[s + 3] = scale * hn::ReduceSum(d, sum3);
  }
  for (; s < count; ++s) {
    const T* HWY_RESTRICT key = keys + s * stride;
    auto sum = hn::Zero(d);
    for (size_t i = 0; i < n; i += lanes) {
      sum = hn::MulAdd(hn::LoadN(d, query + i, n - i), LoadSome(d, key + i, n - i), sum);
    }
    out[s] = scale * hn::ReduceSum(d, sum);
  }
}

// out[j] += sum over s of weights[s] * rows[s * stride + j]; `overwrites`: out[j] = the sum.
template <class T>
void WeightedRows(const float* HWY_RESTRICT weights, const T* HWY_RESTRICT rows, size_t count,
                  size_t stride, size_t n, bool is_first, bool overwrites,
                  float* HWY_RESTRICT out) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  for (size_t j = 0; j < n; j += 4 * lanes) {
    const size_t left = n - j;
    const auto part = [&](size_t v) HWY_ATTR {
      return left > v * lanes ? HWY_MIN(lanes, left - v * lanes) : size_t{0};
    };
    auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
    if (!overwrites) {
      sum0 = hn::LoadN(d, out + j, part(0));
      if (left > lanes) sum1 = hn::LoadN(d, out + j + lanes, part(1));
      if (left > 2 * lanes) sum2 = hn::LoadN(d, out + j + 2 * lanes, part(2));
      if (left > 3 * lanes) sum3 = hn::LoadN(d, out + j + 3 * lanes, part(3));
    }
    for (size_t s = 0; s < count; ++s) {
      const T* HWY_RESTRICT row = rows + s * stride + j;
      const auto w = hn::Set(d, weights[s]);
      if (is_first) FetchAhead(row, HWY_MIN(left, 4 * lanes), stride);
      if (left >= 4 * lanes) {
        sum0 = hn::MulAdd(w, LoadAll(d, row), sum0);
        sum1 = hn::MulAdd(w, LoadAll(d, row + lanes), sum1);
        sum2 = hn::MulAdd(w, LoadAll(d, row + 2 * lanes), sum2);
        sum3 = hn::MulAdd(w, LoadAll(d, row + 3 * lanes), sum3);
      } else {
        sum0 = hn::MulAdd(w, LoadSome(d, row, part(0)), sum0);
        if (left > lanes) sum1 = hn::MulAdd(w, LoadSome(d, row + lanes, part(1)), sum1);
        if (left > 2 * lanes) sum2 = hn::MulAdd(w, LoadSome(d, row + 2 * lanes, part(2)), sum2);
        if (left > 3 * lanes) sum3 = hn::MulAdd(w, LoadSome(d, row + 3 * lanes, part(3)), sum3);
      }
    }
    hn::StoreN(sum0, d, out + j, part(0));
    if (left > lanes) hn::StoreN(sum1, d, out + j + lanes, part(1));
    if (left > 2 * lanes) hn::StoreN(sum2, d, out + j + 2 * lanes, part(2));
    if (left > 3 * lanes) hn::StoreN(sum3, d, out + j + 3 * lanes, part(3));
  }
}

// Packs rows of values: packed(panel, s, j) = rows[s * stride + panel * kPanelColumns + j], 0 for
// columns beyond `size`.
template <class T>
void PackedValues(const T* HWY_RESTRICT rows, size_t count, size_t stride, size_t size,
                  float* HWY_RESTRICT packed) {
  const hn::CappedTag<float, kPanelColumns> d;
  constexpr size_t kColumns = static_cast<size_t>(kPanelColumns);
  const size_t lanes = hn::Lanes(d);
  for (size_t first = 0; first < size; first += kColumns) {
    const size_t columns = HWY_MIN(kColumns, size - first);
    for (size_t s = 0; s < count; ++s, packed += kColumns) {
      const T* HWY_RESTRICT row = rows + s * stride + first;
      for (size_t j = 0; j < kColumns; j += lanes) {
        const size_t left = columns > j ? columns - j : 0;
        hn::StoreU(left == 0 ? hn::Zero(d) : LoadSome(d, row + j, left), d, packed + j);
      }
    }
  }
}

// Transposes rows of keys into panels: packed(panel, k, j) = rows[(panel * kPanelColumns + j) *
// stride + k], 0 for keys beyond `count`.
template <class T>
void PackedKeys(const T* HWY_RESTRICT rows, size_t count, size_t stride, size_t size,
                float* HWY_RESTRICT packed) {
  const hn::FixedTag<float, 4> d;
  constexpr size_t kColumns = static_cast<size_t>(kPanelColumns);
  for (size_t first = 0; first < count; first += kColumns, packed += size * kColumns) {
    const size_t columns = HWY_MIN(kColumns, count - first);
    const T* HWY_RESTRICT from = rows + first * stride;
    size_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      const T* HWY_RESTRICT r = from + j * stride;
      size_t k = 0;
      for (; k + 4 <= size; k += 4) {
        const auto a = LoadAll(d, r + k), b = LoadAll(d, r + stride + k);
        const auto c = LoadAll(d, r + 2 * stride + k), e = LoadAll(d, r + 3 * stride + k);
        const auto ab = hn::InterleaveLower(d, a, b), ab2 = hn::InterleaveUpper(d, a, b);
        const auto ce = hn::InterleaveLower(d, c, e), ce2 = hn::InterleaveUpper(d, c, e);
        float* HWY_RESTRICT to = packed + k * kColumns + j;
        hn::StoreU(hn::ConcatLowerLower(d, ce, ab), d, to);
        hn::StoreU(hn::ConcatUpperUpper(d, ce, ab), d, to + kColumns);
        hn::StoreU(hn::ConcatLowerLower(d, ce2, ab2), d, to + 2 * kColumns);
        hn::StoreU(hn::ConcatUpperUpper(d, ce2, ab2), d, to + 3 * kColumns);
      }
      for (; k < size; ++k) {
        for (size_t i = 0; i < 4; ++i)
          packed[k * kColumns + j + i] = static_cast<float>(r[i * stride + k]);
      }
    }
    for (; j < columns; ++j) {
      for (size_t k = 0; k < size; ++k)
        packed[k * kColumns + j] = static_cast<float>(from[j * stride + k]);
    }
    for (size_t k = 0; columns < kColumns && k < size; ++k) {
      std::fill(packed + k * kColumns + columns, packed + (k + 1) * kColumns, 0.0f);
    }
  }
}

// Calls `function` with the first element as a pointer to its type.
template <class Function>
HWY_INLINE void WithElements(const HeadRows& rows, const Function& function) {
  switch (rows.dtype) {
    case DType::kBFloat16:
      return function(static_cast<const BFloat16*>(rows.data));
    case DType::kFloat16:
      return function(static_cast<const Half*>(rows.data));
    default:
      return function(static_cast<const float*>(rows.data));
  }
}

void DotsImpl(const float* query, const HeadRows& keys, size_t count, size_t n, float scale,
              bool is_first, float* out) {
  WithElements(keys, [&](const auto* first) HWY_ATTR {
    Dots(query, first, count, static_cast<size_t>(keys.stride), n, scale, is_first, out);
  });
}
void WeightedRowsImpl(const float* weights, const HeadRows& rows, size_t count, size_t n,
                      bool is_first, bool overwrites, float* out) {
  WithElements(rows, [&](const auto* first) HWY_ATTR {
    WeightedRows(weights, first, count, static_cast<size_t>(rows.stride), n, is_first, overwrites,
                 out);
  });
}
void PackKeysImpl(const HeadRows& rows, size_t count, size_t size, float* packed) {
  WithElements(rows, [&](const auto* first) HWY_ATTR {
    PackedKeys(first, count, static_cast<size_t>(rows.stride), size, packed);
  });
}
void PackValuesImpl(const HeadRows& rows, size_t count, size_t size, float* packed) {
  WithElements(rows, [&](const auto* first) HWY_ATTR {
    PackedValues(first, count, static_cast<size_t>(rows.stride), size, packed);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(DotsImpl);
HWY_EXPORT(WeightedRowsImpl);
HWY_EXPORT(PackKeysImpl);
HWY_EXPORT(PackValuesImpl);

HeadRows HeadRows::From(int64_t offset) const {
  HeadRows rows = *this;
  rows.data = static_cast<const std::byte*>(data) + offset * static_cast<int64_t>(DTypeSize(dtype));
  return rows;
}

void KeyDots(const float* query, const HeadRows& keys, size_t count, size_t n, float scale,
             bool is_first, float* out) {
  HWY_DYNAMIC_DISPATCH(DotsImpl)(query, keys, count, n, scale, is_first, out);
}
void AddWeightedRows(const float* weights, const HeadRows& rows, size_t count, size_t n,
                     bool is_first, bool overwrites, float* out) {
  HWY_DYNAMIC_DISPATCH(WeightedRowsImpl)(weights, rows, count, n, is_first, overwrites, out);
}
void PackKeys(const HeadRows& rows, size_t count, size_t size, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackKeysImpl)(rows, count, size, packed);
}
void PackValues(const HeadRows& rows, size_t count, size_t size, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackValuesImpl)(rows, count, size, packed);
}

}  // namespace belay
#endif  // HWY_ONCE
