// Reading files without copying them.
#ifndef BELAY_RUNTIME_CORE_MAPPED_FILE_H_
#define BELAY_RUNTIME_CORE_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay {

// A file mapped read-only. Immutable and thread-safe; the bytes live as long as the object. Shared
// ownership, because tensors that lie in the file keep it alive.
class MappedFile {
 public:
  // kNotFound: no such file. kPermissionDenied. kInvalidArgument: not a regular file. kUnavailable:
  // any other failure of the operating system. The message names the path. An empty file gives an
  // empty span.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  absl::Span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, absl::Span<const std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes) {}
  std::string path_;
  absl::Span<const std::byte> bytes_;
};

// Writes `pieces` one after the other to `path` through a temporary file in the same directory,
// renamed at the end: on any error (kUnavailable, kPermissionDenied, kNotFound for a missing
// directory, kResourceExhausted for a full disk) neither the temporary file nor a changed `path` is
// left.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::Span<const std::string_view> pieces);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_MAPPED_FILE_H_
