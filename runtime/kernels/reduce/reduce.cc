#include "runtime/kernels/reduce/reduce.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/reduce.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <bit>
#include <cmath>

#include "hwy/highway.h"
#include "runtime/kernels/reduce/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

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

// Multiplies n numbers in pieces of kPiece in lanes, and the pieces one after another. A piece is
// multiplied one factor after another if a partial product in that order could leave the normal
// numbers of double.
double ProductRunF32Impl(const float* HWY_RESTRICT x, int64_t n) {
  constexpr int64_t kPiece = 64, kLanes = 16;
  // |log2| of a finite normal float x is less than |exponent of x| + 1.
  constexpr int32_t kReach = 1020, kUnusual = 1 << 16;
  double total = 1;
  int64_t at = 0;
  for (; at + kPiece <= n; at += kPiece) {
    double lanes[kLanes];
    int32_t reach[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) {
      lanes[i] = 1;
      reach[i] = 0;
    }
    for (int64_t row = at; row < at + kPiece; row += kLanes) {
      for (int64_t i = 0; i < kLanes; ++i) {
        const int32_t biased = (std::bit_cast<int32_t>(x[row + i]) >> 23) & 255;
        const int32_t exponent = biased - 127, size = exponent < 0 ? -exponent : exponent;
        reach[i] += biased == 0 || biased == 255 ? kUnusual : size + 1;
        lanes[i] *= static_cast<double>(x[row + i]);
      }
    }
    int32_t sum = 0;
    for (int64_t i = 0; i < kLanes; ++i) sum += reach[i];
    const int32_t exponent =
        static_cast<int32_t>((std::bit_cast<uint64_t>(total) >> 52) & 2047) - 1023;
    sum += (exponent < 0 ? -exponent : exponent) + 1;
    if (sum <= kReach) {
      for (int64_t half = kLanes / 2; half > 0; half /= 2) {
        for (int64_t i = 0; i < half; ++i) lanes[i] *= lanes[i + half];
      }
      total *= lanes[0];
    } else {
      for (int64_t i = at; i < at + kPiece; ++i) total *= static_cast<double>(x[i]);
    }
  }
  for (; at < n; ++at) total *= static_cast<double>(x[at]);
  return total;
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
