// What a tensor is in the metadata: dtype, sizes, order of the dimensions.
#ifndef BELAY_RUNTIME_PROGRAM_TENSOR_VALIDATOR_H_
#define BELAY_RUNTIME_PROGRAM_TENSOR_VALIDATOR_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/program/metadata_messages.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/plan.h"

namespace belay {

// `path` is that of the message with the fields dtype, sizes and dim_order. Fills in the plan's
// fields of these names and max_bytes, in place because plans are large, and returns max_bytes,
// which fits in int64.
absl::StatusOr<uint64_t> ValidateLayout(const TensorLayoutMessage& layout, const MetadataPath& path,
                                        TensorPlan& plan);

// The memory that the tensors of a method may lie in.
struct TensorMemory {
  absl::Span<const absl::Span<const std::byte>> constants;
  uint64_t arena_bytes = 0;
  uint64_t state_bytes = 0;
};

// Fills in `plan`.
absl::Status ValidateTensor(const TensorMessage& tensor, const TensorMemory& memory,
                            const MetadataPath& path, TensorPlan& plan);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_TENSOR_VALIDATOR_H_
