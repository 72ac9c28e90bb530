// RAII wrapper of a POSIX file descriptor.
#ifndef BELAY_RUNTIME_CORE_FILE_DESCRIPTOR_H_
#define BELAY_RUNTIME_CORE_FILE_DESCRIPTOR_H_

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace belay {

// Owns a descriptor, or holds the negative result of a failed open().
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  // Closes and reports errors, which the destructor ignores: returns 0, or the errno of a write
  // that fails at close. The descriptor is closed even if the call is interrupted.
  int Close() { return ::close(std::exchange(fd_, -1)) == 0 || errno == EINTR ? 0 : errno; }

 private:
  int fd_;
};

// openat(), retried if a signal interrupts it. Paths are relative to `directory`; AT_FDCWD means
// the working directory.
inline int OpenRetrying(int directory, const char* path, int flags, mode_t mode = 0) {
  int fd;
  do {
    fd = ::openat(directory, path, flags, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_FILE_DESCRIPTOR_H_
