#include "backends/cpu/aot/passes/fuse_attention.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

// What is left of a program of queries, keys and values [2,4,5,8], [2,4,6,8], [2,4,6,7] and a mask.
std::string Fused(std::string_view body) {
  exir::ExportedProgram program = exir::ParseOrDie(absl::StrCat(R"(program edge {
    constants { constant "seen": f32[6] }
    graph(%seen: f32[6] tensor_constant "seen", %q: f32[2,4,5,8] user_input,
          %k: f32[2,4,6,8] user_input, %v: f32[2,4,6,7] user_input,
          %m: f32[2,1,5,6] user_input, %keep: b8[5,6] user_input) {
      )",
                                                                body, " } }"),
                                                   CpuPassTestOps());
  FusedHandles handles;
  const absl::StatusOr<bool> changed = FuseAttention(handles).run(program);
  if (!changed.ok()) return changed.status().ToString();
  std::string text;
  for (exir::NodeId id : program.top().nodes()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", exir::PrintNode(program.top(), id));
  }
  return text;
}

// As PyTorch decomposes it, with `scores` between the product %s and the softmax of %t.
std::string Attention(std::string_view scores, std::string_view weights) {
  return absl::StrCat(R"(
      %qs: f32[2,4,5,8] = edge.aten.mul.Scalar(%q, 0.5)
      %qv: f32[8,5,8] = edge.aten.view_copy.default(%qs, [8,5,8])
      %kt: f32[2,4,8,6] = edge.aten.permute_copy.default(%k, [0,1,3,2])
      %ks: f32[2,4,8,6] = edge.aten.mul.Scalar(%kt, 0.5)
      %kv: f32[8,8,6] = edge.aten.view_copy.default(%ks, [8,8,6])
      %p: f32[8,5,6] = edge.aten.bmm.default(%qv, %kv)
      %s: f32[2,4,5,6] = edge.aten.view_copy.default(%p, [2,4,5,6]) )",
                      scores, R"(
      %soft: f32[2,4,5,6] = edge.aten._softmax.default(%t, -1, false) )",
                      weights, R"(
      %wv: f32[8,5,6] = edge.aten.view_copy.default(%w, [8,5,6])
      %vv: f32[8,6,7] = edge.aten.view_copy.default(%v, [8,6,7])
      %o: f32[8,5,7] = edge.aten.bmm.default(%wv, %vv)
      %y: f32[2,4,5,7] = edge.aten.view_copy.default(%o, [2,4,5,7])
      %z: f32[2,4,5,7] = edge.aten.abs.default(%y)
      return (%z user_output) )");
}
constexpr std::string_view kMasked = "%t: f32[2,4,5,6] = edge.aten.add.Tensor(%s, %m)";
// Rows of nothing but -inf give zeros.
constexpr std::string_view kSafe = R"(
      %eq: b8[2,4,5,6] = edge.aten.eq.Scalar(%t, -inf)
      %ne: b8[2,4,5,6] = edge.aten.logical_not.default(%eq)
      %any: b8[2,4,5,1] = edge.aten.any.dim(%ne, -1, true)
      %none: b8[2,4,5,1] = edge.aten.logical_not.default(%any)
      %zero: f32[2,4,5,6] = edge.aten.full_like.default(%soft, 0)
      %w: f32[2,4,5,6] = edge.aten.where.self(%none, %zero, %soft) )";
constexpr std::string_view kPlain =
    "%w: f32[2,4,5,6] = edge.aten.view_copy.default(%soft, [2,4,5,6])";

std::string Result(std::string_view arguments) {
  return absl::StrCat("%o: f32[2,4,5,7] = backend.belay_cpu.attention.default(", arguments,
                      ")\n%z: f32[2,4,5,7] = edge.aten.abs.default(%o)");
}

TEST(FuseAttention, WithAMask) {
  EXPECT_EQ(Fused(Attention(kMasked, kSafe)), Result("%q, %k, %v, %m, 0.25, false"));
}

TEST(FuseAttention, WithoutAMaskAlsoOfPlainSoftmax) {
  const std::string_view scores = "%t: f32[2,4,5,6] = edge.aten.div.Scalar(%s, 2.0)";
  EXPECT_EQ(Fused(Attention(scores, kSafe)), Result("%q, %k, %v, none, 0.125, false"));
  EXPECT_EQ(Fused(Attention(scores, kPlain)), Result("%q, %k, %v, none, 0.125, false"));
}

TEST(FuseAttention, PlainSoftmaxWantsAMaskThatIsNeverMinusInfinity) {
  EXPECT_THAT(Fused(Attention(kMasked, kPlain)), ::testing::HasSubstr("_softmax"));
  EXPECT_THAT(Fused(Attention(R"(
      %low: f32[] = edge.aten.full.default([], -inf)
      %high: f32[] = edge.aten.full.default([], 0.0)
      %c: f32[5,6] = edge.aten.where.self(%keep, %high, %low)
      %t: f32[2,4,5,6] = edge.aten.add.Tensor(%s, %c))",
                              kPlain)),
              ::testing::HasSubstr("_softmax"));
  EXPECT_THAT(Fused(Attention(R"(
      %low: f32[] = edge.aten.full.default([], -1.0e+30)
      %high: f32[] = edge.aten.full.default([], 0.0)
      %c: f32[5,6] = edge.aten.where.self(%keep, %high, %low)
      %t: f32[2,4,5,6] = edge.aten.add.Tensor(%c, %s))",
                              kPlain)),
              ::testing::HasSubstr("attention.default(%q, %k, %v, %c, 0.25, false)"));
  // A constant of zeros.
  EXPECT_EQ(Fused(Attention("%t: f32[2,4,5,6] = edge.aten.add.Tensor(%s, %seen)", kPlain)),
            Result("%q, %k, %v, %seen, 0.25, false"));
}

TEST(FuseAttention, LeavesWeightsThatSomebodyElseReads) {
  EXPECT_THAT(Fused(absl::StrCat(
                  Attention(kMasked, kSafe).substr(0, Attention(kMasked, kSafe).rfind("return")),
                  "return (%z user_output, %w user_output)")),
              ::testing::HasSubstr("_softmax"));
}

TEST(FuseAttention, SeesKeysThatHeadsShare) {
  exir::ExpectRewrite(
      R"(program edge {
    ranges { s0: [1,9] }
    graph(%n: symint(s0) user_input, %q: f32[s0,4,5,8] user_input, %k: f32[s0,2,6,8] user_input,
          %v: f32[s0,2,6,8] user_input, %b: symint(4*s0) user_input) {
      %k1: f32[s0,2,1,6,8] = edge.aten.unsqueeze_copy.default(%k, 2)
      %k2: f32[s0,2,2,6,8] = edge.aten.expand_copy.default(%k1, [%n,2,2,6,8])
      %k3: f32[s0,4,6,8] = edge.aten.view_copy.default(%k2, [%n,4,6,8])
      %v1: f32[s0,2,1,6,8] = edge.aten.unsqueeze_copy.default(%v, 2)
      %v2: f32[s0,2,2,6,8] = edge.aten.expand_copy.default(%v1, [%n,2,2,6,8])
      %v3: f32[4*s0,6,8] = edge.aten.view_copy.default(%v2, [%b,6,8])
      %kt: f32[s0,4,8,6] = edge.aten.permute_copy.default(%k3, [0,1,3,2])
      %kv: f32[4*s0,8,6] = edge.aten.view_copy.default(%kt, [%b,8,6])
      %qv: f32[4*s0,5,8] = edge.aten.view_copy.default(%q, [%b,5,8])
      %p: f32[4*s0,5,6] = edge.aten.bmm.default(%qv, %kv)
      %s: f32[s0,4,5,6] = edge.aten.view_copy.default(%p, [%n,4,5,6])
      %w: f32[s0,4,5,6] = edge.aten._softmax.default(%s, 3, false)
      %wv: f32[4*s0,5,6] = edge.aten.view_copy.default(%w, [%b,5,6])
      %o: f32[4*s0,5,8] = edge.aten.bmm.default(%wv, %v3)
      %y: f32[s0,20,8] = edge.aten.view_copy.default(%o, [%n,20,8])
      return (%y user_output) } })",
      [](exir::ExportedProgram& program) {
        FusedHandles handles;
        return FuseAttention(handles).run(program);
      },
      R"(program edge {
    ranges { s0: [1,9] }
    graph(%n: symint(s0) user_input, %q: f32[s0,4,5,8] user_input, %k: f32[s0,2,6,8] user_input,
          %v: f32[s0,2,6,8] user_input, %b: symint(4*s0) user_input) {
      %o: f32[s0,4,5,8] = backend.belay_cpu.attention.default(%q, %k, %v, none, 1.0, false)
      %y: f32[s0,20,8] = edge.aten.view_copy.default(%o, [%n,20,8])
      return (%y user_output) } })",
      CpuPassTestOps());
}

TEST(FuseAttention, LeavesOtherProducts) {
  FusedHandles handles;
  exir::ExpectUnchanged(R"(program edge {
    graph(%q: f32[2,5,8] user_input, %k: f32[2,8,6] user_input, %v: f32[2,6,8] user_input) {
      %p: f32[2,5,6] = edge.aten.bmm.default(%q, %k)
      %w: f32[2,5,6] = edge.aten._softmax.default(%p, 1, false)
      %o: f32[2,5,8] = edge.aten.bmm.default(%w, %v)
      return (%o user_output) } })",
                        FuseAttention(handles).run, CpuPassTestOps());
}

}  // namespace
}  // namespace belay::cpu
