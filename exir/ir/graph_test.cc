#include "exir/ir/graph.h"

#include <bit>
#include <memory>
#include <optional>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(ConstantType, ComparesDoublesByBits) {
  const double nan = std::bit_cast<double>(uint64_t{0x7ff8000000000000});
  const double other_nan = std::bit_cast<double>(uint64_t{0x7ff8000000000001});
  EXPECT_EQ(ConstantType{nan}, ConstantType{nan});
  EXPECT_FALSE(ConstantType{nan} == ConstantType{other_nan});
  EXPECT_FALSE(ConstantType{0.0} == ConstantType{-0.0});
  EXPECT_FALSE(ConstantType{1.0} == ConstantType{int64_t{1}});
  EXPECT_FALSE(ConstantType{int64_t{1}} == ConstantType{1.0});
  EXPECT_EQ(ConstantType{int64_t{1}}, ConstantType{int64_t{1}});
  EXPECT_FALSE(ConstantType{true} == ConstantType{false});
}

TEST(Provenance, PrintsFileAndLineIfKnown) {
  const auto text = [](const char* file, int64_t line) {
    return Provenance{.file = std::make_shared<const std::string>(file), .line = line}.ToString();
  };
  EXPECT_EQ(text("m.py", 12), "m.py:12");
  EXPECT_EQ(text("m.py", 0), "m.py");
  EXPECT_EQ(text("", 12), "");
  EXPECT_EQ(Provenance{.line = 12}.ToString(), "");
}

TEST(Node, OperandIsTheFirstArgument) {
  const ExportedProgram program = ParseOrDie(R"(program aten { graph(%x: f32[2] user_input) {
    %a: f32[2] = zoo.op.default(3, %x)
    %b: f32[2] = zoo.op.default()
    return () } })",
                                             TestOps());
  const Graph& graph = program.top();
  EXPECT_EQ(graph.node(graph.first()).operand(), Argument(3));
  EXPECT_TRUE(graph.node(graph.last()).operand().is_none());
}

TEST(Node, MissingArgumentsAreNone) {
  ExportedProgram program = ParseOrDie(R"(program aten { graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.mul.Tensor(%x, 3)
    return () } })",
                                       TestOps());
  const NodeId a = program.top().first();
  EXPECT_EQ(program.top().node(a).argument("other"), Argument(3));
  EXPECT_TRUE(program.top().node(a).argument("another").is_none());
  GraphEditor(program.top()).SetArguments(a, {4});
  EXPECT_EQ(program.top().node(a).argument("self"), Argument(4));
  EXPECT_TRUE(program.top().node(a).argument("other").is_none());
}

TEST(Graph, SoleUserReadsTheValueOnce) {
  const ExportedProgram program = ParseOrDie(R"(program aten { graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)
    %b: f32[2] = aten.mul.Tensor(%a, %x)
    %c: f32[2] = aten.mul.Tensor(%b, %b)
    %d: f32[2] = aten.relu.default(%c)
    %e: f32[2] = aten.relu.default(%d)
    return (%d user_output) } })",
                                             TestOps());
  const Graph& graph = program.top();
  std::vector<std::optional<NodeId>> users;
  const std::vector<NodeId> nodes = graph.NodeList();
  for (const NodeId id : nodes) {
    const ValueId result = graph.ResultOf(id);
    users.push_back(graph.SoleUser(result));
    EXPECT_EQ(graph.HasOneUse(result), users.back().has_value()) << graph.node(id).name;
  }
  // %b has two uses in one node, %d a user and an output, %e no use.
  EXPECT_THAT(users,
              testing::ElementsAre(nodes[1], std::nullopt, nodes[3], std::nullopt, std::nullopt));
  EXPECT_FALSE(graph.HasOneUse(graph.inputs()[0]));
}

TEST(Graph, ResultOfIsTheFirstValueOfTheOutputs) {
  ExportedProgram program = ParseOrDie(R"(program aten { graph(%x: f32[2] user_input) {
    none, [%a: f32[2], %b: f32[3]] = zoo.op.default(%x)
    return () } })",
                                       TestOps());
  const Graph& graph = program.top();
  const ValueId result = graph.ResultOf(graph.first());
  EXPECT_EQ(graph.value(result).name, "a");
  EXPECT_EQ(graph.MetaOf(result).sizes, std::vector<SymInt>{2});
}

}  // namespace
}  // namespace belay::exir
