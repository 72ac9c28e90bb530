#include "exir/passes/generate_debug_handles.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(GenerateDebugHandlesTest, NumbersNodesAndSharesHandlesOfOneOrigin) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)  origin="l@1"
    %b: f32[2] = aten.neg.default(%a)
    %c: f32[2] = aten.exp.default(%b)  origin="l@1"
    return (%c user_output)
  }
})",
                GenerateDebugHandles().run, R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)  origin="l@1" handle=1
    %b: f32[2] = aten.neg.default(%a)  handle=2
    %c: f32[2] = aten.exp.default(%b)  origin="l@1" handle=1
    return (%c user_output)
  }
})",
                PassTestOps());
}

TEST(GenerateDebugHandlesTest, KeepsHandlesAndNumbersMissingOnesAboveThem) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)
    %b: f32[2] = aten.neg.default(%a)  handle=7
    return (%b user_output)
  }
})",
                GenerateDebugHandles().run, R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)  handle=8
    %b: f32[2] = aten.neg.default(%a)  handle=7
    return (%b user_output)
  }
})",
                PassTestOps());
}

// Nodes of one origin share the handle that one of them already has; an unknown or empty origin
// does not count.
TEST(GenerateDebugHandlesTest, ReusesHandlesOfOrigins) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)  origin="l@1"
    %b: f32[2] = aten.neg.default(%a)  origin="l@1" handle=3
    %c: f32[2] = aten.exp.default(%b)  origin=""
    %d: f32[2] = aten.exp.default(%c)  origin=""
    return (%d user_output)
  }
})",
                GenerateDebugHandles().run, R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)  origin="l@1" handle=3
    %b: f32[2] = aten.neg.default(%a)  origin="l@1" handle=3
    %c: f32[2] = aten.exp.default(%b)  origin="" handle=4
    %d: f32[2] = aten.exp.default(%c)  origin="" handle=5
    return (%d user_output)
  }
})",
                PassTestOps());
}

}  // namespace
}  // namespace belay::exir
