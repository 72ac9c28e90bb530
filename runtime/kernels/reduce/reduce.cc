#include "runtime/kernels/reduce/reduce.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/reduce.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "runtime/kernels/reduce/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct AbsSum {
  template <class T>
  using Acc = SumType<T>;
  template <class T>
  static HWY_INLINE SumType<T> Join(SumType<T> acc, T x, double) {
    if constexpr (std::is_floating_point_v<T>) {
      return acc + std::fabs(static_cast<double>(x));
    } else {
      return acc;
    }
  }
};
// Of int64, modulo 2^64.
struct Product {
  template <class T>
  using Acc = T;
  template <class T>
  static HWY_INLINE T Join(T acc, T x, double) {
    return static_cast<T>(static_cast<uint64_t>(acc) * static_cast<uint64_t>(x));
  }
};
// NaN is kept, since no comparison with it is true.
struct Max {
  template <class T>
  using Acc = T;
  template <class T>
  static HWY_INLINE T Join(T acc, T x, double) {
    const T larger = x > acc ? x : acc;
    return x != x ? x : larger;
  }
};
struct Min {
  template <class T>
  using Acc = T;
  template <class T>
  static HWY_INLINE T Join(T acc, T x, double) {
    const T smaller = x < acc ? x : acc;
    return x != x ? x : smaller;
  }
};
struct Any {
  template <class T>
  using Acc = T;
  template <class T>
  static HWY_INLINE T Join(T acc, T x, double) {
    return x != T{0} ? T{1} : acc;
  }
};
struct All {
  template <class T>
  using Acc = T;
  template <class T>
  static HWY_INLINE T Join(T acc, T x, double) {
    return x != T{0} ? acc : T{0};
  }
};

ReduceLoop FindReduceLoopImpl(ReduceOp op, DType type) {
  switch (op) {
    case ReduceOp::kAbsSum:
      return LoopOf<AbsSum>(type);
    case ReduceOp::kProduct:
      return type == DType::kInt64 ? &Reduce<Product, int64_t> : nullptr;
    case ReduceOp::kMax:
      return LoopOf<Max>(type);
    case ReduceOp::kMin:
      return LoopOf<Min>(type);
    case ReduceOp::kAny:
      return LoopOf<Any>(type);
    case ReduceOp::kAll:
      return LoopOf<All>(type);
    case ReduceOp::kSum:
    case ReduceOp::kSquares:
      break;  // moments.cc
  }
  return nullptr;
}

// Six floats and a fraction: their product is a normal number, zero, infinite or NaN.
constexpr int64_t kFactors = 6;

// Moves the exponents of numbers to `exponents`. Zero, infinities and NaN have none.
template <class D, class V = hn::Vec<D>, class VI = hn::Vec<hn::RebindToSigned<D>>>
HWY_INLINE V TakeExponent(D d, V x, VI& exponents) {
  const hn::RebindToSigned<D> di;
  const VI field = hn::Set(di, int64_t{0x7ff} << 52), one = hn::Set(di, int64_t{0x3ff} << 52);
  const VI bits = hn::BitCast(di, x), exponent = hn::And(bits, field);
  const auto special = hn::Or(hn::Eq(exponent, hn::Zero(di)), hn::Eq(exponent, field));
  const VI change = hn::ShiftRight<52>(hn::Sub(exponent, one));
  exponents = hn::Add(exponents, hn::IfThenZeroElse(special, change));
  const V fraction = hn::BitCast(d, hn::Or(hn::AndNot(field, bits), one));
  return hn::IfThenElse(hn::RebindMask(d, special), x, fraction);
}

// Multiplies kVectors vectors of accumulators by rows; with kPartial, one vector of `count` columns.
template <size_t kVectors, bool kPartial>
HWY_INLINE void MultiplyStrip(const float* HWY_RESTRICT x, int64_t rows, int64_t row_step,
                              size_t count, double* HWY_RESTRICT fractions,
                              int64_t* HWY_RESTRICT exponents) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const hn::RebindToSigned<decltype(d)> di;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> product[kVectors];
  hn::Vec<decltype(di)> exponent[kVectors];
  for (size_t v = 0; v < kVectors; ++v) {
    product[v] = kPartial ? hn::LoadN(d, fractions, count) : hn::LoadU(d, fractions + v * lanes);
    exponent[v] = kPartial ? hn::LoadN(di, exponents, count) : hn::LoadU(di, exponents + v * lanes);
  }
  for (int64_t r = 0; r < rows;) {
    for (const int64_t end = HWY_MIN(rows, r + kFactors); r < end; ++r, x += row_step) {
      for (size_t v = 0; v < kVectors; ++v) {
        const auto row = kPartial ? hn::LoadN(half, x, count) : hn::LoadU(half, x + v * lanes);
        product[v] = hn::Mul(product[v], hn::PromoteTo(d, row));
      }
    }
    for (size_t v = 0; v < kVectors; ++v) product[v] = TakeExponent(d, product[v], exponent[v]);
  }
  for (size_t v = 0; v < kVectors; ++v) {
    if constexpr (kPartial) {
      hn::StoreN(product[v], d, fractions, count);
      hn::StoreN(exponent[v], di, exponents, count);
    } else {
      hn::StoreU(product[v], d, fractions + v * lanes);
      hn::StoreU(exponent[v], di, exponents + v * lanes);
    }
  }
}

void ProductRowsImpl(const float* x, int64_t rows, int64_t row_step, int64_t width,
                     double* fractions, int64_t* exponents) {
  constexpr int64_t kVectors = 4;
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<double>()));
  int64_t i = 0;
  for (; i + kVectors * lanes <= width; i += kVectors * lanes) {
    MultiplyStrip<kVectors, false>(x + i, rows, row_step, 0, fractions + i, exponents + i);
  }
  for (; i < width; i += lanes) {
    const auto count = static_cast<size_t>(HWY_MIN(lanes, width - i));
    MultiplyStrip<1, true>(x + i, rows, row_step, count, fractions + i, exponents + i);
  }
}

// Multiplies *fraction * 2^*exponent by n floats in four vectors.
void ProductRunImpl(const float* HWY_RESTRICT x, int64_t n, double* fraction, int64_t* exponent) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto product0 = hn::Set(d, 1.0), product1 = product0, product2 = product0, product3 = product0;
  auto exponents = hn::Zero(di);
  int64_t i = 0;
  while (i + 4 * lanes <= n) {
    const int64_t end = HWY_MIN(n, i + kFactors * 4 * lanes);
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      product0 = hn::Mul(product0, hn::PromoteTo(d, hn::LoadU(half, x + i)));
      product1 = hn::Mul(product1, hn::PromoteTo(d, hn::LoadU(half, x + i + lanes)));
      product2 = hn::Mul(product2, hn::PromoteTo(d, hn::LoadU(half, x + i + 2 * lanes)));
      product3 = hn::Mul(product3, hn::PromoteTo(d, hn::LoadU(half, x + i + 3 * lanes)));
    }
    product0 = TakeExponent(d, product0, exponents);
    product1 = TakeExponent(d, product1, exponents);
    product2 = TakeExponent(d, product2, exponents);
    product3 = TakeExponent(d, product3, exponents);
  }
  // One more factor of each vector, or of some.
  const auto rest = [&](int64_t at) HWY_ATTR {
    const auto count = static_cast<size_t>(HWY_MIN(lanes, HWY_MAX(n - at, int64_t{0})));
    const auto ones = hn::Set(half, 1.0f);
    return hn::PromoteTo(d, count == 0 ? ones : hn::LoadNOr(ones, half, x + at, count));
  };
  if (i < n) {
    product0 = hn::Mul(product0, rest(i));
    product1 = hn::Mul(product1, rest(i + lanes));
    product2 = hn::Mul(product2, rest(i + 2 * lanes));
    product3 = hn::Mul(product3, rest(i + 3 * lanes));
  }
  product0 = hn::Mul(hn::Mul(product0, product1), hn::Mul(product2, product3));
  product0 = TakeExponent(d, product0, exponents);
  HWY_ALIGN double products[hn::MaxLanes(d)];
  hn::Store(product0, d, products);
  double total = *fraction;
  for (int64_t k = 0; k < lanes; ++k) total *= products[k];
  const hn::CappedTag<double, 1> one;
  auto sum = hn::Set(hn::RebindToSigned<decltype(one)>(), hn::ReduceSum(di, exponents));
  *fraction = hn::GetLane(TakeExponent(one, hn::Set(one, total), sum));
  *exponent += hn::GetLane(sum);
}

// The extreme of n > 0 elements; NaN if one is.
template <bool kLargest, class T>
T ExtremeOfRun(const T* HWY_RESTRICT x, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto join = [](auto a, auto b)
                        HWY_ATTR { return kLargest ? hn::Max(a, b) : hn::Min(a, b); };
  auto best0 = hn::Set(d, x[0]), best1 = best0, best2 = best0, best3 = best0;
  auto numbers = hn::Eq(best0, best0);  // false in lanes with a NaN
  const auto see = [&](auto& best, auto v) HWY_ATTR {
    if constexpr (std::is_floating_point_v<T>) numbers = hn::And(numbers, hn::Eq(v, v));
    best = join(best, v);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    see(best0, hn::LoadU(d, x + i));
    see(best1, hn::LoadU(d, x + i + lanes));
    see(best2, hn::LoadU(d, x + i + 2 * lanes));
    see(best3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i < n; i += lanes) {
    see(best0, hn::LoadNOr(hn::Set(d, x[0]), d, x + i, static_cast<size_t>(HWY_MIN(lanes, n - i))));
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (!hn::AllTrue(d, numbers)) return std::numeric_limits<T>::quiet_NaN();
  }
  const auto best = join(join(best0, best1), join(best2, best3));
  return kLargest ? hn::ReduceMax(d, best) : hn::ReduceMin(d, best);
}

void ExtremeRunImpl(bool largest, DType type, const void* x, int64_t n, void* best) {
  const auto run = [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    const T* in = static_cast<const T*>(x);
    const T of_run = largest ? ExtremeOfRun<true>(in, n) : ExtremeOfRun<false>(in, n);
    T& acc = *static_cast<T*>(best);
    acc = largest ? Max::Join<T>(acc, of_run, 0) : Min::Join<T>(acc, of_run, 0);
  };
  switch (type) {
    case DType::kFloat32:
      return run(float{});
    case DType::kFloat64:
      return run(double{});
    default:
      return run(int64_t{});
  }
}

template <class T>
int64_t Find(const T* HWY_RESTRICT x, int64_t n, T best) {
  constexpr int64_t kBlock = 64;
  const auto matches = [best](T v) HWY_ATTR {
    return std::is_floating_point_v<T> && best != best ? v != v : v == best;
  };
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t end = start + kBlock < n ? start + kBlock : n;
    int any = 0;
    for (int64_t i = start; i < end; ++i) any |= matches(x[i]) ? 1 : 0;
    if (any == 0) continue;
    for (int64_t i = start; i < end; ++i) {
      if (matches(x[i])) return i;
    }
  }
  return -1;
}

int64_t FindValueImpl(DType type, const void* x, int64_t n, const void* best) {
  switch (type) {
    case DType::kFloat32:
      return Find(static_cast<const float*>(x), n, *static_cast<const float*>(best));
    case DType::kFloat64:
      return Find(static_cast<const double*>(x), n, *static_cast<const double*>(best));
    default:
      return Find(static_cast<const int64_t*>(x), n, *static_cast<const int64_t*>(best));
  }
}

template <bool kLargest, class T>
void Extreme(const T* HWY_RESTRICT x, int64_t rows, int64_t row_step, int64_t width,
             int64_t first_row, T* HWY_RESTRICT best, int64_t* HWY_RESTRICT row) {
  for (int64_t r = first_row; r < first_row + rows; ++r, x += row_step) {
    for (int64_t i = 0; i < width; ++i) {
      const T a = x[i], b = best[i];
      const bool nan = (a != a) & (b == b);
      const bool beats = (kLargest ? a > b : a < b) | nan;
      best[i] = beats ? a : b;
      row[i] = beats ? r : row[i];
    }
  }
}

void ExtremeRowsImpl(bool largest, DType type, const void* x, int64_t rows, int64_t row_step,
                     int64_t width, int64_t first_row, void* best, int64_t* row) {
  const auto run = [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(best);
    if (largest) {
      Extreme<true>(in, rows, row_step, width, first_row, out, row);
    } else {
      Extreme<false>(in, rows, row_step, width, first_row, out, row);
    }
  };
  switch (type) {
    case DType::kFloat32:
      return run(float{});
    case DType::kFloat64:
      return run(double{});
    default:
      return run(int64_t{});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(ProductRowsImpl);
void ProductRowsF32(const float* x, int64_t rows, int64_t row_step, int64_t width,
                    double* fractions, int64_t* exponents) {
  HWY_DYNAMIC_DISPATCH(ProductRowsImpl)(x, rows, row_step, width, fractions, exponents);
}

HWY_EXPORT(ProductRunImpl);
void ProductRunF32(const float* x, int64_t n, double* fraction, int64_t* exponent) {
  HWY_DYNAMIC_DISPATCH(ProductRunImpl)(x, n, fraction, exponent);
}

HWY_EXPORT(ExtremeRunImpl);
void ExtremeRun(bool largest, DType type, const void* x, int64_t n, void* best) {
  HWY_DYNAMIC_DISPATCH(ExtremeRunImpl)(largest, type, x, n, best);
}

HWY_EXPORT(FindReduceLoopImpl);
HWY_EXPORT(FindValueImpl);
HWY_EXPORT(ExtremeRowsImpl);
ReduceLoop FindReduceLoop(ReduceOp op, DType type) {
  if (op == ReduceOp::kSum) return FindSumLoop(type);
  if (op == ReduceOp::kSquares) return FindSquaresLoop(type);
  return HWY_DYNAMIC_DISPATCH(FindReduceLoopImpl)(op, type);
}
int64_t FindValue(DType type, const void* x, int64_t n, const void* best) {
  return HWY_DYNAMIC_DISPATCH(FindValueImpl)(type, x, n, best);
}
void ExtremeRows(bool largest, DType type, const void* x, int64_t rows, int64_t row_step,
                 int64_t width, int64_t first_row, void* best, int64_t* row) {
  HWY_DYNAMIC_DISPATCH(ExtremeRowsImpl)
  (largest, type, x, rows, row_step, width, first_row, best, row);
}

}  // namespace belay
#endif  // HWY_ONCE
