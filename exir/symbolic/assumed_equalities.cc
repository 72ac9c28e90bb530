#include "exir/symbolic/assumed_equalities.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace belay::exir {
namespace {

thread_local AssumedEqualities* youngest = nullptr;

}  // namespace

AssumedEqualities::AssumedEqualities() : outer_(youngest) { youngest = this; }
AssumedEqualities::~AssumedEqualities() { youngest = outer_; }

bool AssumeEqual(const SymExpr& a, const SymExpr& b) {
  if (a == b) return true;
  const std::optional<int64_t> difference = (a - b).AsInt();
  if (difference.has_value()) return *difference == 0;
  if (youngest != nullptr) {
    std::vector<std::pair<SymExpr, SymExpr>>& pairs = youngest->pairs_;
    std::pair<SymExpr, SymExpr> pair(a, b);
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end())
      pairs.push_back(std::move(pair));
  }
  return true;
}

}  // namespace belay::exir
