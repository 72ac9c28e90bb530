// The instructions of a method: what they read, what they write, where they jump to.
#ifndef BELAY_RUNTIME_PROGRAM_INSTRUCTION_VALIDATOR_H_
#define BELAY_RUNTIME_PROGRAM_INSTRUCTION_VALIDATOR_H_

#include "absl/status/status.h"
#include "runtime/program/limits.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/plan.h"
#include "runtime/program/wire_reader.h"

namespace belay {

// Appends to plan.instructions and plan.operands what the messages, the method's instructions, say.
// The rest of `plan` is validated already. `path` is the method's.
absl::Status ValidateInstructions(const WireList& messages, const Limits& limits,
                                  const MetadataPath& path, MethodPlan& plan);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_INSTRUCTION_VALIDATOR_H_
