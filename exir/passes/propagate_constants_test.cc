#include "exir/passes/propagate_constants.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

Pass Propagate(uint64_t growth = 1 << 20) {
  return PropagateConstants({.max_growth_bytes = growth, .max_tensor_bytes = 1 << 20});
}

ConstantTensor Floats(Sizes sizes, const std::vector<float>& values) {
  return *FloatConstant(std::move(sizes), values);
}

std::vector<float> Elements(const ConstantTensor& tensor) {
  const TensorView view = tensor.view();
  return {view.as<float>(), view.as<float>() + view.numel()};
}

constexpr char kChain[] = R"(program aten {
  constants { state "w": f32[2,3] state "b": f32[3] }
  graph(%w: f32[2,3] parameter "w", %b: f32[3] buffer "b", %x: f32[3,2] user_input) {
    %s: f32[2,3] = aten.add.Tensor(%w, %b)
    %t: f32[3,2] = aten.permute_copy.default(%s, [1,0])
    %y: f32[3,2] = aten.mul.Tensor(%x, %t)
    return (%y user_output)
  }
})";

TEST(PropagateConstantsTest, FoldsChainsIntoOneConstant) {
  ExpectRewrite(kChain, Propagate().run, R"(program aten {
  constants { constant "_prop_tensor_constant0": f32[3,2] }
  graph(%_prop_tensor_constant0: f32[3,2] tensor_constant "_prop_tensor_constant0",
        %x: f32[3,2] user_input) {
    %y: f32[3,2] = aten.mul.Tensor(%x, %_prop_tensor_constant0)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PropagateConstantsTest, MayFoldOnlyOperandsOfControlFlow) {
  ExpectRewrite(R"(program aten {
  constants { state "w": f32[2,3] state "b": f32[3] }
  graph(%w: f32[2,3] parameter "w", %b: f32[3] buffer "b", %x: f32[4,3,2] user_input) {
    %t: f32[3,2] = aten.permute_copy.default(%w, [1,0])
    %n: f32[3] = aten.neg.default(%b)
    %y: f32[4,3,2] = higher_order.map_impl(graph#1, [%x], [%t])
    return (%n user_output, %y user_output)
  }
  graph row(%x: f32[3,2], %t: f32[3,2]) {
    %y: f32[3,2] = aten.mul.Tensor(%x, %t)
    return (%y)
  }
})",
                PropagateConstants({.only_subgraph_operands = true}).run, R"(program aten {
  constants { state "b": f32[3] constant "_prop_tensor_constant0": f32[3,2] }
  graph(%b: f32[3] buffer "b",
        %_prop_tensor_constant0: f32[3,2] tensor_constant "_prop_tensor_constant0",
        %x: f32[4,3,2] user_input) {
    %n: f32[3] = aten.neg.default(%b)
    %y: f32[4,3,2] = higher_order.map_impl(graph#1, [%x], [%_prop_tensor_constant0])
    return (%n user_output, %y user_output)
  }
  graph row(%x: f32[3,2], %t: f32[3,2]) {
    %y: f32[3,2] = aten.mul.Tensor(%x, %t)
    return (%y)
  }
})",
                PassTestOps());
}

TEST(PropagateConstantsTest, MatchesTheKernels) {
  ExportedProgram program = ParseOrDie(kChain, PassTestOps());
  program.state_dict.insert_or_assign("w", Floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  program.state_dict.insert_or_assign("b", Floats({3}, {10, 20, 30}));
  ASSERT_OK_AND_ASSIGN(const bool changed, Propagate().run(program));
  EXPECT_TRUE(changed);
  EXPECT_THAT(Elements(program.constants.at("_prop_tensor_constant0")),
              ElementsAre(11, 14, 22, 25, 33, 36));
  EXPECT_TRUE(program.state_dict.empty());
}

// A result in channels-last order is stored so, and its elements are unchanged.
TEST(PropagateConstantsTest, KeepsChannelsLastOrder) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  constants { state "w": f32[1,2,1,3]{strides=[6,1,6,2]} }
  graph(%w: f32[1,2,1,3]{strides=[6,1,6,2]} parameter "w",
        %x: f32[1,2,1,3]{strides=[6,1,6,2]} user_input) {
    %n: f32[1,2,1,3]{strides=[6,1,6,2]} = aten.neg.default(%w)
    %y: f32[1,2,1,3]{strides=[6,1,6,2]} = aten.mul.Tensor(%x, %n)
    return (%y user_output)
  }
})",
                                       PassTestOps());
  ConstantTensor& w = program.state_dict.at("w");
  w = *ConstantTensor::Create(DType::kFloat32, w.sizes(), w.strides(), 0,
                              Floats({6}, {1, 2, 3, 4, 5, 6}).storage());
  ASSERT_OK_AND_ASSIGN(const bool changed, Propagate().run(program));
  EXPECT_TRUE(changed);
  ASSERT_OK(Verify(program));
  ASSERT_EQ(program.constants.size(), 1u);
  const ConstantTensor& n = program.constants.begin()->second;
  EXPECT_EQ(n.strides(), Strides({6, 1, 6, 2}));
  EXPECT_THAT(Elements(n), ElementsAre(-1, -2, -3, -4, -5, -6));  // in storage order
}

TEST(PropagateConstantsTest, FoldsManyIndependentNodes) {
  constexpr int kMany = 100;
  std::string constants, inputs, nodes, results;
  for (int i = 0; i < kMany; ++i) {
    absl::StrAppend(&constants, " constant \"c", i, "\": f32[1]");
    absl::StrAppend(&inputs, "%c", i, ": f32[1] tensor_constant \"c", i, "\", ");
    absl::StrAppend(&nodes, "%n", i, ": f32[1] = aten.neg.default(%c", i, ")\n%y", i,
                    ": f32[1] = aten.mul.Tensor(%x, %n", i, ")\n");
    absl::StrAppend(&results, i == 0 ? "" : ", ", "%y", i, " user_output");
  }
  ExportedProgram program =
      ParseOrDie(absl::StrCat("program aten { constants {", constants, " } graph(", inputs,
                              "%x: f32[1] user_input) {", nodes, "return (", results, ") } }"),
                 PassTestOps());
  for (int i = 0; i < kMany; ++i) {
    program.constants.insert_or_assign(absl::StrCat("c", i), Floats({1}, {static_cast<float>(i)}));
  }
  ASSERT_OK(Propagate().run(program).status());
  ASSERT_EQ(program.constants.size(), kMany);
  for (int i = 0; i < kMany; ++i) {  // from the last to the first
    EXPECT_THAT(Elements(program.constants.at(absl::StrCat("_prop_tensor_constant", i))),
                ElementsAre(static_cast<float>(i + 1 - kMany)));
  }
}

TEST(PropagateConstantsTest, FoldsEveryUsedResultOfANode) {
  ExpectRewrite(R"(program aten {
  constants { state "w": f32[4,3] }
  graph(%w: f32[4,3] parameter "w", %x: f32[4] user_input) {
    %v: f32[4], %i: i64[4] = aten.max.dim(%w, 1)
    %y: f32[4] = aten.mul.Tensor(%x, %v)
    return (%y user_output, %w user_output)
  }
})",
                Propagate().run, R"(program aten {
  constants { state "w": f32[4,3] constant "_prop_tensor_constant0": f32[4] }
  graph(%w: f32[4,3] parameter "w",
        %_prop_tensor_constant0: f32[4] tensor_constant "_prop_tensor_constant0",
        %x: f32[4] user_input) {
    %y: f32[4] = aten.mul.Tensor(%x, %_prop_tensor_constant0)
    return (%y user_output, %w user_output)
  }
})",
                PassTestOps());
}

TEST(PropagateConstantsTest, FoldsElementsOfAList) {
  ExpectRewrite(R"(program aten {
  constants { state "w": f32[4] }
  graph(%w: f32[4] parameter "w", %x: f32[3] user_input) {
    [%a: f32[1], %b: f32[3]] = aten.split_with_sizes_copy.default(%w, [1,3])
    %y: f32[3] = aten.mul.Tensor(%x, %b)
    return (%y user_output)
  }
})",
                Propagate().run, R"(program aten {
  constants { constant "_prop_tensor_constant0": f32[3] }
  graph(%_prop_tensor_constant0: f32[3] tensor_constant "_prop_tensor_constant0",
        %x: f32[3] user_input) {
    %y: f32[3] = aten.mul.Tensor(%x, %_prop_tensor_constant0)
    return (%y user_output)
  }
})",
                PassTestOps());
}

// Nodes that must be kept, and the reasons.
constexpr std::pair<const char*, const char*> kKept[] = {
    {"a mutated buffer", R"(program aten {
  constants { state "b": f32[3] }
  graph(%b: f32[3] buffer "b", %x: f32[3] user_input) {
    %s: f32[3] = aten.neg.default(%b)
    %y: f32[3] = aten.mul.Tensor(%x, %s)
    return (%y buffer_mutation "b", %s user_output)
  }
})"},
    {"a parameter with a gradient", R"(program aten {
  constants { state "w": f32[3] }
  graph(%w: f32[3] parameter "w", %x: f32[3] user_input) {
    %s: f32[3] = aten.neg.default(%w)
    %y: f32[3] = aten.mul.Tensor(%x, %s)
    return (%y gradient_to_parameter "w")
  }
})"},
    {"a dequantization", R"(program aten {
  constants { state "w": i8[3] }
  graph(%w: i8[3] parameter "w", %x: f32[3] user_input) {
    %s: f32[3] = quantized_decomposed.dequantize_per_tensor.default(%w, 0.5, 0, -128, 127, dtype:i8)
    %y: f32[3] = aten.mul.Tensor(%x, %s)
    return (%y user_output)
  }
})"},
    {"random numbers", R"(program aten {
  constants { state "w": f32[3] }
  graph(%w: f32[3] parameter "w", %x: f32[3] user_input) {
    %s: f32[3] = aten.rand_like.default(%w)
    %y: f32[3] = aten.mul.Tensor(%x, %s)
    return (%y user_output)
  }
})"},
    {"a size that data decide", R"(program aten {
  ranges { u0: [0, 3] }
  constants { state "w": f32[3] }
  graph(%w: f32[3] parameter "w", %x: f32[1] user_input) {
    %i: i64[u0,1] = aten.nonzero.default(%w)
    %y: f32[u0,1] = aten.mul.Tensor(%x, %i)
    return (%y user_output)
  }
})"},
    {"a fill", R"(program aten {
  constants { state "w": f32[3] }
  graph(%w: f32[3] parameter "w", %x: f32[3] user_input) {
    %s: f32[3] = aten.full_like.default(%w, 2.0)
    %y: f32[3] = aten.mul.Tensor(%x, %s)
    return (%y user_output)
  }
})"},
    {"a returned result", R"(program aten {
  constants { state "w": f32[3] }
  graph(%w: f32[3] parameter "w", %x: f32[3] user_input) {
    %s: f32[3] = aten.neg.default(%w)
    return (%s user_output)
  }
})"},
    {"a call that fails", R"(program aten {
  constants { state "w": f32[0,3] state "i": i64[1] }
  graph(%w: f32[0,3] parameter "w", %i: i64[1] buffer "i", %x: f32[3] user_input) {
    %e: f32[1,3] = aten.embedding.default(%w, %i)
    %y: f32[1,3] = aten.mul.Tensor(%x, %e)
    return (%y user_output)
  }
})"},
    {"what comes of a call that fails", R"(program aten {
  constants { state "w": f32[0,3] state "i": i64[1] }
  graph(%w: f32[0,3] parameter "w", %i: i64[1] buffer "i", %x: f32[3] user_input) {
    %e: f32[1,3] = aten.embedding.default(%w, %i)
    %a: f32[1,3] = aten.neg.default(%e)
    %b: f32[1,3] = aten.abs.default(%e)
    %c: f32[1,3] = aten.add.Tensor(%a, %b)
    %y: f32[1,3] = aten.mul.Tensor(%x, %c)
    return (%y user_output)
  }
})"},
};

// Each of many paths from a failing call is visited once.
TEST(PropagateConstantsTest, KeepsUsersOfAFailingCall) {
  std::string nodes;
  for (int i = 0; i < 60; ++i) {
    absl::StrAppend(&nodes, "%a", i, ": f32[1,3] = aten.neg.default(%n", i, ")\n%b", i,
                    ": f32[1,3] = aten.abs.default(%n", i, ")\n%n", i + 1,
                    ": f32[1,3] = aten.add.Tensor(%a", i, ", %b", i, ")\n");
  }
  ExpectUnchanged(absl::StrCat(R"(program aten {
  constants { state "w": f32[0,3] state "i": i64[1] }
  graph(%w: f32[0,3] parameter "w", %i: i64[1] buffer "i", %x: f32[3] user_input) {
    %n0: f32[1,3] = aten.embedding.default(%w, %i)
)",
                               nodes, R"(
    %y: f32[1,3] = aten.mul.Tensor(%x, %n60)
    return (%y user_output)
  }
})"),
                  Propagate().run, PassTestOps());
}

// A returned node is computed in each call, from a constant.
TEST(PropagateConstantsTest, KeepsReturnedNodesWithFoldedOperands) {
  ExpectRewrite(R"(program aten {
  constants { state "w": f32[3] }
  graph(%w: f32[3] parameter "w") {
    %a: f32[3] = aten.abs.default(%w)
    %s: f32[3] = aten.neg.default(%a)
    return (%s user_output)
  }
})",
                Propagate().run, R"(program aten {
  constants { constant "_prop_tensor_constant0": f32[3] }
  graph(%_prop_tensor_constant0: f32[3] tensor_constant "_prop_tensor_constant0") {
    %s: f32[3] = aten.neg.default(%_prop_tensor_constant0)
    return (%s user_output)
  }
})",
                PassTestOps());
}

// It remains in the file because it is returned.
TEST(PropagateConstantsTest, DoesNotFreeReturnedConstant) {
  constexpr char kReturned[] = R"(program aten {
  constants { state "w": f32[3] }
  graph(%w: f32[3] parameter "w", %x: f32[3] user_input) {
    %n: f32[3] = aten.neg.default(%w)
    %y: f32[3] = aten.mul.Tensor(%x, %n)
    return (%y user_output, %w user_output)
  }
})";
  ExpectUnchanged(kReturned, Propagate(11).run, PassTestOps());
  ExportedProgram program = ParseOrDie(kReturned, PassTestOps());
  ASSERT_OK_AND_ASSIGN(const bool changed, Propagate(12).run(program));
  EXPECT_TRUE(changed);
}

TEST(PropagateConstantsTest, KeepsNodesThatMayNotBeFolded) {
  for (const auto& [why, program] : kKept) {
    SCOPED_TRACE(why);
    ExpectUnchanged(program, Propagate().run, PassTestOps());
  }
}

// Only trained parameters are not constant.
TEST(PropagateConstantsTest, OtherParametersOfATrainedProgramAreConstant) {
  ExpectRewrite(R"(program aten {
  constants { state "v": f32[3] state "w": f32[3] }
  graph(%w: f32[3] parameter "w", %v: f32[3] parameter "v", %x: f32[3] user_input) {
    %s: f32[3] = aten.neg.default(%v)
    %y: f32[3] = aten.mul.Tensor(%w, %s)
    return (%y gradient_to_parameter "w")
  }
})",
                Propagate().run, R"(program aten {
  constants { state "w": f32[3] constant "_prop_tensor_constant0": f32[3] }
  graph(%w: f32[3] parameter "w",
        %_prop_tensor_constant0: f32[3] tensor_constant "_prop_tensor_constant0",
        %x: f32[3] user_input) {
    %y: f32[3] = aten.mul.Tensor(%w, %_prop_tensor_constant0)
    return (%y gradient_to_parameter "w")
  }
})",
                PassTestOps());
}

TEST(PropagateConstantsTest, KeepsTensorsThatShareStorageWithAMutatedBuffer) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  constants { state "a": f32[3] state "b": f32[3] }
  graph(%a: f32[3] buffer "a", %b: f32[3] buffer "b", %x: f32[3] user_input) {
    %s: f32[3] = aten.neg.default(%a)
    %y: f32[3] = aten.mul.Tensor(%x, %s)
    return (%y buffer_mutation "b")
  }
})",
                                       PassTestOps());
  program.state_dict.insert_or_assign("a", program.state_dict.at("b"));
  ASSERT_OK_AND_ASSIGN(const bool changed, Propagate().run(program));
  EXPECT_FALSE(changed);
}

constexpr char kGrows[] = R"(program aten {
  constants { state "w": f32[16] }
  graph(%w: f32[16] parameter "w", %x: f32[64,16] user_input) {
    %n: f32[16] = aten.neg.default(%w)
    %s: f32[64,16] = aten.repeat.default(%n, [64,1])
    %y: f32[64,16] = aten.mul.Tensor(%x, %s)
    return (%y user_output)
  }
})";

TEST(PropagateConstantsTest, BoundsGrowthAndFoldsSmallerResults) {
  ExpectRewrite(kGrows, Propagate(100).run, R"(program aten {
  constants { constant "_prop_tensor_constant0": f32[16] }
  graph(%_prop_tensor_constant0: f32[16] tensor_constant "_prop_tensor_constant0",
        %x: f32[64,16] user_input) {
    %s: f32[64,16] = aten.repeat.default(%_prop_tensor_constant0, [64,1])
    %y: f32[64,16] = aten.mul.Tensor(%x, %s)
    return (%y user_output)
  }
})",
                PassTestOps());
  // Freed constants count against the growth.
  for (const uint64_t growth : {64u * 64 - 64, 64u * 64 - 65}) {
    ExportedProgram program = ParseOrDie(kGrows, PassTestOps());
    ASSERT_OK_AND_ASSIGN(const bool changed, Propagate(growth).run(program));
    EXPECT_TRUE(changed);
    EXPECT_EQ(program.top().num_nodes(), growth == 64 * 64 - 64 ? 1 : 2);
  }
}

// One node may not use the whole growth.
TEST(PropagateConstantsTest, BoundsGrowthByOneNode) {
  for (const uint64_t growth : {64u * 64 - 64, 64u * 64 - 65}) {
    ExportedProgram program = ParseOrDie(kGrows, PassTestOps());
    ASSERT_OK(PropagateConstants({.max_node_growth_bytes = growth}).run(program).status());
    EXPECT_EQ(program.top().num_nodes(), growth == 64 * 64 - 64 ? 1 : 2);
  }
}

// The default growth is a quarter of the constants, here 2.5 MiB. One node gets half of that.
TEST(PropagateConstantsTest, GrowsInProportionToTheConstants) {
  for (const bool large : {true, false}) {
    const int64_t rows = (large ? 10 : 4) * 256, copies = 5 * 256;  // of 1 KiB
    const std::string text = absl::Substitute(R"(program aten {
  constants { state "l": f32[$0,1024] state "w": f32[256] }
  graph(%l: f32[$0,1024] parameter "l", %w: f32[256] parameter "w", %x: f32[$1,256] user_input,
        %z: f32[$0,1024] user_input) {
    %r: f32[$1,256] = aten.repeat.default(%w, [$1,1])
    %y: f32[$1,256] = aten.mul.Tensor(%x, %r)
    %u: f32[$0,1024] = aten.mul.Tensor(%z, %l)
    return (%y user_output, %u user_output)
  }
})",
                                              rows, copies);
    ExportedProgram program = ParseOrDie(text, PassTestOps());
    ASSERT_OK_AND_ASSIGN(const bool changed, PropagateConstants().run(program));
    EXPECT_EQ(changed, large);
  }
}

// Each layer computes the same mask: it grows the program once.
TEST(PropagateConstantsTest, EqualResultsGrowTheProgramOnce) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  constants { state "u": f32[1,16] state "v": f32[1,16] state "w": f32[1,16] }
  graph(%u: f32[1,16] buffer "u", %v: f32[1,16] buffer "v", %w: f32[1,16] buffer "w",
        %x: f32[64,16] user_input) {
    %a: f32[64,16] = aten.repeat.default(%u, [64,1])
    %b: f32[64,16] = aten.repeat.default(%v, [64,1])
    %c: f32[64,16] = aten.repeat.default(%w, [64,1])
    %m: f32[64,16] = aten.mul.Tensor(%x, %a)
    %n: f32[64,16] = aten.mul.Tensor(%m, %b)
    %y: f32[64,16] = aten.mul.Tensor(%n, %c)
    return (%y user_output)
  }
})",
                                       PassTestOps());
  const auto fill = [&](const char* name, float value) {
    ASSERT_OK_AND_ASSIGN(ConstantTensor constant,
                         FloatConstant({1, 16}, std::vector<float>(16, value)));
    program.state_dict.insert_or_assign(name, std::move(constant));
  };
  fill("u", 2);
  fill("v", 1);
  fill("w", 1);
  ASSERT_OK(Propagate(64 * 64).run(program).status());
  EXPECT_EQ(program.top().num_nodes(), 4);  // the first mask differs, and is too large
  const ConstantTensor &first = program.constants.at("_prop_tensor_constant0"),
                       &second = program.constants.at("_prop_tensor_constant1");
  EXPECT_EQ(first.storage().bytes.data(), second.storage().bytes.data());
}

// A backend lowers products with constant weights first. It leaves those without other operands.
TEST(PropagateConstantsTest, FoldsOnlyWhatDependsOnAProduct) {
  ExpectRewrite(R"(program aten {
  constants { state "a": f32[2,2] state "w": f32[2,2] }
  graph(%a: f32[2,2] buffer "a", %w: f32[2,2] parameter "w", %x: f32[2,2] user_input) {
    %t: f32[2,2] = aten.permute_copy.default(%w, [1,0])
    %p: f32[2,2] = aten.mm.default(%a, %t)
    %s: f32[2,2] = aten.add.Tensor(%p, %w)
    %q: f32[2,2] = aten.mm.default(%x, %t)
    %y: f32[2,2] = aten.mul.Tensor(%q, %s)
    return (%y user_output)
  }
})",
                PropagateConstants({.only_products = true}).run, R"(program aten {
  constants { state "w": f32[2,2] constant "_prop_tensor_constant0": f32[2,2] }
  graph(%w: f32[2,2] parameter "w",
        %_prop_tensor_constant0: f32[2,2] tensor_constant "_prop_tensor_constant0",
        %x: f32[2,2] user_input) {
    %t: f32[2,2] = aten.permute_copy.default(%w, [1,0])
    %q: f32[2,2] = aten.mm.default(%x, %t)
    %y: f32[2,2] = aten.mul.Tensor(%q, %_prop_tensor_constant0)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PropagateConstantsTest, BoundsResultsByConstantsAndGrowth) {
  // The sum is small, its operand is not.
  constexpr char kLarge[] = R"(program aten {
  constants { state "w": f32[16] }
  graph(%w: f32[16] parameter "w", %x: f32[16] user_input) {
    %r: f32[64,16] = aten.repeat.default(%w, [64,1])
    %s: f32[16] = aten.sum.dim_IntList(%r, [0])
    %y: f32[16] = aten.mul.Tensor(%x, %s)
    return (%y user_output)
  }
})";
  ExpectUnchanged(kLarge, Propagate(63 * 64 - 1).run, PassTestOps());
  ExportedProgram program = ParseOrDie(kLarge, PassTestOps());
  ASSERT_OK_AND_ASSIGN(const bool changed, Propagate(63 * 64).run(program));
  EXPECT_TRUE(changed);
}

TEST(PropagateConstantsTest, BoundsWork) {
  // 2^34 multiplications: left to the runtime.
  ExpectUnchanged(R"(program aten {
  constants { state "w": f32[2048,2048] }
  graph(%w: f32[2048,2048] parameter "w", %x: f32[2048] user_input) {
    %p: f32[2048,2048] = aten.mm.default(%w, %w)
    %y: f32[2048,2048] = aten.mul.Tensor(%x, %p)
    return (%y user_output)
  }
})",
                  PropagateConstants().run, PassTestOps());
}

TEST(PropagateConstantsTest, FoldsNodesOfLiterals) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  graph(%x: f32[4] user_input) {
    %o: f32[4] = aten.full.default([4], 0.5)
    %a: f32[4] = aten.arange.start_step(0, 4, 1, dtype=dtype:f32)
    %s: f32[4] = aten.add.Tensor(%a, %o)
    %y: f32[4] = aten.mul.Tensor(%x, %s)
    %z: f32[4] = aten.mul.Tensor(%y, %o)
    return (%z user_output)
  }
})",
                                       PassTestOps());
  ASSERT_OK_AND_ASSIGN(const bool changed, Propagate().run(program));
  EXPECT_TRUE(changed);
  ASSERT_OK(Verify(program));
  EXPECT_THAT(Elements(program.constants.at("_prop_tensor_constant0")),
              ElementsAre(0.5, 1.5, 2.5, 3.5));
  EXPECT_EQ(program.top().num_nodes(), 3u);  // the fill is kept
}

// Equal storage is in the file once, so erasing one of its inputs frees nothing.
constexpr char kTied[] = R"(program aten {
  constants { state "a": f32[4,3] state "b": f32[4,3] shares state "a" }
  graph(%a: f32[4,3] parameter "a", %b: f32[4,3] parameter "b", %x: f32[2,3] user_input,
        %i: i64[2] user_input) {
    %e: f32[2,3] = aten.embedding.default(%a, %i)
    %n: f32[4,3] = aten.neg.default(%b)
    %t: f32[3,4] = aten.permute_copy.default(%n, [1,0])
    %y: f32[2,4] = aten.mm.default(%e, %t)
    return (%y user_output)
  }
})";
TEST(PropagateConstantsTest, DoesNotFreeSharedStorage) {
  ExpectUnchanged(kTied, Propagate(47).run, PassTestOps());
  ExportedProgram program = ParseOrDie(kTied, PassTestOps());
  ASSERT_OK_AND_ASSIGN(const bool changed, Propagate(48).run(program));
  EXPECT_TRUE(changed);
}

// A matmul uses a permuted weight whose original has other users.
TEST(PropagateConstantsTest, PermutesKeptWeightAsAView) {
  constexpr char kInPlace[] = R"(program aten {
  constants { state "w": f32[4,3] state "b": f32[4] }
  graph(%w: f32[4,3] parameter "w", %b: f32[4] parameter "b", %i: i64[2] user_input) {
    %e: f32[2,3] = aten.embedding.default(%w, %i)
    %t: f32[3,4] = aten.permute_copy.default(%w, [1,0])
    %y: f32[2,4] = aten.addmm.default(%b, %e, %t)
    return (%y user_output)
  }
})";
  ExportedProgram program = ParseOrDie(kInPlace, PassTestOps());
  const std::byte* bytes = program.state_dict.at("w").storage().bytes.data();
  ASSERT_OK_AND_ASSIGN(const bool changed, Propagate(0).run(program));
  EXPECT_TRUE(changed);
  EXPECT_EQ(program.constants.at("_prop_tensor_constant0").storage().bytes.data(), bytes);
  ExpectRewrite(kInPlace, Propagate(0).run, R"(program aten {
  constants {
    state "w": f32[4,3] state "b": f32[4]
    constant "_prop_tensor_constant0": f32[3,4]{strides=[1,3]} shares state "w"
  }
  graph(%w: f32[4,3] parameter "w", %b: f32[4] parameter "b",
        %_prop_tensor_constant0: f32[3,4]{strides=[1,3]} tensor_constant "_prop_tensor_constant0",
        %i: i64[2] user_input) {
    %e: f32[2,3] = aten.embedding.default(%w, %i)
    %y: f32[2,4] = aten.addmm.default(%b, %e, %_prop_tensor_constant0)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PropagateConstantsTest, OtherUsersOfAPermutedWeightGetACopy) {
  ExpectUnchanged(R"(program aten {
  constants { state "w": f32[4,3] }
  graph(%w: f32[4,3] parameter "w", %i: i64[2] user_input) {
    %e: f32[2,3] = aten.embedding.default(%w, %i)
    %t: f32[3,4] = aten.permute_copy.default(%w, [1,0])
    %y: f32[2,4] = aten.mm.default(%e, %t)
    %z: f32[3,4] = aten.neg.default(%t)
    return (%y user_output, %z user_output)
  }
})",
                  Propagate(0).run, PassTestOps());
}

// It has the arguments of a permutation but reverses elements.
TEST(PropagateConstantsTest, DoesNotPermuteFlippedWeight) {
  ExpectUnchanged(R"(program aten {
  constants { state "w": f32[3,3] }
  graph(%w: f32[3,3] parameter "w", %i: i64[2] user_input) {
    %e: f32[2,3] = aten.embedding.default(%w, %i)
    %t: f32[3,3] = aten.flip.default(%w, [1,0])
    %y: f32[2,3] = aten.mm.default(%e, %t)
    return (%y user_output)
  }
})",
                  Propagate(0).run, PassTestOps());
}

// A matmul that is not known to accept a permuted weight.
TEST(PropagateConstantsTest, OtherMatmulsGetACopyOfAPermutedWeight) {
  ExpectUnchanged(R"(program aten {
  constants { state "w": i8[4,3] }
  graph(%w: i8[4,3] parameter "w", %i: i64[2] user_input) {
    %e: i8[2,3] = aten.embedding.default(%w, %i)
    %t: i8[3,4] = aten.permute_copy.default(%w, [1,0])
    %y: i32[2,4] = aten._int_mm.default(%e, %t)
    return (%y user_output)
  }
})",
                  Propagate(0).run, PassTestOps());
}

TEST(PropagateConstantsTest, TensorsWrittenByAnotherMethodAreNotConstant) {
  ExpectUnchanged(kChain, PropagateConstants({.changing = {"b"}}).run, PassTestOps());
}

// Each node of the chain also has a user that is kept.
TEST(PropagateConstantsTest, ComputesLongChainsOnce) {
  constexpr int kLong = 2000;
  std::string nodes, results;
  for (int i = 0; i < kLong; ++i) {
    absl::StrAppend(&nodes, "%n", i + 1, ": f32[2] = aten.add.Tensor(%n", i, ", %n0)\n%y", i,
                    ": f32[2] = aten.mul.Tensor(%x, %n", i + 1, ")\n");
    absl::StrAppend(&results, i == 0 ? "" : ", ", "%y", i, " user_output");
  }
  ExportedProgram program = ParseOrDie(
      absl::StrCat("program aten { constants { state \"w\": f32[2] } graph(%n0: f32[2] parameter "
                   "\"w\", %x: f32[2] user_input) {",
                   nodes, "return (", results, ") } }"),
      PassTestOps());
  program.state_dict.insert_or_assign("w", Floats({2}, {1, 2}));
  ASSERT_OK(Propagate().run(program).status());
  EXPECT_EQ(program.top().num_nodes(), static_cast<size_t>(kLong));
  EXPECT_THAT(Elements(program.constants.at("_prop_tensor_constant0")),
              ElementsAre(kLong + 1, 2 * (kLong + 1)));
}

TEST(PropagateConstantsTest, IsDeterministic) {
  std::string first;
  for (int i = 0; i < 3; ++i) {
    ExportedProgram program = ParseOrDie(kChain, PassTestOps());
    ASSERT_OK(Propagate().run(program).status());
    ASSERT_OK(Verify(program));
    const std::string text = PrintProgram(program);
    if (i == 0) first = text;
    EXPECT_EQ(text, first);
  }
}

}  // namespace
}  // namespace belay::exir
