#include "bindings/c/compiler/memory_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/core/annotate.h"
#include "runtime/core/str_cat.h"

namespace belay::c {

absl::StatusOr<std::string> MemoryFiles::Add(absl::Span<const std::byte> bytes,
                                             std::string_view name) {
  const int created = ::memfd_create("belay", MFD_CLOEXEC);
  if (created < 0) {
    return absl::UnavailableError(absl::StrCat(name, ": can't create a file in memory"));
  }
  auto descriptor = std::make_unique<FileDescriptor>(created);
  while (!bytes.empty()) {
    const ssize_t written = ::write(created, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      return absl::ResourceExhaustedError(
          absl::StrCat(name, ": no memory for ", bytes.size(), " more bytes"));
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  std::string path = absl::StrCat("/proc/self/fd/", created);
  files_.push_back({std::move(descriptor), path, std::string(name)});
  return path;
}

absl::Status MemoryFiles::WithNames(const absl::Status& status) const {
  if (status.ok() || files_.empty()) return status;
  std::string message(FromAbsl(status.message()));
  // Longer paths first: one may begin with another.
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    message = absl::StrReplaceAll(message, {{file->path, file->name}});
  }
  return WithMessage(status, message);
}

}  // namespace belay::c
