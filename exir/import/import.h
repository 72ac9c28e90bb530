// Imports `.pt2` archives: converts the output of torch.export.save to an ExportedProgram.
//
//   ABSL_ASSIGN_OR_RETURN(auto ops, CreateStandardOps());
//   ABSL_ASSIGN_OR_RETURN(ExportedProgram program, ImportFile("model.pt2", *ops));
//
// Supports archives of torch 2.5 and later (docs/pt2-format.md §1, §16), in both dialects. Weights
// stay in the file and are never copied. The file may be untrusted: for any content, the result is
// a verified program or an error.
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

// Errors name the entry of the archive, the position in it, and the node with its source line.
//   kNotFound           no such file, no such model, or a referenced entry is missing
//   kDataLoss           the file is truncated or damaged
//   kInvalidArgument    not an archive, or its content contradicts itself or the format
//   kUnimplemented      unsupported content; the message lists all such content of the graphs.
//                       Operators unknown to `ops` are not errors: they become opaque operators
//   kResourceExhausted  a limit of `options`, by its name
// `ops` must outlive the program.
absl::StatusOr<ExportedProgram> ImportFile(const std::string& path, const OpRegistry& ops,
                                           const ImportOptions& options = {});
// Same as ImportFile, from memory. `owner` keeps `bytes` alive; the program's constants share it.
absl::StatusOr<ExportedProgram> ImportBytes(std::shared_ptr<const void> owner,
                                            absl::Span<const std::byte> bytes,
                                            const OpRegistry& ops,
                                            const ImportOptions& options = {});

// Summary of an archive, available without importing it.
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
    uint64_t bytes_in_file = 0;  // smaller than the size if deflated
  };
  uint64_t file_bytes = 0;
  std::vector<Model> models;
  std::vector<Entry> entries;  // in the archive's order
};

// Same errors, except those about the content of programs: models of an unsupported schema version
// are listed, too.
absl::StatusOr<ArchiveInfo> InspectArchiveFile(const std::string& path,
                                               const ImportOptions& options = {});
absl::StatusOr<ArchiveInfo> InspectArchive(std::shared_ptr<const void> owner,
                                           absl::Span<const std::byte> bytes,
                                           const ImportOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_IMPORT_H_
