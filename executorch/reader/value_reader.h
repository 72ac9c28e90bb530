// Reads the values of a method (docs/pte-format.md §4, §5) and their memory pools (§6).
#ifndef BELAY_EXECUTORCH_READER_VALUE_READER_H_
#define BELAY_EXECUTORCH_READER_VALUE_READER_H_

#include "absl/status/status.h"
#include "executorch/reader/data_file.h"
#include "executorch/reader/method_facts.h"
#include "executorch/reader/program_file.h"
#include "runtime/core/memory_budget.h"
#include "runtime/program/limits.h"

namespace belay::pte {

// Sets facts.values and facts.arena_bytes from facts.plan. Each error names the method and the
// value; the errors of all values are reported at once.
//   kInvalidArgument    an unknown or empty kind, a list element of a kind that the list does not
//                       support, an invalid layout or memory of a tensor, an invalid pool size
//   kUnimplemented      shapes without bounds, memory of another device, dtypes that Belay lacks
//   kNotFound           external tensors that no data file has; names the keys
//   kResourceExhausted  Limits::values, ::tensors, ::list_elements, ::arena_bytes, their memory, or
//                       `budget`, which is charged for copies because tables may be shared
absl::Status ReadValues(const ProgramFile& file, const DataFiles& data, const Limits& limits,
                        MemoryBudget& budget, MethodFacts& facts);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_VALUE_READER_H_
