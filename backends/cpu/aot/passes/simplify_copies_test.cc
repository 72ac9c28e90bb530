#include "backends/cpu/aot/passes/simplify_copies.h"

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

void ExpectSimplified(std::string_view before, std::string_view after) {
  FusedHandles handles;
  exir::ExpectRewrite(before, SimplifyCopies(handles).run, after, CpuPassTestOps());
}

TEST(SimplifyCopies, RemovesIdentityCopies) {
  ExpectSimplified(R"(program edge {
    ranges { s0: [1,9] }
    graph(%n: symint(s0) user_input, %x: f32[s0,3] user_input) {
      %a: f32[s0,3] = edge.aten.expand_copy.default(%x, [%n,3])
      %b: f32[s0,3] = edge.aten.view_copy.default(%a, [%n,3])
      %c: f32[s0,3] = edge.dim_order_ops._clone_dim_order.default(%b, dim_order=[0,1])
      %d: f32[s0,3] = edge.aten.permute_copy.default(%c, [0,-1])
      %e: f32[s0,3] = edge.aten.abs.default(%d)
      return (%e user_output) } })",
                   R"(program edge {
    ranges { s0: [1,9] }
    graph(%n: symint(s0) user_input, %x: f32[s0,3] user_input) {
      %e: f32[s0,3] = edge.aten.abs.default(%x)
      return (%e user_output) } })");
}

TEST(SimplifyCopies, MergesConsecutivePermutationsAndReshapes) {
  ExpectSimplified(R"(program edge {
    graph(%x: f32[2,3,4] user_input) {
      %a: f32[4,2,3] = edge.aten.permute_copy.default(%x, [2,0,1])
      %b: f32[3,4,2] = edge.aten.permute_copy.default(%a, [2,0,1])
      %c: f32[12,2] = edge.aten.view_copy.default(%b, [12,2])
      %d: f32[24] = edge.aten.view_copy.default(%c, [24])
      return (%d user_output) } })",
                   R"(program edge {
    graph(%x: f32[2,3,4] user_input) {
      %b: f32[3,4,2] = edge.aten.permute_copy.default(%x, [1,2,0])
      %d: f32[24] = edge.aten.view_copy.default(%b, [24])
      return (%d user_output) } })");
}

TEST(SimplifyCopies, RemovesInversePermutations) {
  ExpectSimplified(R"(program edge {
    graph(%x: f32[2,3,4] user_input) {
      %a: f32[4,2,3] = edge.aten.permute_copy.default(%x, [2,0,1])
      %b: f32[2,3,4] = edge.aten.permute_copy.default(%a, [1,2,0])
      %c: f32[2,3,4] = edge.aten.abs.default(%b)
      return (%c user_output) } })",
                   R"(program edge {
    graph(%x: f32[2,3,4] user_input) {
      %c: f32[2,3,4] = edge.aten.abs.default(%x)
      return (%c user_output) } })");
}

TEST(SimplifyCopies, PermutesImagesInsteadOfRows) {
  ExpectSimplified(R"(program edge {
    ranges { s0: [1,9] }
    graph(%n: symint(s0) user_input, %x: f32[s0,12,5] user_input, %y: f32[s0,5,3,4] user_input) {
      %a: f32[s0,5,12] = edge.aten.permute_copy.default(%x, [0,2,1])
      %b: f32[s0,5,3,4] = edge.aten.view_copy.default(%a, [%n,5,3,4])
      %c: f32[s0,5,12] = edge.aten.view_copy.default(%y, [%n,5,12])
      %d: f32[s0,12,5] = edge.aten.permute_copy.default(%c, [0,2,1])
      return (%b user_output, %d user_output) } })",
                   R"(program edge {
    ranges { s0: [1,9] }
    graph(%n: symint(s0) user_input, %x: f32[s0,12,5] user_input, %y: f32[s0,5,3,4] user_input) {
      %a_1: f32[s0,3,4,5] = edge.aten.view_copy.default(%x, [%n,3,4,5])
      %b: f32[s0,5,3,4] = edge.aten.permute_copy.default(%a_1, [0,3,1,2])
      %d_1: f32[s0,3,4,5] = edge.aten.permute_copy.default(%y, [0,2,3,1])
      %d: f32[s0,12,5] = edge.aten.view_copy.default(%d_1, [%n,12,5])
      return (%b user_output, %d user_output) } })");
}

TEST(SimplifyCopies, KeepsReshapesThatMixDimensions) {
  FusedHandles handles;
  exir::ExpectUnchanged(R"(program edge {
    graph(%x: f32[2,12,5] user_input) {
      %a: f32[2,5,12] = edge.aten.permute_copy.default(%x, [0,2,1])
      %b: f32[2,3,20] = edge.aten.view_copy.default(%a, [2,3,20])
      %c: f32[3,2,20] = edge.aten.permute_copy.default(%b, [1,0,2])
      return (%c user_output) } })",
                        SimplifyCopies(handles).run, CpuPassTestOps());
}

TEST(RemoveCopies, RemovesReshapesBackToTheSource) {
  FusedHandles handles;
  exir::ExpectRewrite(R"(program edge {
    graph(%x: f32[6,4] user_input) {
      %a: f32[1,6,4] = edge.aten.view_copy.default(%x, [1,6,4])
      %b: f32[6,4] = edge.aten.view_copy.default(%a, [6,4])
      %c: f32[6,4] = edge.aten.abs.default(%b)
      return (%c user_output) } })",
                      RemoveCopies(handles).run, R"(program edge {
    graph(%x: f32[6,4] user_input) {
      %c: f32[6,4] = edge.aten.abs.default(%x)
      return (%c user_output) } })",
                      CpuPassTestOps());
}

TEST(RemoveCopies, ReturnsTheSourceOfReshapes) {
  FusedHandles handles;
  exir::ExpectRewrite(R"(program edge {
    graph(%x: f32[6,4] user_input) {
      %a: f32[6,4] = edge.aten.abs.default(%x)
      %b: f32[1,6,4] = edge.aten.view_copy.default(%a, [1,6,4])
      %c: f32[6,4] = edge.aten.view_copy.default(%b, [6,4])
      %d: f32[6,4] = edge.aten.view_copy.default(%b, [6,4])
      return (%c user_output, %d user_output) } })",
                      RemoveCopies(handles).run, R"(program edge {
    graph(%x: f32[6,4] user_input) {
      %a: f32[6,4] = edge.aten.abs.default(%x)
      %b: f32[1,6,4] = edge.aten.view_copy.default(%a, [1,6,4])
      %d: f32[6,4] = edge.aten.view_copy.default(%b, [6,4])
      return (%a user_output, %d user_output) } })",
                      CpuPassTestOps());
  exir::ExpectUnchanged(R"(program edge {
    graph(%x: f32[6,4] user_input) {
      %b: f32[1,6,4] = edge.aten.view_copy.default(%x, [1,6,4])
      %c: f32[6,4] = edge.aten.view_copy.default(%b, [6,4])
      return (%c user_output) } })",
                        RemoveCopies(handles).run, CpuPassTestOps());
}

TEST(RemoveCopies, DoesNotMergePermutationsAndReshapes) {
  FusedHandles handles;
  exir::ExpectUnchanged(R"(program edge {
    graph(%x: f32[2,3,4] user_input) {
      %a: f32[4,2,3] = edge.aten.permute_copy.default(%x, [2,0,1])
      %b: f32[3,4,2] = edge.aten.permute_copy.default(%a, [2,0,1])
      %c: f32[12,2] = edge.aten.view_copy.default(%b, [12,2])
      %d: f32[24] = edge.aten.view_copy.default(%c, [24])
      return (%d user_output) } })",
                        RemoveCopies(handles).run, CpuPassTestOps());
}

TEST(SimplifyCopies, KeepsReturnedCopiesConversionsAndExpansions) {
  FusedHandles handles;
  exir::ExpectUnchanged(R"(program edge {
    graph(%x: f32[2,1] user_input, %i: i64[2] user_input, %q: f32[2,2] user_input) {
      %a: f32[2,1] = edge.dim_order_ops._clone_dim_order.default(%x, dim_order=[0,1])
      %b: f32[2,3] = edge.aten.expand_copy.default(%x, [2,3])
      %c: f32[2] = edge.dim_order_ops._to_dim_order_copy.default(%i, dtype=dtype:f32, dim_order=[0])
      %t: f32[2,2] = edge.aten.permute_copy.default(%q, [1,0])
      %d: f32[2,2] = edge.aten.abs.default(%t)
      return (%a user_output, %b user_output, %c user_output, %d user_output) } })",
                        SimplifyCopies(handles).run, CpuPassTestOps());
}

TEST(SimplifyCopies, KeepsDataMovementAndConversions) {
  for (std::string_view node : {
           "%y: f32[3,3] = edge.aten.permute_copy.default(%x, [1,0])",
           "%y: f32[3,3] = edge.aten.permute_copy.default(%x, [0,%n])",
           "%y: f32[3,3] = edge.aten.permute_copy.default(%x, [0,2])",
           "%y: f64[3,3] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f64)",
           "%y: f32[9] = edge.aten.view_copy.default(%x, [9])",
           "%y: f32[2,3,3] = edge.aten.expand_copy.default(%x, [2,3,3])",
           "%y: symint(s0) = edge.aten.alias_copy.default(%x)",
           "%y: f32[3,3] = edge.aten.alias_copy.default(%n)",
           "%y: f32[3,3] = edge.aten.alias_copy.default(3)",
           "%y: f32[3,3] = edge.aten.permute_copy.default(3, [0,1])",
           "%y: f32[3,3] = edge.aten.permute_copy.default(%x, 1)",
           "%z: f32[3,3] = edge.aten.abs.default(%x) "
           "%y: f32[3,3] = edge.aten.permute_copy.default(%z, [1,0])",
           // A reshape after a permutation, permutations of other dimensions.
           "%z: f32[3,3] = edge.aten.permute_copy.default(%x, [1,0]) "
           "%y: f32[9] = edge.aten.view_copy.default(%z, [9])",
           "%z: f32[3,3] = edge.aten.permute_copy.default(%x, [1,%n]) "
           "%y: f32[3,3] = edge.aten.permute_copy.default(%z, [1,0])",
           "%z: f32[3,3] = edge.aten.permute_copy.default(%x, [1,0]) "
           "%y: f32[3,3] = edge.aten.permute_copy.default(%z, [1,%n])",
           "%z: f32[3,3,1] = edge.aten.permute_copy.default(%x, [1,0,-1]) "
           "%y: f32[3,3] = edge.aten.permute_copy.default(%z, [1,0])",
           "%z: f32[9] = edge.aten.view_copy.default(3, [9]) "
           "%y: f32[3,3] = edge.aten.view_copy.default(%z, [3,3])",
       }) {
    FusedHandles handles;
    ExpectLeftAsItIs(absl::StrCat(R"(program edge {
    ranges { s0: [1,9] }
    graph(%x: f32[3,3] user_input, %n: symint(s0) user_input) {
      )",
                                  node, R"(
      return (%y user_output) } })"),
                     SimplifyCopies(handles).run);
  }
}

// Each node has the handles of removed copies after it, and of those that it replaced.
TEST(SimplifyCopies, KeepsHandlesOfErasedNodes) {
  const auto handles_of = [](std::string_view outputs) {
    FusedHandles handles;
    exir::ExportedProgram program = exir::ParseOrDie(absl::StrCat(R"(program edge {
    graph(%x: f32[2,3,4] user_input) {
      %a: f32[2,3,4] = edge.aten.abs.default(%x) handle=1
      %b: f32[2,3,4] = edge.aten.alias_copy.default(%a) handle=2
      %c: f32[6,4] = edge.aten.view_copy.default(%b, [6,4]) handle=3
      %d: f32[24] = edge.aten.view_copy.default(%c, [24]) handle=4
      return ()",
                                                                  outputs, ") } }"),
                                                     CpuPassTestOps());
    EXPECT_TRUE(SimplifyCopies(handles).run(program).ok());
    return handles.MapOf(program).value();
  };
  EXPECT_THAT(handles_of("%d user_output"),
              UnorderedElementsAre(Pair(1, ElementsAre(1, 2)), Pair(4, ElementsAre(3, 4))));
}

// The inner one stays for its other users.
TEST(SimplifyCopies, KeepsSharedCopies) {
  ExpectSimplified(R"(program edge {
    graph(%x: f32[2,3,4] user_input) {
      %a: f32[6,4] = edge.aten.view_copy.default(%x, [6,4])
      %b: f32[24] = edge.aten.view_copy.default(%a, [24])
      return (%a user_output, %b user_output) } })",
                   R"(program edge {
    graph(%x: f32[2,3,4] user_input) {
      %a: f32[6,4] = edge.aten.view_copy.default(%x, [6,4])
      %b: f32[24] = edge.aten.view_copy.default(%x, [24])
      return (%a user_output, %b user_output) } })");
}

}  // namespace
}  // namespace belay::cpu
