// Checks that an instruction's outputs do not overlap its other operands.
#ifndef BELAY_RUNTIME_PROGRAM_OPERAND_OVERLAP_H_
#define BELAY_RUNTIME_PROGRAM_OPERAND_OVERLAP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/plan.h"
#include "runtime/schema/operator_facts.h"

namespace belay {

// Kernels check an index when they read it and may use it later. If an output could overlap an
// argument, a file could change the index in between. One object serves all instructions of a
// method, so that its memory is allocated once.
class OperandOverlap {
 public:
  // `values` must outlive it.
  explicit OperandOverlap(const std::vector<ValuePlan>& values) : values_(values) {}

  // kInvalidArgument if the memory of an output overlaps that of another operand. A list stands for
  // its elements; scalars and empty tensors have no memory. Exceptions: if `in_place`, one argument
  // may be the output itself. If `over` allows it, another tensor may be at exactly the output's
  // position in the arena; with kSameBytes, the bounds of two dynamic tensors may differ in bytes.
  // O(n log n) in the operands, including list elements.
  absl::Status Check(absl::Span<const uint32_t> arguments, absl::Span<const uint32_t> outputs,
                     bool in_place, OutputOverArgument over, const MetadataPath& path);

 private:
  // Operands overlap if they are in the same space and their ranges intersect. Different state
  // buffers, inputs and constants are disjoint, so that the value's index serves as the range.
  // Values without memory and lists have an empty range.
  struct Range {
    TensorPlan::Location space = TensorPlan::Location::kConstant;
    bool is_list = false;
    uint32_t value = 0;
    uint64_t begin = 0, end = 0;
    bool operator<(const Range& other) const {
      if (space != other.space) return space < other.space;
      return begin < other.begin;
    }
  };
  struct Written : Range {
    uint32_t uses = 0;  // as an argument
  };
  Range RangeOf(uint32_t value) const;
  // Calls `visit` with the non-empty ranges of a value until it returns false.
  template <class Visit>
  bool ForEachRange(uint32_t value, const Visit& visit) const;
  template <class Visit>
  bool ForEachElement(uint32_t list, const Visit& visit) const;
  // Whether `over` allows this overlap of two different values. Both are tensors in the arena:
  // outside it, a value only overlaps itself.
  bool AllowsOverlap(const Range& output, const Range& argument, OutputOverArgument over) const;
  // Whether ranges may intersect. False for most calls, which have one output and need no more
  // checks.
  bool MayIntersect(const Range& output, absl::Span<const uint32_t> arguments) const;
  absl::Status CheckArgument(const Range& argument, bool in_place, OutputOverArgument over,
                             const MetadataPath& path);

  const std::vector<ValuePlan>& values_;
  std::vector<Written> written_;  // by one instruction
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_OPERAND_OVERLAP_H_
