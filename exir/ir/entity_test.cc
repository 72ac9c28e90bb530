#include "exir/ir/entity.h"

#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(SecondaryMap, AbsentEntriesReadAsTheDefault) {
  SecondaryMap<NodeId, int> map, sized(2);
  EXPECT_EQ(map.get(NodeId(5)), 0);
  map[NodeId(5)] = 7;
  EXPECT_EQ(map.get(NodeId(5)), 7);
  EXPECT_EQ(map.get(NodeId(4)), 0);
  EXPECT_EQ(map.get(NodeId(6)), 0);
  EXPECT_EQ(map.get(NodeId()), 0);
  sized[NodeId(1)] = 3;
  EXPECT_EQ(sized.get(NodeId(1)), 3);
}

}  // namespace
}  // namespace belay::exir
