// Memory-mapped or copied files.
#ifndef BELAY_RUNTIME_CORE_MAPPED_FILE_H_
#define BELAY_RUNTIME_CORE_MAPPED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay {

// How a file's bytes are loaded.
enum class FileAccess : uint8_t {
  // Maps the file: unused pages are not read, and processes share them. If the file is truncated
  // while mapped, a read past the new end kills the process (SIGBUS). If it is modified, the mapped
  // bytes change. Use it for files that only trusted processes can write.
  kMap,
  // Copies the file into private memory on open. Later changes of the file have no effect.
  kCopy,
};

// The bytes of a regular file, read-only. Immutable and thread-safe. Tensors stored in the file
// keep it alive through shared ownership. The bytes live as long as the object and are page
// aligned. From 4 MiB on, private memory may use huge pages. So may mappings on file systems that
// support them (ext4 and xfs of Linux 6 for newly read files, tmpfs with huge=always).
class MappedFile {
 public:
  struct Options {
    FileAccess access = FileAccess::kMap;
    uint64_t max_bytes = UINT64_MAX;
  };
  // Opens a file. Messages name the path. An empty file gives an empty span.
  //   kNotFound           no such file
  //   kPermissionDenied
  //   kInvalidArgument    not a regular file
  //   kResourceExhausted  above `max_bytes` ('file_bytes' in messages), or out of memory
  //   kUnavailable        another failure of the operating system, or the file was truncated while
  //                       it was copied
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path,
                                                                const Options& options);
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path) {
    return Open(path, Options());
  }
  // Loads `size` bytes, as reported by fstat(), from a file that is open for reading. `path` is its
  // name in messages. The caller keeps ownership of the descriptor.
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

// Writes the concatenation of `pieces` to `path` through a temporary file in the same directory,
// which is then renamed. On error, `path` is unchanged and the temporary file is removed.
//   kUnavailable, kPermissionDenied
//   kNotFound           missing directory
//   kResourceExhausted  full disk
// A killed process leaves no temporary file, except between naming and renaming: PATH.tmp-PID-N,
// which is never read; later calls choose other names. A `path` that is not a regular file (a
// device, a pipe, standard output as /dev/stdout) is written directly.
// Calls `done` with each piece after writing it, so that its pages can be released; pieces may be
// written and reported twice.
absl::Status WriteFileAtomically(
    const std::string& path, absl::Span<const std::string_view> pieces,
    absl::FunctionRef<void(std::string_view)> done = [](std::string_view) {});

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_MAPPED_FILE_H_
