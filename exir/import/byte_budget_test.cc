#include "exir/import/byte_budget.h"

#include <algorithm>
#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

TEST(ByteBudgetTest, CountsDownToZero) {
  ByteBudget budget("max_things", 10);
  EXPECT_OK(budget.Take(6, "the first"));
  EXPECT_THAT(budget.Take(5, "the second"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "the second: needs 5 bytes, but only 4 of max_things = 10 are left"));
  EXPECT_OK(budget.Take(4, "the third")) << "what is refused takes nothing";
  EXPECT_OK(budget.Take(0, "the fourth"));
  EXPECT_FALSE(budget.Take(1, "the fifth").ok());
}

TEST(ByteBudgetTest, AllocatesRequestedBytes) {
  ASSERT_OK_AND_ASSIGN(const Storage zeros, AllocateZeros(100, "zeros"));
  ASSERT_EQ(zeros.bytes.size(), 100u);
  EXPECT_TRUE(std::all_of(zeros.bytes.begin(), zeros.bytes.end(),
                          [](std::byte b) { return b == std::byte{0}; }));
  std::byte* data = nullptr;
  ASSERT_OK_AND_ASSIGN(const Storage bytes, AllocateBytes(100, "bytes", &data));
  ASSERT_EQ(bytes.bytes.size(), 100u);
  EXPECT_EQ(bytes.bytes.data(), data);
  data[99] = std::byte{7};
  EXPECT_EQ(bytes.bytes[99], std::byte{7});
}

TEST(ByteBudgetTest, EmptyAllocationsHaveAddresses) {
  ASSERT_OK_AND_ASSIGN(const Storage empty, AllocateZeros(0, "nothing"));
  EXPECT_TRUE(empty.bytes.empty());
  EXPECT_NE(empty.bytes.data(), nullptr);
}

// The allocator must not be called.
TEST(ByteBudgetTest, RejectsMoreThanAddressSpace) {
  std::byte* data = nullptr;
  for (const uint64_t bytes : {UINT64_MAX, uint64_t{1} << 63}) {
    EXPECT_THAT(AllocateZeros(bytes, "zeros"),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("zeros: no memory for ")));
    EXPECT_THAT(AllocateBytes(bytes, "bytes", &data),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("bytes: no memory for ")));
    EXPECT_EQ(data, nullptr);
  }
}

}  // namespace
}  // namespace belay::exir
