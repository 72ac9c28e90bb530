// Serializes a program image to a .pte file, and constants optionally to a .ptd file.
// docs/pte-format.md §1, §2, §10. Deterministic.
#ifndef BELAY_EXECUTORCH_WRITER_PROGRAM_SERIALIZER_H_
#define BELAY_EXECUTORCH_WRITER_PROGRAM_SERIALIZER_H_

#include <string>

#include "absl/status/statusor.h"
#include "exir/emit/program_image.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/op_definition/op_registry.h"
#include "exir/serialize/serializer.h"

namespace belay::pte {

struct SerializeOptions {
  // Stores constants without a companion file in NAME.ptd next to the program file; "": in the
  // program file. Those with a companion file of tag T are stored in T.ptd (exir/constant_rules.h).
  std::string external_constants;
};

// The pieces point into the image, which must outlive them, or into storage that the result owns:
// constants are not copied. exir::WriteSerializedProgram writes all files, or none. In data files,
// the key of a replaceable tensor is its name, that of another one a digest.
//   kInvalidArgument    a replaceable tensor without a data file
//   kUnimplemented      the program needs operators, dtypes, kinds of inputs or backends that
//                       ExecuTorch 1.5.1's runtime does not have. Lists all of them, with nodes and
//                       source lines if the image has debug info
//   kResourceExhausted  more metadata than a FlatBuffer can hold
absl::StatusOr<exir::SerializedProgram> SerializeProgram(const exir::ProgramImage& image,
                                                         const exir::OpRegistry& ops,
                                                         const SerializeOptions& options = {});

// Serializes named data to a .ptd file. Companion files of the data are ignored. The pieces point
// into `data`.
//   kUnimplemented  a dtype that ExecuTorch does not have
absl::StatusOr<exir::SerializedProgram> SerializeDataFile(const exir::NamedDataOutput& data);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_PROGRAM_SERIALIZER_H_
