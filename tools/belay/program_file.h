// Opens program files for all commands: Belay's own, or ExecuTorch's (.pte).
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

// Returns whether a file begins like a program file of either kind.
bool IsProgramFile(absl::Span<const std::byte> file);

// As pte::OpenWithCache; prints its notes to stderr.
absl::StatusOr<Program> OpenProgramFile(const std::string& path, const pte::OpenOptions& options);

// Compiles XNNPACK delegates of a .pte for the CPU backend, with this number of threads.
pte::DelegateConverter CpuConverter(int threads);

// Returns the options of OpenProgramFile for the values of --data and --payloads. With payloads
// "cpu", XNNPACK delegates of a .pte are compiled for the CPU backend when it is opened. With
// "library", delegates stay as they are. `weight_cache`: OpenOptions::weight_cache.
pte::OpenOptions OpenOptionsFor(const Program::Options& program,
                                const std::vector<std::string>& data_files,
                                const std::string& payloads, const std::string& weight_cache = "");

// Return the options --parameters (also --data), --payloads and --weight-cache.
Option DataOption(std::vector<std::string>* data_files);
Option PayloadsOption(std::string* payloads);
Option WeightCacheOption(std::string* weight_cache);

// Returns the size of dynamic dimensions of random inputs: `wanted`, or the upper bound for a .pte
// or a program converted from one, which do not record which dimensions of an input are dynamic.
int64_t DynamicSizeFor(const Program& program, int64_t wanted);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROGRAM_FILE_H_
