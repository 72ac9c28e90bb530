#include <memory>
#include <string>
#include <utility>

#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/round_trip.h"
#include "exir/testing/test_ops.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

TEST(Equal, SeesEveryDifference) {
  const std::string text = R"(program aten {
    ranges { s0: [1, 8] }
    hints { s0: 4 }
    in_spec "i"
    out_spec "o"
    guards { "g" }
    constants { state "w": f32[2] constant "c": f32[2] shares state "w" }
    graph top(%w: f32[2] parameter "w", %x: f32[s0] user_input) {
      %a: f32[s0] = zoo.op.default(k=%x, 1, 2.0)  @"f.py":3 module="m" module_type="M" function="F" origin="o" handle=1 tag="t"
      %b: f32[s0], none, [%d: f32[2]] = zoo.op.default(%x, [%w], {"k": %x}, graph#1)
      return (%a user_output, %w user_output)
    }
    graph body(%x: f32[s0]) { return (%x) }
    module#0 backend "b" specs ["k": "v"] {
      blob "AAAA" buffer "AAAB" data "d": buffer#0 align 4 layout i8[4] order [0]
      external "t" data "e": buffer#0 align 8 handles 1: [2] info "n"
      program edge { graph() { return () } }
    }
  })";
  const ExportedProgram program = ParseOrDie(text, TestOps());
  ExpectRoundTrip(program);
  const std::pair<std::string, std::string> changes[] = {
      {"program aten", "program training"},
      {"[1, 8]", "[1, 9]"},
      {"s0: 4", "s0: 5"},
      {"in_spec \"i\"", ""},
      {"out_spec \"o\"", "out_spec \"p\""},
      {"\"g\" }", "\"h\" }"},
      {"\"w\": f32[2]", "\"w\": f64[2]"},
      {"\"w\": f32[2]", "\"w\": f32[3]"},
      {"\"w\": f32[2]", "\"w\": f32[2]{strides=[2]}"},
      {"\"w\": f32[2]", "\"w\": f32[2]{offset=1}"},
      {" shares state \"w\"", ""},
      {"graph top", "graph pot"},
      {"%w: f32[2] parameter", "%w: f32[2] buffer"},
      {"parameter \"w\"", "parameter \"v\""},
      {"parameter \"w\"", "parameter \"w\" nonpersistent"},
      {"%x: f32[s0] user_input", "%x: f32[s0]{grad} user_input"},
      {"%a: f32[s0]", "%a: f32[s0]{offset=1}"},
      {"zoo.op", "zoo.pop"},
      {"k=%x", "j=%x"},
      {"k=%x", "k=%w"},
      {"1, 2.0", "2, 2.0"},
      {"2.0)", "2)"},
      {"f.py", "g.py"},
      {":3 module", ":4 module"},
      {"module=\"m\"", ""},
      {"module_type=\"M\"", "module_type=\"N\""},
      {"function=\"F\"", ""},
      {"origin=\"o\"", "origin=\"p\""},
      {"handle=1", "handle=2"},
      {"tag=\"t\"", ""},
      {"tag=\"t\"", "tag=\"t\" name=\"node\""},
      {"none, [%d", "[%d"},
      {"[%d: f32[2]]", "%d: f32[2]"},
      {"[%w], {", "%w, {"},
      {"\"k\": %x", "\"l\": %x"},
      {"\"k\": %x", "\"k\": %w"},
      {"graph#1", "graph#0"},
      {"%w user_output", "%x user_output"},
      {"%a user_output", "%a loss_output"},
      {"%a user_output", "%a user_output \"x\""},
      {"graph body", "graph bodies"},
      {"return (%x) }", "return (none) }"},
      {"backend \"b\"", "backend \"c\""},
      {"\"k\": \"v\"", "\"k\": \"w\""},
      {"AAAA", "AAAC"},
      {"AAAB", "AAAC"},
      {"align 4", "align 2"},
      {"i8[4]", "i8[5]"},
      {" layout i8[4] order [0]", ""},
      {"data \"d\"", "data \"f\""},
      {"external \"t\" data \"e\"", "external \"t\" data \"g\""},
      {"1: [2]", "1: [3]"},
      {"1: [2]", "\"1\": [2]"},
      {"info \"n\"", ""},
      {"program edge", "program aten"}};
  for (const auto& [from, to] : changes) {
    std::string other = text;
    const size_t place = other.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    other.replace(place, from.size(), to);
    absl::StatusOr<ExportedProgram> changed = ParseProgram(other, TestOps());
    ASSERT_TRUE(changed.ok()) << changed.status() << from;
    EXPECT_FALSE(Equal(program, *changed)) << from << " → " << to;
    EXPECT_FALSE(Equal(*changed, program)) << from << " → " << to;
    EXPECT_NE(PrintProgram(program), PrintProgram(*changed)) << from << " → " << to;
    ExpectRoundTrip(*changed);
  }
}

TEST(Equal, SeesDifferencesOfEachSize) {
  const std::string text = R"(program aten {
    constants { state "a": f32[2] constant "c": f32[2] constant "e": f32[0] }
    graph(%x: f32[2] user_input) {
      %a: f32[2] = zoo.op.default(1, 2)
      [%b: f32[2]] = zoo.op.default({"k": 1})
      return (%x user_output)
    }
    graph body(%u: f32[2]) { return (%u) }
    module#0 backend "b" specs [] {
      buffer "AAAA" buffer "AAAB" data "d": buffer#0 align 4
      external "t" data "e": buffer#0 align 8
      program edge { graph() { return () } }
    }
  })";
  const ExportedProgram program = ParseOrDie(text, TestOps());
  const std::pair<std::string, std::string> changes[] = {
      {"constant \"c\"", "constant \"d\""},
      {"state \"a\": f32[2]", ""},
      {" constant \"e\": f32[0]", ""},
      {"user_input)", "user_input, %y: f32[2] user_input)"},
      {"%x user_output", "%x user_output, 1 user_output"},
      {"[%b: f32[2]] = zoo.op.default({\"k\": 1})", ""},
      {"[%b: f32[2]]", "[%b: f32[2], %c: f32[2]]"},
      {"[%b: f32[2]]", "[]"},
      {"(1, 2)", "(1)"},
      {"(1, 2)", "(1, 2, 3)"},
      {"{\"k\": 1}", "{}"},
      {"body(%u: f32[2]) { return (%u) }", "body(%v: f32[2]) { return (%v) }"},
      {"body(%u: f32[2]) { return (%u) }", "body(%u: f32[2]) { return () }"},
      {"body(%u: f32[2]) { return (%u) }", "body(%u: f32[2], %v: f32[2]) { return (%u) }"},
      {"graph body(%u: f32[2]) { return (%u) }", ""},
      {"data \"d\": buffer#0", "data \"d\": buffer#1"},
      {"buffer \"AAAB\"", ""},
      {"data \"d\": buffer#0 align 4", ""},
      {"external \"t\" data \"e\": buffer#0 align 8", "external \"t\""},
      {"external \"t\"", "external \"u\""},
      {"external \"t\" data \"e\": buffer#0 align 8", ""},
  };
  for (const auto& [from, to] : changes) {
    std::string other = text;
    const size_t place = other.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    other.replace(place, from.size(), to);
    const ExportedProgram changed = ParseOrDie(other, TestOps());
    EXPECT_FALSE(Equal(program, changed)) << from << " → " << to;
    EXPECT_FALSE(Equal(changed, program)) << from << " → " << to;
    ExpectRoundTrip(changed);
  }
}

TEST(Equal, AcceptsBrokenPrograms) {
  ExportedProgram program = ParseOrDie(R"(program aten { graph(%y: f32[2,3] user_input) {
    %r: f32[2,3] = aten.relu.default(%y)
    return () } })",
                                       TestOps());
  const ExportedProgram whole = program.Clone();
  GraphEditor(program.top()).SetTarget(program.top().first(), nullptr);
  EXPECT_TRUE(Equal(program, program.Clone()));
  EXPECT_FALSE(Equal(program, whole));
  EXPECT_FALSE(Equal(whole, program));

  ExportedProgram undefined = whole.Clone(), other = whole.Clone();
  GraphEditor(undefined.top()).SetOutputs({ValueId(77)});
  GraphEditor(other.top()).SetOutputs({ValueId(78)});
  EXPECT_TRUE(Equal(undefined, undefined.Clone()));
  EXPECT_FALSE(Equal(undefined, other));

  ExportedProgram without = whole.Clone(), with = whole.Clone();
  without.lowered_modules.push_back(nullptr);
  with.lowered_modules.push_back(
      std::make_shared<const LoweredBackendModule>("b", ExportedProgram(&TestOps())));
  EXPECT_TRUE(Equal(without, without.Clone()));
  EXPECT_FALSE(Equal(without, with));
  EXPECT_FALSE(Equal(with, without));
  EXPECT_FALSE(Equal(without, whole));
}

}  // namespace
}  // namespace belay::exir
