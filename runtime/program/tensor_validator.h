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

struct DenseLayout {
  DType dtype;
  Sizes sizes;
  DimOrder dim_order;
  uint64_t bytes;  // of all elements; fits in int64
};

// `path` is that of the message with the fields dtype, sizes and dim_order.
absl::StatusOr<DenseLayout> ValidateLayout(
    uint32_t dtype, const google::protobuf::RepeatedField<google::protobuf::int64>& sizes,
    const std::string& dim_order, const MetadataPath& path);

// The memory that the tensors of a method may lie in.
struct TensorMemory {
  absl::Span<const absl::Span<const std::byte>> constants;
  uint64_t arena_bytes = 0;
  uint64_t state_bytes = 0;
};

absl::StatusOr<TensorPlan> ValidateTensor(const schema::Tensor& tensor, const TensorMemory& memory,
                                          const MetadataPath& path);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_TENSOR_VALIDATOR_H_
