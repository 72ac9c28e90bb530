// A memory limit shared by several users.
#ifndef BELAY_RUNTIME_CORE_MEMORY_BUDGET_H_
#define BELAY_RUNTIME_CORE_MEMORY_BUDGET_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace belay {

class BlockAllocator;  // arena.h

// Accounts for memory. Allocates nothing: code that allocates a size
// determined by a file first calls Take(). Used by one thread at a time.
class MemoryBudget {
 public:
  // `limit` is the name of the limit, for messages. Every Take() is also charged to `whole`. All
  // pointers must outlive the object.
  MemoryBudget(std::string_view limit, uint64_t bytes, MemoryBudget* whole = nullptr,
               BlockAllocator* allocator = nullptr)
      : limit_(limit), bytes_(bytes), whole_(whole), allocator_(allocator) {}

  uint64_t left() const { return bytes_ - taken_; }
  // Source of the memory that is charged, of this budget or of `whole`; null: the C library's.
  BlockAllocator* allocator() const {
    return allocator_ != nullptr || whole_ == nullptr ? allocator_ : whole_->allocator();
  }

  // kResourceExhausted, naming `what`, the limit and the sizes, if less is left; nothing is charged
  // then.
  absl::Status Take(uint64_t bytes, std::string_view what);
  // Returns bytes that were taken.
  void Give(uint64_t bytes);

 private:
  std::string_view limit_;
  uint64_t bytes_;
  MemoryBudget* whole_;
  BlockAllocator* allocator_;
  uint64_t taken_ = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_MEMORY_BUDGET_H_
