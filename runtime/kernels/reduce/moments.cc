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

enum class Term : uint8_t { kElement, kSquare, kCenteredSquare };

// Returns sum + x, sum + x^2 or sum + (x - center)^2.
template <Term kTerm, class V>
HWY_INLINE V AddTerm(V sum, V x, V center) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kTerm == Term::kElement) return hn::Add(sum, x);
  const V distance = kTerm == Term::kSquare ? x : hn::Sub(x, center);
  return hn::MulAdd(distance, distance, sum);
}

// Sums the terms of n floats in four vectors of doubles.
template <Term kTerm>
HWY_INLINE double FoldRun(const float* HWY_RESTRICT x, int64_t n, double center) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto middle = hn::Set(d, center);
  const auto add = [&](auto sum, const float* from) HWY_ATTR {
    return AddTerm<kTerm>(sum, hn::PromoteTo(d, hn::LoadU(half, from)), middle);
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
    sum1 = hn::IfThenElse(hn::FirstN(d, count), AddTerm<kTerm>(sum1, v, middle), sum1);
  }
  return hn::ReduceSum(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
}
template <Term kTerm>
HWY_INLINE void FoldRuns(const FloatRuns& x, double center, double* sums) {
  for (int64_t i = 0; i < x.count; ++i) {
    sums[i] = FoldRun<kTerm>(x.data + i * x.step, x.length, center);
  }
}
void SumRuns(const FloatRuns& x, double* sums) { FoldRuns<Term::kElement>(x, 0, sums); }
void SquareRuns(const FloatRuns& x, double center, double* sums) {
  if (center == 0) return FoldRuns<Term::kSquare>(x, 0, sums);
  FoldRuns<Term::kCenteredSquare>(x, center, sums);
}

double SumInFloatImpl(const float* HWY_RESTRICT x, int64_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    sum0 = hn::Add(sum0, hn::LoadU(d, x + i));
    sum1 = hn::Add(sum1, hn::LoadU(d, x + i + lanes));
    sum2 = hn::Add(sum2, hn::LoadU(d, x + i + 2 * lanes));
    sum3 = hn::Add(sum3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i < n; i += lanes) {
    sum0 = hn::Add(sum0, hn::LoadN(d, x + i, static_cast<size_t>(HWY_MIN(lanes, n - i))));
  }
  return hn::ReduceSum(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
}

// Adds kRows rows to the accumulators, which are loaded and stored once. Rows are read from start to end,
// as prefetchers expect.
template <Term kTerm, int kRows>
HWY_INLINE void AddRows(const float* HWY_RESTRICT x, int64_t row_step, int64_t width,
                        double* HWY_RESTRICT acc, const double* HWY_RESTRICT center) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const auto c = center == nullptr ? hn::Zero(d) : hn::LoadU(d, center + i);
    auto sum = hn::LoadU(d, acc + i);
    for (int r = 0; r < kRows; ++r) {
      sum = AddTerm<kTerm>(sum, hn::PromoteTo(d, hn::LoadU(half, x + r * row_step + i)), c);
    }
    hn::StoreU(sum, d, acc + i);
  }
  if (i == width) return;
  const auto n = static_cast<size_t>(width - i);
  const auto c = center == nullptr ? hn::Zero(d) : hn::LoadN(d, center + i, n);
  auto sum = hn::LoadN(d, acc + i, n);
  for (int r = 0; r < kRows; ++r) {
    sum = AddTerm<kTerm>(sum, hn::PromoteTo(d, hn::LoadN(half, x + r * row_step + i, n)), c);
  }
  hn::StoreN(sum, d, acc + i, n);
}

// Reduce<Sum, float> and Reduce<Squares, float>, several rows at a time.
template <Term kTerm>
void FoldColumns(const void* in, int64_t rows, int64_t row_step, int64_t width, void* result,
                 const double* center) {
  constexpr int kRows = 8;
  const float* x = static_cast<const float*>(in);
  double* acc = static_cast<double*>(result);
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    AddRows<kTerm, kRows>(x + r * row_step, row_step, width, acc, center);
  }
  for (; r < rows; ++r) AddRows<kTerm, 1>(x + r * row_step, row_step, width, acc, center);
}

ReduceLoop SumLoop(DType type) {
  return type == DType::kFloat32 ? &FoldColumns<Term::kElement> : LoopOf<Sum>(type);
}
ReduceLoop SquaresLoop(DType type) {
  return type == DType::kFloat32 ? &FoldColumns<Term::kCenteredSquare> : LoopOf<Squares>(type);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(SumLoop);
HWY_EXPORT(SquaresLoop);
HWY_EXPORT(SumRuns);
HWY_EXPORT(SumInFloatImpl);
double SumInFloat(const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(SumInFloatImpl)(x, n); }
HWY_EXPORT(SquareRuns);
void SumRunsF32(const FloatRuns& x, double* sums) { HWY_DYNAMIC_DISPATCH(SumRuns)(x, sums); }
void SquareRunsF32(const FloatRuns& x, double center, double* sums) {
  HWY_DYNAMIC_DISPATCH(SquareRuns)(x, center, sums);
}
ReduceLoop FindSumLoop(DType type) { return HWY_DYNAMIC_DISPATCH(SumLoop)(type); }
ReduceLoop FindSquaresLoop(DType type) { return HWY_DYNAMIC_DISPATCH(SquaresLoop)(type); }

}  // namespace belay
#endif  // HWY_ONCE
