#include "exir/backend/introspection.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/to_backend.h"
#include "exir/backend/transforms/target_device.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

TEST(IntrospectionTest, CallsNodesAndCounts) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %x)  tag="t"
      %b: f32[2] = edge.aten.mul.Tensor(%a, %x)  tag="t"
      %c: f32[2] = edge.aten.neg.default(%b)
      %d: f32[2] = edge.aten.add.Tensor(%c, %x)  tag="u"
      return (%d user_output)
    }
  })",
                                             TestOps());
  const FunctionBackend backend("recorder");
  BackendSet backends;
  ASSERT_TRUE(backends.Add(&backend).ok());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       ToBackend(program, TextPartitioner(), backends));
  const std::vector<DelegateCall> calls = DelegateCalls(lowered);
  ASSERT_EQ(calls.size(), 2);
  EXPECT_EQ(calls[0].module->backend_id, "recorder");
  EXPECT_EQ(calls[1].id, ModuleId(1));
  EXPECT_EQ(NonLoweredNodes(lowered.top()).size(), 1);
  EXPECT_EQ(DelegateCalls(program).size(), 0);
  EXPECT_EQ(CountDelegation(lowered).ToTable(),
            "operator          delegated  not delegated\n"
            "aten.add.Tensor           2              0\n"
            "aten.mul.Tensor           1              0\n"
            "aten.neg.default          0              1\n"
            "Total                     3              1\n");
}

// A nested module may have the state.
TEST(IntrospectionTest, ModuleIsStatefulIfANestedOneIs) {
  for (const bool writes : {false, true}) {
    const auto inner = std::make_shared<const LoweredBackendModule>(
        "inner",
        ParseOrDie(absl::StrCat(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%b, %x)
      return ()",
                                writes ? "%a buffer_mutation \"b\", " : "", "%a user_output) } }"),
                   TestOps()));
    ExportedProgram around = ParseOrDie(
        "program edge { graph(%x: f32[2] user_input) { return (%x user_output) } }", TestOps());
    around.lowered_modules.push_back(inner);
    EXPECT_EQ(KeepsState(*inner), writes);
    EXPECT_EQ(KeepsState(LoweredBackendModule("outer", std::move(around))), writes);
  }
}

// Each module is visited once, regardless of the path to it.
TEST(IntrospectionTest, SharedStatelessModulesKeepNoState) {
  const auto around = [](std::vector<std::shared_ptr<const LoweredBackendModule>> modules) {
    ExportedProgram program = ParseOrDie(
        "program edge { graph(%x: f32[2] user_input) { return (%x user_output) } }", TestOps());
    for (auto& module : modules) program.lowered_modules.push_back(std::move(module));
    return std::make_shared<const LoweredBackendModule>("b", std::move(program));
  };
  const auto inner = around({});
  EXPECT_FALSE(KeepsState(*around({around({inner}), around({inner}), inner})));
}

TEST(IntrospectionTest, IgnoresCallsOfUnknownModules) {
  ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x)
      return (%a user_output)
    }
    module#0 backend "b" specs [] { program edge {
      graph(%p: f32[2] user_input) { return (%p user_output) } } }
  })",
                                       TestOps());
  EXPECT_EQ(DelegateCalls(program).size(), 1u);
  GraphEditor(program.top()).SetArgument(FindNode(program.top(), "a"), 0, Argument(ModuleId(7)));
  EXPECT_TRUE(DelegateCalls(program).empty());
  EXPECT_TRUE(NonLoweredNodes(program.top()).empty());  // it calls a delegate, although unknown
}

TEST(TargetDeviceTest, ParsesTypeInAnyCaseWithDefaultIndexZero) {
  EXPECT_EQ(*ParseTargetDevice("CUDA:3"), (Device{"cuda", 3}));
  EXPECT_EQ(*ParseTargetDevice("cpu"), (Device{"cpu", 0}));
  EXPECT_EQ(*ParseTargetDevice("npu2:1"), (Device{"npu2", 1}));
  for (const char* bad : {"", ":0", "a pu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x"}) {
    EXPECT_EQ(ParseTargetDevice(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  const std::vector<CompileSpec> specs = {{"k", "v"}, {"target_device", "cuda:1"}};
  EXPECT_EQ(**TargetDevice(specs), (Device{"cuda", 1}));
  EXPECT_FALSE(TargetDevice({})->has_value());
}

}  // namespace
}  // namespace belay::exir
