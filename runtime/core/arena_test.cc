#include "runtime/core/arena.h"

#include <cstdint>
#include <utility>

#include "gtest/gtest.h"
#include "runtime/core/test_allocator.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

TEST(AlignedBufferTest, IsZeroedAndAligned) {
  for (uint64_t size : {1, 63, 64, 4097}) {
    ASSERT_OK_AND_ASSIGN(AlignedBuffer buffer, AlignedBuffer::Create(size));
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kArenaAlignment, 0u);
    for (std::byte b : buffer.span()) EXPECT_EQ(b, std::byte{0});
  }
}

TEST(AlignedBufferTest, LargeBufferIsZeroedAndHugePageAligned) {
  ASSERT_OK_AND_ASSIGN(AlignedBuffer buffer, AlignedBuffer::Create((size_t{5} << 20) + 1));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % (size_t{2} << 20), 0u);
  for (std::byte b : buffer.span()) ASSERT_EQ(b, std::byte{0});
  buffer.data()[buffer.size() - 1] = std::byte{1};
}

TEST(AlignedBufferTest, EmptyNeedsNoMemory) {
  ASSERT_OK_AND_ASSIGN(AlignedBuffer buffer, AlignedBuffer::Create(0));
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_TRUE(buffer.span().empty());
}

TEST(AlignedBufferTest, RejectsImpossibleSizes) {
  for (uint64_t size : {uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_THAT(AlignedBuffer::Create(size), StatusIs(absl::StatusCode::kResourceExhausted));
  }
}

TEST(AlignedBufferTest, BlocksOfAnAllocatorAreZeroedAndFreed) {
  TestAllocator allocator;
  allocator.largest = 100;
  for (const auto create : {&AlignedBuffer::Create, &AlignedBuffer::Reserve}) {
    ASSERT_OK_AND_ASSIGN(AlignedBuffer buffer, create(100, &allocator));
    EXPECT_TRUE(allocator.Contains(buffer.data()));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kArenaAlignment, 0u);
    ASSERT_OK(buffer.Commit(0, 100));
    for (std::byte b : buffer.span()) EXPECT_EQ(b, std::byte{0});
    buffer.data()[99] = std::byte{1};
    AlignedBuffer moved = std::move(buffer);
    moved.Discard();
    ASSERT_OK(moved.Commit(0, 100));
    EXPECT_EQ(moved.data()[99], std::byte{0});
    ASSERT_OK_AND_ASSIGN(moved, create(0, &allocator));
    EXPECT_THAT(create(101, &allocator), StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_THAT(create(UINT64_MAX, &allocator), StatusIs(absl::StatusCode::kResourceExhausted));
  }
  EXPECT_EQ(allocator.allocations, 2u);
}

TEST(AlignedBufferTest, RejectsAndFreesMisalignedBlocks) {
  struct Misaligned final : BlockAllocator {
    void* Allocate(size_t bytes, size_t) override { return memory + 8; }
    void Free(void* block, size_t) override { freed = block; }
    alignas(64) std::byte memory[128];
    void* freed = nullptr;
  } allocator;
  EXPECT_THAT(AlignedBuffer::Create(64, &allocator),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("an address that is a multiple of 64")));
  EXPECT_EQ(allocator.freed, allocator.memory + 8);
}

TEST(AlignedBufferTest, ReservedPagesAreCommittedAndDiscarded) {
  constexpr uint64_t kSize = uint64_t{1} << 42;
  ASSERT_OK_AND_ASSIGN(AlignedBuffer buffer, AlignedBuffer::Reserve(kSize));
  EXPECT_EQ(buffer.size(), kSize);
  for (const uint64_t begin : {uint64_t{0}, uint64_t{100'001}, kSize - 1}) {
    ASSERT_OK(buffer.Commit(begin, begin + 1));
    EXPECT_EQ(buffer.data()[begin], std::byte{0});
    buffer.data()[begin] = std::byte{1};
  }
  ASSERT_OK(buffer.Commit(0, 100'002));  // pages that are accessible keep their content
  EXPECT_EQ(buffer.data()[100'001], std::byte{1});
  ASSERT_OK(buffer.Commit(7, 7));
  buffer.Discard();
  ASSERT_OK(buffer.Commit(0, 1));
  EXPECT_EQ(buffer.data()[0], std::byte{0});
  AlignedBuffer moved = std::move(buffer);
  EXPECT_EQ(moved.size(), kSize);
  ASSERT_OK_AND_ASSIGN(moved, AlignedBuffer::Create(8));
  EXPECT_EQ(moved.size(), 8u);
}

TEST(AlignedBufferTest, RejectsImpossibleReservations) {
  for (uint64_t size : {uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_THAT(AlignedBuffer::Reserve(size), StatusIs(absl::StatusCode::kResourceExhausted));
  }
  ASSERT_OK_AND_ASSIGN(const AlignedBuffer empty, AlignedBuffer::Reserve(0));
  EXPECT_EQ(empty.size(), 0u);
}

TEST(AlignedBufferTest, MovedFromBufferIsEmpty) {
  ASSERT_OK_AND_ASSIGN(AlignedBuffer a, AlignedBuffer::Create(8));
  std::byte* data = a.data();
  AlignedBuffer b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(a.data(), nullptr);  // NOLINT: that is what is tested
  EXPECT_EQ(a.size(), 0u);
  ASSERT_OK_AND_ASSIGN(AlignedBuffer c, AlignedBuffer::Create(16));
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.size(), 8u);
  AlignedBuffer& same = c;
  c = std::move(same);
  EXPECT_EQ(c.data(), data);
  c.data()[7] = std::byte{1};
}

}  // namespace
}  // namespace belay
