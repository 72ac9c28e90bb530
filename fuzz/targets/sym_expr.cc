// Symbolic expressions, in sympy's spelling and in infix.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exir/op/sym_expr.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/round_trip.h"
#include "fuzz/oracles/typed_status.h"
#include "runtime/core/str_cat.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  using exir::SymExpr;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<SymExpr> parsed = exir::ParseSymExpr(text);
  fuzz::Require(fuzz::CheckTyped("parse", parsed.status(), fuzz::kReaderCodes));
  if (!parsed.ok()) return 0;
  fuzz::Require(fuzz::CheckRoundTrip(*parsed));
  std::vector<std::string> symbols;
  parsed->CollectSymbols(symbols);
  exir::SymRanges ranges;
  for (size_t i = 0; i < symbols.size(); ++i) {
    ranges[symbols[i]] = {static_cast<int64_t>(i % 3), static_cast<int64_t>(i % 3 + 5)};
  }
  const exir::SymRange range = parsed->Range(ranges);
  for (const int64_t step : {0, 1, 5}) {
    const auto symbol = [&](std::string_view name) -> std::optional<int64_t> {
      const auto found = ranges.find(std::string(name));
      if (found == ranges.end()) return std::nullopt;
      return found->second.min + step;
    };
    const std::optional<int64_t> value = parsed->EvaluateInt(symbol);
    parsed->EvaluateFloat(symbol);
    parsed->EvaluateBool(symbol);
    const SymExpr substituted = parsed->Substitute([&](std::string_view name) {
      const std::optional<int64_t> number = symbol(name);
      return number.has_value() ? std::optional<SymExpr>(SymExpr(*number)) : std::nullopt;
    });
    const std::optional<int64_t> folded = substituted.AsInt();
    if (value.has_value() && parsed->value_kind() == SymExpr::ValueKind::kInt) {
      if (*value < range.min || *value > range.max) {
        fuzz::Require(absl::InternalError(absl::StrCat(parsed->ToString(), " is ", *value,
                                                       ", outside of its range ", range.min, " to ",
                                                       range.max)));
      }
      if (folded.has_value() && *folded != *value) {
        fuzz::Require(absl::InternalError(absl::StrCat(parsed->ToString(), " evaluates to ", *value,
                                                       ", but folds to ", *folded)));
      }
    }
  }
  return 0;
}
