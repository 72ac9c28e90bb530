#include "runtime/core/call_tables.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(CallTablesTest, SumBytesOfRanges) {
  const std::vector<uint32_t> first(3), second(5);
  CallTables tables;
  tables.Add(absl::MakeConstSpan(first));
  tables.Add(second.data(), 7);
  EXPECT_EQ(tables.bytes(), 3 * sizeof(uint32_t) + 7);
  tables.Prefetch();
}

TEST(CallTablesTest, IgnoreEmptyRanges) {
  CallTables tables;
  tables.Add(absl::Span<const uint64_t>());
  tables.Add(nullptr, 0);
  EXPECT_EQ(tables.bytes(), 0u);
  tables.Prefetch();
}

TEST(CallTablesTest, KeepTheFirstBytesThatFit) {
  const std::vector<std::byte> large(2 * CallTables::kMostBytes);
  CallTables tables;
  tables.Add(large.data(), 100);
  tables.Add(absl::MakeConstSpan(large));
  EXPECT_EQ(tables.bytes(), CallTables::kMostBytes);
  tables.Add(large.data(), 1);
  EXPECT_EQ(tables.bytes(), CallTables::kMostBytes);
  tables.Prefetch();
}

TEST(CallTablesTest, IgnoreRangesAfterTheLast) {
  const uint64_t value = 0;
  CallTables tables;
  for (size_t i = 0; i < CallTables::kMostRanges + 1; ++i) tables.Add(&value, sizeof(value));
  EXPECT_EQ(tables.bytes(), CallTables::kMostRanges * sizeof(value));
  tables.Prefetch();
}

}  // namespace
}  // namespace belay
