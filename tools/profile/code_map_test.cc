#include "tools/profile/code_map.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "backends/runtime_backends.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/profile/testing/logged_method.h"

namespace belay::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "step 0 = c r": the nodes of the last call's delegate steps.
std::vector<std::string> Steps(CodeMap& code) {
  std::vector<std::string> steps;
  for (const Event& event : code.log().events()) {
    if (event.kind != EventKind::kStep) continue;
    const size_t index = *code.SiteOf(event);
    const CodeSite& site = code.sites()[index];
    std::string line = absl::StrCat(site.name, " =");
    for (const ModelNode& node : site.nodes) absl::StrAppend(&line, " ", node.node);
    steps.push_back(std::move(line));
  }
  return steps;
}

// docs/lowering.md §4.5, from the program to the runtime's log and back: a convolution with a fused
// relu is one instruction with two handles, a tan three instructions with one.
TEST(CodeMapTest, MapsLoggedIdsToModelNodes) {
  ASSERT_OK_AND_ASSIGN(
      const auto logged,
      LoggedMethod::Create(
          R"(program edge {
  constants { state "w": f32[3,3,1,1] }
  graph(%w: f32[3,3,1,1] parameter "w", %x: f32[1,3,2,2] user_input) {
    %c: f32[1,3,2,2] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)  @"net.py":7 module="block1.conv" handle=1
    %r: f32[1,3,2,2] = edge.aten.relu.default(%c)  @"net.py":8 module="block1.act" handle=2
    %d: f32[1,3,2,2] = edge.aten.convolution.default(%r, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)  @"net.py":7 module="block2.conv" handle=3
    %q: f32[1,3,2,2] = edge.aten.relu.default(%d)  @"net.py":8 module="block2.act" handle=4
    %t: f32[1,3,2,2] = edge.aten.tan.default(%q)  @"net.py":12 handle=5
    return (%t user_output)
  }
})",
          {{"BackendWithDelegateMappingDemo",
            {"aten.convolution.default", "aten.relu.default", "aten.tan.default"}}}));
  // Logs its steps without computing anything.
  EXPECT_THAT(logged->Execute(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("conv_relu_op (0)")));
  CodeMap code(logged->method());
  EXPECT_THAT(Steps(code), ElementsAre("step 0 = c r", "step 1 = d q", "step 2 = t", "step 3 = t",
                                       "step 4 = t"));
  EXPECT_THAT(code.missing(), IsEmpty());
  const CodeSite& first = code.sites()[*code.SiteOf(logged->log().events()[2])];
  EXPECT_EQ(first.op, "aten.convolution.default + aten.relu.default");
  EXPECT_EQ(first.source, "net.py:7, net.py:8");
  EXPECT_EQ(first.module, "block1.conv, block1.act");
  EXPECT_EQ(first.backend, "BackendWithDelegateMappingDemo");
  EXPECT_EQ(first.path, "forward / delegate 0 (BackendWithDelegateMappingDemo)");
}

constexpr std::string_view kMlp = R"(program edge {
  constants { state "b": f32[2]  state "w": f32[3,2] }
  graph(%w: f32[3,2] parameter "w", %b: f32[2] parameter "b", %x: f32[4,3] user_input) {
    %n: f32[4,3] = edge.aten.neg.default(%x)  @"m.py":3 handle=1
    %h: f32[4,2] = edge.aten.addmm.default(%b, %n, %w)  @"m.py":4 module="fc" handle=2
    %r: f32[4,2] = edge.aten.relu.default(%h)  @"m.py":5 handle=3
    return (%r user_output)
  }
})";

TEST(CodeMapTest, MapsStepsOfDemoBackend) {
  ASSERT_OK_AND_ASSIGN(
      const auto logged,
      LoggedMethod::Create(kMlp, {{"demo", {"aten.addmm.default", "aten.relu.default"}}}));
  ASSERT_OK(logged->Execute());
  CodeMap code(logged->method());
  EXPECT_THAT(Steps(code), ElementsAre("step 0 = h", "step 1 = r"));
  EXPECT_THAT(code.missing(), IsEmpty());
  const CodeSite& neg = code.sites()[0];
  EXPECT_EQ(neg.name, "n");
  EXPECT_EQ(neg.op, "aten.neg.default");
  EXPECT_EQ(neg.source, "m.py:3");
  EXPECT_EQ(neg.backend, "");
  EXPECT_EQ(neg.operands, "f32[4,3] -> f32[4,3]");
  EXPECT_EQ(neg.bytes_read, 48u);
  EXPECT_EQ(neg.bytes_written, 48u);
  EXPECT_TRUE(code.sites()[1].is_delegate_call);
  std::vector<std::string> names;
  for (const Event& event : logged->log().events()) names.push_back(code.NameOf(event));
  EXPECT_THAT(names, ElementsAre("execute forward", "n", "delegate 0 (demo)", "step 0", "step 1"));
}

// A delegate's program, and the delegate in it.
TEST(CodeMapTest, ResolvesNestedPrograms) {
  ASSERT_OK_AND_ASSIGN(
      const auto logged,
      LoggedMethod::Create(
          kMlp,
          {{"demo", {"aten.relu.default"}},
           {"ExecutorBackend", {"aten.addmm.default", "higher_order.executorch_call_delegate"}}}));
  ASSERT_OK(logged->Execute());
  CodeMap code(logged->method());
  std::vector<std::string> sites;
  for (const Event& event : logged->log().events()) {
    const auto site = code.SiteOf(event);
    sites.push_back(absl::StrCat(
        std::string(event.depth, ' '),
        site.has_value() ? absl::StrCat(code.sites()[*site].name, " ", code.sites()[*site].source,
                                        " in ", code.sites()[*site].path)
                         : code.NameOf(event)));
  }
  EXPECT_THAT(
      sites, ElementsAre(
                 "execute forward", " n m.py:3 in forward",
                 " delegate 0 (ExecutorBackend)  in forward", "  execute forward (ExecutorBackend)",
                 "   h m.py:4 in forward / delegate 0 (ExecutorBackend) / forward",
                 "   delegate 0 (demo)  in forward / delegate 0 (ExecutorBackend) / forward",
                 "    step 0 m.py:5 in forward / delegate 0 (ExecutorBackend) / forward / "
                 "delegate 0 (demo)"));
  EXPECT_THAT(code.missing(), IsEmpty());
}

TEST(CodeMapTest, MapsFusedNodesOfCpuBackend) {
  ASSERT_OK_AND_ASSIGN(
      const auto logged,
      LoggedMethod::Create(kMlp, {{"cpu", {"aten.addmm.default", "aten.relu.default"}}}));
  ASSERT_OK(logged->Execute());
  CodeMap code(logged->method());
  bool found = false;
  for (const CodeSite& site : code.sites()) {
    if (site.op != "belay_cpu.linear.default") continue;
    found = true;
    EXPECT_EQ(site.backend, "cpu");
    EXPECT_EQ(site.operations, 2.0 * 4 * 2 * 3);
    ASSERT_EQ(site.nodes.size(), 2u);
    EXPECT_EQ(site.nodes[0].node, "h");
    EXPECT_EQ(site.nodes[1].node, "r");
    EXPECT_EQ(site.source, "m.py:4, m.py:5");
  }
  EXPECT_TRUE(found);
}

TEST(CodeMapTest, ReportsMissingDebugData) {
  ASSERT_OK_AND_ASSIGN(
      const auto logged,
      LoggedMethod::Create(kMlp, {{"demo", {"aten.addmm.default", "aten.relu.default"}}},
                           /*debug_info=*/false));
  ASSERT_OK(logged->Execute());
  CodeMap code(logged->method());
  EXPECT_THAT(Steps(code), ElementsAre("step 0 =", "step 1 ="));
  EXPECT_EQ(code.sites()[0].name, "instruction 0");
  EXPECT_EQ(code.sites()[0].op, "aten.neg.default");
  EXPECT_THAT(code.missing(),
              ElementsAre(HasSubstr("forward: no debug data"),
                          HasSubstr("delegate 0 (demo): no debug map of its steps")));
}

// Debug data is unverified: invalid bytes, and data of another program.
TEST(CodeMapTest, IgnoresMismatchedDebugData) {
  schema::DebugInfo fits;
  schema::MethodDebugInfo& method_info = *fits.add_methods();
  method_info.add_instructions()->set_node("relu");
  schema::DebugInfo no_method, more_instructions = fits, more_delegates = fits;
  more_instructions.mutable_methods(0)->add_instructions();
  more_delegates.mutable_methods(0)->add_delegates();
  for (const auto& [debug, name] : std::vector<std::pair<std::string, std::string>>{
           {fits.SerializeAsString(), "relu"},
           {"\xff\xff", "instruction 0"},
           {no_method.SerializeAsString(), "instruction 0"},
           {more_instructions.SerializeAsString(), "instruction 0"},
           {more_delegates.SerializeAsString(), "instruction 0"}}) {
    SCOPED_TRACE(absl::CEscape(debug));
    TestProgram test_program;
    TestMethod test_method = test_program.AddMethod("forward");
    const uint32_t x = test_method.Input("x", DType::kFloat32, {2});
    const uint32_t y = test_method.Arena(DType::kFloat32, {2});
    test_method.Call("aten.relu.default", {x}, {y});
    test_method.Output(y);
    test_program.metadata().set_debug_segment(
        test_program.AddSegment(schema::Segment::DEBUG, debug) + 1);
    const std::string file = test_program.Serialize();
    const auto* bytes = reinterpret_cast<const std::byte*>(file.data());
    ASSERT_OK_AND_ASSIGN(const Program program,
                         Program::OpenBytes(nullptr, {bytes, file.size()}, {}));
    KernelRegistry kernels;
    ASSERT_OK(AddStandardKernels(kernels));
    ASSERT_OK_AND_ASSIGN(const auto log, EventLog::Create(100));
    ASSERT_OK_AND_ASSIGN(const Method method,
                         Method::Load(program, "forward", kernels, RuntimeBackends(),
                                      {.events = {.log = log.get()}}));
    CodeMap code(method);
    ASSERT_EQ(code.sites().size(), 1u);
    EXPECT_EQ(code.sites()[0].name, name);
    EXPECT_EQ(code.missing().size(), name == "relu" ? 0u : 1u);
  }
}

// The clamp of an XNNPACK matmul is a node as well, and so is the layout conversion of images.
TEST(CodeMapTest, MapsXnnpackStepsToAllNodes) {
  ASSERT_OK_AND_ASSIGN(
      const auto logged,
      LoggedMethod::Create(
          R"(program edge {
  constants { state "w": f32[3,3,1,1] }
  graph(%w: f32[3,3,1,1] parameter "w", %x: f32[1,3,2,2] user_input) {
    %c: f32[1,3,2,2] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)  @"net.py":7 handle=1
    %r: f32[1,3,2,2] = edge.aten.relu.default(%c)  @"net.py":8 handle=2
    return (%r user_output)
  }
})",
          {{"XnnpackBackend", {"aten.convolution.default", "aten.relu.default"}}}));
  ASSERT_OK(logged->Execute());
  CodeMap code(logged->method());
  EXPECT_THAT(Steps(code), ElementsAre("step 1 = c r", "step 1 = c r", "step 2 = r"));
  EXPECT_THAT(code.missing(), IsEmpty());
}

}  // namespace
}  // namespace belay::tools
