#include "exir/flop_count.h"

#include <string>
#include <string_view>
#include <vector>

#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

// Expected values are those of torch.utils.flop_counter.FlopCounterMode for the same call.
struct FlopCase {
  const char* name;
  const char* graph;
  double flops;
};

class FlopCountTest : public ::testing::TestWithParam<FlopCase> {};

TEST_P(FlopCountTest, MatchesPyTorch) {
  ASSERT_OK_AND_ASSIGN(const auto ops, CreateStandardOps());
  const std::string text =
      std::string("program aten {\n  ranges { s0: [2, 8] }\n  graph(") + GetParam().graph + "\n}";
  EXPECT_EQ(FlopsOf(ParseOrDie(text, *ops)), GetParam().flops);
}

INSTANTIATE_TEST_SUITE_P(
    Operators, FlopCountTest,
    ::testing::Values(
        FlopCase{"Product", R"(%a: f32[3,5] user_input, %b: f32[5,7] user_input) {
    %c: f32[3,7] = aten.mm.default(%a, %b)
    return (%c user_output)
  })",
                 210},
        FlopCase{"ProductAtItsLargest", R"(%a: f32[s0,5] user_input, %b: f32[5,7] user_input) {
    %c: f32[s0,7] = aten.mm.default(%a, %b)
    %d: f32[s0,7] = aten.relu.default(%c)
    return (%d user_output)
  })",
                 560},
        FlopCase{"ProductWithSum",
                 R"(%s: f32[7] user_input, %a: f32[3,5] user_input, %b: f32[5,7] user_input) {
    %c: f32[3,7] = aten.addmm.default(%s, %a, %b)
    return (%c user_output)
  })",
                 210},
        FlopCase{"GroupedConvolution",
                 R"(%x: f32[2,4,8,8] user_input, %w: f32[6,2,3,3] user_input) {
    %y: f32[2,6,6,6] = aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 2)
    return (%y user_output)
  })",
                 15552},
        FlopCase{"TransposedConvolution",
                 R"(%x: f32[2,4,8,8] user_input, %w: f32[4,6,3,3] user_input) {
    %y: f32[2,6,10,10] = aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], true, [0, 0], 1)
    return (%y user_output)
  })",
                 55296},
        FlopCase{
            "Attention",
            R"(%q: f32[2,4,8,16] user_input, %k: f32[2,4,10,16] user_input, %v: f32[2,4,10,12] user_input) {
    %y: f32[2,4,8,12] = aten.scaled_dot_product_attention.default(%q, %k, %v)
    return (%y user_output)
  })",
            35840}),
    [](const auto& info) { return std::string(info.param.name); });

// A product of 16 operations in a loop over at most 8 rows, and one in each branch of it.
TEST(RunsOfGraphsTest, CountsRowsOfLoops) {
  ASSERT_OK_AND_ASSIGN(const auto ops, CreateStandardOps());
  const ExportedProgram program = ParseOrDie(R"(program aten {
    ranges { s0: [2, 8] }
    graph(%x: f32[s0,2,2] user_input, %h: f32[2,2] user_input) {
      %c: f32[2,2], %y: f32[s0,2,2] = higher_order.scan(graph#1, [%h], [%x], [])
      return (%c user_output, %y user_output)
    }
    graph step(%h: f32[2,2], %x: f32[2,2]) {
      %m: f32[2,2] = aten.mm.default(%h, %x)
      %p: b8[] = aten.any.default(%m)
      %r: f32[2,2] = higher_order.cond(%p, graph#2, graph#3, [%m])
      return (%r, %m)
    }
    graph yes(%m: f32[2,2]) {
      %n: f32[2,2] = aten.mm.default(%m, %m)
      return (%n)
    }
    graph no(%m: f32[2,2]) { return (%m) } })",
                                             *ops);
  EXPECT_EQ(RunsOfGraphs(program), (std::vector<double>{1, 8, 8, 8}));
  EXPECT_EQ(FlopsOf(program), 8 * 16 + 8 * 16);
}

}  // namespace
}  // namespace belay::exir
