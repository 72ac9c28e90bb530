// Whether an instruction may write over something that it reads or also writes.
#ifndef BELAY_RUNTIME_PROGRAM_OPERAND_OVERLAP_H_
#define BELAY_RUNTIME_PROGRAM_OPERAND_OVERLAP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/plan.h"
#include "runtime/schema/in_place_operators.h"

namespace belay {

// Kernels check an index where they read it and may use it later: were an output allowed to lie
// over an argument, a file could change an index in between. One object serves all instructions of
// a method, so that its memory is allocated once.
class OperandOverlap {
 public:
  explicit OperandOverlap(const std::vector<ValuePlan>& values) : values_(values) {}

  void Clear();
  // Adds a value or, for a list, its elements. Skipped is all that has no memory: scalars, and
  // tensors without elements.
  void AddArgument(uint32_t value);
  void AddOutput(uint32_t value);

  // kInvalidArgument when the memory of an output overlaps that of another operand; an argument
  // that is the output itself is allowed once if `in_place`, and another tensor in exactly the
  // output's place in the arena if `over` allows it. O(n log n) in the operands, lists with their
  // elements; in memory O(n) in the values.
  absl::Status Check(bool in_place, OutputOverArgument over, const MetadataPath& path);

 private:
  // Operands overlap when they are in one space and their ranges meet. State, inputs and constants
  // of different values are disjoint, so that their value's index serves as the range.
  struct Range {
    TensorPlan::Location space;
    uint64_t begin, end;
    uint32_t value;
    uint32_t uses = 0;  // of an output: as an argument
    bool operator<(const Range& other) const {
      if (space != other.space) return space < other.space;
      return begin < other.begin;
    }
  };
  // Calls `visit` with the tensors of a value that have memory, until it returns false.
  template <class Visit>
  bool ForEachTensor(uint32_t value, const Visit& visit) const;
  Range RangeOf(uint32_t value) const;
  bool MayLieOver(const Range& output, const Range& argument, OutputOverArgument over) const;
  absl::Status CheckArgument(uint32_t value, bool in_place, OutputOverArgument over,
                             const MetadataPath& path);

  const std::vector<ValuePlan>& values_;
  std::vector<uint32_t> arguments_, outputs_;
  std::vector<Range> written_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_OPERAND_OVERLAP_H_
