// The text form of programs.
#include <string>

#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"

namespace belay::fuzz {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::string Repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}
std::string Constant(const std::string& type) {
  return "program aten { constants { state \"a\": " + type + " } graph() { return () } }";
}
std::string Input(const std::string& type) {
  return "program aten { graph(%x: " + type + " user_input) { return () } }";
}

const NegativeBytes kTexts[] = {
    {"C1_empty", "no bytes", kInvalid, "expected 'program', got the end of the text",
     [] { return std::string(); }},
    {"C1_cut_off", "a program that is cut off", kInvalid,
     "expected a section of the program or '}'", [] { return std::string("program aten { grap"); }},
    {"C8_binary", "200 bytes that are not text", kInvalid, "line 1, column 1",
     [] { return std::string(200, '\xff'); }},
    {"T1_graph", "a program without a graph", kInvalid, "expected a graph in the program",
     [] { return std::string("program aten {}"); }},
    {"T2_string_without_end", "a string without its end", kInvalid, "line 1",
     [] { return std::string("program aten { in_spec \"abc"); }},
    {"T3_dialect", "an unknown dialect", kInvalid, "line 1, column 9",
     [] { return std::string("program atem {}"); }},
    {"T3_type", "an unknown type", kInvalid, "expected a type, got 'f33'",
     [] { return Input("f33[2]"); }},
    {"T4_value", "a value that no node defines", kInvalid,
     "expected the name of a value that is defined before, got 'nothing'",
     [] {
       return std::string(
           "program aten { graph(%x: f32[2] user_input) { return (%nothing "
           "user_output) } }");
     }},
    {"T4_graph", "a graph that is missing", kInvalid, "graph#7",
     [] {
       return std::string(
           "program aten { graph(%x: f32[2] user_input) { cond(true, graph#7) return () } }");
     }},
    {"N1_numel_overflow", "2^32 x 2^32 elements", kInvalid, "line 1",
     [] { return Constant("f32[4294967296,4294967296]"); }},
    {"N1_constant_of_4_TiB", "a constant of 2^42 bytes", kInvalid, "expected constants of at most",
     [] { return Constant("f32[1099511627776]"); }},
    {"N2_rank_17", "17 dimensions", kInvalid, "expected at most 16",
     [] { return Input("f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"); }},
    {"N3_size_negative", "a size of -1", kInvalid, "line 1", [] { return Constant("f32[-1]"); }},
    {"N3_stride_negative", "a stride of -1", kInvalid, "line 1",
     [] { return Constant("f32[2]{strides=[-1]}"); }},
    {"N4_strides", "two strides for one size", kInvalid, "line 1",
     [] { return Constant("f32[2]{strides=[1,2]}"); }},
    {"N6_offset_overflow", "an offset of 2^63 - 1", kInvalid, "line 1",
     [] { return Constant("f32[2]{offset=9223372036854775807}"); }},
    {"D1_blob", "a blob that is not base64", kInvalid, "this is not base64",
     [] { return std::string("program aten { module#0 backend \"b\" specs [] { blob \"?\""); }},
    {"P1_value_twice", "two values of one name", kInvalid, "%x",
     [] {
       return std::string(
           "program aten { graph(%x: f32[2] user_input, %x: f32[2] user_input) { "
           "return () } }");
     }},
    {"P1_empty_name", "a value without a name", kInvalid, "a value without a name",
     [] { return std::string("program aten { graph(%\"\": f32[2] user_input)"); }},
    {"P2_deep_list", "lists of 1000 levels", kInvalid, "deeper than 64",
     [] {
       return "program aten { graph(%x: f32[2] user_input) { %y: f32[2] = a.b.c(" +
              Repeat("[", 1000) + Repeat("]", 1000) + ") return () } }";
     }},
    {"P2_deep_programs", "1000 nested programs", kInvalid, "deeper than 16",
     [] { return Repeat("program aten { module#0 backend \"b\" specs [] { ", 1000); }},
    {"P2_deep_expression", "an expression of 2000 brackets", kInvalid, "line 1",
     [] { return Input("f32[" + Repeat("(", 2000) + "s0" + Repeat(")", 2000) + "]"); }},
};

}  // namespace

std::vector<NegativeFile> TextFiles() { return FilesOf(kTexts, NegativeReader::kText, ".txt"); }

}  // namespace belay::fuzz
