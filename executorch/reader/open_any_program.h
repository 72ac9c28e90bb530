// Opens program files of Belay and of ExecuTorch, detected by content; file names do not matter.
#ifndef BELAY_EXECUTORCH_READER_OPEN_ANY_PROGRAM_H_
#define BELAY_EXECUTORCH_READER_OPEN_ANY_PROGRAM_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executorch/reader/open_program.h"
#include "runtime/program/program.h"

namespace belay::pte {

// Returns whether the file begins like an ExecuTorch program or bundled program. Errors of
// MappedFile::Open.
bool IsExecuTorchProgram(absl::Span<const std::byte> file);
absl::StatusOr<bool> IsProgramFileAt(const std::string& path);

// As belay::Program::Open or OpenProgram. With one of Belay's programs, the data files are parameter
// files or .ptd files and replace its parameters; also errors of Parameters::AddFile and ::Open.
//   kInvalidArgument  two files have a tensor of the same name
absl::StatusOr<belay::Program> OpenAnyProgram(const std::string& path, const OpenOptions& options);

// Opens a program in memory, which must outlive the result. Without data files.
// `convert_delegates` is for ExecuTorch's programs, as OpenOptions::convert_delegates.
absl::StatusOr<belay::Program> OpenAnyProgramBytes(absl::Span<const std::byte> file,
                                                   const belay::Program::Options& options,
                                                   const DelegateConverter& convert_delegates = {});

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_OPEN_ANY_PROGRAM_H_
