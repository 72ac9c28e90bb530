// Small archives built from strings, for tests of all layers above the zip file.
#ifndef BELAY_EXIR_IMPORT_TESTING_ARCHIVE_H_
#define BELAY_EXIR_IMPORT_TESTING_ARCHIVE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/import/import_options.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

// Registry with the few operators that the archives here use, and some more. Never destroyed.
const OpRegistry& TestOps();

// {"dtype": 7, "sizes": …} of a contiguous float32 tensor.
std::string MetaJson(const std::vector<int64_t>& sizes, int dtype = 7);

// models/model.json of `y = relu(x + w)`, with `w` a parameter "w" and `x` and `y` f32[2,3]. Each
// pair in `changes` replaces its first string by its second. The first must occur exactly once;
// otherwise the test fails.
std::string ProgramJson(const std::vector<std::pair<std::string, std::string>>& changes = {});

// Entries of a raw-weights archive for ProgramJson(), by path below the root folder.
using ArchiveFiles = std::vector<std::pair<std::string, std::string>>;
ArchiveFiles DefaultFiles(std::string program);
// Sets, replaces or (nullptr) removes an entry.
void SetFile(ArchiveFiles& files, std::string_view path, const std::string* content);
// Packs the files into a zip file, all below `root`.
std::string PackArchive(const ArchiveFiles& files, std::string_view root = "model/");

absl::StatusOr<ExportedProgram> ImportText(const std::string& archive,
                                           const ImportOptions& options = {});
// Imports PackArchive(DefaultFiles(ProgramJson(changes))).
absl::StatusOr<ExportedProgram> ImportChanged(
    const std::vector<std::pair<std::string, std::string>>& changes,
    const ImportOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_TESTING_ARCHIVE_H_
