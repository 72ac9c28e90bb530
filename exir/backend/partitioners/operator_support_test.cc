// Tests of support predicates, exclusions, and configurations by operator: docs/lowering.md rows 37
// – 39 and the scenarios of Arm's test_custom_partition.
#include "exir/backend/partitioners/operator_support.h"

#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// Parses a program of these lines over %x.
ExportedProgram Parse(std::string_view lines, std::string_view outputs) {
  return ParseOrDie(absl::StrCat("program edge {\n graph(%x: f32[2] user_input) {\n", lines,
                                 "\n return (", outputs, ")\n }\n}"),
                    TestOps());
}

TEST(OperatorSupportTest, CombinationsAndReasons) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.relu.default(%x)  @"m.py":1 module="layers.0.attn"
      %b: f32[2] = edge.aten.add.Tensor(%a, %x)  @"m.py":2 module="layers.1.mlp"
      return (%b user_output)
    }
  })",
                                             TestOps());
  const auto ask = [&](const SupportFn& support, uint32_t node) {
    return support(program, ExportedProgram::kTop, NodeId(node));
  };
  const SupportFn relu = SupportOps({"aten.relu.default"});
  EXPECT_EQ(ask(relu, 0), "");
  EXPECT_EQ(ask(relu, 1), "operator aten.add.Tensor is not supported");
  EXPECT_EQ(ask(AnySupport({relu, SupportOps({"aten.add.Tensor"})}), 1), "");
  EXPECT_EQ(ask(AnySupport({relu, SupportOps({"aten.add.Tensor"})}), 0), "");
  EXPECT_EQ(ask(AnySupport({relu, SupportOps({"aten.mul.Tensor"})}), 1),
            "operator aten.add.Tensor is not supported");
  EXPECT_EQ(ask(AnySupport({}), 1), "no support was given");
  EXPECT_EQ(ask(DontPartitionFunctions({"relu"}), 0), "");  // its function is unknown
  EXPECT_EQ(ask(AllSupport({relu, DontPartitionNames({"a"})}), 0),
            "node a was excluded by the user");
  EXPECT_EQ(ask(DontPartitionOps({"relu"}), 0), "");
  EXPECT_EQ(ask(DontPartitionOps({"relu"}, /*substring=*/true), 0),
            "operator aten.relu.default was excluded by the user");
  EXPECT_EQ(ask(DontPartitionModules({"attn"}), 0),
            "module layers.0.attn was excluded by the user");
  EXPECT_EQ(ask(DontPartitionModules({"layers.0.attn"}), 0),
            "module layers.0.attn was excluded by the user");
  EXPECT_EQ(ask(DontPartitionModules({"0.attn"}), 0), "");
  EXPECT_EQ(ask(DontPartitionModules({"att"}), 0), "");
  EXPECT_EQ(ask(DontPartitionModules({"layers.1"}, /*substring=*/true), 1),
            "module layers.1.mlp was excluded by the user");
}

TEST(OperatorSupportTest, FormatsRejectionsWithOneReasonPerNode) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                                           %b: f32[2] = edge.aten.neg.default(%a))",
                                        "%b user_output");
  EXPECT_EQ(FormatRejections(program, {}), "No nodes rejected.");
  EXPECT_EQ(FormatRejections(program, {{ExportedProgram::kTop, NodeId(1), "first"},
                                       {ExportedProgram::kTop, NodeId(0), "other"},
                                       {ExportedProgram::kTop, NodeId(1), "second"}}),
            "node  operator           module  function  reason\n"
            "a     aten.relu.default                    other\n"
            "b     aten.neg.default                     first\n");
}

// --- test_custom_partition.py ---

// Two layers that compute relu(x) + x, and a final sigmoid-like operator.
const ExportedProgram& TwoLayers() {
  static const ExportedProgram* const program = new ExportedProgram(Parse(
      R"(%relu: f32[2] = edge.aten.relu.default(%x)  @"m.py":1 module="nested.relu" module_type="torch.nn.modules.activation.ReLU" function="builtin_function_or_method.relu"
       %add: f32[2] = edge.aten.add.Tensor(%relu, %x)  @"m.py":2 module="nested" module_type="model.Nested" function="builtin_function_or_method.add"
       %relu_1: f32[2] = edge.aten.relu.default(%add)  @"m.py":1 module="nested_1.relu" module_type="torch.nn.modules.activation.ReLU" function="builtin_function_or_method.relu"
       %gelu: f32[2] = edge.aten.gelu.default(%relu_1)  @"m.py":3 function="method_descriptor.gelu")",
      "%gelu user_output"));
  return *program;
}

// Returns the names of the nodes that are not excluded, and the table for the others.
std::vector<std::string> Taken(SupportFn exclusion) {
  const CapabilityPartitioner partitioner(
      {"recorder", {}},
      AllSupport({SupportOps({"aten.relu.default", "aten.add.Tensor", "aten.gelu.default"}),
                  std::move(exclusion)}));
  const absl::StatusOr<PartitionResult> result = partitioner.Partition(TwoLayers());
  EXPECT_OK(result);
  std::vector<std::string> names;
  for (const auto& tagged : result->nodes) {
    names.push_back(TwoLayers().top().node(tagged.node).name);
  }
  EXPECT_EQ(result->rejections.size() + names.size(), TwoLayers().top().num_nodes());
  return names;
}

TEST(DontPartitionTest, single_reject) {
  EXPECT_THAT(Taken(DontPartitionOps({"edge.aten.gelu.default"})),
              UnorderedElementsAre("relu", "add", "relu_1"));
}
TEST(DontPartitionTest, multiple_reject) {
  EXPECT_THAT(Taken(DontPartitionOps({"edge.aten.gelu.default", "edge.aten.add.Tensor"})),
              UnorderedElementsAre("relu", "relu_1"));
}
TEST(DontPartitionTest, torch_op_reject) {
  EXPECT_THAT(Taken(DontPartitionFunctions({"gelu", "add"})),
              UnorderedElementsAre("relu", "relu_1"));
  EXPECT_THAT(Taken(DontPartitionFunctions({"method_descriptor.gelu"})),
              UnorderedElementsAre("relu", "add", "relu_1"));
  EXPECT_THAT(Taken(DontPartitionFunctions({"lu"}, /*substring=*/true)),
              UnorderedElementsAre("add"));
  EXPECT_THAT(Taken(DontPartitionFunctions({"lu"})),
              UnorderedElementsAre("relu", "add", "relu_1", "gelu"));
}
TEST(DontPartitionTest, string_op_reject) {
  EXPECT_THAT(Taken(DontPartitionOps({"aten.gelu.default"})),
              UnorderedElementsAre("relu", "add", "relu_1"));
  EXPECT_THAT(Taken(DontPartitionOps({"gelu"}, /*substring=*/true)),
              UnorderedElementsAre("relu", "add", "relu_1"));
}
TEST(DontPartitionTest, name_reject) {
  EXPECT_THAT(Taken(DontPartitionNames({"relu_1"})), UnorderedElementsAre("relu", "add", "gelu"));
  EXPECT_THAT(Taken(DontPartitionNames({"relu"}, /*substring=*/true)),
              UnorderedElementsAre("add", "gelu"));
}
TEST(DontPartitionTest, module_reject) {
  EXPECT_THAT(Taken(DontPartitionModules({"ReLU"})), UnorderedElementsAre("add", "gelu"));
  EXPECT_THAT(Taken(DontPartitionModules({"torch.nn.modules.activation.ReLU"})),
              UnorderedElementsAre("add", "gelu"));
  EXPECT_THAT(Taken(DontPartitionModules({"activation.ReLU"})),
              UnorderedElementsAre("relu", "add", "relu_1", "gelu"));
}
TEST(DontPartitionTest, inexact_module_reject) {
  EXPECT_THAT(Taken(DontPartitionModules({"eLU"}, /*substring=*/true)),
              UnorderedElementsAre("add", "gelu"));
  EXPECT_THAT(Taken(DontPartitionModules({"activation.R"}, /*substring=*/true)),
              UnorderedElementsAre("add", "gelu"));
}
TEST(DontPartitionTest, module_instance_reject) {
  EXPECT_THAT(Taken(DontPartitionModules({"nested_1.relu"})),
              UnorderedElementsAre("relu", "add", "gelu"));
  EXPECT_THAT(Taken(DontPartitionModules({"nested"})),
              UnorderedElementsAre("relu", "relu_1", "gelu"));
}
TEST(DontPartitionTest, log_text) {
  const CapabilityPartitioner partitioner(
      {"recorder", {}}, AllSupport({SupportOps({"aten.relu.default", "aten.add.Tensor"}),
                                    DontPartitionNames({"add"})}));
  ASSERT_OK_AND_ASSIGN(const PartitionResult result, partitioner.Partition(TwoLayers()));
  const std::string table = FormatRejections(TwoLayers(), result.rejections);
  EXPECT_THAT(table, HasSubstr("node add was excluded by the user"));
  EXPECT_THAT(table, HasSubstr("builtin_function_or_method.add"));
  EXPECT_THAT(table, HasSubstr("operator aten.gelu.default is not supported"));
}

// --- Configurations ---

TEST(ConfigPartitionerTest, OverlappingListsAreOnePartition) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.add.Tensor(%a, %a)
                               %c: f32[2] = edge.aten.neg.default(%b)
                               %d: f32[2] = edge.aten.relu.default(%c))",
                                        "%d user_output");
  const auto with_input = [](const ExportedProgram& p, GraphId graph, NodeId node) {
    const ValueId input = *p.graphs[graph].node(node).arguments[0].get_if<ValueId>();
    return std::vector<NodeId>{p.graphs[graph].value(input).producer, node};
  };
  std::vector<NodeConfig> configs = {{"aten.relu.default", nullptr, nullptr, nullptr},
                                     {"aten.add.Tensor", nullptr, with_input, nullptr}};
  ASSERT_OK_AND_ASSIGN(const ConfigPartitioner partitioner,
                       ConfigPartitioner::Create({"recorder", {}}, configs));
  ASSERT_OK_AND_ASSIGN(const PartitionResult result, partitioner.Partition(program));
  std::vector<std::string> tags;
  for (const auto& tagged : result.nodes) {
    tags.push_back(absl::StrCat(program.top().node(tagged.node).name, "=", tagged.tag));
  }
  EXPECT_THAT(tags, ElementsAre("a=tag0", "b=tag0", "d=tag1"));
  ASSERT_EQ(result.rejections.size(), 1);
  configs.push_back(configs[0]);
  EXPECT_EQ(ConfigPartitioner::Create({"recorder", {}}, configs).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ConfigPartitionerTest, NamesMayOmitTheNamespace) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.mylib.relu.default(%a)
                               %c: f32[2] = edge.aten.neg.default(%b)
                               %d: f32[2] = sorted(%c))",
                                        "%d user_output");
  const auto refuse = [](const ExportedProgram&, GraphId, NodeId) -> std::string { return "no"; };
  std::vector<NodeConfig> configs(2);
  configs[0].op = "relu.default";
  configs[1].op = "mylib.relu.default";  // its own configuration has priority
  configs[1].check = refuse;
  ASSERT_OK_AND_ASSIGN(const ConfigPartitioner partitioner,
                       ConfigPartitioner::Create({"recorder", {}}, configs));
  ASSERT_OK_AND_ASSIGN(const PartitionResult result, partitioner.Partition(program));
  ASSERT_EQ(result.nodes.size(), 1u);
  EXPECT_EQ(program.top().node(result.nodes[0].node).name, "a");
  ASSERT_EQ(result.rejections.size(), 3u);
  EXPECT_EQ(result.rejections[0].reason, "no");
  EXPECT_EQ(result.rejections[2].reason, "no configuration for the operator");  // without namespace
}

TEST(ConfigPartitionerTest, RejectsUnknownNodes) {
  const ExportedProgram program =
      Parse("%a: f32[2] = edge.aten.relu.default(%x)", "%a user_output");
  std::vector<NodeConfig> configs(1);
  configs[0].op = "aten.relu.default";
  configs[0].nodes = [](const ExportedProgram&, GraphId, NodeId) {
    return std::vector<NodeId>{NodeId(77)};
  };
  ASSERT_OK_AND_ASSIGN(const ConfigPartitioner partitioner,
                       ConfigPartitioner::Create({"recorder", {}}, configs));
  EXPECT_THAT(partitioner.Partition(program),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("names node 77")));
}

// The filter of preserved operators applies only to operators that configurations preserve.
TEST(ConfigPartitionerTest, FilterAppliesWhereAnOperatorIsPreserved) {
  const ExportedProgram program = Parse(R"(%a: f32[2] = edge.aten.relu.default(%x)
                               %b: f32[2] = edge.aten.neg.default(%a))",
                                        "%b user_output");
  std::vector<NodeConfig> configs(2);
  configs[0].op = "aten.relu.default";
  configs[0].preserve = TestOps().Find("aten.relu.default");
  configs[1].op = "aten.neg.default";
  ASSERT_OK_AND_ASSIGN(const ConfigPartitioner partitioner,
                       ConfigPartitioner::Create({"recorder", {}}, configs));
  const PreservedOps preserved = partitioner.OpsToNotDecompose(program);
  EXPECT_THAT(preserved.ops, ElementsAre(TestOps().Find("aten.relu.default")));
  EXPECT_TRUE(preserved.filter(program, ExportedProgram::kTop, FindNode(program.top(), "a")));
  EXPECT_FALSE(preserved.filter(program, ExportedProgram::kTop, FindNode(program.top(), "b")));
  configs[0].preserve = nullptr;
  ASSERT_OK_AND_ASSIGN(const ConfigPartitioner without,
                       ConfigPartitioner::Create({"recorder", {}}, configs));
  EXPECT_EQ(without.OpsToNotDecompose(program).filter, nullptr);
}

}  // namespace
}  // namespace belay::exir
