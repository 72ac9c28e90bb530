// Python's integer arithmetic on int64. The single definition for programs' arithmetic on sizes
// (runtime/kernel_interface/scalar_arithmetic.h) and for expressions over sizes (exir/symbolic). nullopt
// where Python raises, or if the result does not fit in int64.
#ifndef BELAY_RUNTIME_CORE_PYTHON_INTEGERS_H_
#define BELAY_RUNTIME_CORE_PYTHON_INTEGERS_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "runtime/core/checked_math.h"

namespace belay {

// a // b: rounded towards minus infinity.
constexpr std::optional<int64_t> PythonFloorDiv(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) return std::nullopt;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// a % b: with the sign of b.
constexpr std::optional<int64_t> PythonMod(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;  // INT64_MIN % -1 is undefined in C++
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

// a << b.
constexpr std::optional<int64_t> PythonShiftLeft(int64_t a, int64_t b) {
  if (b < 0) return std::nullopt;
  if (a == 0) return 0;
  if (a == -1 && b == 63) return std::numeric_limits<int64_t>::min();
  if (b > 62) return std::nullopt;
  return CheckedMul<int64_t>(a, int64_t{1} << b);
}

// a >> b: arithmetic shift.
constexpr std::optional<int64_t> PythonShiftRight(int64_t a, int64_t b) {
  if (b < 0) return std::nullopt;
  return a >> (b > 63 ? 63 : b);
}

// a ** b. nullopt also for b < 0, whose result is not an integer.
constexpr std::optional<int64_t> PythonPow(int64_t a, int64_t b) {
  if (b < 0) return std::nullopt;
  int64_t result = 1;
  // After at most 63 squarings, a is 0, 1 or -1, or has overflowed if it is still needed.
  while (b > 0) {
    if ((b & 1) != 0) {
      const std::optional<int64_t> product = CheckedMul(result, a);
      if (!product.has_value()) return std::nullopt;
      result = *product;
    }
    b >>= 1;
    if (b == 0) break;
    const std::optional<int64_t> square = CheckedMul(a, a);
    if (!square.has_value()) return std::nullopt;
    a = *square;
  }
  return result;
}

// Truncates a double in the range of int64; nullopt for others and NaN.
constexpr std::optional<int64_t> TruncateToInt64(double value) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) return std::nullopt;
  return static_cast<int64_t>(value);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_PYTHON_INTEGERS_H_
