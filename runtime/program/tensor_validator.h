// Validates a tensor's metadata: dtype, sizes, dim order.
#ifndef BELAY_RUNTIME_PROGRAM_TENSOR_VALIDATOR_H_
#define BELAY_RUNTIME_PROGRAM_TENSOR_VALIDATOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/program/metadata_messages.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/plan.h"
#include "runtime/schema/file_format.h"

namespace belay {

struct LayoutPlan {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  DimOrder dim_order;      // a permutation
  uint64_t max_bytes = 0;  // of all elements; fits in int64
};

// Validates a layout and overwrites `plan`, in place because it is large. `path` is that of the
// message with the fields dtype, sizes and dim_order.
absl::Status ValidateLayout(const TensorLayoutMessage& layout, const MetadataPath& path,
                            LayoutPlan& plan);

// Memory in which a method's tensors may be placed.
struct TensorMemory {
  absl::Span<const absl::Span<const std::byte>> constants;
  absl::Span<const BankPlan> banks;  // of the arena; at least one
  uint64_t state_bytes = 0;
  // Alignment of tensors in an arena without names of banks and in the state; at least an element's
  // size.
  uint64_t alignment = kTensorAlignment;
};

// Fills in everything except the dimensions of `plan`, which are those of the validated `layout`
// already.
absl::Status ValidateTensor(const TensorMessage& tensor, const LayoutPlan& layout,
                            const TensorMemory& memory, const MetadataPath& path, TensorPlan& plan);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_TENSOR_VALIDATOR_H_
