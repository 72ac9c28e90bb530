// Inner loops of pointwise operators on contiguous operands of one type.
//
// There is one loop per operation and element type, compiled for each instruction set. Half
// precision is computed as float; bools are bytes that are 0 or 1. kernels.inc lists the errors of
// the float loops in ULP. All other loops give the bits of the reference kernels.
#ifndef BELAY_RUNTIME_KERNELS_POINTWISE_LOOPS_H_
#define BELAY_RUNTIME_KERNELS_POINTWISE_LOOPS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/dtype.h"
#include "runtime/kernels/operands/pointwise.h"

namespace belay {

// Operations, by the file with their loops: arithmetic_loops.cc,
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
  X(Minimum)                    \
  X(Mul)                        \
  X(Neg)                        \
  X(Not) X(Or) X(Pow) X(Relu) X(ReverseSub) X(ShiftLeft) X(ShiftRight) X(Sign) X(Sub) X(Xor)
// comparison_loops.cc (comparisons and logic),
#define BELAY_COMPARISON_OPS(X) \
  X(Eq)                         \
  X(Ge)                         \
  X(Gt)                         \
  X(IsInf)                      \
  X(IsNan) X(Le) X(LogicalAnd) X(LogicalNot) X(LogicalOr) X(LogicalXor) X(Lt) X(Ne) X(Where)
// float_loops.cc,
#define BELAY_FLOAT_OPS(X) \
  X(Ceil)                  \
  X(Cos)                   \
  X(DivBy)                 \
  X(Elu)                   \
  X(Erf)                   \
  X(Erfc)                  \
  X(Exp)                   \
  X(Expm1)                 \
  X(Floor)                 \
  X(GeluErf)               \
  X(GeluTanh)              \
  X(Glu)                   \
  X(Log)                   \
  X(Log10)                 \
  X(Log1p) X(Log2) X(Reciprocal) X(Round) X(Rsqrt) X(Sigmoid) X(Sin) X(Sqrt) X(Tanh) X(Trunc)
// trigonometric_loops.cc (rarely used by models),
#define BELAY_TRIGONOMETRIC_OPS(X) \
  X(Acos)                          \
  X(Acosh)                         \
  X(Asin) X(Asinh) X(Atan) X(Atanh) X(Cosh) X(Erfinv) X(Sinh) X(Tan)
// binary_float_loops.cc.
#define BELAY_BINARY_FLOAT_OPS(X) \
  X(Atan2)                        \
  X(Copysign) X(FloorDiv) X(Fmod) X(Hypot) X(PowOfBase) X(PowTensor) X(Remainder) X(TruncDiv)

enum class PointwiseOp : uint8_t {
#define BELAY_ENUMERATOR(name) k##name,
  BELAY_ARITHMETIC_OPS(BELAY_ENUMERATOR) BELAY_COMPARISON_OPS(BELAY_ENUMERATOR)
      BELAY_FLOAT_OPS(BELAY_ENUMERATOR) BELAY_TRIGONOMETRIC_OPS(BELAY_ENUMERATOR)
          BELAY_BINARY_FLOAT_OPS(BELAY_ENUMERATOR) kLgamma,
#undef BELAY_ENUMERATOR
};

inline bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// The dtype to which each step of a rounded quotient (kFloorDiv, kTruncDiv) is rounded.
enum class HalfSteps : uint8_t { kNone, kFloat16, kBFloat16 };

// Precedes a loop with independent iterations. A result may be one of the operands, in which case
// compilers would otherwise not vectorize the loop.
#if defined(__clang__)
#define BELAY_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define BELAY_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

// Computes n elements. The result may be one of the operands; other overlaps are not allowed.
using VectorLoop = void (*)(const void* const* operands, void* out, size_t n,
                            const PointwiseParams& params);

// Returns the loop for elements of float32, float64, int64, int32, int8 or uint8, for kAbs and kNeg
// also of float16 and bfloat16; null if not supported. Comparison loops write bytes that are 0 or 1.
// The first operand of kWhere is bytes that are 0 or 1, for every type. kPow supports the exponents
// that IsQuickExponent accepts, and for float32 all exponents (pow_loops.h). kDivBy has one operand,
// which it divides by scalar 0. kPowOfBase has one operand, the exponent; scalar 0 is the base, which
// is positive, finite and not 1, and for float64 2. Scalar 0 of kFloorDiv and kTruncDiv of float32 is
// their HalfSteps.
VectorLoop FindLoop(PointwiseOp op, DType type);
bool IsComparison(PointwiseOp op);  // writes truth values

// Operations of two operands that have loops over rows with one element of an operand.
#define BELAY_ROWS_OPS(X) X(Add) X(Div) X(Maximum) X(Minimum) X(Mul) X(ReverseSub) X(Sub)

// Computes rows of n results, which are stored together: out[r * n + i] = op(a, b). Operand k of row r
// begins at r * steps[k]; one operand has n elements per row, the other a single one. The result may be
// the operand with n elements.
using RowsLoop = void (*)(const void* const* operands, const int64_t* steps, void* out, size_t rows,
                          size_t n, const PointwiseParams& params);
// Returns the loop for which operand `scalar` (0 or 1) has one element per row, for float32, float64,
// int64 or int32; null if not supported. Results have the bits of FindLoop's.
RowsLoop FindRowsLoop(PointwiseOp op, DType type, int scalar);

inline bool IsQuickExponent(double e, bool integers) {
  if (e == 1 || e == 2 || e == 3) return true;
  return !integers && (e == 0.5 || e == -0.5 || e == -1 || e == -2);
}

// Returns of(T()) for the type T of `type`, or null if the type has no loops.
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

// Defines `function`, which returns the loop named after an operation of `OPS` for float32, and null
// for other types and operations.
#define BELAY_LOOP_CASE(name) \
  case PointwiseOp::k##name:  \
    return static_cast<VectorLoop>(&name);
#define BELAY_DEFINE_FLOAT_LOOP_TABLE(function, OPS)               \
  VectorLoop function(PointwiseOp op, DType type) {                \
    if (type != DType::kFloat32) return nullptr;                   \
    switch (op) { OPS(BELAY_LOOP_CASE) default : return nullptr; } \
  }

// FindLoop for the loops of one file each.
VectorLoop FindArithmeticLoop(PointwiseOp op, DType type);
VectorLoop FindComparisonLoop(PointwiseOp op, DType type);
VectorLoop FindFloatLoop(PointwiseOp op, DType type);
VectorLoop FindTrigonometricLoop(PointwiseOp op, DType type);
VectorLoop FindBinaryFloatLoop(PointwiseOp op, DType type);
// In double_loops.cc: all float loops of float64, and lgamma of float32; null if not supported.
VectorLoop FindDoubleLoop(PointwiseOp op);
VectorLoop FindLgammaLoop(DType type);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_LOOPS_H_
