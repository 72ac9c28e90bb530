// Tests of lowered modules in other programs, and as programs: docs/lowering.md rows 21 – 25,
// test_delegate.
#include "exir/backend/compose.h"

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "exir/backend/introspection.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ComposeTest : public ::testing::Test {
 protected:
  ComposeTest() {
    for (const Backend* backend : {&recorder_, &outer_}) EXPECT_OK(backends_.Add(backend));
  }
  ExportedProgram Parse(std::string_view text) { return ParseOrDie(text, TestOps()); }
  std::shared_ptr<const LoweredBackendModule> Lower(std::string_view text,
                                                    std::string_view backend = "recorder") {
    auto module = ToBackend(backend, Parse(text), {{"k", "v"}}, backends_);
    EXPECT_TRUE(module.ok()) << module.status();
    return *module;
  }

  const FunctionBackend recorder_{
      "recorder", [](ExportedProgram program, auto) {
        return PreprocessResult{.processed =
                                    TextStorage(absl::StrCat(program.top().num_nodes(), " nodes"))};
      }};
  const FunctionBackend outer_{"outer", [](ExportedProgram program, auto) {
                                 // The blob lists those of nested delegates.
                                 std::string blob = "outer{";
                                 for (const DelegateCall& call : DelegateCalls(program)) {
                                   absl::StrAppend(&blob, TextOf(call.module->processed), ";");
                                 }
                                 return PreprocessResult{.processed = TextStorage(blob + "}")};
                               }};
  BackendSet backends_;
};

constexpr std::string_view kAddMul = R"(program edge {
  constants { state "w": f32[2] }
  graph(%w: f32[2] parameter "w", %x: f32[2] user_input, %y: f32[2] user_input) {
    %a: f32[2] = edge.aten.add.Tensor(%x, %w)
    %m: f32[2] = edge.aten.mul.Tensor(%a, %y)
    return (%a user_output, %m user_output)
  }
})";

constexpr std::string_view kHost = R"(program edge {
  graph(%u: f32[2] user_input, %v: f32[2] user_input) {
    %n: f32[2] = edge.aten.neg.default(%u)  handle=9
    return (%n user_output)
  }
})";

TEST_F(ComposeTest, CallsModuleInAnotherProgram) {
  const auto module = Lower(kAddMul);
  ExportedProgram host = Parse(kHost);
  const ValueId n = FindValue(host.top(), "n"), v = FindValue(host.top(), "v");
  ASSERT_OK_AND_ASSIGN(const NodeId call,
                       InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), module, {n, v}));
  GraphEditor(host.top()).SetOutputs({host.top().node(call).results()[1]});
  ASSERT_OK(Verify(host));
  EXPECT_EQ(PrintProgram(host), PrintProgram(Parse(R"(program edge {
  graph(%u: f32[2] user_input, %v: f32[2] user_input) {
    %n: f32[2] = edge.aten.neg.default(%u)  handle=9
    %a: f32[2], %m: f32[2] = higher_order.executorch_call_delegate(module#0, %n, %v)  handle=10 name="executorch_call_delegate"
    return (%m user_output)
  }
  module#0 backend "recorder" specs ["k": "v"] {
    blob "MiBub2Rlcw=="
    program edge {
      constants { state "w": f32[2] }
      graph(%w: f32[2] parameter "w", %x: f32[2] user_input, %y: f32[2] user_input) {
        %a: f32[2] = edge.aten.add.Tensor(%x, %w)
        %m: f32[2] = edge.aten.mul.Tensor(%a, %y)
        return (%a user_output, %m user_output)
      }
    }
  }
})")));
}

TEST_F(ComposeTest, CallsOfOneModuleShareIt) {
  const auto module = Lower(kAddMul);
  ExportedProgram host = Parse(kHost);
  const ValueId u = FindValue(host.top(), "u"), v = FindValue(host.top(), "v");
  ASSERT_OK_AND_ASSIGN(const NodeId first,
                       InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), module, {u, v}));
  const ValueId a = host.top().node(first).results()[0];
  ASSERT_OK_AND_ASSIGN(const NodeId second,
                       InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), module, {a, a}));
  EXPECT_EQ(host.lowered_modules.size(), 1u);
  EXPECT_NE(host.top().node(first).debug_handle, host.top().node(second).debug_handle);
  EXPECT_NE(host.top().node(first).name, host.top().node(second).name);
  EXPECT_OK(Verify(host));
}

TEST_F(ComposeTest, CallsModuleInASubgraph) {
  const auto module = Lower(kAddMul);
  ExportedProgram host = Parse(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      return (%c user_output)
    }
    graph t(%y: f32[2]) { return (%y) }
    graph f(%y: f32[2]) { return (%y) }
  })");
  const GraphId body(1);
  const ValueId y = FindValue(host.graphs[body], "y");
  ASSERT_OK(InsertDelegateCall(host, body, NodeId(), module, {y, y}));
  EXPECT_OK(Verify(host));
  EXPECT_EQ(DelegateCalls(host, body).size(), 1u);
}

// Lowers the composed program again: the call is an ordinary node, which the partitioner may put
// into another delegate.
TEST_F(ComposeTest, ComposedProgramCanBeLowered) {
  const auto module = Lower(kAddMul);
  ExportedProgram host = Parse(kHost);
  const ValueId n = FindValue(host.top(), "n"), v = FindValue(host.top(), "v");
  ASSERT_OK_AND_ASSIGN(const NodeId call,
                       InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), module, {n, v}));
  GraphEditor editor(host.top());
  editor.SetOutputs({host.top().node(call).results()[1]});
  for (NodeId node : host.top().NodeList()) editor.SetDelegationTag(node, "all");
  TextPartitioner partitioner;
  partitioner.delegation = {{"all", {"outer", {}}}};
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, ToBackend(host, partitioner, backends_));
  ASSERT_EQ(DelegateCalls(lowered).size(), 1u);
  const LoweredBackendModule& outer = *DelegateCalls(lowered)[0].module;
  EXPECT_EQ(TextOf(outer.processed), "outer{2 nodes;}");
  ASSERT_EQ(DelegateCalls(outer.original).size(), 1u);
  EXPECT_EQ(DelegateCalls(outer.original)[0].module, module.get());
  // Wrapped as a program, it is still one call.
  ASSERT_OK_AND_ASSIGN(const ExportedProgram alone,
                       ProgramOfModule(lowered.lowered_modules[ModuleId(0)]));
  EXPECT_EQ(alone.top().num_nodes(), 1u);
}

// --- Stateful modules ---

constexpr std::string_view kCounter = R"(
  module#0 backend "recorder" specs [] { program edge {
    constants { state "n": f32[2] }
    graph(%n: f32[2] buffer "n", %x: f32[2] user_input) {
      %sum: f32[2] = edge.aten.add.Tensor(%n, %x)
      return (%sum buffer_mutation "n", %sum user_output)
    } } }
})";

TEST_F(ComposeTest, StatefulModuleCallsMoveTogetherOrNotAtAll) {
  const auto lower = [&](std::string_view first, std::string_view second, std::string_view inner) {
    const auto tag = [](std::string_view t) {
      return t.empty() ? std::string() : absl::StrCat("  tag=\"", t, "\"");
    };
    return ToBackend(Parse(absl::StrCat(R"(program edge {
      graph(%p: b8[] user_input, %x: f32[2] user_input, %y: f32[2] user_input) {
        %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x))",
                                        tag(first), R"(
        %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%y]))",
                                        tag(second), R"(
        %s: f32[2] = edge.aten.add.Tensor(%a, %c)
        return (%s user_output)
      }
      graph t(%z: f32[2]) {
        %b: f32[2] = higher_order.executorch_call_delegate(module#0, %z))",
                                        tag(inner), R"(
        return (%b)
      }
      graph f(%z: f32[2]) { return (%z) })",
                                        kCounter)),
                     TextPartitioner(), backends_);
  };
  const auto split = [](std::string_view a, std::string_view b) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    AllOf(HasSubstr("all calls of a stateful module"), HasSubstr("module#0"),
                          HasSubstr(std::string(a)), HasSubstr(std::string(b))));
  };
  EXPECT_THAT(lower("t0", "", ""), split("has tag 't0'", "one is not delegated"));
  EXPECT_THAT(lower("", "t0", ""), split("one is not delegated", "has tag 't0'"));
  EXPECT_THAT(lower("", "", "t0"), split("one is not delegated", "has tag 't0'"));
  EXPECT_THAT(lower("t0", "t1", ""), split("has tag 't0'", "has tag 't1'"));
  EXPECT_THAT(lower("t0", "", "t0"), split("has tag 't0'", "has tag 't0'"));
  EXPECT_OK(lower("", "", ""));
  EXPECT_OK(lower("t0", "t0", ""));
}

// A call in the subgraph of an undelegated node moves as the subgraph's plan says; the position of
// the outer node does not matter.
TEST_F(ComposeTest, StatefulModuleCallMovesInASubgraph) {
  EXPECT_OK(ToBackend(Parse(absl::StrCat(R"(program edge {
      graph(%p: b8[] user_input, %x: f32[2] user_input) {
        %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
        return (%c user_output)
      }
      graph t(%z: f32[2]) {
        %b: f32[2] = higher_order.executorch_call_delegate(module#0, %z)  tag="t0"
        return (%b)
      }
      graph f(%z: f32[2]) { return (%z) })",
                                         kCounter)),
                      TextPartitioner(), backends_));
}

// No data flows from the first call to the second, but the second depends on the first
// one's state.
TEST_F(ComposeTest, StatefulModuleCallsKeepTheirOrder) {
  const auto lower = [&](std::string_view tag) {
    return ToBackend(Parse(absl::StrCat(R"(program edge {
      graph(%x: f32[2] user_input, %y: f32[2] user_input) {
        %n: f32[2] = edge.aten.neg.default(%x)  tag="t0"
        %a: f32[2] = higher_order.executorch_call_delegate(module#0, %n)
        %b: f32[2] = higher_order.executorch_call_delegate(module#0, %y)
        %m: f32[2] = edge.aten.neg.default(%b)  tag=")",
                                        tag, R"("
        %s: f32[2] = edge.aten.add.Tensor(%a, %m)
        return (%s user_output)
      })",
                                        kCounter)),
                     TextPartitioner(), backends_);
  };
  EXPECT_OK(lower("t1"));
  EXPECT_THAT(lower("t0"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    AllOf(HasSubstr("dependency cycles"), HasSubstr("'t0'"))));
}

TEST_F(ComposeTest, SymbolsAreBoundToArgumentSizes) {
  const auto module = Lower(R"(program edge {
    ranges { s0: [2, 8] u0: [0, 64] }
    graph(%x: f32[s0,3] user_input) {
      %c: f32[2*s0,3] = edge.aten.cat.default([%x, %x])
      %i: i64[u0,2] = edge.aten.nonzero.default(%c)
      %n: symint(2*s0) = aten.sym_size.int(%c, 0)
      %e: symbool(Eq(2*s0, 4)) = _operator.eq(%n, 4)
      return (%c user_output, %i user_output, %n user_output, %e user_output, 3 user_output,
              2.5 user_output, true user_output, "s" user_output)
    }
  })");
  ExportedProgram host = Parse(R"(program edge {
    ranges { s5: [3, 7] u0: [0, 9] }
    graph(%a: f32[4,3] user_input, %b: f32[s5,3] user_input, %c: f32[u0] user_input) {
      return (%a user_output)
    }
  })");
  const auto call = [&](std::string_view name) {
    auto node = InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), module,
                                   {FindValue(host.top(), name)});
    EXPECT_TRUE(node.ok()) << node.status();
    std::vector<std::string> types;
    for (ValueId value : host.top().node(*node).results()) {
      types.push_back(PrintType(host.top().value(value).type));
    }
    return types;
  };
  EXPECT_THAT(call("a"),
              ::testing::ElementsAre("f32[8,3]", "i64[u0_0,2]", "symint(8)", "symbool(false)",
                                     "const(3)", "const(2.5)", "const(true)", "const(\"s\")"));
  EXPECT_THAT(call("b"), ::testing::ElementsAre("f32[2*s5,3]", "i64[u0_1,2]", "symint(2*s5)",
                                                "symbool(Eq(2*s5, 4))", "const(3)", "const(2.5)",
                                                "const(true)", "const(\"s\")"));
  EXPECT_EQ(host.ranges.at("u0_0").max, 64);
  EXPECT_EQ(host.ranges.size(), 4u);  // s5, u0, u0_0, u0_1
  EXPECT_OK(Verify(host));
}

// One call each: the types of the module's inputs and of the arguments, and the error.
TEST_F(ComposeTest, ArgumentsMatchConstantSizes) {
  struct Case {
    std::vector<std::string> inputs, arguments;
    std::string problem;
  };
  const Case cases[] = {
      {{"f32[s0]"}, {"f32[4]"}, ""},
      {{"f32[s0]"}, {"symint(4)"}, "expected f32[s0], got symint(4)"},
      {{"f32[s0]"}, {"f32[1]"}, "expected f32[s0], got f32[1]"},  // s0 is 2 to 8
      {{"f32[s0]"}, {"f32[9]"}, "expected f32[s0], got f32[9]"},
      {{"f32[s0]"}, {"f32[s5]"}, ""},
      {{"f32[3]"}, {"f32[s5]"}, ""},
      {{"f32[3]"}, {"f32[4]"}, "expected f32[3], got f32[4]"},
      // A symbol bound to a number, or to another symbol.
      {{"f32[s0]", "f32[s0]"}, {"f32[4]", "f32[s5]"}, ""},
      {{"f32[s0]", "f32[s0]"}, {"f32[s5]", "f32[4]"}, ""},
      {{"f32[s0]", "f32[s0]"}, {"f32[s5]", "f32[9]"}, "expected f32[s0], got f32[9]"},
      {{"f32[s0]", "f32[s0]"}, {"f32[4]", "f32[5]"}, "expected f32[s0], got f32[5]"},
      // Expressions, before and after their symbol is bound.
      {{"f32[2*s0]"}, {"f32[7]"}, ""},
      {{"f32[s0]", "f32[2*s0]"}, {"f32[3]", "f32[6]"}, ""},
      {{"f32[s0]", "f32[2*s0]"}, {"f32[3]", "f32[7]"}, "expected f32[2*s0], got f32[7]"},
      {{"f32[s0]", "f32[2*s0]"}, {"f32[3]", "f32[s5]"}, ""},
      {{"f32[s0]", "f32[2*s0]"}, {"f32[s5]", "f32[7]"}, ""},
      // Scalars.
      {{"symint(s0)"}, {"symint(4)"}, ""},
      {{"symint(s0)"}, {"symint(9)"}, "expected symint(s0), got symint(9)"},
      {{"symint(s0)"}, {"f32[4]"}, "expected symint(s0), got f32[4]"},
      {{"symfloat(zf0)"}, {"symfloat(zf9)"}, ""},
      {{"symfloat(zf0)"}, {"symint(4)"}, "expected symfloat(zf0), got symint(4)"},
      {{"symbool(zb0)"}, {"symfloat(zf9)"}, "expected symbool(zb0), got symfloat(zf9)"},
  };
  const auto inputs = [](const std::vector<std::string>& types) {
    std::string text;
    for (const std::string& type : types) {
      absl::StrAppend(&text, text.empty() ? "%v" : ", %v", text.size(), ": ", type, " user_input");
    }
    return text;
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(inputs(c.inputs) + " of " + inputs(c.arguments));
    const auto module = std::make_shared<LoweredBackendModule>(
        "b", Parse(absl::StrCat("program edge { ranges { s0: [2, 8] } graph(", inputs(c.inputs),
                                ") { return () } }")));
    ExportedProgram host = Parse(absl::StrCat("program edge { ranges { s5: [1, 99] } graph(",
                                              inputs(c.arguments), ") { return () } }"));
    const std::vector<ValueId> values(host.top().inputs().begin(), host.top().inputs().end());
    const absl::Status status =
        InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), module,
                           std::vector<Argument>(values.begin(), values.end()))
            .status();
    if (c.problem.empty()) {
      EXPECT_OK(status);
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.problem)));
    }
  }
}

TEST_F(ComposeTest, ResultTypesUseTheProgramsSymbols) {
  const auto module = std::make_shared<LoweredBackendModule>("b", Parse(R"(program edge {
    graph(%x: f32[s0] user_input) {
      %f: symfloat(s0 + zf0) = my.own.op(%x)
      %o: object("Queue") = my.own.op(%x)
      %i: i64[u0] = my.own.op(%x)
      return (%f user_output, %o user_output, %i user_output)
    }
  })"));
  ExportedProgram host = Parse("program edge { graph(%a: f32[4] user_input) { return () } }");
  ASSERT_OK_AND_ASSIGN(const NodeId node, InsertDelegateCall(host, ExportedProgram::kTop, NodeId(),
                                                             module, {FindValue(host.top(), "a")}));
  std::vector<std::string> types;
  for (ValueId value : host.top().node(node).results()) {
    types.push_back(PrintType(host.top().value(value).type));
  }
  EXPECT_THAT(types, ::testing::ElementsAre("symfloat(zf0 + 4)", "object(\"Queue\")", "i64[u0]"));
  // Its range is unknown.
  EXPECT_EQ(host.ranges.at("u0").min, 0);
  EXPECT_EQ(host.ranges.at("u0").max, SymRange().max);
}

TEST_F(ComposeTest, RejectsMismatchedArgumentsWithoutChanges) {
  const auto module = Lower(R"(program edge {
    ranges { s0: [2, 8] }
    graph(%x: f32[s0,3] user_input, %y: f32[s0] user_input) {
      %a: f32[s0,3] = edge.aten.neg.default(%x)
      return (%a user_output)
    }
  })");
  const auto counting = Lower(R"(program edge {
    ranges { s0: [2, 8] }
    graph(%n: symint(s0) user_input, %x: f32[s0] user_input) {
      %a: f32[s0] = edge.aten.neg.default(%x)
      return (%a user_output)
    }
  })");
  ExportedProgram host = Parse(R"(program edge {
    graph(%n9: symint(9) user_input, %f43: f32[4,3] user_input, %f4: f32[4] user_input, %f5: f32[5] user_input,
          %i43: i64[4,3] user_input, %f93: f32[9,3] user_input, %f9: f32[9] user_input) {
      return (%f43 user_output)
    }
  })");
  const std::string before = PrintProgram(host);
  const auto call = [&](std::vector<std::string> names) {
    std::vector<Argument> arguments;
    for (const std::string& name : names) arguments.emplace_back(FindValue(host.top(), name));
    return InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), module, arguments).status();
  };
  const auto invalid = [](std::string_view text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(call({"f43"}), invalid("expects 2 arguments, got 1"));
  EXPECT_THAT(call({"i43", "f4"}),
              invalid("argument 0, the module's %x: expected f32[s0,3], got i64[4,3]"));
  EXPECT_THAT(call({"f4", "f4"}), invalid("got f32[4]"));
  EXPECT_THAT(call({"f43", "f5"}), invalid("argument 1, the module's %y"));
  EXPECT_THAT(call({"f93", "f9"}), invalid("got f32[9,3]"));  // out of the range of s0
  EXPECT_THAT(InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), counting,
                                 {FindValue(host.top(), "n9"), FindValue(host.top(), "f9")}),
              invalid("argument 0, the module's %n: expected symint(s0), got symint(9)"));
  EXPECT_THAT(InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), module,
                                 {Argument(3), FindValue(host.top(), "f4")}),
              invalid("expected a value of the graph, got 3"));
  EXPECT_THAT(InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), module,
                                 {ValueId(99), FindValue(host.top(), "f4")}),
              invalid("value 99"));
  EXPECT_THAT(InsertDelegateCall(host, GraphId(4), NodeId(), module, {}),
              invalid("unknown graph#4"));
  EXPECT_THAT(InsertDelegateCall(host, ExportedProgram::kTop, NodeId(77), module, {}),
              invalid("unknown node 77"));
  EXPECT_THAT(InsertDelegateCall(host, ExportedProgram::kTop, NodeId(), nullptr, {}),
              invalid("expected a module"));
  EXPECT_EQ(PrintProgram(host), before);
  ExportedProgram aten =
      Parse("program aten { graph(%x: f32[2] user_input) { return (%x user_output) } }");
  EXPECT_THAT(InsertDelegateCall(aten, ExportedProgram::kTop, NodeId(), module, {}),
              invalid("expected an edge program, got one of the ATEN dialect"));
}

// --- A module as a program ---

TEST_F(ComposeTest, ProgramOfModuleIsOneCall) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ProgramOfModule(Lower(kAddMul)));
  EXPECT_OK(Verify(program));
  EXPECT_TRUE(program.state_dict.empty());
  EXPECT_TRUE(program.constants.empty());
  EXPECT_EQ(PrintNode(program.top(), program.top().first()),
            "%a: f32[2], %m: f32[2] = higher_order.executorch_call_delegate(module#0, %x, %y)");
  ASSERT_EQ(program.signature.inputs.size(), 2u);
  ASSERT_EQ(program.signature.outputs.size(), 2u);
}

// Weak point 19: lifted constants are not inputs, owned mutations not outputs, and mutations of
// user inputs stay mutations.
TEST_F(ComposeTest, ProgramOfModuleHasNoModuleState) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ProgramOfModule(Lower(R"(program edge {
    constants { state "b": f32[2] constant "c": f32[2] constant "n": f32[2] }
    graph(%b: f32[2] buffer "b", %n: f32[2] buffer "n" nonpersistent, %c: f32[2] tensor_constant "c",
          %x: f32[2] user_input, %y: f32[2] user_input) {
      %s: f32[2] = edge.aten.add.Tensor(%b, %x)
      %t: f32[2] = edge.aten.add.Tensor(%c, %n)
      %u: f32[2] = edge.aten.add.Tensor(%t, %y)
      return (%s buffer_mutation "b", %u user_input_mutation "x", %t user_output, none user_output)
    }
  })")));
  EXPECT_OK(Verify(program));
  ASSERT_EQ(program.signature.inputs.size(), 2u);
  ASSERT_EQ(program.signature.outputs.size(), 3u);
  EXPECT_EQ(program.signature.outputs[0].kind, OutputKind::kUserInputMutation);
  EXPECT_EQ(program.signature.outputs[0].target, "x");
  EXPECT_EQ(PrintNode(program.top(), program.top().first()),
            "%u: f32[2], %t: f32[2], none = higher_order.executorch_call_delegate(module#0, %x, "
            "%y)");
  EXPECT_TRUE(program.top().outputs()[2].is_none());
}

TEST_F(ComposeTest, ProgramOfModuleKeepsSymbols) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ProgramOfModule(Lower(R"(program edge {
    ranges { s0: [2, 8] u0: [0, 64] }
    graph(%x: f32[s0] user_input, %n: symint(s0) user_input) {
      %i: i64[u0,1] = edge.aten.nonzero.default(%x)
      return (%i user_output, 3 user_output)
    }
  })")));
  EXPECT_OK(Verify(program));
  EXPECT_EQ(program.ranges.at("s0").max, 8);
  EXPECT_EQ(program.ranges.at("u0").max, 64);
  EXPECT_EQ(
      PrintType(program.top().value(program.top().node(program.top().first()).results()[0]).type),
      "i64[u0,1]");
  EXPECT_EQ(program.top().outputs()[1], Argument(3));
}

TEST_F(ComposeTest, RejectsInputsAndOutputsThatACallCannotPass) {
  ExportedProgram token = Parse(kHost);
  token.signature.inputs[0].kind = InputKind::kToken;
  EXPECT_THAT(
      ProgramOfModule(std::make_shared<LoweredBackendModule>("b", std::move(token))),
      StatusIs(absl::StatusCode::kUnimplemented, AllOf(HasSubstr("%u"), HasSubstr("token"))));
  ExportedProgram host = Parse(kHost), called = Parse(kHost);
  called.signature.inputs[0].kind = InputKind::kToken;
  EXPECT_THAT(
      InsertDelegateCall(host, ExportedProgram::kTop, NodeId(),
                         std::make_shared<LoweredBackendModule>("b", std::move(called)), {}),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("%u")));
  ExportedProgram loss = Parse(kHost);
  loss.signature.outputs[0].kind = OutputKind::kLossOutput;
  EXPECT_THAT(ProgramOfModule(std::make_shared<LoweredBackendModule>("b", std::move(loss))),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("loss_output")));
  EXPECT_THAT(ProgramOfModule(nullptr), StatusIs(absl::StatusCode::kInvalidArgument));
}

// docs/lowering.md row 21: a module's properties can't be assigned once it is in a program.
TEST_F(ComposeTest, ModulesInProgramsAreConst) {
  const auto module = Lower(kAddMul);
  static_assert(std::is_const_v<std::remove_reference_t<decltype(*module)>>);
  static_assert(!std::is_assignable_v<decltype((module->backend_id)), std::string>);
  static_assert(!std::is_assignable_v<decltype((module->processed)), Storage>);
  const ExportedProgram host = Parse(kHost);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(host.lowered_modules[ModuleId(0)])>,
                               std::shared_ptr<const LoweredBackendModule>>);
}

}  // namespace
}  // namespace belay::exir
