#include "exir/ir/node_like.h"

#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

TEST(NodeLikeTest, CopiesAllButTheArguments) {
  Graph graph;
  GraphEditor editor(graph);
  const ValueType type = TensorMeta::Contiguous(DType::kFloat32, {2});
  const ValueId x = editor.AddInput("x", type), y = editor.AddInput("y", type);
  const ValueId result = editor.InsertOp(NodeId(),
                                         {.name = "r",
                                          .target = TestOps().FindOrOpaque("aten.relu.default"),
                                          .arguments = {x},
                                          .argument_names = {"input"},
                                          .provenance = {.line = 7},
                                          .debug_handle = 5,
                                          .delegation_tag = "t"},
                                         type);
  const Node& node = graph.node(graph.value(result).producer);

  const GraphEditor::NewNode like = NodeLike(node, {y});

  EXPECT_EQ(like.name, "r");
  EXPECT_EQ(like.target, node.target);
  EXPECT_THAT(like.arguments, ElementsAre(Argument(y)));
  EXPECT_THAT(like.argument_names, ElementsAre("input"));
  EXPECT_EQ(like.provenance.line, 7);
  EXPECT_EQ(like.debug_handle, 5);
  EXPECT_EQ(like.delegation_tag, "t");
}

}  // namespace
}  // namespace belay::exir
