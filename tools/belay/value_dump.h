// The values inside of a program, as files: written, and compared with those that somebody else
// wrote.
#ifndef BELAY_TOOLS_BELAY_VALUE_DUMP_H_
#define BELAY_TOOLS_BELAY_VALUE_DUMP_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/engine/compare.h"
#include "exir/ir/exported_program.h"
#include "runtime/core/evalue.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::tools {

// Interprets one call of the program and writes what each node of its top graph computes to
// DIRECTORY/<name>.npy, by the value's name; None, strings and lists have no file. Makes the
// directory. Returns how many files.
//   kInvalidArgument  a name that is no file's: other characters than letters, digits, '_', '.' and
//                     '-', or a '.' at the beginning
//   what interpreting and writing return
absl::StatusOr<int> DumpValues(const exir::ExportedProgram& program, const KernelRegistry& kernels,
                               absl::Span<const EValue> inputs, const std::string& directory);

struct DumpComparison {
  int compared = 0;
  // The first node in execution order whose value is not close to its file's.
  std::optional<std::string> node;  // in text form, with its source line
  std::string difference;
};

// Compares the same values with the files of the directory that are there: those that PyTorch wrote
// while it interpreted the graph, for instance (docs/profiling.md).
//   kNotFound  none of the values has a file
//   what interpreting and reading return
absl::StatusOr<DumpComparison> CompareWithDump(const exir::ExportedProgram& program,
                                               const KernelRegistry& kernels,
                                               absl::Span<const EValue> inputs,
                                               const std::string& directory,
                                               const exir::Closeness& closeness);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_VALUE_DUMP_H_
