// Opens ExecuTorch's program files (.pte, and .bpte with test cases). The file is checked and
// translated once to Belay's metadata, which the validators of Belay's files check again. It is then
// executed like any other program. Constants and blobs stay in the mapped file.
//
//   ABSL_ASSIGN_OR_RETURN(const Program program, pte::OpenProgram("model.pte", {}));
//   KernelRegistry kernels;
//   ABSL_RETURN_IF_ERROR(pte::AddProgramKernels(program, kernels));  // program_kernels.h
//
// Translation rules: docs/pte-format.md; unsupported features: executorch/reader/README.md.
#ifndef BELAY_EXECUTORCH_READER_OPEN_PROGRAM_H_
#define BELAY_EXECUTORCH_READER_OPEN_PROGRAM_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executorch/reader/data_file.h"
#include "executorch/reader/delegate_conversion.h"
#include "executorch/reader/translated_program.h"
#include "runtime/program/program.h"

namespace belay::pte {

// Maps (or copies) the file and translates it. Errors name the file, the method, and the value or
// instruction; all problems of a kind are reported at once.
//   kNotFound, kPermissionDenied, kUnavailable  a file can't be read
//   kDataLoss           not a .pte or .ptd file, truncated, or damaged
//   kInvalidArgument    a rule of docs/pte-format.md is broken
//   kNotFound           external tensors that no data file has; names them
//   kUnimplemented      an operator, feature or version that Belay does not support
//   kResourceExhausted  a limit
//   errors of Program::Options::verifier for the file or a data file, and of ConvertDelegates
//   errors of ConversionCache::Create, if the options name a folder. An entry that can't be used is
//   ignored; payload_import/cached_program.h adds and replaces entries
absl::StatusOr<belay::Program> OpenProgram(const std::string& path, const OpenOptions& options);

// Opens a program in memory. `owner` keeps `file` alive; the program keeps the owners of `data`
// alive. Of a bundled program (.bpte), which is copied, opens the program and ignores the test cases
// (bundled_program.h); also errors of BundledProgram::Read.
absl::StatusOr<belay::Program> OpenProgramBytes(std::shared_ptr<const void> owner,
                                                absl::Span<const std::byte> file,
                                                const DataFiles& data,
                                                const belay::Program::Options& options,
                                                const DelegateConverter& convert_delegates = {});

// Validates a translated program. kInvalidArgument, kResourceExhausted: as OpenProgram.
absl::StatusOr<belay::Program> OpenTranslated(TranslatedProgram program);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_OPEN_PROGRAM_H_
