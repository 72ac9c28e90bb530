// Reading files without copying them.
#ifndef BELAY_RUNTIME_CORE_MAPPED_FILE_H_
#define BELAY_RUNTIME_CORE_MAPPED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay {

// How the bytes of a file come into memory.
enum class FileAccess : uint8_t {
  // In place: nothing is read that is not used, and processes share it. Whoever truncates the file
  // while it is mapped ends the process that reads behind the new end (SIGBUS), and whoever changes
  // it changes what was read. For files that only trusted processes can write to.
  kMap,
  // Into private memory, at once. What happens to the file afterwards has no effect.
  kCopy,
};

// The bytes of a regular file, read-only. Immutable and thread-safe; the bytes live as long as the
// object and begin at a page, which from 4 MiB on may be huge, where the file system has such (ext4
// and xfs of Linux 6 for files that are read anew, tmpfs with huge=always), and in private memory.
// Shared ownership, because tensors that lie in the file keep it alive.
class MappedFile {
 public:
  struct Options {
    FileAccess access = FileAccess::kMap;
    uint64_t max_bytes = UINT64_MAX;
  };
  // kNotFound: no such file. kPermissionDenied. kInvalidArgument: not a regular file.
  // kResourceExhausted: larger than `max_bytes`, which the message calls 'file_bytes', or than the
  // memory there is. kUnavailable: any other failure of the operating system; or the file was
  // truncated while it was copied. The message names the path. An empty file gives an empty span.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path,
                                                                const Options& options);
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path) {
    return Open(path, Options());
  }
  // `size` bytes, which fstat() said, of a file that is open for reading. `path` is what messages
  // call it. The descriptor stays the caller's.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> FromDescriptor(int descriptor,
                                                                          uint64_t size,
                                                                          const std::string& path,
                                                                          const Options& options);
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
// left. A process that is killed leaves nothing, or between naming and renaming a file
// PATH.tmp-PID-N, which nobody reads and later calls step around. What is no regular file (a
// device, a pipe, standard output as /dev/stdout) is written to directly.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::Span<const std::string_view> pieces);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_MAPPED_FILE_H_
