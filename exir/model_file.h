// Files with programs to lower: archives (.pt2, exir/import/import.h) and saved programs (.bir,
// exir/serialize/saved_programs.h), told apart by how they begin.
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

// Whether the file holds saved programs. Errors of MappedFile::Open.
absl::StatusOr<bool> IsSavedProgramsFile(const std::string& path);

// The models of an archive, or the methods that were saved, in the file's order. Errors of the
// reader, which name the path.
absl::StatusOr<std::vector<std::string>> ModelNames(const std::string& path);

// The bytes of a file, about: 0 for what is not there or no regular file.
uint64_t FileBytes(const std::string& path);

// Imports models. Saved programs are read once, however many of them are asked for, and share their
// bytes. Thread-compatible; `ops` must outlive it and the programs.
class ModelReader {
 public:
  explicit ModelReader(const OpRegistry& ops) : ops_(ops) {}

  // The program of `options.model_name`, or the only one when that is "". Errors of the reader;
  // kNotFound also for saved programs without one of the name, which lists those there are.
  absl::StatusOr<ExportedProgram> Import(const std::string& path,
                                         const ImportOptions& options = {});

 private:
  const OpRegistry& ops_;
  absl::btree_map<std::string, MethodPrograms> saved_;  // by path
};

// What is in the file; the entries of saved programs are their texts and storages.
absl::StatusOr<ArchiveInfo> InspectModelFile(const std::string& path);

}  // namespace belay::exir

#endif  // BELAY_EXIR_MODEL_FILE_H_
