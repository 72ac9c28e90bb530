// Tests which inputs of subgraphs are tagged as constants.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/backend/partitioners/tag_constants.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

constexpr char kProgram[] = R"(program edge {
    constants { state "w": f32[2] state "b": f32[2] state "u": f32[2] }
    graph(%w: f32[2] parameter "w", %b: f32[2] buffer "b", %u: f32[2] parameter "u",
          %r: f32[3,2] user_input) {
      %y: f32[3,2] = higher_order.map_impl(graph#1, [%r], [%w, %b, %u])
      %n: f32[2] = edge.aten.add.Tensor(%b, %w)
      return (%n buffer_mutation "b", %y user_output)
    }
    graph row(%x: f32[2], %v: f32[2], %c: f32[2], %t: f32[2]) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %v)  tag="t"
      %d: f32[2] = edge.aten.mul.Tensor(%a, %v)  tag="s"
      %e: f32[2] = edge.aten.mul.Tensor(%d, %c)  tag="s"
      %f: f32[2] = edge.aten.mul.Tensor(%e, %t)
      return (%f)
    } })";

PartitionResult TagsOf(const ExportedProgram& program) {
  PartitionResult result;
  for (NodeId node : program.graphs[GraphId(1)].nodes()) {
    const std::string& tag = program.graphs[GraphId(1)].node(node).delegation_tag;
    if (!tag.empty()) result.nodes.push_back({GraphId(1), node, tag});
  }
  return result;
}

std::vector<std::string> Tags(const ExportedProgram& program, const PartitionResult& result) {
  std::vector<std::string> tags;
  for (const auto& tagged : result.inputs) {
    tags.push_back(absl::StrCat(tagged.graph.index(), " ",
                                program.graphs[tagged.graph].value(tagged.input).name, " ",
                                tagged.tag));
  }
  return tags;
}

// Not a mutated buffer, and not a constant whose users have no tag.
TEST(TagSubgraphConstantsTest, TagsConstantsWithTheSmallestTagOfTheirUsers) {
  const ExportedProgram program = ParseOrDie(kProgram, TestOps());
  PartitionResult result = TagsOf(program);
  TagSubgraphConstants(program, result);
  EXPECT_THAT(Tags(program, result), ElementsAre("1 v s"));
}

TEST(TagSubgraphConstantsTest, KeepsTags) {
  const ExportedProgram program = ParseOrDie(kProgram, TestOps());
  PartitionResult result = TagsOf(program);
  result.inputs.push_back({program.graphs[GraphId(1)].inputs()[1], "t", GraphId(1)});
  TagSubgraphConstants(program, result);
  EXPECT_THAT(Tags(program, result), ElementsAre("1 v t"));
}

}  // namespace
}  // namespace belay::exir
