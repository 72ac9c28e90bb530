#include "exir/passes/eliminate_dead_code.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(EliminateDeadCodeTest, ErasesUnusedChains) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)
    %b: f32[2] = aten.neg.default(%a)
    %y: f32[2] = aten.exp.default(%x)
    return (%y user_output)
  }
})",
                EliminateDeadCode().run, R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten.exp.default(%x)
    return (%y user_output)
  }
})",
                PassTestOps());
}

}  // namespace
}  // namespace belay::exir
