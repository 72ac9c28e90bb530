#include "runtime/core/reserved_memory.h"

#include <algorithm>
#include <utility>

#include "runtime/core/status_macros.h"

namespace belay {

absl::StatusOr<std::shared_ptr<ReservedBlock>> ReservedBlock::Create(uint64_t bytes,
                                                                     BlockAllocator* allocator) {
  auto block = std::make_shared<ReservedBlock>();
  ABSL_ASSIGN_OR_RETURN(block->buffer, AlignedBuffer::Reserve(bytes, allocator));
  return block;
}

absl::StatusOr<ReservedMemory> ReservedMemory::Create(uint64_t bytes, size_t tensors,
                                                      MemoryBudget& memory) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<ReservedBlock> block,
                        ReservedBlock::Create(bytes, memory.allocator()));
  return ReservedMemory(std::move(block), tensors, memory);
}

absl::Status ReservedMemory::Touch(uint64_t offset, uint64_t bytes) {
  const PageRanges::Growth growth = ranges_.GrowthOf(offset, offset + bytes);
  if (growth.bytes == 0) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(memory_->Take(growth.bytes, "memory for the sizes of this call"));
  const absl::Status status =
      block_->buffer.Commit(growth.begin, std::min<uint64_t>(growth.end, size()));
  if (!status.ok()) {
    memory_->Give(growth.bytes);
    return status;
  }
  ranges_.Add(growth);
  return absl::OkStatus();
}

void ReservedMemory::Discard() {
  block_->buffer.Discard();
  ++block_->discards;
  Forget();
}

void ReservedMemory::Forget() {
  memory_->Give(ranges_.bytes());
  ranges_.Clear();
  seen_ = block_->discards;
}

bool ReservedMemory::Contains(const void* address) const {
  const auto first = reinterpret_cast<uintptr_t>(data());
  return reinterpret_cast<uintptr_t>(address) - first < size();
}

}  // namespace belay
