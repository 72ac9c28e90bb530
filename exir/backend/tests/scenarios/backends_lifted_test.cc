// exir/backend/test/test_backends_lifted.py. The tests of the demo backends (exact blobs, runtime
// results) are in backends/demo.
#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/compose.h"
#include "exir/backend/tests/scenarios/scenario.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"

namespace belay::exir {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BackendsLiftedTest : public ScenarioTest {
 protected:
  std::shared_ptr<const LoweredBackendModule> LowerWhole(std::string_view text) {
    auto module = ToBackend("recorder", Parse(text), {}, backends_);
    EXPECT_OK(module);
    return *module;
  }
  size_t CallsIn(const ExportedProgram& program, uint32_t graph) {
    return DelegateCalls(program, GraphId(graph)).size();
  }
};

constexpr std::string_view kSin = R"(program edge {
  graph(%x: f32[2] user_input) {
    %s: f32[2] = edge.aten.sin.default(%x)
    return (%s user_output)
  }
})";

TEST_F(BackendsLiftedTest, simple) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %w)
      %s: f32[2] = edge.aten.sin.default(%a)
      return (%s user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const auto module, ToBackend("recorder", program, {}, backends_));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram alone, ProgramOfModule(module));
  ExpectSameResults(program, alone);
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram all,
      ToBackend(program, AllNodePartitioner(DelegationSpec{"recorder", {}}), backends_));
  EXPECT_THAT(OpsOf(all), ElementsAre("delegate"));
  EXPECT_TRUE(all.state_dict.empty());
  ExpectSameResults(program, all);
}

// A host that calls the module twice and adds.
TEST_F(BackendsLiftedTest, delegate_and_operator) {
  const auto module = LowerWhole(kSin);
  ExportedProgram host = Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %first: f32[2] = edge.aten.sin.default(%x)
      %second: f32[2] = edge.aten.sin.default(%x)
      %sum: f32[2] = edge.aten.add.Tensor(%first, %second)
      return (%sum user_output)
    }
  })");
  const ExportedProgram expected = host.Clone();
  for (const char* name : {"first", "second"}) {
    const NodeId node = FindNode(host.top(), name);
    ASSERT_OK_AND_ASSIGN(const NodeId call,
                         InsertDelegateCall(host, ExportedProgram::kTop, node, module,
                                            {FindValue(host.top(), "x")}));
    GraphEditor editor(host.top());
    editor.ReplaceAllUses(host.top().node(node).results()[0], host.top().node(call).results()[0]);
    editor.EraseNode(node);
  }
  EXPECT_THAT(OpsOf(host), ElementsAre("delegate", "delegate", "aten.add.Tensor"));
  EXPECT_EQ(host.lowered_modules.size(), 1u);
  ExpectSameResults(expected, host);
}

TEST_F(BackendsLiftedTest, lowered_add_mul) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%a: f32[2,2] user_input, %x: f32[2,2] user_input, %b: f32[2,2] user_input) {
      %y: f32[2,2] = edge.aten.mm.default(%a, %x)
      %z: f32[2,2] = edge.aten.add.Tensor(%y, %b)
      return (%z user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(program, {"aten.mm.default", "aten.add.Tensor"}));
  EXPECT_THAT(Payloads(lowered), ElementsAre("aten.mm.default,aten.add.Tensor"));
  ExpectSameResults(program, lowered);
}

TEST_F(BackendsLiftedTest, backend_not_found) {
  EXPECT_THAT(ToBackend("FakeBackendWithCompilerDemo", Parse(kSin), {}, backends_),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("Backend FakeBackendWithCompilerDemo was not found")));
}

TEST_F(BackendsLiftedTest, two_modules) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "bias": f32[2] }
    graph(%bias: f32[2] parameter "bias", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)
      %b: f32[2] = edge.aten.cos.default(%a)
      %c: f32[2] = edge.aten.add.Tensor(%b, %bias)
      return (%c user_output, %a user_output)
    }
  })");
  ExportedProgram host = program.Clone();
  for (const char* name : {"a", "b"}) {
    const NodeId node = FindNode(host.top(), name);
    const std::string op = host.top().node(node).target->text_name();
    const auto module =
        LowerWhole(absl::StrCat("program edge { graph(%x: f32[2] user_input) { %y: f32[2] = ", op,
                                "(%x) return (%y user_output) } }"));
    const Argument input = host.top().node(node).arguments[0];
    ASSERT_OK_AND_ASSIGN(const NodeId call,
                         InsertDelegateCall(host, ExportedProgram::kTop, node, module, {input}));
    GraphEditor editor(host.top());
    editor.ReplaceAllUses(host.top().node(node).results()[0], host.top().node(call).results()[0]);
    editor.EraseNode(node);
  }
  EXPECT_THAT(OpsOf(host), ElementsAre("delegate", "delegate", "aten.add.Tensor"));
  ExpectSameResults(program, host);
}

// Stands for an lstm and a convolution, and a subtraction.
constexpr std::string_view kTwoPatterns = R"(program edge {
  graph(%x: f32[2] user_input, %y: f32[2] user_input) {
    %l: f32[2] = edge.aten.tanh.default(%x)
    %m: f32[2] = edge.aten.mul.Tensor(%l, %y)
    %s: f32[2] = edge.aten.sub.Tensor(%y, %x)
    %r: f32[2] = edge.aten.add.Tensor(%m, %s)
    return (%r user_output)
  }
})";

std::shared_ptr<const ExportedProgram> Pattern(const OpRegistry& ops, std::string_view lines) {
  return std::make_shared<const ExportedProgram>(ParseOrDie(
      absl::StrCat("program aten { graph(%x: f32[2] user_input, %y: f32[2] user_input) {", lines,
                   " return (%r user_output) } }"),
      ops));
}

TEST_F(BackendsLiftedTest, multiple_patterns) {
  const ExportedProgram program = Parse(kTwoPatterns);
  const PatternPartitioner partitioner({"recorder", {}},
                                       {Pattern(*ops_, R"(%l: f32[2] = aten.tanh.default(%x)
                                           %r: f32[2] = aten.mul.Tensor(%l, %y))"),
                                        Pattern(*ops_, "%r: f32[2] = aten.sub.Tensor(%x, %y)")});
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, ToBackend(program, partitioner, backends_));
  for (const std::string& op : OpsOf(lowered)) {
    EXPECT_TRUE(op == "delegate" || op == "aten.add.Tensor") << op;
  }
  ExpectSameResults(program, lowered);
}

TEST_F(BackendsLiftedTest, one_pattern) {
  const ExportedProgram program = Parse(kTwoPatterns);
  const PatternPartitioner partitioner({"recorder", {}},
                                       {Pattern(*ops_, R"(%l: f32[2] = aten.tanh.default(%x)
                                           %r: f32[2] = aten.mul.Tensor(%l, %y))")});
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, ToBackend(program, partitioner, backends_));
  EXPECT_THAT(OpsOf(lowered), ElementsAre("delegate", "aten.sub.Tensor", "aten.add.Tensor"));
  ExpectSameResults(program, lowered);
}

TEST_F(BackendsLiftedTest, add_mul_partitioner) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%a: f32[2,2] user_input, %x: f32[2,2] user_input) {
      %y: f32[2,2] = edge.aten.mm.default(%a, %x)
      %y2: f32[2,2] = edge.aten.add.Tensor(%y, %x)
      %z: f32[2,2] = edge.aten.sub.Tensor(%y2, %a)
      %w: f32[2,2] = edge.aten.mm.default(%z, %x)
      %v: f32[2,2] = edge.aten.add.Tensor(%w, %a)
      return (%v user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(program, {"aten.mm.default", "aten.add.Tensor"}));
  EXPECT_THAT(OpsOf(lowered), ElementsAre("delegate", "aten.sub.Tensor", "delegate"));
  const std::vector<DelegateCall> calls = DelegateCalls(lowered);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].id, ModuleId(0));  // numbered in graph order
  EXPECT_EQ(calls[1].id, ModuleId(1));
  ExpectSameResults(program, lowered);
}

TEST_F(BackendsLiftedTest, partitioner_with_attributes) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "a": f32[2] state "b": f32[2] }
    graph(%a: f32[2] buffer "a", %b: f32[2] buffer "b", %x: f32[2] user_input) {
      %y: f32[2] = edge.aten.add.Tensor(%x, %a)
      %s: f32[2] = edge.aten.sub.Tensor(%y, %x)
      %z: f32[2] = edge.aten.add.Tensor(%s, %b)
      return (%z user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerOps(program, {"aten.add.Tensor"}));
  const std::vector<DelegateCall> calls = DelegateCalls(lowered);
  ASSERT_EQ(calls.size(), 2u);
  for (const DelegateCall& call : calls) {
    EXPECT_EQ(call.module->original.state_dict.size(), 1u);
    ASSERT_EQ(call.module->original.signature.inputs.size(), 2u);
    EXPECT_EQ(call.module->original.signature.inputs[0].kind, InputKind::kBuffer);
    EXPECT_EQ(call.module->original.signature.inputs[1].kind, InputKind::kUserInput);
  }
  EXPECT_TRUE(lowered.state_dict.empty());
  ExpectSameResults(program, lowered);
}

// A partitioner gets a const program, so it cannot retarget nodes.
TEST_F(BackendsLiftedTest, bad_partitioner) {
  using Argument = const ExportedProgram&;
  static_assert(
      std::is_invocable_r_v<absl::StatusOr<PartitionResult>, decltype(&Partitioner::Partition),
                            const Partitioner&, Argument>);
  static_assert(
      !std::is_invocable_v<decltype(&GraphEditor::SetTarget), GraphEditor&, const Graph&>);
  static_assert(!std::is_constructible_v<GraphEditor, const Graph&>);
}

TEST_F(BackendsLiftedTest, quantized_with_delegate) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "w": f32[2,2] state "b": f32[2] }
    graph(%w: f32[2,2] parameter "w", %b: f32[2] parameter "b", %x: f32[2,2] user_input) {
      %q: u8[2,2] = edge.quantized_decomposed.quantize_per_tensor.default(%x, 0.1, 3, 0, 255, dtype:u8)
      %d: f32[2,2] = edge.quantized_decomposed.dequantize_per_tensor.default(%q, 0.1, 3, 0, 255, dtype:u8)
      %qw: i8[2,2] = edge.quantized_decomposed.quantize_per_tensor.default(%w, 0.1, 0, -127, 127, dtype:i8)
      %dw: f32[2,2] = edge.quantized_decomposed.dequantize_per_tensor.default(%qw, 0.1, 0, -127, 127, dtype:i8)
      %a: f32[2,2] = edge.aten.addmm.default(%b, %d, %dw)
      %qo: u8[2,2] = edge.quantized_decomposed.quantize_per_tensor.default(%a, 0.1, 3, 0, 255, dtype:u8)
      %o: f32[2,2] = edge.quantized_decomposed.dequantize_per_tensor.default(%qo, 0.1, 3, 0, 255, dtype:u8)
      return (%o user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const auto module, ToBackend("recorder", program, {}, backends_));
  const std::vector<std::string> ops = OpsOfModule(*module);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "quantized_decomposed.quantize_per_tensor.default"),
            3);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "aten.addmm.default"), 1);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram alone, ProgramOfModule(module));
  ExpectSameResults(program, alone);
}

TEST_F(BackendsLiftedTest, partition_with_control_flow) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2,2] user_input, %y: f32[2,2] user_input) {
      %a: f32[2,2] = edge.aten.add.Tensor(%x, %x)
      %c: f32[2,2] = higher_order.cond(%p, graph#1, graph#2, [%a, %y])
      return (%c user_output)
    }
    graph true_graph_0(%u: f32[2,2], %v: f32[2,2]) {
      %t: f32[2,2] = edge.aten.add.Tensor(%u, %v)
      %n: f32[2,2] = edge.aten.neg.default(%t)
      return (%n)
    }
    graph false_graph_0(%u: f32[2,2], %v: f32[2,2]) {
      %f: f32[2,2] = edge.aten.mm.default(%u, %v)
      return (%f)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(program, {"aten.mm.default", "aten.add.Tensor"}));
  EXPECT_EQ(CallsIn(lowered, 0), 1u);
  EXPECT_THAT(Payloads(lowered),
              ElementsAre("aten.add.Tensor", "aten.add.Tensor", "aten.mm.default"));
  EXPECT_THAT(OpsOf(lowered, GraphId(1)), ElementsAre("delegate", "aten.neg.default"));
  EXPECT_THAT(OpsOf(lowered, GraphId(2)), ElementsAre("delegate"));
  ExpectSameResults(program, lowered);
}

TEST_F(BackendsLiftedTest, partition_with_map) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2,2] user_input, %y: f32[2] user_input) {
      %m: f32[2,2] = edge.aten.mm.default(%x, %x)
      %r: f32[2,2] = higher_order.map_impl(graph#1, [%m], [%y])
      return (%r user_output)
    }
    graph body(%row: f32[2], %v: f32[2]) {
      %a: f32[2] = edge.aten.add.Tensor(%row, %v)
      return (%a)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(program, {"aten.mm.default", "aten.add.Tensor"}));
  EXPECT_THAT(Payloads(lowered), ElementsAre("aten.mm.default", "aten.add.Tensor"));
  EXPECT_THAT(OpsOf(lowered, GraphId(1)), ElementsAre("delegate"));
  ExpectSameResults(program, lowered);
}

TEST_F(BackendsLiftedTest, nested_control_flow) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2,2] user_input, %y: f32[2,2] user_input) {
      %m: f32[2,2] = edge.aten.mm.default(%x, %y)
      %r: f32[2,2] = higher_order.map_impl(graph#1, [%m], [%p])
      return (%r user_output)
    }
    graph map_body(%row: f32[2], %q: b8[]) {
      %c: f32[2] = higher_order.cond(%q, graph#2, graph#3, [%row, %q])
      return (%c)
    }
    graph true_graph(%u: f32[2], %q: b8[]) {
      %a: f32[2] = edge.aten.add.Tensor(%u, %u)
      %d: f32[2] = higher_order.cond(%q, graph#4, graph#5, [%a])
      return (%d)
    }
    graph false_graph(%u: f32[2], %q: b8[]) {
      %n: f32[2] = edge.aten.neg.default(%u)
      return (%n)
    }
    graph nested_true(%u: f32[2]) {
      %b: f32[2] = edge.aten.add.Tensor(%u, %u)
      %e: f32[2] = edge.aten.mul.Tensor(%b, %u)
      return (%e)
    }
    graph nested_false(%u: f32[2]) {
      %e: f32[2] = edge.aten.mul.Tensor(%u, %u)
      return (%e)
    }
  })");
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram lowered,
      LowerOps(program, {"aten.mm.default", "aten.add.Tensor", "aten.mul.Tensor"}));
  std::vector<size_t> calls;
  for (uint32_t g = 0; g < lowered.graphs.size(); ++g) calls.push_back(CallsIn(lowered, g));
  EXPECT_THAT(calls, ElementsAre(1, 0, 1, 0, 1, 1));
  ExpectSameResults(program, lowered);
}

// Containers are flattened at import; the call has one argument per leaf.
TEST_F(BackendsLiftedTest, list_input) {
  ExportedProgram program = Parse(R"(program edge {
    graph(%x_0: f32[2] user_input, %x_1: f32[2] user_input) {
      %y: f32[2] = edge.aten.add.Tensor(%x_0, %x_1)
      return (%y user_output)
    }
  })");
  program.in_spec = R"([1, {"type": "builtins.list", "children_spec": []}])";
  ASSERT_OK_AND_ASSIGN(const auto module, ToBackend("recorder", program, {}, backends_));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram alone, ProgramOfModule(module));
  EXPECT_EQ(alone.in_spec, program.in_spec);
  EXPECT_EQ(alone.signature.inputs.size(), 2u);
  ExpectSameResults(program, alone);
}

TEST_F(BackendsLiftedTest, dict_input) {
  ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %z: f32[2] = edge.aten.sub.Tensor(%x, %y)
      return (%z user_output)
    }
  })");
  program.in_spec = R"([1, {"type": "builtins.dict", "context": "[\"x\", \"y\"]"}])";
  program.out_spec = "[1, null]";
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerOps(program, {"aten.sub.Tensor"}));
  EXPECT_EQ(lowered.in_spec, program.in_spec);
  EXPECT_EQ(lowered.out_spec, program.out_spec);
  ExpectSameResults(program, lowered);
}

class InfoBackend final : public Backend {
 public:
  std::string_view id() const override { return "info"; }
  absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram,
                                              absl::Span<const CompileSpec>) const override {
    return PreprocessResult{.processed = {}, .delegate_info = "test"};
  }
};

TEST_F(BackendsLiftedTest, delegate_info_full) {
  const InfoBackend info;
  ASSERT_OK(backends_.Add(&info));
  ASSERT_OK_AND_ASSIGN(const auto module, ToBackend("info", Parse(kSin), {}, backends_));
  EXPECT_EQ(module->delegate_info, "test");
}

TEST_F(BackendsLiftedTest, delegate_info_partitioner) {
  const InfoBackend info;
  ASSERT_OK(backends_.Add(&info));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(Parse(kSin), {"aten.sin.default"}, "info"));
  EXPECT_EQ(lowered.lowered_modules[ModuleId(0)]->delegate_info, "test");
}

constexpr std::string_view kAdd = R"(program edge {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = edge.aten.add.Tensor(%x, %x)
    %n: f32[2] = edge.aten.neg.default(%a)
    return (%n user_output)
  }
})";

TEST_F(BackendsLiftedTest, lower_multiple) {
  MethodPrograms methods;
  MethodPartitioners partitioners;
  const CapabilityPartitioner partitioner({"recorder", {}}, SupportOps({"aten.add.Tensor"}));
  for (const char* name : {"a", "b", "c"}) {
    methods.emplace_back(name, Parse(kAdd));
    partitioners.emplace_back(name, &partitioner);
  }
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered, ToBackend(methods, partitioners, backends_));
  for (const auto& [name, program] : lowered) {
    EXPECT_THAT(OpsOf(program), ElementsAre("delegate", "aten.neg.default"));
  }
}

TEST_F(BackendsLiftedTest, lower_multiple_selective) {
  MethodPrograms methods;
  const CapabilityPartitioner partitioner({"recorder", {}}, SupportOps({"aten.add.Tensor"}));
  for (const char* name : {"a", "b"}) methods.emplace_back(name, Parse(kAdd));
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered,
                       ToBackend(methods, {{"b", &partitioner}}, backends_));
  EXPECT_THAT(OpsOf(lowered[0].second), ElementsAre("aten.add.Tensor", "aten.neg.default"));
  EXPECT_THAT(OpsOf(lowered[1].second), ElementsAre("delegate", "aten.neg.default"));
}

}  // namespace
}  // namespace belay::exir
