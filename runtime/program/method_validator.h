// Validates one method: values, inputs, outputs, state, delegates and instructions.
#ifndef BELAY_RUNTIME_PROGRAM_METHOD_VALIDATOR_H_
#define BELAY_RUNTIME_PROGRAM_METHOD_VALIDATOR_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/program/limits.h"
#include "runtime/program/metadata_messages.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/plan.h"
#include "runtime/program/program.h"
#include "runtime/schema/file_format.h"

namespace belay {

absl::StatusOr<MethodPlan> ValidateMethod(const MethodMessage& method,
                                          absl::Span<const SegmentPlan> segments,
                                          absl::Span<const absl::Span<const std::byte>> constants,
                                          const Limits& limits, const MetadataPath& path,
                                          uint64_t tensor_alignment = kTensorAlignment);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_METHOD_VALIDATOR_H_
