// Tests of nodes that are kept although their operands are constant, and of the limits of the
// search for freed constants.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/pass_testing.h"
#include "exir/passes/propagate_constants.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

// Returns a program with `nodes` and result %y; w, v and e are parameters.
std::string Around(std::string_view nodes, std::string_view returned = "%y user_output",
                   std::string_view dialect = "aten") {
  return absl::StrCat("program ", dialect, R"( {
  ranges { s0: [1, 8] }
  constants { state "w": f32[3] state "v": f32[4,3] state "e": f32[3,3] state "t": f32[3,3]{strides=[1,3]} }
  graph(%w: f32[3] parameter "w", %v: f32[4,3] parameter "v", %e: f32[3,3] parameter "e",
        %t: f32[3,3]{strides=[1,3]} parameter "t", %x: f32[3] user_input) {
)",
                      nodes, "\nreturn (", returned, ") } }");
}

TEST(PropagateConstantsLimitsTest, KeepsViewsAndWrites) {
  // A view shares its memory; a write to its operand changes it.
  ExpectUnchanged(Around("%s: f32[3,4]{strides=[1,3]} = aten.permute.default(%v, [1,0])\n"
                         "%y: f32[3,4] = aten.mul.Tensor(%s, %s)",
                         "%y user_output", "training"),
                  PropagateConstants().run, PassTestOps());
  ExpectUnchanged(Around("%c: f32[3] = aten.full_like.default(%w, 1.0)\n"
                         "%s: f32[3] = aten.neg_.default(%c)\n%y: f32[3] = aten.mul.Tensor(%s, %x)",
                         "%y user_output", "training"),
                  PropagateConstants().run, PassTestOps());
}

// Operators that are opaque, that write although no trait says so, or that have no kernel.
TEST(PropagateConstantsLimitsTest, KeepsUnknownOperators) {
  const auto like_first = [](MetaContext& context) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* tensor, context.Tensor(0));
    context.SetOutput(0, *tensor);
    return absl::OkStatus();
  };
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpRegistry> ops, CreateStandardOps());
  for (const OpDef& row :
       {OpDef{.schema = "mylib::write(Tensor(a!) x) -> Tensor", .meta = like_first},
        OpDef{.schema = "mylib::bare(Tensor x) -> Tensor"},
        OpDef{.schema = "mylib::pure(Tensor x) -> Tensor", .meta = like_first}}) {
    ASSERT_OK(ops->Define(row).status());
  }
  for (const char* node :
       {"%s: f32[3] = mylib.write.default(%w)", "%s: f32[3] = mylib.bare.default(%w)",
        "%s: f32[3] = mylib.pure.default(%w)",  // without a kernel
        "%s: f32[3] = custom.op.default(%w)"}) {
    ExpectUnchanged(Around(absl::StrCat(node, "\n%y: f32[3] = aten.mul.Tensor(%s, %x)")),
                    PropagateConstants().run, *ops);
  }
}

TEST(PropagateConstantsLimitsTest, DoesNotFoldUnusedNodes) {
  for (const char* nodes :
       {"%s: f32[3] = aten.neg.default(%w)", "none, none = aten.max.dim(%v, 1)"}) {
    ExpectUnchanged(Around(absl::StrCat(nodes, "\n%y: f32[3] = aten.neg.default(%x)")),
                    PropagateConstants().run, PassTestOps());
  }
}

// The verifier does not infer results; a kernel's result of another type is not used.
TEST(PropagateConstantsLimitsTest, KeepsResultsWithOtherDeclaredTypes) {
  for (const char* nodes : {
           "%s: f32[s0] = aten.neg.default(%w)",      // an unknown size
           "%s: f32[4] = aten.neg.default(%w)",       // another size
           "%s: i32[3] = aten.neg.default(%w)",       // another dtype
           "%s: f32[3,1] = aten.neg.default(%w)",     // another rank
           "none, %s: i64[4] = aten.max.dim(%v, 1)",  // another number of results
           // The number of bytes overflows.
           "%s: f32[4294967296,4294967296,3] = aten.expand_copy.default(%w, "
           "[4294967296,4294967296,3])",
       }) {
    SCOPED_TRACE(nodes);
    ExpectUnchanged(Around(absl::StrCat(nodes, "\n%y: f32[3] = aten.mul.Tensor(%x, %s)")),
                    PropagateConstants().run, PassTestOps());
  }
}

TEST(PropagateConstantsLimitsTest, ConstantsAreRowMajorUnlessChannelsLast) {
  constexpr std::string_view kLast = "{strides=[12,1,6,2]}";
  const struct {
    std::string_view weight, result;
    bool channels_last;
  } kCases[] = {{"", "", false}, {kLast, kLast, true}, {kLast, "", false}, {"", kLast, false}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.weight, " ", c.result));
    ExportedProgram program = ParseOrDie(
        absl::StrCat("program aten { constants { state \"w\": f32[1,2,2,3]", c.weight,
                     " } graph(%w: f32[1,2,2,3]", c.weight,
                     " parameter \"w\", %x: f32[1,2,2,3] user_input) {\n%s: f32[1,2,2,3]", c.result,
                     " = aten.neg.default(%w)\n%y: f32[1,2,2,3] = aten.mul.Tensor(%x, %s)\n"
                     "return (%y user_output) } }"),
        PassTestOps());
    ASSERT_OK_AND_ASSIGN(const bool changed, PropagateConstants().run(program));
    EXPECT_TRUE(changed);
    ASSERT_OK(Verify(program));
    const ConstantTensor& s = program.constants.at("_prop_tensor_constant0");
    EXPECT_EQ(s.is_contiguous(), !c.channels_last);
    if (c.channels_last) EXPECT_EQ(s.strides(), Strides({12, 1, 6, 2}));
  }
}

// ---- Computed once

TEST(PropagateConstantsLimitsTest, ComputesAndErasesResultUsedTwiceOnce) {
  ExpectRewrite(R"(program aten {
  constants { state "w": f32[3] }
  graph(%w: f32[3] parameter "w", %x: f32[3] user_input) {
    %a: f32[3] = aten.neg.default(%w)
    %b: f32[3] = aten.add.Tensor(%a, %a)
    %y: f32[3] = aten.mul.Tensor(%x, %b)
    return (%y user_output)
  }
})",
                PropagateConstants().run, R"(program aten {
  constants { constant "_prop_tensor_constant0": f32[3] }
  graph(%_prop_tensor_constant0: f32[3] tensor_constant "_prop_tensor_constant0", %x: f32[3] user_input) {
    %y: f32[3] = aten.mul.Tensor(%x, %_prop_tensor_constant0)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PropagateConstantsLimitsTest, ReusesComputedResults) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  constants { state "w": f32[2] }
  graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
    %a: f32[2] = aten.neg.default(%w)
    %b: f32[2] = aten.abs.default(%a)
    %c: f32[2] = aten.mul.Tensor(%a, %a)
    %y: f32[2] = aten.mul.Tensor(%x, %a)
    %z: f32[2] = aten.mul.Tensor(%x, %b)
    %u: f32[2] = aten.mul.Tensor(%x, %c)
    return (%y user_output, %z user_output, %u user_output)
  }
})",
                                       PassTestOps());
  program.state_dict.insert_or_assign("w", *FloatConstant({2}, {2, 3}));
  ASSERT_OK(PropagateConstants().run(program).status());
  ASSERT_OK(Verify(program));
  EXPECT_EQ(program.top().num_nodes(), 3u);
  // From the last to the first.
  const auto first = [&](int number) {
    return program.constants.at(absl::StrCat("_prop_tensor_constant", number))
        .view()
        .as<float>()[0];
  };
  EXPECT_EQ(first(0), 4);
  EXPECT_EQ(first(1), 2);
  EXPECT_EQ(first(2), -2);
}

// It is computed in each call, and nodes that depend on it are folded.
TEST(PropagateConstantsLimitsTest, KeepsReturnedResultsWithUsers) {
  ExpectRewrite(R"(program aten {
  constants { state "w": f32[3] }
  graph(%w: f32[3] parameter "w", %x: f32[3] user_input) {
    %a: f32[3] = aten.abs.default(%w)
    %b: f32[3] = aten.neg.default(%a)
    %y: f32[3] = aten.mul.Tensor(%x, %b)
    return (%y user_output, %a user_output)
  }
})",
                PropagateConstants().run, R"(program aten {
  constants { state "w": f32[3] constant "_prop_tensor_constant0": f32[3] }
  graph(%w: f32[3] parameter "w",
        %_prop_tensor_constant0: f32[3] tensor_constant "_prop_tensor_constant0", %x: f32[3] user_input) {
    %a: f32[3] = aten.abs.default(%w)
    %y: f32[3] = aten.mul.Tensor(%x, %_prop_tensor_constant0)
    return (%y user_output, %a user_output)
  }
})",
                PassTestOps());
}

// ---- Bounds

// A weight is freed with the node if the nodes between have no other users; the search for it is
// limited, which can only prevent folding.
TEST(PropagateConstantsLimitsTest, DoesNotCountDistantConstantsAsFreed) {
  for (const auto& [length, changes] : {std::pair(200, true), {300, false}}) {
    SCOPED_TRACE(length);
    std::string nodes = "%n0: f32[3] = aten.neg.default(%w)\n";
    for (int i = 0; i < length; ++i) {
      absl::StrAppend(&nodes, "%n", i + 1, ": f32[3] = aten.neg.default(%n", i, ")\n");
    }
    ExportedProgram program =
        ParseOrDie(Around(absl::StrCat(nodes, "%y: f32[3] = aten.mul.Tensor(%x, %n", length, ")")),
                   PassTestOps());
    ASSERT_OK(PropagateConstants({.max_growth_bytes = 0}).run(program).status());
    ASSERT_OK(Verify(program));
    EXPECT_EQ(program.top().num_nodes() == 1, changes);
  }
}

// One of two results has other users: the node is kept, and so are its operands.
TEST(PropagateConstantsLimitsTest, NodeWithAKeptResultFreesNothing) {
  constexpr char kProgram[] = R"(program aten {
  constants { state "v": f32[2,3] }
  graph(%v: f32[2,3] parameter "v", %x: f32[2] user_input) {
    %m: f32[2], %i: i64[2] = aten.max.dim(%v, 1)
    %s: f32[2] = aten.mul.Tensor(%m, %i)
    %y: f32[2] = aten.mul.Tensor(%x, %s)
    return (%y user_outputMORE)
  }
})";
  for (const auto& [more, changes] : {std::pair("", true), {", %m user_output", false}}) {
    SCOPED_TRACE(more);
    ExportedProgram program = ParseOrDie(Replaced(kProgram, {{"MORE", more}}), PassTestOps());
    ASSERT_OK_AND_ASSIGN(const bool changed,
                         PropagateConstants({.max_growth_bytes = 0}).run(program));
    EXPECT_EQ(changed, changes);
  }
}

// The memory of live intermediate results is limited too; beyond it, less is computed at once.
TEST(PropagateConstantsLimitsTest, BoundsLiveResults) {
  std::string nodes;
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&nodes, "%a", i, ": f32[3] = aten.add.Tensor(%w, ", i, ")\n");
  }
  // The right operands are computed first.
  std::string sum = "%a0";
  for (int i = 1; i < 8; ++i) {
    absl::StrAppend(&nodes, "%s", i, ": f32[3] = aten.add.Tensor(", sum, ", %a", i, ")\n");
    sum = absl::StrCat("%s", i);
  }
  ExportedProgram program = ParseOrDie(
      Around(absl::StrCat(nodes, "%y: f32[3] = aten.mul.Tensor(%x, %s7)")), PassTestOps());
  ASSERT_OK_AND_ASSIGN(const bool changed,
                       PropagateConstants({.max_tensor_bytes = 12}).run(program));
  EXPECT_TRUE(changed);
  ASSERT_OK(Verify(program));
  const size_t left = program.top().num_nodes();
  EXPECT_GT(left, 1u);
  EXPECT_LT(left, 16u);
  // With enough memory, the whole sum is one constant.
  program = ParseOrDie(Around(absl::StrCat(nodes, "%y: f32[3] = aten.mul.Tensor(%x, %s7)")),
                       PassTestOps());
  ASSERT_OK(PropagateConstants({.max_tensor_bytes = 36}).run(program).status());
  EXPECT_EQ(program.top().num_nodes(), 1u);
}

// Attempts cost time as well: repeated attempts to compute what is too expensive end.
TEST(PropagateConstantsLimitsTest, StopsAfterTooExpensiveAttempts) {
  // The matmuls exceed the limit; each requires the whole chain before it.
  const auto program = [](int length) {
    std::string nodes, results;
    for (int i = 0; i < length; ++i) {
      absl::StrAppend(&nodes, "%n", i + 1, ": f32[1000,1000] = aten.neg.default(%n", i, ")\n%p", i,
                      ": f32[1000,1000] = aten.mm.default(%n", i + 1, ", %n", i + 1, ")\n%y", i,
                      ": f32[1000,1000] = aten.mul.Tensor(%x, %p", i, ")\n");
      absl::StrAppend(&results, i == 0 ? "" : ", ", "%y", i, " user_output");
    }
    return ParseOrDie(
        absl::StrCat("program aten { constants { state \"w\": f32[1000,1000] } graph(%n0: "
                     "f32[1000,1000] parameter \"w\", %x: f32[1000] user_input) {",
                     nodes, "return (", results, ") } }"),
        PassTestOps());
  };
  const Pass pass = PropagateConstants(
      {.max_growth_bytes = uint64_t{1} << 40, .max_node_growth_bytes = uint64_t{1} << 40});
  ExportedProgram few = program(1);
  ASSERT_OK_AND_ASSIGN(const bool computed, pass.run(few));
  EXPECT_TRUE(computed);  // the negation, but not the matmul
  ExportedProgram many = program(1500);
  ASSERT_OK_AND_ASSIGN(const bool changed, pass.run(many));
  EXPECT_FALSE(changed);
}

// ---- Weights permuted as views

TEST(PropagateConstantsLimitsTest, CopiesWeightsThatAreNotPermutedMatrices) {
  // %q keeps the weight in the program.
  for (const char* nodes : {
           // The permutation is the first operand, both, or also an addend.
           "%p: f32[3,3] = aten.permute_copy.default(%e, [1,0])\n%y: f32[3,3] = "
           "aten.mm.default(%p, %e)",
           "%p: f32[3,3] = aten.permute_copy.default(%e, [1,0])\n%y: f32[3,3] = "
           "aten.mm.default(%p, %p)",
           "%p: f32[3,3] = aten.permute_copy.default(%e, [1,0])\n"
           "%y: f32[3,3] = aten.addmm.default(%p, %z, %p)",
           // The permutation is an identity; its operand has another dim order, or is not a matrix.
           "%p: f32[3,3] = aten.permute_copy.default(%e, [0,1])\n%y: f32[3,3] = "
           "aten.mm.default(%z, %p)",
           "%p: f32[3,3] = aten.permute_copy.default(%t, [1,0])\n%y: f32[3,3] = "
           "aten.mm.default(%z, %p)",
           "%p: f32[3,3] = aten.permute_copy.default(%w, [1,0])\n%y: f32[3,3] = "
           "aten.mm.default(%z, %p)",
           "%p: f32[3,3] = aten.permute_copy.default(2.0, [1,0])\n%y: f32[3,3] = "
           "aten.mm.default(%z, %p)",
       }) {
    SCOPED_TRACE(nodes);
    ExpectUnchanged(Around(absl::StrCat("%z: f32[3,3] = aten.add.Tensor(%e, %x)\n",
                                        "%q: f32[3,3] = aten.add.Tensor(%t, %x)\n", nodes),
                           "%y user_output, %q user_output"),
                    PropagateConstants({.max_growth_bytes = 0}).run, PassTestOps());
  }
}

}  // namespace
}  // namespace belay::exir
