// Tests of partitioners' answers: tags of nodes and of constants, and errors.
#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/testing/to_backend_fixture.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ToBackendTest, RejectsEmptyTag) {
  TextPartitioner partitioner;
  partitioner.delegation = {{"", {"recorder", {}}}};
  ExpectError(Error(kTwoNodes, partitioner), absl::StatusCode::kInvalidArgument, {"empty tag"});
}

TEST_F(ToBackendTest, RejectsDuplicateTagInMap) {
  TextPartitioner partitioner;
  partitioner.delegation = {{"t0", {"recorder", {}}}, {"t0", {"recorder", {}}}};
  ExpectError(Error(kTwoNodes, partitioner), absl::StatusCode::kInvalidArgument,
              {"has the tag 't0' twice"});
}

TEST_F(ToBackendTest, RejectsTaggedUserInput) {
  TextPartitioner partitioner;
  partitioner.constants = {{"x", "t0"}};
  ExpectError(Error(kTwoNodes, partitioner), absl::StatusCode::kInvalidArgument,
              {"placeholder node for non-params, non-buffer, and non-tensor constants should not "
               "be tagged: x",
               "'t0'"});
}

TEST_F(ToBackendTest, RejectsConstantTaggedTwice) {
  TextPartitioner partitioner;
  partitioner.constants = {{"w", "t0"}, {"w", "t1"}};
  ExpectError(Error(kTwoNodes, partitioner), absl::StatusCode::kInvalidArgument,
              {"constant %w is tagged twice: 't0' and 't1'"});
}

TEST_F(ToBackendTest, RejectsNoCopyConstantWithUntaggedUser) {
  const auto error = [&](std::string_view first, std::string_view second) {
    TextPartitioner partitioner;
    partitioner.constants = {{"w", "t0"}};
    partitioner.no_copy = {"w"};
    partitioner.delegation = {{"t0", {"recorder", {}}}, {"t1", {"recorder", {}}}};
    return Error(absl::StrCat(R"(program edge {
      constants { state "w": f32[2] }
      graph(%w: f32[2] buffer "w", %x: f32[2] user_input) {
        %a: f32[2] = edge.aten.mul.Tensor(%x, %w))",
                              first, R"(
        %b: f32[2] = edge.aten.neg.default(%x)  tag="t0"
        return ()",
                              second, R"(%a user_output, %b user_output)
      } })"),
                 partitioner);
  };
  ExpectError(error("  tag=\"t1\"", ""), absl::StatusCode::kInvalidArgument,
              {"constant data node (w) is tagged with (t0)", "has user (a) which has tag (t1)"});
  ExpectError(error("", ""), absl::StatusCode::kInvalidArgument,
              {"constant data node (w) is tagged with (t0)", "has user (a) which has tag (None)"});
  EXPECT_OK(error("  tag=\"t0\"", ""));
  // Mutated buffers as well.
  ExpectError(error("", "%a buffer_mutation \"w\", "), absl::StatusCode::kInvalidArgument,
              {"constant data node (w) is tagged with (t0)", "has user (a) which has tag (None)"});
  EXPECT_OK(error("  tag=\"t0\"", "%a buffer_mutation \"w\", "));
}

TEST_F(ToBackendTest, RejectsSharedNoCopyConstant) {
  TextPartitioner partitioner;
  partitioner.constants = {{"w", "t0"}};
  partitioner.no_copy = {"w"};
  ExpectError(Error(kTwoNodes, partitioner), absl::StatusCode::kInvalidArgument,
              {"constant data node (w)", "is tagged with (t0)",
               "but has user (b) which has tag "
               "(None)"});
}

// Returns a fixed answer.
struct FixedPartitioner final : public Partitioner {
  explicit FixedPartitioner(PartitionResult result) : result(std::move(result)) {}
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram&) const override {
    return result;
  }
  PartitionResult result;
};

// Names the first user in graph order, not in order of creation.
TEST_F(ToBackendTest, NoCopyErrorNamesTheFirstUser) {
  ExportedProgram program = Parse(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] buffer "w", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %w)
      %b: f32[2] = edge.aten.add.Tensor(%x, %w)
      return (%a user_output, %b user_output)
    } })");
  PartitionResult result;
  result.delegation = {{"t0", {"recorder", {}}}};
  result.inputs = {{FindValue(program.top(), "w"), "t0"}};
  result.no_copy = {FindValue(program.top(), "w")};
  for (const char* first : {"a", "b"}) {
    const NodeId node = FindNode(program.top(), first);
    if (node != program.top().first()) {
      GraphEditor(program.top()).MoveBefore(node, program.top().first());
    }
    ExpectError(ToBackend(program, FixedPartitioner(result), backends_).status(),
                absl::StatusCode::kInvalidArgument,
                {absl::StrCat("but has user (", first, ") which has tag (None)")});
  }
}

TEST_F(ToBackendTest, RejectsReturnedNoCopyConstant) {
  TextPartitioner partitioner;
  partitioner.constants = {{"w", "t0"}};
  partitioner.no_copy = {"w"};
  ExpectError(Error(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] buffer "w", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %w)  tag="t0"
      return (%a user_output, %w user_output)
    } })",
                    partitioner),
              absl::StatusCode::kInvalidArgument, {"but has user (output) which has tag (None)"});
}

TEST_F(ToBackendTest, RejectsAnswerWithoutMap) {
  PartitionResult result;
  EXPECT_OK(Error(kTwoNodes, FixedPartitioner(result)));
  result.has_delegation = false;
  ExpectError(Error(kTwoNodes, FixedPartitioner(result)), absl::StatusCode::kInvalidArgument,
              {"needs a `partition_tags` field containing a mapping of tags to delegate spec"});
}

// docs/lowering.md rows 27, 28.
TEST_F(ToBackendTest, IgnoresTagsOutsideTheMap) {
  const ExportedProgram program = Parse(kTwoNodes);
  const Graph& top = program.top();
  PartitionResult result;
  result.nodes = {{ExportedProgram::kTop, top.first(), "ghost"},
                  {ExportedProgram::kTop, NodeId(), "ghost"}};
  result.inputs = {{top.inputs()[0], "ghost"}, {top.inputs()[1], "ghost"}};
  std::vector<std::string> notes;
  const ToBackendOptions options{.notes = &notes};
  ASSERT_OK_AND_ASSIGN(ExportedProgram lowered,
                       ToBackend(program, FixedPartitioner(result), backends_, options));
  EXPECT_EQ(PrintProgram(lowered), PrintProgram(program));
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_THAT(notes[0], HasSubstr("tag 'ghost' is not in the map"));
  EXPECT_THAT(notes[1], HasSubstr("%w has tag 'ghost', which is not in the map"));
  EXPECT_THAT(notes[2], HasSubstr("%x has tag 'ghost', which is not in the map"));

  // The program keeps the constant although a delegate uses it.
  result.nodes = {{ExportedProgram::kTop, top.first(), "t0"}};
  result.delegation = {{"t0", {"recorder", {}}}};
  ASSERT_OK_AND_ASSIGN(lowered, ToBackend(program, FixedPartitioner(result), backends_));
  EXPECT_EQ(lowered.signature.inputs.size(), 2u);
  EXPECT_TRUE(lowered.state_dict.contains("w"));
  ASSERT_EQ(lowered.lowered_modules.size(), 1u);
  EXPECT_TRUE(lowered.lowered_modules[ModuleId(0)]->original.state_dict.empty());

  result.inputs = {{top.inputs()[1], "t0"}};
  ExpectError(Error(kTwoNodes, FixedPartitioner(result)), absl::StatusCode::kInvalidArgument,
              {"should not be tagged: x"});
}

TEST_F(ToBackendTest, RejectsNodeTaggedTwice) {
  PartitionResult result;
  result.delegation = {{"t0", {"recorder", {}}}, {"t1", {"recorder", {}}}};
  result.nodes = {{ExportedProgram::kTop, NodeId(0), "t0"},
                  {ExportedProgram::kTop, NodeId(0), "t1"}};
  ExpectError(Error(kTwoNodes, FixedPartitioner(result)), absl::StatusCode::kInvalidArgument,
              {"a node is tagged twice, 't0' and 't1': %a: f32[2] = edge.aten.add.Tensor"});
}

TEST_F(ToBackendTest, AcceptsRepeatedEqualTags) {
  const ExportedProgram program = Parse(kTwoNodes);
  PartitionResult result;
  result.delegation = {{"t0", {"recorder", {}}}};
  result.nodes = {{ExportedProgram::kTop, NodeId(0), "t0"},
                  {ExportedProgram::kTop, NodeId(0), "t0"}};
  result.inputs = {{FindValue(program.top(), "w"), "t0"}, {FindValue(program.top(), "w"), "t0"}};
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       ToBackend(program, FixedPartitioner(result), backends_));
  EXPECT_EQ(lowered.lowered_modules.size(), 1u);
}

TEST_F(ToBackendTest, RejectsUnknownIds) {
  PartitionResult result;
  result.delegation = {{"t0", {"recorder", {}}}};
  result.nodes = {{ExportedProgram::kTop, NodeId(99), "t0"}};
  ExpectError(Error(kTwoNodes, FixedPartitioner(result)), absl::StatusCode::kInvalidArgument,
              {"node 99 of graph 0"});
  result.nodes = {{ExportedProgram::kTop, NodeId(99), ""}};
  ExpectError(Error(kTwoNodes, FixedPartitioner(result)), absl::StatusCode::kInvalidArgument,
              {"tag '' is on node 99 of graph 0, which does not exist"});
  result.nodes = {{GraphId(4), NodeId(0), "t0"}};
  ExpectError(Error(kTwoNodes, FixedPartitioner(result)), absl::StatusCode::kInvalidArgument,
              {"graph 4"});
  result.nodes.clear();
  result.inputs = {{ValueId(77), "t0"}};
  ExpectError(Error(kTwoNodes, FixedPartitioner(result)), absl::StatusCode::kInvalidArgument,
              {"value 77"});
  result.inputs.clear();
  result.no_copy = {ValueId(77)};
  ExpectError(Error(kTwoNodes, FixedPartitioner(result)), absl::StatusCode::kInvalidArgument,
              {"no_copy is on value 77, which is not an input of the top graph"});
}

TEST_F(ToBackendTest, RejectsEmptyTagsOfNodesAndConstants) {
  const ExportedProgram program = Parse(kTwoNodes);
  PartitionResult result;
  result.delegation = {{"t0", {"recorder", {}}}};
  result.nodes = {{ExportedProgram::kTop, NodeId(0), ""}};
  ExpectError(Error(kTwoNodes, FixedPartitioner(result)), absl::StatusCode::kInvalidArgument,
              {"the tag of a node is empty: %a"});
  result.nodes.clear();
  result.inputs = {{FindValue(program.top(), "w"), ""}};
  ExpectError(Error(kTwoNodes, FixedPartitioner(result)), absl::StatusCode::kInvalidArgument,
              {"the tag of constant %w is empty"});
}

// Without validation an empty tag is an ordinary tag: delegated if in the map, ignored otherwise.
TEST_F(ToBackendTest, AcceptsEmptyTagsWithoutValidation) {
  const ExportedProgram program = Parse(kTwoNodes);
  PartitionResult result;
  result.nodes = {{ExportedProgram::kTop, NodeId(0), ""}};
  result.inputs = {{FindValue(program.top(), "w"), ""}};
  std::vector<std::string> notes;
  const ToBackendOptions options{.validate_partitions = false, .notes = &notes};
  for (const bool in_map : {true, false}) {
    if (in_map) result.delegation = {{"", {"recorder", {}}}};
    if (!in_map) result.delegation.clear();
    ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                         ToBackend(program, FixedPartitioner(result), backends_, options));
    EXPECT_EQ(lowered.lowered_modules.size(), in_map ? 1u : 0u);
    EXPECT_EQ(notes.empty(), in_map);
  }
  EXPECT_THAT(notes, ElementsAre(HasSubstr("tag '' is not in the map"),
                                 HasSubstr("%w has tag '', which is not in the map")));
  notes.clear();
  result.nodes = {{ExportedProgram::kTop, NodeId(99), ""}};
  result.inputs.clear();
  EXPECT_OK(ToBackend(program, FixedPartitioner(result), backends_, options));
  EXPECT_THAT(notes,
              ElementsAre(HasSubstr("its nodes are not delegated: one that does not exist")));
}

TEST_F(ToBackendTest, RejectionsNameMethodGraphNodeAndReason) {
  PartitionResult result;
  result.rejections = {{ExportedProgram::kTop, NodeId(1), "too small"}};
  std::vector<RejectedNode> rejections;
  ToBackendOptions options;
  options.rejections = &rejections;
  ASSERT_OK(ToBackend(Parse(kTwoNodes), FixedPartitioner(result), backends_, options));
  ASSERT_EQ(rejections.size(), 1u);
  EXPECT_EQ(rejections[0].method, "forward");
  EXPECT_EQ(rejections[0].node, "b");
  EXPECT_EQ(rejections[0].reason, "too small");
}

TEST_F(ToBackendTest, IgnoresInvalidTagsWithoutValidation) {
  TextPartitioner partitioner;
  partitioner.only_given_delegation = true;
  ToBackendOptions options;
  options.validate_partitions = false;
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       ToBackend(Parse(kTwoNodes), partitioner, backends_, options));
  EXPECT_EQ(lowered.lowered_modules.size(), 0);
}

}  // namespace
}  // namespace belay::exir
