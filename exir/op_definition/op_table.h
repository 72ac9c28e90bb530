// A table with rows keyed by operator, looked up by OpOverload handle.
//
//   struct Rule { std::string_view op; bool to_float; };
//   constexpr Rule kRules[] = {{"aten.add.Tensor", false}, {"aten.div.Tensor", true}};
//   const OpTable<Rule> rules(*program.ops, kRules);
//   if (const Rule* rule = rules.Find(node.target)) ...
#ifndef BELAY_EXIR_OP_DEFINITION_OP_TABLE_H_
#define BELAY_EXIR_OP_DEFINITION_OP_TABLE_H_

#include <string_view>
#include <type_traits>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

// `Row` is the name of an ATen, scalar or higher-order overload ("aten.add.Tensor"), or has a
// member `op` with this name. Rows of operators that are not in the registry are ignored.
// Immutable; the rows and the registry must outlive it.
template <class Row>
class OpTable {
 public:
  OpTable(const OpRegistry& ops, absl::Span<const Row> rows) {
    for (const Row& row : rows) {
      if (const OpOverload* op = ops.Find(NameOf(row))) rows_.emplace(op, &row);
    }
  }
  // Returns the row of the overload, of any dialect; nullptr if not found.
  const Row* Find(const OpOverload* op) const {
    const auto it = rows_.find(op->aten());
    return it == rows_.end() ? nullptr : it->second;
  }
  bool contains(const OpOverload* op) const { return rows_.contains(op->aten()); }

 private:
  static std::string_view NameOf(const Row& row) {
    if constexpr (std::is_convertible_v<const Row&, std::string_view>) {
      return row;
    } else {
      return row.op;
    }
  }
  absl::flat_hash_map<const OpOverload*, const Row*> rows_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_DEFINITION_OP_TABLE_H_
