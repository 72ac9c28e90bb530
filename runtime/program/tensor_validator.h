// What a tensor is in the metadata: dtype, sizes, order of the dimensions.
#ifndef BELAY_RUNTIME_PROGRAM_TENSOR_VALIDATOR_H_
#define BELAY_RUNTIME_PROGRAM_TENSOR_VALIDATOR_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "google/protobuf/repeated_field.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/plan.h"
#include "runtime/schema/program.pb.h"

namespace belay {

// `path` is that of the message with the fields dtype, sizes and dim_order. Fills in the plan's
// fields of these names, in place because plans are large, and returns the bytes of all elements,
// which fit in int64.
absl::StatusOr<uint64_t> ValidateLayout(
    uint32_t dtype, const google::protobuf::RepeatedField<google::protobuf::int64>& sizes,
    const std::string& dim_order, const MetadataPath& path, TensorPlan& plan);

// The memory that the tensors of a method may lie in.
struct TensorMemory {
  absl::Span<const absl::Span<const std::byte>> constants;
  uint64_t arena_bytes = 0;
  uint64_t state_bytes = 0;
};

// Fills in `plan`.
absl::Status ValidateTensor(const schema::Tensor& tensor, const TensorMemory& memory,
                            const MetadataPath& path, TensorPlan& plan);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_TENSOR_VALIDATOR_H_
