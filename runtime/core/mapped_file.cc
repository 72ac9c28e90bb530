#include "runtime/core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/errno_code.h"
#include "runtime/core/file_descriptor.h"
#include "runtime/core/status_macros.h"

namespace belay {
namespace {

absl::Status SystemError(std::string_view action, const std::string& path, int error) {
  return absl::Status(CodeOfErrno(error), absl::StrCat("cannot ", action, " ", path, ": ",
                                                       std::generic_category().message(error)));
}

// open() stops at a NUL, which a std::string may contain.
absl::Status CheckPath(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("a path must not be empty nor contain a NUL");
  }
  return absl::OkStatus();
}

// Maximum size of one system call.
constexpr size_t kMaxTransfer = size_t{1} << 30;

// Files of at least this size are mostly weights, which a call reads sequentially. With 2 MiB
// pages, page-table walks and first-touch faults are rarer.
constexpr uint64_t kLargeFile = uint64_t{4} << 20;

absl::Status ReadAll(int fd, const std::string& path, absl::Span<char> bytes) {
  const size_t size = bytes.size();
  while (!bytes.empty()) {
    const ssize_t got = ::read(fd, bytes.data(), std::min(bytes.size(), kMaxTransfer));
    if (got < 0) {
      if (errno == EINTR) continue;
      return SystemError("read", path, errno);
    }
    if (got == 0) {
      return absl::UnavailableError(absl::StrCat("cannot read ", path, ": it ends after ",
                                                 size - bytes.size(), " bytes and had ", size,
                                                 " when it was opened"));
    }
    bytes.remove_prefix(static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

// Writes end at multiples of kWriteRun, so that the page cache can use huge pages, which are read
// faster: generation after lowering reads 4 % more weights per second. Pieces are not copied to a
// buffer: if one is in a mapped file that became shorter, reading it raises SIGBUS, while writev fails.
constexpr uint64_t kWriteRun = uint64_t{2} << 20;
constexpr int kMostPieces = 64;  // of a write

absl::Status WritePieces(FileDescriptor& file, const std::string& path,
                         absl::Span<const std::string_view> pieces,
                         absl::FunctionRef<void(std::string_view)> done) {
  size_t written = 0;  // of pieces.front()
  for (uint64_t at = 0; !pieces.empty();) {
    iovec run[kMostPieces];
    int count = 0;
    uint64_t space = kWriteRun - at % kWriteRun;
    for (size_t i = 0, from = written; i < pieces.size() && count < kMostPieces && space > 0; ++i) {
      const size_t size = std::min<uint64_t>(pieces[i].size() - from, space);
      run[count++] = {const_cast<char*>(pieces[i].data()) + from, size};
      space -= size;
      from = 0;
    }
    const ssize_t result = ::writev(file.get(), run, count);
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) return SystemError("write", path, errno);
    at += static_cast<uint64_t>(result);
    written += static_cast<size_t>(result);
    while (!pieces.empty() && written >= pieces.front().size()) {
      written -= pieces.front().size();
      done(pieces.front());
      pieces.remove_prefix(1);
    }
  }
  // Without fsync, a full disk may only be detected after the rename. Pipes and some file systems
  // return EINVAL: they need no fsync.
  if (::fsync(file.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return SystemError("write", path, errno);
  }
  return absl::OkStatus();
}

// Returns a name next to `path`, unique among concurrent threads and processes. Skips leftovers of
// dead processes.
std::string TemporaryName(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  return absl::StrCat(path, ".tmp-", ::getpid(), "-", counter.fetch_add(1));
}

constexpr int kAttempts = 100;

// Opens an unnamed file, which disappears if the process is killed. -1 if the system does not
// support it.
int OpenNameless(const std::string& path) {
#ifdef O_TMPFILE
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  return OpenRetrying(AT_FDCWD, directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
#else
  return -1;
#endif
}

// Links the unnamed file to a temporary name. Returns 0 or errno.
int NameFile(int fd, const std::string& path, std::string& temporary) {
  const std::string link = absl::StrCat("/proc/self/fd/", fd);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    temporary = TemporaryName(path);
    if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      return 0;
    }
    if (errno != EEXIST) return errno;
  }
  return EEXIST;
}

// Whether `path` can't be replaced: a device, a pipe, or an already open file.
bool IsWrittenDirectly(const std::string& path) {
  for (const std::string_view open : {"/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/"}) {
    if (path.starts_with(open)) return true;
  }
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

absl::Status WriteDirectly(const std::string& path, absl::Span<const std::string_view> pieces,
                           absl::FunctionRef<void(std::string_view)> done) {
  FileDescriptor file(OpenRetrying(AT_FDCWD, path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError("open", path, errno);
  ABSL_RETURN_IF_ERROR(WritePieces(file, path, pieces, done));
  if (const int error = file.Close(); error != 0) return SystemError("write", path, error);
  return absl::OkStatus();
}

absl::Status Rename(FileDescriptor& file, const std::string& temporary, const std::string& path) {
  absl::Status status;
  if (const int error = file.Close(); error != 0) {
    status = SystemError("write", path, error);
  } else if (::rename(temporary.c_str(), path.c_str()) != 0) {
    status = SystemError("replace", path, errno);
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path,
                                                                   const Options& options) {
  ABSL_RETURN_IF_ERROR(CheckPath(path));
  // O_NONBLOCK: do not wait for a writer when opening a named pipe.
  FileDescriptor file(OpenRetrying(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return SystemError("open", path, errno);
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return SystemError("open", path, errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot open ", path, ": not a regular file"));
  }
  return FromDescriptor(file.get(), static_cast<uint64_t>(info.st_size), path, options);
}

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::FromDescriptor(
    int descriptor, uint64_t size, const std::string& path, const Options& options) {
  if (size > options.max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " has ", size, " bytes, the limit 'file_bytes' is ", options.max_bytes));
  }
  if (size > static_cast<uint64_t>(PTRDIFF_MAX)) return SystemError("open", path, EOVERFLOW);
  std::shared_ptr<MappedFile> file(new MappedFile(path, {}));
  if (size == 0) return file;
  const bool copies = options.access == FileAccess::kCopy;
  void* data =
      ::mmap(nullptr, static_cast<size_t>(size), copies ? PROT_READ | PROT_WRITE : PROT_READ,
             copies ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, copies ? -1 : descriptor,
             /*offset=*/0);
  if (data == MAP_FAILED && copies) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for the ", size, " bytes of ", path));
  }
  if (data == MAP_FAILED) return SystemError("map", path, errno);
  // Only a hint: systems and file systems without huge pages reject it.
  if (size >= kLargeFile) ::madvise(data, static_cast<size_t>(size), MADV_HUGEPAGE);
  file->bytes_ =
      absl::MakeConstSpan(static_cast<const std::byte*>(data), static_cast<size_t>(size));
  if (copies) {
    ABSL_RETURN_IF_ERROR(
        ReadAll(descriptor, path, absl::MakeSpan(static_cast<char*>(data), file->bytes_.size())));
    if (::mprotect(data, file->bytes_.size(), PROT_READ) != 0) {
      return SystemError("protect", path, errno);
    }
  }
  return file;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

absl::Status WriteFileAtomically(const std::string& path, absl::Span<const std::string_view> pieces,
                                 absl::FunctionRef<void(std::string_view)> done) {
  ABSL_RETURN_IF_ERROR(CheckPath(path));
  if (IsWrittenDirectly(path)) return WriteDirectly(path, pieces, done);
  std::string temporary;
  if (FileDescriptor nameless(OpenNameless(path)); nameless.get() >= 0) {
    ABSL_RETURN_IF_ERROR(WritePieces(nameless, path, pieces, done));
    // Without /proc, the bytes are written again below.
    if (NameFile(nameless.get(), path, temporary) == 0) return Rename(nameless, temporary, path);
  }
  int fd = -1;
  for (int attempt = 0; attempt < kAttempts && fd < 0; ++attempt) {
    temporary = TemporaryName(path);
    fd = OpenRetrying(AT_FDCWD, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) return SystemError("create", path, errno);
  }
  if (fd < 0) return SystemError("create", path, EEXIST);
  FileDescriptor file(fd);
  if (absl::Status status = WritePieces(file, path, pieces, done); !status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return Rename(file, temporary, path);
}

}  // namespace belay
