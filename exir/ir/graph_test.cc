#include "exir/ir/graph.h"

#include <bit>
#include <memory>

#include "exir/ir/graph_editor.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
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

}  // namespace
}  // namespace belay::exir
