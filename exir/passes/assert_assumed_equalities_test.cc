#include "exir/passes/assert_assumed_equalities.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

TEST(AssertAssumedEqualitiesTest, ABroadcastOfSizesThatMayBeEqualIsAsserted) {
  ExpectRewrite(R"text(program aten {
  ranges { s0: [0, 64] s1: [0, 64] }
  graph(%x: f32[s0,3] user_input, %y: f32[s1,3] user_input) {
    %a: f32[s0,3] = aten.add.Tensor(%x, %y, 1)
    %b: f32[s0,3] = aten.mul.Tensor(%y, %a)
    return (%b user_output)
  }
})text",
                AssertAssumedEqualities().run, R"text(program aten {
  ranges { s0: [0, 64] s1: [0, 64] }
  graph(%x: f32[s0,3] user_input, %y: f32[s1,3] user_input) {
    %sym_size_1: symint(s1) = aten.sym_size.int(%y, 0)
    %sym_size: symint(s0) = aten.sym_size.int(%x, 0)
    %eq: symbool(Eq(s0, s1)) = _operator.eq(%sym_size, %sym_size_1)
    aten._assert_scalar.default(%eq, "the sizes s0 and s1 that 'a' broadcasts must be equal") name="_assert_scalar"
    %a: f32[s0,3] = aten.add.Tensor(%x, %y, 1)
    %b: f32[s0,3] = aten.mul.Tensor(%y, %a)
    return (%b user_output)
  }
})text",
                PassTestOps());
}

TEST(AssertAssumedEqualitiesTest, ASizeThatDataDecideIsAsserted) {
  ExpectRewrite(R"text(program aten {
  ranges { u0: [0, 6] }
  graph(%x: f32[6,4] user_input, %m: b8[6] user_input) {
    %n: i64[u0,1] = aten.nonzero.default(%m)
    %f: f32[u0,1] = aten._to_copy.default(%n, dtype=dtype:f32)
    %a: f32[6,4] = aten.add.Tensor(%x, %f, 1)
    return (%a user_output)
  }
})text",
                AssertAssumedEqualities().run, R"text(program aten {
  ranges { u0: [0, 6] }
  graph(%x: f32[6,4] user_input, %m: b8[6] user_input) {
    %n: i64[u0,1] = aten.nonzero.default(%m)
    %sym_size: symint(u0) = aten.sym_size.int(%n, 0)
    %f: f32[u0,1] = aten._to_copy.default(%n, dtype=dtype:f32)
    %eq: symbool(Eq(u0, 6)) = _operator.eq(6, %sym_size)
    aten._assert_scalar.default(%eq, "the sizes 6 and u0 that 'a' broadcasts must be equal") name="_assert_scalar"
    %a: f32[6,4] = aten.add.Tensor(%x, %f, 1)
    return (%a user_output)
  }
})text",
                PassTestOps());
}

TEST(AssertAssumedEqualitiesTest, WhatIsAssertedAlreadyIsNotAgain) {
  ExpectUnchanged(R"text(program aten {
  ranges { s0: [0, 64] s1: [0, 64] }
  graph(%x: f32[s0,3] user_input, %y: f32[s1,3] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %m: symint(s1) = aten.sym_size.int(%y, 0)
    %eq: symbool(Eq(s0, s1)) = _operator.eq(%m, %n)
    aten._assert_scalar.default(%eq, "guard") name="_assert_scalar"
    %a: f32[s0,3] = aten.add.Tensor(%x, %y, 1)
    return (%a user_output)
  }
})text",
                  AssertAssumedEqualities().run, PassTestOps());
}

TEST(AssertAssumedEqualitiesTest, WhatRangesProveOrNodesDoNotAssumeIsNotAsserted) {
  ExpectUnchanged(R"text(program aten {
  ranges { s0: [4, 4] s1: [0, 64] }
  graph(%x: f32[s0,3] user_input, %y: f32[4,3] user_input, %z: f32[s1,1] user_input, %w: f32[1,3] user_input) {
    %a: f32[4,3] = aten.add.Tensor(%x, %y, 1)
    %b: f32[s1,3] = aten.add.Tensor(%z, %w, 1)
    return (%a user_output, %b user_output)
  }
})text",
                  AssertAssumedEqualities().run, PassTestOps());
}

TEST(AssertAssumedEqualitiesTest, WhatIsOneForAllSizesThatWereTracedIsBroadcast) {
  ExpectUnchanged(R"text(program aten {
  ranges { s0: [0, 64] s1: [0, 64] }
  graph(%x: f32[s1,3] user_input, %y: f32["-Max(0, -s0 + 1) + 1",3] user_input, %z: f32[s0] user_input) {
    %a: f32[s1,3] = aten.add.Tensor(%x, %y, 1)
    return (%a user_output, %z user_output)
  }
})text",
                  AssertAssumedEqualities().run, PassTestOps());
}

TEST(AssertAssumedEqualitiesTest, WhatRangesDisproveIsRefusedWithNodeAndSizes) {
  ExpectPassError(R"text(program aten {
  ranges { s0: [2, 8] }
  graph(%x: f32[s0,3] user_input, %y: f32[64,3] user_input) {
    %a: f32[64,3] = aten.add.Tensor(%x, %y, 1)
    return (%a user_output)
  }
})text",
                  AssertAssumedEqualities().run, absl::StatusCode::kInvalidArgument,
                  "its operands broadcast if the sizes s0 and 64 are equal, which the symbols' "
                  "ranges exclude",
                  PassTestOps());
}

}  // namespace
}  // namespace belay::exir
