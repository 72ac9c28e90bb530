#include "fuzz/oracles/symbolic.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/oracles/round_trip.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::fuzz {
namespace {

using exir::SymExpr;

// `range`: the range of the expression. Its ends denote infinity if they are those of int64.
template <class T>
absl::Status CheckValue(const SymExpr& expression, const exir::SymRange& range,
                        std::optional<T> value, std::optional<T> folded) {
  if (!value.has_value()) return absl::OkStatus();
  if ((*value < range.min && range.min != exir::SymRange::kUnboundedBelow) ||
      (*value > range.max && range.max != exir::SymRange::kUnboundedAbove)) {
    return absl::InternalError(absl::StrCat(expression.ToString(), " is ", *value,
                                            ", outside of its range ", range.min, " to ",
                                            range.max));
  }
  if (folded.has_value() && *folded != *value) {
    return absl::InternalError(
        absl::StrCat(expression.ToString(), " evaluates to ", *value, ", but folds to ", *folded));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSymExpr(const SymExpr& expression) {
  ABSL_RETURN_IF_ERROR(CheckRoundTrip(expression));
  std::vector<std::string> symbols;
  expression.CollectSymbols(symbols);
  exir::SymRanges ranges;
  for (size_t i = 0; i < symbols.size(); ++i) {
    ranges[symbols[i]] = {static_cast<int64_t>(i % 3), static_cast<int64_t>(i % 3 + 5)};
  }
  const exir::SymRange range = expression.Range(ranges);
  for (const int64_t step : {0, 1, 5}) {
    const auto symbol = [&](std::string_view name) -> std::optional<int64_t> {
      const auto found = ranges.find(std::string(name));
      if (found == ranges.end()) return std::nullopt;
      return found->second.min + step;
    };
    const SymExpr substituted = expression.Substitute([&](std::string_view name) {
      const std::optional<int64_t> number = symbol(name);
      return number.has_value() ? std::optional<SymExpr>(SymExpr(*number)) : std::nullopt;
    });
    // Evaluates every expression in all ways; ways of another kind only have to return.
    const std::optional<int64_t> integer = expression.EvaluateInt(symbol);
    const std::optional<double> real = expression.EvaluateFloat(symbol);
    const std::optional<bool> truth = expression.EvaluateBool(symbol);
    switch (expression.value_kind()) {
      case SymExpr::ValueKind::kInt:
        ABSL_RETURN_IF_ERROR(CheckValue(expression, range, integer, substituted.AsInt()));
        break;
      case SymExpr::ValueKind::kBool:
        ABSL_RETURN_IF_ERROR(CheckValue(expression, range, truth, substituted.AsBool()));
        break;
      case SymExpr::ValueKind::kFloat:
        // Floating-point sums depend on the order.
        ABSL_RETURN_IF_ERROR(CheckValue<double>(expression, range, real, std::nullopt));
        break;
    }
  }
  return absl::OkStatus();
}

}  // namespace belay::fuzz
