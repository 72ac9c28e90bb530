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
using ::testing::ElementsAre;
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

TEST(DrawProgramFileTest, DrawsInstructionsInOrderWithOperands) {
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

TEST(DrawProgramFileTest, JumpsNameTargets) {
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

// An elided view has no instruction, and no single instruction writes all of a join.
TEST(DrawProgramFileTest, EdgesComeFromWritersOfBytes) {
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

// Literals are attributes; a list gives edges for its computed elements and an attribute for the
// others.
TEST(DrawProgramFileTest, LiteralsAreAttributes) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", DType::kFloat32, {2});
  const uint32_t n = method.ScalarInput("n", schema::ScalarSlot::INT);
  const uint32_t y = method.Arena(DType::kFloat32, {2});
  const uint32_t mixed = method.List({x, method.Int(3), n}), empty = method.List({});
  const uint32_t all = method.List({x, x});
  method.Call("test.op.default",
              {method.None(), method.Int(-7), method.Double(0.5), method.Bool(true),
               method.Bool(false), method.String("a\"b"), mixed, empty, all, n},
              {y});
  method.Output(y);
  method.Output(method.Int(9));
  ASSERT_OK_AND_ASSIGN(const DrawnProgram drawn, Draw(program));
  const DrawnGraph& graph = drawn[0].graphs[0];
  ASSERT_EQ(graph.nodes.size(), 4u);
  const DrawnNode& node = graph.nodes[2];
  EXPECT_THAT(node.attributes,
              ElementsAre(Pair("0", "none"), Pair("1", "-7"), Pair("2", "0.5"), Pair("3", "true"),
                          Pair("4", "false"), Pair("5", "\"a\"b\""), Pair("6", "[3]"),
                          Pair("7", "[]"), Pair("instruction", "0")));
  std::vector<std::string> operands;
  for (const DrawnEdge& edge : node.operands) {
    operands.push_back(absl::StrCat(edge.argument, " ", graph.nodes[edge.node].name));
  }
  EXPECT_THAT(operands, ElementsAre("6 x", "6 n", "8 x", "8 x", "9 n"));
  EXPECT_EQ(graph.nodes[1].results[0].type, "int");
  EXPECT_THAT(graph.nodes[3].attributes, ElementsAre(Pair("1", "9")));
}

TEST(DrawProgramFileTest, ResultsMayBeListsOrDropped) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", DType::kFloat32, {2});
  const uint32_t a = method.Arena(DType::kFloat32, {1}), b = method.Arena(DType::kInt64, {1});
  const uint32_t empty = method.Arena(DType::kFloat32, {0});
  method.Call("test.split.default", {x}, {method.List({a, b})});
  method.Call("test.drop.default", {b}, {method.None(), empty});
  method.Output(a);
  ASSERT_OK_AND_ASSIGN(const DrawnProgram drawn, Draw(program));
  const DrawnGraph& graph = drawn[0].graphs[0];
  ASSERT_EQ(graph.nodes.size(), 4u);
  const auto results = [&](size_t node) {
    std::vector<std::string> texts;
    for (const DrawnResult& result : graph.nodes[node].results) {
      texts.push_back(absl::StrCat(result.name, " ", result.type));
    }
    return texts;
  };
  EXPECT_THAT(results(1), ElementsAre("instruction 0 f32[1]", "instruction 0.1 i64[1]"));
  ASSERT_EQ(graph.nodes[2].operands.size(), 1u);
  EXPECT_EQ(graph.nodes[2].operands[0].output, 1u);
  EXPECT_THAT(results(2), ElementsAre("instruction 1 f32[0]"));
}

TEST(DrawProgramFileTest, JumpsWithoutConditionAndMovesAreNodes) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t c = method.ScalarInput("c", schema::ScalarSlot::BOOL);
  const uint32_t slot = method.Slot(schema::ScalarSlot::INT);
  const uint32_t skip = method.JumpIfFalse(c);
  method.Move(method.Int(1), slot);
  const uint32_t end = method.Jump(0);
  method.LandHere(skip);
  method.Move(method.Int(2), slot);
  method.LandHere(end);
  method.Output(slot);
  ASSERT_OK_AND_ASSIGN(const DrawnProgram drawn, Draw(program));
  const DrawnGraph& graph = drawn[0].graphs[0];
  std::vector<std::string> ops;
  for (const DrawnNode& node : graph.nodes) ops.push_back(node.op);
  EXPECT_THAT(ops, ElementsAre("input", "jump_if_false", "move", "jump", "move", "output"));
  EXPECT_THAT(graph.nodes[3].attributes,
              ElementsAre(Pair("target", "4"), Pair("instruction", "2")));
  EXPECT_THAT(graph.nodes[2].attributes, ElementsAre(Pair("from", "1"), Pair("instruction", "1")));
}

// Rewritten bytes belong to the last writer, even if it wrote only a part.
TEST(DrawProgramFileTest, LastWriterOwnsBytes) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", DType::kFloat32, {32});
  const uint32_t a = method.Arena(DType::kFloat32, {32}), b = method.Arena(DType::kFloat32, {16});
  const uint32_t view = method.Arena(DType::kFloat32, {32});
  const auto at = [&](uint32_t value) {
    return method.proto().mutable_values(static_cast<int>(value))->mutable_tensor();
  };
  const uint64_t begin = at(a)->arena_offset();
  // The second half of a's memory, and a view of all of it.
  at(b)->set_arena_offset(begin + 64);
  at(view)->set_arena_offset(begin);
  const uint32_t y = method.Arena(DType::kFloat32, {32});
  method.Call("test.first.default", {x}, {a});
  method.Call("test.second.default", {x}, {b});
  method.Call("test.third.default", {x}, {b});
  method.Call("test.last.default", {view}, {y});
  method.Output(y);
  ASSERT_OK_AND_ASSIGN(const DrawnProgram drawn, Draw(program));
  const DrawnGraph& graph = drawn[0].graphs[0];
  ASSERT_EQ(graph.nodes.size(), 6u);
  std::vector<std::string> writers;
  for (const DrawnEdge& edge : graph.nodes[4].operands) {
    writers.push_back(graph.nodes[edge.node].op);
  }
  EXPECT_THAT(writers, ElementsAre("test.third.default"));
}

TEST(DrawProgramFileTest, UsesNamesOfMatchingDebugData) {
  for (const int instructions : {1, 2}) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    const uint32_t x = method.Input("x", DType::kFloat32, {2});
    const uint32_t y = method.Arena(DType::kFloat32, {2});
    method.Call("test.op.default", {x}, {y});
    method.Output(y);
    schema::DebugInfo debug;
    schema::MethodDebugInfo& info = *debug.add_methods();
    for (int i = 0; i < instructions; ++i) {
      info.add_instructions()->set_node("relu");
      info.mutable_instructions(i)->set_source("model.py:7");
    }
    program.AddDebugInfo(debug);
    ASSERT_OK_AND_ASSIGN(const DrawnProgram drawn, Draw(program));
    const DrawnNode& node = drawn[0].graphs[0].nodes[1];
    EXPECT_EQ(node.name, instructions == 1 ? "relu" : "instruction 0");
    EXPECT_EQ(node.source, instructions == 1 ? "model.py:7" : "");
  }
}

}  // namespace
}  // namespace belay::tools
