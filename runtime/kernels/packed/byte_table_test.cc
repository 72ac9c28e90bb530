#include "runtime/kernels/packed/byte_table.h"

#include <algorithm>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/guarded_array.h"

namespace belay {
namespace {

class ByteTableTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  std::mt19937_64 random_{TestSeed()};
};

TEST_P(ByteTableTest, EveryLengthInPlaceAndNot) {
  GuardedArray<uint8_t> table(256);
  for (size_t n = 0; n <= 200; ++n) {
    const GuardedSide side = n % 2 == 0 ? GuardedSide::kEnd : GuardedSide::kBegin;
    GuardedArray<uint8_t> in(n, 0, side), out(n, 0, side);
    table.Fill(random_);
    in.Fill(random_);
    LookupBytes(table.data(), in.data(), out.data(), n);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], table[in[i]]) << n << " at " << i;
    LookupBytes(table.data(), in.data(), in.data(), n);
    ASSERT_TRUE(std::equal(in.data(), in.data() + n, out.data())) << n;
  }
}

TEST_P(ByteTableTest, EveryByte) {
  GuardedArray<uint8_t> table(256), in(256), out(256);
  for (size_t i = 0; i < 256; ++i) {
    in[i] = static_cast<uint8_t>(i);
    table[i] = static_cast<uint8_t>(255 - i);
  }
  LookupBytes(table.data(), in.data(), out.data(), 256);
  EXPECT_TRUE(std::equal(out.data(), out.data() + 256, table.data()));
}

INSTANTIATE_TEST_SUITE_P(Sets, ByteTableTest, testing::ValuesIn(InstructionSets()));

}  // namespace
}  // namespace belay
