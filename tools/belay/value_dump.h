// Writes the intermediate values of a program to files, and compares them with files of another
// source.
#ifndef BELAY_TOOLS_BELAY_VALUE_DUMP_H_
#define BELAY_TOOLS_BELAY_VALUE_DUMP_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/compare/compare.h"
#include "exir/ir/exported_program.h"
#include "runtime/core/evalue.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::tools {

// Interprets one call of the program and writes the value of each node of the top graph to
// DIRECTORY/<name>.npy, by the value's name; None, strings and lists are skipped. Creates the
// directory. Returns the number of files.
//   kInvalidArgument  a name that is not a valid file name: characters other than letters, digits,
//                     '_', '.' and '-', or a leading '.'
//   errors of interpreting and writing
absl::StatusOr<int> DumpValues(const exir::ExportedProgram& program, const KernelRegistry& kernels,
                               absl::Span<const EValue> inputs, const std::string& directory);

struct DumpComparison {
  int compared = 0;
  // The first node in execution order whose value is not close to the value in its file.
  std::optional<std::string> node;  // in text form, with its source line
  std::string difference;
};

// Compares the same values with the existing files of the directory, for example those that PyTorch
// wrote while interpreting the graph (docs/profiling.md).
//   kNotFound  none of the values has a file
//   errors of interpreting and reading
absl::StatusOr<DumpComparison> CompareWithDump(const exir::ExportedProgram& program,
                                               const KernelRegistry& kernels,
                                               absl::Span<const EValue> inputs,
                                               const std::string& directory,
                                               const exir::Closeness& closeness);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_VALUE_DUMP_H_
