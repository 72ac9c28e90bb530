// The one place where commands open a program file: Belay's own, or ExecuTorch's (.pte).
#ifndef BELAY_TOOLS_BELAY_PROGRAM_FILE_H_
#define BELAY_TOOLS_BELAY_PROGRAM_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executorch/reader/open_program.h"
#include "runtime/program/program.h"
#include "tools/belay/command_line.h"

namespace belay::tools {

// Whether a file begins as a program file of either kind does.
bool IsProgramFile(absl::Span<const std::byte> file);

// By what the file is, whatever it is called. `data_files` are for .pte alone; Belay's programs
// name their companions themselves (kInvalidArgument). Else as Program::Open and pte::OpenProgram.
absl::StatusOr<Program> OpenProgramFile(const std::string& path, const pte::OpenOptions& options);

// --data.
Option DataOption(std::vector<std::string>* data_files);

// The size of dynamic dimensions of random inputs: `wanted`, but the largest of a .pte, which does
// not say which of an input's dimensions change.
int64_t DynamicSizeFor(const Program& program, int64_t wanted);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROGRAM_FILE_H_
