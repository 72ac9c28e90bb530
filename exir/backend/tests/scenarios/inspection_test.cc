// exir/backend/test/test_utils.py, test_delegation_info, exir/tests/test_graph_module.py,
// exir/program/test/test_program.py and test_fake_program.py.
#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/partitioner_sequence.h"
#include "exir/backend/tests/scenarios/scenario.h"
#include "exir/emit/emitter.h"
#include "exir/ir/text.h"
#include "exir/pipeline.h"
#include "exir/testing/programs.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class InspectionScenarioTest : public ScenarioTest {};

constexpr std::string_view kMixed = R"(program edge {
  graph(%a: f32[2,2] user_input, %x: f32[2,2] user_input) {
    %y: f32[2,2] = edge.aten.mm.default(%a, %x)
    %y2: f32[2,2] = edge.aten.add.Tensor(%y, %x)
    %z: f32[2,2] = edge.aten.sub.Tensor(%y2, %a)
    %w: f32[2,2] = edge.aten.mm.default(%z, %x)
    %v: f32[2,2] = edge.aten.add.Tensor(%w, %a)
    return (%v user_output)
  }
})";

// Compares everything that upstream compares, and literals.
TEST_F(InspectionScenarioTest, identical_graphs) {
  const std::string_view strings[] = {
      "program edge { graph(%x: f32[2] user_input, %unused: f32[2] user_input) { "
      "%a: f32[2] = edge.aten.neg.default(%x) return (%a user_output) } }",
      "program edge { graph(%x: f32[2] user_input) { "
      "%a: f32[2] = edge.aten.add.Tensor(%x, %x, alpha=2) return (%a user_output) } }",
      kMixed};
  for (std::string_view text : strings) {
    const ExportedProgram program = Parse(text);
    EXPECT_TRUE(Equal(program, program.Clone()));
    EXPECT_TRUE(Equal(program, Parse(text)));
  }
  EXPECT_FALSE(Equal(Parse(strings[0]), Parse(strings[1])));
  EXPECT_FALSE(Equal(
      Parse(strings[1]),
      Parse("program edge { graph(%x: f32[2] user_input) { "
            "%a: f32[2] = edge.aten.add.Tensor(%x, %x, alpha=3) return (%a user_output) } }")));
}

TEST_F(InspectionScenarioTest, not_identical_with_different_outputs) {
  EXPECT_FALSE(
      Equal(Parse("program edge { graph(%x: f32[2] user_input) { return (%x user_output) } }"),
            Parse("program edge { graph(%x: f32[2] user_input) { return (%x user_output, %x "
                  "user_output) } }")));
}

TEST_F(InspectionScenarioTest, none_partition_tags) {
  struct NoTags final : public Partitioner {
    absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override {
      PartitionResult result;
      result.nodes.push_back({ExportedProgram::kTop, program.top().first(), "t"});
      result.has_delegation = false;
      return result;
    }
  };
  EXPECT_THAT(
      ToBackend(Parse(kMixed), NoTags(), backends_),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs a `partition_tags` field")));
}

TEST_F(InspectionScenarioTest, get_non_lowered_nodes) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(Parse(kMixed), {"aten.mm.default", "aten.add.Tensor"}));
  EXPECT_EQ(NonLoweredNodes(lowered.top()).size(), 1u);
}

TEST_F(InspectionScenarioTest, get_delegates) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(Parse(kMixed), {"aten.mm.default", "aten.add.Tensor"}));
  EXPECT_EQ(DelegateCalls(lowered).size(), 2u);
}

TEST_F(InspectionScenarioTest, print_delegated_graph) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(Parse(kMixed), {"aten.mm.default", "aten.add.Tensor"}));
  EXPECT_THAT(PrintProgram(lowered),
              AllOf(HasSubstr("module#0 backend \"recorder\""), HasSubstr("edge.aten.mm.default")));
}

TEST_F(InspectionScenarioTest, get_delegated_payload) {
  EXPECT_THAT(DelegateCalls(Parse(kMixed)), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(Parse(kMixed), {"aten.mm.default", "aten.add.Tensor"}));
  for (const DelegateCall& call : DelegateCalls(lowered)) {
    EXPECT_EQ(call.module->backend_id, "recorder");
    EXPECT_THAT(call.module->compile_specs, IsEmpty());
    EXPECT_FALSE(call.module->processed.bytes.empty());
  }
}

// --- delegation info ---

TEST_F(InspectionScenarioTest, delegation_info) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(Parse(kMixed), {"aten.mm.default", "aten.add.Tensor"}));
  const DelegationInfo info = CountDelegation(lowered);
  EXPECT_EQ(info.delegate_calls, 2u);
  EXPECT_EQ(info.delegated_nodes, 4u);
  EXPECT_EQ(info.non_delegated_nodes, 1u);  // upstream also counts the getitems of the calls
  EXPECT_EQ(info.by_op.at("aten.mm.default").delegated, 2u);
  EXPECT_THAT(info.ToTable(), AllOf(HasSubstr("aten.sub.Tensor"), HasSubstr("Total")));
}

// --- test_graph_module.py ---

constexpr std::string_view kBodies = R"(program edge {
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
    %d: f32[2] = higher_order.map_impl(graph#3, [%c], [])
    return (%d user_output)
  }
  graph t(%y: f32[2]) {
    %n: f32[2] = edge.aten.sin.default(%y)
    return (%n)
  }
  graph f(%y: f32[2]) { return (%y) }
  graph body(%y: f32[]) {
    %n: f32[] = edge.aten.cos.default(%y)
    return (%n)
  }
})";

TEST_F(InspectionScenarioTest, control_flow_submodules) {
  const ExportedProgram program = Parse(kBodies);
  const std::vector<ControlFlowBody> bodies = ControlFlowBodies(program.top());
  ASSERT_EQ(bodies.size(), 3u);
  EXPECT_EQ(bodies[0].argument, 1u);
  EXPECT_EQ(bodies[1].argument, 2u);
  EXPECT_EQ(bodies[2].argument, 0u);
  EXPECT_EQ(program.graphs[bodies[2].body].name(), "body");
  EXPECT_EQ(program.top().node(bodies[2].node).name, "d");
}

TEST_F(InspectionScenarioTest, contains_any_call_target) {
  const ExportedProgram program = Parse(kBodies);
  const auto calls = [&](std::vector<std::string> names) {
    std::vector<const OpOverload*> ops;
    for (const std::string& name : names) ops.push_back(ops_->Find(name));
    return CallsAnyOf(program, ops);
  };
  EXPECT_TRUE(calls({"aten.cos.default"}));   // in a subgraph, as an edge overload
  EXPECT_TRUE(calls({"higher_order.cond"}));  // in the top graph
  EXPECT_FALSE(calls({"aten.neg.default"}));
  EXPECT_FALSE(calls({}));
}

TEST_F(InspectionScenarioTest, nodes_breadth_first) {
  std::vector<std::string> names;
  const ExportedProgram program = Parse(kBodies);
  ForEachNode(program, [&](GraphId graph, NodeId node) {
    names.push_back(program.graphs[graph].node(node).target->name());
  });
  EXPECT_THAT(names, ElementsAre("higher_order.cond", "higher_order.map_impl", "aten.sin.default",
                                 "aten.cos.default"));
}

// --- test_program.py ---

TEST_F(InspectionScenarioTest, to_backend_replaces_subgraph) {
  MethodPrograms methods;
  MethodPartitioners partitioners;
  const CapabilityPartitioner partitioner({"recorder", {}}, SupportOps({"aten.mm.default"}));
  for (const char* name : {"forward", "foo"}) {
    methods.emplace_back(name, Parse(kMixed));
    partitioners.emplace_back(name, &partitioner);
  }
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered, ToBackend(methods, partitioners, backends_));
  for (const auto& [name, program] : methods) EXPECT_THAT(DelegateCalls(program), IsEmpty());
  for (const auto& [name, program] : lowered) EXPECT_EQ(DelegateCalls(program).size(), 2u);
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(lowered));
  for (const schema::Method& method : image.metadata.methods()) {
    EXPECT_EQ(method.delegates_size(), 2);
  }
}

TEST_F(InspectionScenarioTest, to_backend_selective) {
  MethodPrograms methods;
  for (const char* name : {"forward", "foo"}) methods.emplace_back(name, Parse(kMixed));
  const CapabilityPartitioner partitioner({"recorder", {}}, SupportOps({"aten.mm.default"}));
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered,
                       ToBackend(methods, {{"forward", &partitioner}}, backends_));
  EXPECT_EQ(DelegateCalls(lowered[0].second).size(), 2u);
  EXPECT_THAT(DelegateCalls(lowered[1].second), IsEmpty());
  EXPECT_TRUE(Equal(lowered[1].second, methods[1].second));
}

class PreservingPartitioner final : public Partitioner {
 public:
  PreservingPartitioner(std::vector<const OpOverload*> preserve, std::vector<std::string> take)
      : preserve_(std::move(preserve)), inner_({"recorder", {}}, SupportOps(std::move(take))) {}
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override {
    return inner_.Partition(program);
  }
  PreservedOps OpsToNotDecompose(const ExportedProgram&) const override {
    return {preserve_, nullptr};
  }

 private:
  std::vector<const OpOverload*> preserve_;
  CapabilityPartitioner inner_;
};

// As exported by torch.export: linear and silu have decompositions.
constexpr std::string_view kExported = R"(program aten {
  constants { state "w": f32[2,2] state "b": f32[2] }
  graph(%w: f32[2,2] parameter "w", %b: f32[2] parameter "b", %x: f32[2,2] user_input) {
    %y: f32[2,2] = aten.linear.default(%x, %w, %b)
    %z: f32[2,2] = aten.silu.default(%y)
    return (%z user_output)
  }
})";

// exir.to_edge_transform_and_lower: operators that a partitioner asks to preserve are not
// decomposed and can be delegated.
TEST_F(InspectionScenarioTest, to_edge_transform_and_lower) {
  const std::vector<std::string> take = {"aten.linear.default", "aten.addmm.default"};
  const PreservingPartitioner keeps({ops_->Find("aten.linear.default")}, take),
      decomposes({}, take);
  for (const PreservingPartitioner* partitioner : {&keeps, &decomposes}) {
    MethodPrograms methods;
    methods.emplace_back("forward", Parse(kExported));
    PipelineOptions options;
    options.partitioners.all = {partitioner};
    options.backends = &backends_;
    PipelineReport report;
    ASSERT_OK_AND_ASSIGN(const ProgramImage image,
                         LowerPrograms(std::move(methods), options, &report));
    const schema::Method& method = image.metadata.methods(0);
    ASSERT_EQ(method.delegates_size(), 1);
    EXPECT_EQ(TextOf(image.segments[method.delegates(0).segment()].pieces[0]),
              partitioner == &keeps ? "aten.linear.default" : "aten.addmm.default");
    // No partitioner requests silu, so it is decomposed.
    for (const std::string& op : method.operators()) {
      EXPECT_THAT(op, AllOf(Not(HasSubstr("silu")), Not(HasSubstr("linear"))));
    }
    EXPECT_GT(report.left_over.size(), 0u);
  }
}

TEST_F(InspectionScenarioTest, to_edge_transform_and_lower_with_exception) {
  const PreservingPartitioner partitioner(
      {ops_->Find("aten.linear.default"), ops_->Find("aten.silu.default")},
      {"aten.linear.default"});
  MethodPrograms methods;
  methods.emplace_back("forward", Parse(kExported));
  PipelineOptions options;
  options.partitioners.all = {&partitioner};
  options.backends = &backends_;
  EXPECT_THAT(LowerPrograms(std::move(methods), options),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("node z with operator aten.silu.default was not decomposed "
                                       "or delegated"),
                             Not(HasSubstr("aten.linear.default")))));
}

// Undelegated operators are also found in nested subgraphs (docs/lowering.md §7.27).
TEST_F(InspectionScenarioTest, preserved_operator_in_a_body_is_found) {
  const PreservingPartitioner partitioner({ops_->Find("aten.cos.default")}, {"aten.sin.default"});
  MethodPrograms methods;
  methods.emplace_back("forward", Parse(kBodies));
  EXPECT_THAT(CheckPreservedOps(methods, {{"forward", &partitioner}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("aten.cos.default")));
}

// --- test_fake_program.py: partitioners get the program itself, const ---

TEST_F(InspectionScenarioTest, partitioner_sees_the_program_and_copies_no_bytes) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %w)
      return (%a user_output)
    }
  })");
  struct Looker final : public Partitioner {
    absl::StatusOr<PartitionResult> Partition(const ExportedProgram& seen) const override {
      data = seen.state_dict.at("w").storage().bytes.data();
      inputs = seen.signature.inputs.size();
      return PartitionResult();
    }
    mutable const std::byte* data = nullptr;
    mutable size_t inputs = 0;
  };
  const Looker looker;
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, ToBackend(program, looker, backends_));
  EXPECT_EQ(looker.data, program.state_dict.at("w").storage().bytes.data());
  EXPECT_EQ(looker.inputs, 2u);
  EXPECT_EQ(lowered.state_dict.at("w").storage().bytes.data(), looker.data);
  EXPECT_TRUE(Equal(lowered, program));
}

}  // namespace
}  // namespace belay::exir
