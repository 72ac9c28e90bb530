#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/round_trip.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

ExportedProgram WithBody(std::string_view body) {
  return ParseOrDie(
      absl::StrCat("program aten { graph(%x: f32[2,s0] user_input, ", "%y: f32[2,3] user_input) {",
                   body, "\nreturn (%x user_output) } }"),
      TestOps());
}

TEST(ParseProgram, ConstantsWithoutElementsTakeNoMemory) {
  EXPECT_OK(ParseProgram("program aten { constants { state \"a\": f32[1099511627776,0] } "
                         "graph() { return () } }",
                         TestOps())
                .status());
}

TEST(Provenance, WithoutAFileIsUnknown) {
  Provenance provenance;
  provenance.line = 5;
  EXPECT_EQ(provenance.ToString(), "");
}

TEST(ParseProgram, SharesTextsOfProvenance) {
  const ExportedProgram program = WithBody(
      "%a: f32[] = zoo.op.default()  @\"f.py\":1 module=\"m\"\n%b: f32[] = zoo.op.default()  "
      "@\"f.py\":2 module=\"m\"");
  const Graph& top = program.top();
  EXPECT_EQ(top.node(top.first()).provenance.file, top.node(top.last()).provenance.file);
  EXPECT_EQ(top.node(top.first()).provenance.module, top.node(top.last()).provenance.module);
}

struct BadText {
  std::string text, message;
};
void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.text; }

class ParseProgramError : public testing::TestWithParam<BadText> {};

TEST_P(ParseProgramError, NamesPlaceAndExpectation) {
  EXPECT_THAT(ParseProgram(GetParam().text, TestOps()),
              StatusIs(kInvalid, HasSubstr(GetParam().message)));
}

std::string Node(std::string_view node) {
  return absl::StrCat("program aten { graph(%x: f32[2] user_input) {\n", node, "\nreturn () } }");
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ParseProgramError,
    testing::Values(
        BadText{"", "line 1, column 1: expected 'program', got the end of the text"},
        BadText{"program atem {}",
                "line 1, column 9: expected 'training', 'aten' or 'edge', got 'atem'"},
        BadText{"program aten {}", "expected a graph in the program, got none"},
        BadText{"program aten { graph() { return () } } x",
                "expected the end of the text, got 'x'"},
        BadText{"program aten { grap", "expected a section of the program or '}'"},
        BadText{"program aten { ranges { s0: [1, 2] s0: [1, 3] }", "column 36: a second range"},
        BadText{"program aten { ranges { s0: [a, 2] }", "expected an integer or -inf, got 'a'"},
        BadText{"program aten { hints { s0: 1 s0: 2 }", "a second hint"},
        BadText{"program aten { constants { state \"a\": f32[1] state \"a\": f32[1] }",
                "a second tensor of the same name"},
        BadText{"program aten { constants { state \"a\": f32[1] shares state \"b\" }",
                "expected a tensor declared before"},
        BadText{"program aten { constants { state \"a\": f32[-1] } graph() { return () } }",
                "sizes that no tensor has: [-1]"},
        BadText{"program aten { constants { state \"a\": f32[4294967296,4294967296] }",
                "sizes that no tensor has"},
        BadText{"program aten { constants { state \"a\": f32[1099511627776] }", "take at most"},
        BadText{"program aten { constants { state \"a\": f32[2]{offset=9223372036854775807} }",
                "take at most"},
        BadText{"program aten { constants { state \"a\": f32[8589934592] state \"b\": "
                "f32[8589934592] state \"c\": i8[1] } graph() { return () } }",
                "take at most"},
        BadText{"program aten { constants { state \"a\": f32[2]{strides=[1,2]} } graph() { return "
                "() } }",
                "as many strides as sizes"},
        BadText{"program aten { constants { state \"a\": f32[2]{strides=[-1]} } graph() { return "
                "() } }",
                "not negative"},
        BadText{"program aten { constants { state \"a\": f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] }",
                "at most 16 numbers, got 17"},
        BadText{"program aten { module#1 backend", "expected module#0, got module#1"},
        BadText{"program aten { module#0 backend \"b\" specs [] { } ",
                "the program that the module replaces"},
        BadText{"program aten { module#0 backend \"b\" specs [] { blob \"?\"", "this is no base64"},
        BadText{"program aten { module#0 backend \"b\" specs [] { data \"a\": buffer#0 align 1",
                "there is no buffer#0"},
        BadText{"program aten { graph(%x: f32[2] user_input, %x: f32[2] user_input)",
                "a second value %x"},
        BadText{"program aten { graph(%\"\": f32[2] user_input)", "a value without a name"},
        BadText{"program aten { graph(%x: f32[2] input)", "expected a kind of input, got 'input'"},
        BadText{"program aten { graph(%x: f33[2])", "expected a type, got 'f33'"},
        BadText{"program aten { graph(%x: \"f32\"[2] user_input) { return () } }",
                "column 26: expected a type"},
        BadText{"program aten { ranges { [: [1, 2] } graph() { return () } }",
                "column 25: expected"},
        BadText{"program aten { constants { state a: f32[1] } graph() { return () } }",
                "column 34: expected"},
        BadText{"program aten { graph(%x: f32[2}", "line 1, column 30"},
        BadText{"program aten { graph(%x: f32[s0 +])", "column 30"},
        BadText{"program aten { graph(%x: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])",
                "at most 16 sizes, got 17"},
        BadText{"program aten { graph(%x: f32[2]{stride=[1]})", "expected 'strides', 'offset'"},
        // What stands in a list is parted by commas.
        BadText{"program aten { graph(%x: f32[2] user_input %y: f32[2] user_input)",
                "column 44: expected ')'"},
        BadText{"program aten { graph() { return (1 user_output 2 user_output) } }",
                "column 48: expected ')'"},
        BadText{"program aten { graph() { return (1 output) } }", "expected a kind of output"},
        BadText{"program aten { constants { state \"a\": f32[1]{strides=[1 2]} }", "expected ']'"},
        BadText{"program aten { module#0 backend \"b\" specs [\"a\": \"b\" \"c\": \"d\"] {",
                "expected ']'"},
        BadText{Node("[%y: f32[2] %z: f32[2]] = zoo.op.default()"), "expected ']'"},
        BadText{Node("%y: f32[2] = zoo.op.default(1 2)"), "column 31: expected ')'"},
        BadText{Node("%y: f32[2] = aten.add.Tensor(%x %x)"), "column 33: expected ')'"},
        BadText{Node("%y: f32[2] = zoo.op.default([1 2])"), "expected ']'"},
        BadText{Node("%y: f32[2] = zoo.op.default({\"a\": 1 \"b\": 2})"), "expected '}'"},
        BadText{Node("%y: f32[2] = aten.relu.default(%z)"),
                "line 2, column 33: expected the name of a value that is defined before, got 'z'"},
        BadText{Node("%y: f32[2] = aten.relu.default(%y)"), "defined before"},
        BadText{Node("%x: f32[2] = aten.relu.default(%x)"), "line 2, column 2: a second value %x"},
        BadText{Node("%y: f32[2], %y: f32[2] = zoo.op.default()"), "a second value %y"},
        BadText{Node("%y: f32[2] = zoo.op.default() name=\"n\" %z: f32[2] = zoo.op.default() "
                     "name=\"n\""),
                "a second node named \"n\""},
        BadText{Node("%y: f32[2] = aten.relu.default()"),
                "argument self of aten.relu.default is missing: aten::relu(Tensor self) -> Tensor"},
        BadText{Node("%y: f32[2] = aten.relu.default(%x, %x)"),
                "a positional argument too many for aten.relu.default"},
        BadText{Node("%y: f32[2] = aten.relu.default(self=%x, self=%x)"),
                "argument self of aten.relu.default is given twice"},
        BadText{Node("%y: f32[2] = aten.relu.default(other=%x)"),
                "aten.relu.default has no argument \"other\""},
        BadText{Node("%y: f32[2] = aten.add.Tensor(self=%x, %x)"),
                "a positional argument too many"},
        BadText{Node("%y: f32[2] = aten.cat.([%x])"), "\"aten.cat.\" is no operator's full name"},
        BadText{Node("%y: f32[2] = \".x\"(%x)"), "\".x\" is no operator's full name"},
        BadText{Node("%y: f32[2] = zoo.op.default(graph#1)"),
                "line 2, column 29: there is no graph#1, the program has 1"},
        BadText{Node("%y: f32[2] = zoo.op.default(module#0)"), "there is no module#0"},
        BadText{Node("%y: f32[2] = zoo.op.default(graph#99999999999)"),
                "expected a number from 0 on"},
        BadText{Node("%y: f32[2] = zoo.op.default(9223372036854775808)"),
                "an integer that fits in 64 bits"},
        BadText{Node("%y: f32[2] = zoo.op.default(1e999)"), "expected a number"},
        BadText{Node("%y: f32[2] = zoo.op.default(2j)"), "expected a number"},
        BadText{Node("%y: f32[2] = zoo.op.default((1+2))"), "an imaginary part"},
        BadText{Node("%y: f32[2] = zoo.op.default(nan:x0000000000000000)"), "digits of a NaN"},
        BadText{Node("%y: f32[2] = zoo.op.default(dtype:f33)"), "expected a dtype"},
        BadText{Node("%y: f32[2] = zoo.op.default(format:odd)"), "expected a memory format"},
        BadText{Node("%y: f32[2] = zoo.op.default(layout:odd)"), "expected a layout"},
        BadText{Node("%y: f32[2] = zoo.op.default(word)"), "expected an argument, got 'word'"},
        BadText{Node("%y: f32[2] = zoo.op.default({1: 2})"), "expected a key in quotes"},
        BadText{Node("%y: f32[2] = zoo.op.default() color=\"red\""), "expected 'module', 'origin'"},
        BadText{Node("%y: f32[2] = zoo.op.default(\"abc)"), "a string without its closing quote"}));

TEST(ParseProgram, LimitsNesting) {
  const auto nested = [](int depth) {
    return Node(absl::StrCat("%y: f32[] = zoo.op.default(", std::string(depth, '['),
                             std::string(depth, ']'), ")"));
  };
  EXPECT_OK(ParseProgram(nested(64), TestOps()));
  EXPECT_THAT(ParseProgram(nested(66), TestOps()), StatusIs(kInvalid, HasSubstr("deeper than 64")));
  EXPECT_THAT(ParseProgram(nested(1000000), TestOps()), StatusIs(kInvalid));
  std::string programs;
  for (int i = 0; i < 100000; ++i) programs += "program aten { module#0 backend \"\" specs [] { ";
  EXPECT_THAT(ParseProgram(programs, TestOps()), StatusIs(kInvalid, HasSubstr("deeper than 16")));
}

TEST(ParseProgram, IsLinear) {
  // Each of these ends at once unless some step costs as much as what came before it.
  std::string wide = "program aten { graph(%x: f32[2] user_input) {\n";
  for (int i = 0; i < 50000; ++i)
    absl::StrAppend(&wide, "%a", i, ": f32[2] = aten.relu.default(%x)\n");
  wide += "return () } }";
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ParseProgram(wide, TestOps()));
  EXPECT_EQ(program.top().num_nodes(), 50000);
  ExpectRoundTrip(program);
  EXPECT_THAT(ParseProgram(std::string(1 << 22, '['), TestOps()), StatusIs(kInvalid));
  EXPECT_THAT(ParseProgram(absl::StrCat("program aten { graph(%x: f32[", std::string(1 << 22, '(')),
                           TestOps()),
              StatusIs(kInvalid));
  std::string constants = "program aten { constants {";
  for (int i = 0; i < 50000; ++i) absl::StrAppend(&constants, " state \"", i, "\": f32[2]");
  constants += " } graph() { return () } }";
  EXPECT_OK(ParseProgram(constants, TestOps()));
}

TEST(ParseProgram, SurvivesDamagedText) {
  ExportedProgram program = WithBody(R"(
    %a: f32[FloorDiv(s0, 2),3]{strides=[1,2],device=cuda:0} = zoo.op.default(k=%x, [1,2.5,(1+2j)], {"k": none})  @"f":1
    %b: f32[], [%c: i64[u0], %d: bf16[]], none = aten.cat.default([%y,%a], dim=1) name="n" handle=3
    %e: f32[2] = higher_order.cond(true, graph#0, dtype:f32, device:cpu))");
  program.hints["s0"] = 3;
  program.ranges["s0"] = {};
  ASSERT_OK_AND_ASSIGN(ConstantTensor w,
                       ConstantTensor::Contiguous(DType::kFloat32, {2}, *Storage::Zeros(8)));
  program.state_dict.emplace("w", w);
  auto module = std::make_shared<LoweredBackendModule>("b", program.Clone());
  module->processed = Storage::Own(std::vector<std::byte>(5));
  program.lowered_modules.push_back(std::move(module));
  const std::string text = PrintProgram(program);
  ExpectRoundTrip(program);
  std::mt19937 random(TestSeed());
  const std::string alphabet = "%[](){}\"\\,:=#@ 09.-+einfs\n";
  int parsed = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (size_t n = random() % 3 + 1; n > 0 && !damaged.empty(); --n) {
      const size_t place = random() % damaged.size();
      switch (random() % 4) {
        case 0:
          damaged[place] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          damaged.erase(place, random() % 8);
          break;
        case 2:
          damaged.insert(place, damaged.substr(random() % damaged.size(), random() % 20));
          break;
        default:
          damaged.resize(place + 1);
      }
    }
    const absl::StatusOr<ExportedProgram> result = ParseProgram(damaged, TestOps());
    if (!result.ok()) {
      EXPECT_EQ(result.status().code(), kInvalid) << result.status() << damaged;
      continue;
    }
    ++parsed;
    ExpectRoundTrip(*result);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(parsed, 0);
}

TEST(ParseProgramTest, ErrorsShowControlCharactersAsText) {
  EXPECT_THAT(ParseProgram("program \x1b[2J {}", TestOps()),
              StatusIs(kInvalid, HasSubstr("\\x1b")));
}

}  // namespace
}  // namespace belay::exir
