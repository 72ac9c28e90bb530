#include "exir/ir/subgraph_operands.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kNone = std::nullopt;

// A program with the weight %w, the mutated buffer %b and two subgraphs with these inputs.
ExportedProgram Calling(const std::string& call, const std::string& first,
                        const std::string& second) {
  return ParseOrDie(
      absl::StrCat(R"(program edge {
    constants { state "w": f32[2] state "b": f32[2] }
    graph(%w: f32[2] parameter "w", %b: f32[2] buffer "b", %p: b8[] user_input,
          %x: f32[2] user_input, %r: f32[3,2] user_input) {
      )",
                   call, R"(
      return (%x buffer_mutation "b", %c user_output)
    }
    graph first()",
                   first, ") {\n return (%i0) }\n graph second(", second, ") {\n return (%i0) } }"),
      TestOps());
}

std::string Inputs(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", "%i", i, ": f32[2]");
  }
  return text;
}

TEST(SubgraphOperandsTest, AreThoseWithoutIteration) {
  const struct {
    std::string call;
    size_t argument;
    std::vector<std::pair<GraphId, size_t>> inputs;
  } kCases[] = {
      {"%c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%w])",
       3,
       {{GraphId(1), 0}, {GraphId(2), 0}}},
      {"%c: f32[2] = higher_order.while_loop(graph#1, graph#2, [%x, %x], [%w])",
       3,
       {{GraphId(1), 2}, {GraphId(2), 2}}},
      {"%c: f32[2] = higher_order.scan(graph#1, [%x], [%r, %r], [%w])", 3, {{GraphId(1), 3}}},
      {"%c: f32[2] = higher_order.map_impl(graph#1, [%r], [%w])", 2, {{GraphId(1), 1}}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.call);
    const ExportedProgram program = Calling(c.call, Inputs(4), Inputs(4));
    const Graph& graph = program.top();
    const auto operands = SubgraphOperands(graph.node(*graph.nodes().begin()));
    ASSERT_EQ(operands.size(), 1u);
    EXPECT_EQ(operands[0].argument, c.argument);
    EXPECT_EQ(operands[0].element, 0u);
    EXPECT_EQ(operands[0].value, graph.inputs()[0]);
    EXPECT_EQ(operands[0].inputs, c.inputs);
  }
}

TEST(SubgraphOperandsTest, OtherNodesHaveNone) {
  const ExportedProgram program =
      Calling("%c: f32[2] = edge.aten.relu.default(%x)", Inputs(1), Inputs(1));
  EXPECT_THAT(SubgraphOperands(program.top().node(*program.top().nodes().begin())), IsEmpty());
}

TEST(ConstantSubgraphInputsTest, FindsConstantsAndNotState) {
  const ExportedProgram program = Calling(
      "%c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x, %w, %b])", Inputs(3), Inputs(3));
  EXPECT_THAT(FindConstantSubgraphInputs(program),
              ElementsAre(IsEmpty(), ElementsAre(kNone, std::optional<size_t>(0), kNone),
                          ElementsAre(kNone, std::optional<size_t>(0), kNone)));
}

TEST(ConstantSubgraphInputsTest, FollowsNestedSubgraphs) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %r: f32[3,2] user_input) {
      %c: f32[3,2] = higher_order.map_impl(graph#1, [%r], [%w])
      return (%c user_output)
    }
    graph outer(%x: f32[2], %v: f32[2]) {
      %p: b8[] = edge.aten.any.default(%x)
      %y: f32[2] = higher_order.cond(%p, graph#2, graph#3, [%x, %v])
      return (%y)
    }
    graph yes(%x: f32[2], %u: f32[2]) { return (%x) }
    graph no(%x: f32[2], %u: f32[2]) { return (%x) } })",
                                             TestOps());
  const auto inner = ElementsAre(kNone, std::optional<size_t>(0));
  EXPECT_THAT(FindConstantSubgraphInputs(program), ElementsAre(IsEmpty(), inner, inner, inner));
}

TEST(SubgraphAsProgramTest, HasConstantsAndUserInputs) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %r: f32[3,2] user_input) {
      %c: f32[3,2] = higher_order.map_impl(graph#1, [%r], [%w])
      return (%c user_output)
    }
    graph row(%x: f32[2], %v: f32[2]) {
      %y: f32[2] = edge.aten.add.Tensor(%x, %v)
      return (%y)
    } })",
                                             TestOps());
  const ExportedProgram row =
      SubgraphAsProgram(program, GraphId(1), FindConstantSubgraphInputs(program)[1]);
  const ExportedProgram expected = ParseOrDie(R"(program edge {
    constants { state "w": f32[2] }
    graph row(%x: f32[2] user_input, %v: f32[2] parameter "w") {
      %y: f32[2] = edge.aten.add.Tensor(%x, %v)
      return (%y user_output)
    } })",
                                              TestOps());
  EXPECT_EQ(PrintProgram(row), PrintProgram(expected));
}

}  // namespace
}  // namespace belay::exir
