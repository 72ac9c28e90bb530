#include "exir/symbolic/assumed_equalities.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const SymExpr s0 = SymExpr::Symbol("s0"), u0 = SymExpr::Symbol("u0"), u1 = SymExpr::Symbol("u1");

TEST(AssumedEqualitiesTest, AssumesUndecidedEqualitiesOnce) {
  AssumedEqualities assumed;
  EXPECT_TRUE(AssumeEqual(u0 + u1, 6));
  EXPECT_TRUE(AssumeEqual(u0 + u1, 6));
  EXPECT_TRUE(AssumeEqual(s0, FloorDiv(u0, 2)));
  EXPECT_THAT(assumed.pairs(), ElementsAre(Pair(u0 + u1, SymExpr(6)), Pair(s0, FloorDiv(u0, 2))));
}

TEST(AssumedEqualitiesTest, ProvedEqualitiesAreNotRecorded) {
  AssumedEqualities assumed;
  EXPECT_TRUE(AssumeEqual(s0 + 1, SymExpr(1) + s0));
  EXPECT_TRUE(AssumeEqual(4, 4));
  // Their difference is not a number.
  const SymExpr infinity = SymExpr::Float(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(AssumeEqual(infinity, infinity));
  EXPECT_THAT(assumed.pairs(), IsEmpty());
}

TEST(AssumedEqualitiesTest, RejectsDisprovedEqualities) {
  AssumedEqualities assumed;
  EXPECT_FALSE(AssumeEqual(4, 5));
  EXPECT_FALSE(AssumeEqual(s0, s0 + 1));
  EXPECT_THAT(assumed.pairs(), IsEmpty());
}

TEST(AssumedEqualitiesTest, InnermostScopeRecords) {
  AssumedEqualities outer;
  {
    AssumedEqualities inner;
    EXPECT_TRUE(AssumeEqual(s0, u0));
    EXPECT_THAT(inner.pairs(), ElementsAre(Pair(s0, u0)));
  }
  EXPECT_THAT(outer.pairs(), IsEmpty());
  EXPECT_TRUE(AssumeEqual(s0, u1));
  EXPECT_THAT(outer.pairs(), ElementsAre(Pair(s0, u1)));
}

TEST(AssumedEqualitiesTest, AssumesWithoutScope) { EXPECT_TRUE(AssumeEqual(s0, u0)); }

}  // namespace
}  // namespace belay::exir
