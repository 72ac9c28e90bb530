#include "runtime/kernels/gemm/panel_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/panel_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::CappedTag<T, kPanelColumns / 2>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

// How a tile accumulates: Load returns weights of depth p; Part adds their products with x to the sum
// of a group; Total adds the sum of a group to that of all. `at` is the offset of parameters that each
// group has per column.
template <class T>
struct Accumulate {
  static constexpr size_t kRows = HWY_TARGET <= HWY_AVX3 ? 12 : 4;
  HWY_INLINE explicit Accumulate(const PanelArgs<T, T>&) {}
  HWY_INLINE Vector<T> Load(const T* b, size_t, size_t) const { return hn::LoadU(Tag<T>(), b); }
  HWY_INLINE Vector<T> Part(Vector<T> sum, Vector<T> x, Vector<T> w, size_t) const {
    if constexpr (hwy::IsFloat<T>()) return hn::MulAdd(x, w, sum);
    return hn::Add(sum, hn::Mul(x, w));
  }
  HWY_INLINE Vector<T> Total(Vector<T>, Vector<T> part, size_t) const { return part; }
};

HWY_INLINE Vector<float> LoadWeights(const int8_t* b) {
  const Tag<float> d;
  const hn::Rebind<int8_t, Tag<float>> d8;
  return hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<Tag<float>>(), hn::LoadU(d8, b)));
}

// One scale and zero point per depth.
struct ScaleDepths {
  static constexpr size_t kRows = HWY_TARGET <= HWY_AVX3 ? 6 : 3;
  const float *scale, *zero;
  HWY_INLINE explicit ScaleDepths(const PanelArgs<float, int8_t>& g)
      : scale(g.scale), zero(g.zero) {}
  HWY_INLINE Vector<float> Load(const int8_t* b, size_t p, size_t) const {
    return hn::Sub(LoadWeights(b), hn::Set(Tag<float>(), zero[p]));
  }
  HWY_INLINE Vector<float> Part(Vector<float> sum, Vector<float> x, Vector<float> w,
                                size_t p) const {
    return hn::Add(sum, hn::Mul(hn::Mul(x, w), hn::Set(Tag<float>(), scale[p])));
  }
  HWY_INLINE Vector<float> Total(Vector<float>, Vector<float> part, size_t) const { return part; }
};

// One scale and zero point per column and group of depths.
struct ScaleColumns {
  static constexpr size_t kRows = ScaleDepths::kRows;
  const float *scale, *zero;
  HWY_INLINE explicit ScaleColumns(const PanelArgs<float, int8_t>& g)
      : scale(g.scale), zero(g.zero) {}
  HWY_INLINE Vector<float> Load(const int8_t* b, size_t, size_t at) const {
    return hn::Sub(LoadWeights(b), hn::LoadU(Tag<float>(), zero + at));
  }
  HWY_INLINE Vector<float> Part(Vector<float> sum, Vector<float> x, Vector<float> w, size_t) const {
    return hn::Add(sum, hn::Mul(x, w));
  }
  HWY_INLINE Vector<float> Total(Vector<float> sum, Vector<float> part, size_t at) const {
    return hn::Add(sum, hn::Mul(part, hn::LoadU(Tag<float>(), scale + at)));
  }
};

// Computes kRows rows by two vectors of columns from `column` on. Only multiplications of doubles are
// fused with additions. `group` is the depth of a group.
template <class Accumulation, size_t kRows, class A, class B>
HWY_INLINE void Tile(const PanelArgs<A, B>& g, const Accumulation& form, size_t group, size_t row,
                     size_t column) {
  using V = Vector<A>;
  const Tag<A> d;
  const size_t lanes = hn::Lanes(d);
  const A* HWY_RESTRICT a = g.k == 0 ? nullptr : g.a + row * g.lda;
  const B* HWY_RESTRICT b = g.k == 0 ? nullptr : g.b + column;
  V sum0[kRows], sum1[kRows];
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) sum0[r] = sum1[r] = hn::Zero(d);
  size_t at = column;  // of the group's parameters
  for (size_t first = 0; first < g.k; first += group, at += kPanelColumns) {
    const size_t end = HWY_MIN(g.k, first + group);
    V part0[kRows], part1[kRows];
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) part0[r] = part1[r] = hn::Zero(d);
    for (size_t p = first; p < end; ++p, b += g.ldb) {
      const V w0 = form.Load(b, p, at), w1 = form.Load(b + lanes, p, at + lanes);
      HWY_UNROLL(kRows)
      for (size_t r = 0; r < kRows; ++r) {
        const V x = hn::Set(d, a[r * g.lda + p]);
        part0[r] = form.Part(part0[r], x, w0, p);
        part1[r] = form.Part(part1[r], x, w1, p);
      }
    }
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      sum0[r] = form.Total(sum0[r], part0[r], at);
      sum1[r] = form.Total(sum1[r], part1[r], at + lanes);
    }
  }
  const size_t columns = HWY_MIN(g.n - column, 2 * lanes);
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    A* HWY_RESTRICT c = g.c + (row + r) * g.ldc + column;
    hn::StoreN(sum0[r], d, c, HWY_MIN(columns, lanes));
    if (columns > lanes) hn::StoreN(sum1[r], d, c + lanes, columns - lanes);
  }
}

template <class Accumulation, class A, class B>
HWY_INLINE void Multiply(const PanelArgs<A, B>& g) {
  constexpr size_t kRows = Accumulation::kRows;
  const Accumulation form(g);
  const size_t group = g.group == 0 ? HWY_MAX(g.k, size_t{1}) : g.group;
  for (size_t j = 0; j < g.n; j += 2 * hn::Lanes(Tag<A>())) {
    size_t i = 0;
    for (; i + kRows <= g.m; i += kRows) Tile<Accumulation, kRows>(g, form, group, i, j);
    if constexpr (kRows > 4) {
      for (; i + 4 <= g.m; i += 4) Tile<Accumulation, 4>(g, form, group, i, j);
    }
    for (; i < g.m; ++i) Tile<Accumulation, 1>(g, form, group, i, j);
  }
}

// Computes kRows elements of a column of C.
template <size_t kRows>
HWY_INLINE void ColumnTile(const PanelArgs<double, double>& g, size_t row, size_t column) {
  const hn::ScalableTag<double> d;
  const size_t lanes = hn::Lanes(d);
  const double* HWY_RESTRICT a = g.a + row * g.lda;
  const double* HWY_RESTRICT b = g.b + column * g.ldb;
  hn::Vec<decltype(d)> sums[kRows];
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) sums[r] = hn::Zero(d);
  size_t p = 0;
  for (; p + lanes <= g.k; p += lanes) {
    const auto y = hn::LoadU(d, b + p);
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r)
      sums[r] = hn::MulAdd(hn::LoadU(d, a + r * g.lda + p), y, sums[r]);
  }
  if (p < g.k) {
    const auto y = hn::LoadN(d, b + p, g.k - p);
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      sums[r] = hn::MulAdd(hn::LoadN(d, a + r * g.lda + p, g.k - p), y, sums[r]);
    }
  }
  for (size_t r = 0; r < kRows; ++r) g.c[(row + r) * g.ldc + column] = hn::ReduceSum(d, sums[r]);
}

void MultiplyDoubleColumns(const PanelArgs<double, double>& g) {
  constexpr size_t kRows = 8;
  size_t i = 0;
  for (; i + kRows <= g.m; i += kRows) {
    for (size_t j = 0; j < g.n; ++j) ColumnTile<kRows>(g, i, j);
  }
  for (; i < g.m; ++i) {
    for (size_t j = 0; j < g.n; ++j) ColumnTile<1>(g, i, j);
  }
}

void MultiplyInt32(const PanelArgs<int32_t, int32_t>& g) { Multiply<Accumulate<int32_t>>(g); }
void MultiplyInt64(const PanelArgs<int64_t, int64_t>& g) { Multiply<Accumulate<int64_t>>(g); }
void MultiplyDouble(const PanelArgs<double, double>& g) { Multiply<Accumulate<double>>(g); }
void MultiplyMixed(const PanelArgs<float, int8_t>& g) {
  if (g.group == 0) return Multiply<ScaleDepths>(g);
  Multiply<ScaleColumns>(g);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(MultiplyInt32);
HWY_EXPORT(MultiplyInt64);
HWY_EXPORT(MultiplyDouble);
HWY_EXPORT(MultiplyMixed);
HWY_EXPORT(MultiplyDoubleColumns);
void MultiplyColumns(const PanelArgs<double, double>& args) {
  HWY_DYNAMIC_DISPATCH(MultiplyDoubleColumns)(args);
}
void MultiplyPanel(const PanelArgs<int32_t, int32_t>& args) {
  HWY_DYNAMIC_DISPATCH(MultiplyInt32)(args);
}
void MultiplyPanel(const PanelArgs<int64_t, int64_t>& args) {
  HWY_DYNAMIC_DISPATCH(MultiplyInt64)(args);
}
void MultiplyPanel(const PanelArgs<double, double>& args) {
  HWY_DYNAMIC_DISPATCH(MultiplyDouble)(args);
}
void MultiplyPanel(const PanelArgs<float, int8_t>& args) {
  HWY_DYNAMIC_DISPATCH(MultiplyMixed)(args);
}

}  // namespace belay
#endif  // HWY_ONCE
