// Reads the files that lowering starts from: archives (.pt2, exir/import/import.h) and saved
// programs (.bir, exir/serialize/saved_programs.h). The first bytes of a file decide which format
// it has.
#ifndef BELAY_EXIR_MODEL_FILE_H_
#define BELAY_EXIR_MODEL_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "exir/backend/to_backend.h"
#include "exir/import/import.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Returns whether the file holds saved programs. Errors are those of MappedFile::Open.
absl::StatusOr<bool> IsSavedProgramsFile(const std::string& path);

// Returns the models of an archive, or the saved methods, in file order. Errors are the reader's
// and name the path.
absl::StatusOr<std::vector<std::string>> ModelNames(const std::string& path);

// Returns the approximate size of a file; 0 if it does not exist or is not a regular file.
uint64_t SizeOfFile(const std::string& path);

// Imports models. Reads each file of saved programs once; all programs of the file share its bytes.
// Thread-compatible; `ops` must outlive the reader and the programs.
class ModelReader {
 public:
  explicit ModelReader(const OpRegistry& ops) : ops_(ops) {}

  // Returns the program of `options.model_name`, or the only program if the name is "". Errors are
  // the reader's. If saved programs contain no program of this name: kNotFound, listing the
  // available names.
  absl::StatusOr<ExportedProgram> Import(const std::string& path,
                                         const ImportOptions& options = {});

 private:
  const OpRegistry& ops_;
  absl::btree_map<std::string, MethodPrograms> saved_;  // by path
};

// Lists the contents of the file. For saved programs, the entries are their text forms and
// storages.
absl::StatusOr<ArchiveInfo> InspectModelFile(const std::string& path);

}  // namespace belay::exir

#endif  // BELAY_EXIR_MODEL_FILE_H_
