#include "backends/cpu/aot/fused_handles.h"

#include <vector>

#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class FusedHandlesTest : public testing::Test {
 protected:
  FusedHandlesTest()
      : program_(exir::ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.abs.default(%x)
      %b: f32[2] = edge.aten.relu.default(%a)
      %c: f32[2] = edge.aten.neg.default(%b)
      %d: f32[2] = edge.aten.exp.default(%c)
      return (%d user_output) } })",
                                  CpuPassTestOps())),
        editor_(program_.top()) {}
  exir::NodeId Node(std::string_view name) { return exir::FindNode(program_.top(), name); }
  void SetHandles(std::vector<int64_t> handles) {
    size_t i = 0;
    for (exir::NodeId id : program_.top().NodeList()) editor_.SetDebugHandle(id, handles[i++]);
  }

  exir::ExportedProgram program_;
  exir::GraphEditor editor_;
  FusedHandles handles_;
};

TEST_F(FusedHandlesTest, MapsFusedNodesToAllHandles) {
  SetHandles({1, 2, 3, 4});
  // Fuses a node that stands for others already, and two in sequence.
  handles_.Fuse(editor_, Node("c"), Node("d"));
  handles_.Fuse(editor_, Node("b"), Node("c"));
  handles_.Fuse(editor_, Node("b"), Node("a"));
  handles_.Fuse(editor_, Node("b"), Node("a"));
  EXPECT_THAT(handles_.MapOf(program_).value(),
              UnorderedElementsAre(Pair(1, ElementsAre(1)), Pair(2, ElementsAre(1, 2, 3, 4)),
                                   Pair(3, ElementsAre(3, 4)), Pair(4, ElementsAre(4))));
}

TEST_F(FusedHandlesTest, HandlesNodesWithoutHandles) {
  SetHandles({0, 0, 3, 3});
  handles_.Fuse(editor_, Node("c"), Node("a"));  // no handle
  handles_.Fuse(editor_, Node("c"), Node("d"));  // equal handles
  handles_.Fuse(editor_, Node("b"), Node("c"));  // gets the other handle
  EXPECT_EQ(program_.top().node(Node("b")).debug_handle, 3);
  EXPECT_THAT(handles_.MapOf(program_).value(), UnorderedElementsAre(Pair(3, ElementsAre(3))));
}

TEST_F(FusedHandlesTest, RejectsNegativeHandles) {
  SetHandles({1, -2, 3, 4});
  EXPECT_EQ(handles_.MapOf(program_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace belay::cpu
