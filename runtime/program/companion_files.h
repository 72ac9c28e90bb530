// Files beside the program file that hold some of its segments.
#ifndef BELAY_RUNTIME_PROGRAM_COMPANION_FILES_H_
#define BELAY_RUNTIME_PROGRAM_COMPANION_FILES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/core/mapped_file.h"
#include "runtime/schema/companion_name.h"

namespace belay {

// Opens the file `name` of directory `root`. Neither a symbolic link nor a file with a second name
// is followed, and what was opened is what is checked.
//   kNotFound, kPermissionDenied, kUnavailable  as MappedFile::Open
//   kInvalidArgument    `name` is no base name, or no regular file with a single name
//   kResourceExhausted  larger than `options` allow, or than the memory there is
absl::StatusOr<std::shared_ptr<const MappedFile>> OpenCompanionFile(
    const std::string& root, const std::string& name, const MappedFile::Options& options);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_COMPANION_FILES_H_
