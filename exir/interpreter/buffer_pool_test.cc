#include "exir/interpreter/buffer_pool.h"

#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using Buffer = std::shared_ptr<const AlignedBuffer>;

TEST(BufferPoolTest, ReusesReleasedBuffers) {
  const auto pool = BufferPool::Create();
  ASSERT_OK_AND_ASSIGN(Buffer first, pool->Take(1000));
  const std::byte* const address = first->data();
  EXPECT_EQ(pool->free_bytes(), 0);
  first.reset();
  EXPECT_EQ(pool->free_bytes(), 1000);
  ASSERT_OK_AND_ASSIGN(const Buffer second, pool->Take(600));
  EXPECT_EQ(second->data(), address);
  EXPECT_EQ(second->size(), 1000);
  EXPECT_EQ(pool->free_bytes(), 0);
}

TEST(BufferPoolTest, BuffersInUseAreDisjointAndAligned) {
  const auto pool = BufferPool::Create();
  std::vector<Buffer> buffers;
  for (int round = 0; round < 3; ++round) {
    for (size_t bytes = 1; bytes < 2000; bytes += 37) {
      ASSERT_OK_AND_ASSIGN(Buffer buffer, pool->Take(bytes));
      ASSERT_GE(buffer->size(), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kArenaAlignment, 0);
      std::memset(buffer->data(), static_cast<int>(buffers.size()), buffer->size());
      buffers.push_back(std::move(buffer));
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      for (const std::byte byte : buffers[i]->span()) {
        ASSERT_EQ(byte, static_cast<std::byte>(i));
      }
    }
    buffers.clear();
  }
}

TEST(BufferPoolTest, KeepsBuffersMoreThanTwiceAsLargeForLargerRequests) {
  const auto pool = BufferPool::Create();
  ASSERT_OK_AND_ASSIGN(Buffer large, pool->Take(10000));
  ASSERT_OK_AND_ASSIGN(const Buffer other, pool->Take(10000));
  large.reset();
  ASSERT_OK_AND_ASSIGN(const Buffer small, pool->Take(100));
  EXPECT_EQ(small->size(), 100);
}

TEST(BufferPoolTest, NeverHoldsMoreThanTheLargestUse) {
  const auto pool = BufferPool::Create();
  // Each request is larger than every free buffer.
  for (uint64_t bytes = 1000; bytes < 20000; bytes += 1000) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, pool->Take(bytes));
    EXPECT_EQ(pool->free_bytes(), 0) << bytes;
  }
  EXPECT_EQ(pool->free_bytes(), 19000);
  ASSERT_OK_AND_ASSIGN(const Buffer part, pool->Take(4000));  // frees the only buffer
  EXPECT_EQ(pool->free_bytes(), 0);
}

TEST(BufferPoolTest, EmptyRequestsHaveNoMemory) {
  const auto pool = BufferPool::Create();
  ASSERT_OK_AND_ASSIGN(const Buffer buffer, pool->Take(0));
  EXPECT_EQ(buffer->size(), 0);
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
  std::memset(buffer->data(), 1, 64);
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
        (*buffer)->data()[0] = std::byte{1};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(pool->free_bytes(), 4 * 128);
}

}  // namespace
}  // namespace belay::exir
