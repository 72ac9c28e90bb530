// Python's scalar arithmetic as programs use it on sizes: _operator.*, math.*, torch.sym_*.
//
// int is a checked int64_t: overflow and division by zero are errors. An operation on an int and a
// float gives a float; a bool counts as an int. The compiler folds constants with the same
// functions.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SCALAR_ARITHMETIC_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SCALAR_ARITHMETIC_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/evalue.h"

namespace belay {

enum class ScalarOp : uint8_t {
  kEq,
  kNe,
  kLe,
  kGe,
  kLt,
  kGt,
  kNeg,
  kPos,
  kMul,
  kAdd,
  kSub,
  kFloorDiv,
  kMod,
  kPow,
  kTrueDiv,
  kAnd,
  kOr,
  kLShift,
  kRShift,
  kTrunc,
  kCeil,
  kFloor,
  kNot,
  kToInt,
  kToFloat,
  kIfThenElse,
  kMax,
  kMin,
  kSqrt,
};

constexpr int ScalarOpArity(ScalarOp op) {
  switch (op) {
    case ScalarOp::kNeg:
    case ScalarOp::kPos:
    case ScalarOp::kTrunc:
    case ScalarOp::kCeil:
    case ScalarOp::kFloor:
    case ScalarOp::kNot:
    case ScalarOp::kToInt:
    case ScalarOp::kToFloat:
    case ScalarOp::kSqrt:
      return 1;
    case ScalarOp::kIfThenElse:
      return 3;
    default:
      return 2;
  }
}
std::string_view ScalarOpName(ScalarOp op);  // "//", "sym_max": for messages

// kInvalidArgument if an argument is not real, the number of arguments is wrong, or the operation
// is undefined (division by zero, a negative shift, the square root of a negative number);
// kOutOfRange if the result does not fit in int64.
absl::StatusOr<EValue> ApplyScalarOp(ScalarOp op, absl::Span<const EValue> arguments);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SCALAR_ARITHMETIC_H_
