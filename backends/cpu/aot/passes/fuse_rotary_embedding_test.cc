#include "backends/cpu/aot/passes/fuse_rotary_embedding.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/graph_editor.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string Program(std::string_view nodes) {
  return absl::StrCat(R"(program edge {
      graph(%x: f32[1,4,3,8] user_input, %z: f32[1,4,3,8] user_input, %c: f32[3,4] user_input,
            %s: f32[3,4] user_input, %C: f32[1,1,3,8] user_input, %S: f32[1,1,3,8] user_input) { )",
                      nodes, " return (%o user_output) } }");
}
void ExpectFused(std::string_view before, std::string_view angles) {
  FusedHandles handles;
  exir::ExpectRewrite(
      Program(before), FuseRotaryEmbedding(handles).run,
      Program(absl::StrCat("%o: f32[1,4,3,8] = backend.belay_cpu.rotary_embedding.default(%x, ",
                           angles, ")")),
      CpuPassTestOps());
}
void ExpectLeft(std::string_view nodes) {
  FusedHandles handles;
  exir::ExpectUnchanged(Program(nodes), FuseRotaryEmbedding(handles).run, CpuPassTestOps());
}

const std::string& Split() {
  static const std::string& text = *new std::string(
      "[%a: f32[1,4,3,4], %b: f32[1,4,3,4]] = "
      "edge.aten.split_with_sizes_copy.default(%x, [4,4], 3) ");
  return text;
}
const std::string& Sliced() {
  static const std::string& text = *new std::string(
      "%a: f32[1,4,3,4] = edge.aten.slice_copy.Tensor(%x, -1, 0, 4) "
      "%b: f32[1,4,3,4] = edge.aten.slice_copy.Tensor(%x, 3, 4, 9223372036854775807) ");
  return text;
}
constexpr std::string_view kHalves =
    "%ac: f32[1,4,3,4] = edge.aten.mul.Tensor(%a, %c) "
    "%bs: f32[1,4,3,4] = edge.aten.mul.Tensor(%b, %s) "
    "%as: f32[1,4,3,4] = edge.aten.mul.Tensor(%s, %a) "
    "%bc: f32[1,4,3,4] = edge.aten.mul.Tensor(%b, %c) "
    "%d: f32[1,4,3,4] = edge.aten.sub.Tensor(%ac, %bs) "
    "%e: f32[1,4,3,4] = edge.aten.add.Tensor(%bc, %as) "
    "%o: f32[1,4,3,8] = edge.aten.cat.default([%d,%e], -1)";
constexpr std::string_view kWhole =
    "%n: f32[1,4,3,4] = edge.aten.neg.default(%b) "
    "%t: f32[1,4,3,8] = edge.aten.cat.default([%n,%a], 3) "
    "%xc: f32[1,4,3,8] = edge.aten.mul.Tensor(%x, %C) "
    "%ts: f32[1,4,3,8] = edge.aten.mul.Tensor(%t, %S) "
    "%o: f32[1,4,3,8] = edge.aten.add.Tensor(%xc, %ts)";
std::string With(std::string_view text, std::string_view from, std::string_view to) {
  return exir::Replaced(text, {{from, to}});
}

TEST(FuseRotaryEmbedding, FusesHalves) {
  ExpectFused(Split() + std::string(kHalves), "%c, %s");
  ExpectFused(Sliced() + std::string(kHalves), "%c, %s");
  ExpectFused(Split() + With(kHalves, "add.Tensor(%bc, %as)", "add.Tensor(%as, %bc)"), "%c, %s");
}

TEST(FuseRotaryEmbedding, FusesWholeRows) {
  ExpectFused(Sliced() + std::string(kWhole), "%C, %S");
  ExpectFused(Split() + With(kWhole, "add.Tensor(%xc, %ts)", "add.Tensor(%ts, %xc)"), "%C, %S");
  ExpectFused(Split() + With(With(kWhole, "(%x, %C)", "(%C, %x)"), "(%t, %S)", "(%S, %t)"),
              "%C, %S");
}

TEST(FuseRotaryEmbedding, KeepsHandlesOfFusedNodes) {
  for (const std::string_view rest : {kHalves, kWhole}) {
    FusedHandles handles;
    exir::ExportedProgram program =
        exir::ParseOrDie(Program(Split() + std::string(rest)), CpuPassTestOps());
    exir::GraphEditor editor(program.top());
    std::vector<int64_t> all;
    for (exir::NodeId id : program.top().NodeList()) {
      all.push_back(static_cast<int64_t>(all.size()) + 1);
      editor.SetDebugHandle(id, all.back());
    }
    ASSERT_TRUE(FuseRotaryEmbedding(handles).run(program).ok());
    EXPECT_THAT(handles.MapOf(program).value(), UnorderedElementsAre(Pair(all.back(), all)));
  }
}

TEST(FuseRotaryEmbedding, DoesNotFuseOtherDTypesAndScalars) {
  FusedHandles handles;
  std::string text = Program(Split() + std::string(kHalves));
  exir::ExpectUnchanged(With(text, "f32", "f64"), FuseRotaryEmbedding(handles).run,
                        CpuPassTestOps());
  exir::ExpectUnchanged(
      "program edge { graph(%x: f32[] user_input, %c: f32[] user_input) { "
      "%a: f32[] = edge.aten.mul.Tensor(%x, %c) %b: f32[] = edge.aten.neg.default(%a) "
      "%o: f32[] = edge.aten.add.Tensor(%a, %b) return (%o user_output) } }",
      FuseRotaryEmbedding(handles).run, CpuPassTestOps());
}

// Unverified programs may contain anything.
TEST(FuseRotaryEmbedding, DoesNotFuseNonTensors) {
  FusedHandles handles;
  for (std::string_view pieces : {"[%d,3]", "[3,%e]"}) {
    ExpectLeftAsItIs(Program(Split() + With(kHalves, "[%d,%e]", pieces)),
                     FuseRotaryEmbedding(handles).run);
  }
}

TEST(FuseRotaryEmbedding, DoesNotFuseOtherPatterns) {
  const std::string halves = Split() + std::string(kHalves), whole = Split() + std::string(kWhole);
  // Other signs, factors, halves, orders.
  ExpectLeft(With(halves, "add.Tensor(%bc, %as)", "sub.Tensor(%bc, %as)"));
  ExpectLeft(With(halves, "sub.Tensor(%ac, %bs)", "sub.Tensor(%bs, %ac)"));
  ExpectLeft(With(halves, "sub.Tensor(%ac, %bs)", "sub.Tensor(%ac, %bs, alpha=2)"));
  ExpectLeft(With(halves, "mul.Tensor(%b, %c)", "mul.Tensor(%b, %s)"));
  ExpectLeft(With(halves, "mul.Tensor(%b, %s)", "mul.Tensor(%a, %s)"));
  ExpectLeft(With(halves, "[%d,%e]", "[%e,%d]"));
  ExpectLeft(With(whole, "[%n,%a]", "[%a,%n]"));
  ExpectLeft(With(whole, "neg.default(%b)", "neg.default(%a)"));
  ExpectLeft(With(whole, "neg.default", "abs.default"));
  ExpectLeft(With(whole, "mul.Tensor(%x, %C)", "mul.Tensor(%z, %C)"));
  ExpectLeft(With(whole, "add.Tensor(%xc, %ts)", "add.Tensor(%xc, %ts, alpha=2)"));
  // Pieces of other rows, and not in the middle.
  ExpectLeft(With(Sliced(), "(%x, 3, 4", "(%z, 3, 4") + std::string(kWhole));
  ExpectLeft(With(Sliced(), "%x, 3, 4, 9223372036854775807", "%x, 3, 2, 6") + std::string(kWhole));
  // Every second element, the middle of three pieces, and operands that are not halves or products.
  ExpectLeft(With(Sliced(), "(%x, -1, 0, 4)", "(%x, 3, 0, 8, 2)") + std::string(kHalves));
  ExpectLeft(
      "%a: f32[1,4,3,4] = edge.aten.slice_copy.Tensor(%x, -1, 0, 4) "
      "[%u: f32[1,4,3,2], %b: f32[1,4,3,4], %v: f32[1,4,3,2]] = "
      "edge.aten.split_with_sizes_copy.default(%x, [2,4,2], 3) " +
      std::string(kHalves));
  ExpectLeft(With(With(halves, "mul.Tensor(%a, %c)", "mul.Tensor(%y, %c)"),
                  "%ac:", "%y: f32[1,4,3,4] = edge.aten.abs.default(%a) %ac:"));
  ExpectLeft(With(halves, "mul.Tensor(%a, %c)", "div.Tensor(%a, %c)"));
  // Concatenations of one or other rows.
  ExpectLeft("%o: f32[1,4,3,8] = edge.aten.cat.default([%x], -1)");
  ExpectLeft(With(whole, "cat.default([%n,%a], 3)", "cat.default([%x], 3)"));
  // Angles of more dimensions.
  ExpectLeft(
      With(With(With(With(whole, "%xc: f32[1,4,3,8]", "%xc: f32[2,1,4,3,8]"), "%C)", "%D)"),
                "%o: f32[1,4,3,8]", "%o5: f32[2,1,4,3,8]"),
           "%n: ", "%D: f32[2,1,1,3,8] = edge.aten.expand_copy.default(%C, [2,1,1,3,8]) %n: ") +
      " %o: f32[1,4,3,8] = edge.aten.select_copy.int(%o5, 0, 0)");
  // Angles with one element.
  ExpectLeft(With(With(With(whole, "%S)", "%q)"), "%C)", "%q)"), "%n: ",
                  "%q: f32[1,4,3,1] = "
                  "edge.aten.slice_copy.Tensor(%x, 3, 0, 1) %n: "));
  ExpectLeft(With(With(whole, "%S)", "%q)"), "%n: ",
                  "%q: f32[1,4,3,1] = "
                  "edge.aten.slice_copy.Tensor(%x, 3, 0, 1) %n: "));
}

}  // namespace
}  // namespace belay::cpu
