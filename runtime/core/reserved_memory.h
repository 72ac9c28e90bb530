// Memory of tensors whose sizes are known at run time: address space for the largest sizes, of
// which a call uses the pages that it needs.
#ifndef BELAY_RUNTIME_CORE_RESERVED_MEMORY_H_
#define BELAY_RUNTIME_CORE_RESERVED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/core/arena.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/page_ranges.h"

namespace belay {

// Address space, which several users may share (reusable_blocks.h).
struct ReservedBlock {
  //   kResourceExhausted  the system has no address space of this size
  static absl::StatusOr<std::shared_ptr<ReservedBlock>> Create(uint64_t bytes,
                                                               BlockAllocator* allocator = nullptr);
  AlignedBuffer buffer;
  uint64_t discards = 0;  // calls of ReservedMemory::Discard()
};

class ReservedMemory {
 public:
  // Reserves address space, or a block of `memory`'s allocator, and charges nothing. `memory` is
  // charged by Touch() and must outlive its calls; destruction gives nothing back. `tensors`: number
  // of those in the block.
  //   kResourceExhausted  the system has no address space of this size
  static absl::StatusOr<ReservedMemory> Create(uint64_t bytes, size_t tensors,
                                               MemoryBudget& memory);
  // The same for a block that others use as well, one at a time.
  ReservedMemory(std::shared_ptr<ReservedBlock> block, size_t tensors, MemoryBudget& memory)
      : block_(std::move(block)), ranges_(tensors), memory_(&memory), seen_(block_->discards) {}
  ReservedMemory(ReservedMemory&&) = default;
  ReservedMemory& operator=(ReservedMemory&&) = delete;

  // Called before bytes [offset, offset + bytes) are written. Charges their pages once. Allocates
  // nothing unless it fails; then nothing is charged. Preconditions: inside the block;
  // !WasDiscarded().
  //   kResourceExhausted  the budget; names the sizes
  absl::Status Touch(uint64_t offset, uint64_t bytes);
  // Returns all pages to the system and to the budget. Their content is lost.
  void Discard();
  // Whether another user of the block has returned its pages since the last Discard() or Forget().
  bool WasDiscarded() const { return seen_ != block_->discards; }
  // Gives the pages back to the budget only, after another user has discarded them.
  void Forget();

  std::byte* data() const { return block_->buffer.data(); }
  uint64_t size() const { return block_->buffer.size(); }
  uint64_t touched_bytes() const { return ranges_.bytes(); }
  // Whether the pages use more than half of what was left of the budget. Callers then discard them
  // before a call of other sizes.
  bool IsLarge() const { return touched_bytes() > memory_->left(); }
  bool Contains(const void* address) const;

 private:
  std::shared_ptr<ReservedBlock> block_;
  PageRanges ranges_;
  MemoryBudget* memory_;
  uint64_t seen_ = 0;  // ReservedBlock::discards
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_RESERVED_MEMORY_H_
