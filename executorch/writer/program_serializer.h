// A program image → the bytes of a .pte file, and of a .ptd file where constants shall lie in one.
// docs/pte-format.md §1, §2, §10. Deterministic.
#ifndef BELAY_EXECUTORCH_WRITER_PROGRAM_SERIALIZER_H_
#define BELAY_EXECUTORCH_WRITER_PROGRAM_SERIALIZER_H_

#include <string>

#include "absl/status/statusor.h"
#include "exir/emit/program_image.h"
#include "exir/op/op_registry.h"
#include "exir/serialize/serializer.h"

namespace belay::pte {

struct SerializeOptions {
  // Constants lie in NAME.ptd beside the program file; "": in the program file.
  std::string external_constants;
};

// The pieces point into the image, which must outlive them, or into what the result owns: constants
// are not copied. exir::WriteSerializedProgram writes both files, or none.
//   kUnimplemented      ExecuTorch 1.5.0's runtime does not have what the program needs: operators,
//                       dtypes, kinds of inputs, backends. Lists all of it, with nodes and source
//                       lines where the image has debug info
//   kResourceExhausted  more metadata than a FlatBuffer takes
absl::StatusOr<exir::SerializedProgram> SerializeProgram(const exir::ProgramImage& image,
                                                         const exir::OpRegistry& ops,
                                                         const SerializeOptions& options = {});

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_PROGRAM_SERIALIZER_H_
