#include "exir/passes/guards_to_assertions.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(GuardsToAssertionsTest, AssertsGuardsFirst) {
  ExpectRewrite(R"text(program training {
  ranges { s0: [2, 64] s1: [2, 64] }
  guards { "2*L['x'].size()[0] > 3 + L['y'].size()[1]" }
  graph(%x: f32[s0,3] user_input, %y: f32[4,s1] user_input) {
    %a: f32[s0,3] = aten.relu.default(%x)
    return (%a user_output, %y user_output)
  }
})text",
                GuardsToAssertions().run, R"text(program training {
  ranges { s0: [2, 64] s1: [2, 64] }
  graph(%x: f32[s0,3] user_input, %y: f32[4,s1] user_input) {
    %sym_size_1: symint(s1) = aten.sym_size.int(%y, 1)
    %add: symint(s1 + 3) = _operator.add(%sym_size_1, 3)
    %sym_size: symint(s0) = aten.sym_size.int(%x, 0)
    %mul: symint(2*s0) = _operator.mul(2, %sym_size)
    %gt: symbool(Gt(2*s0, s1 + 3)) = _operator.gt(%mul, %add)
    aten._assert_scalar.default(%gt, "2*L['x'].size()[0] > 3 + L['y'].size()[1]") name="_assert_scalar"
    %a: f32[s0,3] = aten.relu.default(%x)
    return (%a user_output, %y user_output)
  }
})text",
                PassTestOps());
}

// (guard, whether it is asserted; otherwise it follows from the checks of each call)
struct Case {
  const char* guard;
  bool asserted;
};
constexpr Case kChecked[] = {
    {"L['x'].size()[0] >= 2", false},
    {"L['x'].size()[0] != 1", false},
    {"L['x'].size()[0] != 65", false},
    {"L['d.a.0'].size()[0] == L['x'].size()[0]", false},  // names have no other characters
    {"L['x2'].size()[0] == 4", false},                    // no second x
    {"L['x'].size()[0] <= 64", false},
    {"L['x'].size()[0] > 1", false},
    {"L['x'].size()[0] < 65", false},
    {"L['x'].size()[0] == L['d']['a'][0].size()[0]", false},
    {"L['x'].size()[0]*2 == 2*L['d']['a'][0].size()[0]", false},
    {"L['x'].size()[1] == 8", false},
    {"L['q'].size()[0] == 4", false},  // a symbol of one value
    {"L['x'].size()[0] > 2", true},
    {"L['x'].size()[0] < 64", true},
    {"(L['x'].size()[0] % 4) == 0", true},
    {"(L['x'].size()[0] // 2) != 7", true},
    {"L['n'] > 3", true},
    {"2 + L['n'] <= 8 and L['x'].shape[0] > 4", true},
    {"not (L['n'] == 5 or L['n'] == 6)", true},
    {"L['x'].size()[0] < 64 and L['n'] != 2 and L['n'] >= 1", true},
    {"L['x'].size()[0] == L['n']*L['n']", true},
    {"L['d'][\"a\"][0].size()[1] == Max(L['n'], 3)", true},
    {"4 == 2*L['n']", true},
    {"2*L['n'] == 0", true},
    {"(L['n'] // 5) == 0", true},
    {"(L['x'].size()[0] % (1 + L['n'])) == 0", true},
    {"Mod(L['x'].size()[0], 4) == 0", true},
    {"(L['x'].size()[0] % 3) == 2", true},
    {"And()", false},  // of nothing
    {"L['n'] == 2.5", true},
    {"2.5*L['n'] > 3 and L['n'] > 2", true},
    {"math.trunc(0.5 * torch.sym_float(L['x'].size()[0])) == 4", true},
    {"math.ceil(0.3 * torch.sym_float(L['x'].size()[0])) < 9", true},
    {"math.floor(torch._sym_sqrt(torch.sym_float(L['x'].size()[0]))) == 2", true},
    {"max(L['n'], L['x'].size()[0]) >= 8", true},
    {"torch.sym_max(L['n'], L['x'].size()[0]) == 8", true},
    {"torch.sym_min(L['n'], L['x'].size()[0]) > 2", true},
    {"torch.sym_ite(L['n'] > 3, L['n'], 3) < 6", true},
    {"L['x'].size()[0] == 3*L['x'].size()[0] - 16", true},  // does not define itself
    {"2*L['n'] == 2*L['x'].size()[0] + 3*L['d']['a'][0].size()[1] - 40", true},
};
// Guards that cannot be checked.
constexpr const char* kUncheckable[] = {
    "L['x'].size()[2] == 1",                    // no such dimension
    "L['z'].size()[0] == 1",                    // no such input
    "L['x'].stride()[0] == 8",                  // not a size
    "L['x'].dtype == torch.float32",            //
    "L['n'].size()[0] == 1",                    // not a tensor
    "L['x'] == 3",                              // not a number
    "L['m'].size()[0] == 4",                    // m or m_1: ambiguous name
    "s0 == 4",                                  // not an argument
    "ALL['x'].size()[0] == 4",                  // another word
    "my_L['x'].size()[0] == 4",                 //
    "L['n']5 == 3",                             // not an expression
    "guard_operand_0 == 3",                     // not an argument
    "guard_operand_0 + L['n'] > 3",             //
    "Eq(L['n'], 3, 4)",                         // wrong number of arguments
    "Ge(L['n'])",                               //
    "Not(L['n'] > 3, L['n'] < 2)",              //
    "L['x'].size()[0] ** 0.5 == 2",             // not whole numbers
    "L['x'].size()[0] / 3 == 2",                // the same
    "mystery(L['x'].size()[0]) == 2",           // unknown function
    "L['x'].size()[0]",                         // not a condition
    "L['x'].size()[0] ==",                      // not an expression
    "L['x",                                     // truncated
    "L['x'].size()[99999999999999999999] > 1",  //
    "L[0] == 1",                                // not a name
    "L[",                                       //
    "L['n' == 3",                               // unterminated key
    "L['n\\'] == 3",                            // an escaped name
    "L['x'].size() == 8",                       // no dimension
    "L['x'].size()[0 > 2",                      //
    "L['x'].size()[-1] == 8",                   //
    "L['x'].size()0] == 8",                     // missing brackets
    "L['d']'a'][0].size()[0] == 8",             //
    "].size()[0] > L['x",                       // a key that ends before it starts
    "L['p'].size()[0] == 8",                    // a parameter is not an argument
    "not mystery(L['n'])",                      // unknown parts
    "L['n'] > 3 and mystery(L['n']) == 2",      //
    "mystery(L['n']) == 2 or L['n'] > 3",       //
    "mystery(L['n']) and L['n'] > 3",           //
    "either(L['n'] > 3, L['n'] < 2)",           // neither `and` nor `or`
    "L['x'].size()[0] > 9",                     // false in the exporter's call
    "",
};

std::string Program(std::string_view guard) {
  std::string quoted;
  for (char c : guard) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return absl::StrCat(R"(program training {
  ranges { s0: [2, 64] s1: [0, 9] s2: [2, 9] s3: [2, 9] s4: [4, 4] }
  hints { s0: 8 }
  guards { ")",
                      quoted, R"(" }
  constants { state "p": f32[8] }
  graph(%p: f32[8] parameter "p", %x: f32[s0,8] user_input, %d_a_0: f32[s0,s2] user_input, %n: symint(s1) user_input,
        %m: f32[s3] user_input, %m_1: f32[4] user_input, %q: f32[s4] user_input, %x2: f32[4] user_input) {
    %a: f32[s0,8] = aten.relu.default(%x)
    return (%a user_output)
  }
})");
}

int Assertions(const ExportedProgram& program) {
  int count = 0;
  for (NodeId id : program.top().nodes()) {
    count += program.top().node(id).target->name() == "aten._assert_scalar.default";
  }
  return count;
}

TEST(GuardsToAssertionsTest, RemovesCheckedGuards) {
  for (const Case& c : kChecked) {
    SCOPED_TRACE(c.guard);
    ExportedProgram program = ParseOrDie(Program(c.guard), PassTestOps());
    ASSERT_OK_AND_ASSIGN(const bool changed, GuardsToAssertions().run(program));
    EXPECT_TRUE(changed);
    EXPECT_OK(Verify(program));
    EXPECT_THAT(program.guards, IsEmpty());
    EXPECT_EQ(Assertions(program), c.asserted) << PrintProgram(program);
  }
}

TEST(GuardsToAssertionsTest, KeepsUncheckableGuards) {
  for (const char* guard : kUncheckable) {
    SCOPED_TRACE(guard);
    ExportedProgram program = ParseOrDie(Program(guard), PassTestOps());
    ASSERT_OK(GuardsToAssertions().run(program).status());
    EXPECT_OK(Verify(program));
    EXPECT_THAT(program.guards, ElementsAre(guard));
    EXPECT_EQ(Assertions(program), 0);
  }
}

// Nested conditions are supported up to a depth.
TEST(GuardsToAssertionsTest, KeepsDeepConditions) {
  const auto assertions = [](int depth) {
    std::string guard = "L['n'] != 3";
    for (int k = 0; k < depth; ++k) {
      guard = absl::StrCat("(L['n'] > ", k % 7, k % 2 == 0 ? " and " : " or ", guard, ")");
    }
    ExportedProgram program = ParseOrDie(Program(guard), PassTestOps());
    EXPECT_OK(GuardsToAssertions().run(program).status());
    EXPECT_EQ(program.guards.size(), Assertions(program) == 0 ? 1u : 0u);
    return Assertions(program);
  };
  EXPECT_EQ(assertions(63), 1);
  EXPECT_EQ(assertions(64), 0);
}

TEST(GuardsToAssertionsTest, AssertsSizesThatAreExpressions) {
  ExportedProgram program = ParseOrDie(R"text(program aten {
  ranges { s0: [2, 64] }
  graph(%x: f32[s0] user_input, %y: f32["FloorDiv(s0, 3)"] user_input, %z: f32[2*s0 + 1] user_input) {
    return (%x user_output)
  }
})text",
                                       PassTestOps());
  ASSERT_OK(GuardsToAssertions().run(program).status());
  EXPECT_OK(Verify(program));
  ASSERT_EQ(Assertions(program), 1);
  const Node& assertion = program.top().node(program.top().last());
  EXPECT_EQ(assertion.arguments[1], Argument("input 'y': dimension 0: expected FloorDiv(s0, 3)"));
}

// A call checks numbers, symbols, and multiples of symbols plus a constant; everything else is
// asserted.
TEST(GuardsToAssertionsTest, AssertsOnlySizesThatCallsDoNotCheck) {
  const std::pair<const char*, int> sizes[] = {
      {"7", 0},
      {"s1", 0},
      {"3*s0", 0},
      {"s0 + 1", 0},
      {"2*s0 + 1", 0},
      {"s0 + s1", 1},
      {"s0*s1", 1},
      {"-1*s0 + 100", 1},
      {"s0 + s1 + 1", 1},
      {"2*s0 + s1", 1},
      {"3*FloorDiv(s0, 2)", 1},
      {"2*s0*s1", 1},
      {"FloorDiv(s0, 2)*s1", 1},
  };
  for (const auto& [size, asserted] : sizes) {
    SCOPED_TRACE(size);
    ExportedProgram program = ParseOrDie(
        absl::StrCat(
            "program aten { ranges { s0: [2, 64] s1: [2, 64] } graph(%x: f32[s0] user_input, "
            "%y: f32[s1] user_input, %z: f32[\"",
            size, "\"] user_input) { return (%x user_output) } }"),
        PassTestOps());
    ASSERT_OK(GuardsToAssertions().run(program).status());
    EXPECT_OK(Verify(program));
    EXPECT_EQ(Assertions(program), asserted) << PrintProgram(program);
  }
}

TEST(GuardsToAssertionsTest, EqualitiesDefineSymbols) {
  ExportedProgram program = ParseOrDie(R"text(program aten {
  ranges { s0: [2, 64] s1: [2, 20] s2: [0, 100] }
  hints { s0: 8 s1: 4 s2: 24 }
  guards {
    "L['z'].size()[0] != 30"
    "(L['x'].size()[0] // 2) == L['y'].size()[0]"
    "L['z'].size()[0] == 3*L['x'].size()[0]"
  }
  graph(%x: f32[s0] user_input, %y: f32[s1] user_input, %z: f32[s2] user_input) {
    %t: f32[s1] = aten.relu.default(%y)
    return (%t user_output)
  }
})text",
                                       PassTestOps());
  ASSERT_OK(GuardsToAssertions().run(program).status());
  EXPECT_OK(Verify(program));
  EXPECT_THAT(program.guards, IsEmpty());
  const std::string text = PrintProgram(program);
  EXPECT_THAT(text, testing::HasSubstr("%z: f32[3*s0] user_input"));
  EXPECT_THAT(text, testing::HasSubstr("%t: f32[FloorDiv(s0, 2)]"));
  // z is not 30; y is half of x, at least 2 and at most 20; z is at most 100.
  EXPECT_EQ(Assertions(program), 5) << text;
  EXPECT_THAT(text, testing::HasSubstr("\"input 'y': dimension 0: expected (L['x'].size()[0] // 2) "
                                       "== L['y'].size()[0]\""));
}

// x.reshape(-1, 4) of dimensions that are both unknown.
TEST(GuardsToAssertionsTest, SimplifiesDivisibleQuotients) {
  ExportedProgram program = ParseOrDie(R"text(program aten {
  ranges { s0: [2, 64] s1: [2, 64] }
  guards { "((L['x'].size()[1]*L['x'].size()[0]) % 4) == 0" }
  graph(%x: f32[s0,s1] user_input) {
    %y: f32[FloorDiv(s0*s1, 4),FloorDiv(s0*s1, FloorDiv(s0*s1, 4))]{strides=[Max(1, FloorDiv(s0*s1, FloorDiv(s0*s1, 4))),1]} = aten.view.default(%x, [-1,4])
    return (%y user_output)
  }
})text",
                                       PassTestOps());
  ASSERT_OK(GuardsToAssertions().run(program).status());
  EXPECT_THAT(PrintProgram(program), testing::HasSubstr("%y: f32[FloorDiv(s0*s1, 4),4] = "));
  EXPECT_EQ(Assertions(program), 1);
}

// The halves of x.chunk(2).
TEST(GuardsToAssertionsTest, UnifiesEqualExpressions) {
  ExportedProgram program = ParseOrDie(R"text(program aten {
  ranges { s0: [2, 64] }
  guards { "((1 + L['x'].size()[0]) // 2) == (L['x'].size()[0] + (-1)*((1 + L['x'].size()[0]) // 2))" }
  graph(%x: f32[s0] user_input) {
    [%a: f32[FloorDiv(s0 + 1, 2)], %b: f32[s0 - FloorDiv(s0 + 1, 2)]{offset=FloorDiv(s0 + 1, 2)}] = aten.chunk.default(%x, 2)
    return (%a user_output, %b user_output)
  }
})text",
                                       PassTestOps());
  ASSERT_OK(GuardsToAssertions().run(program).status());
  EXPECT_THAT(PrintProgram(program), testing::HasSubstr("%b: f32[FloorDiv(s0 + 1, 2)]"));
  EXPECT_EQ(Assertions(program), 1);
}

// Only quotients by the whole's own quotient, wherever they stand.
TEST(GuardsToAssertionsTest, KeepsOtherQuotients) {
  ExportedProgram program = ParseOrDie(R"text(program aten {
  ranges { s0: [2, 64] s1: [2, 64] }
  guards { "((L['x'].size()[1]*L['x'].size()[0]) % 4) == 0" }
  graph(%x: f32[s0,s1] user_input) {
    %a: f32["s0 + FloorDiv(s0*s1, FloorDiv(s0*s1, 4))"] = aten.custom.default(%x)
    %b: f32["s0*FloorDiv(s0*s1, FloorDiv(s0*s1, 4))"] = aten.custom.default(%x)
    %c: f32["FloorDiv(s0*s1, FloorDiv(s0, 2) + 1)"] = aten.custom.default(%x)
    %d: f32["FloorDiv(s0 + 1, FloorDiv(s0*s1, 4))"] = aten.custom.default(%x)
    return (%a user_output, %b user_output, %c user_output, %d user_output)
  }
})text",
                                       PassTestOps());
  ASSERT_OK(GuardsToAssertions().run(program).status());
  const std::string text = PrintProgram(program);
  EXPECT_THAT(text, testing::HasSubstr("%a: f32[s0 + 4] = "));
  EXPECT_THAT(text, testing::HasSubstr("%b: f32[4*s0] = "));
  EXPECT_THAT(text, testing::HasSubstr("%c: f32[FloorDiv(s0*s1, FloorDiv(s0, 2) + 1)] = "));
  EXPECT_THAT(text, testing::HasSubstr("%d: f32[FloorDiv(s0 + 1, FloorDiv(s0*s1, 4))] = "));
}

// Memory is planned for the maximum of each size: a bounded symbol is not replaced by an unbounded
// expression. A symbol without a bound may be replaced, without an assertion of a bound.
TEST(GuardsToAssertionsTest, KeepsBounds) {
  for (const auto& [range, defines] : {std::pair("[2, 64]", false), {"[2, inf]", true}}) {
    SCOPED_TRACE(range);
    ExportedProgram program = ParseOrDie(
        absl::StrCat(
            "program aten { ranges { s0: [2, inf] s1: ", range,
            " s2: [0, 9] } guards { \"L['y'].size()[0] == 2*L['x'].size()[0]\" } graph(%n: "
            "symint(s2) user_input, %x: f32[s0] user_input, %y: f32[s1] user_input) { "
            "return (%y user_output) } }"),
        PassTestOps());
    ASSERT_OK(GuardsToAssertions().run(program).status());
    EXPECT_OK(Verify(program));
    EXPECT_THAT(program.guards, IsEmpty());
    const std::string text = PrintProgram(program);
    EXPECT_EQ(text.find("%y: f32[2*s0]") != std::string::npos, defines) << text;
    // Sizes that a call checks are not asserted again.
    EXPECT_EQ(Assertions(program), defines ? 0 : 1) << text;
  }
}

// A size with a symbol that is in no input cannot be computed, so it cannot be asserted.
TEST(GuardsToAssertionsTest, DoesNotAssertUncomputableSizes) {
  ExportedProgram program = ParseOrDie(R"text(program aten {
  ranges { s0: [2, 64] s9: [2, 64] }
  guards { "L['x'].size()[0] != 3" }
  graph(%x: f32[s0] user_input, %z: f32["Max(s0, s9)"] user_input) {
    return (%x user_output)
  }
})text",
                                       PassTestOps());
  ASSERT_OK(GuardsToAssertions().run(program).status());
  EXPECT_OK(Verify(program));
  EXPECT_EQ(Assertions(program), 1);
  EXPECT_THAT(program.guards, IsEmpty());
}

// More equalities than are substituted in the program; the others are asserted.
TEST(GuardsToAssertionsTest, ChecksManyEqualities) {
  constexpr int kMany = 300;
  std::string ranges, guards, inputs;
  for (int i = 0; i <= kMany; ++i) {
    absl::StrAppend(&ranges, " s", i, ": [1, 100]");
    absl::StrAppend(&inputs, i == 0 ? "" : ", ", "%x", i, ": f32[s", i, "] user_input");
    if (i > 0) {
      absl::StrAppend(&guards, " \"L['x", i, "'].size()[0] == (1 + L['x0'].size()[0]) // 2\"");
    }
  }
  ExportedProgram program =
      ParseOrDie(absl::StrCat("program aten { ranges {", ranges, " } guards {", guards, " } graph(",
                              inputs, ") { return (%x0 user_output) } }"),
                 PassTestOps());
  ASSERT_OK(GuardsToAssertions().run(program).status());
  EXPECT_OK(Verify(program));
  EXPECT_THAT(program.guards, IsEmpty());
  EXPECT_EQ(Assertions(program), kMany);
}

TEST(GuardsToAssertionsTest, KeepsProgramsWithoutGuards) {
  ExpectUnchanged(R"(program aten {
  ranges { s0: [2, 64] }
  graph(%x: f32[s0] user_input, %y: f32[2*s0] user_input) {
    return (%x user_output)
  }
})",
                  GuardsToAssertions().run, PassTestOps());
}

}  // namespace
}  // namespace belay::exir
