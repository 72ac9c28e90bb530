#include "exir/interpreter/buffer_pool.h"

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using Buffer = std::shared_ptr<std::byte>;

TEST(BufferPoolTest, ReusesReleasedBuffers) {
  const auto pool = BufferPool::Create();
  ASSERT_OK_AND_ASSIGN(Buffer first, pool->Take(1000));
  const std::byte* const address = first.get();
  first.reset();
  ASSERT_OK_AND_ASSIGN(const Buffer second, pool->Take(600));
  EXPECT_EQ(second.get(), address);
  EXPECT_EQ(pool->slab_bytes(), BufferPool::kSlabBytes);
}

TEST(BufferPoolTest, BuffersInUseAreDisjointAndAligned) {
  const auto pool = BufferPool::Create();
  for (int round = 0; round < 3; ++round) {
    std::vector<std::pair<Buffer, size_t>> buffers;
    for (size_t bytes = 1; bytes < 2000; bytes += 37) {
      ASSERT_OK_AND_ASSIGN(Buffer buffer, pool->Take(bytes));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.get()) % kArenaAlignment, 0);
      std::memset(buffer.get(), static_cast<int>(buffers.size()), bytes);
      buffers.emplace_back(std::move(buffer), bytes);
      // Released blocks between buffers in use.
      if (bytes % 3 == 0) buffers[buffers.size() / 2].first.reset();
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].first == nullptr) continue;
      for (size_t k = 0; k < buffers[i].second; ++k) {
        ASSERT_EQ(buffers[i].first.get()[k], static_cast<std::byte>(i));
      }
    }
  }
}

TEST(BufferPoolTest, MergesNeighborsThatAreFree) {
  constexpr size_t kQuarter = BufferPool::kSlabBytes / 4;
  for (const std::vector<int>& order :
       std::vector<std::vector<int>>{{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 1, 3}, {1, 3, 0, 2}}) {
    const auto pool = BufferPool::Create();
    std::vector<Buffer> quarters(4);
    for (Buffer& quarter : quarters) {
      ASSERT_OK_AND_ASSIGN(quarter, pool->Take(kQuarter));
    }
    const std::byte* const address = quarters[0].get();
    for (int i : order) quarters[static_cast<size_t>(i)].reset();
    ASSERT_OK_AND_ASSIGN(const Buffer all, pool->Take(BufferPool::kSlabBytes));
    EXPECT_EQ(all.get(), address);
    EXPECT_EQ(pool->slab_bytes(), BufferPool::kSlabBytes);
  }
}

TEST(BufferPoolTest, UsesTheSmallestBlockThatFits) {
  const auto pool = BufferPool::Create();
  ASSERT_OK_AND_ASSIGN(Buffer large, pool->Take(10240));
  ASSERT_OK_AND_ASSIGN(const Buffer wall, pool->Take(64));
  ASSERT_OK_AND_ASSIGN(Buffer small, pool->Take(1024));
  ASSERT_OK_AND_ASSIGN(const Buffer second_wall, pool->Take(64));
  const std::byte* const address = small.get();
  large.reset();
  small.reset();
  ASSERT_OK_AND_ASSIGN(const Buffer fits, pool->Take(1000));
  EXPECT_EQ(fits.get(), address);
}

TEST(BufferPoolTest, TrimFreesSlabsWithoutBuffers) {
  constexpr size_t kSlab = BufferPool::kSlabBytes;
  const auto pool = BufferPool::Create();
  ASSERT_OK_AND_ASSIGN(Buffer first, pool->Take(kSlab));
  ASSERT_OK_AND_ASSIGN(const Buffer used, pool->Take(100));
  pool->Trim();
  EXPECT_EQ(pool->slab_bytes(), 2 * kSlab);
  first.reset();
  pool->Trim();
  EXPECT_EQ(pool->slab_bytes(), kSlab);
  ASSERT_OK_AND_ASSIGN(const Buffer next, pool->Take(kSlab));
  EXPECT_EQ(pool->slab_bytes(), 2 * kSlab);
}

TEST(BufferPoolTest, FreesUnusedSlabsForLargerRequests) {
  constexpr size_t kSlab = BufferPool::kSlabBytes;
  const auto pool = BufferPool::Create();
  for (size_t bytes = kSlab; bytes < 4 * kSlab; bytes += kSlab / 2) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, pool->Take(bytes));
    EXPECT_EQ(pool->slab_bytes(), bytes);
  }
}

TEST(BufferPoolTest, KeepsSlabsInUse) {
  constexpr size_t kSlab = BufferPool::kSlabBytes;
  const auto pool = BufferPool::Create();
  ASSERT_OK_AND_ASSIGN(const Buffer small, pool->Take(64));
  ASSERT_OK_AND_ASSIGN(const Buffer large, pool->Take(2 * kSlab));
  EXPECT_EQ(pool->slab_bytes(), 3 * kSlab);
  std::memset(small.get(), 1, 64);
}

TEST(BufferPoolTest, EmptyRequestsHaveNoMemory) {
  const auto pool = BufferPool::Create();
  ASSERT_OK_AND_ASSIGN(const Buffer buffer, pool->Take(0));
  EXPECT_EQ(buffer, nullptr);
  EXPECT_EQ(pool->slab_bytes(), 0);
}

TEST(BufferPoolTest, RejectsRequestsBeyondTheAddressSpace) {
  const auto pool = BufferPool::Create();
  EXPECT_THAT(pool->Take(UINT64_MAX), StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_OK(pool->Take(8));
}

TEST(BufferPoolTest, BuffersOutliveThePool) {
  auto pool = BufferPool::Create();
  ASSERT_OK_AND_ASSIGN(Buffer buffer, pool->Take(64));
  pool.reset();
  std::memset(buffer.get(), 1, 64);
  buffer.reset();
}

TEST(BufferPoolTest, BuffersAreReleasedOnAnyThread) {
  const auto pool = BufferPool::Create();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool] {
      for (int i = 0; i < 200; ++i) {
        const auto buffer = pool->Take(128);
        ASSERT_OK(buffer);
        **buffer = std::byte{1};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->slab_bytes(), BufferPool::kSlabBytes);
}

}  // namespace
}  // namespace belay::exir
