#include "runtime/core/reserved_memory.h"

#include <algorithm>
#include <utility>

#include "runtime/core/status_macros.h"

namespace belay {

absl::StatusOr<ReservedMemory> ReservedMemory::Create(uint64_t bytes, size_t tensors,
                                                      MemoryBudget& memory) {
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Reserve(bytes));
  return ReservedMemory(std::move(buffer), tensors, memory);
}

absl::Status ReservedMemory::Touch(uint64_t offset, uint64_t bytes) {
  const PageRanges::Growth growth = ranges_.GrowthOf(offset, offset + bytes);
  if (growth.bytes == 0) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(memory_->Take(growth.bytes, "memory for the sizes of this call"));
  const absl::Status status =
      buffer_.Commit(growth.begin, std::min<uint64_t>(growth.end, buffer_.size()));
  if (!status.ok()) {
    memory_->Give(growth.bytes);
    return status;
  }
  ranges_.Add(growth);
  return absl::OkStatus();
}

void ReservedMemory::Discard() {
  buffer_.Discard();
  memory_->Give(ranges_.bytes());
  ranges_.Clear();
}

bool ReservedMemory::Contains(const void* address) const {
  const auto first = reinterpret_cast<uintptr_t>(buffer_.data());
  return reinterpret_cast<uintptr_t>(address) - first < buffer_.size();
}

}  // namespace belay
