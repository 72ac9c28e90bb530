#include "exir/ir/lowered_backend_module.h"

#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(NamedDataOutput, IsEmptyWithoutNamedData) {
  NamedDataOutput none, inside, outside;
  none.buffers.push_back(Storage());  // not named by a key
  inside.program_data["key"] = {};
  outside.external_data["tag"];
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(inside.empty());
  EXPECT_FALSE(outside.empty());
}

}  // namespace
}  // namespace belay::exir
