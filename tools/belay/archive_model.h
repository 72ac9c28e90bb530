// Selects the model of an archive that a command names.
#ifndef BELAY_TOOLS_BELAY_ARCHIVE_MODEL_H_
#define BELAY_TOOLS_BELAY_ARCHIVE_MODEL_H_

#include <string>

#include "absl/status/statusor.h"

namespace belay::tools {

struct ArchiveModel {
  std::string path;
  std::string model;  // ImportOptions::model_name; "": the only one
};

// Splits FILE:MODEL into a path and a model's name. A string that names an existing file is a path.
ArchiveModel ParseArchiveModel(const std::string& text);

// Selects the model that becomes `method`: MODEL if named; the only model; the model with the
// method's name; or, for the method "forward", a model named "model".
//   kNotFound  none of them: lists the archive's models
//   errors of opening the archive
// Errors name the path.
absl::StatusOr<ArchiveModel> ChooseModel(const std::string& text, const std::string& method);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_ARCHIVE_MODEL_H_
