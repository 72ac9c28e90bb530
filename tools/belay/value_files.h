// Values as files that commands write.
#ifndef BELAY_TOOLS_BELAY_VALUE_FILES_H_
#define BELAY_TOOLS_BELAY_VALUE_FILES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/core/evalue.h"

namespace belay::tools {

// Creates the directory and its parents. kPermissionDenied: it can't be created.
absl::Status MakeDirectory(const std::string& path);

// Writes an output to DIRECTORY/STEM.npy, or the bytes of a string to DIRECTORY/STEM.txt; None has no
// file. Each file is written whole or not at all. kInvalidArgument for lists.
absl::Status WriteOutputValue(const EValue& value, const std::string& directory,
                              std::string_view stem);

// Writes a value as a `.npy` file (runtime/io/npy_values.h), whole or not at all. kInvalidArgument
// for None, strings and lists, which have no array.
absl::Status WriteNpyValue(const EValue& value, const std::string& path);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_VALUE_FILES_H_
