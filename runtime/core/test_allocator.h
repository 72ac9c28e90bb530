// An allocator that knows its blocks, for tests.
#ifndef BELAY_RUNTIME_CORE_TEST_ALLOCATOR_H_
#define BELAY_RUNTIME_CORE_TEST_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>

#include "gtest/gtest.h"
#include "runtime/core/arena.h"

namespace belay {

// Blocks begin with other contents than zeros. Expects that they are freed with their sizes, and
// before the allocator.
class TestAllocator final : public BlockAllocator {
 public:
  ~TestAllocator() override { EXPECT_TRUE(blocks_.empty()); }

  void* Allocate(size_t bytes, size_t alignment) override {
    EXPECT_GT(bytes, 0u);
    if (bytes > largest) return nullptr;
    void* const block = ::operator new(bytes, std::align_val_t(alignment));
    std::memset(block, 0xff, bytes);
    blocks_[block] = {bytes, alignment};
    ++allocations;
    return block;
  }
  void Free(void* block, size_t bytes) override {
    const auto found = blocks_.find(block);
    ASSERT_NE(found, blocks_.end());
    EXPECT_EQ(bytes, found->second.bytes);
    ::operator delete(block, std::align_val_t(found->second.alignment));
    blocks_.erase(found);
  }

  // Whether the address is in a block.
  bool Contains(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    for (const auto& [block, size] : blocks_) {
      const auto begin = reinterpret_cast<uintptr_t>(block);
      if (at >= begin && at < begin + size.bytes) return true;
    }
    return false;
  }

  size_t largest = size_t{1} << 30;  // larger blocks are refused
  size_t allocations = 0;

 private:
  struct Size {
    size_t bytes, alignment;
  };
  std::map<void*, Size> blocks_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_TEST_ALLOCATOR_H_
