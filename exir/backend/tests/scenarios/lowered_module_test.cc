// exir/backend/test/test_lowered_backend_module.py, test_backends_nested.py,
// exir/tests/test_delegate.py and test_serde.py.
#include <string>
#include <string_view>
#include <vector>

#include "exir/backend/compose.h"
#include "exir/backend/tests/scenarios/scenario.h"
#include "exir/emit/emitter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoweredModuleScenarioTest : public ScenarioTest {
 protected:
  std::shared_ptr<const LoweredBackendModule> LowerWhole(const ExportedProgram& program) {
    auto module = ToBackend("recorder", program, {{"k", "v"}}, backends_);
    EXPECT_OK(module);
    return *module;
  }
  absl::StatusOr<schema::Method> EmitAlone(std::shared_ptr<const LoweredBackendModule> module) {
    ABSL_ASSIGN_OR_RETURN(ExportedProgram program, ProgramOfModule(std::move(module)));
    MethodPrograms methods;
    methods.emplace_back("forward", std::move(program));
    ABSL_ASSIGN_OR_RETURN(const ProgramImage image, EmitProgram(methods));
    return image.metadata.methods(0);
  }
};

struct Model {
  std::string_view name, text;
  int inputs, outputs;
};
constexpr Model kModels[] = {
    {"sin",
     "program edge { graph(%x: f32[2] user_input) { %y: f32[2] = edge.aten.sin.default(%x) "
     "return (%y user_output) } }",
     1, 1},
    {"two_inputs", R"(program edge { graph(%x: f32[2] user_input, %y: f32[2] user_input) {
       %z: f32[2] = edge.aten.add.Tensor(%x, %y)
       return (%z user_output) } })",
     2, 1},
    {"parameters", R"(program edge {
       constants { state "w": f32[2] }
       graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
         %z: f32[2] = edge.aten.mul.Tensor(%x, %w)
         return (%z user_output) } })",
     1, 1},
    {"several_outputs", R"(program edge { graph(%x: f32[2,3] user_input) {
       %v: f32[2], %i: i64[2] = edge.aten.max.dim(%x, 1)
       return (%v user_output, %i user_output, %v user_output) } })",
     1, 3},
    {"control_flow", R"(program edge { graph(%p: b8[] user_input, %x: f32[2] user_input) {
       %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
       return (%c user_output) }
       graph t(%y: f32[2]) { %a: f32[2] = edge.aten.sin.default(%y) return (%a) }
       graph f(%y: f32[2]) { %a: f32[2] = edge.aten.cos.default(%y) return (%a) } })",
     2, 1},
};

class LoweredModels : public LoweredModuleScenarioTest,
                      public ::testing::WithParamInterface<Model> {};

// One instruction, a delegate call; inputs and outputs are those of the program.
TEST_P(LoweredModels, emit) {
  const ExportedProgram program = Parse(GetParam().text);
  ASSERT_OK_AND_ASSIGN(const schema::Method method, EmitAlone(LowerWhole(program)));
  ASSERT_EQ(method.instructions_size(), 1);
  EXPECT_TRUE(method.instructions(0).has_delegate());
  EXPECT_EQ(method.inputs_size(), GetParam().inputs);
  EXPECT_EQ(method.outputs_size(), GetParam().outputs);
  EXPECT_EQ(method.delegates_size(), 1);
  EXPECT_EQ(method.delegates(0).backend_id(), "recorder");
  EXPECT_EQ(method.delegates(0).compile_specs(0).key(), "k");
}

// A composed program emits the same as a program with one delegate. The wrapped module has a result
// for each output; a value that the program returns twice is one result of its call.
TEST_P(LoweredModels, emit_equals_the_wrapped_module) {
  const auto module = LowerWhole(Parse(GetParam().text));
  ASSERT_OK_AND_ASSIGN(const schema::Method alone, EmitAlone(module));
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram original,
      ToBackend(Parse(GetParam().text),
                AllNodePartitioner(DelegationSpec{"recorder", {{"k", "v"}}}), backends_));
  MethodPrograms methods;
  methods.emplace_back("forward", original.Clone());
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(methods));
  const schema::Method& wrapped = image.metadata.methods(0);
  const bool repeats = GetParam().name == "several_outputs";
  EXPECT_EQ(wrapped.SerializeAsString() == alone.SerializeAsString(), !repeats);
  ASSERT_EQ(wrapped.instructions_size(), 1);
  EXPECT_EQ(wrapped.instructions(0).delegate().outputs_size(), repeats ? 2 : GetParam().outputs);
  EXPECT_EQ(alone.instructions(0).delegate().outputs_size(), GetParam().outputs);
  EXPECT_EQ(wrapped.inputs_size(), alone.inputs_size());
  EXPECT_EQ(wrapped.outputs_size(), alone.outputs_size());
}

INSTANTIATE_TEST_SUITE_P(Models, LoweredModels, ::testing::ValuesIn(kModels),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(LoweredModuleScenarioTest, end_to_end) {
  const ExportedProgram program = Parse(kModels[2].text);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram alone, ProgramOfModule(LowerWhole(program)));
  ExpectSameResults(program, alone);
}

TEST_F(LoweredModuleScenarioTest, emit_nested_lowered_backend_module) {
  const ExportedProgram program = Parse(kModels[0].text);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram once, ProgramOfModule(LowerWhole(program)));
  const auto outer = LowerWhole(once);
  ASSERT_EQ(DelegateCalls(outer->original).size(), 1u);
  ASSERT_OK_AND_ASSIGN(const schema::Method method, EmitAlone(outer));
  EXPECT_EQ(method.instructions_size(), 1);
  EXPECT_TRUE(method.instructions(0).has_delegate());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram twice, ProgramOfModule(outer));
  ExpectSameResults(program, twice);
}

// Outputs [user, mutation, user]: inside, the mutation comes first and is not a result of the call.
TEST_F(LoweredModuleScenarioTest, output_reorder) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)  tag="t"
      %n: f32[2] = edge.aten.add.Tensor(%b, %x)  tag="t"
      %c: f32[2] = edge.aten.cos.default(%x)  tag="t"
      return (%n buffer_mutation "b", %a user_output, %c user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  const DelegateCall call = DelegateCalls(lowered)[0];
  const GraphSignature& inner = call.module->original.signature;
  ASSERT_EQ(inner.outputs.size(), 3u);
  EXPECT_EQ(inner.outputs[0].kind, OutputKind::kBufferMutation);
  EXPECT_EQ(lowered.top().node(call.node).results().size(), 2u);
  ExpectSameResults(program, lowered);
}

// --- test_backends_nested.py ---

// Lowers the additions inside its program, and returns the inner blobs, graph by graph.
class NestingBackend final : public Backend {
 public:
  explicit NestingBackend(const BackendSet& inner) : inner_(inner) {}
  std::string_view id() const override { return "nesting"; }
  absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram program,
                                              absl::Span<const CompileSpec>) const override {
    ABSL_ASSIGN_OR_RETURN(
        const ExportedProgram lowered,
        ToBackend(program, CapabilityPartitioner({"recorder", {}}, SupportOps({"aten.add.Tensor"})),
                  inner_));
    std::string blob;
    for (uint32_t g = 0; g < lowered.graphs.size(); ++g) {
      absl::StrAppend(&blob, lowered.graphs[GraphId(g)].name(), "{");
      for (const DelegateCall& call : DelegateCalls(lowered, GraphId(g))) {
        absl::StrAppend(&blob, TextOf(call.module->processed));
      }
      absl::StrAppend(&blob, "}");
    }
    return PreprocessResult{.processed = TextStorage(blob)};
  }

 private:
  const BackendSet& inner_;
};

TEST_F(LoweredModuleScenarioTest, nested_backends) {
  const NestingBackend nesting(backends_);
  BackendSet outer;
  ASSERT_OK(outer.Add(&nesting));
  const ExportedProgram program = Parse(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %x)  tag="t"
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%a])  tag="t"
      return (%c user_output)
    }
    graph true_graph_0(%y: f32[2]) {
      %b: f32[2] = edge.aten.add.Tensor(%y, %y)
      %s: f32[2] = edge.aten.sin.default(%b)
      return (%s)
    }
    graph false_graph_0(%y: f32[2]) {
      %s: f32[2] = edge.aten.cos.default(%y)
      return (%s)
    }
  })");
  TextPartitioner partitioner;
  partitioner.delegation = {{"t", {"nesting", {}}}};
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, ToBackend(program, partitioner, outer));
  EXPECT_THAT(Payloads(lowered),
              ElementsAre("{aten.add.Tensor}true_graph_0{aten.add.Tensor}false_graph_0{}"));
  ExpectSameResults(program, lowered);
}

// --- test_delegate.py ---

TEST_F(LoweredModuleScenarioTest, call_delegate_means_the_original_program) {
  const ExportedProgram program = Parse(kModels[1].text);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram alone, ProgramOfModule(LowerWhole(program)));
  ExpectSameResults(program, alone);
}

TEST_F(LoweredModuleScenarioTest, composite_model_has_the_delegates_id_and_data) {
  ExportedProgram host = Parse(kModels[0].text);
  const auto module = LowerWhole(host);
  ASSERT_OK_AND_ASSIGN(const NodeId call, InsertDelegateCall(host, ExportedProgram::kTop, NodeId(),
                                                             module, {FindValue(host.top(), "y")}));
  GraphEditor(host.top()).SetOutputs({host.top().node(call).results()[0]});
  MethodPrograms methods;
  methods.emplace_back("forward", host.Clone());
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(methods));
  const schema::Method& method = image.metadata.methods(0);
  ASSERT_EQ(method.instructions_size(), 2);
  EXPECT_TRUE(method.instructions(0).has_kernel());
  EXPECT_TRUE(method.instructions(1).has_delegate());
  ASSERT_EQ(method.delegates_size(), 1);
  EXPECT_EQ(method.delegates(0).backend_id(), "recorder");
  const auto& segment = image.segments[method.delegates(0).segment()];
  ASSERT_EQ(segment.pieces.size(), 1u);
  EXPECT_EQ(TextOf(segment.pieces[0]), "aten.sin.default");
}

// Each result of the module is a value of the calling program.
TEST_F(LoweredModuleScenarioTest, composed_module_with_a_tuple_of_results) {
  const ExportedProgram program = Parse(kModels[3].text);
  ExportedProgram host = Parse(R"(program edge { graph(%x: f32[2,3] user_input) {
       return (%x user_output, %x user_output, %x user_output) } })");
  ASSERT_OK_AND_ASSIGN(const NodeId call,
                       InsertDelegateCall(host, ExportedProgram::kTop, NodeId(),
                                          LowerWhole(program), {host.top().inputs()[0]}));
  const std::vector<ValueId> results = host.top().node(call).results();
  ASSERT_EQ(results.size(), 3u);
  GraphEditor(host.top()).SetOutputs({results[0], results[1], results[2]});
  ExpectSameResults(program, host);
}

// Parts with one result, with several, and with a list of results.
TEST_F(LoweredModuleScenarioTest, create_submodule_single_return) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)  tag="t"
      %b: f32[2] = edge.aten.cos.default(%a)
      return (%b user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_EQ(DelegateCalls(lowered)[0].module->original.signature.outputs.size(), 1u);
  ExpectSameResults(program, lowered);
}

TEST_F(LoweredModuleScenarioTest, create_submodule_multiple_return) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)  tag="t"
      %b: f32[2] = edge.aten.cos.default(%x)  tag="t"
      %c: f32[2] = edge.aten.add.Tensor(%a, %b)
      return (%c user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_EQ(DelegateCalls(lowered)[0].module->original.signature.outputs.size(), 2u);
  ExpectSameResults(program, lowered);
}

TEST_F(LoweredModuleScenarioTest, create_submodule_list_return) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[4] user_input) {
      [%a: f32[2], %b: f32[2]] = edge.aten.split_with_sizes_copy.default(%x, [2,2])  tag="t" name="split"
      %c: f32[2] = edge.aten.add.Tensor(%a, %b)
      return (%c user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_EQ(DelegateCalls(lowered)[0].module->original.signature.outputs.size(), 2u);
  ExpectSameResults(program, lowered);
}

// --- test_serde.py: the text form has everything except bytes of constants, including backend
// results ---

TEST_F(LoweredModuleScenarioTest, serde_round_trip) {
  class FullBackend final : public Backend {
   public:
    std::string_view id() const override { return "full"; }
    absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram,
                                                absl::Span<const CompileSpec>) const override {
      PreprocessResult result;
      result.processed = TextStorage(std::string("\0\xff", 2));
      result.debug_handle_map = {{int64_t{1}, {2, 3}}};
      result.named_data.buffers = {TextStorage("weights")};
      result.named_data.program_data["k"] = {.buffer = 0, .alignment = 16, .layout = std::nullopt};
      result.delegate_info = "info";
      return result;
    }
  };
  const FullBackend full;
  ASSERT_OK(backends_.Add(&full));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerTagged(Parse(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %w)  tag="t"
      %n: f32[2] = edge.aten.neg.default(%a)
      return (%n user_output)
    }
  })"),
                                   {{"t", {"full", {{"k", std::string("\0", 1)}}}}}));
  const std::string text = PrintProgram(lowered);
  EXPECT_THAT(text, HasSubstr("info \"info\""));
  EXPECT_THAT(text, HasSubstr("handles 1: [2,3]"));
  const absl::StatusOr<ExportedProgram> read = ParseProgram(text, *ops_);
  ASSERT_OK(read);
  EXPECT_TRUE(Equal(*read, lowered));
  // Equal() compares what the text form shows; these checks show that this includes all backend
  // results.
  ASSERT_EQ(read->lowered_modules.size(), 1);
  const LoweredBackendModule& module = *read->lowered_modules[ModuleId(0)];
  EXPECT_EQ(module.backend_id, "full");
  ASSERT_EQ(module.compile_specs.size(), 1u);
  EXPECT_EQ(module.compile_specs[0].key, "k");
  EXPECT_EQ(module.compile_specs[0].value, std::string("\0", 1));
  EXPECT_EQ(TextOf(module.processed), std::string("\0\xff", 2));
  ASSERT_EQ(module.named_data.buffers.size(), 1u);
  EXPECT_EQ(TextOf(module.named_data.buffers[0]), "weights");
  EXPECT_EQ(module.named_data.program_data.at("k").alignment, 16u);
  EXPECT_EQ(module.debug_handle_map.at(int64_t{1}), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(module.delegate_info, "info");
}

}  // namespace
}  // namespace belay::exir
