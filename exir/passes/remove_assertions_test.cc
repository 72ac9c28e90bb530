#include "exir/passes/remove_assertions.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(RemoveAssertionsTest, ErasesTensorMetadataAssertions) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input) {
    aten._assert_tensor_metadata.default(%x, none, none, dtype:f32)
    return (%x user_output)
  }
})",
                RemoveAssertions().run, R"(program aten {
  graph(%x: f32[2] user_input) {
    return (%x user_output)
  }
})",
                PassTestOps());
}

}  // namespace
}  // namespace belay::exir
