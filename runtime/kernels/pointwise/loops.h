// The inner loops of pointwise operators: elements of one type, side by side, in every operand.
//
// A loop exists once per operation and type of element, compiled for each instruction set. Floats
// of half precision are computed as float, bools as bytes that are 0 or 1. Errors in ULP of the
// float loops are in kernels.inc; all other loops give the bits of the reference kernels.
#ifndef BELAY_RUNTIME_KERNELS_POINTWISE_LOOPS_H_
#define BELAY_RUNTIME_KERNELS_POINTWISE_LOOPS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/dtype.h"
#include "runtime/kernels/call/pointwise.h"

namespace belay {

// The operations, by the file that has their loops: arithmetic_loops.cc,
#define BELAY_ARITHMETIC_OPS(X) \
  X(Abs)                        \
  X(Add)                        \
  X(And)                        \
  X(ClampBetween)               \
  X(ClampHigh)                  \
  X(ClampLow)                   \
  X(ClampBoth)                  \
  X(Div)                        \
  X(LeakyRelu)                  \
  X(Maximum)                    \
  X(Minimum) X(Mul) X(Neg) X(Not) X(Or) X(Pow) X(Relu) X(ReverseSub) X(Sign) X(Sub) X(Xor)
// comparison_loops.cc, which has those with truth values,
#define BELAY_COMPARISON_OPS(X) \
  X(Eq)                         \
  X(Ge)                         \
  X(Gt)                         \
  X(IsInf)                      \
  X(IsNan) X(Le) X(LogicalAnd) X(LogicalNot) X(LogicalOr) X(LogicalXor) X(Lt) X(Ne) X(Where)
// and float_loops.cc;
#define BELAY_FLOAT_OPS(X) \
  X(Ceil)                  \
  X(Cos)                   \
  X(Elu)                   \
  X(Erf)                   \
  X(Exp)                   \
  X(Expm1)                 \
  X(Floor)                 \
  X(GeluErf)               \
  X(GeluTanh)              \
  X(Glu)                   \
  X(Log)                   \
  X(Log10)                 \
  X(Log1p) X(Log2) X(Reciprocal) X(Round) X(Rsqrt) X(Sigmoid) X(Sin) X(Sqrt) X(Tanh) X(Trunc)
// trigonometric_loops.cc has those that models seldom need.
#define BELAY_TRIGONOMETRIC_OPS(X) \
  X(Acos)                          \
  X(Acosh)                         \
  X(Asin) X(Asinh) X(Atan) X(Atanh) X(Cosh) X(Sinh) X(Tan)

enum class PointwiseOp : uint8_t {
#define BELAY_ENUMERATOR(name) k##name,
  BELAY_ARITHMETIC_OPS(BELAY_ENUMERATOR) BELAY_COMPARISON_OPS(BELAY_ENUMERATOR)
      BELAY_FLOAT_OPS(BELAY_ENUMERATOR) BELAY_TRIGONOMETRIC_OPS(BELAY_ENUMERATOR)
#undef BELAY_ENUMERATOR
};

// Computes n elements. The result may be one of the operands, but does not overlap them otherwise.
using VectorLoop = void (*)(const void* const* operands, void* out, size_t n,
                            const PointwiseParams& params);

// The loop for elements of a type: float32, float64, int64, int32, int8 or uint8; null where there
// is none. Loops of comparisons write bytes that are 0 or 1. The first operand of kWhere is bytes
// that are 0 or 1, whatever the type. kPow takes the exponents that IsQuickExponent names.
VectorLoop FindLoop(PointwiseOp op, DType type);
bool IsComparison(PointwiseOp op);  // writes truth values

inline bool IsQuickExponent(double e, bool integers) {
  if (e == 1 || e == 2 || e == 3) return true;
  return !integers && (e == 0.5 || e == -0.5 || e == -1 || e == -2);
}

// The loop that `of` gives for a zero of the type, where there are loops; else null.
template <class Of>
VectorLoop LoopForType(DType type, Of of) {
  switch (type) {
    case DType::kFloat32:
      return of(float{});
    case DType::kFloat64:
      return of(double{});
    case DType::kInt64:
      return of(int64_t{});
    case DType::kInt32:
      return of(int32_t{});
    case DType::kInt8:
      return of(int8_t{});
    case DType::kUint8:
      return of(uint8_t{});
    default:
      return nullptr;
  }
}

// Of one file each, for FindLoop.
VectorLoop FindArithmeticLoop(PointwiseOp op, DType type);
VectorLoop FindComparisonLoop(PointwiseOp op, DType type);
VectorLoop FindFloatLoop(PointwiseOp op, DType type);
VectorLoop FindTrigonometricLoop(PointwiseOp op, DType type);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_LOOPS_H_
