#include "runtime/program/companion_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/core/errno_code.h"
#include "runtime/core/file_descriptor.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"

namespace belay {
namespace {

absl::Status OpenError(const std::string& name, int error) {
  if (error == ELOOP) {
    return absl::InvalidArgumentError(
        absl::StrCat("companion file ", Quoted(name), " is a symbolic link"));
  }
  return absl::Status(CodeOfErrno(error),
                      absl::StrCat("cannot open companion file ", Quoted(name), ": ",
                                   std::generic_category().message(error)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> OpenCompanionFile(
    const std::string& root, const std::string& name, const MappedFile::Options& options) {
  if (!IsCompanionName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("companion file ", Quoted(name), ": not the base name of a file"));
  }
  const FileDescriptor directory(
      OpenRetrying(AT_FDCWD, root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return OpenError(name, errno);
  // O_NONBLOCK: do not wait for a writer when opening a named pipe.
  const FileDescriptor file(
      OpenRetrying(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return OpenError(name, errno);
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return OpenError(name, errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("companion file ", Quoted(name), " is not a regular file"));
  }
  if (info.st_nlink > 1) {
    return absl::InvalidArgumentError(absl::StrCat("companion file ", Quoted(name), " is one of ",
                                                   info.st_nlink, " links to the same file"));
  }
  return MappedFile::FromDescriptor(file.get(), static_cast<uint64_t>(info.st_size),
                                    absl::StrCat("companion file ", Quoted(name)), options);
}

}  // namespace belay
