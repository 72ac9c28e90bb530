// Returns memory of constants to the system while a program is lowered.
//
// Constants point into the mapped archive, and large derived ones, such as packed weights, into
// temporary files. A pass that has read or written a weight needs its pages no longer, but they
// count as memory of the process until it ends.
#ifndef BELAY_EXIR_IR_MAPPED_PAGES_H_
#define BELAY_EXIR_IR_MAPPED_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/mapped_file.h"

namespace belay::exir {

// Returns an owner of the file's bytes, for Storage. ReleasePages may release these bytes while the
// owner lives. Precondition: the file was opened with FileAccess::kMap.
std::shared_ptr<const void> OwnerOfMapping(std::shared_ptr<const MappedFile> file);

// Bytes of a temporary file, or of memory.
struct FileBytes {
  std::shared_ptr<const void> owner;
  absl::Span<std::byte> bytes;
};

// Returns `bytes` zeros in a file without a name in $TMPDIR, by default /var/tmp; the space on the
// disk is reserved. nullopt if the system has no such files, or the directory lacks space or
// permission. Precondition: bytes > 0.
std::optional<FileBytes> CreateFileBytes(uint64_t bytes);
// Derived constants of at least this size belong in temporary files.
inline constexpr uint64_t kLeastFileBytes = uint64_t{256} << 10;
// Returns `bytes` zeros for a derived constant: in a temporary file from kLeastFileBytes on,
// otherwise, or if CreateFileBytes fails, in memory. kResourceExhausted if memory is exhausted.
absl::StatusOr<FileBytes> CreateZeros(uint64_t bytes);

// Removes the pages that are completely inside `bytes` from the process, if the bytes belong to an
// owner of OwnerOfMapping or CreateFileBytes; otherwise has no effect. The content is unchanged: the
// next access loads the pages from the file. Thread-safe, also with concurrent accesses.
void ReleasePages(absl::Span<const std::byte> bytes);
void ReleasePages(std::string_view bytes);

// Divides pieces into pieces of at most 4 MiB, for functions that release each one after reading.
std::vector<std::string_view> InParts(absl::Span<const std::string_view> pieces);
std::vector<std::string_view> InParts(std::string_view piece);

// Returns the SHA-256 of the concatenation of the pieces, and releases their pages.
std::string Sha256InParts(absl::Span<const std::string_view> pieces);
std::string Sha256InParts(absl::Span<const std::byte> bytes);
// As WriteFileAtomically, and releases the pages of the pieces.
absl::Status WriteFileInParts(const std::string& path, absl::Span<const std::string_view> pieces);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_MAPPED_PAGES_H_
