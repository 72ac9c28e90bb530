// exir/backend/test/test_debug_handle_map.py, and the emission of handles and maps
// (docs/lowering.md §4.6; exir/emit/test/test_emit.py, exir/tests/test_passes.py).
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/compose.h"
#include "exir/backend/delegate_mapping_builder.h"
#include "exir/backend/tests/scenarios/scenario.h"
#include "exir/emit/emitter.h"
#include "exir/passes/generate_debug_handles.h"
#include "exir/testing/programs.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// One generated identifier per node with a handle.
class MappingBackend final : public Backend {
 public:
  std::string_view id() const override { return "mapping"; }
  absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram program,
                                              absl::Span<const CompileSpec> specs) const override {
    DelegateMappingBuilder builder(DelegateMappingBuilder::Identifiers::kGenerated);
    std::vector<NodeId> all;
    for (NodeId node : program.top().nodes()) {
      if (program.top().node(node).debug_handle == 0) continue;
      all.push_back(node);
      if (!specs.empty()) continue;
      ABSL_RETURN_IF_ERROR(builder.InsertNodes(program.top(), {node}).status());
    }
    if (!specs.empty()) {  // one instruction for all nodes
      ABSL_RETURN_IF_ERROR(builder.InsertNodes(program.top(), all).status());
    }
    return PreprocessResult{.processed = TextStorage("blob"),
                            .debug_handle_map = builder.mapping()};
  }
};

class DebugHandleScenarioTest : public ScenarioTest {
 protected:
  DebugHandleScenarioTest() { EXPECT_OK(backends_.Add(&mapping_)); }
  ExportedProgram WithHandles(std::string_view text) const {
    ExportedProgram program = Parse(text);
    EXPECT_OK(GenerateDebugHandles().run(program));
    return program;
  }
  absl::StatusOr<ProgramImage> Emit(const ExportedProgram& program) const {
    MethodPrograms methods;
    methods.emplace_back("forward", program.Clone());
    return EmitProgram(methods);
  }
  // The delegate calls' handles, in all graphs.
  static std::vector<int64_t> CallHandles(const ExportedProgram& program) {
    std::vector<int64_t> handles;
    for (const DelegateCall& call : DelegateCalls(program)) {
      handles.push_back(program.graphs[call.graph].node(call.node).debug_handle);
    }
    return handles;
  }
  const MappingBackend mapping_;
};

constexpr std::string_view kAddMul = R"(program edge {
  graph(%a: f32[2,2] user_input, %x: f32[2,2] user_input) {
    %y: f32[2,2] = edge.aten.mm.default(%a, %x)  @"m.py":3 module="fc"
    %y2: f32[2,2] = edge.aten.add.Tensor(%y, %x)
    %z: f32[2,2] = edge.aten.sub.Tensor(%y2, %a)
    %w: f32[2,2] = edge.aten.mm.default(%z, %x)
    %v: f32[2,2] = edge.aten.add.Tensor(%w, %a)
    return (%v user_output)
  }
})";

TEST_F(DebugHandleScenarioTest, add_mul_partition) {
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram lowered,
      LowerOps(WithHandles(kAddMul), {"aten.mm.default", "aten.add.Tensor"}, "mapping"));
  for (const DelegateCall& call : DelegateCalls(lowered)) {
    EXPECT_EQ(call.module->debug_handle_map.size(), 2u);
    EXPECT_NE(lowered.top().node(call.node).debug_handle, 0);
  }
}

TEST_F(DebugHandleScenarioTest, whole_model) {
  const ExportedProgram program = WithHandles(kAddMul);
  ASSERT_OK_AND_ASSIGN(const auto module, ToBackend("mapping", program, {{"one", ""}}, backends_));
  std::set<int64_t> handles;
  for (NodeId node : program.top().nodes()) handles.insert(program.top().node(node).debug_handle);
  ASSERT_EQ(module->debug_handle_map.size(), 1u);
  EXPECT_EQ(module->debug_handle_map.begin()->second,
            std::vector<int64_t>(handles.begin(), handles.end()));
  // Preserved where the module is called.
  ASSERT_OK_AND_ASSIGN(const ExportedProgram composed, ProgramOfModule(module));
  EXPECT_EQ(DelegateCalls(composed)[0].module->debug_handle_map, module->debug_handle_map);
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Emit(composed));
  EXPECT_EQ(image.debug.methods(0).delegates(0).entries_size(), 1);
}

// --- test_emit.py ---

TEST_F(DebugHandleScenarioTest, delegate_map_and_instruction_map_are_emitted) {
  const ExportedProgram program = WithHandles(kAddMul);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(program, {"aten.mm.default", "aten.add.Tensor"}, "mapping"));
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Emit(lowered));
  const schema::Method& method = image.metadata.methods(0);
  const schema::MethodDebugInfo& debug = image.debug.methods(0);
  ASSERT_EQ(debug.instructions_size(), method.instructions_size());
  ASSERT_EQ(debug.delegates_size(), method.delegates_size());
  ASSERT_EQ(method.delegates_size(), 2);
  const std::vector<DelegateCall> calls = DelegateCalls(lowered);
  size_t seen = 0;
  for (int i = 0; i < method.instructions_size(); ++i) {
    if (!method.instructions(i).has_delegate()) continue;
    const LoweredBackendModule& module = *calls[seen++].module;
    const uint32_t delegate = method.instructions(i).delegate().delegate();
    EXPECT_EQ(method.delegates(delegate).backend_id(), "mapping");
    // The instruction has the handles of all nodes of the delegate.
    std::set<int64_t> expected;
    for (NodeId node : module.original.top().nodes()) {
      expected.insert(module.original.top().node(node).debug_handle);
    }
    const auto& handles = debug.instructions(i).debug_handles();
    EXPECT_EQ(std::set<int64_t>(handles.begin(), handles.end()), expected);
    // The delegate has its own identifiers.
    ASSERT_EQ(debug.delegates(delegate).entries_size(), 2);
    for (const auto& entry : debug.delegates(delegate).entries()) {
      const auto found = module.debug_handle_map.find(entry.int_id());
      ASSERT_NE(found, module.debug_handle_map.end());
      EXPECT_EQ(std::vector<int64_t>(entry.debug_handles().begin(), entry.debug_handles().end()),
                found->second);
    }
    // The nodes of the handles.
    std::vector<std::string> nodes;
    for (const auto& node : debug.delegates(delegate).nodes()) {
      EXPECT_TRUE(expected.contains(node.debug_handle()));
      nodes.push_back(node.node() + ": " + node.operator_() + " " + node.source() + " " +
                      node.module());
    }
    const std::vector<std::string> first = {"y: aten.mm.default m.py:3 fc",
                                            "y2: aten.add.Tensor  "};
    const std::vector<std::string> second = {"w: aten.mm.default  ", "v: aten.add.Tensor  "};
    EXPECT_EQ(nodes, seen == 1 ? first : second);
  }
  EXPECT_EQ(seen, 2u);
}

TEST_F(DebugHandleScenarioTest, same_blob_and_different_specs_are_two_delegates_and_one_blob) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)  tag="t0" handle=1
      %n: f32[2] = edge.aten.neg.default(%a)
      %b: f32[2] = edge.aten.sin.default(%n)  tag="t1" handle=2
      return (%b user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram lowered,
      LowerTagged(program, {{"t0", {"mapping", {{"k", "1"}}}}, {"t1", {"mapping", {{"k", "2"}}}}}));
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Emit(lowered));
  const schema::Method& method = image.metadata.methods(0);
  ASSERT_EQ(method.delegates_size(), 2);
  EXPECT_EQ(method.delegates(0).segment(), method.delegates(1).segment());
  EXPECT_EQ(method.delegates(0).compile_specs(0).value(), "1");
  EXPECT_EQ(method.delegates(1).compile_specs(0).value(), "2");
}

// Weak point 12: calls in subgraphs and calls inside delegates have their own handles, and the maps
// of subgraphs are not lost.
TEST_F(DebugHandleScenarioTest, delegates_in_both_branches_with_debug_maps) {
  const ExportedProgram program = WithHandles(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%a])
      return (%c user_output)
    }
    graph t(%u: f32[2]) {
      %v: f32[2] = edge.aten.sin.default(%u)
      %w: f32[2] = edge.aten.neg.default(%v)
      return (%w)
    }
    graph f(%u: f32[2]) {
      %v: f32[2] = edge.aten.sin.default(%u)
      %w: f32[2] = edge.aten.abs.default(%v)
      return (%w)
    }
  })");
  std::set<int64_t> nodes;
  ForEachNode(program, [&](GraphId graph, NodeId node) {
    EXPECT_TRUE(nodes.insert(program.graphs[graph].node(node).debug_handle).second);
  });
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(program, {"aten.sin.default"}, "mapping"));
  const std::vector<int64_t> handles = CallHandles(lowered);
  ASSERT_EQ(handles.size(), 3u);
  for (int64_t handle : handles) EXPECT_TRUE(nodes.insert(handle).second) << handle;
  // A second round around the first: its calls get new handles too.
  ASSERT_OK_AND_ASSIGN(const ExportedProgram again,
                       LowerOps(lowered, {"aten.neg.default", "aten.abs.default"}, "mapping"));
  for (int64_t handle : CallHandles(again)) {
    if (std::count(handles.begin(), handles.end(), handle) == 0) {
      EXPECT_TRUE(nodes.insert(handle).second) << handle;
    }
  }
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Emit(lowered));
  const schema::MethodDebugInfo& debug = image.debug.methods(0);
  ASSERT_EQ(debug.instructions_size(), image.metadata.methods(0).instructions_size());
  ASSERT_EQ(debug.delegates_size(), 3);
  for (const auto& delegate : debug.delegates()) EXPECT_EQ(delegate.entries_size(), 1);
}

// --- test_passes.py ---

TEST_F(DebugHandleScenarioTest, handles_on_all_nodes_and_shared_sources_share) {
  const ExportedProgram program = WithHandles(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)  origin="gelu@1"
      %b: f32[2] = edge.aten.mul.Tensor(%a, %x)  origin="gelu@1"
      %c: f32[2] = edge.aten.neg.default(%b)  origin="neg@1"
      return (%c user_output)
    }
  })");
  std::vector<int64_t> handles;
  ForEachNode(program, [&](GraphId graph, NodeId node) {
    handles.push_back(program.graphs[graph].node(node).debug_handle);
  });
  EXPECT_THAT(handles, ElementsAre(1, 1, 2));
}

TEST_F(DebugHandleScenarioTest, missing_handles_are_generated_and_others_stay) {
  ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)  handle=7
      %b: f32[2] = edge.aten.neg.default(%a)
      return (%b user_output)
    }
  })");
  EXPECT_OK(GenerateDebugHandles().run(program));
  std::set<int64_t> handles;
  ForEachNode(program, [&](GraphId graph, NodeId node) {
    EXPECT_NE(program.graphs[graph].node(node).debug_handle, 0);
    handles.insert(program.graphs[graph].node(node).debug_handle);
  });
  EXPECT_EQ(handles.size(), 2u);
}

TEST_F(DebugHandleScenarioTest, constants_after_delegation) {
  const ExportedProgram program = WithHandles(R"(program edge {
    constants { state "w": f32[2] state "v": f32[2] }
    graph(%w: f32[2] parameter "w", %v: f32[2] parameter "v", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %w)
      %b: f32[2] = edge.aten.mul.Tensor(%a, %v)
      return (%b user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(program, {"aten.add.Tensor"}, "mapping"));
  EXPECT_EQ(lowered.state_dict.size(), 1u);
  EXPECT_EQ(lowered.lowered_modules[ModuleId(0)]->original.state_dict.size(), 1u);
  EXPECT_EQ(program.state_dict.size(), 2u);
  ExpectSameResults(program, lowered);
}

}  // namespace
}  // namespace belay::exir
