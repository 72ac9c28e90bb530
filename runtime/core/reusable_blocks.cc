#include "runtime/core/reusable_blocks.h"

#include <utility>

#include "runtime/core/status_macros.h"

namespace belay {

absl::StatusOr<std::byte*> ReusableBlocks::Get(uint64_t bytes) {
  for (const AlignedBuffer& block : blocks_) {
    if (block.size() >= bytes) return block.data();
  }
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer block, AlignedBuffer::Create(bytes, allocator_));
  blocks_.push_back(std::move(block));
  return blocks_.back().data();
}

absl::StatusOr<std::shared_ptr<ReservedBlock>> ReusableBlocks::Reserve(uint64_t bytes) {
  for (const std::shared_ptr<ReservedBlock>& block : reserved_) {
    if (block->buffer.size() >= bytes) return block;
  }
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<ReservedBlock> block,
                        ReservedBlock::Create(bytes, allocator_));
  reserved_.push_back(block);
  return block;
}

}  // namespace belay
