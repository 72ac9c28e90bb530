// Files that exist only in memory, for functions that read files.
#ifndef BELAY_BINDINGS_C_COMPILER_MEMORY_FILE_H_
#define BELAY_BINDINGS_C_COMPILER_MEMORY_FILE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/file_descriptor.h"

namespace belay::c {

// Owns anonymous files; their paths are valid as long as the object.
class MemoryFiles {
 public:
  // Returns the path of a new file with a copy of `bytes`. Errors mention the file as `name`.
  //   kResourceExhausted  out of memory
  //   kUnavailable        the system has no anonymous files
  absl::StatusOr<std::string> Add(absl::Span<const std::byte> bytes, std::string_view name);

  // Replaces the paths of the files in the message by their names.
  absl::Status WithNames(const absl::Status& status) const;

 private:
  struct File {
    std::unique_ptr<FileDescriptor> descriptor;
    std::string path, name;
  };
  std::vector<File> files_;
};

}  // namespace belay::c

#endif  // BELAY_BINDINGS_C_COMPILER_MEMORY_FILE_H_
