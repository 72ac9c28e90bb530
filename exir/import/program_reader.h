// Reads models/<name>.json: everything of an exported program but its tensors. Source:
// docs/pt2-format.md §6, §8–§10, §12.
#ifndef BELAY_EXIR_IMPORT_PROGRAM_READER_H_
#define BELAY_EXIR_IMPORT_PROGRAM_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/import/import_options.h"
#include "exir/import/json.h"
#include "exir/import/unsupported.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

struct SchemaVersion {
  int64_t major = 0;
  int64_t minor = 0;
  bool operator==(const SchemaVersion&) const = default;
};

// What a model says about itself.
struct ModelHeader {
  SchemaVersion schema;
  std::string torch_version;           // "" when unknown
  std::vector<std::string> verifiers;  // "ATEN", "TRAINING"
  std::vector<std::pair<std::string, int64_t>> opset;
};

// How deep a document may nest so that its graphs nest at most `max_nesting` deep.
JsonLimits LimitsOfModel(const ImportOptions& options);

// Of any version. `flat_version` is the text of the entry `version` of a flat archive, for models
// that have none in the JSON.
absl::StatusOr<ModelHeader> ReadModelHeader(JsonRef model, std::string_view flat_version);

// kUnimplemented for versions that this reader does not know, naming both.
absl::Status CheckSchemaVersion(const SchemaVersion& version);

// The program without `state_dict` and `constants`. kInvalidArgument for malformed content, with
// its path. What is well formed but not supported goes to `unsupported`; then the program is good
// for nothing.
absl::StatusOr<ExportedProgram> ReadProgram(JsonRef model, const ModelHeader& header,
                                            const OpRegistry& ops, const ImportOptions& options,
                                            UnsupportedReport* unsupported);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_PROGRAM_READER_H_
