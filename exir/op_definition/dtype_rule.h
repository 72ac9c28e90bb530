// Legal combinations of the dtypes of an edge operator's tensors (docs/edge-dialect.md §4).
//
// A rule has rows; a row binds every tensor argument and every tensor return to an alias, and every
// alias to a set of dtypes. An assignment of dtypes is legal if some row accepts it: each dtype is
// in its alias's set, and all tensors of one alias have the same one.
//
// Grammar (OpDef::dtypes): rows are separated by '|', words by spaces.
//   self:A           the tensor argument `self` (of any tensor type; a list counts by its first
//                    element) has alias A
//   ->:A             the only tensor return; ->1:A the return at position 1; ->values:A the one of
//                    that name
//   A=real           alias A's set; sets join with '+': A=float+bool
//   index:{i32,i64}  short for an alias that is not used elsewhere
// Aliases start with a capital letter. Sets:
//   any       the legal dtypes below
//   int       uint8 int8 int16 int32 int64
//   bool      bool
//   real      bool, int and float
//   float     float16 bfloat16 float32 float64
//   complex   complex64 complex128
//   {f32,u8}  exactly these (DTypeShortName)
#ifndef BELAY_EXIR_OP_DEFINITION_DTYPE_RULE_H_
#define BELAY_EXIR_OP_DEFINITION_DTYPE_RULE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/op_definition/schema.h"
#include "runtime/core/dtype.h"

namespace belay::exir {

// The legal dtypes of tensors in an edge program.
inline constexpr DTypeSet kEdgeTypes = kRealTypes | kComplexTypes | DTypeSet{DType::kUint16};

class DTypeRule {
 public:
  // A tensor argument or a tensor return of the schema.
  struct Slot {
    std::string name;         // the argument's; of a return its name, or "__ret_0"
    std::string return_name;  // "__ret_0" for returns, "" for arguments
    bool optional = false;    // Tensor?, Tensor?[] and Tensor[]?: may have no dtype
  };
  struct Row {
    std::vector<int> alias;      // by slot
    std::vector<DTypeSet> sets;  // by alias
  };
  struct NamedDType {
    std::string_view name;       // name of an argument slot or a return slot
    std::optional<DType> dtype;  // nullopt for None and for an empty list: always accepted
  };

  // kInvalidArgument if the string does not follow the grammar, names a tensor that the schema does
  // not have, or a row omits one. An empty string is one row in which every tensor has its own
  // alias with all legal dtypes.
  static absl::StatusOr<DTypeRule> Create(const FunctionSchema& schema, std::string_view text);

  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<Row>& rows() const { return rows_; }

  // Returns whether some row accepts the dtypes, one per slot.
  bool Accepts(absl::Span<const std::optional<DType>> dtypes) const;
  // kInvalidArgument for an unknown or repeated name, for a missing tensor that is not optional,
  // and if no row accepts; the message names the first tensor that does not fit, its expected dtypes,
  // and the actual dtypes of all.
  absl::Status Validate(absl::Span<const NamedDType> dtypes) const;
  // Returns the dtypes that a slot may have given these, by the rows that accept them.
  // kInvalidArgument for an unknown name.
  absl::StatusOr<DTypeSet> Allowed(std::string_view name,
                                   absl::Span<const NamedDType> given = {}) const;

  // Returns the rows in the grammar above.
  std::string ToString() const;

 private:
  absl::StatusOr<size_t> FindSlot(std::string_view name) const;
  // Allowed() of a slot, with one dtype or nullopt per slot.
  DTypeSet AllowedAt(size_t slot, absl::Span<const std::optional<DType>> assigned) const;
  // Why no row accepts the dtypes, one per slot.
  std::string Mismatch(absl::Span<const std::optional<DType>> assigned) const;
  // Returns the dtype of each alias of the row for these dtypes; nullopt if the row does not accept
  // them.
  std::optional<std::vector<std::optional<DType>>> Bind(
      const Row& row, absl::Span<const std::optional<DType>> dtypes) const;

  std::string op_;
  std::vector<Slot> slots_;
  std::vector<Row> rows_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_DEFINITION_DTYPE_RULE_H_
