#include "exir/ir/at_node.h"

#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

TEST(AtNodeTest, NamesTheNodeOfAnErrorOnly) {
  const ExportedProgram program = ParseOrDie(R"(program aten { graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)  @"m.py":7
    return (%a user_output) } })",
                                             TestOps());
  const Graph& graph = program.top();
  EXPECT_OK(AtNode(absl::OkStatus(), graph, graph.first()));
  EXPECT_THAT(AtNode(absl::NotFoundError("no such thing"), graph, graph.first()),
              StatusIs(absl::StatusCode::kNotFound,
                       "no such thing\n  at %a: f32[2] = aten.relu.default(%x) (m.py:7)"));
}

}  // namespace
}  // namespace belay::exir
