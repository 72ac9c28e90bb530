// Validates the values of a method: literals, slots, tensors, lists.
#ifndef BELAY_RUNTIME_PROGRAM_VALUE_VALIDATOR_H_
#define BELAY_RUNTIME_PROGRAM_VALUE_VALIDATOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/program/limits.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/plan.h"
#include "runtime/program/tensor_validator.h"
#include "runtime/program/wire_reader.h"

namespace belay {

// Fills in the values of `plan`, parallel to the messages, and their dimensions. `path` is the
// method's.
absl::Status ValidateValues(const WireList& messages, const TensorMemory& memory,
                            const Limits& limits, const MetadataPath& path, MethodPlan& plan);

// kInvalidArgument unless `value` exists. The values of `plan` must be filled in.
absl::Status CheckValue(const MethodPlan& plan, uint32_t value, const MetadataPath& path);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_VALUE_VALIDATOR_H_
