// Files beside the program file that hold some of its segments.
#ifndef BELAY_RUNTIME_PROGRAM_COMPANION_FILES_H_
#define BELAY_RUNTIME_PROGRAM_COMPANION_FILES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/schema/companion_name.h"

namespace belay {

// A companion file, mapped read-only as long as the object lives.
class CompanionFile {
 public:
  // Opens the file `name` of directory `root`. Neither a symbolic link nor a file with a second
  // name is followed, and what was opened is what is checked.
  //   kNotFound, kPermissionDenied, kUnavailable  as MappedFile::Open
  //   kInvalidArgument    `name` is no base name, or no regular file with a single name
  //   kResourceExhausted  larger than `max_bytes`
  static absl::StatusOr<std::shared_ptr<const CompanionFile>> Open(const std::string& root,
                                                                   const std::string& name,
                                                                   uint64_t max_bytes);
  ~CompanionFile();
  CompanionFile(const CompanionFile&) = delete;
  CompanionFile& operator=(const CompanionFile&) = delete;

  absl::Span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit CompanionFile(absl::Span<const std::byte> bytes) : bytes_(bytes) {}
  absl::Span<const std::byte> bytes_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_COMPANION_FILES_H_
