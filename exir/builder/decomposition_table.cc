#include "exir/builder/decomposition_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/core/str_cat.h"

namespace belay::exir {

std::vector<Argument> RunDecomposition(const CompositeFn& kernel, OpBuilder& b,
                                       const OpCall& call) {
  absl::Status status = call.CheckLists();
  if (!status.ok()) {
    b.Fail(std::move(status));
    return {};
  }
  std::vector<Argument> results = kernel(b, call);
  const size_t returns = call.op()->schema()->returns.size();
  if (b.ok() && results.size() != returns) {
    b.Fail(absl::InternalError(absl::StrCat("the decomposition of ", call.op()->name(), " returns ",
                                            results.size(), " results instead of ", returns)));
  }
  if (!b.ok()) results.clear();
  return results;
}

DecompositionTable::DecompositionTable(absl::Span<const absl::Span<const Decomposition>> families) {
  for (const absl::Span<const Decomposition> family : families) {
    for (const Decomposition& row : family) by_op_[row.op] = &row;
  }
}

const Decomposition* DecompositionTable::Find(const OpOverload* op) const {
  op = op->aten();
  if (op->dialect() != Dialect::kAten || op->schema() == nullptr) return nullptr;
  const auto found = by_op_.find(std::string_view(op->name()));
  return found == by_op_.end() ? nullptr : found->second;
}

std::vector<std::string_view> DecompositionTable::Ops() const {
  std::vector<std::string_view> ops;
  for (const auto& [op, row] : by_op_) ops.push_back(op);
  std::sort(ops.begin(), ops.end());
  return ops;
}

}  // namespace belay::exir
