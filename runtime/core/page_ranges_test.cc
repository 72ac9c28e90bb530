#include "runtime/core/page_ranges.h"

#include <cstdint>
#include <set>

#include "gtest/gtest.h"
#include "runtime/core/random.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

constexpr uint64_t kPage = PageRanges::kPage;

uint64_t Add(PageRanges& ranges, uint64_t begin, uint64_t end) {
  const PageRanges::Growth growth = ranges.GrowthOf(begin, end);
  ranges.Add(growth);
  return growth.bytes;
}

TEST(PageRangesTest, CountsPagesOnce) {
  PageRanges ranges(8);
  EXPECT_EQ(Add(ranges, 1, 2), kPage);
  EXPECT_EQ(Add(ranges, 0, kPage), 0u);
  EXPECT_EQ(Add(ranges, kPage - 1, kPage + 1), kPage);
  EXPECT_EQ(Add(ranges, 5 * kPage, 6 * kPage), kPage);
  EXPECT_EQ(Add(ranges, 0, 10 * kPage), 7 * kPage);
  EXPECT_EQ(Add(ranges, 3, 3), 0u);
  EXPECT_EQ(ranges.bytes(), 10 * kPage);
  ranges.Clear();
  EXPECT_EQ(ranges.bytes(), 0u);
  EXPECT_EQ(Add(ranges, 1, 2), kPage);
}

// The gap to the nearest range is charged.
TEST(PageRangesTest, ExtendsTheNearestRangeIfThereAreTooMany) {
  PageRanges ranges(2);
  EXPECT_EQ(Add(ranges, 0, kPage), kPage);
  EXPECT_EQ(Add(ranges, 100 * kPage, 101 * kPage), kPage);
  EXPECT_EQ(Add(ranges, 10 * kPage, 11 * kPage), 10 * kPage);
  EXPECT_EQ(Add(ranges, 95 * kPage, 96 * kPage), 5 * kPage);
  EXPECT_EQ(Add(ranges, 200 * kPage, 201 * kPage), 100 * kPage);
  EXPECT_EQ(Add(ranges, 5 * kPage, 6 * kPage), 0u);
}

TEST(PageRangesTest, MatchesASetOfPages) {
  Random random(TestSeed(), 7);
  for (int round = 0; round < 50; ++round) {
    PageRanges ranges(1000);
    std::set<uint64_t> pages;
    for (int i = 0; i < 100; ++i) {
      const uint64_t begin = random.Next() % (300 * kPage);
      const uint64_t end = begin + random.Next() % (20 * kPage);
      const size_t before = pages.size();
      for (uint64_t p = begin / kPage; begin < end && p <= (end - 1) / kPage; ++p) pages.insert(p);
      ASSERT_EQ(Add(ranges, begin, end), (pages.size() - before) * kPage);
      ASSERT_EQ(ranges.bytes(), pages.size() * kPage);
    }
  }
}

}  // namespace
}  // namespace belay
