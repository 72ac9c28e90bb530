// Which dtypes an edge operator's tensors may have together (docs/edge-dialect.md §4).
//
// A rule has rows; a row binds every tensor argument and every tensor return to an alias, and every
// alias to a set of dtypes. An assignment of dtypes is legal when some row accepts it: each dtype
// is in its alias's set, and all tensors of one alias have the same one.
//
// The text (OpDef::dtypes): rows are separated by '|', words by spaces.
//   self:A           the tensor argument `self` (of any tensor type; a list stands for its first
//                    element) has alias A
//   ->:A             the only tensor return; ->1:A the return at position 1; ->values:A the one of
//                    that name
//   A=real           alias A's set; sets join with '+': A=float+bool
//   index:{i32,i64}  short for an alias that nothing else has
// Aliases start with a capital letter. Sets:
//   any       the legal dtypes below
//   int       uint8 int8 int16 int32 int64
//   bool      bool
//   real      bool, int and float
//   float     float16 bfloat16 float32 float64
//   complex   complex64 complex128
//   {f32,u8}  exactly these (DTypeShortName)
#ifndef BELAY_EXIR_OP_DTYPE_RULE_H_
#define BELAY_EXIR_OP_DTYPE_RULE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/op/schema.h"
#include "runtime/core/dtype.h"

namespace belay::exir {

// What an edge program's tensors may be.
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
    std::vector<int> alias;      // of each slot
    std::vector<DTypeSet> sets;  // of each alias
  };
  struct NamedDType {
    std::string_view name;       // a slot's, either way
    std::optional<DType> dtype;  // nullopt for None and for an empty list: accepted everywhere
  };

  // kInvalidArgument when the text does not follow the grammar, names a tensor that the schema does
  // not have, or a row leaves one out. An empty text is one row in which every tensor has an alias
  // of its own with all legal dtypes.
  static absl::StatusOr<DTypeRule> Create(const FunctionSchema& schema, std::string_view text);

  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<Row>& rows() const { return rows_; }

  // Whether some row accepts the dtypes, one per slot.
  bool Accepts(absl::Span<const std::optional<DType>> dtypes) const;
  // kInvalidArgument for an unknown or repeated name, for a tensor that is not optional and
  // missing, and when no row accepts; the message lists what came and what the rows take.
  absl::Status Validate(absl::Span<const NamedDType> dtypes) const;
  // The dtypes that a slot may still have when these are given: what the rows that accept them
  // leave. kInvalidArgument for an unknown name.
  absl::StatusOr<DTypeSet> Allowed(std::string_view name,
                                   absl::Span<const NamedDType> given = {}) const;

  // The rows in the grammar above.
  std::string ToString() const;

 private:
  absl::StatusOr<size_t> FindSlot(std::string_view name) const;
  // What each alias of the row is bound to by the dtypes; nothing when the row does not accept
  // them.
  std::optional<std::vector<std::optional<DType>>> Bind(
      const Row& row, absl::Span<const std::optional<DType>> dtypes) const;

  std::string op_;
  std::vector<Slot> slots_;
  std::vector<Row> rows_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_DTYPE_RULE_H_
