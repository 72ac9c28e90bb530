// The values of a method: literals, slots, tensors, lists.
#ifndef BELAY_RUNTIME_PROGRAM_VALUE_VALIDATOR_H_
#define BELAY_RUNTIME_PROGRAM_VALUE_VALIDATOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/program/limits.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/plan.h"
#include "runtime/program/tensor_validator.h"
#include "runtime/program/wire_reader.h"

namespace belay {

// Parallel to the messages, which are a method's values. `path` is the method's.
absl::StatusOr<std::vector<ValuePlan>> ValidateValues(const WireList& messages,
                                                      const TensorMemory& memory,
                                                      const Limits& limits,
                                                      const MetadataPath& path);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_VALUE_VALIDATOR_H_
