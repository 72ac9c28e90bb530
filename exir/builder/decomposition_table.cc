#include "exir/builder/decomposition_table.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace belay::exir {

std::vector<Argument> RunDecomposition(const Decomposition& row, OpBuilder& b, const OpCall& call) {
  absl::Status status = call.CheckLists();
  if (!status.ok()) {
    b.Fail(std::move(status));
    return {};
  }
  return row.decompose(b, call);
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
