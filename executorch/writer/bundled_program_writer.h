// Writes ExecuTorch's bundled programs, .bpte (docs/pte-format.md §15). Deterministic.
#ifndef BELAY_EXECUTORCH_WRITER_BUNDLED_PROGRAM_WRITER_H_
#define BELAY_EXECUTORCH_WRITER_BUNDLED_PROGRAM_WRITER_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executorch/format/bundled_program.h"

namespace belay::pte {

// Returns the file for a program (.pte) and the test cases of its methods, sorted by the methods'
// names. Does not check that they fit the program. Tensors with any strides are written in
// row-major order.
//   kUnimplemented      an input that is neither a tensor, an int, a bool nor a float; an output
//                       that is not a tensor; a dtype that ExecuTorch does not have. Lists all
//   kResourceExhausted  more bytes than a FlatBuffer can hold (2 GiB)
absl::StatusOr<std::string> SerializeBundledProgram(absl::Span<const std::byte> program,
                                                    absl::Span<const BundledMethod> methods);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_BUNDLED_PROGRAM_WRITER_H_
