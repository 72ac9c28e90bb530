#include "tools/graph/draw_program_file.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/sample_program.h"

namespace belay::tools {
namespace {

using ::testing::Contains;
using ::testing::Pair;

absl::StatusOr<DrawnProgram> Draw(const TestProgram& program) {
  const auto bytes = std::make_shared<std::string>(program.Serialize());
  ABSL_ASSIGN_OR_RETURN(
      const Program opened,
      Program::OpenBytes(
          bytes,
          absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()),
          {}));
  return DrawProgramFile(opened);
}

TEST(DrawProgramFileTest, DrawsInstructionsInOrderWithWhatTheyRead) {
  ASSERT_OK_AND_ASSIGN(const DrawnProgram program, Draw(SampleProgram()));
  ASSERT_EQ(program.size(), 2u);
  const DrawnMethod& method = program[0];
  EXPECT_EQ(method.name, "forward");
  ASSERT_EQ(method.delegates.size(), 1u);
  EXPECT_EQ(method.delegates[0].backend, "fake");
  const DrawnGraph& graph = method.graphs[0];
  std::vector<std::string> operators;
  int instructions = 0, delegate_calls = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const DrawnNode& node = graph.nodes[n];
    instructions += node.is_operator ? 1 : 0;
    delegate_calls += node.op == "delegate" ? 1 : 0;
    for (const DrawnEdge& edge : node.operands) {
      ASSERT_LT(edge.node, n);
      ASSERT_LT(edge.output, graph.nodes[edge.node].results.size());
    }
  }
  EXPECT_EQ(instructions, 7);
  EXPECT_EQ(delegate_calls, 1);
  std::vector<std::string> constants;
  for (const DrawnConstant& constant : method.constants) {
    constants.push_back(absl::StrCat(constant.kind, " ", constant.type));
  }
  EXPECT_THAT(constants, Contains("state f32[2]"));
  EXPECT_THAT(constants, Contains("constant f32[2,3]"));
  EXPECT_EQ(graph.nodes.back().op, "output");
}

TEST(DrawProgramFileTest, JumpsSayWhereTheyLead) {
  ASSERT_OK_AND_ASSIGN(const DrawnProgram program, Draw(SampleProgram()));
  bool found = false;
  for (const DrawnNode& node : program[0].graphs[0].nodes) {
    if (node.op != "jump_if_false") continue;
    found = true;
    EXPECT_THAT(node.attributes, Contains(Pair("instruction", "2")));
    EXPECT_THAT(node.attributes, Contains(Pair("target", ::testing::_)));
    EXPECT_EQ(node.operands.size(), 1u);
  }
  EXPECT_TRUE(found);
}

// A view that was elided has no instruction of its own, a join none that writes all of it.
TEST(DrawProgramFileTest, EdgesComeFromWhoWroteTheBytes) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", DType::kFloat32, {16});
  const uint32_t first = method.Arena(DType::kFloat32, {16});
  const uint32_t second = method.Arena(DType::kFloat32, {16});
  const uint32_t join = method.Arena(DType::kFloat32, {2, 16});
  method.proto()
      .mutable_values(static_cast<int>(join))
      ->mutable_tensor()
      ->set_arena_offset(method.proto().values(static_cast<int>(first)).tensor().arena_offset());
  const uint32_t last = method.Arena(DType::kFloat32, {2, 16});
  method.Call("test.first.default", {x}, {first});
  method.Call("test.second.default", {x}, {second});
  method.Call("test.last.default", {join}, {last});
  method.Output(last);
  ASSERT_OK_AND_ASSIGN(const DrawnProgram drawn, Draw(program));
  const DrawnGraph& graph = drawn[0].graphs[0];
  ASSERT_EQ(graph.nodes.size(), 5u);
  ASSERT_EQ(graph.nodes[3].operands.size(), 2u);
  EXPECT_EQ(graph.nodes[graph.nodes[3].operands[0].node].op, "test.first.default");
  EXPECT_EQ(graph.nodes[graph.nodes[3].operands[1].node].op, "test.second.default");
}

}  // namespace
}  // namespace belay::tools
