#include "exir/passes/edge_verifier.h"

#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/verifier.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ExportedProgram Parse(std::string_view text) { return ParseOrDie(text, PassTestOps()); }

// Returns the message; "" if the program is valid.
std::string Check(const ExportedProgram& program, const EdgeVerifierOptions& options = {}) {
  const absl::Status status = VerifyEdge(program, options);
  if (!status.ok()) EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  return std::string(status.message());
}
std::string Check(std::string_view text, const EdgeVerifierOptions& options = {}) {
  return Check(Parse(text), options);
}

constexpr std::string_view kGood = R"(program edge {
  constants { state "w": f32[2] }
  graph(%w: f32[2] parameter "w", %p: b8[] user_input, %x: f32[2] user_input) {
    %a: f32[2] = edge.aten.mul.Tensor(%x, %w)
    %b: f16[2] = edge.dim_order_ops._to_dim_order_copy.default(%a, dtype=dtype:f16, dim_order=[0])
    %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%a])
    return (%b user_output, %c user_output)
  }
  graph true_graph_0(%y: f32[2]) {
    %n: symint(2) = aten.sym_size.int(%y, 0)
    %d: f32[2] = edge.aten.relu.default(%y)
    return (%d)
  }
  graph false_graph_0(%y: f32[2]) {
    %d: f32[2] = edge.aten.neg.default(%y)
    return (%d)
  }
})";

TEST(EdgeVerifierTest, AcceptsAnEdgeProgram) { EXPECT_EQ(Check(kGood), ""); }

TEST(EdgeVerifierTest, E1RawAtenOperator) {
  EXPECT_THAT(Check(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = aten.relu.default(%x)  @"m.py":7
      return (%a user_output)
    }
  })"),
              AllOf(StartsWith("E1 "), HasSubstr("operator aten.relu.default is not an edge"),
                    HasSubstr("(m.py:7)")));
}

TEST(EdgeVerifierTest, E1ScalarFunctionsAndAssertionsMayBeRaw) {
  EXPECT_EQ(Check(R"(program edge {
    ranges { s0: [0, 9] }
    graph(%x: f32[s0] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %m: symint(2*s0) = _operator.mul(%n, 2)
      %b: symbool(Ge(2*s0, 0)) = _operator.ge(%m, 0)
      aten._assert_scalar.default(%b, "text")
      return (%x user_output)
    }
  })"),
            "");
}

constexpr std::string_view kNotCore = R"(program edge {
  graph(%x: f32[2,3] user_input, %y: f32[2,3] user_input) {
    %a: f32[2,3] = edge.aten.hypot.default(%x, %y)
    return (%a user_output)
  }
})";

TEST(EdgeVerifierTest, E2OperatorThatIsNotCore) {
  EXPECT_THAT(Check(kNotCore), AllOf(StartsWith("E2 "), HasSubstr("operator aten.hypot.default is "
                                                                  "not in the core ATen opset")));
  EXPECT_EQ(Check(kNotCore, {.core_exceptions = {"aten.hypot.default"}}), "");
  EXPECT_EQ(Check(kNotCore, {.preserved = {PassTestOps().Find("aten.hypot")}}), "");
  EXPECT_EQ(Check(kNotCore, {.check_core = false}), "");
}

TEST(EdgeVerifierTest, E2OtherNamespacesPass) {
  EXPECT_EQ(Check(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.mylib.op.default(%x)
      return (%a user_output)
    }
  })"),
            "");
}

TEST(EdgeVerifierTest, E3PreservedView) {
  EXPECT_THAT(Check(kNotCore,
                    {.check_core = false, .preserved = {PassTestOps().Find("aten.view.default")}}),
              AllOf(StartsWith("E3 aten.view.default"), HasSubstr("because it is a view")));
}

TEST(EdgeVerifierTest, E4DimOrder) {
  constexpr std::string_view kFormat = R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.clone.default(%x)
      return (%a user_output)
    }
  })";
  constexpr std::string_view kOrder = R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.dim_order_ops._clone_dim_order.default(%x, dim_order=[0])
      return (%a user_output)
    }
  })";
  EXPECT_THAT(Check(kFormat), AllOf(StartsWith("E4 "), HasSubstr("not be used in dim order mode")));
  EXPECT_EQ(Check(kFormat, {.dim_order = false}), "");
  EXPECT_THAT(Check(kOrder, {.dim_order = false}),
              AllOf(StartsWith("E4 "), HasSubstr("not be used without dim order mode")));
  EXPECT_EQ(Check(kOrder), "");
}

TEST(EdgeVerifierTest, E5ConstantsAreContiguousOrChannelsLast) {
  const auto with = [](std::string_view type) {
    return Check(
        absl::StrCat("program edge {\n constants { state \"w\": ", type, " }\n graph(%w: ", type,
                     " buffer \"w\", %x: f32[2] user_input) { return (%x user_output) }\n}"));
  };
  EXPECT_EQ(with("f32[1,2,3,4]"), "");
  EXPECT_EQ(with("f32[1,2,3,4]{strides=[24,1,8,2]}"), "");
  EXPECT_THAT(with("f32[2,3]{strides=[1,2]}"),
              AllOf(StartsWith("E5 buffer 'w'"), HasSubstr("contiguous or channels last")));
}

TEST(EdgeVerifierTest, E6MismatchedDtypes) {
  EXPECT_THAT(Check(R"(program edge {
    graph(%x: f32[2] user_input, %y: f16[2] user_input) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %y)
      return (%a user_output)
    }
  })"),
              AllOf(StartsWith("E6 "), HasSubstr("unsupported dtypes: aten::mul.Tensor: "),
                    HasSubstr("'other': expected float32, got float16"), HasSubstr("%a: f32[2]")));
}

TEST(EdgeVerifierTest, E6ListsCountByTheirFirstTensorAndNoneMatchesAll) {
  EXPECT_EQ(Check(R"(program edge {
    graph(%x: f32[2] user_input, %w: f32[2] user_input) {
      %a: f32[4] = edge.aten.cat.default([%x, %w])
      %b: f32[4], %m: f32[1], %r: f32[1] = edge.aten.native_layer_norm.default(%a, [4], none, none, 1e-5)
      return (%b user_output)
    }
  })"),
            "");
}

TEST(EdgeVerifierTest, E6TheFirstTensorOfAListIsCompared) {
  EXPECT_THAT(Check(R"(program edge {
    graph(%x: f32[2] user_input, %w: f32[2] user_input) {
      %a: f16[4] = edge.aten.cat.default([%x, %w])
      return (%a user_output)
    }
  })"),
              AllOf(StartsWith("E6 "), HasSubstr("'tensors': expected float16, got float32"),
                    HasSubstr("%a: f16[4]")));
}

constexpr std::string_view kWrongEverywhere = R"(program edge {
  graph(%p: b8[] user_input, %x: f32[2] user_input, %y: f16[2] user_input) {
    %t: f32[2] = edge.aten.mul.Tensor(%x, %y)
    %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x, %y])
    %after: f32[2] = edge.aten.mul.Tensor(%c, %y)
    return (%after user_output)
  }
  graph true_graph_0(%v: f32[2], %w: f16[2]) {
    %in_true: f32[2] = edge.aten.mul.Tensor(%v, %w)
    return (%in_true)
  }
  graph false_graph_0(%v: f32[2], %w: f16[2]) {
    %in_false: f32[2] = edge.aten.hypot.default(%v, %v)
    return (%in_false)
  }
})";

TEST(EdgeVerifierTest, ReportsAllProblemsInControlFlowToo) {
  const std::string message = Check(kWrongEverywhere);
  for (const char* name : {"%t:", "%after:", "%in_true:", "%in_false:"}) {
    EXPECT_THAT(message, HasSubstr(name));
  }
  EXPECT_THAT(message, Not(HasSubstr("%c:")));
}

TEST(EdgeVerifierTest, E7ChecksDelegates) {
  ExportedProgram inner = Parse(kNotCore);
  auto innermost = std::make_shared<LoweredBackendModule>("", Parse(R"(program aten {
    graph(%x: f32[2] user_input) {
      %deep: f32[2] = aten.neg.default(%x)
      return (%deep user_output)
    }
  })"));
  inner.lowered_modules.push_back(innermost);
  ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2,3] user_input, %y: f16[2,3] user_input) {
      %late: f32[2,3] = edge.aten.mul.Tensor(%x, %y)
      return (%late user_output)
    }
  })");
  program.lowered_modules.push_back(
      std::make_shared<LoweredBackendModule>("outer", std::move(inner)));
  const std::string message = Check(program);
  EXPECT_THAT(message, HasSubstr("%late:"));
  EXPECT_THAT(message, HasSubstr("E2 in module#0 of backend outer: "));
  EXPECT_THAT(message, HasSubstr("E7 in module#0 of backend outer: module#0: expected the id"));
  EXPECT_THAT(message, HasSubstr("got one of the ATEN dialect"));
  EXPECT_THAT(message, HasSubstr("%deep:"));
}

TEST(EdgeVerifierTest, ListsAHundredViolationsAndTheirNumber) {
  std::string text = "program edge {\n graph(%x: f32[2] user_input, %y: f16[2] user_input) {\n";
  for (int i = 0; i < 150; ++i) {
    absl::StrAppend(&text, "%a", i, ": f32[2] = edge.aten.mul.Tensor(%x, %y)\n");
  }
  EXPECT_THAT(Check(text + "return (%x user_output)\n}\n}"), HasSubstr("and 50 more"));
}

TEST(EdgeVerifierTest, ShowsControlCharactersAsText) {
  EXPECT_THAT(
      Check("program edge {\n constants { state \"w\x1b[2J\": f32[2,3]{strides=[1,2]} }\n"
            " graph(%w: f32[2,3]{strides=[1,2]} buffer \"w\x1b[2J\", %x: f32[2] user_input) {"
            " return (%x user_output) }\n}"),
      HasSubstr("E5 buffer 'w\\x1b[2J'"));
}

TEST(EdgeVerifierTest, EightBitFloatsMayBeAllowed) {
  const ExportedProgram program = Parse(R"(program edge {
    graph(%x: f8e4m3fn[2] user_input, %y: f32[2] user_input, %z: f16[2] user_input) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %y)
      %b: f32[2] = edge.aten.mul.Tensor(%y, %z)
      return (%a user_output, %b user_output)
    }
  })");
  EXPECT_THAT(Check(program), AllOf(HasSubstr("%a:"), HasSubstr("%b:")));
  EdgeVerifierOptions options;
  options.allow_float8 = true;
  EXPECT_THAT(Check(program, options), AllOf(Not(HasSubstr("%a:")), HasSubstr("%b:")));
}

TEST(EdgeVerifierTest, AsAPassItChangesNothing) {
  ExportedProgram program = Parse(kNotCore);
  EXPECT_THAT(EdgeVerifier().run(program), StatusIs(absl::StatusCode::kFailedPrecondition));
  const absl::StatusOr<bool> changed = EdgeVerifier({.check_core = false}).run(program);
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(*changed);
}

TEST(EdgeVerifierTest, E2ViewCopiesAndSizeQueriesAreCore) {
  EXPECT_EQ(Check(R"(program edge {
    graph(%x: f32[2,3] user_input) {
      %a: f32[2,3] = edge.aten.alias_copy.default(%x)
      %b: f32[3,2] = edge.aten.transpose_copy.int(%a, 0, 1)
      %s: symint(3) = aten.sym_stride.int(%x, 0)
      return (%b user_output, %s user_output)
    }
  })"),
            "");
}

// Non-tensors have no dtype; dtype checks can be disabled.
TEST(EdgeVerifierTest, E6NonTensorOperandsMatchAll) {
  constexpr char kNumbers[] = R"(program edge {
    ranges { s0: [1, 8] }
    graph(%x: f32[2] user_input, %h: f16[2] user_input, %n: symint(s0) user_input) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %n)
      %b: f32[2] = edge.aten.cat.default([%n, %x])
      %c: f32[1,2], none, none = edge.aten.native_layer_norm.default(%x, [2], none, none, 1e-5)
      %d: f32[0] = edge.aten.cat.default([])
      WRONG
      return (%a user_output)
    }
  })";
  const auto with = [&](std::string_view wrong) { return Replaced(kNumbers, {{"WRONG", wrong}}); };
  EXPECT_EQ(Check(with("")), "");
  const std::string wrong = with(
      "%e: f32[2] = edge.aten.convolution.default(%x, %h, none, [1], [0], [1], false, [0], 1)");
  EXPECT_THAT(Check(wrong), HasSubstr("E6 %e"));
  EXPECT_THAT(Check(wrong, {.allow_float8 = true}), HasSubstr("E6 %e"));  // no 8-bit floats here
  EXPECT_EQ(Check(wrong, {.check_dtypes = false}), "");
}

// exir/ir/verifier.h rejects calls that do not match a schema, not this verifier.
TEST(EdgeVerifierTest, E6SkipsMalformedCalls) {
  ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input, %h: f16[2] user_input) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %h)
      %b: f32[2], %c: f16[2] = edge.aten.mul.Tensor(%x, %h)
      return (%a user_output, %b user_output)
    }
  })");
  GraphEditor editor(program.top());
  editor.SetArguments(FindNode(program.top(), "a"), {Argument(FindValue(program.top(), "x"))});
  EXPECT_EQ(Check(program), "");
}

TEST(EdgeVerifierTest, E7SkipsMissingDelegatesAndChecksSharedOnesOnce) {
  ExportedProgram program = Parse(kGood);
  auto module = std::make_shared<LoweredBackendModule>("demo", Parse(kNotCore));
  program.lowered_modules.push_back(nullptr);
  program.lowered_modules.push_back(module);
  program.lowered_modules.push_back(module);
  const std::string message = Check(program);
  EXPECT_THAT(message, HasSubstr("in module#1 of backend demo"));
  EXPECT_THAT(message, Not(HasSubstr("module#2")));
}

// An opaque operator may or may not be a view.
TEST(EdgeVerifierTest, E3OperatorsWithoutSchemaMayBePreserved) {
  EdgeVerifierOptions options;
  options.preserved = {PassTestOps().FindOrOpaque("custom.op.default")};
  EXPECT_EQ(Check(kGood, options), "");
}

}  // namespace
}  // namespace belay::exir
