// Loops of means and variances, separate from the others, so that pooling and normalization link
// only these.
#include "runtime/kernels/reduce/moments.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/moments.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/reduce/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE T WrappedSum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

struct Sum {
  template <class T>
  using Acc = SumType<T>;
  template <class T>
  static HWY_INLINE SumType<T> Join(SumType<T> acc, T x, double) {
    return WrappedSum(acc, static_cast<SumType<T>>(x));
  }
};
struct Squares {
  template <class T>
  using Acc = SumType<T>;
  template <class T>
  static HWY_INLINE SumType<T> Join(SumType<T> acc, T x, double center) {
    if constexpr (std::is_floating_point_v<T>) {
      const double distance = static_cast<double>(x) - center;
      return acc + distance * distance;
    } else {
      return acc;
    }
  }
};

// Returns sum + x, or sum + (x - center)^2.
template <bool kSquares, class V>
HWY_INLINE V AddTerm(V sum, V x, V center) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (!kSquares) return hn::Add(sum, x);
  const V distance = hn::Sub(x, center);
  return hn::MulAdd(distance, distance, sum);
}

// Sums n floats, or the squares of their distances from `center`, in four vectors of doubles.
template <bool kSquares>
HWY_INLINE double FoldRun(const float* HWY_RESTRICT x, int64_t n, double center) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto middle = hn::Set(d, center);
  const auto add = [&](auto sum, const float* from) HWY_ATTR {
    return AddTerm<kSquares>(sum, hn::PromoteTo(d, hn::LoadU(half, from)), middle);
  };
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    sum0 = add(sum0, x + i);
    sum1 = add(sum1, x + i + lanes);
    sum2 = add(sum2, x + i + 2 * lanes);
    sum3 = add(sum3, x + i + 3 * lanes);
  }
  for (; i + lanes <= n; i += lanes) sum0 = add(sum0, x + i);
  if (i < n) {
    const auto count = static_cast<size_t>(n - i);
    const auto v = hn::PromoteTo(d, hn::LoadN(half, x + i, count));
    if constexpr (kSquares) {
      const auto distance = hn::IfThenElseZero(hn::FirstN(d, count), hn::Sub(v, middle));
      sum1 = hn::MulAdd(distance, distance, sum1);
    } else {
      sum1 = hn::Add(sum1, v);
    }
  }
  return hn::ReduceSum(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
}
double SumRun(const float* x, int64_t n) { return FoldRun<false>(x, n, 0); }
double SquareRun(const float* x, int64_t n, double center) { return FoldRun<true>(x, n, center); }

// Reduce<Sum, float> and Reduce<Squares, float>, with a block of accumulators in registers.
template <bool kSquares>
void FoldColumns(const void* in, int64_t rows, int64_t row_step, int64_t width, void* result,
                 const double* center) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* x = static_cast<const float*>(in);
  double* acc = static_cast<double*>(result);
  const auto add = [&](auto sum, auto elements, auto middle) HWY_ATTR {
    return AddTerm<kSquares>(sum, hn::PromoteTo(d, elements), middle);
  };
  const auto center_of = [&](int64_t i, size_t n) HWY_ATTR {
    return center == nullptr ? hn::Zero(d) : hn::LoadN(d, center + i, n);
  };
  const auto all = static_cast<size_t>(lanes);
  int64_t i = 0;
  for (; i + 4 * lanes <= width; i += 4 * lanes) {
    const int64_t i1 = i + lanes, i2 = i1 + lanes, i3 = i2 + lanes;
    const auto c0 = center_of(i, all), c1 = center_of(i1, all), c2 = center_of(i2, all),
               c3 = center_of(i3, all);
    auto s0 = hn::LoadU(d, acc + i), s1 = hn::LoadU(d, acc + i1), s2 = hn::LoadU(d, acc + i2),
         s3 = hn::LoadU(d, acc + i3);
    const float* row = x;
    for (int64_t r = 0; r < rows; ++r, row += row_step) {
      s0 = add(s0, hn::LoadU(half, row + i), c0);
      s1 = add(s1, hn::LoadU(half, row + i1), c1);
      s2 = add(s2, hn::LoadU(half, row + i2), c2);
      s3 = add(s3, hn::LoadU(half, row + i3), c3);
    }
    hn::StoreU(s0, d, acc + i);
    hn::StoreU(s1, d, acc + i1);
    hn::StoreU(s2, d, acc + i2);
    hn::StoreU(s3, d, acc + i3);
  }
  for (; i < width; i += lanes) {
    const auto n = static_cast<size_t>(HWY_MIN(lanes, width - i));
    const auto c = center_of(i, n);
    auto sum = hn::LoadN(d, acc + i, n);
    for (int64_t r = 0; r < rows; ++r) sum = add(sum, hn::LoadN(half, x + r * row_step + i, n), c);
    hn::StoreN(sum, d, acc + i, n);
  }
}

ReduceLoop SumLoop(DType type) {
  return type == DType::kFloat32 ? &FoldColumns<false> : LoopOf<Sum>(type);
}
ReduceLoop SquaresLoop(DType type) {
  return type == DType::kFloat32 ? &FoldColumns<true> : LoopOf<Squares>(type);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(SumLoop);
HWY_EXPORT(SquaresLoop);
HWY_EXPORT(SumRun);
HWY_EXPORT(SquareRun);
double SumRunF32(const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(SumRun)(x, n); }
double SquareRunF32(const float* x, int64_t n, double center) {
  return HWY_DYNAMIC_DISPATCH(SquareRun)(x, n, center);
}
ReduceLoop FindSumLoop(DType type) { return HWY_DYNAMIC_DISPATCH(SumLoop)(type); }
ReduceLoop FindSquaresLoop(DType type) { return HWY_DYNAMIC_DISPATCH(SquaresLoop)(type); }

}  // namespace belay
#endif  // HWY_ONCE
