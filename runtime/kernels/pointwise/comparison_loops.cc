#include <type_traits>

#include "runtime/kernels/pointwise/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pointwise/comparison_loops.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <cmath>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

struct Eq {
  template <class T>
  static HWY_INLINE bool Of(T a, T b) {
    return a == b;
  }
};
struct Ge {
  template <class T>
  static HWY_INLINE bool Of(T a, T b) {
    return a >= b;
  }
};
struct Gt {
  template <class T>
  static HWY_INLINE bool Of(T a, T b) {
    return a > b;
  }
};
struct Le {
  template <class T>
  static HWY_INLINE bool Of(T a, T b) {
    return a <= b;
  }
};
struct Lt {
  template <class T>
  static HWY_INLINE bool Of(T a, T b) {
    return a < b;
  }
};
struct Ne {
  template <class T>
  static HWY_INLINE bool Of(T a, T b) {
    return a != b;
  }
};
struct LogicalAnd {
  template <class T>
  static HWY_INLINE bool Of(T a, T b) {
    return ((a != T{0} ? 1 : 0) & (b != T{0} ? 1 : 0)) != 0;
  }
};
struct LogicalOr {
  template <class T>
  static HWY_INLINE bool Of(T a, T b) {
    return ((a != T{0} ? 1 : 0) | (b != T{0} ? 1 : 0)) != 0;
  }
};
struct LogicalXor {
  template <class T>
  static HWY_INLINE bool Of(T a, T b) {
    return (a != T{0}) != (b != T{0});
  }
};
struct IsInf {
  template <class T>
  static HWY_INLINE bool Of(T x) {
    if constexpr (std::is_integral_v<T>) {
      return false;
    } else {
      return std::fabs(x) == std::numeric_limits<T>::infinity();
    }
  }
};
struct IsNan {
  template <class T>
  static HWY_INLINE bool Of(T x) {
    return x != x;
  }
};
struct LogicalNot {
  template <class T>
  static HWY_INLINE bool Of(T x) {
    return x == T{0};
  }
};
struct Where {
  template <class T>
  static HWY_INLINE T Of(uint8_t condition, T a, T b) {
    return condition != 0 ? a : b;
  }
};

template <class Op, class T>
void Run(const void* const* operands, void* result, size_t n, const PointwiseParams&) {
  if constexpr (std::is_same_v<Op, Where>) {
    const uint8_t* condition = static_cast<const uint8_t*>(operands[0]);
    const T* a = static_cast<const T*>(operands[1]);
    const T* b = static_cast<const T*>(operands[2]);
    T* out = static_cast<T*>(result);
    BELAY_INDEPENDENT_ITERATIONS
    for (size_t i = 0; i < n; ++i) out[i] = Op::template Of<T>(condition[i], a[i], b[i]);
  } else {
    const T* a = static_cast<const T*>(operands[0]);
    uint8_t* out = static_cast<uint8_t*>(result);
    if constexpr (std::is_invocable_v<decltype(&Op::template Of<T>), T>) {
      BELAY_INDEPENDENT_ITERATIONS
      for (size_t i = 0; i < n; ++i) out[i] = Op::template Of<T>(a[i]) ? 1 : 0;
    } else {
      const T* b = static_cast<const T*>(operands[1]);
      BELAY_INDEPENDENT_ITERATIONS
      for (size_t i = 0; i < n; ++i) out[i] = Op::template Of<T>(a[i], b[i]) ? 1 : 0;
    }
  }
}

template <class Op>
VectorLoop LoopOf(DType type) {
  return LoopForType(type, [](auto zero) -> VectorLoop { return &Run<Op, decltype(zero)>; });
}

VectorLoop FindComparisonLoopImpl(PointwiseOp op, DType type) {
  switch (op) {
#define BELAY_CASE(name)     \
  case PointwiseOp::k##name: \
    return LoopOf<name>(type);
    BELAY_COMPARISON_OPS(BELAY_CASE)
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

HWY_EXPORT(FindComparisonLoopImpl);
VectorLoop FindComparisonLoop(PointwiseOp op, DType type) {
  return HWY_DYNAMIC_DISPATCH(FindComparisonLoopImpl)(op, type);
}

}  // namespace belay
#endif  // HWY_ONCE
