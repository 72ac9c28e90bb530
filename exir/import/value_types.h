// Reads types of values: tensor metadata, symbolic expressions, enumerations. Source:
// docs/pt2-format.md §6, §7, §10.
#ifndef BELAY_EXIR_IMPORT_VALUE_TYPES_H_
#define BELAY_EXIR_IMPORT_VALUE_TYPES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exir/import/json.h"
#include "exir/op_definition/tensor_meta.h"
#include "exir/symbolic/sym_expr.h"
#include "runtime/core/evalue.h"

namespace belay::exir {

// Tensor metadata, and the reason why Belay does not support such a tensor ("" if it does): unnamed
// dtypes, too many dimensions, layouts other than strided. The last is representable, so it matters
// only if the tensor is used.
struct TensorMetaReading {
  TensorMeta meta;
  std::string problem;
  bool only_use_matters = false;
};

// Interns expressions. Input strings must outlive the reader.
class ValueTypeReader {
 public:
  // Accepts {"as_expr": …} or {"as_int": …}, {"as_float": …}, {"as_bool": …}.
  absl::StatusOr<SymExpr> ReadSymInt(JsonRef ref);
  absl::StatusOr<SymExpr> ReadSymFloat(JsonRef ref);
  absl::StatusOr<SymExpr> ReadSymBool(JsonRef ref);
  // kInvalidArgument also for negative sizes, strides of another rank, and element counts beyond
  // int64.
  absl::StatusOr<TensorMetaReading> ReadTensorMeta(JsonRef ref);
  // Parses an expression string, as in the keys of range_constraints.
  absl::StatusOr<SymExpr> ParseExpression(std::string_view text, JsonRef where);

  // Trace-time values of the bare symbols seen so far, except values beyond int64.
  absl::btree_map<std::string, int64_t>& hints() { return hints_; }

 private:
  absl::StatusOr<SymExpr> ReadExpression(JsonRef ref);
  absl::flat_hash_map<std::string_view, SymExpr> expressions_;
  absl::btree_map<std::string, int64_t> hints_;
};

absl::StatusOr<Device> ReadDevice(JsonRef ref);
// Map enumeration numbers. kInvalidArgument for numbers that the schema does not define.
absl::StatusOr<Layout> ReadLayout(JsonRef ref);
absl::StatusOr<MemoryFormat> ReadMemoryFormat(JsonRef ref);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_VALUE_TYPES_H_
