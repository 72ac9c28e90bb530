#include "runtime/core/reusable_blocks.h"

#include <cstring>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

TEST(ReusableBlocksTest, GivesUsersTheFirstLargeEnoughBlock) {
  ReusableBlocks blocks;
  ASSERT_OK_AND_ASSIGN(std::byte* const first, blocks.Get(1000));
  ASSERT_OK_AND_ASSIGN(std::byte* const larger, blocks.Get(5000));
  EXPECT_NE(first, larger);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % kArenaAlignment, 0u);
  std::memset(first, 1, 1000);
  std::memset(larger, 2, 5000);
  EXPECT_EQ(*blocks.Get(10), first);
  EXPECT_EQ(*blocks.Get(1001), larger);
  EXPECT_EQ(*blocks.Get(5000), larger);
  EXPECT_OK(blocks.Get(0).status());
}

TEST(ReusableBlocksTest, ReservesAddressSpaceOnce) {
  ReusableBlocks blocks;
  constexpr uint64_t kBytes = uint64_t{64} << 20;
  ASSERT_OK_AND_ASSIGN(const auto first, blocks.Reserve(kBytes));
  ASSERT_OK_AND_ASSIGN(const auto second, blocks.Reserve(kBytes / 2));
  ASSERT_OK_AND_ASSIGN(const auto third, blocks.Reserve(2 * kBytes));
  EXPECT_EQ(first, second);
  EXPECT_NE(first, third);
}

TEST(ReusableBlocksTest, UsersOfABlockNoticeThatAnotherDiscardedIt) {
  ReusableBlocks blocks;
  constexpr uint64_t kBytes = uint64_t{64} << 20, kPage = uint64_t{1} << 16;
  MemoryBudget memory("bytes", kBytes, nullptr);
  ASSERT_OK_AND_ASSIGN(const auto block, blocks.Reserve(kBytes));
  ReservedMemory a(block, 4, memory), b(block, 4, memory);
  EXPECT_EQ(a.data(), b.data());
  ASSERT_OK(a.Touch(0, kPage));
  ASSERT_OK(b.Touch(0, kPage));
  std::memset(a.data(), 1, kPage);
  EXPECT_FALSE(b.WasDiscarded());
  a.Discard();
  EXPECT_FALSE(a.WasDiscarded());
  EXPECT_TRUE(b.WasDiscarded());
  b.Forget();
  EXPECT_FALSE(b.WasDiscarded());
  EXPECT_EQ(b.touched_bytes(), 0u);
  EXPECT_EQ(memory.left(), kBytes);
  ASSERT_OK(b.Touch(0, kPage));
  std::memset(b.data(), 2, kPage);
}

}  // namespace
}  // namespace belay
