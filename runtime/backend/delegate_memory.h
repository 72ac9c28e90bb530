// Memory that the delegates of a method share.
#ifndef BELAY_RUNTIME_BACKEND_DELEGATE_MEMORY_H_
#define BELAY_RUNTIME_BACKEND_DELEGATE_MEMORY_H_

#include "runtime/core/reusable_blocks.h"

namespace belay {

// A delegate uses a block of each while it executes; its content ends with the call.
struct DelegateMemory {
  explicit DelegateMemory(BlockAllocator* allocator = nullptr)
      : arenas(allocator), scratch(allocator) {}
  ReusableBlocks arenas, scratch;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_BACKEND_DELEGATE_MEMORY_H_
