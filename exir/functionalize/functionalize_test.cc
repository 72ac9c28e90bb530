#include "exir/functionalize/functionalize.h"

#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

const OpRegistry& Ops() {
  static const OpRegistry& ops = *CreateStandardOps().value().release();
  return ops;
}

struct Case {
  const char* name;
  const char* before;
  const char* after;
};

// `name` states the behavior.
const Case kCases[] = {
    {"InPlaceOperatorOnABufferBecomesAMutationOutput", R"(program training {
  constants { state "n": i64[] }
  graph(%n: i64[] buffer "n", %x: f32[2] user_input) {
    %add_: i64[] = aten.add_.Tensor(%n, 1)
    %y: f32[2] = aten.mul.Tensor(%x, %add_)
    return (%y user_output)
  }
})",
     R"(program training {
  constants { state "n": i64[] }
  graph(%n: i64[] buffer "n", %x: f32[2] user_input) {
    %add: i64[] = aten.add.Tensor(%n, 1)
    %y: f32[2] = aten.mul.Tensor(%x, %add)
    return (%add buffer_mutation "n", %y user_output)
  }
})"},
    {"OutOverloadBecomesTheOneThatReturns", R"(program training {
  constants { state "b": f32[2] }
  graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
    %add: f32[2] = aten.add.out(%x, %x, alpha=2, out=%b)
    %y: f32[2] = aten.relu.default(%b)
    return (%add user_output, %y user_output)
  }
})",
     R"(program training {
  constants { state "b": f32[2] }
  graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
    %add_1: f32[2] = aten.add.Tensor(%x, %x, alpha=2)
    %y: f32[2] = aten.relu.default(%add_1)
    return (%add_1 buffer_mutation "b", %add_1 user_output, %y user_output)
  }
})"},
    {"OutOverloadOfTwoResults", R"(program training {
  graph(%x: f32[2,3] user_input, %v: f32[2] user_input, %i: i64[2] user_input) {
    %max: f32[2], %max_indices: i64[2] = aten.max.dim_max(%x, 1, max=%v, max_values=%i)
    return (%max_indices user_output)
  }
})",
     R"(program training {
  graph(%x: f32[2,3] user_input, %v: f32[2] user_input, %i: i64[2] user_input) {
    %max_1: f32[2], %max_1_1: i64[2] = aten.max.dim(%x, 1)
    return (%max_1 user_input_mutation "v", %max_1_1 user_input_mutation "i", %max_1_1 user_output)
  }
})"},
    {"LaterUsesOfTheWrittenValueSeeTheWrite", R"(program training {
  graph(%x: f32[2] user_input) {
    %before: f32[2] = aten.relu.default(%x)
    %mul_: f32[2] = aten.mul_.Tensor(%x, %before)
    %after: f32[2] = aten.relu.default(%x)
    return (%after user_output, %before user_output)
  }
})",
     R"(program training {
  graph(%x: f32[2] user_input) {
    %before: f32[2] = aten.relu.default(%x)
    %mul: f32[2] = aten.mul.Tensor(%x, %before)
    %after: f32[2] = aten.relu.default(%mul)
    return (%mul user_input_mutation "x", %after user_output, %before user_output)
  }
})"},
    {"WriteThroughAViewUpdatesTheBaseAndItsOtherViews", R"(program training {
  graph(%x: f32[3,2] user_input) {
    %c: f32[3,2] = aten.clone.default(%x)
    %row: f32[2] = aten.select.int(%c, 0, 1)
    %column: f32[3]{strides=[2]} = aten.select.int(%c, 1, 0)
    %relu_: f32[2] = aten.relu_.default(%row)
    %y: f32[3] = aten.neg.default(%column)
    return (%y user_output, %c user_output, %row user_output)
  }
})",
     R"(program training {
  graph(%x: f32[3,2] user_input) {
    %c: f32[3,2] = aten.clone.default(%x)
    %row: f32[2] = aten.select.int(%c, 0, 1)
    %column: f32[3]{strides=[2]} = aten.select.int(%c, 1, 0)
    %relu: f32[2] = aten.relu.default(%row)
    %select_scatter: f32[3,2] = aten.select_scatter.default(%c, %relu, 0, 1)
    %select: f32[3]{strides=[2]} = aten.select.int(%select_scatter, 1, 0)
    %y: f32[3] = aten.neg.default(%select)
    return (%y user_output, %select_scatter user_output, %relu user_output)
  }
})"},
    {"WriteThroughAViewOfAViewGoesAllTheWay", R"(program training {
  constants { state "cache": f32[4,6] }
  graph(%cache: f32[4,6] buffer "cache", %x: f32[2,3] user_input) {
    %rows: f32[2,6] = aten.slice.Tensor(%cache, 0, 1, 3)
    %part: f32[2,3]{strides=[6,1]} = aten.slice.Tensor(%rows, 1, 0, 3)
    %copy_: f32[2,3]{strides=[6,1]} = aten.copy_.default(%part, %x)
    return (%cache user_output)
  }
})",
     R"(program training {
  constants { state "cache": f32[4,6] }
  graph(%cache: f32[4,6] buffer "cache", %x: f32[2,3] user_input) {
    %rows: f32[2,6] = aten.slice.Tensor(%cache, 0, 1, 3)
    %part: f32[2,3]{strides=[6,1]} = aten.slice.Tensor(%rows, 1, 0, 3)
    %slice_scatter: f32[2,6] = aten.slice_scatter.default(%rows, %x, 1, 0, 3)
    %slice_scatter_1: f32[4,6] = aten.slice_scatter.default(%cache, %slice_scatter, 0, 1, 3)
    return (%slice_scatter_1 buffer_mutation "cache", %slice_scatter_1 user_output)
  }
})"},
    {"ResultIsCastToTheWrittenDtype", R"(program training {
  graph(%x: f16[2] user_input, %y: f32[2] user_input) {
    %add_: f16[2] = aten.add_.Tensor(%x, %y)
    return (%add_ user_output)
  }
})",
     R"(program training {
  graph(%x: f16[2] user_input, %y: f32[2] user_input) {
    %add: f32[2] = aten.add.Tensor(%x, %y)
    %_to_copy: f16[2] = aten._to_copy.default(%add, dtype=dtype:f16)
    return (%_to_copy user_input_mutation "x", %_to_copy user_output)
  }
})"},
    {"CopyBroadcasts", R"(program training {
  graph(%x: f32[3,2] user_input, %y: f32[2] user_input) {
    %copy_: f32[3,2] = aten.copy_.default(%x, %y)
    return (3 user_output)
  }
})",
     R"(program training {
  graph(%x: f32[3,2] user_input, %y: f32[2] user_input) {
    %expand: f32[3,2]{strides=[0,1]} = aten.expand.default(%y, [3,2])
    return (%expand user_input_mutation "x", 3 user_output)
  }
})"},
    {"DetachInPlaceIsTheSameTensor", R"(program training {
  graph(%x: f32[2] user_input) {
    %c: f32[2] = aten.clone.default(%x)
    %detach_: f32[2] = aten.detach_.default(%c)
    %mul_: f32[2] = aten.mul_.Scalar(%detach_, 2)
    return (%c user_output)
  }
})",
     R"(program training {
  graph(%x: f32[2] user_input) {
    %c: f32[2] = aten.clone.default(%x)
    %mul: f32[2] = aten.mul.Scalar(%c, 2)
    return (%mul user_output)
  }
})"},
    {"InPlaceViewChangesWhatTheTensorShows", R"(program training {
  graph(%x: f32[2] user_input) {
    %unsqueeze_: f32[1,2] = aten.unsqueeze_.default(%x, 0)
    %y: f32[1,2] = aten.relu.default(%x)
    %mul_: f32[1,2] = aten.mul_.Scalar(%x, 2)
    return (%y user_output)
  }
})",
     R"(program training {
  graph(%x: f32[2] user_input) {
    %unsqueeze: f32[1,2] = aten.unsqueeze.default(%x, 0)
    %y: f32[1,2] = aten.relu.default(%unsqueeze)
    %mul: f32[1,2] = aten.mul.Scalar(%unsqueeze, 2)
    %view: f32[2] = aten.view.default(%mul, [2])
    return (%view user_input_mutation "x", %y user_output)
  }
})"},
    {"WrittenConstantBecomesABuffer", R"(program training {
  constants { constant "c": f32[2] }
  graph(%c: f32[2] tensor_constant "c", %x: f32[2] user_input) {
    %add_: f32[2] = aten.add_.Tensor(%c, %x)
    return (%add_ user_output)
  }
})",
     R"(program training {
  constants { constant "c": f32[2] }
  graph(%c: f32[2] buffer "c" nonpersistent, %x: f32[2] user_input) {
    %add: f32[2] = aten.add.Tensor(%c, %x)
    return (%add buffer_mutation "c", %add user_output)
  }
})"},
    {"WriteToADiagonalGoesByTheElementsNumbers", R"(program training {
  graph(%x: f32[3,3] user_input) {
    %c: f32[3,3] = aten.clone.default(%x)
    %d: f32[3]{strides=[4]} = aten.diagonal.default(%c)
    %mul_: f32[3]{strides=[4]} = aten.mul_.Scalar(%d, 2)
    return (%c user_output)
  }
})",
     R"(program training {
  graph(%x: f32[3,3] user_input) {
    %c: f32[3,3] = aten.clone.default(%x)
    %d: f32[3]{strides=[4]} = aten.diagonal.default(%c)
    %mul: f32[3] = aten.mul.Scalar(%d, 2)
    %arange: i64[9] = aten.arange.start_step(0, 9, dtype=dtype:i64)
    %view: i64[3,3] = aten.view.default(%arange, [3,3])
    %diagonal: i64[3]{strides=[4]} = aten.diagonal.default(%view)
    %view_1: f32[9] = aten.view.default(%c, [-1])
    %view_2: i64[3]{strides=[4]} = aten.view.default(%diagonal, [-1])
    %view_3: f32[3] = aten.view.default(%mul, [-1])
    %index_put: f32[9] = aten.index_put.default(%view_1, [%view_2], %view_3)
    %view_4: f32[3,3] = aten.view.default(%index_put, [3,3])
    return (%view_4 user_output)
  }
})"},
    {"CompositeVariantIsDecomposedAtOnce", R"(program training {
  graph(%x: f32[2] user_input) {
    %c: f32[2] = aten.clone.default(%x)
    %silu_: f32[2] = aten.silu_.default(%c)
    return (%c user_output)
  }
})",
     R"(program training {
  graph(%x: f32[2] user_input) {
    %c: f32[2] = aten.clone.default(%x)
    %sigmoid: f32[2] = aten.sigmoid.default(%c)
    %mul: f32[2] = aten.mul.Tensor(%c, %sigmoid)
    return (%mul user_output)
  }
})"},
    {"PiecesOfASplitAreViews", R"(program training {
  graph(%x: f32[4] user_input) {
    %c: f32[4] = aten.clone.default(%x)
    [%a: f32[1], %b: f32[3]] = aten.split_with_sizes.default(%c, [1,3])
    %neg_: f32[3] = aten.neg_.default(%b)
    %y: f32[1] = aten.relu.default(%a)
    return (%c user_output, %y user_output)
  }
})",
     R"(program training {
  graph(%x: f32[4] user_input) {
    %c: f32[4] = aten.clone.default(%x)
    [%a: f32[1], %b: f32[3]] = aten.split_with_sizes.default(%c, [1,3])
    %neg: f32[3] = aten.neg.default(%b)
    %slice_scatter: f32[4] = aten.slice_scatter.default(%c, %neg, 0, 1, 4)
    [%split_with_sizes: f32[1], %split_with_sizes_1: f32[3]{offset=1}] = aten.split_with_sizes.default(%slice_scatter, [1,3])
    %y: f32[1] = aten.relu.default(%split_with_sizes)
    return (%slice_scatter user_output, %y user_output)
  }
})"},
};

class FunctionalizeTest : public testing::TestWithParam<Case> {};

TEST_P(FunctionalizeTest, Rewrites) {
  ExpectRewrite(GetParam().before, Functionalize().run, GetParam().after, Ops());
}

INSTANTIATE_TEST_SUITE_P(Cases, FunctionalizeTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FunctionalizeTest, KeepsFunctionalPrograms) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %t: f32[3,2]{strides=[1,3]} = aten.permute.default(%x, [1,0])
    return (%t user_output)
  }
})",
                  Functionalize().run, Ops());
}

TEST(FunctionalizeTest, ListsAllOperatorsWithoutFunctionalVariant) {
  const std::string before = R"(program training {
  graph(%x: f32[2] user_input, %i: i64[1] user_input) {
    %r: f32[2] = aten.resize_.default(%x, [2])
    %u: f32[2] = aten.embedding_renorm_.default(%x, %i, 1.0, 2.0)
    return (%r user_output)
  }
})";
  ExpectPassError(before, Functionalize().run, absl::StatusCode::kUnimplemented,
                  "%r: f32[2] = aten.resize_.default", Ops());
  ExpectPassError(before, Functionalize().run, absl::StatusCode::kUnimplemented,
                  "%u: f32[2] = aten.embedding_renorm_.default", Ops());
}

TEST(FunctionalizeTest, RejectsWritesToExpandedTensors) {
  ExpectPassError(R"(program training {
  graph(%x: f32[1,2] user_input) {
    %e: f32[3,2]{strides=[0,1]} = aten.expand.default(%x, [3,2])
    %mul_: f32[3,2]{strides=[0,1]} = aten.mul_.Scalar(%e, 2)
    return (%mul_ user_output)
  }
})",
                  Functionalize().run, absl::StatusCode::kUnimplemented,
                  "whose elements share memory\n  at %mul_", Ops());
}

TEST(FunctionalizeTest, RejectsSubgraphsThatWriteOperands) {
  ExpectPassError(R"(program training {
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %y: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
    return (%y user_output)
  }
  graph true_graph_0(%x: f32[2]) {
    %mul_: f32[2] = aten.mul_.Scalar(%x, 2)
    return (%mul_)
  }
  graph false_graph_0(%x: f32[2]) {
    %r: f32[2] = aten.relu.default(%x)
    return (%r)
  }
})",
                  Functionalize().run, absl::StatusCode::kUnimplemented,
                  "the body 'true_graph_0' of a control-flow operator writes its operand 'x'",
                  Ops());
}

TEST(FunctionalizeTest, RewritesSubgraphs) {
  ExpectRewrite(R"(program training {
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %y: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
    return (%y user_output)
  }
  graph true_graph_0(%x: f32[2]) {
    %c: f32[2] = aten.clone.default(%x)
    %mul_: f32[2] = aten.mul_.Scalar(%c, 2)
    return (%c)
  }
  graph false_graph_0(%x: f32[2]) {
    %r: f32[2] = aten.relu.default(%x)
    return (%r)
  }
})",
                Functionalize().run, R"(program training {
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %y: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
    return (%y user_output)
  }
  graph true_graph_0(%x: f32[2]) {
    %c: f32[2] = aten.clone.default(%x)
    %mul: f32[2] = aten.mul.Scalar(%c, 2)
    return (%mul)
  }
  graph false_graph_0(%x: f32[2]) {
    %r: f32[2] = aten.relu.default(%x)
    return (%r)
  }
})",
                Ops());
}

TEST(FunctionalizeTest, OutTensorsAreNotResized) {
  ExpectPassError(R"(program training {
  graph(%x: f32[3] user_input, %o: f32[2] user_input) {
    %neg: f32[3] = aten.neg.out(%x, out=%o)
    return (%neg user_output)
  }
})",
                  Functionalize().run, absl::StatusCode::kUnimplemented,
                  "the tensor f32[2] would be resized to hold the result f32[3]", Ops());
}

TEST(FunctionalizeTest, LongChainsOfViewsDoNotRecurse) {
  std::string before = "program training {\n  graph(%v0: f32[2] user_input) {\n";
  constexpr int kViews = 20000;
  for (int i = 1; i <= kViews; ++i) {
    before += "    %v" + std::to_string(i) + ": f32[2] = aten.alias.default(%v" +
              std::to_string(i - 1) + ")\n";
  }
  before += "    %mul_: f32[2] = aten.mul_.Scalar(%v" + std::to_string(kViews) +
            ", 2)\n    return (%mul_ user_output)\n  }\n}";
  ExportedProgram program = ParseProgram(before, Ops()).value();
  const absl::StatusOr<bool> changed = Functionalize().run(program);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(program.signature.outputs.size(), 2u);
  EXPECT_EQ(program.top().num_nodes(), kViews + 1u);
}

// Writes and reads at the end of a view chain: the node count is linear in both.
TEST(FunctionalizeTest, LongChainsOfViewsAreComposed) {
  constexpr int kViews = 300, kWrites = 300;
  std::string before = "program training {\n  graph(%v0: f32[2,3] user_input) {\n";
  for (int i = 1; i <= kViews; ++i) {
    const std::string type = i % 2 == 1 ? "f32[3,2]{strides=[1,3]}" : "f32[2,3]";
    before += "    %v" + std::to_string(i) + ": " + type + " = aten.transpose.int(%v" +
              std::to_string(i - 1) + ", 0, 1)\n";
  }
  for (int i = 0; i < kWrites; ++i) {
    before += "    %w" + std::to_string(i) + ": f32[2,3] = aten.add_.Tensor(%v" +
              std::to_string(i % 2 == 0 ? kViews : kViews - 20) + ", %v0)\n";
  }
  before += "    return (%w0 user_output)\n  }\n}";
  absl::StatusOr<ExportedProgram> program = ParseProgram(before, Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::StatusOr<bool> changed = Functionalize().run(*program);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_LT(program->top().num_nodes(), 10u * (kViews + kWrites));
}

TEST(FunctionalizeTest, WrittenParametersBecomeMutations) {
  ExpectRewrite(R"(program training {
  constants { state "w": f32[2] }
  graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
    %a: f32[2] = aten.add_.Tensor(%w, %x)
    return (%x user_output)
  }
})",
                Functionalize().run, R"(program training {
  constants { state "w": f32[2] }
  graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
    %add: f32[2] = aten.add.Tensor(%w, %x)
    return (%add parameter_mutation "w", %x user_output)
  }
})",
                Ops());
}

// All written operands of one call.
TEST(FunctionalizeTest, OperandsUseCurrentValues) {
  ExpectRewrite(R"(program training {
  graph(%x: f32[2] user_input, %y: f32[2] user_input) {
    %a: f32[2] = aten.add_.Tensor(%x, 1)
    %b: f32[2] = aten.add_.Tensor(%y, 2)
    %c: f32[6] = aten.cat.default([%x, %y, %x])
    return (%c user_output)
  }
})",
                Functionalize().run, R"(program training {
  graph(%x: f32[2] user_input, %y: f32[2] user_input) {
    %add: f32[2] = aten.add.Tensor(%x, 1)
    %add_1: f32[2] = aten.add.Tensor(%y, 2)
    %c: f32[6] = aten.cat.default([%add, %add_1, %add])
    return (%add user_input_mutation "x", %add_1 user_input_mutation "y", %c user_output)
  }
})",
                Ops());
}

// An unknown size may equal any other; two known sizes are compared.
TEST(FunctionalizeTest, UnknownSizesMayBeEqual) {
  const std::tuple<const char*, const char*, bool> kCases[] = {
      {"s0", "4", true}, {"4", "s0", true}, {"s0", "s1", true}, {"1", "4", false}};
  for (const auto& [written, other, fits] : kCases) {
    SCOPED_TRACE(absl::StrCat(written, " ", other));
    absl::StatusOr<ExportedProgram> program = ParseProgram(
        absl::StrCat("program training { ranges { s0: [2, 8] s1: [2, 8] } graph(%x: f32[3,",
                     written, "] user_input, %y: f32[3,", other, "] user_input) { %r: f32[3,",
                     written, "] = aten.add_.Tensor(%x, %y)\nreturn (%r user_output) } }"),
        Ops());
    ASSERT_OK(program.status());
    const absl::StatusOr<bool> changed = Functionalize().run(*program);
    EXPECT_EQ(changed.ok(), fits) << changed.status();
    if (fits) EXPECT_EQ(program->signature.outputs.front().kind, OutputKind::kUserInputMutation);
  }
}

TEST(FunctionalizeTest, RejectsWritesToStatelessInputs) {
  ExpectPassError(R"(program training {
  graph(%o: f32[2] custom_obj "o", %x: f32[2] user_input) {
    %a: f32[2] = aten.add_.Tensor(%o, %x)
    return (%x user_output)
  }
})",
                  Functionalize().run, absl::StatusCode::kUnimplemented,
                  "a write to the input 'o', which is custom_obj", Ops());
}

// A program that verifies may have invalid calls: each is an error at its node.
TEST(FunctionalizeTest, ReportsInvalidCallsAtTheirNodes) {
  const std::pair<const char*, const char*> kCases[] = {
      // Writes to non-tensors, of mismatched values, or by failing operators.
      {"%r: f32[] = aten.add_.Tensor(2.0, 1)", "not a tensor\n  at %r"},
      {"%r: f32[2] = aten.neg.out(%x, out=2.0)", "is not written\n  at %r"},
      {"%r: f32[2,3] = aten.copy_.default(%m, %c)", "is written to a tensor f32[2,3]\n  at %r"},
      {"%r: f32[1] = aten.add_.Tensor(%one, %x)",
       "a result f32[2] is written to a tensor f32[1]\n  at %r"},
      {"%r: f32[2] = aten.copy_.default(%x, %y3)", "\n  at %r"},
      {"%r: f32[2,3] = aten.transpose_.default(%m, 0, 5)", "\n  at %r"},
      {"%r: f32[2,2] = aten.mm.out(%m, %m, out=%q)", "\n  at %r"},
      {"%e: f32[3,2]{strides=[0,1]} = aten.expand.default(%x, [3,2])\n"
       "%r: f32[3,2] = aten.neg.out(%e, out=%e)",
       "whose elements share memory\n  at %r"},
      {"%v: f32[7] = aten.view.default(%m, [7])\n"
       "%u: f32[7] = aten.slice.Tensor(%v, 0, 0, 7)\n%w: f32[2,3] = aten.mul_.Scalar(%m, 2)\n"
       "%r: f32[7] = aten.neg.default(%u)",
       "\n  at %r"},
      {"[%v: f32[1,3], %v2: f32[1,3], %v3: f32[1,3]] = aten.split_with_sizes.default(%m, [1,1])\n"
       "%r: f32[1,3] = aten.mul_.Scalar(%v3, 2)",
       "\n  at %r"},
      // Invalid views, read or written after a write to their storage.
      {"%v: f32[7] = aten.view.default(%m, [7])\n%w: f32[2,3] = aten.mul_.Scalar(%m, 2)\n"
       "%r: f32[7] = aten.neg.default(%v)",
       "\n  at %r"},
      {"%v: f32[7] = aten.slice.Tensor(%m, 5)\n%w: f32[2,3] = aten.mul_.Scalar(%m, 2)\n"
       "%r: f32[7] = aten.mul_.Scalar(%v, 2)",
       "\n  at %r"},
      {"%v: f32[3,2] = aten.permute.default(%m, [0,5])\n%r: f32[3,2] = aten.mul_.Scalar(%v, 2)",
       "\n  at %r"},
      {"%v: f32[2] = aten.diagonal.default(%m, 0, 0, 0)\n%r: f32[2] = aten.mul_.Scalar(%v, 2)",
       "\n  at %r"},
      {"[%v: f32[1,3], %v2: f32[1,3], %v3: f32[1,3]] = aten.split_with_sizes.default(%m, [1,1])\n"
       "%w: f32[2,3] = aten.mul_.Scalar(%m, 2)\n%r: f32[1,3] = aten.mul_.Scalar(%v3, 2)",
       "\n  at %r"},
  };
  for (const auto& [nodes, message] : kCases) {
    SCOPED_TRACE(nodes);
    absl::StatusOr<ExportedProgram> program = ParseProgram(
        absl::StrCat(
            "program training { graph(%x: f32[2] user_input, %one: f32[1] user_input, %y3: "
            "f32[3] user_input, %m: f32[2,3] user_input, %q: f32[2,2] user_input, %c: "
            "f32[4,2,3] user_input) {\n",
            nodes, "\nreturn (%x user_output) } }"),
        Ops());
    ASSERT_OK(program.status());
    EXPECT_OK(Verify(*program));
    const absl::Status status = Functionalize().run(*program).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(message));
  }
}

// Same at the end of a program, where returned views are read.
TEST(FunctionalizeTest, RejectsInvalidReturnedViews) {
  ExpectPassError(R"(program training {
  graph(%m: f32[2,3] user_input) {
    %v: f32[7] = aten.view.default(%m, [7])
    %w: f32[2,3] = aten.mul_.Scalar(%m, 2)
    return (%v user_output)
  }
})",
                  Functionalize().run, absl::StatusCode::kInvalidArgument, "", Ops());
}

// Writes and reads a view at the end of a long chain, for all kinds of views in between.
TEST(FunctionalizeTest, LongChainsWithViewsOfEveryKind) {
  const struct {
    const char *name, *node;
    bool works;
  } kViews[] = {
      {"bits", "%v: i32[2,3] = aten.view.dtype(%t, dtype:i32)", true},
      {"diagonal", "%v: f32[2,3] = aten.unfold.default(%u, 0, 3, 3)", true},
      {"nothing", "%v: f32[2,3] = aten.permute.default(%t, [0,5])", false},
      {"a view of nothing",
       "%n: f32[3,2] = aten.permute.default(%t, [0,5])\n"
       "%v: f32[2,3] = aten.transpose.int(%n, 0, 1)",
       false},
  };
  for (const auto& c : kViews) {
    SCOPED_TRACE(c.name);
    for (const bool reads : {false, true}) {
      std::string text = "program training {\n  graph(%v0: f32[2,3] user_input) {\n";
      constexpr int kLength = 20;
      for (int i = 1; i <= kLength; ++i) {
        const std::string type = i % 2 == 1 ? "f32[3,2]{strides=[1,3]}" : "f32[2,3]";
        text += absl::StrCat("%v", i, ": ", type, " = aten.transpose.int(%v", i - 1, ", 0, 1)\n");
      }
      text += absl::StrCat("%t: f32[2,3] = aten.alias.default(%v", kLength,
                           ")\n%u: f32[6] = aten.view.default(%t, [6])\n", c.node, "\n");
      const std::string type = std::string(c.name) == "bits" ? "i32[2,3]" : "f32[2,3]";
      text += reads ? absl::StrCat("%w: f32[2,3] = aten.mul_.Scalar(%v0, 2)\n%r: ", type,
                                   " = aten.neg.default(%v)\n")
                    : absl::StrCat("%r: ", type, " = aten.mul_.Scalar(%v, 2)\n");
      text += "return (%r user_output) } }";
      absl::StatusOr<ExportedProgram> program = ParseProgram(text, Ops());
      ASSERT_OK(program.status());
      const absl::StatusOr<bool> changed = Functionalize().run(*program);
      EXPECT_EQ(changed.ok(), c.works) << changed.status();
      if (c.works) EXPECT_OK(Verify(*program));
    }
  }
}

}  // namespace
}  // namespace belay::exir
