#include "exir/passes/assert_assumed_equalities.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

TEST(AssertAssumedEqualitiesTest, AssertsBroadcastOfPossiblyEqualSizes) {
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

TEST(AssertAssumedEqualitiesTest, AssertsDataDependentSize) {
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

TEST(AssertAssumedEqualitiesTest, DoesNotRepeatAssertions) {
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

TEST(AssertAssumedEqualitiesTest, DoesNotAssertProvenEqualities) {
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

TEST(AssertAssumedEqualitiesTest, SizesThatAreOneInTheTraceBroadcast) {
  ExpectUnchanged(R"text(program aten {
  ranges { s0: [0, 64] s1: [0, 64] }
  graph(%x: f32[s1,3] user_input, %y: f32["-Max(0, -s0 + 1) + 1",3] user_input, %z: f32[s0] user_input) {
    %a: f32[s1,3] = aten.add.Tensor(%x, %y, 1)
    return (%a user_output, %z user_output)
  }
})text",
                  AssertAssumedEqualities().run, PassTestOps());
}

TEST(AssertAssumedEqualitiesTest, RejectsDisprovenEqualitiesNamingNodeAndSizes) {
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

// Returns the program that adds %x and %y of these sizes after assertions.
std::string Added(std::string_view ranges, std::string_view x, std::string_view y,
                  std::string_view before = "") {
  return absl::StrCat("program aten { ranges { ", std::string(ranges), " } graph(%x: f32[",
                      std::string(x), "] user_input, %y: f32[", std::string(y),
                      "] user_input, %n: symint(s5) user_input) {\n", std::string(before),
                      "\n%z: f32[", std::string(x),
                      "] = aten.add.Tensor(%x, %y)\nreturn (%z user_output) } }");
}

TEST(AssertAssumedEqualitiesTest, SizesOfOneBroadcastOnEitherSide) {
  constexpr char kRanges[] = "s0: [2, 9] s5: [2, 9] u0: [1, 1]";
  ExpectUnchanged(Added(kRanges, "s0", "u0"), AssertAssumedEqualities().run, PassTestOps());
  ExpectUnchanged(Added(kRanges, "u0", "s0"), AssertAssumedEqualities().run, PassTestOps());
}

TEST(AssertAssumedEqualitiesTest, RejectsContradictingSizesInEitherOrder) {
  for (const auto& [x, y] : {std::pair("s0", "s1"), {"s1", "s0"}}) {
    ExpectPassError(Added("s0: [10, 20] s1: [2, 5] s5: [2, 9]", x, y),
                    AssertAssumedEqualities().run, absl::StatusCode::kInvalidArgument,
                    "which the symbols' ranges exclude", PassTestOps());
  }
}

// Only asserted equalities are known; literals and other numbers are not.
TEST(AssertAssumedEqualitiesTest, IgnoresOtherAssertions) {
  for (const char* assertion : {
           "aten._assert_scalar.default(true, \"m\")",
           "aten._assert_scalar.default(%n, \"m\")",
           "%b: symbool(Ne(s0, s1)) = _operator.ne(%n, 3)\naten._assert_scalar.default(%b, \"m\")",
           "%b: symbool(b) = _operator.ne(%n, 3)\naten._assert_scalar.default(%b, \"m\")",
           // A node that its own operator rejects assumes nothing.
           "%v: f32[7] = aten.view.default(%x, [-1,7,0])",
       }) {
    SCOPED_TRACE(assertion);
    ExportedProgram program =
        ParseOrDie(Added("s0: [2, 9] s1: [2, 9] s5: [2, 9]", "s0", "s1", assertion), PassTestOps());
    ASSERT_OK_AND_ASSIGN(const bool changed, AssertAssumedEqualities().run(program));
    EXPECT_TRUE(changed);
    EXPECT_THAT(PrintProgram(program),
                testing::HasSubstr("the sizes s0 and s1 that 'z' broadcasts"));
  }
}

// Each is asserted once per graph.
TEST(AssertAssumedEqualitiesTest, AssertsSeveralEqualities) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  ranges { s0: [2, 9] s1: [2, 9] s2: [2, 9] }
  graph(%p: b8[] user_input, %x: f32[s0] user_input, %y: f32[s1] user_input, %z: f32[s2] user_input) {
    %a: f32[s0] = aten.add.Tensor(%x, %y)
    %b: f32[s0] = aten.add.Tensor(%x, %z)
    %c: f32[s0] = aten.add.Tensor(%x, %y)
    %d: f32[s0] = higher_order.cond(%p, graph#1, graph#2, [%x, %y])
    return (%a user_output, %b user_output, %c user_output, %d user_output)
  }
  graph yes(%x1: f32[s0], %y1: f32[s1]) {
    %a1: f32[s0] = aten.mul.Tensor(%x1, %y1)
    return (%a1)
  }
  graph no(%x2: f32[s0], %y2: f32[s1]) { return (%x2) }
})",
                                       PassTestOps());
  ASSERT_OK(AssertAssumedEqualities().run(program).status());
  EXPECT_OK(Verify(program));
  int assertions = 0;
  for (const Graph& graph : program.graphs) {
    for (const NodeId id : graph.nodes()) {
      assertions += graph.node(id).target->name() == "aten._assert_scalar.default";
    }
  }
  EXPECT_EQ(assertions, 3);
}

}  // namespace
}  // namespace belay::exir
