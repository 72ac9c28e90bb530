#include "runtime/core/memory_check.h"

#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(MemoryCheckTest, ReportsAvailableMemory) {
  EXPECT_OK(CheckMemory(0, "nothing"));
  EXPECT_OK(CheckMemory(1 << 20, "a little"));
  EXPECT_THAT(CheckMemory(UINT64_MAX, "everything"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("no memory for everything, which may take up to "
                                 "18446744073709551615 bytes")));
}

TEST(MemoryCheckTest, BoundsSaturate) {
  MemoryBound bound;
  bound.Add(3, 5);
  bound.Add(2, 1);
  EXPECT_EQ(bound.bytes(), 17u);
  bound.Add(uint64_t{1} << 40, uint64_t{1} << 40);
  EXPECT_EQ(bound.bytes(), UINT64_MAX);
  bound.Add(1, 1);
  EXPECT_EQ(bound.bytes(), UINT64_MAX);
}

}  // namespace
}  // namespace belay
