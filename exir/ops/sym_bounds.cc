#include "exir/ops/sym_bounds.h"

#include <cstdint>
#include <string>
#include <vector>

namespace belay::exir {

std::optional<bool> KnownLessEqual(const SymExpr& a, const SymExpr& b) {
  const std::optional<int64_t> x = a.AsInt(), y = b.AsInt();
  if (x.has_value() && y.has_value()) return *x <= *y;
  const SymExpr difference = b - a;
  std::vector<std::string> symbols;
  difference.CollectSymbols(symbols);
  SymRanges ranges;
  for (const std::string& symbol : symbols) {
    ranges[symbol] = SymRange{.min = symbol.front() == 'u' ? 0 : 2};
  }
  const SymRange range = difference.Range(ranges);
  if (range.min >= 0) return true;
  if (range.max < 0) return false;
  return std::nullopt;
}

}  // namespace belay::exir
