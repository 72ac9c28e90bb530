// Tests of parser errors of the text form: position, expected, actual.
#include <ostream>
#include <string>

#include "exir/ir/text.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

struct BadText {
  std::string text, message;
};
void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.text; }

class ParseProgramError : public testing::TestWithParam<BadText> {};

TEST_P(ParseProgramError, NamesPositionAndExpectation) {
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
        BadText{"program aten { constants { state \"a\": f32[1099511627776] }",
                "expected constants of at most"},
        BadText{"program aten { constants { state \"a\": f32[2]{offset=9223372036854775807} }",
                "expected constants of at most"},
        BadText{"program aten { constants { state \"a\": f32[8589934592] state \"b\": "
                "f32[8589934592] state \"c\": i8[1] } graph() { return () } }",
                "expected constants of at most"},
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
        BadText{"program aten { module#0 backend \"b\" specs [] { blob \"?\"",
                "this is not base64"},
        BadText{"program aten { module#0 backend \"b\" specs [] { data \"a\": buffer#0 align 1",
                "unknown buffer#0"},
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
        // List elements are separated by commas.
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
        BadText{Node("%y: f32[2] = aten.cat.([%x])"),
                "\"aten.cat.\" is not the full name of an operator"},
        BadText{Node("%y: f32[2] = \".x\"(%x)"), "\".x\" is not the full name of an operator"},
        BadText{Node("%y: f32[2] = zoo.op.default(graph#1)"),
                "line 2, column 29: unknown graph#1; the program has 1"},
        BadText{Node("%y: f32[2] = zoo.op.default(module#0)"), "unknown module#0"},
        BadText{Node("%y: f32[2] = zoo.op.default(graph#99999999999)"), "expected a number >= 0"},
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

std::string Constants(std::string_view constants) {
  return absl::StrCat("program aten { constants { ", constants, " } graph() { return () } }");
}

std::string Module(std::string_view items) {
  return absl::StrCat(
      "program aten { graph() { return () } module#0 backend \"b\" specs [] { "
      "program edge { graph() { return () } } ",
      items, " } }");
}

std::string Type(std::string_view type) {
  return Node(absl::StrCat("%y: ", type, " = zoo.op.default()"));
}

std::string Call(std::string_view argument) {
  return Node(absl::StrCat("%y: f32[] = zoo.op.default(", argument, ")"));
}

std::string Notes(std::string_view notes) {
  return Node(absl::StrCat("%y: f32[] = zoo.op.default() ", notes));
}

INSTANTIATE_TEST_SUITE_P(
    Sections, ParseProgramError,
    testing::Values(
        BadText{"program aten { in_spec 1 }", "expected the input spec in quotes, got '1'"},
        BadText{"program aten { out_spec x }", "expected the output spec in quotes, got 'x'"},
        BadText{"program aten { guards \"g\" }", "expected '{', got \"g\""},
        BadText{"program aten { guards { g } }", "expected a guard in quotes, got 'g'"},
        BadText{"program aten { ranges s0", "expected '{', got 's0'"},
        BadText{"program aten { ranges { s0 1", "expected ':', got '1'"},
        BadText{"program aten { ranges { s0: 1", "expected '[', got '1'"},
        BadText{"program aten { ranges { s0: [1 2] }", "expected ',', got '2'"},
        BadText{"program aten { ranges { s0: [1, x] }", "expected an integer or inf, got 'x'"},
        BadText{"program aten { ranges { s0: [1, 2) }", "expected ']', got ')'"},
        BadText{"program aten { hints s0", "expected '{', got 's0'"},
        BadText{"program aten { hints { 1", "expected a symbol, got '1'"},
        BadText{"program aten { hints { s0 1", "expected ':', got '1'"},
        BadText{"program aten { hints { s0: x", "expected an integer, got 'x'"},
        BadText{"program aten { constants 1 }", "expected '{', got '1'"},
        BadText{"program aten { module 0 }", "expected '#', got '0'"},
        BadText{"program aten { module#x }", "expected a module's number, got 'x'"},
        BadText{"program aten { graph f x", "expected '(', got 'x'"},
        BadText{"program aten { graph(x", "expected '%', got 'x'"},
        BadText{"program aten { graph(%1", "expected a name, got '1'"},
        BadText{"program aten { graph(%x f32", "expected ':', got 'f32'"},
        BadText{"program aten { graph() return", "expected '{', got 'return'"},
        BadText{"program aten { graph() { 1", "expected a result or an operator, got '1'"},
        BadText{"program aten { graph() { return 1", "expected '(', got '1'"},
        BadText{"program aten { graph() { return () graph", "expected '}', got 'graph'"}));

INSTANTIATE_TEST_SUITE_P(
    Constants, ParseProgramError,
    testing::Values(
        BadText{Constants("1"), "expected 'state' or 'constant', got '1'"},
        BadText{Constants("state a"), "expected a name in quotes, got 'a'"},
        BadText{Constants("state \"a\" f32"), "expected ':', got 'f32'"},
        BadText{Constants("state \"a\": 3"), "expected a dtype, got '3'"},
        BadText{Constants("state \"a\": f32 3"), "expected '[', got '3'"},
        BadText{Constants("state \"a\": f32[x]"), "expected an integer, got 'x'"},
        BadText{Constants("state \"a\": f32[1]{strides [1]}"), "expected '=', got '['"},
        BadText{Constants("state \"a\": f32[1]{strides=1}"), "expected '[', got '1'"},
        BadText{Constants("state \"a\": f32[1]{x=1}"), "expected 'offset', got 'x'"},
        BadText{Constants("state \"a\": f32[1]{offset 1}"), "expected '=', got '1'"},
        BadText{Constants("state \"a\": f32[1]{offset=x}"), "expected an integer, got 'x'"},
        BadText{Constants("state \"a\": f32[1]{offset=1 x"), "expected '}', got 'x'"},
        BadText{Constants("state \"a\": f32[1] storage x"), "expected '#', got 'x'"},
        BadText{Constants("state \"a\": f32[1] storage#x"), "expected a storage's number, got 'x'"},
        BadText{Constants("state \"a\": f32[1] storage#-1"),
                "expected a storage's number, got '-1'"},
        BadText{Constants("state \"a\": f32[1] storage#0"), "unknown storage#0; the text has 0"},
        BadText{Constants("state \"a\": f32[1] shares a"),
                "expected 'state' or 'constant', got 'a'"},
        BadText{Constants("state \"a\": f32[1] shares state 1"),
                "expected a tensor declared before, in quotes, got '1'"},
        BadText{Constants("state \"a\": f32[1] state \"b\": f32[1] shares constant \"a\""),
                "expected a tensor declared before, in quotes, got \"a\""}));

INSTANTIATE_TEST_SUITE_P(
    Modules, ParseProgramError,
    testing::Values(
        BadText{"program aten { module#0 x", "expected 'backend', got 'x'"},
        BadText{"program aten { module#0 backend b", "expected a backend id in quotes, got 'b'"},
        BadText{"program aten { module#0 backend \"b\" {", "expected 'specs', got '{'"},
        BadText{"program aten { module#0 backend \"b\" specs {", "expected '[', got '{'"},
        BadText{"program aten { module#0 backend \"b\" specs [k",
                "expected a key in quotes, got 'k'"},
        BadText{"program aten { module#0 backend \"b\" specs [\"k\"]", "expected ':', got ']'"},
        BadText{"program aten { module#0 backend \"b\" specs [\"k\": v]",
                "expected a value in quotes, got 'v'"},
        BadText{"program aten { module#0 backend \"b\" specs [] program",
                "expected '{', got 'program'"}));

INSTANTIATE_TEST_SUITE_P(
    ModuleItems, ParseProgramError,
    testing::Values(
        BadText{Module("x"), "expected a part of the module, got 'x'"},
        BadText{Module("program edge { graph() { return () } }"),
                "expected a part of the module, got 'program'"},
        BadText{Module("blob 1"), "expected bytes in base64, got '1'"},
        BadText{Module("blob storage 0"), "expected '#', got '0'"},
        BadText{Module("blob storage#0"), "unknown storage#0; the text has 0"},
        BadText{Module("buffer x"), "expected bytes in base64, got 'x'"},
        BadText{Module("info x"), "expected a string, got 'x'"},
        BadText{Module("handles x"), "expected an id, got 'x'"},
        BadText{Module("handles 1 [2]"), "expected ':', got '['"},
        BadText{Module("handles 1: 2"), "expected '[', got '2'"},
        BadText{Module("handles \"a\": [x]"), "expected an integer, got 'x'"},
        BadText{Module("external x"), "expected a tag in quotes, got 'x'"},
        BadText{Module("external \"t\" data x"), "expected a key in quotes, got 'x'"},
        BadText{Module("external \"t\" data \"k\" x"), "expected ':', got 'x'"},
        BadText{Module("data x"), "expected a key in quotes, got 'x'"},
        BadText{Module("data \"k\" buffer"), "expected ':', got 'buffer'"},
        BadText{Module("data \"k\": x"), "expected 'buffer', got 'x'"},
        BadText{Module("data \"k\": buffer 0"), "expected '#', got '0'"},
        BadText{Module("data \"k\": buffer#x"), "expected a buffer's number, got 'x'"},
        BadText{Module("data \"k\": buffer#-1"), "expected a buffer's number, got '-1'"},
        BadText{Module("buffer \"AA==\" data \"k\": buffer#1 align 1"),
                "unknown buffer#1; the module has 1"},
        BadText{Module("buffer \"AA==\" data \"k\": buffer#0 x"), "expected 'align', got 'x'"},
        BadText{Module("buffer \"AA==\" data \"k\": buffer#0 align 1.5"),
                "expected an alignment, got '1.5'"},
        BadText{Module("buffer \"AA==\" data \"k\": buffer#0 align 1 layout x"),
                "expected a dtype, got 'x'"},
        BadText{Module("buffer \"AA==\" data \"k\": buffer#0 align 1 layout u8 1"),
                "expected '[', got '1'"},
        BadText{Module("buffer \"AA==\" data \"k\": buffer#0 align 1 layout u8[1] x"),
                "expected 'order', got 'x'"},
        BadText{Module("buffer \"AA==\" data \"k\": buffer#0 align 1 layout u8[1] order x"),
                "expected '[', got 'x'"},
        BadText{Module("buffer \"AA==\" data \"k\": buffer#0 align 1 layout u8[1] order [-1]"),
                "expected numbers of dimensions, got -1"},
        BadText{Module("buffer \"AA==\" data \"k\": buffer#0 align 1 layout u8[1] order [256]"),
                "expected numbers of dimensions, got 256"}));

INSTANTIATE_TEST_SUITE_P(
    Types, ParseProgramError,
    testing::Values(BadText{Type("f32 2"), "expected '[', got '2'"},
                    BadText{Type("f32[2]{strides [1]}"), "expected '=', got '['"},
                    BadText{Type("f32[2]{strides=1}"), "expected '[', got '1'"},
                    BadText{Type("f32[2]{offset 1}"), "expected '=', got '1'"},
                    BadText{Type("f32[2]{offset=s0 +}"), "line 2, column 19: "},
                    BadText{Type("f32[2]{device cpu}"), "expected '=', got 'cpu'"},
                    BadText{Type("f32[2]{device=1}"), "expected a device type, got '1'"},
                    BadText{Type("f32[2]{device=cuda:x}"), "expected a device index, got 'x'"},
                    BadText{Type("f32[2]{layout strided}"), "expected '=', got 'strided'"},
                    BadText{Type("f32[2]{layout=odd}"), "expected a layout, got 'odd'"},
                    BadText{Type("f32[2]{layout=1}"), "expected a layout, got '1'"},
                    BadText{Type("f32[2]{grad grad}"), "expected '}', got 'grad'"},
                    BadText{Type("symint s0"), "expected '(', got 's0'"},
                    BadText{Type("symint(s0 +)"), "line 2, column 12: "},
                    BadText{Type("symfloat(2 3)"), "line 2, column 14: "},
                    BadText{Type("object(a)"), "expected a class name in quotes, got 'a'"},
                    BadText{Type("const(x)"), "expected a number, got 'x'"},
                    BadText{Type("const(9223372036854775808)"),
                            "expected an integer that fits in 64 bits, got '9223372036854775808'"},
                    BadText{Type("const(3 4)"), "expected ')', got '4'"},
                    BadText{Type("const(\"3)"),
                            "expected a number, got a string without its closing quote"},
                    BadText{Type("int(3)"), "expected a type, got 'int'"}));

INSTANTIATE_TEST_SUITE_P(
    Arguments, ParseProgramError,
    testing::Values(
        BadText{Call("nan:1"), "expected x and the 16 hexadecimal digits of a NaN, got '1'"},
        BadText{Call("nan:\"x7ff8000000000001\""), "digits of a NaN"},
        BadText{Call("nan:x7ff"), "digits of a NaN, got 'x7ff'"},
        BadText{Call("nan:y7ff8000000000001"), "digits of a NaN"},
        BadText{Call("nan:xg000000000000000"), "digits of a NaN"},
        BadText{Call("nan:x7ff80000000000.1"), "digits of a NaN"},
        BadText{Call("(x+2j)"), "expected a number, got 'x'"},
        BadText{Call("(1)"), "expected an imaginary part like +2j, got ')'"},
        BadText{Call("(1 2j)"), "expected an imaginary part like +2j, got '2j'"},
        BadText{Call("(1+2)"), "expected an imaginary part like +2j, got '+2'"},
        BadText{Call("(1+1e999j)"), "expected an imaginary part like +2j, got '+1e999j'"},
        BadText{Call("(1+2j]"), "expected ')', got ']'"},
        BadText{Call("graph 1"), "expected '#', got '1'"},
        BadText{Call("graph#x"), "expected a number, got 'x'"},
        BadText{Call("graph#-1"), "expected a number >= 0, got -1"},
        BadText{Call("module 0"), "expected '#', got '0'"},
        BadText{Call("dtype f32"), "expected ':', got 'f32'"},
        BadText{Call("op:x"), "expected an operator's name in quotes, got 'x'"},
        BadText{Call("complex:1"), "expected '[', got '1'"},
        BadText{Call("complex:[x"), "expected a number, got 'x'"},
        BadText{Call("complex:[1 2]"), "expected ',', got '2'"},
        BadText{Call("complex:[1,x]"), "expected a number, got 'x'"},
        BadText{Call("complex:[1,2,3]"), "expected ']', got ','"},
        BadText{Call("format:1"), "expected a format, got '1'"},
        BadText{Call("layout:1"), "expected a layout, got '1'"},
        BadText{Call("device:1"), "expected a device type, got '1'"},
        BadText{Call("%1"), "expected the name of a value that is defined before, got '1'"},
        BadText{Call("{\"a\" 1}"), "expected ':', got '1'"},
        BadText{Call("{\"a\": x}"), "expected an argument, got 'x'"},
        BadText{Call("[x]"), "expected an argument, got 'x'"},
        BadText{Call("*"), "expected an argument, got '*'"}));

INSTANTIATE_TEST_SUITE_P(
    Notes, ParseProgramError,
    testing::Values(BadText{Notes("@3"), "expected a file name in quotes, got '3'"},
                    BadText{Notes("@\"f\" 3"), "expected ':', got '3'"},
                    BadText{Notes("@\"f\":x"), "expected a line number, got 'x'"},
                    BadText{Notes("handle=x"), "expected a debug handle, got 'x'"},
                    BadText{Notes("module=1"), "expected a string, got '1'"},
                    BadText{Notes("module_type=1"), "expected a string, got '1'"},
                    BadText{Notes("function=1"), "expected a string, got '1'"},
                    BadText{Notes("origin=1"), "expected a string, got '1'"},
                    BadText{Notes("tag=1"), "expected a string, got '1'"},
                    BadText{Notes("name=1"), "expected a string, got '1'"}));

}  // namespace
}  // namespace belay::exir
