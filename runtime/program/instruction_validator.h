// Validates the instructions of a method: reads, writes and jump targets.
#ifndef BELAY_RUNTIME_PROGRAM_INSTRUCTION_VALIDATOR_H_
#define BELAY_RUNTIME_PROGRAM_INSTRUCTION_VALIDATOR_H_

#include "absl/status/status.h"
#include "runtime/program/limits.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/plan.h"
#include "runtime/program/wire_reader.h"

namespace belay {

// Appends the validated instructions of `messages` to plan.instructions and plan.operands. The rest
// of `plan` must be validated already. `path` is the method's.
absl::Status ValidateInstructions(const WireList& messages, const Limits& limits,
                                  const MetadataPath& path, MethodPlan& plan);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_INSTRUCTION_VALIDATOR_H_
