// Evaluates expressions: exact on integers and fractions, double precision on floats.
#include <cmath>

#include "exir/symbolic/sym_expr.h"
#include "exir/symbolic/sym_node.h"
#include "exir/symbolic/sym_number.h"
#include "exir/symbolic/sym_polynomial.h"

namespace belay::exir {
namespace {

using Kind = SymExpr::Kind;
using SymbolFn = std::function<std::optional<int64_t>(std::string_view)>;

std::optional<SymValue> Evaluate(const SymExpr& e, const SymbolFn& symbol);

std::optional<SymValue> EvaluateArithmetic(const SymExpr& e, const SymbolFn& symbol) {
  const bool sum = e.kind() == Kind::kAdd;
  SymNumber result = SymNumber::Int(sum ? 0 : 1);
  for (const SymExpr& argument : e.arguments()) {
    const std::optional<SymValue> value = Evaluate(argument, symbol);
    if (!value.has_value()) return std::nullopt;
    const std::optional<SymNumber> next =
        sum ? Add(result, value->number) : Multiply(result, value->number);
    if (!next.has_value()) return std::nullopt;
    result = *next;
  }
  return SymValue::Number(result);
}

// Short-circuit evaluation of And and Or.
std::optional<SymValue> EvaluateJunction(const SymExpr& e, const SymbolFn& symbol) {
  const bool decisive = e.name() == "Or";
  bool unknown = false;
  for (const SymExpr& argument : e.arguments()) {
    const std::optional<SymValue> value = Evaluate(argument, symbol);
    if (value.has_value() && value->boolean == decisive) return SymValue::Bool(decisive);
    unknown = unknown || !value.has_value();
  }
  if (unknown) return std::nullopt;
  return SymValue::Bool(!decisive);
}

std::optional<SymValue> EvaluateFunction(const SymExpr& e, const SymbolFn& symbol) {
  if (e.name() == "And" || e.name() == "Or") return EvaluateJunction(e, symbol);
  if (e.name() == "Where") {
    const std::optional<SymValue> condition = Evaluate(e.arguments()[0], symbol);
    if (!condition.has_value()) return std::nullopt;
    return Evaluate(e.arguments()[condition->boolean ? 1 : 2], symbol);
  }
  std::vector<SymValue> values;
  for (const SymExpr& argument : e.arguments()) {
    const std::optional<SymValue> value = Evaluate(argument, symbol);
    if (!value.has_value()) return std::nullopt;
    values.push_back(*value);
  }
  return ApplySymFunction(e.name(), values);
}

std::optional<SymValue> Evaluate(const SymExpr& e, const SymbolFn& symbol) {
  switch (e.kind()) {
    case Kind::kInt:
      return SymValue::Number(SymNumber::Int(*e.AsInt()));
    case Kind::kFloat:
      return SymValue::Number(*NumberOf(e));
    case Kind::kBool:
      return SymValue::Bool(*e.AsBool());
    case Kind::kSymbol: {
      const std::optional<int64_t> value = symbol(e.name());
      if (!value.has_value()) return std::nullopt;
      return SymValue::Number(SymNumber::Int(*value));
    }
    case Kind::kAdd:
    case Kind::kMul:
      return EvaluateArithmetic(e, symbol);
    case Kind::kFunction:
      return EvaluateFunction(e, symbol);
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> SymExpr::EvaluateInt(const SymbolFn& symbol) const {
  const std::optional<SymValue> value = Evaluate(*this, symbol);
  if (!value.has_value() || !value->number.is_int()) return std::nullopt;
  return value->number.num;
}

std::optional<double> SymExpr::EvaluateFloat(const SymbolFn& symbol) const {
  const std::optional<SymValue> value = Evaluate(*this, symbol);
  if (!value.has_value()) return std::nullopt;
  return value->number.AsDouble();
}

std::optional<bool> SymExpr::EvaluateBool(const SymbolFn& symbol) const {
  const std::optional<SymValue> value = Evaluate(*this, symbol);
  if (!value.has_value()) return std::nullopt;
  return value->boolean;
}

}  // namespace belay::exir
