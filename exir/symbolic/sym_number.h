// Private to the implementation of SymExpr: exact rationals, doubles and truth values, and the
// functions on them.
#ifndef BELAY_EXIR_SYMBOLIC_SYM_NUMBER_H_
#define BELAY_EXIR_SYMBOLIC_SYM_NUMBER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/types/span.h"

namespace belay::exir {

// A number. Arithmetic returns nullopt on overflow, division by zero, and for NaN.
struct SymNumber {
  bool is_float = false;
  int64_t num = 0;  // if !is_float: a reduced fraction with den > 0
  int64_t den = 1;
  double real = 0;

  static SymNumber Int(int64_t value) { return {false, value, 1, 0}; }
  static std::optional<SymNumber> Rational(int64_t num, int64_t den);
  static std::optional<SymNumber> Real(double value);

  bool is_int() const { return !is_float && den == 1; }
  bool is_zero() const { return is_float ? real == 0 : num == 0; }
  bool is_one() const { return is_int() && num == 1; }
  double AsDouble() const {
    return is_float ? real : static_cast<double>(num) / static_cast<double>(den);
  }
  bool operator==(const SymNumber&) const = default;
};

std::optional<SymNumber> Add(const SymNumber& a, const SymNumber& b);
std::optional<SymNumber> Multiply(const SymNumber& a, const SymNumber& b);
std::optional<SymNumber> Power(const SymNumber& base, int64_t exponent);
// Returns -1, 0 or 1.
int CompareNumbers(const SymNumber& a, const SymNumber& b);

// Value of an expression.
struct SymValue {
  bool is_bool = false;
  bool boolean = false;
  SymNumber number;

  static SymValue Bool(bool b) {
    return {true, b, SymNumber::Int(b ? 1 : 0)};
  }  // as a number, 0 or 1
  static SymValue Number(SymNumber n) {
    return {false, !n.is_zero(), n};
  }  // as a truth value, not 0
};

// Evaluates the functions of docs/pt2-format.md §10 under their canonical names. nullopt for
// unknown functions, arguments outside the function's domain, and overflow. Precondition: known
// functions get the right number of arguments (SymExpr::Function).
std::optional<SymValue> ApplySymFunction(std::string_view name,
                                         absl::Span<const SymValue> arguments);
// Number of arguments of a function; nullopt for unknown functions.
struct SymArity {
  size_t min = 0;
  size_t max = 0;
};
std::optional<SymArity> ArityOfSymFunction(std::string_view name);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SYMBOLIC_SYM_NUMBER_H_
