// Small archives made of texts, for tests of everything above the zip file.
#ifndef BELAY_EXIR_IMPORT_TESTING_ARCHIVE_H_
#define BELAY_EXIR_IMPORT_TESTING_ARCHIVE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/import/import_options.h"
#include "exir/ir/exported_program.h"
#include "exir/op/op_registry.h"

namespace belay::exir {

// A registry with the few operators that the archives here use, and some more; lives for ever.
const OpRegistry& TestOps();

// {"dtype": 7, "sizes": …} of a contiguous float32 tensor.
std::string MetaJson(const std::vector<int64_t>& sizes, int dtype = 7);

// models/model.json of   y = relu(x + w), with `w` a parameter "w" and `x` and `y` f32[2,3].
// Each pair in `changes` replaces the one occurrence of its first text by its second; it is an
// error of the test when there is not exactly one.
std::string ProgramJson(const std::vector<std::pair<std::string, std::string>>& changes = {});

// The entries of an archive of the raw-weights era for ProgramJson(), by path below the root
// folder.
using ArchiveFiles = std::vector<std::pair<std::string, std::string>>;
ArchiveFiles DefaultFiles(std::string program);
// Sets, replaces or (nullptr) removes an entry.
void SetFile(ArchiveFiles& files, std::string_view path, const std::string* content);
// The zip file, every entry below `root`.
std::string PackArchive(const ArchiveFiles& files, std::string_view root = "model/");

absl::StatusOr<ExportedProgram> ImportText(const std::string& archive,
                                           const ImportOptions& options = {});
// PackArchive(DefaultFiles(ProgramJson(changes))), imported.
absl::StatusOr<ExportedProgram> ImportChanged(
    const std::vector<std::pair<std::string, std::string>>& changes,
    const ImportOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_TESTING_ARCHIVE_H_
