// Memory whose content ends with a call, for users that are called one at a time.
#ifndef BELAY_RUNTIME_CORE_REUSABLE_BLOCKS_H_
#define BELAY_RUNTIME_CORE_REUSABLE_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/arena.h"
#include "runtime/core/reserved_memory.h"

namespace belay {

// Gives every user the first block that is large enough. A user needs at most one block of an object
// at a time, and must not expect its content after a call. Not thread-safe. Charges nothing.
class ReusableBlocks {
 public:
  // `allocator`: null for the C library's; must outlive the object.
  explicit ReusableBlocks(BlockAllocator* allocator = nullptr) : allocator_(allocator) {}
  // Returns at least `bytes`, aligned to kArenaAlignment, valid as long as this object.
  //   kResourceExhausted  out of memory
  absl::StatusOr<std::byte*> Get(uint64_t bytes);
  // The same for a block of address space, which may outlive this object.
  //   kResourceExhausted  the system has no address space of this size
  absl::StatusOr<std::shared_ptr<ReservedBlock>> Reserve(uint64_t bytes);

 private:
  BlockAllocator* allocator_;
  std::vector<AlignedBuffer> blocks_;
  std::vector<std::shared_ptr<ReservedBlock>> reserved_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_REUSABLE_BLOCKS_H_
