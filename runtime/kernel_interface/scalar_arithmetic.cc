#include "runtime/kernel_interface/scalar_arithmetic.h"

#include <cmath>
#include <optional>

#include "absl/status/status.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/python_floats.h"
#include "runtime/core/python_integers.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay {
namespace {

constexpr std::string_view kNames[] = {
    "==",        "!=",      "<=",      ">=",      "<",       ">",     "neg",     "pos",
    "*",         "+",       "-",       "//",      "%",       "**",    "/",       "&",
    "|",         "<<",      ">>",      "trunc",   "ceil",    "floor", "sym_not", "sym_int",
    "sym_float", "sym_ite", "sym_max", "sym_min", "sym_sqrt"};

// A real scalar: an int, or a float if is_float.
struct Number {
  bool is_float = false;
  bool is_bool = false;
  int64_t integer = 0;
  double real = 0;  // the value as a double in both cases
};

absl::StatusOr<Number> ToNumber(ScalarOp op, const EValue& value) {
  if (const int64_t* v = value.get_if<int64_t>())
    return Number{false, false, *v, static_cast<double>(*v)};
  if (const bool* v = value.get_if<bool>()) return Number{false, true, *v ? 1 : 0, *v ? 1.0 : 0.0};
  if (const double* v = value.get_if<double>()) return Number{true, false, 0, *v};
  return absl::InvalidArgumentError(
      absl::StrCat("'", ScalarOpName(op), "': expected a real number, got ", value.KindName()));
}

absl::Status Undefined(ScalarOp op, const Number& a, const Number& b) {
  const auto text = [](const Number& n) {
    return n.is_float ? absl::StrCat(n.real) : absl::StrCat(n.integer);
  };
  return absl::InvalidArgumentError(
      absl::StrCat("'", ScalarOpName(op), "' is not defined for ", text(a), " and ", text(b)));
}

absl::Status Overflow(ScalarOp op) {
  return absl::OutOfRangeError(
      absl::StrCat("'", ScalarOpName(op), "': the result does not fit in int64"));
}

absl::StatusOr<EValue> Checked(ScalarOp op, std::optional<int64_t> value) {
  if (!value.has_value()) return Overflow(op);
  return EValue(*value);
}

absl::StatusOr<EValue> ToInteger(ScalarOp op, double value) {
  return Checked(op, TruncateToInt64(value));
}

// Returns -1 for a < b, 0 for a == b, 1 for a > b, 2 if one is NaN.
int Order(const Number& a, const Number& b) {
  if (!a.is_float && !b.is_float) return a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0;
  if (std::isnan(a.real) || std::isnan(b.real)) return 2;
  return a.real < b.real ? -1 : a.real > b.real ? 1 : 0;
}

// a % b with the sign of b. Precondition: b != 0.
double Modulo(double a, double b) {
  const double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (b < 0) != (remainder < 0) ? remainder + b : remainder;
}

absl::StatusOr<EValue> Shift(ScalarOp op, const Number& a, const Number& b) {
  if (b.integer < 0) return Undefined(op, a, b);
  return Checked(op, op == ScalarOp::kRShift ? PythonShiftRight(a.integer, b.integer)
                                             : PythonShiftLeft(a.integer, b.integer));
}

absl::StatusOr<EValue> OnIntegers(ScalarOp op, const Number& a, const Number& b) {
  switch (op) {
    case ScalarOp::kAdd:
      return Checked(op, CheckedAdd(a.integer, b.integer));
    case ScalarOp::kSub:
      return Checked(op, CheckedSub(a.integer, b.integer));
    case ScalarOp::kMul:
      return Checked(op, CheckedMul(a.integer, b.integer));
    case ScalarOp::kFloorDiv:
      if (b.integer == 0) return Undefined(op, a, b);
      return Checked(op, PythonFloorDiv(a.integer, b.integer));
    case ScalarOp::kMod:
      if (b.integer == 0) return Undefined(op, a, b);
      return Checked(op, PythonMod(a.integer, b.integer));
    case ScalarOp::kPow:
      if (b.integer < 0) {
        if (a.integer == 0) return Undefined(op, a, b);
        return EValue(std::pow(a.real, b.real));
      }
      return Checked(op, PythonPow(a.integer, b.integer));
    case ScalarOp::kAnd:
      if (a.is_bool && b.is_bool) return EValue((a.integer & b.integer) != 0);
      return EValue(a.integer & b.integer);
    case ScalarOp::kOr:
      if (a.is_bool && b.is_bool) return EValue((a.integer | b.integer) != 0);
      return EValue(a.integer | b.integer);
    default:
      return Shift(op, a, b);
  }
}

absl::StatusOr<EValue> OnFloats(ScalarOp op, const Number& a, const Number& b) {
  switch (op) {
    case ScalarOp::kAdd:
      return EValue(a.real + b.real);
    case ScalarOp::kSub:
      return EValue(a.real - b.real);
    case ScalarOp::kMul:
      return EValue(a.real * b.real);
    case ScalarOp::kFloorDiv:
      if (b.real == 0) return Undefined(op, a, b);
      return EValue(PythonFloatFloorDiv(a.real, b.real));
    case ScalarOp::kMod:
      if (b.real == 0) return Undefined(op, a, b);
      return EValue(Modulo(a.real, b.real));
    case ScalarOp::kPow:
      if ((a.real == 0 && b.real < 0) ||
          (a.real < 0 && std::isfinite(b.real) && b.real != std::floor(b.real))) {
        return Undefined(op, a, b);
      }
      return EValue(std::pow(a.real, b.real));
    default:
      return Undefined(op, a, b);
  }
}

absl::StatusOr<EValue> Unary(ScalarOp op, const Number& a) {
  switch (op) {
    case ScalarOp::kNeg:
      if (a.is_float) return EValue(-a.real);
      return Checked(op, CheckedSub(int64_t{0}, a.integer));
    case ScalarOp::kPos:
      if (a.is_float) return EValue(a.real);
      return EValue(a.integer);
    case ScalarOp::kTrunc:
    case ScalarOp::kToInt:
      if (!a.is_float) return EValue(a.integer);
      return ToInteger(op, std::trunc(a.real));
    case ScalarOp::kCeil:
      if (!a.is_float) return EValue(a.integer);
      return ToInteger(op, std::ceil(a.real));
    case ScalarOp::kFloor:
      if (!a.is_float) return EValue(a.integer);
      return ToInteger(op, std::floor(a.real));
    case ScalarOp::kNot:
      return EValue(a.real == 0);
    case ScalarOp::kToFloat:
      return EValue(a.real);
    default:  // kSqrt
      if (a.real < 0) return Undefined(op, a, a);
      return EValue(std::sqrt(a.real));
  }
}

absl::StatusOr<EValue> Binary(ScalarOp op, const Number& a, const Number& b) {
  switch (op) {
    case ScalarOp::kEq:
      return EValue(Order(a, b) == 0);
    case ScalarOp::kNe:
      return EValue(Order(a, b) != 0);
    case ScalarOp::kLe:
      return EValue(Order(a, b) <= 0);
    case ScalarOp::kGe:
      return EValue(Order(a, b) == 0 || Order(a, b) == 1);
    case ScalarOp::kLt:
      return EValue(Order(a, b) < 0);
    case ScalarOp::kGt:
      return EValue(Order(a, b) == 1);
    case ScalarOp::kTrueDiv:
      if (b.real == 0) return Undefined(op, a, b);
      return EValue(a.real / b.real);
    case ScalarOp::kMax:
    case ScalarOp::kMin: {
      const Number& chosen = (Order(a, b) < 0) == (op == ScalarOp::kMax) ? b : a;
      if (a.is_float || b.is_float) return EValue(chosen.real);
      return EValue(chosen.integer);
    }
    default:
      return a.is_float || b.is_float ? OnFloats(op, a, b) : OnIntegers(op, a, b);
  }
}

}  // namespace

std::string_view ScalarOpName(ScalarOp op) { return kNames[static_cast<int>(op)]; }

absl::StatusOr<EValue> ApplyScalarOp(ScalarOp op, absl::Span<const EValue> arguments) {
  if (static_cast<int>(arguments.size()) != ScalarOpArity(op)) {
    return absl::InvalidArgumentError(absl::StrCat("'", ScalarOpName(op), "': expected ",
                                                   ScalarOpArity(op), " arguments, got ",
                                                   arguments.size()));
  }
  ABSL_ASSIGN_OR_RETURN(const Number a, ToNumber(op, arguments[0]));
  if (ScalarOpArity(op) == 1) return Unary(op, a);
  ABSL_ASSIGN_OR_RETURN(const Number b, ToNumber(op, arguments[1]));
  if (op != ScalarOp::kIfThenElse) return Binary(op, a, b);
  ABSL_RETURN_IF_ERROR(ToNumber(op, arguments[2]).status());
  return a.real != 0 ? arguments[1] : arguments[2];
}

}  // namespace belay
