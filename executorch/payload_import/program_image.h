// A program of ExecuTorch as an image for Belay's writer: the result is a program file whose
// delegates were compiled ahead of time.
//
//   OpenOptions options;
//   options.convert_delegates = XnnpackConverter(ops, cpu_backend);
//   ABSL_ASSIGN_OR_RETURN(TranslatedProgram program, TranslateProgram("model.pte", options));
//   ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, ImageOf(program));
//   ABSL_RETURN_IF_ERROR(exir::WriteProgramFile(image, "model.belay"));
#ifndef BELAY_EXECUTORCH_PAYLOAD_IMPORT_PROGRAM_IMAGE_H_
#define BELAY_EXECUTORCH_PAYLOAD_IMPORT_PROGRAM_IMAGE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executorch/reader/translated_program.h"
#include "exir/emit/program_image.h"
#include "runtime/schema/program.pb.h"

namespace belay::pte {

// Returns the image, which refers to the program's bytes and keeps them alive. Data that no
// delegate and no tensor uses is omitted. Precondition: OpenTranslated accepts the program. Errors
// of AlignArena, with the method's name.
absl::StatusOr<exir::ProgramImage> ImageOf(const TranslatedProgram& program);

// Moves the arena's tensors to multiples of kTensorAlignment, as program files require; ExecuTorch
// aligns them less. Tensors at the same offset stay together, and disjoint tensors stay disjoint.
//   kUnimplemented      a tensor may be read through another one at another offset; names both
//                       values
//   kResourceExhausted  the arena has 2^64 bytes
// Precondition: as ImageOf. O(n log n) for n tensors.
absl::Status AlignArena(schema::Method& method);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_PAYLOAD_IMPORT_PROGRAM_IMAGE_H_
