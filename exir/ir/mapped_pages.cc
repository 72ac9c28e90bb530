#include "exir/ir/mapped_pages.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/core/arena.h"
#include "runtime/core/bytes.h"
#include "runtime/core/file_descriptor.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/whole_pages.h"

namespace belay::exir {
namespace {

// [first, last)
struct Range {
  uintptr_t first, last;
  bool operator==(const Range&) const = default;
};

Range RangeOf(absl::Span<const std::byte> bytes) {
  const auto first = reinterpret_cast<uintptr_t>(bytes.data());
  return {first, first + bytes.size()};
}

// Ranges of live mappings: one per archive and large derived constant.
class Mappings {
 public:
  void Add(Range range) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.push_back(range);
  }
  void Remove(Range range) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.erase(std::find(ranges_.begin(), ranges_.end(), range));
  }
  // Holds the lock, so that the mapping exists during the call.
  void Release(absl::Span<const std::byte> bytes) {
    const absl::Span<const std::byte> pages = WholePages(bytes);
    if (pages.empty()) return;
    const Range range = RangeOf(bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Range& mapping : ranges_) {
      if (range.first < mapping.first || range.last > mapping.last) continue;
      // A mapping is either private and read-only or shared, so no page has content of its own.
      ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_DONTNEED);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<Range> ranges_;
};

Mappings& AllMappings() {
  static Mappings& mappings = *new Mappings;
  return mappings;
}

struct Owner {
  explicit Owner(std::shared_ptr<const MappedFile> mapped) : file(std::move(mapped)) {
    AllMappings().Add(RangeOf(file->bytes()));
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { AllMappings().Remove(RangeOf(file->bytes())); }
  std::shared_ptr<const MappedFile> file;
};

// A shared mapping.
struct Temporary {
  explicit Temporary(absl::Span<std::byte> mapped) : bytes(mapped) {
    AllMappings().Add(RangeOf(bytes));
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    AllMappings().Remove(RangeOf(bytes));
    ::munmap(bytes.data(), bytes.size());
  }
  absl::Span<std::byte> bytes;
};

constexpr size_t kPartBytes = size_t{4} << 20;

void Release(std::string_view part) { ReleasePages(part); }

}  // namespace

std::shared_ptr<const void> OwnerOfMapping(std::shared_ptr<const MappedFile> file) {
  return std::make_shared<const Owner>(std::move(file));
}

std::optional<FileBytes> CreateFileBytes(uint64_t bytes) {
#ifdef O_TMPFILE
  const char* given = std::getenv("TMPDIR");
  const char* directory = given == nullptr || *given == '\0' ? "/var/tmp" : given;
  const FileDescriptor file(
      OpenRetrying(AT_FDCWD, directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.get() < 0 || bytes > static_cast<uint64_t>(PTRDIFF_MAX)) return std::nullopt;
  // Without reserved space, a write to a page would kill the process if the disk is full.
  if (::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)) != 0) return std::nullopt;
  void* data = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                      file.get(), /*offset=*/0);
  if (data == MAP_FAILED) return std::nullopt;
  auto owner = std::make_shared<const Temporary>(
      absl::MakeSpan(static_cast<std::byte*>(data), static_cast<size_t>(bytes)));
  const absl::Span<std::byte> mapped = owner->bytes;
  return FileBytes{std::move(owner), mapped};
#else
  return std::nullopt;
#endif
}

absl::StatusOr<FileBytes> CreateZeros(uint64_t bytes) {
  if (bytes >= kLeastFileBytes) {
    if (std::optional<FileBytes> file = CreateFileBytes(bytes)) return *std::move(file);
  }
  // AlignedBuffer pages are zero without being written, and large pages reduce their number.
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Create(bytes));
  auto owner = std::make_shared<const AlignedBuffer>(std::move(buffer));
  const absl::Span<std::byte> zeros = owner->span();
  return FileBytes{std::move(owner), zeros};
}

void ReleasePages(absl::Span<const std::byte> bytes) { AllMappings().Release(bytes); }
void ReleasePages(std::string_view bytes) { ReleasePages(AsBytes(bytes)); }

std::vector<std::string_view> InParts(absl::Span<const std::string_view> pieces) {
  std::vector<std::string_view> parts;
  for (std::string_view piece : pieces) {
    for (; piece.size() > kPartBytes; piece.remove_prefix(kPartBytes)) {
      parts.push_back(piece.substr(0, kPartBytes));
    }
    if (!piece.empty()) parts.push_back(piece);
  }
  return parts;
}

std::vector<std::string_view> InParts(std::string_view piece) {
  return InParts(absl::MakeConstSpan(&piece, 1));
}

std::string Sha256InParts(absl::Span<const std::string_view> pieces) {
  return Sha256(InParts(pieces), Release);
}
std::string Sha256InParts(absl::Span<const std::byte> bytes) {
  return Sha256(InParts(AsString(bytes)), Release);
}

absl::Status WriteFileInParts(const std::string& path, absl::Span<const std::string_view> pieces) {
  return WriteFileAtomically(path, InParts(pieces), Release);
}

}  // namespace belay::exir
