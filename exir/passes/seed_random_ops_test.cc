#include "exir/passes/seed_random_ops.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

TEST(SeedRandomOpsTest, PassesStateAndOffset) {
  ExpectRewrite(R"(program aten {
  constants {
    state "w": f32[2]
  }
  graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
    %r: f32[2] = aten.rand_like.default(%x)
    %d: f32[2], %m: b8[2] = aten.native_dropout.default(%r, 0.5, true)
    %y: f32[2] = aten.mul.Tensor(%d, %w)
    return (%y user_output)
  }
})",
                SeedRandomOps(7).run, R"(program aten {
  constants {
    state "belay.random_state": i64[2]
    state "w": f32[2]
  }
  graph(%w: f32[2] parameter "w", %random_state: i64[2] buffer "belay.random_state", %x: f32[2] user_input) {
    %r: f32[2] = seeded.rand_like.default(%random_state, 0, %x)
    %d: f32[2], %m: b8[2] = seeded.native_dropout.default(%random_state, 1, %r, 0.5, true)
    %y: f32[2] = aten.mul.Tensor(%d, %w)
    %advanced_random_state: i64[2] = seeded.advance.default(%random_state, 2)
    return (%advanced_random_state buffer_mutation "belay.random_state", %y user_output)
  }
})",
                PassTestOps());
}

TEST(SeedRandomOpsTest, StateStartsWithTheSeed) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  graph() {
    %y: f32[2] = aten.rand.default([2])
    return (%y user_output)
  }
})",
                                       PassTestOps());
  ASSERT_OK_AND_ASSIGN(const bool changed, SeedRandomOps(-7).run(program));
  EXPECT_TRUE(changed);
  EXPECT_EQ(ToVector<int64_t>(program.state_dict.at("belay.random_state").view()),
            (std::vector<int64_t>{-7, 0}));
}

TEST(SeedRandomOpsTest, BranchesGetTheState) {
  ExpectRewrite(R"(program aten {
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
    return (%c user_output)
  }
  graph yes(%a: f32[2]) {
    %r: f32[2] = aten.randn_like.default(%a)
    return (%r)
  }
  graph no(%a: f32[2]) {
    %y: f32[2] = aten.neg.default(%a)
    return (%y)
  }
})",
                SeedRandomOps(0).run, R"(program aten {
  constants {
    state "belay.random_state": i64[2]
  }
  graph(%random_state: i64[2] buffer "belay.random_state", %p: b8[] user_input, %x: f32[2] user_input) {
    %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x,%random_state])
    %advanced_random_state: i64[2] = seeded.advance.default(%random_state, 1)
    return (%advanced_random_state buffer_mutation "belay.random_state", %c user_output)
  }
  graph yes(%a: f32[2], %random_state: i64[2]) {
    %r: f32[2] = seeded.randn_like.default(%random_state, 0, %a)
    return (%r)
  }
  graph no(%a: f32[2], %random_state: i64[2]) {
    %y: f32[2] = aten.neg.default(%a)
    return (%y)
  }
})",
                PassTestOps());
}

TEST(SeedRandomOpsTest, DropoutOutsideTrainingNeedsNoState) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2] user_input) {
    %d: f32[2], %m: b8[2] = aten.native_dropout.default(%x, 0.5, false)
    return (%d user_output)
  }
})",
                  SeedRandomOps(0).run, PassTestOps());
}

TEST(SeedRandomOpsTest, KeepsSeededOperators) {
  ExpectUnchanged(R"(program aten {
  graph(%state: i64[2] user_input, %x: f32[2] user_input) {
    %r: f32[2] = seeded.rand_like.default(%state, 0, %x)
    return (%r user_output)
  }
})",
                  SeedRandomOps(0).run, PassTestOps());
}

TEST(SeedRandomOpsTest, RejectsRandomOperatorsInLoops) {
  ExpectPassError(
      R"(program aten {
  graph(%x: f32[3,2] user_input) {
    %y: f32[3,2] = higher_order.map_impl(graph#1, [%x], [])
    return (%y user_output)
  }
  graph body(%a: f32[2]) {
    %r: f32[2] = aten.rand_like.default(%a)
    return (%r)
  }
})",
      SeedRandomOps(0).run, absl::StatusCode::kUnimplemented,
      "random numbers in the subgraph of higher_order.map_impl are not supported: draw them "
      "before the loop, for all iterations",
      PassTestOps());
}

TEST(SeedRandomOpsTest, RejectsBufferWithTheStatesName) {
  ExpectPassError(R"(program aten {
  constants {
    state "belay.random_state": i64[2]
  }
  graph(%s: i64[2] buffer "belay.random_state", %x: f32[2] user_input) {
    %r: f32[2] = aten.rand_like.default(%x)
    return (%r user_output)
  }
})",
                  SeedRandomOps(0).run, absl::StatusCode::kInvalidArgument,
                  "the program has a tensor 'belay.random_state'", PassTestOps());
}

// The name is reserved for constants as well as for buffers.
TEST(SeedRandomOpsTest, RejectsConstantWithTheStatesName) {
  ExpectPassError(
      absl::StrCat("program aten { constants { constant \"", std::string(kRandomState),
                   "\": f32[2] } graph(%c: f32[2] tensor_constant \"", std::string(kRandomState),
                   "\", %x: f32[2] user_input) {\n%y: f32[2] = "
                   "aten.rand_like.default(%x)\nreturn (%y user_output) } }"),
      SeedRandomOps(1).run, absl::StatusCode::kInvalidArgument,
      "the name of its random numbers' generator", PassTestOps());
}

// The new state follows other buffer mutations and precedes user outputs.
TEST(SeedRandomOpsTest, NewStateFollowsOtherBufferMutations) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  constants { state "b": f32[2] }
  graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
    %n: f32[2] = aten.neg.default(%b)
    %y: f32[2] = aten.rand_like.default(%x)
    return (%n buffer_mutation "b", %y user_output)
  }
})",
                                       PassTestOps());
  ASSERT_OK(SeedRandomOps(1).run(program).status());
  ASSERT_OK(Verify(program));
  ASSERT_EQ(program.signature.outputs.size(), 3u);
  EXPECT_EQ(program.signature.outputs[0].target, "b");
  EXPECT_EQ(program.signature.outputs[1].target, kRandomState);
  EXPECT_EQ(program.signature.outputs[2].kind, OutputKind::kUserOutput);
  // A program with mutations only.
  program = ParseOrDie(R"(program aten {
  constants { state "b": f32[2] }
  graph(%b: f32[2] buffer "b") {
    %y: f32[2] = aten.rand_like.default(%b)
    return (%y buffer_mutation "b")
  }
})",
                       PassTestOps());
  ASSERT_OK(SeedRandomOps(1).run(program).status());
  ASSERT_OK(Verify(program));
  ASSERT_EQ(program.signature.outputs.size(), 2u);
  EXPECT_EQ(program.signature.outputs[1].target, kRandomState);
}

// Calls without an operand list, and operands that are not a list.
TEST(SeedRandomOpsTest, BranchesWithoutOperandsGetTheState) {
  const auto program = [](std::string_view call) {
    return absl::StrCat(
        "program aten {\n  graph(%p: b8[] user_input) {\n    %c: f32[2] = ", std::string(call), R"(
    return (%c user_output)
  }
  graph yes() {
    %r: f32[2] = aten.rand.default([2])
    return (%r)
  }
  graph no() {
    %z: f32[2] = aten.full.default([2], 0.0)
    return (%z)
  }
})");
  };
  for (const char* call :
       {"higher_order.cond(%p, graph#1, graph#2)", "higher_order.cond(%p, graph#1, graph#2, [])",
        "higher_order.cond(pred=%p, true_fn=graph#1, false_fn=graph#2)"}) {
    SCOPED_TRACE(call);
    ExportedProgram seeded = ParseOrDie(program(call), PassTestOps());
    ASSERT_OK(Verify(seeded));
    ASSERT_OK(SeedRandomOps(1).run(seeded).status());
    EXPECT_OK(Verify(seeded));
    const Node& cond = seeded.top().node(seeded.top().first());
    ASSERT_EQ(cond.arguments.size(), 4u);
    EXPECT_EQ(cond.arguments[3],
              Argument(Argument::List{Argument(FindValue(seeded.top(), "random_state"))}));
    for (const uint32_t body : {1, 2}) {
      EXPECT_EQ(seeded.graphs[GraphId(body)].inputs().size(), 1u);
    }
  }
  ExpectPassError(program("higher_order.cond(%p, graph#1, graph#2, 3)"), SeedRandomOps(1).run,
                  absl::StatusCode::kInvalidArgument, "expected a list of operands", PassTestOps());
}

// Opaque random operators are not changed; a loop in a branch is rejected like any other.
TEST(SeedRandomOpsTest, KeepsUnknownOperatorsAndRejectsLoopsInBranches) {
  ASSERT_OK_AND_ASSIGN(const auto ops, CreateStandardOps());
  ASSERT_OK(ops->Define({.schema = "demo::noise(Tensor x) -> Tensor", .traits = kNondeterministic})
                .status());
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = demo.noise.default(%x)
    return (%y user_output)
  }
})",
                  SeedRandomOps(1).run, *ops);
  ExpectPassError(R"(program aten {
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
    return (%c user_output)
  }
  graph yes(%a: f32[2]) {
    %w: f32[2] = higher_order.while_loop(graph#3, graph#4, [%a], [])
    return (%w)
  }
  graph no(%a: f32[2]) { return (%a) }
  graph goes_on(%a: f32[2]) {
    %t: b8[] = aten.any.default(%a)
    return (%t)
  }
  graph step(%a: f32[2]) {
    %r: f32[2] = aten.rand_like.default(%a)
    return (%r)
  }
})",
                  SeedRandomOps(1).run, absl::StatusCode::kUnimplemented,
                  "random numbers in the subgraph of higher_order.while_loop are not supported",
                  *ops);
}

}  // namespace
}  // namespace belay::exir
