// Whether an instruction may write over something that it reads or also writes.
#ifndef BELAY_RUNTIME_PROGRAM_OPERAND_OVERLAP_H_
#define BELAY_RUNTIME_PROGRAM_OPERAND_OVERLAP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/plan.h"
#include "runtime/schema/in_place_operators.h"

namespace belay {

// Kernels check an index where they read it and may use it later: were an output allowed to lie
// over an argument, a file could change an index in between. One object serves all instructions of
// a method, so that its memory is allocated once.
class OperandOverlap {
 public:
  // `values` must outlive it.
  explicit OperandOverlap(const std::vector<ValuePlan>& values) : values_(values) {}

  // kInvalidArgument when the memory of an output overlaps that of another operand, where a list
  // stands for its elements, and scalars and tensors without elements have no memory; an argument
  // that is the output itself is allowed once if `in_place`, and another tensor in exactly the
  // output's place in the arena if `over` allows it. O(n log n) in the operands, lists with their
  // elements.
  absl::Status Check(absl::Span<const uint32_t> arguments, absl::Span<const uint32_t> outputs,
                     bool in_place, OutputOverArgument over, const MetadataPath& path);

 private:
  // Operands overlap when they are in one space and their ranges meet. State, inputs and constants
  // of different values are disjoint, so that their value's index serves as the range. Empty is the
  // range of what has no memory, and of lists.
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
  // Calls `visit` with the ranges of a value that are not empty, until it returns false.
  template <class Visit>
  bool ForEachRange(uint32_t value, const Visit& visit) const;
  template <class Visit>
  bool ForEachElement(uint32_t list, const Visit& visit) const;
  // Of different values that overlap, which are tensors in the arena: outside it a value overlaps
  // itself alone.
  bool MayLieOver(const Range& output, const Range& argument, OutputOverArgument over) const;
  // False for most calls, which have one output and nothing else to look at.
  bool MayMeet(const Range& output, absl::Span<const uint32_t> arguments) const;
  absl::Status CheckArgument(const Range& argument, bool in_place, OutputOverArgument over,
                             const MetadataPath& path);

  const std::vector<ValuePlan>& values_;
  std::vector<Written> written_;  // by one instruction
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_OPERAND_OVERLAP_H_
