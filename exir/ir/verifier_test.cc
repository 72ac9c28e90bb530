#include "exir/ir/verifier.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {

class GraphBreaker {
 public:
  static std::vector<NodeId>& Users(Graph& graph, ValueId value) {
    return graph.values_[value].users;
  }
  static void SetValueName(Graph& graph, ValueId value, std::string name) {
    graph.values_[value].name = std::move(name);
  }
  static void SetNodeName(Graph& graph, NodeId node, std::string name) {
    graph.nodes_[node].node.name = std::move(name);
  }
  static std::vector<Argument>& Arguments(Graph& graph, NodeId node) {
    return graph.nodes_[node].node.arguments;
  }
};

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

ExportedProgram Parse(std::string_view text) { return ParseOrDie(text, TestOps()); }

// Returns the lines of the error message.
std::vector<std::string> Violations(const ExportedProgram& program) {
  const absl::Status status = Verify(program);
  if (status.ok()) return {};
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  return absl::StrSplit(status.message(), '\n');
}
std::vector<std::string> Violations(std::string_view text) { return Violations(Parse(text)); }

constexpr std::string_view kTwoNodes = R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %a: f32[2,3] = aten.relu.default(%x)  @"model.py":7
    %b: f32[2,3] = aten.mul.Tensor(%a, %a)  @"model.py":8
    return (%b user_output)
  }
})";

TEST(Verifier, IsLinearInSymbols) {
  // Inputs in descending order: each would be inserted before all others.
  ExportedProgram program = Parse("program aten { graph() { return () } }");
  constexpr int kSymbols = 100000;
  Graph& graph = program.graphs[ExportedProgram::kTop];
  GraphEditor editor(graph);
  for (int i = 0; i < kSymbols; ++i) {
    const std::string name = absl::StrCat("s", 2 * kSymbols - i);
    editor.AddInput(absl::StrCat("x", i),
                    TensorMeta::Contiguous(DType::kFloat32, {SymExpr::Symbol(name)}));
    program.signature.inputs.push_back({.kind = InputKind::kUserInput});
  }
  EXPECT_OK(Verify(program));
}

TEST(Verifier, AcceptsAProgramWithEverything) {
  EXPECT_THAT(Violations(R"(program aten {
    ranges { s0: [2, 64] }
    constants { state "w": f32[3,4] state "n": i64[] constant "c": f32[] }
    graph(%p_w: f32[3,4] parameter "w", %b_n: i64[] buffer "n", %c: f32[] tensor_constant "c",
          %x: f32[s0,3] user_input, %k: symint(s1) user_input, %n: const(3) constant_input,
          %t: token token, %obj: object("a.B") custom_obj "o") {
      %mm: f32[s0,4] = aten.mm.default(%x, %p_w)
      %size: symint(s0) = aten.sym_size.int(%x, 0)
      %twice: symint(2*s0) = _operator.mul(%size, 2)
      %v: f32[2*s0,2] = aten.view.default(%mm, [%twice,2])
      %nz: i64[u0,2] = aten.nonzero.default(%v)
      %one: i64[] = aten.add.Tensor(%b_n, 1)
      %u: symint(u1) = aten._local_scalar_dense.default(%one)
      aten._assert_scalar.default(%u, "positive") name="check"
      %cond: f32[s0,4] = higher_order.cond(true, graph#1, graph#2, [%mm])
      %sum: f32[u1] = zoo.expand.default(self=%c, size=[%u])
      return (%one buffer_mutation "n", %x user_input_mutation "x", %cond user_output,
              none user_output, 3 user_output, %x user_output, %nz user_output, %sum user_output)
    }
    graph true_graph_0(%x: f32[s0,4]) { return (%x) }
    graph false_graph_0(%x: f32[s0,4]) {
      %neg: f32[s0,4] = aten.neg.default(%x)
      return (%neg)
    }
  })"),
              IsEmpty());
}

TEST(Verifier, V1UseMustFollowDefinition) {
  ExportedProgram program = Parse(kTwoNodes);
  GraphEditor editor(program.top());
  editor.MoveBefore(FindNode(program.top(), "b"), FindNode(program.top(), "a"));
  EXPECT_THAT(Violations(program),
              ElementsAre("V1 %b: f32[2,3] = aten.mul.Tensor(%a, %a) (model.py:8): expected "
                          "operands that are defined before, got %a",
                          HasSubstr("V1 %b")));
}

TEST(Verifier, V1ValueOfAnErasedNodeIsNotDefined) {
  ExportedProgram program = Parse(kTwoNodes);
  GraphEditor editor(program.top());
  const ValueId a = FindValue(program.top(), "a");
  const NodeId b = FindNode(program.top(), "b");
  const Argument x = FindValue(program.top(), "x");
  editor.SetArguments(b, {x, x});
  editor.EraseNode(FindNode(program.top(), "a"));
  editor.SetArgument(b, 1, a);
  EXPECT_THAT(Violations(program), ElementsAre(StartsWith("V1 %b")));
}

TEST(Verifier, V1ValuesOfOtherGraphsAreNotDefined) {
  ExportedProgram program = Parse(kTwoNodes);
  const NodeId b = FindNode(program.top(), "b");
  GraphBreaker::Arguments(program.top(), b) = {ValueId(77), ValueId(78)};
  EXPECT_THAT(Violations(program),
              ElementsAre(AllOf(StartsWith("V1 %b"), HasSubstr("got %<77>")),
                          AllOf(StartsWith("V1 %b"), HasSubstr("got %<78>")),
                          // No other violation is reported for the node, and its results are
                          // unknown.
                          AllOf(StartsWith("V2 output 0"), HasSubstr("got %b")),
                          AllOf(StartsWith("V4 %a"), HasSubstr("expected 0 users of %a"))));
}

TEST(Verifier, V2OutputMustBeDefinedInTheGraph) {
  ExportedProgram program = Parse(kTwoNodes);
  GraphEditor editor(program.top());
  editor.SetOutputs({ValueId(77)});
  EXPECT_THAT(Violations(program),
              ElementsAre("V2 output 0 of graph#0: expected a value that is defined in the graph, "
                          "got %<77>"));
  // A value of an erased node.
  program = Parse(kTwoNodes);
  GraphEditor other(program.top());
  const ValueId b = FindValue(program.top(), "b");
  other.SetOutputs({});
  other.EraseNode(FindNode(program.top(), "b"));
  other.SetOutputs({b});
  EXPECT_THAT(Violations(program), ElementsAre(StartsWith("V2 output 0 of graph#0")));
}

TEST(Verifier, V3NamesOfValuesAreUnique) {
  ExportedProgram program = Parse(kTwoNodes);
  GraphBreaker::SetValueName(program.top(), FindValue(program.top(), "b"), "x");
  EXPECT_THAT(Violations(program), ElementsAre(HasSubstr("got a second %x")));
}

TEST(Verifier, V3NamesOfNodesAreUnique) {
  ExportedProgram program = Parse(kTwoNodes);
  GraphBreaker::SetNodeName(program.top(), FindNode(program.top(), "b"), "a");
  EXPECT_THAT(Violations(program), ElementsAre(HasSubstr("got a second 'a'")));
}

TEST(Verifier, V3NamesAreNotEmpty) {
  ExportedProgram program = Parse(kTwoNodes);
  const NodeId b = FindNode(program.top(), "b");
  GraphBreaker::SetValueName(program.top(), FindValue(program.top(), "b"), "");
  GraphBreaker::SetNodeName(program.top(), b, "");
  EXPECT_THAT(Violations(program), ElementsAre(StartsWith("V3"), StartsWith("V3")));
}

TEST(Verifier, V4UseListsAgreeWithArguments) {
  for (const std::string change : {"missing", "extra", "other", "dead"}) {
    ExportedProgram program = Parse(kTwoNodes);
    Graph& graph = program.top();
    std::vector<NodeId>& users = GraphBreaker::Users(graph, FindValue(graph, "a"));
    ASSERT_EQ(users.size(), 2);
    if (change == "missing") users.pop_back();
    if (change == "extra") users.push_back(users[0]);
    if (change == "other") users[0] = FindNode(graph, "a");
    if (change == "dead") users[0] = NodeId(99);
    EXPECT_THAT(Violations(program), ElementsAre(StartsWith("V4 %a"))) << change;
  }
}

TEST(Verifier, V4NothingUsesTheValuesOfErasedNodes) {
  ExportedProgram program = Parse(kTwoNodes);
  GraphEditor editor(program.top());
  const ValueId b = FindValue(program.top(), "b");
  editor.SetOutputs({FindValue(program.top(), "a")});
  editor.EraseNode(FindNode(program.top(), "b"));
  GraphBreaker::Users(program.top(), b).push_back(FindNode(program.top(), "a"));
  EXPECT_THAT(Violations(program),
              ElementsAre(AllOf(StartsWith(absl::StrCat("V4 input %<", b.index(), ">")),
                                HasSubstr("expected 0 users"), HasSubstr("got a list of 1"))));
}

TEST(Verifier, V5NodesHaveAnOperator) {
  ExportedProgram program = Parse(kTwoNodes);
  GraphEditor(program.top()).SetTarget(FindNode(program.top(), "a"), nullptr);
  EXPECT_THAT(Violations(program),
              ElementsAre("V5 %a: f32[2,3] = <no operator>(%x) (model.py:7): expected an operator, "
                          "got none"));
}

TEST(Verifier, V5ArgumentsMustBeOfTheSchemasTypes) {
  EXPECT_THAT(
      Violations(R"(program aten {
    graph(%x: f32[2,3] user_input, %n: symint(s0) user_input, %b: symbool(Eq(s0, 1)) user_input) {
      %ok: f32[2,3] = aten.view.default(%x, [%n,3])
      %a: f32[2,3] = aten.view.default(%x, [2.5,3])
      %c: f32[3,2] = aten.permute.default(%x, 1)
      %d: f32[2,3] = aten._softmax.default(%x, true, %b)
      %e: f32[2,3] = aten._softmax.default([%x], 1, 1)
      %f: f32[2,3] = aten._to_copy.default(%x, dtype="f32")
      %g: f32[2,3] = aten.index.Tensor(%x, [none,%x])
      %h: f32[2,3] = aten.cat.default([none,%x])
      return (%x user_output)
    }
  })"),
      ElementsAre(AllOf(StartsWith("V5 %a"), HasSubstr("argument size"), HasSubstr("(list)")),
                  AllOf(StartsWith("V5 %c"), HasSubstr("dims int[], got 1 (int)")),
                  AllOf(StartsWith("V5 %d"), HasSubstr("dim int, got true (bool)")),
                  AllOf(StartsWith("V5 %e"), HasSubstr("self Tensor, got [%x] (list)")),
                  AllOf(StartsWith("V5 %e"), HasSubstr("half_to_float bool, got 1 (int)")),
                  AllOf(StartsWith("V5 %f"), HasSubstr("got \"f32\" (string)")),
                  AllOf(StartsWith("V5 %h"), HasSubstr("tensors Tensor[]"))));
}

TEST(Verifier, V5AcceptsWhatTheExporterWrites) {
  EXPECT_THAT(Violations(R"(program aten {
    graph(%x: f32[2,3] user_input, %n: symint(s0) user_input, %r: symfloat(0.5) user_input) {
      %a: f32[2,3] = aten.add.Tensor(%x, 2)
      %b: f32[2,3] = aten.add.Tensor(%x, %n, alpha=(1+2j))
      %c: f32[2,3] = aten.mul.Scalar(%x, %r)
      %d: f32[2] = aten.sum.dim_IntList(%x, 1)
      %e: f32[2,3], none, none = aten.native_layer_norm.default(%x, [3], none, none, 1)
      return (%x user_output)
    }
  })"),
              IsEmpty());
}

TEST(Verifier, V5CountsArgumentsAndNames) {
  ExportedProgram program = Parse(kTwoNodes);
  GraphEditor editor(program.top());
  const Argument x = FindValue(program.top(), "x");
  editor.SetArguments(FindNode(program.top(), "a"), {x, x});
  editor.SetArguments(FindNode(program.top(), "b"), {x, x}, {"self", "other"});
  EXPECT_THAT(Violations(program),
              ElementsAre(AllOf(StartsWith("V5 %a"), HasSubstr("expected 1 arguments, got 2")),
                          AllOf(StartsWith("V5 %b"), HasSubstr("expected 0 names"))));
}

TEST(Verifier, V6OutputsMustBeTheSchemasReturns) {
  EXPECT_THAT(Violations(R"(program aten {
    graph(%x: f32[2,3] user_input) {
      %a: f32[2,3], %a2: f32[2,3] = aten.relu.default(%x)
      %b: symint(3) = aten.relu.default(%x)
      [%c: f32[2,3]] = aten.relu.default(%x)
      %d: f32[2,3] = aten.split_with_sizes.default(%x, [1,1])
      %e: f32[] = aten.sym_size.int(%x, 0)
      none = aten.sym_size.int(%x, 0) name="h"
      none = aten.relu.default(%x) name="i"
      [%f: f32[1,3], %f1: f32[1,3]] = aten.split_with_sizes.default(%x, [1,1])
      none, %g: f32[3], none = aten.native_layer_norm_backward.default(%x, %x, [3], %x, %x, none, none, [false,true,false])
      return (%x user_output)
    }
  })"),
              ElementsAre(AllOf(StartsWith("V6 %a"), HasSubstr("expected 1 outputs, got 2")),
                          AllOf(StartsWith("V6 %b"), HasSubstr("output 0 Tensor, got symint(3)")),
                          AllOf(StartsWith("V6 [%c"), HasSubstr("got a list of 1")),
                          AllOf(StartsWith("V6 %d"), HasSubstr("Tensor[], got f32[2,3]")),
                          AllOf(StartsWith("V6 %e"), HasSubstr("got f32[]")),
                          AllOf(StartsWith("V6 none"), HasSubstr("SymInt, got none")),
                          AllOf(StartsWith("V6 none"), HasSubstr("Tensor, got none"))));
}

constexpr std::string_view kBody = "graph body(%x: f32[2]) { return (%x) }";

TEST(Verifier, V7SubgraphIsUsedOnce) {
  EXPECT_THAT(Violations(absl::StrCat(R"(program aten { graph(%x: f32[2] user_input) {
      %a: f32[2] = higher_order.cond(true, graph#1, graph#1, [%x])
      return (%a user_output) } )",
                                      kBody, "}")),
              ElementsAre(AllOf(StartsWith("V7 %a"), HasSubstr("a second use of graph#1"))));
  EXPECT_THAT(Violations(absl::StrCat(R"(program aten { graph(%x: f32[2] user_input) {
      return (%x user_output) } )",
                                      kBody, "}")),
              ElementsAre("V7 graph#1 body: expected a node that uses the subgraph, got none"));
}

TEST(Verifier, V7SubgraphsExist) {
  ExportedProgram program = Parse(R"(program aten { graph(%x: f32[2] user_input) {
      %a: f32[2] = higher_order.map_impl(graph#1, [%x], [])
      return (%a user_output) }
      graph body(%x: f32[2]) { return (%x) } })");
  GraphEditor(program.top()).SetArgument(program.top().first(), 0, GraphId(2));
  EXPECT_THAT(Violations(program),
              ElementsAre(AllOf(StartsWith("V7 %a"),
                                HasSubstr("subgraphs, which are graph#1 to graph#1, got graph#2")),
                          StartsWith("V7 graph#1 body")));
}

TEST(Verifier, V7NoGraphUsesTheTopGraph) {
  EXPECT_THAT(Violations(R"(program aten { graph(%x: f32[2] user_input) {
      %a: f32[2] = higher_order.map_impl(graph#0, [%x], [])
      return (%a user_output) } })"),
              ElementsAre(AllOf(StartsWith("V7 %a"), HasSubstr("got graph#0"))));
}

TEST(Verifier, V7SubgraphsNestWithoutCycles) {
  EXPECT_THAT(Violations(R"(program aten {
    graph(%x: f32[2] user_input) { return (%x user_output) }
    graph a(%x: f32[2]) {
      %r: f32[2] = higher_order.map_impl(graph#2, [%x], [])
      return (%r)
    }
    graph b(%x: f32[2]) {
      %r: f32[2] = higher_order.map_impl(graph#1, [%x], [])
      return (%r)
    }
  })"),
              ElementsAre(AllOf(StartsWith("V7 graph#1 a"), HasSubstr("cycle")),
                          AllOf(StartsWith("V7 graph#2 b"), HasSubstr("cycle"))));
}

TEST(Verifier, V7ThereIsATopGraph) {
  EXPECT_THAT(Violations(ExportedProgram(&TestOps())), ElementsAre(StartsWith("V7")));
}

TEST(Verifier, V8SignatureHasAnEntryPerInputAndOutput) {
  EXPECT_THAT(
      Violations("program aten { graph(%x: f32[2] user_input, %y: f32[2]) { return (%x, %y) } }"),
      ElementsAre(
          "V8 signature: expected one entry for each of the 2 inputs of the top graph, got 1",
          "V8 signature: expected one entry for each of the 2 outputs of the top graph, got 0"));
}

TEST(Verifier, V8IgnoresMutationsWithoutInputs) {
  EXPECT_THAT(Violations("program aten { graph(%x: f32[2] user_input, %y: f32[2]) { return (%x "
                         "user_input_mutation \"z\") } }"),
              ElementsAre(HasSubstr("each of the 2 inputs of the top graph, got 1")));
}

TEST(Verifier, V9NamedTensorsExistWithDtypeAndSizes) {
  EXPECT_THAT(Violations(R"(program aten {
    constants { state "w": f32[2,3] constant "c": f32[2] }
    graph(%a: f32[2,3] parameter "w", %b: f32[3,2] buffer "w2",
          %c: f64[2] tensor_constant "c", %d: f32[s0,3] parameter "w",
          %e: symint(2) tensor_constant "c") {
      return ()
    }
  })"),
              ElementsAre("V9 input %b: f32[3,2]: expected the buffer 'w2' to exist, got none",
                          AllOf(StartsWith("V9 input %c: f64[2]"),
                                HasSubstr("which is f32[2], got f64[2]")),
                          AllOf(StartsWith("V9 input %d"), HasSubstr("got f32[s0,3]")),
                          StartsWith("V15 input %e"), StartsWith("V9 input %e")));
}

TEST(Verifier, V10MutationsNameAnInputOnceWithItsShape) {
  EXPECT_THAT(
      Violations(R"(program aten {
    constants { state "n": f32[2] }
    graph(%b: f32[2] buffer "n", %x: f32[2] user_input, %y: f64[2] user_input, %z: f32[3] user_input) {
      return (%b buffer_mutation "n", %x buffer_mutation "n", %x buffer_mutation "m",
              %y parameter_mutation "n", %y user_input_mutation "x", 3 user_input_mutation "z",
              %b user_input_mutation "n")
    }
  })"),
      ElementsAre(AllOf(StartsWith("V10 output 1 %x buffer_mutation 'n'"), HasSubstr("a second")),
                  AllOf(StartsWith("V10 output 2 %x"), HasSubstr("name of a buffer")),
                  AllOf(StartsWith("V10 output 3 %y"), HasSubstr("name of a parameter")),
                  AllOf(StartsWith("V10 output 4 %y"), HasSubstr("of f32[2], got f64[2]")),
                  AllOf(StartsWith("V10 output 5 3"), HasSubstr("of f32[3], got 3")),
                  AllOf(StartsWith("V10 output 6 %b"), HasSubstr("name of a user_input"))));
}

TEST(Verifier, V10MutationsAreTensorsOfTheirInput) {
  ExportedProgram program = Parse(R"(program aten {
    graph(%x: f32[2] user_input, %y: f32[3] user_input, %n: symint(s0) user_input) {
      return (%y user_input_mutation "x", %n user_input_mutation "y", %n user_input_mutation "n")
    }
  })");
  EXPECT_THAT(Violations(program),
              ElementsAre(AllOf(StartsWith("V10 output 0 %y"), HasSubstr("of f32[2], got f32[3]")),
                          AllOf(StartsWith("V10 output 1 %n"), HasSubstr("f32[3], got symint(s0)")),
                          AllOf(StartsWith("V10 output 2 %n"),
                                HasSubstr("of symint(s0), got symint(s0)"))));
  program = Parse(R"(program aten {
    graph(%n: symint(s0) user_input, %x: f32[2] user_input) {
      return (%x user_input_mutation "n", %x user_input_mutation "x")
    }
  })");
  GraphEditor(program.top()).SetOutputs({FindValue(program.top(), "x"), ValueId(77)});
  EXPECT_THAT(
      Violations(program),
      ElementsAre(StartsWith("V2 output 1"),
                  AllOf(StartsWith("V10 output 0 %x"), HasSubstr("symint(s0), got f32[2]")),
                  AllOf(StartsWith("V10 output 1 %<77>"), HasSubstr("of f32[2], got %<77>"))));
}

TEST(Verifier, V11SymbolsAreDefined) {
  EXPECT_THAT(Violations(R"(program aten {
    ranges { s1: [1, 4] }
    graph(%x: f32[s0] user_input) {
      %a: f32[s0] = aten.relu.default(%x)
      %b: f32[s1] = aten.relu.default(%x)
      %c: f32[s2] = aten.relu.default(%x)
      %nz: i64[u0,1] = aten.nonzero.default(%x)
      %d: f32[u0 + u7] = aten.relu.default(%x)
      return (%x user_output)
    }
  })"),
              ElementsAre(AllOf(StartsWith("V11 %c"), HasSubstr("got s2 in %c")),
                          AllOf(StartsWith("V11 %d"), HasSubstr("got u7 in %d"))));
}

TEST(Verifier, V11SizesAreNotNegative) {
  EXPECT_THAT(Violations(R"(program aten {
    ranges { s0: [1, 4] }
    graph(%x: f32[s0] user_input, %y: f32[-1]{strides=[1]} user_input) {
      %a: f32[s0 - 2] = aten.relu.default(%x)
      %b: f32[s0 - 5] = aten.relu.default(%x)
      return (%x user_output)
    }
  })"),
              ElementsAre(AllOf(StartsWith("V11 input %y"), HasSubstr("got -1 in %y")),
                          AllOf(StartsWith("V11 %b"), HasSubstr("(at most -1) in %b"))));
}

TEST(Verifier, V12StridesHaveTheRankOfTheSizes) {
  EXPECT_THAT(Violations(R"(program aten { graph(%x: f32[2,3]{strides=[1]} user_input) {
      return (%x user_output) } })"),
              ElementsAre("V12 input %x: f32[2,3]{strides=[1]}: expected 2 strides, got 1 in %x"));
}

constexpr std::string_view kModule = R"(
  module#0 backend "demo" specs [] {
    program edge {
      constants { state "n": f32[2] }
      graph(%n: f32[2] buffer "n", %x: f32[2] user_input, %y: f32[2] user_input) {
        %s: f32[2] = edge.aten.add.Tensor(%x, %y)
        return (%s buffer_mutation "n", %s user_output)
      }
    }
  })";

std::string WithCall(std::string_view call) {
  return absl::StrCat("program edge { graph(%x: f32[2] user_input) { ", call,
                      " return (%x user_output) }", kModule, "}");
}

TEST(Verifier, V13DelegateCallsMatchTheirModule) {
  EXPECT_THAT(
      Violations(WithCall("%a: f32[2] = higher_order.executorch_call_delegate(module#0, %x, %x)")),
      IsEmpty());
  EXPECT_THAT(Violations(WithCall(
                  "[%a: f32[2]] = higher_order.executorch_call_delegate(module#0, %x, %x)")),
              IsEmpty());
  // An undefined tensor is a result.
  EXPECT_THAT(Violations(WithCall(
                  "none = higher_order.executorch_call_delegate(module#0, %x, %x) name=\"d\"")),
              IsEmpty());
  EXPECT_THAT(Violations(WithCall("%a: f32[2], %b: f32[2] = "
                                  "higher_order.executorch_call_delegate(module#0, %x)")),
              ElementsAre(AllOf(StartsWith("V13"),
                                HasSubstr("expected 2 arguments after the module, got 1")),
                          AllOf(StartsWith("V13"), HasSubstr("expected 1 results, got 2"))));
  EXPECT_THAT(Violations(WithCall("%a: f32[2] = higher_order.executorch_call_delegate(%x)")),
              ElementsAre(AllOf(StartsWith("V13"), HasSubstr("expected a module"))));
}

TEST(Verifier, V13ModulesExist) {
  ExportedProgram program =
      Parse(WithCall("%a: f32[2] = higher_order.executorch_call_delegate(module#0, %x, %x)"));
  program.lowered_modules = {};
  EXPECT_THAT(
      Violations(program),
      ElementsAre(AllOf(StartsWith("V13"), HasSubstr("0 modules of the program, got module#0"))));
  program.lowered_modules.push_back(nullptr);
  EXPECT_THAT(
      Violations(program),
      ElementsAre(AllOf(StartsWith("V13"), HasSubstr("1 modules of the program, got module#0"))));
}

TEST(Verifier, V13ModulesExistInsideOfArgumentsToo) {
  for (const char* argument : {"[%x, module#0]", "{\"m\": module#0}"}) {
    ExportedProgram program =
        Parse(WithCall(absl::StrCat("%a: f32[2] = zoo.op.default(", argument, ")")));
    program.lowered_modules = {};
    EXPECT_THAT(
        Violations(program),
        Contains(AllOf(StartsWith("V13"), HasSubstr("0 modules of the program, got module#0"))))
        << argument;
  }
}

TEST(Verifier, V14OperatorsAreOfTheDialect) {
  EXPECT_THAT(Violations(R"(program aten { graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.relu.default(%x)
      return (%a user_output) } })"),
              ElementsAre(AllOf(StartsWith("V14 %a"), HasSubstr("ATEN dialect"))));
  EXPECT_THAT(Violations(R"(program edge { graph(%x: f32[s0] user_input) {
      %a: f32[s0] = aten.relu.default(%x)
      %b: f32[s0] = edge.aten.relu.default(%x)
      %c: f32[s0] = zoo.custom.default(%x)
      %d: f32[s0] = edge.zoo.custom.default(%x)
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %t: i64[] = aten.scalar_tensor.default(%n)
      %m: symint(2*s0) = _operator.mul(%n, 2)
      %e: symbool(Eq(s0, 4)) = _operator.eq(%n, 4)
      aten._assert_scalar.default(%e, "four") name="assert"
      return (%a user_output) } })"),
              ElementsAre(AllOf(StartsWith("V14 %a"), HasSubstr("got aten.relu.default")),
                          AllOf(StartsWith("V14 %c"), HasSubstr("got zoo.custom.default"))));
}

TEST(AllowedIn, DialectsHaveTheirOperators) {
  static constexpr OpDef kOps[] = {
      {.schema = "quantized_decomposed::relu(Tensor self) -> Tensor",
       .meta = [](MetaContext&) { return absl::OkStatus(); }},
      {.schema = "_operator::mul(Scalar a, Scalar b) -> Scalar"},
      {.schema = "aten::stays(Tensor self) -> Tensor", .traits = kAtenInEdge},
      {.schema = "aten::sym_size.int(Tensor self, int dim) -> SymInt", .traits = kSymbolic},
  };
  const std::unique_ptr<OpRegistry> ops = *OpRegistry::Create({kOps});
  const struct {
    std::string_view op;
    bool in_aten, in_edge;
  } kCases[] = {
      {"quantized_decomposed.relu.default", true, false},
      {"edge.quantized_decomposed.relu.default", false, true},
      {"backend.quantized_decomposed.relu.default", false, true},
      {"_operator.mul", true, true},
      {"higher_order.cond", true, true},
      {"aten.stays.default", true, true},
      {"aten.sym_size.int", true, true},
  };
  for (const auto& [op, in_aten, in_edge] : kCases) {
    const OpOverload* found = ops->FindText(op);
    ASSERT_NE(found, nullptr) << op;
    EXPECT_EQ(AllowedIn(IrDialect::kAten, *found), in_aten) << op;
    EXPECT_EQ(AllowedIn(IrDialect::kTraining, *found), in_aten) << op;
    EXPECT_EQ(AllowedIn(IrDialect::kEdge, *found), in_edge) << op;
  }
}

TEST(Verifier, V15InputsOfOneTargetAgree) {
  EXPECT_THAT(Violations(R"(program aten {
    constants { state "w": f32[2] state "v": f32[2] constant "v": f64[2] }
    graph(%a: f32[2] parameter "w", %b: f32[2] parameter "w", %c: f32[2] buffer "w",
          %d: f32[2] parameter "v", %e: f64[2] tensor_constant "v") {
      return ()
    }
  })"),
              ElementsAre(AllOf(StartsWith("V15 input %c: f32[2]"),
                                HasSubstr("got buffer 'w' beside parameter %a")),
                          StartsWith("V15 input %e: f64[2]")));
  EXPECT_THAT(Violations(R"(program aten {
    constants { state "w": f32[2] }
    graph(%a: object("a.B") custom_obj "o", %b: object("a.B") custom_obj "o",
          %c: f32[2] parameter "w", %d: f64[2] parameter "w") {
      return ()
    }
  })"),
              ElementsAre(AllOf(StartsWith("V15 input %d: f64[2]"),
                                HasSubstr("got parameter 'w' beside parameter %c: f32[2]")),
                          StartsWith("V9 input %d")));
}

TEST(Verifier, ReportsAHundredViolationsAndTheirNumber) {
  std::string text = "program aten { graph(%x: f32[2] user_input) {\n";
  for (int i = 0; i < 150; ++i) {
    absl::StrAppend(&text, "%a", i, ": symint(1) = aten.relu.default(%x)\n");
  }
  text += "return (%x user_output) } }";
  const std::vector<std::string> violations = Violations(text);
  ASSERT_EQ(violations.size(), 101);
  EXPECT_THAT(violations[99], StartsWith("V6 %a99"));
  EXPECT_EQ(violations[100], "and 50 more");
}

TEST(Verifier, ShowsControlCharactersAsText) {
  EXPECT_THAT(Violations("program aten { graph(%a: f32[2] parameter \"w\x1b[2J\") { return () } }"),
              ElementsAre(HasSubstr("expected the parameter 'w\\x1b[2J' to exist")));
}

TEST(Verifier, IsLinear) {
  // One value with very many users, and one node with very many arguments: quadratic work would not
  // finish.
  std::string text = "program aten { graph(%x: f32[2] user_input) {\n";
  std::string all;
  for (int i = 0; i < 50000; ++i) {
    absl::StrAppend(&text, "%a", i, ": f32[2] = aten.relu.default(%x)\n");
    absl::StrAppend(&all, i > 0 ? "," : "", "%x,%a", i);
  }
  absl::StrAppend(&text, "%c: f32[200000] = aten.cat.default([", all, "])\n");
  text += "return (%c user_output) } }";
  EXPECT_THAT(Violations(text), IsEmpty());
}

}  // namespace
}  // namespace belay::exir
