// The reader of `.pt2` archives: what torch.export.save wrote becomes an ExportedProgram.
//
//   ABSL_ASSIGN_OR_RETURN(auto ops, CreateStandardOps());
//   ABSL_ASSIGN_OR_RETURN(ExportedProgram program, ImportFile("model.pt2", *ops));
//
// Archives of torch 2.5 and later are read (docs/pt2-format.md §1, §16), in both dialects. Weights stay
// where they are in the file and are never copied. The file may come from anybody: whatever is in
// it, the outcome is a verified program or an error.
#ifndef BELAY_EXIR_IMPORT_IMPORT_H_
#define BELAY_EXIR_IMPORT_IMPORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/import/import_options.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Errors name the entry of the archive, the place in it, and the node with its source line.
//   kNotFound           no such file, no such model, an entry that another one names is missing
//   kDataLoss           the file is truncated or damaged
//   kInvalidArgument    not an archive, or its content contradicts itself or the format
//   kUnimplemented      something that is not supported; everything of that kind in the graphs is
//                       listed at once. Operators that `ops` does not know are no error: they
//                       become opaque ones
//   kResourceExhausted  a limit of `options`, by its name
// `ops` must outlive the program.
absl::StatusOr<ExportedProgram> ImportFile(const std::string& path, const OpRegistry& ops,
                                           const ImportOptions& options = {});
// As ImportFile, from memory. `owner` keeps `bytes` alive and is shared by the program's constants.
absl::StatusOr<ExportedProgram> ImportBytes(std::shared_ptr<const void> owner,
                                            absl::Span<const std::byte> bytes,
                                            const OpRegistry& ops,
                                            const ImportOptions& options = {});

// What an archive is, without importing it.
struct ArchiveInfo {
  struct Model {
    std::string name;
    std::string era;  // "PT2 archive with raw weights (torch >= 2.9)"
    int64_t schema_major = 0, schema_minor = 0;
    std::string torch_version;                           // "" when unknown
    std::vector<std::string> verifiers;                  // "ATEN", "TRAINING"
    std::vector<std::pair<std::string, int64_t>> opset;  // ("aten", 10)
  };
  struct Entry {
    std::string name;
    uint64_t bytes = 0;
    uint64_t bytes_in_file = 0;  // fewer when it is deflated
  };
  uint64_t file_bytes = 0;
  std::vector<Model> models;
  std::vector<Entry> entries;  // in the archive's order
};

// Errors as above, but for the content of the programs: a model of a schema version that can't be
// imported is shown, too.
absl::StatusOr<ArchiveInfo> InspectArchiveFile(const std::string& path,
                                               const ImportOptions& options = {});
absl::StatusOr<ArchiveInfo> InspectArchive(std::shared_ptr<const void> owner,
                                           absl::Span<const std::byte> bytes,
                                           const ImportOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_IMPORT_H_
