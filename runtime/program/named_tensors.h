// Hook for the named tensors of a program file while it is opened.
#ifndef BELAY_RUNTIME_PROGRAM_NAMED_TENSORS_H_
#define BELAY_RUNTIME_PROGRAM_NAMED_TENSORS_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"

namespace belay {

// A validated entry of Program.named_data that has a layout. Valid during the call; the bytes as
// long as the program.
struct NamedTensor {
  std::string_view key;
  DType dtype;
  const Sizes& sizes;
  const DimOrder& dim_order;
  absl::Span<const std::byte> bytes;  // exactly the dense tensor
  bool replaceable;
};

// Receives the named tensors of a program in the order of their keys (Program::Options).
class NamedTensors {
 public:
  virtual ~NamedTensors() = default;
  // Returns the bytes that the program uses for the tensor: its own, or for a replaceable one
  // others of the same size, which live as long as this. Errors fail the opening.
  virtual absl::StatusOr<absl::Span<const std::byte>> Choose(const NamedTensor& tensor) = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_NAMED_TENSORS_H_
