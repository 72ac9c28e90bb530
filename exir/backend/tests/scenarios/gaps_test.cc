// Scenarios that ExecuTorch's own tests omit (docs/lowering.md §6, "Gaps upstream"), and weak
// points of §7 without a test elsewhere.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/backend/compose.h"
#include "exir/backend/named_data_store.h"
#include "exir/backend/tests/scenarios/scenario.h"
#include "exir/emit/emitter.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GapsTest : public ScenarioTest {};

// Weak point 18.
TEST_F(GapsTest, module_called_twice_has_one_entry) {
  ASSERT_OK_AND_ASSIGN(const auto module, ToBackend("recorder", Parse(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %z: f32[2] = edge.aten.sub.Tensor(%x, %y)
      return (%z user_output)
    }
  })"),
                                                    {}, backends_));
  ExportedProgram host = Parse(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) { return (%y user_output) }
  })");
  const ValueId x = FindValue(host.top(), "x"), y = FindValue(host.top(), "y");
  ASSERT_OK_AND_ASSIGN(const NodeId first,
                       InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), module, {x, y}));
  ASSERT_OK(InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), module,
                               {host.top().node(first).results()[0], x}));
  MethodPrograms methods;
  methods.emplace_back("forward", std::move(host));
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(methods));
  const schema::Method& method = image.metadata.methods(0);
  EXPECT_EQ(method.delegates_size(), 1);
  EXPECT_EQ(image.debug.methods(0).delegates_size(), 1);
  ASSERT_EQ(method.instructions_size(), 2);
  for (const schema::Instruction& call : method.instructions()) {
    EXPECT_EQ(call.delegate().delegate(), 0u);
  }
}

// It has state, so it must be one entry.
TEST_F(GapsTest, module_with_state_called_twice_has_one_entry_or_is_an_error) {
  const auto emit = [&](std::string_view shape, std::string_view state) {
    MethodPrograms methods;
    methods.emplace_back("forward", Parse(absl::StrCat(R"(program edge {
      ranges { s0: [2, 4] }
      graph(%x: f32[s0] user_input, %y: f32[)",
                                                       shape, R"(] user_input) {
        %a: f32[s0] = higher_order.executorch_call_delegate(module#0, %x)
        %b: f32[)",
                                                       shape, R"(] =
            higher_order.executorch_call_delegate(module#0, %y)
        return (%a user_output, %b user_output)
      }
      module#0 backend "recorder" specs [] { program edge {
        ranges { s0: [2, 4] }
        constants { state "n": f32[] }
        graph(%n: f32[] buffer "n", %x: f32[s0] user_input) {
          %more: f32[] = edge.aten.neg.default(%n)
          %sum: f32[s0] = edge.aten.add.Tensor(%n, %x)
          return ()",
                                                       state, R"(%sum user_output)
        } } }
    })")));
    return EmitProgram(methods);
  };
  constexpr std::string_view kState = "%more buffer_mutation \"n\", ";
  ASSERT_OK_AND_ASSIGN(const ProgramImage alike, emit("s0", kState));
  EXPECT_EQ(alike.metadata.methods(0).delegates_size(), 1);
  EXPECT_THAT(emit("4", kState), StatusIs(absl::StatusCode::kUnimplemented,
                                          HasSubstr("module#0 (backend recorder) keeps state")));
  ASSERT_OK_AND_ASSIGN(const ProgramImage stateless, emit("4", ""));
  EXPECT_EQ(stateless.metadata.methods(0).delegates_size(), 2);
}

constexpr std::string_view kConstants = R"(program edge {
  constants { state "p": f32[2] constant "c": f32[2] constant "n": f32[2] }
  graph(%p: f32[2] parameter "p", %n: f32[2] buffer "n" nonpersistent,
        %c: f32[2] tensor_constant "c", %x: f32[2] user_input) {
    %a: f32[2] = edge.aten.add.Tensor(%x, %p)  tag="t0"
    %b: f32[2] = edge.aten.mul.Tensor(%a, %c)  tag="t0"
    %d: f32[2] = edge.aten.sub.Tensor(%b, %n)  tag="t1"
    %e: f32[2] = edge.aten.add.Tensor(%d, %c)
    return (%e user_output)
  }
})";

TEST_F(GapsTest, source_constants_stay) {
  const ExportedProgram program = Parse(kConstants);
  const std::string before = PrintProgram(program);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_EQ(PrintProgram(program), before);
  EXPECT_EQ(program.state_dict.size(), 1u);
  EXPECT_EQ(program.constants.size(), 2u);
  EXPECT_EQ(lowered.constants.size(), 1u);  // used by the program
  ExpectSameResults(program, lowered);
}

TEST_F(GapsTest, exception_atomicity) {
  class LateFailure final : public Backend {
   public:
    std::string_view id() const override { return "late"; }
    absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram,
                                                absl::Span<const CompileSpec>) const override {
      return absl::ResourceExhaustedError("no memory");
    }
  };
  const LateFailure late;
  ASSERT_OK(backends_.Add(&late));
  MethodPrograms methods;
  methods.emplace_back("m", Parse(kConstants));
  const std::string before = PrintProgram(methods[0].second);
  TextPartitioner partitioner;
  partitioner.tag_constants = true;
  partitioner.delegation = {{"t0", {"recorder", {}}}, {"t1", {"late", {}}}};
  EXPECT_THAT(ToBackend(methods, {{"m", &partitioner}}, backends_),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("no memory")));
  EXPECT_EQ(PrintProgram(methods[0].second), before);
}

// Validation is an option of one call: the next call validates again.
TEST_F(GapsTest, validation_disabled_restore) {
  const ExportedProgram program = Parse(kConstants);
  TextPartitioner partitioner;
  partitioner.delegation = {{"", {"recorder", {}}}};
  ToBackendOptions options;
  options.validate_partitions = false;
  EXPECT_OK(ToBackend(program, partitioner, backends_, options));
  EXPECT_THAT(ToBackend(program, partitioner, backends_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty tag")));
}

TEST_F(GapsTest, while_loop_bodies) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %zero: i64[] = edge.aten.full.default([], 0, dtype=dtype:i64)
      %j: i64[], %y: f32[2] = higher_order.while_loop(graph#1, graph#2, [%zero, %x], [])
      return (%y user_output, %j user_output)
    }
    graph test(%i: i64[], %u: f32[2]) {
      %l: b8[] = edge.aten.lt.Scalar(%i, 3)
      return (%l)
    }
    graph step(%i: i64[], %u: f32[2]) {
      %k: i64[] = edge.aten.add.Scalar(%i, 1)
      %v: f32[2] = edge.aten.sin.default(%u)
      %w: f32[2] = edge.aten.neg.default(%v)
      return (%k, %w)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered,
                       LowerOps(program, {"aten.sin.default", "aten.lt.Scalar"}));
  EXPECT_EQ(DelegateCalls(lowered).size(), 2u);
  ExpectSameResults(program, lowered);
}

TEST_F(GapsTest, scan_bodies) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%h: f32[2] user_input, %xs: f32[3,2] user_input) {
      %last: f32[2], %all: f32[3,2] = higher_order.scan(graph#1, [%h], [%xs], [])
      return (%last user_output, %all user_output)
    }
    graph body(%c: f32[2], %x: f32[2]) {
      %n: f32[2] = edge.aten.add.Tensor(%c, %x)
      %s: f32[2] = edge.aten.sin.default(%n)
      return (%n, %s)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerOps(program, {"aten.add.Tensor"}));
  EXPECT_THAT(OpsOf(lowered, GraphId(1)), ElementsAre("delegate", "aten.sin.default"));
  ExpectSameResults(program, lowered);
}

// The nodes of the tag compute no used value: upstream fails at insertion.
TEST_F(GapsTest, empty_output_partition) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %unused: f32[2] = edge.aten.sin.default(%x)  tag="t"
      %n: f32[2] = edge.aten.neg.default(%x)
      return (%n user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  ASSERT_EQ(DelegateCalls(lowered).size(), 1u);
  EXPECT_TRUE(lowered.top().node(DelegateCalls(lowered)[0].node).results().empty());
  ExpectSameResults(program, lowered);
}

TEST_F(GapsTest, symint_output_partition) {
  const ExportedProgram program = Parse(R"(program edge {
    ranges { s0: [2, 8] }
    graph(%x: f32[s0] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)  tag="t"
      %m: symint(2*s0) = _operator.mul(%n, 2)
      return (%m user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_THAT(OpsOf(lowered), ElementsAre("delegate", "_operator.mul"));
  ExpectSameResults(program, lowered);
}

// Tags belong to the partitioner's answer, not to the result of lowering: equal names in a second
// round refer to other nodes, and the first round's specs are kept (docs/lowering.md §7.8).
TEST_F(GapsTest, repeated_to_backend_with_clashing_tag_names) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)
      %b: f32[2] = edge.aten.neg.default(%a)
      return (%b user_output)
    }
  })");
  const CapabilityPartitioner first({"recorder", {{"round", "1"}}},
                                    SupportOps({"aten.sin.default"}));
  const CapabilityPartitioner second({"recorder", {{"round", "2"}}},
                                     SupportOps({"aten.neg.default"}));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram once, ToBackend(program, first, backends_));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram twice, ToBackend(once, second, backends_));
  const std::vector<DelegateCall> calls = DelegateCalls(twice);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].module->compile_specs[0].value, "1");
  EXPECT_EQ(calls[1].module->compile_specs[0].value, "2");
  ForEachNode(twice, [&](GraphId graph, NodeId node) {
    EXPECT_EQ(twice.graphs[graph].node(node).delegation_tag, "");
  });
  for (const DelegateCall& call : calls) {
    ForEachNode(call.module->original, [&](GraphId graph, NodeId node) {
      EXPECT_EQ(call.module->original.graphs[graph].node(node).delegation_tag, "");
    });
  }
  ExpectSameResults(program, twice);
}

// The segment of a blob that several keys share is aligned for all of them (docs/lowering.md
// §7.17).
TEST_F(GapsTest, alignment_of_aliased_named_data) {
  class AliasBackend final : public Backend {
   public:
    std::string_view id() const override { return "alias"; }
    absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram,
                                                absl::Span<const CompileSpec>) const override {
      NamedDataStore store;
      ABSL_RETURN_IF_ERROR(store.Add("a", TextStorage("bytes"), {.alignment = 16}));
      ABSL_RETURN_IF_ERROR(store.Add("b", TextStorage("bytes"), {.alignment = 512}));
      return PreprocessResult{.processed = {}, .named_data = store.output()};
    }
  };
  const AliasBackend alias;
  ASSERT_OK(backends_.Add(&alias));
  MethodPrograms methods;
  ASSERT_OK_AND_ASSIGN(ExportedProgram lowered,
                       LowerTagged(Parse(kConstants), {{"t0", {"alias", {}}}}));
  methods.emplace_back("forward", std::move(lowered));
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(methods));
  ASSERT_EQ(image.metadata.named_data_size(), 2);
  EXPECT_EQ(image.metadata.named_data(0).segment(), image.metadata.named_data(1).segment());
  EXPECT_EQ(image.segments[image.metadata.named_data(0).segment()].alignment % 512, 0u);
}

// A single program and a method among several use the same implementation (docs/lowering.md §7.15).
TEST_F(GapsTest, one_program_and_one_method_are_lowered_alike) {
  const ExportedProgram program = Parse(kConstants);
  TextPartitioner partitioner;
  partitioner.tag_constants = true;
  ASSERT_OK_AND_ASSIGN(const ExportedProgram alone, ToBackend(program, partitioner, backends_));
  MethodPrograms methods;
  methods.emplace_back("forward", program.Clone());
  ASSERT_OK_AND_ASSIGN(const MethodPrograms among,
                       ToBackend(methods, {{"forward", &partitioner}}, backends_));
  EXPECT_TRUE(Equal(alone, among[0].second));
}

// A subgraph operand with the name of a parameter is not a parameter (docs/lowering.md §7.21).
TEST_F(GapsTest, names_do_not_matter) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %p: b8[] user_input, %x: f32[2] user_input) {
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      %d: f32[2] = edge.aten.add.Tensor(%c, %w)
      return (%d user_output)
    }
    graph t(%w: f32[2]) {
      %a: f32[2] = edge.aten.sin.default(%w)
      return (%a)
    }
    graph f(%w: f32[2]) { return (%w) }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerOps(program, {"aten.sin.default"}));
  EXPECT_EQ(lowered.state_dict.size(), 1u);
  EXPECT_TRUE(DelegateCalls(lowered)[0].module->original.state_dict.empty());
  ExpectSameResults(program, lowered);
}

}  // namespace
}  // namespace belay::exir
