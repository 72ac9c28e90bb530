// Values as files that commands write.
#ifndef BELAY_TOOLS_BELAY_VALUE_FILES_H_
#define BELAY_TOOLS_BELAY_VALUE_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/core/evalue.h"

namespace belay::tools {

// Creates the directory and its parents. kPermissionDenied: it can't be created.
absl::Status MakeDirectory(const std::string& path);

// Writes a value as a `.npy` file (runtime/io/npy_values.h), whole or not at all. kInvalidArgument
// for None, strings and lists, which have no array.
absl::Status WriteNpyValue(const EValue& value, const std::string& path);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_VALUE_FILES_H_
