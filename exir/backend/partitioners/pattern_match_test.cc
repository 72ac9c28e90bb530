// Tests of patterns in graphs and of PatternPartitioner: docs/lowering.md row 37.
#include "exir/backend/partitioners/pattern_match.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/ir/graph_editor.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ExportedProgram Program(std::string_view inputs, std::string_view lines, std::string_view outputs,
                        std::string_view dialect = "edge") {
  return ParseOrDie(absl::StrCat("program ", dialect, " {\n graph(", inputs, ") {\n", lines,
                                 "\n return (", outputs, ")\n }\n}"),
                    TestOps());
}
constexpr std::string_view kX = "%x: f32[2] user_input";
constexpr std::string_view kXY = "%x: f32[2] user_input, %y: f32[2] user_input";

std::vector<std::string> Find(const ExportedProgram& program, const ExportedProgram& pattern,
                              const PatternMatchOptions& options = {}) {
  const auto found = FindPattern(program.top(), pattern.top(), options);
  if (!found.ok()) return {std::string(found.status().message())};
  std::vector<std::string> strings;
  for (const std::vector<NodeId>& nodes : *found) {
    std::string text;
    for (NodeId node : nodes) {
      absl::StrAppend(&text, text.empty() ? "" : " ", program.top().node(node).name);
    }
    strings.push_back(text);
  }
  return strings;
}

const ExportedProgram& ReluAdd() {
  static const ExportedProgram* const pattern =
      new ExportedProgram(Program(kXY, R"(%r: f32[2] = aten.relu.default(%x)
                                          %s: f32[2] = aten.add.Tensor(%r, %y))",
                                  "%s user_output", "aten"));
  return *pattern;
}

TEST(PatternMatchTest, FindsEveryOccurrenceInAnyDialect) {
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[2] = edge.aten.relu.default(%x)
                                   %b: f32[2] = edge.aten.add.Tensor(%a, %y)
                                   %c: f32[2] = edge.aten.relu.default(%b)
                                   %d: f32[2] = edge.aten.neg.default(%x)
                                   %e: f32[2] = edge.aten.add.Tensor(%c, %d))",
                           "%e user_output"),
                   ReluAdd()),
              ElementsAre("a b", "c e"));
}

TEST(PatternMatchTest, AttributePatternMatchesExactlyOnce) {
  // A constant matches an input of the pattern.
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.relu.default(%x)
      %b: f32[2] = edge.aten.add.Tensor(%a, %w)
      %c: f32[2] = edge.aten.add.Tensor(%b, %w)
      return (%c user_output)
    }
  })",
                                             TestOps());
  EXPECT_THAT(Find(program, ReluAdd()), ElementsAre("a b"));
}

TEST(PatternMatchTest, AllUsesOfAnInputMatchTheSameArgument) {
  const ExportedProgram square =
      Program(kX, "%s: f32[2] = aten.mul.Tensor(%x, %x)", "%s user_output", "aten");
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[2] = edge.aten.mul.Tensor(%x, %y)
                                   %b: f32[2] = edge.aten.mul.Tensor(%y, %y))",
                           "%a user_output, %b user_output"),
                   square),
              ElementsAre("b"));
}

TEST(PatternMatchTest, LiteralsCountUnlessIgnored) {
  const ExportedProgram pattern =
      Program(kXY, "%s: f32[2] = aten.add.Tensor(%x, %y, alpha=2)", "%s user_output", "aten");
  const ExportedProgram program = Program(kXY, R"(%a: f32[2] = edge.aten.add.Tensor(%x, %y)
                                   %b: f32[2] = edge.aten.add.Tensor(%y, %y, alpha=2))",
                                          "%a user_output, %b user_output");
  EXPECT_THAT(Find(program, pattern), ElementsAre("b"));
  EXPECT_THAT(Find(program, pattern, {.ignore_literals = true}), ElementsAre("a", "b"));
}

TEST(PatternMatchTest, InputsMatchLiteralsToo) {
  const ExportedProgram pattern =
      Program("%x: f32[2] user_input, %s: symint(s0) user_input",
              "%m: f32[2] = aten.mul.Scalar(%x, %s)", "%m user_output", "aten");
  EXPECT_THAT(
      Find(Program(kX, "%a: f32[2] = edge.aten.mul.Scalar(%x, 3)", "%a user_output"), pattern),
      ElementsAre("a"));
}

TEST(PatternMatchTest, ListsMatchElementByElement) {
  const ExportedProgram pattern =
      Program(kXY, "%c: f32[4] = aten.cat.default([%x, %y])", "%c user_output", "aten");
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[4] = edge.aten.cat.default([%y, %x])
                                   %b: f32[6] = edge.aten.cat.default([%y, %x, %x]))",
                           "%a user_output, %b user_output"),
                   pattern),
              ElementsAre("a"));
  const ExportedProgram twice =
      Program(kXY, "%c: f32[4] = aten.cat.default([%x, %x])", "%c user_output", "aten");
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[4] = edge.aten.cat.default([%y, %x])
                                   %b: f32[4] = edge.aten.cat.default([%y, %y]))",
                           "%a user_output, %b user_output"),
                   twice),
              ElementsAre("b"));
}

// Found through the common operand. A literal in its place has no users.
TEST(PatternMatchTest, PatternMayBeConnectedByAnInput) {
  const ExportedProgram pattern =
      Program("%x: f32[2] user_input, %y: f32[2] user_input, %s: f32[2] user_input",
              R"(%a: f32[2] = aten.sub.Tensor(%x, %s)
                 %b: f32[2] = aten.add.Tensor(%y, %s))",
              "%a user_output, %b user_output", "aten");
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[2] = edge.aten.sub.Tensor(%x, %y)
                                   %b: f32[2] = edge.aten.add.Tensor(%x, %y))",
                           "%a user_output, %b user_output"),
                   pattern),
              ElementsAre("a b"));
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[2] = edge.aten.sub.Tensor(%x, 2)
                                   %b: f32[2] = edge.aten.add.Tensor(%x, 2))",
                           "%a user_output, %b user_output"),
                   pattern),
              IsEmpty());
}

// Opaque operators, so that calls of one name may have any arguments and results.
TEST(PatternMatchTest, ComparesArgumentsNamesAndResults) {
  const ExportedProgram pattern =
      Program(kXY, "%r: f32[2] = my.own.op(%x, other=%y)", "%r user_output", "aten");
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[2] = my.own.op(%x)
                                   %b: f32[2] = my.own.op(%x, %y)
                                   %c: f32[2] = my.own.op(%x, another=%y)
                                   %d: f32[2], %e: f32[2] = my.own.op(%x, other=%y)
                                   %f: f32[2] = my.own.op(%y, other=%x))",
                           "%f user_output"),
                   pattern),
              ElementsAre("f"));
}

// Two equal nodes of the pattern do not match one node of the graph.
TEST(PatternMatchTest, PatternNodesMatchDistinctNodes) {
  const ExportedProgram pattern = Program(kX, R"(%a: f32[2] = aten.relu.default(%x)
                                                 %b: f32[2] = aten.relu.default(%x)
                                                 %c: f32[2] = aten.add.Tensor(%a, %b))",
                                          "%c user_output", "aten");
  EXPECT_THAT(Find(Program(kX, R"(%a: f32[2] = edge.aten.relu.default(%x)
                                  %b: f32[2] = edge.aten.relu.default(%x)
                                  %c: f32[2] = edge.aten.add.Tensor(%a, %a)
                                  %d: f32[2] = edge.aten.relu.default(%x)
                                  %e: f32[2] = edge.aten.add.Tensor(%d, %b))",
                           "%c user_output, %e user_output"),
                   pattern),
              ElementsAre("b d e"));
}

TEST(PatternMatchTest, LiteralsDoNotMatchNodesNorValuesLists) {
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[2] = edge.aten.add.Tensor(2, %y)
                                   %b: f32[2] = edge.aten.add.Tensor(%x, %y))",
                           "%a user_output, %b user_output"),
                   ReluAdd()),
              IsEmpty());
  const ExportedProgram list =
      Program(kXY, "%r: f32[2] = my.own.op([%x, 3])", "%r user_output", "aten");
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[2] = my.own.op(%x)
                                   %b: f32[2] = my.own.op(3)
                                   %c: f32[2] = my.own.op([%y, 3]))",
                           "%c user_output"),
                   list),
              ElementsAre("c"));
}

// %m is connected to the pattern by both operands, and only by the second user of %r. The first
// matching user in the graph is used.
TEST(PatternMatchTest, FindsFurtherNodesAmongAllUsers) {
  const ExportedProgram pattern = Program(kXY, R"(%r: f32[2] = aten.relu.default(%x)
                                                  %n: f32[2] = aten.neg.default(%y)
                                                  %m: f32[2] = aten.mul.Tensor(%r, %n)
                                                  %d: f32[2] = aten.sub.Tensor(%m, %r)
                                                  %s: f32[2] = aten.add.Tensor(%r, %n))",
                                          "%m user_output, %s user_output, %d user_output, %r "
                                          "user_output",
                                          "aten");
  EXPECT_THAT(Find(Program(kXY, R"(%r: f32[2] = edge.aten.relu.default(%x)
                                   %n: f32[2] = edge.aten.neg.default(%y)
                                   %k: f32[2] = edge.aten.mul.Tensor(%r, %r)
                                   %m: f32[2] = edge.aten.mul.Tensor(%r, %n)
                                   %d: f32[2] = edge.aten.sub.Tensor(%m, %r)
                                   %s: f32[2] = edge.aten.add.Tensor(%r, %n))",
                           "%m user_output, %s user_output, %d user_output, %k user_output"),
                   pattern),
              ElementsAre("r n m d s"));
}

// The first multiplication has an outside use that the pattern does not return; the second has
// none.
TEST(PatternMatchTest, BacktracksToTheNextUser) {
  const ExportedProgram pattern = Program(kX, R"(%r: f32[2] = aten.relu.default(%x)
                                                 %m: f32[2] = aten.mul.Tensor(%r, %x)
                                                 %k: f32[2] = aten.sub.Tensor(%m, %r)
                                                 %s: f32[2] = aten.neg.default(%r))",
                                          "%k user_output, %s user_output, %r user_output", "aten");
  for (const bool first : {true, false}) {
    const std::string_view used = first ? "%m" : "%n";
    EXPECT_THAT(Find(Program(kX, R"(%r: f32[2] = edge.aten.relu.default(%x)
                                    %m: f32[2] = edge.aten.mul.Tensor(%r, %x)
                                    %n: f32[2] = edge.aten.mul.Tensor(%r, %x)
                                    %k: f32[2] = edge.aten.sub.Tensor(%m, %r)
                                    %l: f32[2] = edge.aten.sub.Tensor(%n, %r)
                                    %s: f32[2] = edge.aten.neg.default(%r))",
                             absl::StrCat("%k user_output, %l user_output, %s user_output, ", used,
                                          " user_output")),
                     pattern),
                ElementsAre(first ? "r n l s" : "r m k s"));
  }
}

TEST(PatternMatchTest, RejectsOutsideUsesOfInternalValues) {
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[2] = edge.aten.relu.default(%x)
                                   %b: f32[2] = edge.aten.add.Tensor(%a, %y))",
                           "%b user_output, %a user_output"),
                   ReluAdd()),
              IsEmpty());
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[2] = edge.aten.relu.default(%x)
                                   %b: f32[2] = edge.aten.add.Tensor(%a, %y)
                                   %c: f32[2] = edge.aten.neg.default(%a))",
                           "%b user_output, %c user_output"),
                   ReluAdd()),
              IsEmpty());
}

TEST(PatternMatchTest, OccurrencesDoNotOverlap) {
  const ExportedProgram pattern = Program(kX, R"(%a: f32[2] = aten.neg.default(%x)
                                                 %b: f32[2] = aten.neg.default(%a))",
                                          "%b user_output, %a user_output", "aten");
  EXPECT_THAT(Find(Program(kX, R"(%a: f32[2] = edge.aten.neg.default(%x)
                                  %b: f32[2] = edge.aten.neg.default(%a)
                                  %c: f32[2] = edge.aten.neg.default(%b)
                                  %d: f32[2] = edge.aten.neg.default(%c))",
                           "%d user_output"),
                   pattern),
              ElementsAre("a b", "c d"));
}

// A node that the pattern uses twice matches one node, not two equal ones.
TEST(PatternMatchTest, NodeUsedTwiceMatchesOnce) {
  const ExportedProgram pattern = Program(kX, R"(%a: f32[2] = aten.relu.default(%x)
                                                 %b: f32[2] = aten.neg.default(%a)
                                                 %c: f32[2] = aten.add.Tensor(%a, %b))",
                                          "%c user_output", "aten");
  EXPECT_THAT(Find(Program(kX, R"(%a: f32[2] = edge.aten.relu.default(%x)
                                  %a2: f32[2] = edge.aten.relu.default(%x)
                                  %b: f32[2] = edge.aten.neg.default(%a)
                                  %c: f32[2] = edge.aten.add.Tensor(%a2, %b))",
                           "%c user_output"),
                   pattern),
              IsEmpty());
}

// The second result depends only on the first node: it is found through uses.
TEST(PatternMatchTest, PatternWithTwoResults) {
  const ExportedProgram pattern = Program(kX, R"(%a: f32[2] = aten.relu.default(%x)
                                                 %b: f32[2] = aten.neg.default(%a)
                                                 %c: f32[2] = aten.mul.Tensor(%a, %x))",
                                          "%b user_output, %c user_output", "aten");
  EXPECT_THAT(Find(Program(kXY, R"(%a: f32[2] = edge.aten.relu.default(%x)
                                   %b: f32[2] = edge.aten.neg.default(%a)
                                   %c: f32[2] = edge.aten.mul.Tensor(%a, %x)
                                   %d: f32[2] = edge.aten.relu.default(%x)
                                   %e: f32[2] = edge.aten.mul.Tensor(%d, %x))",
                           "%b user_output, %c user_output, %e user_output"),
                   pattern),
              ElementsAre("a b c"));
}

TEST(PatternMatchTest, ResultsAreMatchedByPosition) {
  constexpr std::string_view kImage = "%x: f32[1,1,4,4] user_input";
  const auto pool = [](std::string_view used, std::string_view type) {
    return absl::StrCat(
        "%p: f32[1,1,2,2], %i: i64[1,1,2,2] = aten.max_pool2d_with_indices.default(%x, [2,2])\n"
        "%r: ",
        type, "[1,1,2,2] = aten.neg.default(%", used, ")");
  };
  const ExportedProgram first = Program(kImage, pool("p", "f32"), "%r user_output", "aten");
  const ExportedProgram second = Program(kImage, pool("i", "i64"), "%r user_output", "aten");
  EXPECT_THAT(Find(first, first), ElementsAre("p r"));
  EXPECT_THAT(Find(first, second), IsEmpty());
}

TEST(PatternMatchTest, RejectsEmptyAndDisconnectedPatterns) {
  const ExportedProgram program =
      Program(kX, "%a: f32[2] = edge.aten.neg.default(%x)", "%a user_output");
  EXPECT_THAT(Find(program, Program(kX, "", "%x user_output", "aten")),
              ElementsAre(HasSubstr("expected a pattern with nodes")));
  EXPECT_THAT(Find(program, Program(kXY, R"(%a: f32[2] = aten.neg.default(%x)
                                            %b: f32[2] = aten.neg.default(%y))",
                                    "%a user_output, %b user_output", "aten")),
              ElementsAre(HasSubstr("expected a pattern that hangs together")));
  EXPECT_THAT(Find(program, Program(kXY, R"(%a: f32[2] = aten.relu.default(%x)
                                    %b: f32[2] = aten.neg.default(%y)
                                    %c: f32[2] = aten.neg.default(%a))",
                                    "%b user_output, %c user_output", "aten")),
              ElementsAre(HasSubstr("nothing connects %b: f32[2] = aten.neg.default(%y)")));
  const ExportedProgram bodies = ParseOrDie(R"(program aten {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      return (%c user_output)
    }
    graph t(%y: f32[2]) { return (%y) }
    graph f(%y: f32[2]) { return (%y) }
  })",
                                            TestOps());
  EXPECT_THAT(Find(program, bodies), ElementsAre(HasSubstr("without subgraphs and modules")));
}

TEST(PatternMatchTest, AHundredThousandNodesTakeSeconds) {
  ExportedProgram program(&TestOps());
  program.graphs.push_back(Graph());
  GraphEditor editor(program.top());
  const ValueType type = TensorMeta::Contiguous(DType::kFloat32, {2});
  const ValueId input = editor.AddInput("x", type);
  ValueId value = input;
  for (int i = 0; i < 50000; ++i) {
    value = editor.InsertOp(
        NodeId(),
        {.name = "r", .target = TestOps().FindText("edge.aten.relu.default"), .arguments = {value}},
        type);
    value = editor.InsertOp(NodeId(),
                            {.name = "s",
                             .target = TestOps().FindText("edge.aten.add.Tensor"),
                             .arguments = {value, input, 1}},
                            type);
  }
  editor.SetOutputs({value});
  ASSERT_OK_AND_ASSIGN(const auto found, FindPattern(program.top(), ReluAdd().top()));
  EXPECT_EQ(found.size(), 50000u);
}

// --- The partitioner ---

std::vector<std::string> Tags(const ExportedProgram& program, const PartitionResult& result) {
  std::vector<std::string> tags;
  for (const auto& tagged : result.nodes) {
    tags.push_back(
        absl::StrCat(program.graphs[tagged.graph].node(tagged.node).name, "=", tagged.tag));
  }
  return tags;
}

TEST(PatternPartitionerTest, TagsOccurrencesAndNeverTheirInputs) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %n: f32[2] = edge.aten.neg.default(%x)
      %a: f32[2] = edge.aten.relu.default(%n)
      %b: f32[2] = edge.aten.add.Tensor(%a, %n)
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%b])
      return (%c user_output)
    }
    graph t(%y: f32[2]) {
      %d: f32[2] = edge.aten.relu.default(%y)
      %e: f32[2] = edge.aten.add.Tensor(%d, %y)
      return (%e)
    }
    graph f(%y: f32[2]) { return (%y) }
  })",
                                             TestOps());
  const auto pattern = std::make_shared<const ExportedProgram>(ReluAdd().Clone());
  const PatternPartitioner partitioner({"recorder", {}}, {pattern});
  ASSERT_OK_AND_ASSIGN(const PartitionResult result, partitioner.Partition(program));
  EXPECT_THAT(Tags(program, result), ElementsAre("a=tag1", "b=tag1", "d=tag3", "e=tag3"));
  ASSERT_EQ(result.rejections.size(), 2u);
  EXPECT_EQ(result.rejections[0].reason, "no pattern matches");
}

// Nodes of an earlier pattern are not checked again, and an occurrence without remaining nodes is
// dropped.
TEST(PatternPartitionerTest, NodesBelongToTheFirstMatchingPattern) {
  const ExportedProgram program = Program(kXY, R"(%a: f32[2] = edge.aten.relu.default(%x)
                                   %b: f32[2] = edge.aten.add.Tensor(%a, %y))",
                                          "%b user_output");
  const auto pattern = std::make_shared<const ExportedProgram>(ReluAdd().Clone());
  PatternPartitionerOptions options;
  options.keep_together = true;
  int asked = 0;
  options.support = [&](const ExportedProgram&, GraphId, NodeId) -> std::string {
    ++asked;
    return "no";
  };
  const PatternPartitioner partitioner({"recorder", {}}, {pattern, pattern}, options);
  ASSERT_OK_AND_ASSIGN(const PartitionResult result, partitioner.Partition(program));
  EXPECT_THAT(Tags(program, result), ElementsAre("a=tag0", "b=tag0"));
  EXPECT_EQ(asked, 0);
  EXPECT_THAT(result.rejections, IsEmpty());
}

TEST(PatternPartitionerTest, SupportedNodesJoinAndGroupsStayTogether) {
  const ExportedProgram program = Program(kXY, R"(%n: f32[2] = edge.aten.neg.default(%x)
                                   %a: f32[2] = edge.aten.relu.default(%n)
                                   %b: f32[2] = edge.aten.add.Tensor(%a, %y)
                                   %m: f32[2] = edge.aten.mul.Tensor(%b, %y))",
                                          "%m user_output");
  const auto pattern = std::make_shared<const ExportedProgram>(ReluAdd().Clone());
  PatternPartitionerOptions options;
  options.support = SupportOps({"aten.neg.default"});
  options.keep_together = true;
  const PatternPartitioner partitioner({"recorder", {}}, {pattern}, options);
  ASSERT_OK_AND_ASSIGN(const PartitionResult result, partitioner.Partition(program));
  ASSERT_EQ(result.delegation.size(), 1u);
  EXPECT_EQ(result.nodes.size(), 3u);
  ASSERT_EQ(result.rejections.size(), 1u);
  EXPECT_EQ(result.rejections[0].reason, "operator aten.mul.Tensor is not supported");
}

TEST(PatternPartitionerTest, AcceptsSupportWithoutPatternsAndChecksPatterns) {
  const ExportedProgram program =
      Program(kX, "%a: f32[2] = edge.aten.neg.default(%x)", "%a user_output");
  PatternPartitionerOptions options;
  options.support = SupportOps({"aten.neg.default"});
  ASSERT_OK_AND_ASSIGN(const PartitionResult result,
                       PatternPartitioner({"recorder", {}}, {}, options).Partition(program));
  EXPECT_THAT(Tags(program, result), ElementsAre("a=tag0"));
  const auto empty =
      std::make_shared<const ExportedProgram>(Program(kX, "", "%x user_output", "aten"));
  EXPECT_THAT(PatternPartitioner({"recorder", {}}, {empty}).Partition(program),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected a pattern with nodes, got none")));
}

TEST(PatternPartitionerTest, RejectsNeitherPatternsNorSupport) {
  const ExportedProgram program = Program(kX, "", "%x user_output");
  EXPECT_THAT(PatternPartitioner({"recorder", {}}, {}).Partition(program),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got neither")));
  EXPECT_THAT(ProposeFromNodeLists(program.top(), {}, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got neither")));
  EXPECT_THAT(ProposeFromNodeLists(program.top(), {{NodeId(7)}}, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("node 7")));
}

// test_graph_partition.py
TEST(GraphPartitionTest, ListsOfNodesBecomePartitions) {
  const ExportedProgram program = Program(kXY, R"(%a: f32[2] = edge.aten.relu.default(%x)
                                   %b: f32[2] = edge.aten.mul.Tensor(%a, %y)
                                   %c: f32[2] = edge.aten.add.Tensor(%b, %y)
                                   %d: f32[2] = edge.aten.mul.Tensor(%c, %y))",
                                          "%d user_output");
  const Graph& graph = program.top();
  const auto sizes = [&](const std::vector<std::vector<NodeId>>& lists,
                         const std::function<bool(NodeId)>& supported) {
    auto proposals = ProposeFromNodeLists(graph, lists, supported);
    std::vector<size_t> counts;
    for (const PartitionProposal& proposal : *proposals) counts.push_back(proposal.nodes.size());
    return counts;
  };
  const std::vector<NodeId> nodes = graph.NodeList();
  EXPECT_THAT(sizes({nodes}, nullptr), ElementsAre(4));
  EXPECT_THAT(sizes({{nodes[0], nodes[1]}, {nodes[3]}}, nullptr), ElementsAre(1, 2));
  EXPECT_THAT(sizes({{nodes[0]}}, [&](NodeId node) { return node == nodes[3]; }),
              ElementsAre(1, 1));
}

// %c may join %a or %d, but not both: the path through %n would re-enter the partition.
TEST(GraphPartitionTest, ListsMayBeKeptTogether) {
  const ExportedProgram program = Program(kXY, R"(%a: f32[2] = edge.aten.relu.default(%x)
                                   %n: f32[2] = edge.aten.neg.default(%a)
                                   %c: f32[2] = edge.aten.relu.default(%a)
                                   %d: f32[2] = edge.aten.add.Tensor(%n, %c))",
                                          "%d user_output");
  const Graph& graph = program.top();
  const auto supported = [&](NodeId node) { return graph.node(node).name != "n"; };
  const std::vector<NodeId> a_and_c = {FindNode(graph, "a"), FindNode(graph, "c")};
  for (const bool together : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<PartitionProposal> proposals,
                         ProposeFromNodeLists(graph, {a_and_c}, supported, together));
    std::vector<std::string> partitions;
    for (const PartitionProposal& proposal : proposals) {
      std::string& names = partitions.emplace_back();
      for (NodeId node : proposal.nodes) names += graph.node(node).name;
    }
    std::sort(partitions.begin(), partitions.end());
    EXPECT_EQ(partitions, together ? std::vector<std::string>({"ac", "d"})
                                   : std::vector<std::string>({"a", "cd"}));
  }
}

}  // namespace
}  // namespace belay::exir
