#include "exir/passes/remove_assertions.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

// Assertions on scalars are kept.
TEST(RemoveAssertionsTest, ErasesOnlyTensorMetadataAssertions) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten.neg.default(%x)
    aten._assert_tensor_metadata.default(%x, none, none, dtype:f32)
    aten._assert_scalar.default(true, "as it must be")
    return (%y user_output)
  }
})",
                RemoveAssertions().run, R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten.neg.default(%x)
    aten._assert_scalar.default(true, "as it must be")
    return (%y user_output)
  }
})",
                PassTestOps());
}

}  // namespace
}  // namespace belay::exir
