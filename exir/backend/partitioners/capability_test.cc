#include "exir/backend/partitioners/capability.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/partitioners/operator_support.h"
#include "exir/backend/partitioners/tag_constants.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/graph_editor.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Parses a program of these lines over %x; everything except neg is supported.
ExportedProgram Parse(std::string_view lines, std::string_view outputs) {
  return ParseOrDie(absl::StrCat("program edge {\n graph(%x: f32[2] user_input) {\n", lines,
                                 "\n return (", outputs, ")\n }\n}"),
                    TestOps());
}

bool IsSupported(const Graph& graph, NodeId node) {
  return graph.node(node).target->name() != "aten.neg.default";
}

std::vector<std::string> Show(const Graph& graph, const std::vector<PartitionProposal>& proposals) {
  std::vector<std::string> strings;
  for (const PartitionProposal& proposal : proposals) {
    std::string text = absl::StrCat(proposal.id, ":");
    for (NodeId node : proposal.nodes) absl::StrAppend(&text, " ", graph.node(node).name);
    strings.push_back(text);
  }
  return strings;
}

std::vector<std::string> Propose(const ExportedProgram& program,
                                 const ProposalOptions& options = {}) {
  const Graph& graph = program.top();
  return Show(graph, ProposePartitions(
                         graph, [&](NodeId node) { return IsSupported(graph, node); }, options));
}

TEST(CapabilityTest, EverythingSupportedIsOnePartition) {
  EXPECT_THAT(Propose(Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.relu.default(%x)
                               %c: f32[2] = edge.aten.add.Tensor(%a, %b))",
                            "%c user_output")),
              ElementsAre("1: a b c"));
}

TEST(CapabilityTest, AlternatingChainIsCutAtEachUnsupportedNode) {
  EXPECT_THAT(Propose(Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.neg.default(%a)
                               %c: f32[2] = edge.aten.relu.default(%b)
                               %d: f32[2] = edge.aten.neg.default(%c)
                               %e: f32[2] = edge.aten.relu.default(%d))",
                            "%e user_output")),
              ElementsAre("0: e", "1: c", "2: a"));
}

TEST(CapabilityTest, DiamondWithAnUnsupportedArm) {
  EXPECT_THAT(Propose(Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.relu.default(%a)
                               %c: f32[2] = edge.aten.neg.default(%a)
                               %d: f32[2] = edge.aten.add.Tensor(%b, %c))",
                            "%d user_output")),
              ElementsAre("1: b d", "2: a"));
}

TEST(CapabilityTest, UnconnectedNodesShareAPartition) {
  EXPECT_THAT(Propose(Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.neg.default(%x)
                               %c: f32[2] = edge.aten.relu.default(%b)
                               %d: f32[2] = edge.aten.relu.default(%b))",
                            "%a user_output, %c user_output, %d user_output")),
              ElementsAre("1: a c d"));
}

// torch's partitioner misses part of this path back.
TEST(CapabilityTest, PathThroughAnotherPartitionSeparatesPartitions) {
  const ExportedProgram program = Parse(R"(%n: f32[2] = edge.aten.relu.default(%x)
                               %m: f32[2] = edge.aten.neg.default(%n)
                               %a: f32[2] = edge.aten.relu.default(%m)
                               %b: f32[2] = edge.aten.relu.default(%x)
                               %u: f32[2] = edge.aten.neg.default(%b)
                               %p: f32[2] = edge.aten.relu.default(%u))",
                                        "%a user_output, %p user_output");
  const FunctionBackend backend("recorder");
  BackendSet backends;
  ASSERT_TRUE(backends.Add(&backend).ok());
  const CapabilityPartitioner partitioner({"recorder", {}},
                                          [](const ExportedProgram& p, GraphId graph, NodeId node) {
                                            return IsSupported(p.graphs[graph], node) ? "" : "no";
                                          });
  EXPECT_TRUE(ToBackend(program, partitioner, backends).ok());
}

// ExecuTorch's graphs have a node for each used result of a node with several.
TEST(CapabilityTest, GetitemCountsAsANode) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
      %v: f32[2], %i: f32[1], %j: f32[1] = edge.aten.native_layer_norm.default(%a, [2], none, none, 1e-05) name="t"
      %r: f32[2] = edge.aten.relu.default(%v)
      %s: f32[2] = edge.aten.relu.default(%x))",
                                        "%r user_output, %s user_output");
  const auto propose = [&](const std::function<bool(ValueId)>& supports_result) {
    ProposalOptions options;
    options.supports_result = supports_result;
    return Propose(program, options);
  };
  EXPECT_THAT(Propose(program), ElementsAre("1: a t r s"));
  EXPECT_THAT(propose([](ValueId) { return false; }), ElementsAre("1: r s", "3: a t"));
  EXPECT_THAT(propose([](ValueId) { return true; }), ElementsAre("1: a t r s"));
}

// Getitems use up ids, and partitions of only getitems disappear.
TEST(CapabilityTest, GetitemOfAnUnsupportedNode) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.relu.default(%x)
      %v: f32[2], %i: f32[1], %j: f32[1] = edge.aten.native_layer_norm.default(%a, [2], none, none, 1e-05) name="t"
      %n: f32[2] = edge.aten.neg.default(%v)
      %r: f32[2] = edge.aten.relu.default(%n)
      return (%r user_output, %i user_output)
    }
  })",
                                             TestOps());
  const Graph& graph = program.top();
  const auto propose = [&](bool results) {
    ProposalOptions options;
    options.supports_result = [&](ValueId) { return results; };
    return Show(graph, ProposePartitions(
                           graph,
                           [&](NodeId node) {
                             return graph.node(node).target->name() == "aten.relu.default";
                           },
                           options));
  };
  EXPECT_THAT(propose(false), ElementsAre("0: r", "1: a"));
  EXPECT_THAT(propose(true), ElementsAre("1: r", "3: a"));
}

TEST(CapabilityTest, SingleNodeFilterCountsComputeNodes) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.neg.default(%a)
                               %c: f32[2] = edge.aten.add.Tensor(%b, %b)
                               %d: f32[2] = edge.aten.neg.default(%c)
                               %e: f32[2] = edge.aten.relu.default(%d)
                               %f: f32[2] = edge.aten.view_copy.default(%e, [2])
                               %g: f32[2] = edge.aten.neg.default(%f)
                               %h: f32[2] = edge.aten.relu.default(%g)
                               %i: f32[2] = edge.aten.relu.default(%h))",
                                        "%i user_output");
  ProposalOptions options;
  options.allow_single_node = false;
  options.allowed_single_node_ops = {"aten.add.Tensor"};
  EXPECT_THAT(Propose(program, options), ElementsAre("1: h i", "4: c"));
}

std::vector<std::string> ProposeGroups(const ExportedProgram& program,
                                       const std::vector<std::vector<std::string>>& names) {
  const Graph& graph = program.top();
  std::vector<std::vector<NodeId>> groups;
  for (const auto& group : names) {
    groups.emplace_back();
    for (const std::string& name : group) groups.back().push_back(FindNode(graph, name));
  }
  auto proposals = ProposeGroupedPartitions(graph, groups,
                                            [&](NodeId node) { return IsSupported(graph, node); });
  if (!proposals.ok()) return {std::string(proposals.status().message())};
  return Show(graph, *proposals);
}

TEST(GroupsTest, GroupIsKeptTogether) {
  // Without groups, b would join d.
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.relu.default(%x)
                               %c: f32[2] = edge.aten.neg.default(%a)
                               %d: f32[2] = edge.aten.add.Tensor(%c, %b))",
                                        "%d user_output");
  EXPECT_THAT(ProposeGroups(program, {}), ElementsAre("0: b d", "2: a"));
  EXPECT_THAT(ProposeGroups(program, {{"a", "b"}}), ElementsAre("0: d", "1: a b"));
}

// b is not supported, so it is not in the group.
TEST(GroupsTest, IgnoresUnsupportedNodesOfGroups) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.neg.default(%x)
                               %c: f32[2] = edge.aten.relu.default(%x))",
                                        "%a user_output, %b user_output, %c user_output");
  EXPECT_THAT(ProposeGroups(program, {{"a", "b", "c"}}), ElementsAre("0: a c"));
}

// Results of multi-result nodes, of lists, and of opaque nodes have getitems; unused results have
// none.
TEST(CapabilityTest, FindsTakenResults) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
      %v: f32[2], %i: f32[1], %j: f32[1] = edge.aten.native_layer_norm.default(%x, [2], none, none, 1e-05)
      [%p: f32[1], %q: f32[1]] = my.own.split(%x)
      [%l: f32[1]] = my.own.split(%x)
      %o: f32[2] = my.own.op(%x)
      %s: f32[2] = edge.aten.add.Tensor(%a, %v))",
                                        "%s user_output, %i user_output, %q user_output, %l "
                                        "user_output, %o user_output");
  std::vector<std::string> names;
  for (ValueId value : TakenResults(program.top())) {
    names.push_back(program.top().value(value).name);
  }
  EXPECT_THAT(names, ElementsAre("v", "i", "q", "l", "o"));
}

TEST(GroupsTest, RejectsNodeInTwoGroups) {
  const ExportedProgram program =
      Parse("%a: f32[2] = edge.aten.relu.default(%x)", "%a user_output");
  EXPECT_THAT(ProposeGroups(program, {{"a"}, {"a"}}),
              ElementsAre(HasSubstr("node a exists in multiple groups")));
}

TEST(GroupsTest, RejectsNodeOutsideTheGraph) {
  const ExportedProgram program =
      Parse("%a: f32[2] = edge.aten.relu.default(%x)", "%a user_output");
  EXPECT_THAT(ProposeGroupedPartitions(program.top(), {{NodeId(99)}}, [](NodeId) { return true; }),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a group has node 99, which is not in the graph")));
}

// The repeated node counts once for the ids, and %d depends on the whole group.
TEST(GroupsTest, RepeatedNodesInAGroupCountOnce) {
  const ExportedProgram program = Parse(R"(%e: f32[2] = edge.aten.relu.default(%x)
                               %m: f32[2] = edge.aten.neg.default(%e)
                               %a: f32[2] = edge.aten.relu.default(%m)
                               %k: f32[2] = edge.aten.neg.default(%a)
                               %d: f32[2] = edge.aten.relu.default(%k)
                               %b: f32[2] = edge.aten.relu.default(%m))",
                                        "%d user_output, %b user_output");
  EXPECT_THAT(ProposeGroups(program, {{"a", "b", "b"}}), ElementsAre("0: a b", "1: d", "2: e"));
}

// The groups depend on each other: one of them is split.
TEST(GroupsTest, InterleavedGroupsFormNoCycle) {
  const ExportedProgram program = Parse(R"(%a1: f32[2] = edge.aten.relu.default(%x)
                               %n1: f32[2] = edge.aten.neg.default(%a1)
                               %b1: f32[2] = edge.aten.relu.default(%n1)
                               %b2: f32[2] = edge.aten.relu.default(%x)
                               %n2: f32[2] = edge.aten.neg.default(%b2)
                               %a2: f32[2] = edge.aten.relu.default(%n2))",
                                        "%b1 user_output, %a2 user_output");
  const std::vector<std::string> proposals = ProposeGroups(program, {{"a1", "a2"}, {"b1", "b2"}});
  // a1 and a2 together, b1 after, b2 before them.
  EXPECT_THAT(proposals, ElementsAre("0: a1 a2", "1: b2", "2: b1"));
}

TEST(GroupsTest, SplitsNonConvexGroup) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.neg.default(%a)
                               %c: f32[2] = edge.aten.relu.default(%b))",
                                        "%c user_output");
  EXPECT_THAT(ProposeGroups(program, {{"a", "c"}}), ElementsAre("0: c", "1: a"));
}

TEST(GroupsTest, GroupMayContainANodeAndItsGetitems) {
  const ExportedProgram program = Parse(
      R"(%v: f32[2], %i: f32[1], %j: f32[1] = edge.aten.native_layer_norm.default(%x, [2], none, none, 1e-05) name="t"
      %r: f32[2] = edge.aten.relu.default(%v))",
      "%r user_output");
  const Graph& graph = program.top();
  for (const bool results : {false, true}) {
    ProposalOptions options;
    options.supports_result = [&](ValueId) { return results; };
    const auto proposals = ProposeGroupedPartitions(
        graph, {{FindNode(graph, "t"), FindNode(graph, "r"), FindNode(graph, "t")}},
        [&](NodeId node) { return IsSupported(graph, node); }, options);
    ASSERT_OK(proposals.status());
    EXPECT_THAT(Show(graph, *proposals), ElementsAre("0: t r"));
  }
}

// Only %p uses %i: the getitem is outside the group, so it follows the group.
TEST(GroupsTest, GetitemForOutsideUserIsNotInTheGroup) {
  const ExportedProgram program = Parse(
      R"(%v: f32[2], %i: f32[1], %j: f32[1] = edge.aten.native_layer_norm.default(%x, [2], none, none, 1e-05) name="t"
      %r: f32[2] = edge.aten.relu.default(%v)
      %p: f32[1] = edge.aten.relu.default(%i))",
      "%r user_output, %p user_output");
  const Graph& graph = program.top();
  ProposalOptions options;
  options.supports_result = [&](ValueId) { return false; };
  const auto proposals = ProposeGroupedPartitions(
      graph, {{FindNode(graph, "t"), FindNode(graph, "r")}},
      [&](NodeId node) { return IsSupported(graph, node); }, options);
  ASSERT_OK(proposals.status());
  EXPECT_THAT(Show(graph, *proposals), ElementsAre("0: p", "1: t r"));
}

TEST(CapabilityPartitionerTest, OptionsSelectMutatedBuffersAndSubgraphs) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %q: b8[] user_input, %x: f32[2] user_input) {
      %n: f32[2] = edge.aten.add.Tensor(%b, %x)
      %c: f32[2] = higher_order.cond(%q, graph#1, graph#2, [%x])
      return (%n buffer_mutation "b", %c user_output)
    }
    graph t(%y: f32[2]) {
      %d: f32[2] = edge.aten.add.Tensor(%y, %y)
      return (%d)
    }
    graph f(%y: f32[2]) { return (%y) }
  })",
                                             TestOps());
  for (const bool taken : {false, true}) {
    CapabilityPartitionerOptions options;
    options.tag_mutated_buffers = options.bodies = taken;
    ASSERT_OK_AND_ASSIGN(
        const PartitionResult result,
        CapabilityPartitioner({"recorder", {}}, SupportOps({"aten.add.Tensor"}), options)
            .Partition(program));
    EXPECT_EQ(result.inputs.size(), taken ? 1u : 0u);
    EXPECT_EQ(result.nodes.size(), taken ? 2u : 1u);
  }
}

constexpr std::string_view kAddsAWeight = R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
      %b: f32[2] = edge.aten.add.Tensor(%w, %x)
      return (%b user_output)
    }
  })";

TEST(TagConstantDataTest, KeepsExistingTags) {
  const ExportedProgram program = ParseOrDie(kAddsAWeight, TestOps());
  PartitionResult result;
  result.nodes = {{ExportedProgram::kTop, FindNode(program.top(), "b"), "t"}};
  result.inputs = {{FindValue(program.top(), "w"), "u"}};
  TagConstantData(program, result);
  ASSERT_EQ(result.inputs.size(), 1u);
  EXPECT_EQ(result.inputs[0].tag, "u");
}

TEST(CapabilityPartitionerTest, OptionsSetGroupsAndSkipConstants) {
  const ExportedProgram program = ParseOrDie(kAddsAWeight, TestOps());
  const NodeId node = FindNode(program.top(), "b");
  CapabilityPartitionerOptions options;
  options.tag_constants = false;
  std::vector<NodeId> group = {node};
  options.groups = [&](const ExportedProgram&, GraphId) {
    return std::vector<std::vector<NodeId>>{group, {}};
  };
  const CapabilityPartitioner partitioner({"recorder", {}}, SupportOps({"aten.add.Tensor"}),
                                          options);
  ASSERT_OK_AND_ASSIGN(const PartitionResult result, partitioner.Partition(program));
  EXPECT_EQ(result.nodes.size(), 1u);
  EXPECT_TRUE(result.inputs.empty());
  group = {NodeId(99)};
  EXPECT_THAT(partitioner.Partition(program),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a group has node 99")));
  const FunctionBackend backend("recorder");
  BackendSet backends;
  ASSERT_OK(backends.Add(&backend));
  EXPECT_THAT(ToBackend(program, partitioner, backends),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("method 'forward': a group has node 99")));
}

// Trained parameters are not tagged: only buffers move into delegates.
TEST(TagMutatedBuffersTest, TagsOnlyBuffers) {
  for (const std::string_view kind : {"buffer", "parameter"}) {
    const ExportedProgram program = ParseOrDie(absl::StrCat(R"(program edge {
          constants { state "w": f32[2] }
          graph(%w: f32[2] )",
                                                            kind, R"( "w", %x: f32[2] user_input) {
            %b: f32[2] = edge.aten.add.Tensor(%w, %x)
            return (%b )",
                                                            kind, R"(_mutation "w") } })"),
                                               TestOps());
    PartitionResult result;
    result.nodes = {{ExportedProgram::kTop, FindNode(program.top(), "b"), "t"}};
    TagMutatedBuffers(program, result);
    EXPECT_EQ(result.inputs.size(), kind == "buffer" ? 1u : 0u);
  }
}

TEST(AllNodePartitionerTest, TagsAllNodesAndConstants) {
  const ExportedProgram program = ParseOrDie(kAddsAWeight, TestOps());
  const AllNodePartitioner partitioner({"recorder", {{"k", "v"}}});
  ASSERT_OK_AND_ASSIGN(const PartitionResult result, partitioner.Partition(program));
  EXPECT_EQ(result.nodes.size(), 1);
  EXPECT_EQ(result.inputs.size(), 1);
  EXPECT_EQ(result.delegation[0].first, "recorder");
}

TEST(CapabilityTest, HundredThousandNodesTakeSeconds) {
  ExportedProgram program(&TestOps());
  program.graphs.push_back(Graph());
  GraphEditor editor(program.top());
  const ValueType type = TensorMeta::Contiguous(DType::kFloat32, {2});
  const ValueId input = editor.AddInput("x", type);
  ValueId value = input;
  for (int i = 0; i < 100000; ++i) {
    value = editor.InsertOp(NodeId(),
                            {.name = "n",
                             .target = TestOps().FindText(i % 3 == 0 ? "edge.aten.neg.default"
                                                                     : "edge.aten.add.Tensor"),
                             .arguments = i % 3 == 0 ? std::vector<Argument>{value}
                                                     : std::vector<Argument>{value, input, 1}},
                            type);
  }
  editor.SetOutputs({value});
  const auto proposals = ProposePartitions(
      program.top(), [&](NodeId node) { return IsSupported(program.top(), node); });
  EXPECT_EQ(proposals.size(), 33333);
}

}  // namespace
}  // namespace belay::exir
