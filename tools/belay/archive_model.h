// Which model of an archive a command means.
#ifndef BELAY_TOOLS_BELAY_ARCHIVE_MODEL_H_
#define BELAY_TOOLS_BELAY_ARCHIVE_MODEL_H_

#include <string>

#include "absl/status/statusor.h"

namespace belay::tools {

struct ArchiveModel {
  std::string path;
  std::string model;  // ImportOptions::model_name; "": the only one
};

// FILE or FILE:MODEL as a path and a model's name: what is the name of a file is no FILE:MODEL.
ArchiveModel ParseArchiveModel(const std::string& text);

// The model that becomes `method`: MODEL where it is named, the only one where there is one, of
// several the one that is called like the method, and for the method "forward" also one called
// "model".
//   kNotFound  none of them: lists the archive's models
//   whatever opening the archive returns
// Errors name the path.
absl::StatusOr<ArchiveModel> ChooseModel(const std::string& text, const std::string& method);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_ARCHIVE_MODEL_H_
