// Tests of groups of nodes that are kept together: docs/lowering.md §2.25 and the scenarios of
// test_group_partitioner.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/partitioners/capability.h"
#include "exir/ir/graph_editor.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Everything except neg is supported.
ExportedProgram Parse(std::string_view lines, std::string_view outputs) {
  return ParseOrDie(absl::StrCat("program edge {\n graph(%x: f32[2] user_input) {\n", lines,
                                 "\n return (", outputs, ")\n }\n}"),
                    TestOps());
}

// The partitions as unordered sets of names.
std::vector<std::set<std::string>> Sets(const Graph& graph,
                                        const std::vector<PartitionProposal>& proposals) {
  std::vector<std::set<std::string>> sets;
  for (const PartitionProposal& proposal : proposals) {
    std::set<std::string> names;
    for (NodeId node : proposal.nodes) names.insert(graph.node(node).name);
    sets.push_back(names);
  }
  std::sort(sets.begin(), sets.end());
  return sets;
}

std::vector<std::set<std::string>> Grouped(const ExportedProgram& program,
                                           const std::vector<std::vector<std::string>>& names,
                                           const ProposalOptions& options = {}) {
  const Graph& graph = program.top();
  std::vector<std::vector<NodeId>> groups;
  for (const auto& group : names) {
    groups.emplace_back();
    for (const std::string& name : group) groups.back().push_back(FindNode(graph, name));
  }
  const auto proposals = ProposeGroupedPartitions(
      graph, groups,
      [&](NodeId node) { return graph.node(node).target->name() != "aten.neg.default"; }, options);
  EXPECT_TRUE(proposals.ok()) << proposals.status();
  return Sets(graph, *proposals);
}

using Names = std::set<std::string>;

// Two linears (here mm-like adds) share quantize and dequantize nodes (here relu) of an input. Each
// group contains its linear and its own conversion; the shared one is in the first group.
TEST(GroupsScenarioTest, SharedConversionWithTwoLinears) {
  const ExportedProgram program = Parse(R"(%q: f32[2] = edge.aten.relu.default(%x)
                               %l1: f32[2] = edge.aten.add.Tensor(%q, %x)
                               %l2: f32[2] = edge.aten.add.Tensor(%q, %x)
                               %n1: f32[2] = edge.aten.neg.default(%l1)
                               %o: f32[2] = edge.aten.add.Tensor(%n1, %l2))",
                                        "%o user_output");
  EXPECT_THAT(Grouped(program, {{"q", "l1"}, {"l2", "o"}}),
              UnorderedElementsAre(Names{"q", "l1"}, Names{"l2", "o"}));
}

TEST(GroupsScenarioTest, BranchingGroupsStayTogether) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.neg.default(%a)
                               %c: f32[2] = edge.aten.relu.default(%a)
                               %d: f32[2] = edge.aten.add.Tensor(%b, %c))",
                                        "%d user_output");
  EXPECT_THAT(Grouped(program, {{"a", "c"}}), UnorderedElementsAre(Names{"a", "c"}, Names{"d"}));
  EXPECT_THAT(Grouped(program, {{"c", "d"}}), UnorderedElementsAre(Names{"a"}, Names{"c", "d"}));
}

TEST(GroupsScenarioTest, MultiLevelGroupsStayTogether) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.relu.default(%a)
                               %n: f32[2] = edge.aten.neg.default(%b)
                               %c: f32[2] = edge.aten.relu.default(%n)
                               %d: f32[2] = edge.aten.relu.default(%c)
                               %m: f32[2] = edge.aten.neg.default(%d)
                               %e: f32[2] = edge.aten.relu.default(%m))",
                                        "%e user_output");
  EXPECT_THAT(Grouped(program, {{"a", "b"}, {"c", "d"}}),
              UnorderedElementsAre(Names{"a", "b"}, Names{"c", "d"}, Names{"e"}));
}

TEST(GroupsScenarioTest, TwoConversionGroups) {
  const ExportedProgram program = Parse(R"(%q1: f32[2] = edge.aten.relu.default(%x)
                               %d1: f32[2] = edge.aten.relu.default(%q1)
                               %n: f32[2] = edge.aten.neg.default(%d1)
                               %q2: f32[2] = edge.aten.relu.default(%n)
                               %d2: f32[2] = edge.aten.relu.default(%q2))",
                                        "%d2 user_output");
  EXPECT_THAT(Grouped(program, {{"q1", "d1"}, {"q2", "d2"}}),
              UnorderedElementsAre(Names{"q1", "d1"}, Names{"q2", "d2"}));
}

// Nodes of each partition feed the other through unsupported nodes: partitions must not depend on
// each other.
TEST(GroupsScenarioTest, InterdependentGraphWithoutGroups) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.neg.default(%a)
                               %c: f32[2] = edge.aten.relu.default(%x)
                               %d: f32[2] = edge.aten.neg.default(%c)
                               %e: f32[2] = edge.aten.add.Tensor(%b, %c)
                               %f: f32[2] = edge.aten.add.Tensor(%d, %e))",
                                        "%f user_output");
  EXPECT_THAT(Grouped(program, {}), UnorderedElementsAre(Names{"a", "c"}, Names{"e", "f"}));
}

TEST(GroupsScenarioTest, CycleProneGraphPartitionsEverySupportedNode) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %n: f32[2] = edge.aten.neg.default(%a)
                               %b: f32[2] = edge.aten.add.Tensor(%a, %n)
                               %m: f32[2] = edge.aten.neg.default(%b)
                               %c: f32[2] = edge.aten.add.Tensor(%b, %m))",
                                        "%c user_output");
  Names all;
  for (const Names& names : Grouped(program, {{"a", "c"}, {"b"}})) {
    all.insert(names.begin(), names.end());
  }
  EXPECT_EQ(all, (Names{"a", "b", "c"}));
}

TEST(GroupsScenarioTest, SingleNodePartitionsMayBeFiltered) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %n: f32[2] = edge.aten.neg.default(%a)
                               %b: f32[2] = edge.aten.relu.default(%n))",
                                        "%b user_output");
  EXPECT_TRUE(Grouped(program, {}, {.allow_single_node = false}).empty());
  EXPECT_EQ(Grouped(program, {}, {.allow_single_node = true}).size(), 2u);
}

// Two layers of cross attention: the groups of the layers interleave, and two of them depend on
// each other through the nodes between.
TEST(GroupsScenarioTest, InterleavedGroupsOfCrossAttention) {
  const ExportedProgram program = Parse(R"(%q1: f32[2] = edge.aten.relu.default(%x)
                               %k1: f32[2] = edge.aten.relu.default(%x)
                               %s1: f32[2] = edge.aten.neg.default(%q1)
                               %t1: f32[2] = edge.aten.neg.default(%k1)
                               %q2: f32[2] = edge.aten.add.Tensor(%t1, %q1)
                               %k2: f32[2] = edge.aten.add.Tensor(%s1, %k1)
                               %o: f32[2] = edge.aten.add.Tensor(%q2, %k2))",
                                        "%o user_output");
  Names all;
  for (const Names& names : Grouped(program, {{"q1", "q2"}, {"k1", "k2"}})) {
    for (const std::string& name : names) EXPECT_TRUE(all.insert(name).second) << name;
  }
  EXPECT_EQ(all, (Names{"k1", "k2", "o", "q1", "q2"}));
}

// A distant conflict does not split other groups: only the later of the two is split.
TEST(GroupsTest, SplitsOnlyConflictingGroups) {
  const ExportedProgram program = Parse(R"(%a1: f32[2] = edge.aten.relu.default(%x)
                               %n1: f32[2] = edge.aten.neg.default(%a1)
                               %b1: f32[2] = edge.aten.relu.default(%n1)
                               %b2: f32[2] = edge.aten.relu.default(%x)
                               %n2: f32[2] = edge.aten.neg.default(%b2)
                               %a2: f32[2] = edge.aten.relu.default(%n2)
                               %n3: f32[2] = edge.aten.neg.default(%a2)
                               %c1: f32[2] = edge.aten.relu.default(%n3)
                               %n4: f32[2] = edge.aten.neg.default(%x)
                               %c2: f32[2] = edge.aten.relu.default(%n4))",
                                        "%b1 user_output, %c1 user_output, %c2 user_output");
  const auto sets = Grouped(program, {{"a1", "a2"}, {"b1", "b2"}, {"c1", "c2"}});
  const auto together = [&](const std::string& a, const std::string& b) {
    return std::any_of(sets.begin(), sets.end(),
                       [&](const Names& names) { return names.contains(a) && names.contains(b); });
  };
  EXPECT_TRUE(together("a1", "a2"));
  EXPECT_FALSE(together("b1", "b2"));
  EXPECT_TRUE(together("c1", "c2"));  // after the cycle, but not on it
}

// C is on the cycle only because A and B are. It is removed with B, retried without B, and kept.
TEST(GroupsTest, RetriesGroupOnACycleOfOthers) {
  const ExportedProgram program = Parse(R"(%a1: f32[2] = edge.aten.relu.default(%x)
                               %b2: f32[2] = edge.aten.relu.default(%x)
                               %c2: f32[2] = edge.aten.relu.default(%x)
                               %n1: f32[2] = edge.aten.neg.default(%a1)
                               %n2: f32[2] = edge.aten.neg.default(%b2)
                               %n3: f32[2] = edge.aten.neg.default(%a1)
                               %n4: f32[2] = edge.aten.neg.default(%c2)
                               %b1: f32[2] = edge.aten.add.Tensor(%n1, %n4)
                               %a2: f32[2] = edge.aten.relu.default(%n2)
                               %c1: f32[2] = edge.aten.relu.default(%n3))",
                                        "%b1 user_output, %a2 user_output, %c1 user_output");
  EXPECT_THAT(Grouped(program, {{"a1", "a2"}, {"b1", "b2"}, {"c1", "c2"}}),
              UnorderedElementsAre(Names{"a1", "a2"}, Names{"c1", "c2"}, Names{"b1"}, Names{"b2"}));
}

// --- Without groups: the capability partitioner ---

struct Scenario {
  std::string_view name, lines, outputs;
};
constexpr Scenario kScenarios[] = {
    {"simple", "%a: f32[2] = edge.aten.relu.default(%x)\n%b: f32[2] = edge.aten.add.Tensor(%a, %x)",
     "%b user_output"},
    {"complex", R"(%a: f32[2] = edge.aten.relu.default(%x)
       %n: f32[2] = edge.aten.neg.default(%a)
       %b: f32[2] = edge.aten.mul.Tensor(%n, %a)
       %c: f32[2] = edge.aten.add.Tensor(%b, %x)
       %m: f32[2] = edge.aten.neg.default(%c)
       %d: f32[2] = edge.aten.add.Tensor(%m, %b))",
     "%d user_output"},
    {"branching", R"(%a: f32[2] = edge.aten.relu.default(%x)
       %l: f32[2] = edge.aten.neg.default(%a)
       %r: f32[2] = edge.aten.relu.default(%a)
       %o: f32[2] = edge.aten.add.Tensor(%l, %r))",
     "%o user_output"},
    {"reshape", R"(%a: f32[2] = edge.aten.relu.default(%x)
       %v: f32[1,2] = edge.aten.view_copy.default(%a, [1,2])
       %n: f32[1,2] = edge.aten.neg.default(%v)
       %w: f32[2] = edge.aten.view_copy.default(%n, [2]))",
     "%w user_output"},
    {"many_paths", R"(%a: f32[2] = edge.aten.relu.default(%x)
       %b: f32[2] = edge.aten.neg.default(%a)
       %c: f32[2] = edge.aten.relu.default(%a)
       %d: f32[2] = edge.aten.neg.default(%c)
       %e: f32[2] = edge.aten.add.Tensor(%b, %c)
       %f: f32[2] = edge.aten.add.Tensor(%d, %e)
       %g: f32[2] = edge.aten.neg.default(%f)
       %h: f32[2] = edge.aten.add.Tensor(%g, %a))",
     "%h user_output"},
    {"multi_output", R"(%a: f32[2] = edge.aten.relu.default(%x)
       [%s0: f32[1], %s1: f32[1]] = edge.aten.split_with_sizes.default(%a, [1,1])
       %n: f32[1] = edge.aten.neg.default(%s0)
       %o: f32[1] = edge.aten.add.Tensor(%n, %s1))",
     "%o user_output"},
    {"shared_subgraph", R"(%a: f32[2] = edge.aten.relu.default(%x)
       %n: f32[2] = edge.aten.neg.default(%a)
       %b: f32[2] = edge.aten.add.Tensor(%a, %n)
       %c: f32[2] = edge.aten.mul.Tensor(%a, %n)
       %d: f32[2] = edge.aten.add.Tensor(%b, %c))",
     "%d user_output"},
    {"non_compute_ops", R"(%v: f32[1,2] = edge.aten.view_copy.default(%x, [1,2])
       %n: f32[1,2] = edge.aten.neg.default(%v)
       %w: f32[2] = edge.aten.view_copy.default(%n, [2]))",
     "%w user_output"},
    {"diamond", R"(%a: f32[2] = edge.aten.relu.default(%x)
       %b: f32[2] = edge.aten.neg.default(%a)
       %c: f32[2] = edge.aten.neg.default(%a)
       %d: f32[2] = edge.aten.add.Tensor(%b, %c)
       %e: f32[2] = edge.aten.add.Tensor(%d, %a))",
     "%e user_output"},
    {"fusion_pairs", R"(%a: f32[2] = edge.aten.relu.default(%x)
       %b: f32[2] = edge.aten.mul.Tensor(%a, %a)
       %n: f32[2] = edge.aten.neg.default(%b)
       %c: f32[2] = edge.aten.relu.default(%n)
       %d: f32[2] = edge.aten.mul.Tensor(%c, %c))",
     "%d user_output"},
    {"dynamic_shape", R"(%n: symint(2) = aten.sym_size.int(%x, 0)
       %a: f32[2] = edge.aten.relu.default(%x)
       %v: f32[2] = edge.aten.view_copy.default(%a, [%n]))",
     "%v user_output"},
    {"large_chain", R"(%a: f32[2] = edge.aten.relu.default(%x)
       %b: f32[2] = edge.aten.relu.default(%a)
       %c: f32[2] = edge.aten.neg.default(%b)
       %d: f32[2] = edge.aten.relu.default(%c)
       %e: f32[2] = edge.aten.neg.default(%d)
       %f: f32[2] = edge.aten.relu.default(%e)
       %g: f32[2] = edge.aten.relu.default(%f)
       %h: f32[2] = edge.aten.neg.default(%g)
       %i: f32[2] = edge.aten.relu.default(%h))",
     "%i user_output"},
    {"traversal_order", R"(%z: f32[2] = edge.aten.relu.default(%x)
       %y: f32[2] = edge.aten.neg.default(%x)
       %a: f32[2] = edge.aten.add.Tensor(%y, %z)
       %b: f32[2] = edge.aten.relu.default(%z))",
     "%b user_output, %a user_output"},
    {"allowed_single_ops", R"(%a: f32[2] = edge.aten.relu.default(%x)
       %n: f32[2] = edge.aten.neg.default(%a)
       %b: f32[2] = edge.aten.mul.Tensor(%n, %x))",
     "%b user_output"},
};

class WithoutGroupsTest : public ::testing::TestWithParam<Scenario> {};

TEST_P(WithoutGroupsTest, EqualsTheCapabilityPartitioner) {
  const ExportedProgram program = Parse(GetParam().lines, GetParam().outputs);
  const Graph& graph = program.top();
  const auto supported = [&](NodeId node) {
    return graph.node(node).target->name() != "aten.neg.default";
  };
  for (const ProposalOptions& options :
       {ProposalOptions(), ProposalOptions{.allow_single_node = false},
        ProposalOptions{.allow_single_node = false,
                        .allowed_single_node_ops = {"aten.mul.Tensor"}}}) {
    ASSERT_OK_AND_ASSIGN(const auto grouped,
                         ProposeGroupedPartitions(graph, {}, supported, options));
    EXPECT_EQ(Sets(graph, grouped), Sets(graph, ProposePartitions(graph, supported, options)));
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, WithoutGroupsTest, ::testing::ValuesIn(kScenarios),
                         [](const auto& info) { return std::string(info.param.name); });

// --- Size ---

// Two long interleaved chains in opposite directions: every group conflicts with every other.
TEST(GroupsTest, ThousandsOfConflictingGroupsTakeSeconds) {
  constexpr int kGroups = 10000;
  ExportedProgram program(&TestOps());
  program.graphs.push_back(Graph());
  GraphEditor editor(program.top());
  const ValueType type = TensorMeta::Contiguous(DType::kFloat32, {2});
  const auto chain = [&](std::vector<NodeId>& nodes) {
    ValueId value = editor.AddInput("x", type);
    for (int i = 0; i < 2 * kGroups; ++i) {
      value = editor.InsertOp(NodeId(),
                              {.name = "n",
                               .target = TestOps().FindText(i % 2 == 0 ? "edge.aten.relu.default"
                                                                       : "edge.aten.neg.default"),
                               .arguments = {value}},
                              type);
      if (i % 2 == 0) nodes.push_back(program.top().value(value).producer);
    }
    return value;
  };
  std::vector<NodeId> forth, back;
  const ValueId end_of_forth = chain(forth);
  const ValueId end_of_back = chain(back);
  editor.SetOutputs({end_of_forth, end_of_back});
  std::vector<std::vector<NodeId>> groups;
  for (int i = 0; i < kGroups; ++i) groups.push_back({forth[i], back[kGroups - 1 - i]});
  ASSERT_OK_AND_ASSIGN(const auto proposals,
                       ProposeGroupedPartitions(program.top(), groups, [&](NodeId node) {
                         return program.top().node(node).target->name() != "aten.neg.default";
                       }));
  // The first group is kept; other nodes of its level may be in the partition.
  const bool kept = std::any_of(proposals.begin(), proposals.end(), [&](const auto& proposal) {
    const auto has = [&](NodeId node) {
      return std::find(proposal.nodes.begin(), proposal.nodes.end(), node) != proposal.nodes.end();
    };
    return has(groups[0][0]) && has(groups[0][1]);
  });
  EXPECT_TRUE(kept);
}

}  // namespace
}  // namespace belay::exir
