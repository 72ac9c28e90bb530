// The values of a method (docs/pte-format.md §4, §5), and the pools that they lie in (§6).
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
// value; those of all values are told at once.
//   kInvalidArgument    a rule is broken: an unknown or empty kind, a list with an element that is
//                       none of the values it may hold, a tensor's layout or memory, a pool's size
//   kUnimplemented      shapes without bounds, memory of another device, dtypes Belay has not
//   kNotFound           external tensors that no data file has; names the keys
//   kResourceExhausted  Limits::values, ::tensors, ::list_elements, ::arena_bytes, their memory, or
//                       `budget`, from which what is copied is taken: tables may be shared
absl::Status ReadValues(const ProgramFile& file, const DataFiles& data, const Limits& limits,
                        MemoryBudget& budget, MethodFacts& facts);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_VALUE_READER_H_
