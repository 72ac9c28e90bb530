// Memory of tensors whose sizes are known at run time: address space for the largest sizes, of
// which a call uses the pages that it needs.
#ifndef BELAY_RUNTIME_CORE_RESERVED_MEMORY_H_
#define BELAY_RUNTIME_CORE_RESERVED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/core/arena.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/page_ranges.h"

namespace belay {

class ReservedMemory {
 public:
  // Reserves address space and charges nothing. `memory` is charged by Touch() and must outlive its
  // calls; destruction gives nothing back. `tensors`: number of those in the block.
  //   kResourceExhausted  the system has no address space of this size
  static absl::StatusOr<ReservedMemory> Create(uint64_t bytes, size_t tensors,
                                               MemoryBudget& memory);
  ReservedMemory(ReservedMemory&&) = default;
  ReservedMemory& operator=(ReservedMemory&&) = delete;

  // Called before bytes [offset, offset + bytes) are written. Charges their pages once. Allocates
  // nothing unless it fails; then nothing is charged. Precondition: inside the block.
  //   kResourceExhausted  the budget; names the sizes
  absl::Status Touch(uint64_t offset, uint64_t bytes);
  // Returns all pages to the system and to the budget. Their content is lost.
  void Discard();

  std::byte* data() const { return buffer_.data(); }
  uint64_t size() const { return buffer_.size(); }
  uint64_t touched_bytes() const { return ranges_.bytes(); }
  // Whether the pages use more than half of what was left of the budget. Callers then discard them
  // before a call of other sizes.
  bool IsLarge() const { return touched_bytes() > memory_->left(); }
  bool Contains(const void* address) const;

 private:
  ReservedMemory(AlignedBuffer buffer, size_t tensors, MemoryBudget& memory)
      : buffer_(std::move(buffer)), ranges_(tensors), memory_(&memory) {}

  AlignedBuffer buffer_;
  PageRanges ranges_;
  MemoryBudget* memory_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_RESERVED_MEMORY_H_
