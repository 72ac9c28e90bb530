// Reads models/<name>.json: an exported program without its tensors. Source: docs/pt2-format.md §6,
// §8–§10, §12.
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

// Version fields of a model.
struct ModelHeader {
  SchemaVersion schema;
  std::string torch_version;           // "" when unknown
  std::vector<std::string> verifiers;  // "ATEN", "TRAINING"
  std::vector<std::pair<std::string, int64_t>> opset;
};

// JSON depth limit that allows graphs to nest `max_nesting` deep.
JsonLimits LimitsOfModel(const ImportOptions& options);

// Reads the header of a model of any version. `flat_version` is the content of a flat archive's
// entry `version`, used if the JSON has no version.
absl::StatusOr<ModelHeader> ReadModelHeader(JsonRef model, std::string_view flat_version);

// kUnimplemented for unsupported versions; the message names both versions.
absl::Status CheckSchemaVersion(const SchemaVersion& version);

// Reads the program without `state_dict` and `constants`. kInvalidArgument for malformed content,
// with its path. Well-formed but unsupported content is added to `unsupported`; the program is then
// unusable.
absl::StatusOr<ExportedProgram> ReadProgram(JsonRef model, const ModelHeader& header,
                                            const OpRegistry& ops, const ImportOptions& options,
                                            UnsupportedReport* unsupported);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_PROGRAM_READER_H_
