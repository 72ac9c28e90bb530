// An open file of the system. POSIX.
#ifndef BELAY_RUNTIME_CORE_FILE_DESCRIPTOR_H_
#define BELAY_RUNTIME_CORE_FILE_DESCRIPTOR_H_

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace belay {

// Owns a descriptor, or what `open` returned in its place: a negative number.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  // Tells what the destructor does not: 0, or the errno of a write that fails only now. Where the
  // call is interrupted, the descriptor is closed all the same.
  int Close() { return ::close(std::exchange(fd_, -1)) == 0 || errno == EINTR ? 0 : errno; }

 private:
  int fd_;
};

// openat(), again where a signal interrupts it. Paths are relative to `directory`, which is
// AT_FDCWD for the working directory.
inline int OpenRetrying(int directory, const char* path, int flags, mode_t mode = 0) {
  int fd;
  do {
    fd = ::openat(directory, path, flags, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_FILE_DESCRIPTOR_H_
