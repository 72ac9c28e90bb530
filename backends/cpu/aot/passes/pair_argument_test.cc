#include "backends/cpu/aot/passes/pair_argument.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

using exir::Argument;

TEST(PairOf, AcceptsTwoIntegersOrOneTwice) {
  EXPECT_EQ(PairOf(Argument(Argument::List{3, 4}), 0), (Argument::List{3, 4}));
  EXPECT_EQ(PairOf(Argument(Argument::List{0}), 0), (Argument::List{0, 0}));
  const int64_t most = int64_t{1} << 24;
  EXPECT_EQ(PairOf(Argument(Argument::List{1, most}), 1), (Argument::List{1, most}));
}

TEST(PairOf, RejectsEverythingElse) {
  const int64_t most = int64_t{1} << 24;
  EXPECT_EQ(PairOf(Argument(3), 0), std::nullopt);
  EXPECT_EQ(PairOf(Argument(), 0), std::nullopt);
  EXPECT_EQ(PairOf(Argument(Argument::List{}), 0), std::nullopt);
  EXPECT_EQ(PairOf(Argument(Argument::List{1, 1, 1}), 0), std::nullopt);
  EXPECT_EQ(PairOf(Argument(Argument::List{1, 0}), 1), std::nullopt);
  EXPECT_EQ(PairOf(Argument(Argument::List{-1}), 0), std::nullopt);
  EXPECT_EQ(PairOf(Argument(Argument::List{1, most + 1}), 0), std::nullopt);
  EXPECT_EQ(PairOf(Argument(Argument::List{1, 1.0}), 0), std::nullopt);
  EXPECT_EQ(PairOf(Argument(Argument::List{1, exir::ValueId(0)}), 0), std::nullopt);
}

}  // namespace
}  // namespace belay::cpu
