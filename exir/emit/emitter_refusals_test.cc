// Programs that cannot be emitted, and the error messages.
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "exir/emit/emitter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/refused_node.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kUnimplemented = absl::StatusCode::kUnimplemented;

// Argument and result kinds that instructions cannot express.
constexpr char kDict[] = R"(the argument {"k": 1} has no run-time form)";
constexpr char kObject[] = R"(a result of type object("Queue") has no run-time form)";

const OpRegistry& Ops() {
  static const OpRegistry* const ops = CreateStandardOps()->release();
  return *ops;
}

absl::Status Emit(std::string_view text) {
  MethodPrograms methods;
  methods.emplace_back("forward", ParseOrDie(text, Ops()));
  return EmitProgram(methods).status();
}

struct Case {
  std::string text;
  absl::StatusCode code;
  std::string message;
};

void ExpectRefused(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_THAT(Emit(c.text), StatusIs(c.code, HasSubstr(c.message)));
  }
}

TEST(EmitterTest, RejectsMalformedConstantsAndState) {
  const auto text = [](const std::string& type, const std::string& kind,
                       const std::string& constant, const std::string& mutation) {
    return absl::Substitute(
        R"(program edge { constants { state "p": $2 }
           graph(%p: $0 $1 "p", %x: f32[2] user_input) { return ($3) } })",
        type, kind, constant, mutation);
  };
  const std::string none, written = R"(%x buffer_mutation "p")";
  const std::string sparse = "f32[2]{layout=sparse_coo}";
  ExpectRefused({
      {text(sparse, "parameter", "f32[2]", none), kUnimplemented, "'p' is not a strided tensor"},
      {text(sparse, "buffer", "f32[2]", written), kUnimplemented, "'p' is not a strided tensor"},
      {text("f32[4]", "parameter", "f32[2,2]", none), kInvalid,
       "a dim order is a permutation of the 2 dimensions, got one of length 1"},
      {text("f32[4]", "buffer", "f32[2,2]", written), kInvalid,
       "a dim order is a permutation of the 2 dimensions, got one of length 1"},
  });
}

// A method that only reads a buffer has it as state if another method writes it.
TEST(EmitterTest, RejectsDynamicStateWrittenByAnotherMethod) {
  MethodPrograms methods;
  methods.emplace_back("reads", ParseOrDie(R"(program edge {
    ranges { s0: [1, 4] }
    constants { state "b": f32[2] }
    graph(%b: f32[s0] buffer "b") { return (%b user_output) }
  })",
                                           Ops()));
  methods.emplace_back("writes", ParseOrDie(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) { return (%x buffer_mutation "b") }
  })",
                                            Ops()));
  EXPECT_THAT(EmitProgram(methods).status(),
              StatusIs(kInvalid, HasSubstr("buffer 'b' has a dynamic size: f32[s0]")));
}

TEST(EmitterTest, RejectsMutationsOfNonInputs) {
  const auto text = [](const std::string& mutation) {
    return absl::StrCat(
        R"(program edge { constants { state "b": f32[2] state "p": f32[2] constant "c": f32[2] }
           graph(%b: f32[2] buffer "b", %p: f32[2] parameter "p", %c: f32[2] tensor_constant "c",
                 %x: f32[2] user_input) { return (%x )",
        mutation, ") } }");
  };
  ExpectRefused({
      {text(R"(buffer_mutation "none")"), kInvalid,
       "output 0, a buffer_mutation of 'none': unknown input"},
      {text(R"(buffer_mutation "p")"), kInvalid,
       "output 0, a buffer_mutation of 'p': unknown input"},
      {text(R"(buffer_mutation "c")"), kInvalid,
       "output 0, a buffer_mutation of 'c': unknown input"},
      {text(R"(parameter_mutation "b")"), kInvalid,
       "output 0, a parameter_mutation of 'b': unknown input"},
      {text(R"(user_input_mutation "b")"), kInvalid,
       "output 0, a user_input_mutation of 'b': unknown input"},
  });
}

TEST(EmitterTest, ListsCustomObjectsThatNodesUse) {
  ExpectRefused(
      {{R"(program edge {
    graph(%x: f32[2] user_input, %o: object("Queue") custom_obj "queue") {
      %y: f32[2] = edge.aten.add.Tensor(%x, %o)
      return (%y user_output, %o user_output)
    }
  })",
        kUnimplemented, "method 'forward': unsupported:\n  input 'o': custom object queue"}});
}

// The message omits methods that can be emitted.
TEST(EmitterTest, ReportsOnlyFailedMethods) {
  MethodPrograms methods;
  methods.emplace_back("a", ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %y: f32[2] = my.own.op(%x)  @"model.py":12
      return (%y user_output)
    }
  })",
                                       Ops()));
  methods.emplace_back("b", ParseOrDie("program edge { graph() { return () } }", Ops()));
  const absl::Status status = EmitProgram(methods).status();
  EXPECT_THAT(status, StatusIs(kUnimplemented,
                               "method 'a': unsupported:\n  unknown operator "
                               "my.own.op, used 1 time: node 'y' at model.py:12; define it as "
                               "examples/custom_operator does"));
  EXPECT_THAT(RefusedNodesOf(status), ElementsAre(RefusedNode{"a", "y", "my.own.op", "model.py:12",
                                                              "unknown operator my.own.op; define "
                                                              "it as examples/custom_operator "
                                                              "does"}));
}

TEST(EmitterTest, RejectsArgumentsAndResultsWithoutRuntimeForm) {
  const auto text = [](const std::string& node, const std::string& output = "") {
    return absl::Substitute("program edge { graph(%x: f32[2] user_input) {\n$0\nreturn ($1) } }",
                            node, output);
  };
  ExpectRefused({
      {text("", R"({"k": 1} user_output)"), kUnimplemented, kDict},
      {text("", R"([%x, {"k": 1}] user_output)"), kUnimplemented, kDict},
      {text(R"(%y: f32[4] = edge.aten.cat.default([%x, {"k": 1}]))"), kUnimplemented, kDict},
      {text("%y: f32[2]{layout=sparse_coo} = edge.aten.neg.default(%x)"), kUnimplemented,
       "'y' is not a strided tensor"},
      {text("%y: f32[2] = higher_order.associative_scan(%x)"), kUnimplemented,
       "unknown operator higher_order.associative_scan, used 1 time: node 'y'"},
      {text("[%y: f32[1], %z: object(\"Queue\")] = edge.aten.split_copy.Tensor(%x, 1)"),
       kUnimplemented, kObject},
  });
}

// Caused by a pass that misordered nodes, not by the program.
TEST(EmitterTest, RejectsUseBeforeDefinition) {
  MethodPrograms methods;
  methods.emplace_back("forward", ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %y: f32[2] = edge.aten.neg.default(%x)
      %z: f32[2] = edge.aten.neg.default(%y)
      return (%z user_output)
    }
  })",
                                             Ops()));
  Graph& graph = methods[0].second.top();
  const NodeId y = FindNode(graph, "y"), z = FindNode(graph, "z");
  GraphEditor(graph).Reorder({z, y});
  EXPECT_THAT(
      EmitProgram(methods).status(),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("'y' is used before it was emitted")));
}

TEST(EmitterTest, ReportsUnboundedSizes) {
  ExpectRefused({{R"(program edge {
    ranges { s0: [1, 4611686018427387904] s1: [1, 4611686018427387904] }
    graph(%x: f32["s0*s1"] user_input) { return (%x user_output) }
  })",
                  kInvalid,
                  "'x': dimension 0 is s0*s1: pass --max-size s0*s1=VALUE, or export with Dim(..., "
                  "max=...) for s0*s1"}});
}

// --- Subgraphs ---

TEST(EmitterTest, RejectsInvalidBranches) {
  const auto text = [](const std::string& result, const std::string& predicate,
                       const std::string& node, const std::string& output) {
    return absl::Substitute(R"(program edge {
      graph(%p: b8[] user_input, %x: f32[2] user_input) {
        %y: $0 = higher_order.cond($1, graph#1, graph#2, [%x])
        return ()
      }
      graph yes(%u: f32[2]) {
        $2
        return ($3)
      }
      graph no(%u: f32[2]) { return (%u) }
    })",
                            result, predicate, node, output);
  };
  ExpectRefused({
      {text("f32[2]", R"({"k": 1})", "", "%u"), kUnimplemented, kDict},
      {text("object(\"Queue\")", "%p", "", "%u"), kUnimplemented, kObject},
      {text("f32[2]", "%p", "%n: object(\"Queue\") = edge.aten.neg.default(%u)", "%u"),
       kUnimplemented, kObject},
      {text("f32[2]", "%p", "", R"({"k": 1})"), kUnimplemented, kDict},
  });
}

TEST(EmitterTest, RejectsInvalidLoops) {
  const auto text = [](const std::string& result, const std::string& additional,
                       const std::string& test_input, const std::string& body_input) {
    return absl::Substitute(R"(program edge {
      graph(%x: f32[2] user_input, %w: f32[2] user_input) {
        %y: $0 = higher_order.while_loop(graph#1, graph#2, [%x], $1)
        return ()
      }
      graph test(%u: f32[2]$2) {
        %t: b8[] = edge.aten.any.default(%u)
        return (%t)
      }
      graph body(%u: f32[2]$3) { return (%u) }
    })",
                            result, additional, test_input, body_input);
  };
  ExpectRefused({
      {text("f32[2]", "%w", "", ""), kInvalid, "operands must be a list"},
      {text("object(\"Queue\")", "[]", "", ""), kUnimplemented, kObject},
      {text("f32[2]", "[]", ", %v: f32[2]", ""), kInvalid,
       "body 'test' takes 2 operands, the call has 1"},
      {text("f32[2]", "[]", "", ", %v: f32[2]"), kInvalid,
       "body 'body' takes 2 operands, the call has 1"},
  });
}

TEST(EmitterTest, RejectsInvalidRowLoops) {
  const auto text = [](const std::string& result, const std::string& operands,
                       const std::string& row = "f32[3]", const std::string& node = "") {
    return absl::Substitute(R"(program edge {
      graph(%h: f32[2] user_input, %xs: f32[4,3] user_input) {
        %last: f32[2], %all: $0 = higher_order.scan(graph#1, $1)
        return ()
      }
      graph body(%c: f32[2], %x: $2) {
        $3
        return (%c, %x)
      }
    })",
                            result, operands, row, node);
  };
  const std::string rows = "f32[4,3]", object = "object(\"Queue\")";
  ExpectRefused({
      {text(rows, "%h, [%xs], []"), kInvalid, "operands must be a list"},
      {text(rows, "[%h], %xs, []"), kInvalid, "operands must be a list"},
      {text(rows, "[%h], [%xs], %h"), kInvalid, "operands must be a list"},
      {text(object, "[%h], [%xs], []"), kUnimplemented, kObject},
      {text(rows, "[%h], [%xs], []", object), kUnimplemented, kObject},
      {text(rows, "[%h], [%xs], []", "f32[3]", "%n: object(\"Queue\") = edge.aten.neg.default(%x)"),
       kUnimplemented, kObject},
  });
}

TEST(EmitterTest, RejectsInvalidEffectOperators) {
  const auto text = [](const std::string& results, const std::string& arguments) {
    return absl::StrCat("program edge { graph(%t: token token, %x: f32[2] user_input) {\n", results,
                        "higher_order.with_effects(", arguments, ")\n return () } }");
  };
  ExpectRefused({
      {text("%u: token, %y: f32[2] = ", "%t, op:\"higher_order.cond\", %x"), kUnimplemented,
       "unknown operator higher_order.cond, used 1 time"},
      {text("%u: token, %y: f32[2] = ", "%t, op:\"aten.neg.default\", %x, %x"), kInvalid,
       "aten.neg"},
      {text("%u: token, %y: f32[2] = ", R"(%t, op:"aten.neg.default", {"k": 1})"), kUnimplemented,
       kDict},
      {text("%u: token, %y: object(\"Queue\") = ", "%t, op:\"aten.neg.default\", %x"),
       kUnimplemented, kObject},
      {text("", "%t, op:\"aten._assert_async.msg\", %x, \"must hold\""), kInvalid,
       "with_effects without a token"},
  });
}

// --- Delegates ---

// $0: type of a result, $1: arguments of the call.
constexpr char kDelegate[] = R"(program edge {
  graph(%x: f32[2] user_input) {
    %y: $0 = higher_order.executorch_call_delegate($1)
    return ()
  }
  module#0 backend "demo" specs [] { blob "YQ==" program edge {
    graph(%x: f32[2] user_input) {
      %n: f32[2] = edge.aten.neg.default(%x)
      return (%n user_output) } } }
})";

TEST(EmitterTest, RejectsInvalidDelegateCalls) {
  ExpectRefused({
      {absl::Substitute(kDelegate, "f32[2]", R"(module#0, {"k": 1})"), kUnimplemented, kDict},
      {absl::Substitute(kDelegate, "object(\"Queue\")", "module#0, %x"), kUnimplemented, kObject},
  });
  MethodPrograms methods;
  methods.emplace_back("forward",
                       ParseOrDie(absl::Substitute(kDelegate, "f32[2]", "module#0, %x"), Ops()));
  Graph& graph = methods[0].second.top();
  GraphEditor(graph).SetArgument(FindNode(graph, "y"), 0, Argument(ModuleId(7)));
  EXPECT_THAT(EmitProgram(methods).status(),
              StatusIs(kInvalid, HasSubstr("a delegate call without a lowered module")));
}

// Each operand type would have its own state.
TEST(EmitterTest, RejectsStatefulModuleWithDifferentOperandTypes) {
  const auto text = [](const std::string& type, const std::string& returned) {
    return absl::Substitute(R"(program edge {
      graph(%x: f32[2] user_input, %y: $0 user_input) {
        %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x)
        %b: f32[2] = higher_order.executorch_call_delegate(module#0, %y)
        return ()
      }
      module#0 backend "demo" specs [] { blob "YQ==" program edge {
        constants { state "n": f32[2] }
        graph(%n: f32[2] buffer "n", %x: f32[2] user_input) {
          %s: f32[2] = edge.aten.add.Tensor(%n, %x)
          return ($1%s user_output) } } }
    })",
                            type, returned);
  };
  const std::string keeps = R"(%s buffer_mutation "n", )";
  EXPECT_OK(Emit(text("f32[2]", keeps)));
  EXPECT_OK(Emit(text("f32[3]", "")));
  EXPECT_THAT(Emit(text("f32[3]", keeps)),
              StatusIs(kUnimplemented,
                       HasSubstr("module#0 (backend demo) keeps state and is called with operands "
                                 "of different types")));
}

TEST(EmitterTest, RejectsNamedDataKeyConflicts) {
  const auto method = [](const std::string& bytes) {
    return ParseOrDie(absl::Substitute(R"(program edge {
      graph(%x: f32[2] user_input) {
        %y: f32[2] = higher_order.executorch_call_delegate(module#0, %x)
        return (%y user_output)
      }
      module#0 backend "demo" specs [] {
        blob "YQ=="
        buffer "$0"
        data "k": buffer#0 align 16
        program edge {
          graph(%x: f32[2] user_input) {
            %n: f32[2] = edge.aten.neg.default(%x)
            return (%n user_output) } } }
    })",
                                       bytes),
                      Ops());
  };
  for (const std::string other : {"YQ==", "Yg=="}) {
    MethodPrograms methods;
    methods.emplace_back("a", method("YQ=="));
    methods.emplace_back("b", method(other));
    const absl::Status status = EmitProgram(methods).status();
    if (other == "YQ==") {
      EXPECT_OK(status);
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kAlreadyExists,
                                   HasSubstr("named data 'k' exists with other content")));
    }
  }
}

}  // namespace
}  // namespace belay::exir
