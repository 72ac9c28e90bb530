#include "runtime/kernels/reduce/reduce.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/reduce.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <bit>
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "runtime/kernels/reduce/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE T WrappedProduct(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

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
struct Product {
  template <class T>
  using Acc = SumType<T>;
  template <class T>
  static HWY_INLINE SumType<T> Join(SumType<T> acc, T x, double) {
    return WrappedProduct(acc, static_cast<SumType<T>>(x));
  }
};
struct Reach {
  template <class T>
  using Acc = SumType<T>;
  template <class T>
  static HWY_INLINE SumType<T> Join(SumType<T> acc, T x, double) {
    if constexpr (std::is_floating_point_v<T>) {
      const double size = std::fabs(static_cast<double>(x)), inverse = 1 / size;
      return acc * (size > inverse ? size : inverse);
    } else {
      return acc;
    }
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
      return LoopOf<Product>(type);
    case ReduceOp::kReach:
      return LoopOf<Reach>(type);
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

// Bounds of the logarithms of a piece of a product, in units of 2^-7: for each float, l = the upper 16
// bits of |x| minus those of 1 is log2 |x| or up to kLogSlack less, if x is normal.
constexpr int32_t kLogUnit = 128, kLogSlack = 13;
struct LogSums {
  int32_t sum = 0;        // of l
  int32_t magnitude = 0;  // of |l|
  bool usual = false;     // all elements are normal numbers, and the sums are exact
};

// Multiplies n numbers in pieces. The factors of a piece are multiplied in lanes if no partial product
// could leave the normal numbers of double, neither one of a lane nor one in the order of the elements;
// otherwise one after another.
double ProductRunF32Impl(const float* HWY_RESTRICT x, int64_t n) {
  constexpr int64_t kPiece = 128, kShort = 24;
  constexpr int32_t kReach = 1020 * kLogUnit;
  const hn::ScalableTag<float> d;
  const hn::Repartition<int16_t, decltype(d)> d16;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RepartitionToWide<decltype(d)> dd;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto ones = hn::Set(dd, 1.0);
  // The product is total * product0 * ... * product3. `pending` bounds |log2| of every product of some
  // of its factors since the lanes were 1.
  double total = 1;
  auto product0 = ones, product1 = ones, product2 = ones, product3 = ones;
  int32_t pending = 0;
  // log2 of the product is at least log, and exceeds it by at most kLogSlack * factors.
  int64_t log = 0, factors = 0;
  const auto join = [&]() HWY_ATTR {
    HWY_ALIGN double ends[hn::MaxLanes(dd)];
    hn::Store(hn::Mul(hn::Mul(product0, product1), hn::Mul(product2, product3)), dd, ends);
    for (size_t half = hn::Lanes(dd) / 2; half > 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) ends[i] *= ends[i + half];
    }
    total *= ends[0];
    product0 = product1 = product2 = product3 = ones;
    pending = 0;
    // For zero, infinity and NaN: out of reach.
    const auto biased = static_cast<int64_t>((std::bit_cast<uint64_t>(total) >> 52) & 2047);
    log = (biased - 1023) * kLogUnit;
    factors = kLogUnit / kLogSlack + 1;
  };
  for (int64_t at = 0; at < n; at += kPiece) {
    const float* piece = x + at;
    HWY_ALIGN float rest[kPiece];
    LogSums logs;
    auto q0 = ones, q1 = ones, q2 = ones, q3 = ones;
    if (n - at >= kShort) {
      if (n - at < kPiece) {
        for (int64_t i = 0; i < kPiece; ++i) rest[i] = at + i < n ? piece[i] : 1.0f;
        piece = rest;
      }
      const auto magnitude = hn::Set(d16, 0x7fff), one = hn::Set(d16, 127 << 7);
      auto sum = hn::Zero(d16), sizes = hn::Zero(d16), most = hn::Zero(d16);
      for (int64_t i = 0; i < kPiece; i += 2 * lanes) {
        const auto a = hn::LoadU(d, piece + i), b = hn::LoadU(d, piece + i + lanes);
        const auto upper = hn::OddEven(hn::BitCast(d16, b),
                                       hn::BitCast(d16, hn::ShiftRight<16>(hn::BitCast(du, a))));
        const auto l = hn::Sub(hn::And(upper, magnitude), one), size = hn::Abs(l);
        most = hn::Max(most, size);
        sum = hn::SaturatedAdd(sum, l);
        sizes = hn::SaturatedAdd(sizes, size);
        q0 = hn::Mul(q0, hn::PromoteLowerTo(dd, a));
        q1 = hn::Mul(q1, hn::PromoteUpperTo(dd, a));
        q2 = hn::Mul(q2, hn::PromoteLowerTo(dd, b));
        q3 = hn::Mul(q3, hn::PromoteUpperTo(dd, b));
      }
      const hn::RebindToSigned<decltype(d)> d32;
      const auto unit = hn::Set(d16, 1);
      logs.sum = hn::ReduceSum(d32, hn::WidenMulPairwiseAdd(d32, sum, unit));
      logs.magnitude = hn::ReduceSum(d32, hn::WidenMulPairwiseAdd(d32, sizes, unit));
      // If a sum saturates, so does `sizes`. Exponents from -126 to 125 are usual.
      logs.usual = hn::AllTrue(
          d16, hn::And(hn::Le(most, hn::Set(d16, 126 << 7)), hn::Lt(sizes, hn::Set(d16, 0x7fff))));
    }
    const int32_t below = (logs.magnitude - logs.sum) / 2, above = (logs.magnitude + logs.sum) / 2;
    const int32_t reach = logs.magnitude + static_cast<int32_t>(kPiece) * kLogSlack;
    const auto stays_normal = [&] {
      return log - below >= -kReach && log + above + kLogSlack * (factors + kPiece) <= kReach;
    };
    const bool usual = logs.usual && reach <= kReach;
    if (usual && (pending + reach > kReach || !stays_normal())) join();
    if (usual && stays_normal()) {
      product0 = hn::Mul(product0, q0);
      product1 = hn::Mul(product1, q1);
      product2 = hn::Mul(product2, q2);
      product3 = hn::Mul(product3, q3);
      pending += reach;
      log += logs.sum;
      factors += kPiece;
      continue;
    }
    const int64_t end = HWY_MIN(n, at + kPiece);
    join();
    for (int64_t i = at; i < end; ++i) total *= static_cast<double>(x[i]);
    join();
  }
  join();
  return total;
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

HWY_EXPORT(ProductRunF32Impl);
double ProductRunF32(const float* x, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(ProductRunF32Impl)(x, n);
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
