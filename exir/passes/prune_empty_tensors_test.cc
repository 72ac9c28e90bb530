#include "exir/passes/prune_empty_tensors.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(PruneEmptyTensorsTest, DropsInputsWithoutElements) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2,3] user_input, %e: f32[0] user_input) {
    %y: f32[2,3] = aten.cat.default([%e, %x])
    return (%y user_output)
  }
})",
                PruneEmptyTensors().run, R"(program aten {
  graph(%x: f32[2,3] user_input, %e: f32[0] user_input) {
    %y: f32[2,3] = aten.cat.default([%x])
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PruneEmptyTensorsTest, NothingButEmptyInputsBecomesFull) {
  ExpectRewrite(R"(program aten {
  graph(%e: f32[0,3] user_input) {
    %y: f32[0,3] = aten.cat.default([%e, %e])
    return (%y user_output)
  }
})",
                PruneEmptyTensors().run, R"(program aten {
  graph(%e: f32[0,3] user_input) {
    %y: f32[0,3] = aten.full.default([0,3], 0, dtype=dtype:f32)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PruneEmptyTensorsTest, KeepsAnEmptyInputThatDecidesTheDType) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2,3] user_input, %e: f16[0,3] user_input) {
    %y: f32[2,3] = aten.cat.default([%e, %x])
    return (%y user_output)
  }
})",
                  PruneEmptyTensors().run, PassTestOps());
}

}  // namespace
}  // namespace belay::exir
