// Hook for the named tensors of a program file while it is opened.
#ifndef BELAY_RUNTIME_PROGRAM_NAMED_TENSORS_H_
#define BELAY_RUNTIME_PROGRAM_NAMED_TENSORS_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
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
  bool replaceable;
  absl::Span<const std::byte>& bytes;  // exactly the dense tensor
};

// Receives the named tensors of a program in the order of their keys (Program::Options).
class NamedTensors {
 public:
  virtual ~NamedTensors() = default;
  // May replace the bytes of a replaceable tensor by others of the same size, which live as long as
  // this object. Errors fail the opening.
  virtual absl::Status Choose(const NamedTensor& tensor) = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_NAMED_TENSORS_H_
