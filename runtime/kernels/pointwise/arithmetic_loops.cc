#include <type_traits>

#include "runtime/kernels/pointwise/loops.h"
#include "runtime/kernels/pointwise/pow_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pointwise/arithmetic_loops.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <cmath>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Plain loops over arrays, which compilers vectorize best, for any type. Integers wrap.
template <class T>
HWY_INLINE T Plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                          static_cast<std::make_unsigned_t<T>>(b));
  } else {
    return a + b;
  }
}
template <class T>
HWY_INLINE T Minus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) -
                          static_cast<std::make_unsigned_t<T>>(b));
  } else {
    return a - b;
  }
}
template <class T>
HWY_INLINE T Times(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) *
                          static_cast<std::make_unsigned_t<T>>(b));
  } else {
    return a * b;
  }
}

template <class T>
inline constexpr bool kInteger = std::is_integral_v<T>;

// An operation defines the types it supports, and its result for operands and two scalar
// parameters.
struct UnaryOp {
  static constexpr int kOperands = 1;
  template <class T>
  static constexpr bool kDefined = true;
};
struct BinaryOp : UnaryOp {
  static constexpr int kOperands = 2;
};
struct IntegerBinaryOp : BinaryOp {
  template <class T>
  static constexpr bool kDefined = kInteger<T>;
};

struct Abs : UnaryOp {
  template <class T>
  static HWY_INLINE T Of(T x, T, T) {
    if constexpr (kInteger<T>) {
      return x < 0 ? Minus(T{0}, x) : x;
    } else {
      return std::fabs(x);
    }
  }
};
struct ClampBoth : UnaryOp {
  template <class T>
  static HWY_INLINE T Of(T x, T low, T high) {
    const T raised = x < low ? low : x;
    return high < raised ? high : raised;
  }
};
// Clamps each element to its own bounds. NaN if one of the three is NaN.
struct ClampBetween : UnaryOp {
  static constexpr int kOperands = 3;
  template <class T>
  static HWY_INLINE T Of(T x, T low, T high) {
    const T raised = x < low ? low : x;
    const T clamped = high < raised ? high : raised;
    if constexpr (kInteger<T>) {
      return clamped;
    } else {
      const T bounded = high != high ? high : clamped;
      return low != low ? low : bounded;
    }
  }
};
struct ClampHigh : UnaryOp {
  template <class T>
  static HWY_INLINE T Of(T x, T, T high) {
    return high < x ? high : x;
  }
};
struct ClampLow : UnaryOp {
  template <class T>
  static HWY_INLINE T Of(T x, T low, T) {
    return x < low ? low : x;
  }
};
struct LeakyRelu : UnaryOp {
  template <class T>
  static constexpr bool kDefined = !kInteger<T>;
  template <class T>
  static HWY_INLINE T Of(T x, T slope, T) {
    const T scaled = x * slope;
    return x > 0 ? x : scaled;
  }
};
struct Neg : UnaryOp {
  template <class T>
  static HWY_INLINE T Of(T x, T, T) {
    if constexpr (kInteger<T>) {
      return Minus(T{0}, x);
    } else {
      return -x;
    }
  }
};
struct Not : UnaryOp {
  template <class T>
  static constexpr bool kDefined = kInteger<T>;
  template <class T>
  static HWY_INLINE T Of(T x, T, T) {
    return static_cast<T>(~x);
  }
};
struct Relu : UnaryOp {
  template <class T>
  static HWY_INLINE T Of(T x, T, T) {
    return x < 0 ? T{0} : x;
  }
};
struct Sign : UnaryOp {
  template <class T>
  static HWY_INLINE T Of(T x, T, T) {
    return static_cast<T>((0 < x) - (x < 0));
  }
};

struct Add : BinaryOp {
  template <class T>
  static HWY_INLINE T Of(T a, T b, T alpha, T) {
    return Plus(a, Times(b, alpha));
  }
};
struct And : IntegerBinaryOp {
  template <class T>
  static HWY_INLINE T Of(T a, T b, T, T) {
    return static_cast<T>(a & b);
  }
};
struct Div : BinaryOp {
  template <class T>
  static constexpr bool kDefined = !kInteger<T>;
  template <class T>
  static HWY_INLINE T Of(T a, T b, T, T) {
    return a / b;
  }
};
struct Maximum : BinaryOp {
  template <class T>
  static HWY_INLINE T Of(T a, T b, T, T) {
    if constexpr (kInteger<T>) {
      return b > a ? b : a;
    } else {
      const T larger = b > a ? b : a;
      const T number = b != b ? b : larger;
      return a != a ? a : number;
    }
  }
};
struct Minimum : BinaryOp {
  template <class T>
  static HWY_INLINE T Of(T a, T b, T, T) {
    if constexpr (kInteger<T>) {
      return b < a ? b : a;
    } else {
      const T smaller = b < a ? b : a;
      const T number = b != b ? b : smaller;
      return a != a ? a : number;
    }
  }
};
struct Mul : BinaryOp {
  template <class T>
  static HWY_INLINE T Of(T a, T b, T, T) {
    return Times(a, b);
  }
};
struct Or : IntegerBinaryOp {
  template <class T>
  static HWY_INLINE T Of(T a, T b, T, T) {
    return static_cast<T>(a | b);
  }
};
struct ReverseSub : BinaryOp {
  template <class T>
  static HWY_INLINE T Of(T a, T b, T alpha, T) {
    return Minus(b, Times(a, alpha));
  }
};
// A count that is negative or not below the number of bits shifts out all bits.
struct ShiftLeft : IntegerBinaryOp {
  template <class T>
  static HWY_INLINE T Of(T a, T b, T, T) {
    using U = std::make_unsigned_t<T>;
    constexpr U kBits = 8 * sizeof(T);
    const U count = static_cast<U>(b) < kBits ? static_cast<U>(b) : U{0};
    const T shifted = static_cast<T>(static_cast<U>(a) << count);
    return static_cast<U>(b) < kBits ? shifted : T{0};
  }
};
struct ShiftRight : IntegerBinaryOp {
  template <class T>
  static HWY_INLINE T Of(T a, T b, T, T) {
    using U = std::make_unsigned_t<T>;
    constexpr U kBits = 8 * sizeof(T);
    const U count = static_cast<U>(b) < kBits ? static_cast<U>(b) : kBits - 1;
    const T shifted = static_cast<T>(a >> count);
    return std::is_unsigned_v<T> && static_cast<U>(b) >= kBits ? T{0} : shifted;
  }
};
struct Sub : BinaryOp {
  template <class T>
  static HWY_INLINE T Of(T a, T b, T alpha, T) {
    return Minus(a, Times(b, alpha));
  }
};
struct Xor : IntegerBinaryOp {
  template <class T>
  static HWY_INLINE T Of(T a, T b, T, T) {
    return static_cast<T>(a ^ b);
  }
};

template <class Op, class T>
void Run(const void* const* operands, void* result, size_t n, const PointwiseParams& params) {
  const T p = params.Get<T>(0), q = params.Get<T>(1);
  const T* a = static_cast<const T*>(operands[0]);
  T* out = static_cast<T*>(result);
  if constexpr (Op::kOperands == 1) {
    BELAY_INDEPENDENT_ITERATIONS
    for (size_t i = 0; i < n; ++i) out[i] = Op::Of(a[i], p, q);
  } else if constexpr (Op::kOperands == 3) {
    const T *b = static_cast<const T*>(operands[1]), *c = static_cast<const T*>(operands[2]);
    BELAY_INDEPENDENT_ITERATIONS
    for (size_t i = 0; i < n; ++i) out[i] = Op::Of(a[i], b[i], c[i]);
  } else {
    const T* b = static_cast<const T*>(operands[1]);
    BELAY_INDEPENDENT_ITERATIONS
    for (size_t i = 0; i < n; ++i) out[i] = Op::Of(a[i], b[i], p, q);
  }
}

// Rows whose operand kScalar is one element.
template <class Op, class T, int kScalar>
void Rows(const void* const* operands, const int64_t* steps, void* result, size_t rows, size_t n,
          const PointwiseParams& params) {
  const T p = params.Get<T>(0), q = params.Get<T>(1);
  const T* dense = static_cast<const T*>(operands[1 - kScalar]);
  const T* single = static_cast<const T*>(operands[kScalar]);
  T* out = static_cast<T*>(result);
  for (size_t r = 0; r < rows; ++r) {
    const T one = *single;
    BELAY_INDEPENDENT_ITERATIONS
    for (size_t i = 0; i < n; ++i) {
      out[i] = kScalar == 0 ? Op::Of(one, dense[i], p, q) : Op::Of(dense[i], one, p, q);
    }
    dense += steps[1 - kScalar];
    single += steps[kScalar];
    out += n;
  }
}

template <class T, class Fn>
HWY_INLINE void Map(const void* in, void* result, size_t n, const Fn& fn) {
  const T* a = static_cast<const T*>(in);
  T* out = static_cast<T*>(result);
  BELAY_INDEPENDENT_ITERATIONS
  for (size_t i = 0; i < n; ++i) out[i] = fn(a[i]);
}

// out = sqrt(a), or 1 / sqrt(a).
template <bool kReciprocal, class T>
HWY_INLINE void MapSqrt(const void* in, void* result, size_t n) {
  const hn::ScalableTag<T> d;
  const T* a = static_cast<const T*>(in);
  T* out = static_cast<T*>(result);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t count = HWY_MIN(hn::Lanes(d), n - i);
    auto y = hn::Sqrt(hn::LoadN(d, a + i, count));
    if constexpr (kReciprocal) y = hn::Div(hn::Set(d, T{1}), y);
    hn::StoreN(y, d, out + i, count);
  }
}

// Exponents for which PyTorch does not call pow() are computed as in PyTorch. Other exponents: floats
// only.
struct Pow : UnaryOp {};
template <class T>
void RunPow(const void* const* operands, void* out, size_t n, const PointwiseParams& params) {
  const T e = params.Get<T>(0);
  const void* a = operands[0];
  if (e == 1) {
    std::memmove(out, a, n * sizeof(T));
    return;
  }
  if (e == 2) return Map<T>(a, out, n, [](T x) HWY_ATTR { return Times(x, x); });
  if (e == 3) return Map<T>(a, out, n, [](T x) HWY_ATTR { return Times(Times(x, x), x); });
  if constexpr (!kInteger<T>) {
    if (e == T{0.5}) return MapSqrt<false, T>(a, out, n);
    if (e == T{-0.5}) return MapSqrt<true, T>(a, out, n);
    if (e == T{-1}) return Map<T>(a, out, n, [](T x) HWY_ATTR { return T{1} / x; });
    if (e == T{-2}) return Map<T>(a, out, n, [](T x) HWY_ATTR { return T{1} / (x * x); });
  }
  if constexpr (std::is_same_v<T, float>) {
    PowF32(static_cast<const float*>(a), e, n, static_cast<float*>(out));
  }
}

template <class Op>
VectorLoop LoopOf(DType type) {
  return LoopForType(type, [](auto zero) -> VectorLoop {
    using T = decltype(zero);
    if constexpr (std::is_same_v<Op, Pow>) {
      return &RunPow<T>;
    } else if constexpr (Op::template kDefined<T>) {
      return &Run<Op, T>;
    } else {
      return nullptr;
    }
  });
}

// Of float16 and bfloat16: the sign is the first bit of 16.
void HalfAbs(const void* const* operands, void* out, size_t n, const PointwiseParams&) {
  Map<uint16_t>(operands[0], out, n,
                [](uint16_t x) HWY_ATTR { return static_cast<uint16_t>(x & 0x7fff); });
}
void HalfNeg(const void* const* operands, void* out, size_t n, const PointwiseParams&) {
  Map<uint16_t>(operands[0], out, n,
                [](uint16_t x) HWY_ATTR { return static_cast<uint16_t>(x ^ 0x8000); });
}

VectorLoop FindArithmeticLoopImpl(PointwiseOp op, DType type) {
  if (IsHalf(type)) {
    return op == PointwiseOp::kAbs ? &HalfAbs : op == PointwiseOp::kNeg ? &HalfNeg : nullptr;
  }
  switch (op) {
#define BELAY_CASE(name)     \
  case PointwiseOp::k##name: \
    return LoopOf<name>(type);
    BELAY_ARITHMETIC_OPS(BELAY_CASE)
#undef BELAY_CASE
    default:
      return nullptr;
  }
}

template <class Op>
RowsLoop RowsLoopOf(DType type, int scalar) {
  const auto of = [scalar](auto zero) -> RowsLoop {
    using T = decltype(zero);
    if constexpr (!Op::template kDefined<T>) return nullptr;
    return scalar == 0 ? &Rows<Op, T, 0> : &Rows<Op, T, 1>;
  };
  switch (type) {
    case DType::kFloat32:
      return of(float{});
    case DType::kFloat64:
      return of(double{});
    case DType::kInt64:
      return of(int64_t{});
    case DType::kInt32:
      return of(int32_t{});
    default:
      return nullptr;
  }
}

RowsLoop FindRowsLoopImpl(PointwiseOp op, DType type, int scalar) {
  switch (op) {
#define BELAY_CASE(name)     \
  case PointwiseOp::k##name: \
    return RowsLoopOf<name>(type, scalar);
    BELAY_ROWS_OPS(BELAY_CASE)
#undef BELAY_CASE
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(FindArithmeticLoopImpl);
VectorLoop FindArithmeticLoop(PointwiseOp op, DType type) {
  return HWY_DYNAMIC_DISPATCH(FindArithmeticLoopImpl)(op, type);
}

HWY_EXPORT(FindRowsLoopImpl);
RowsLoop FindRowsLoop(PointwiseOp op, DType type, int scalar) {
  return HWY_DYNAMIC_DISPATCH(FindRowsLoopImpl)(op, type, scalar);
}

VectorLoop FindLoop(PointwiseOp op, DType type) {
  if (op <= PointwiseOp::kXor) return FindArithmeticLoop(op, type);
  if (op <= PointwiseOp::kWhere) return FindComparisonLoop(op, type);
  if (op == PointwiseOp::kLgamma) return FindLgammaLoop(type);
  if (type == DType::kFloat64) return FindDoubleLoop(op);
  if (op <= PointwiseOp::kTrunc) return FindFloatLoop(op, type);
  if (op <= PointwiseOp::kTan) return FindTrigonometricLoop(op, type);
  return FindBinaryFloatLoop(op, type);
}

bool IsComparison(PointwiseOp op) { return op > PointwiseOp::kXor && op < PointwiseOp::kWhere; }

}  // namespace belay
#endif  // HWY_ONCE
