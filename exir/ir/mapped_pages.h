// Returns memory of mapped archives to the system while a program is lowered.
//
// Constants point into the mapped archive. A pass that has read a weight needs its pages no longer,
// but they count as memory of the process until it ends.
#ifndef BELAY_EXIR_IR_MAPPED_PAGES_H_
#define BELAY_EXIR_IR_MAPPED_PAGES_H_

#include <cstddef>
#include <memory>

#include "absl/types/span.h"
#include "runtime/core/mapped_file.h"

namespace belay::exir {

// Returns an owner of the file's bytes, for Storage. ReleasePages may release these bytes while the
// owner lives. Precondition: the file was opened with FileAccess::kMap.
std::shared_ptr<const void> OwnerOfMapping(std::shared_ptr<const MappedFile> file);

// Removes the pages that are completely inside `bytes` from the process, if the bytes belong to an
// owner of OwnerOfMapping; otherwise has no effect. The content is unchanged: the next read loads
// the pages from the file. Thread-safe, also with concurrent reads.
void ReleasePages(absl::Span<const std::byte> bytes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_MAPPED_PAGES_H_
