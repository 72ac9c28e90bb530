// Opens ExecuTorch's program files (.pte): what they say is checked, translated once into Belay's
// own words, and checked again by the validators of Belay's files, so that it is executed like any
// other program. Constants and blobs stay in the mapped file.
//
//   ABSL_ASSIGN_OR_RETURN(const Program program, pte::OpenProgram("model.pte", {}));
//   KernelRegistry kernels;                                  // AddStandardKernels, and
//   ABSL_RETURN_IF_ERROR(kernels.Add(pte::PrimKernels()));   // prim_kernels.h
//
// What is translated how: docs/pte-format.md; what is not: executorch/reader/README.md.
#ifndef BELAY_EXECUTORCH_READER_OPEN_PROGRAM_H_
#define BELAY_EXECUTORCH_READER_OPEN_PROGRAM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executorch/reader/data_file.h"
#include "runtime/program/program.h"

namespace belay::pte {

struct OpenOptions {
  // Options::companion_root and ::named_data are not used.
  belay::Program::Options program;
  // Data files (.ptd) that tensors and delegates may be in.
  std::vector<std::string> data_files;
};

// Maps (or copies) the file and translates it. Errors name the file, the method, and the value or
// instruction; all problems of a kind are told at once.
//   kNotFound, kPermissionDenied, kUnavailable  a file can't be read
//   kDataLoss           not a .pte or .ptd file, truncated, or damaged
//   kInvalidArgument    a rule of docs/pte-format.md is broken
//   kNotFound           external tensors that no data file has; names them
//   kUnimplemented      what Belay does not express or know: an operator, a feature, a newer
//                       version
//   kResourceExhausted  a limit
//   what Program::Options::verifier returns for the file, or for a data file
absl::StatusOr<belay::Program> OpenProgram(const std::string& path, const OpenOptions& options);

// The same from memory. `owner` keeps `file` alive; what `data` knows stays alive with the program.
absl::StatusOr<belay::Program> OpenProgramBytes(std::shared_ptr<const void> owner,
                                                absl::Span<const std::byte> file,
                                                const DataFiles& data,
                                                const belay::Program::Options& options);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_OPEN_PROGRAM_H_
