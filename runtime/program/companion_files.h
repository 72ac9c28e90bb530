// Companion files, which store some segments of a program file.
#ifndef BELAY_RUNTIME_PROGRAM_COMPANION_FILES_H_
#define BELAY_RUNTIME_PROGRAM_COMPANION_FILES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/core/mapped_file.h"
#include "runtime/schema/companion_name.h"

namespace belay {

// Opens the file `name` of directory `root`. Follows neither symbolic links nor files with several
// hard links, and checks the file that was actually opened.
//   kNotFound, kPermissionDenied, kUnavailable  as MappedFile::Open
//   kInvalidArgument    `name` is not a base name, or not a regular file with one hard link
//   kResourceExhausted  larger than `options` allow, or out of memory
absl::StatusOr<std::shared_ptr<const MappedFile>> OpenCompanionFile(
    const std::string& root, const std::string& name, const MappedFile::Options& options);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_COMPANION_FILES_H_
