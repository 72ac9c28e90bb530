#include "backends/cpu/aot/passes/fuse_attention.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/text.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

// Fuses a program with queries, keys and values [2,4,5,8], [2,4,6,8], [2,4,6,7] and a mask. Returns
// the remaining nodes.
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

// PyTorch's decomposition, with `scores` between the matmul %s and the softmax of %t.
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
// Rows that are entirely -inf yield zeros.
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

TEST(FuseAttention, FusesWithAMask) {
  EXPECT_EQ(Fused(Attention(kMasked, kSafe)), Result("%q, %k, %v, %m, 0.25, false, false"));
}

TEST(FuseAttention, FusesPlainSoftmaxWithoutAMask) {
  const std::string_view scores = "%t: f32[2,4,5,6] = edge.aten.div.Scalar(%s, 2.0)";
  EXPECT_EQ(Fused(Attention(scores, kSafe)), Result("%q, %k, %v, none, 0.125, false, false"));
  EXPECT_EQ(Fused(Attention(scores, kPlain)), Result("%q, %k, %v, none, 0.125, false, false"));
}

// Softmax makes NaN of rows that are all -inf.
TEST(FuseAttention, PlainSoftmaxWithAMaskHasNanRows) {
  EXPECT_EQ(Fused(Attention(kMasked, kPlain)), Result("%q, %k, %v, %m, 0.25, false, true"));
  EXPECT_EQ(Fused(Attention("%t: f32[2,4,5,6] = edge.aten.add.Tensor(%seen, %s)", kPlain)),
            Result("%q, %k, %v, %seen, 0.25, false, true"));
}

// A mask of 0 and -inf is passed as its condition.
TEST(FuseAttention, PassesConditions) {
  const auto masked = [](std::string_view visible, std::string_view hidden) {
    return absl::StrCat("%a: f32[] = edge.aten.full.default([], ", visible,
                        ") %b: f32[] = edge.aten.full.default([], ", hidden, R"()
      %c: f32[5,6] = edge.aten.where.self(%keep, %a, %b)
      %t: f32[2,4,5,6] = edge.aten.add.Tensor(%s, %c))");
  };
  EXPECT_EQ(Fused(Attention(masked("0.0", "-inf"), kSafe)),
            Result("%q, %k, %v, %keep, 0.25, false, false"));
  EXPECT_EQ(Fused(Attention(masked("0.0", "-inf"), kPlain)),
            Result("%q, %k, %v, %keep, 0.25, false, true"));
  for (const auto& [visible, hidden] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"0.0", "-1.0e+30"}, {"1.0", "-inf"}, {"-inf", "0.0"}, {"0.0", "inf"}}) {
    EXPECT_THAT(Fused(Attention(masked(visible, hidden), kPlain)),
                ::testing::HasSubstr("attention.default(%q, %k, %v, %c, 0.25, false, true)"));
  }
}

// nn.MultiheadAttention divides its projections into [batch * heads, length, size].
TEST(FuseAttention, FusesScoresThatAreReshapedForTheSoftmax) {
  const auto fused = [](std::string_view scores) {
    exir::ExportedProgram program = exir::ParseOrDie(absl::StrCat(R"(program edge {
      graph(%q: f32[8,5,8] user_input, %k: f32[8,6,8] user_input, %v: f32[8,6,7] user_input,
            %m: f32[5,6] user_input) {
        %kt: f32[8,8,6] = edge.aten.permute_copy.default(%k, [0,2,1])
        %p: f32[8,5,6] = edge.aten.bmm.default(%q, %kt)
        %s: f32[2,4,5,6] = edge.aten.view_copy.default(%p, [2,4,5,6]) )",
                                                                  scores, R"(
        %soft: f32[2,4,5,6] = edge.aten._softmax.default(%t, -1, false)
        %w: f32[8,5,6] = edge.aten.view_copy.default(%soft, [8,5,6])
        %o: f32[8,5,7] = edge.aten.bmm.default(%w, %v)
        return (%o user_output) } })"),
                                                     CpuPassTestOps());
    FusedHandles handles;
    EXPECT_OK(FuseAttention(handles).run(program).status());
    std::string text;
    for (exir::NodeId id : program.top().nodes()) {
      absl::StrAppend(&text, exir::PrintNode(program.top(), id), "\n");
    }
    return text;
  };
  EXPECT_EQ(fused("%t: f32[2,4,5,6] = edge.aten.mul.Scalar(%s, 0.5)"),
            "%o: f32[8,5,7] = backend.belay_cpu.attention.default(%q, %k, %v, none, 0.5, false, "
            "false)\n");
  EXPECT_THAT(fused("%t: f32[2,4,5,6] = edge.aten.add.Tensor(%s, %m)"),
              ::testing::HasSubstr("_softmax"));
}

TEST(FuseAttention, FusesFilledScores) {
  const std::string_view low = "%b: f32[] = edge.aten.full.default([], -inf) ";
  EXPECT_EQ(
      Fused(Attention(absl::StrCat(low, "%t: f32[2,4,5,6] = edge.aten.where.self(%keep, %s, %b)"),
                      kPlain)),
      Result("%q, %k, %v, %keep, 0.25, false, true"));
  EXPECT_EQ(
      Fused(Attention(absl::StrCat(low, "%t: f32[2,4,5,6] = edge.aten.where.self(%keep, %b, %s)"),
                      kPlain)),
      absl::StrCat("%mask: b8[5,6] = edge.aten.logical_not.default(%keep)\n",
                   Result("%q, %k, %v, %mask, 0.25, false, true")));
  // Other values, and a second mask.
  EXPECT_THAT(Fused(Attention("%b: f32[] = edge.aten.full.default([], -5.0) "
                              "%t: f32[2,4,5,6] = edge.aten.where.self(%keep, %s, %b)",
                              kPlain)),
              ::testing::HasSubstr("_softmax"));
  EXPECT_THAT(
      Fused(Attention(absl::StrCat(low,
                                   "%t1: f32[2,4,5,6] = edge.aten.where.self(%keep, %s, %b) "
                                   "%t: f32[2,4,5,6] = edge.aten.add.Tensor(%t1, %m)"),
                      kPlain)),
      ::testing::HasSubstr("_softmax"));
}

// Two masks, one of them under a reshape of the leading dimensions.
TEST(FuseAttention, AddsMasks) {
  const auto shifted = [](std::string_view mask) {
    return absl::StrCat("%a: f32[2,4,5,6] = edge.aten.add.Tensor(%s, %seen) ", mask, R"(
      %a5: f32[1,2,4,5,6] = edge.aten.view_copy.default(%a, [1,2,4,5,6])
      %b: f32[1,2,4,5,6] = edge.aten.add.Tensor(%a5, %m5)
      %t: f32[2,4,5,6] = edge.aten.view_copy.default(%b, [2,4,5,6]))");
  };
  EXPECT_EQ(
      Fused(Attention(shifted("%m5: f32[1,2,1,5,6] = edge.aten.view_copy.default(%m, [1,2,1,5,6])"),
                      kPlain)),
      absl::StrCat("%m5: f32[1,2,1,5,6] = edge.aten.view_copy.default(%m, [1,2,1,5,6])\n"
                   "%mask: f32[2,1,5,6] = edge.aten.view_copy.default(%m5, [2,1,5,6])\n"
                   "%mask_1: f32[2,1,5,6] = edge.aten.add.Tensor(%mask, %seen)\n",
                   Result("%q, %k, %v, %mask_1, 0.25, false, true")));
}

// Dimensions that a reshape merges are expanded first, unless the mask has none of them.
TEST(FuseAttention, ExpandsMasksUnderReshapes) {
  const auto fused = [](std::string_view mask) {
    return Fused(Attention(absl::StrCat(mask, R"(
      %a5: f32[2,2,2,5,6] = edge.aten.view_copy.default(%s, [2,2,2,5,6])
      %b: f32[2,2,2,5,6] = edge.aten.add.Tensor(%a5, %m5)
      %t: f32[2,4,5,6] = edge.aten.view_copy.default(%b, [2,4,5,6]))"),
                           kPlain));
  };
  EXPECT_EQ(fused("%m5: f32[1,2,1,5,1] = edge.aten.slice_copy.Tensor(%m, 0, 0, 1)"),
            absl::StrCat("%m5: f32[1,2,1,5,1] = edge.aten.slice_copy.Tensor(%m, start=0, end=1)\n"
                         "%mask: f32[1,2,2,5,1] = edge.aten.expand_copy.default(%m5, "
                         "[1,2,2,5,1])\n"
                         "%mask_1: f32[1,4,5,1] = edge.aten.view_copy.default(%mask, "
                         "[1,4,5,1])\n",
                         Result("%q, %k, %v, %mask_1, 0.25, false, true")));
  EXPECT_EQ(fused("%m5: f32[2,1,1,5,6] = edge.aten.unsqueeze_copy.default(%m, 1)"),
            absl::StrCat("%m5: f32[2,1,1,5,6] = edge.aten.unsqueeze_copy.default(%m, 1)\n"
                         "%mask: f32[2,1,5,6] = edge.aten.view_copy.default(%m5, [2,1,5,6])\n",
                         Result("%q, %k, %v, %mask, 0.25, false, true")));
}

TEST(FuseAttention, FindsCausalMasks) {
  const auto fused = [](std::string_view compare, std::string_view self, std::string_view other,
                        std::string_view start = "0", std::string_view weights = kSafe) {
    return Fused(Attention(absl::StrCat("%j: i64[6] = edge.aten.arange.start_step(", start, R"(, 6)
      %i0: i64[5] = edge.aten.arange.start_step(0, 5)
      %i: i64[5,1] = edge.aten.unsqueeze_copy.default(%i0, 1)
      %vis: b8[5,6] = edge.aten.)",
                                        compare, ") %a: f32[] = edge.aten.full.default([], ", self,
                                        ") %b: f32[] = edge.aten.full.default([], ", other, R"()
      %c: f32[5,6] = edge.aten.where.self(%vis, %a, %b)
      %t: f32[2,4,5,6] = edge.aten.add.Tensor(%s, %c))"),
                           weights));
  };
  const std::string causal = Result("%q, %k, %v, none, 0.25, true, false");
  EXPECT_EQ(fused("le.Tensor(%j, %i", "0.0", "-inf"), causal);
  EXPECT_EQ(fused("le.Tensor(%j, %i", "0.0", "-inf", "0", kPlain), causal);
  EXPECT_EQ(fused("le.Tensor(%j, %i", "0.0", "-3.4028234663852886e+38"), causal);
  EXPECT_EQ(fused("ge.Tensor(%i, %j", "0.0", "-inf"), causal);
  EXPECT_EQ(fused("gt.Tensor(%j, %i", "-inf", "0.0"), causal);
  EXPECT_EQ(fused("lt.Tensor(%i, %j", "-inf", "0.0"), causal);
  EXPECT_NE(fused("lt.Tensor(%j, %i", "0.0", "-inf"), causal);
  EXPECT_NE(fused("le.Tensor(%i, %j", "0.0", "-inf"), causal);
  EXPECT_NE(fused("le.Tensor(%j, %i", "-inf", "0.0"), causal);
  EXPECT_NE(fused("gt.Tensor(%j, %i", "0.0", "-inf"), causal);
  EXPECT_NE(fused("le.Tensor(%j, %i", "0.0", "-1.0e+30"), causal);
  EXPECT_NE(fused("le.Tensor(%j, %j", "0.0", "-inf"), causal);
  EXPECT_NE(fused("le.Tensor(%j, %i", "0.0", "-inf", "1"), causal);
}

// Sets the elements of a constant.
void SetConstant(exir::ExportedProgram& program, std::string_view name, const void* elements) {
  exir::ConstantTensor& tensor = program.constants.at(std::string(name));
  std::vector<std::byte> bytes(tensor.view().nbytes());
  std::memcpy(bytes.data(), elements, bytes.size());
  tensor = *exir::ConstantTensor::Contiguous(tensor.dtype(), tensor.sizes(),
                                             exir::Storage::Own(std::move(bytes)));
}

// Constants: float masks and conditions.
TEST(FuseAttention, FindsCausalConstants) {
  const auto fused = [](float hidden, int64_t diagonal, bool condition) {
    exir::ExportedProgram program = exir::ParseOrDie(
        absl::StrCat(R"(program edge { constants { constant "c": )", condition ? "b8" : "f32",
                     "[5,6] } graph(%c: ", condition ? "b8" : "f32", R"([5,6] tensor_constant "c",
          %q: f32[2,4,5,8] user_input, %k: f32[2,4,6,8] user_input,
          %v: f32[2,4,6,7] user_input) { )",
                     Attention(condition ? "%b: f32[] = edge.aten.full.default([], -inf) "
                                           "%t: f32[2,4,5,6] = edge.aten.where.self(%c, %s, %b)"
                                         : "%t: f32[2,4,5,6] = edge.aten.add.Tensor(%s, %c)",
                               kPlain),
                     " } }"),
        CpuPassTestOps());
    std::vector<float> mask;
    std::vector<uint8_t> bits;
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t j = 0; j < 6; ++j) {
        mask.push_back(j <= i + diagonal ? 0.0f : hidden);
        bits.push_back(j <= i + diagonal);
      }
    }
    SetConstant(program, "c", condition ? static_cast<const void*>(bits.data()) : mask.data());
    FusedHandles handles;
    EXPECT_TRUE(FuseAttention(handles).run(program).value_or(false));
    std::string text;
    for (exir::NodeId id : program.top().nodes()) {
      absl::StrAppend(&text, exir::PrintNode(program.top(), id));
    }
    return text.find("none, 0.25, true, false)") != std::string::npos;
  };
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(fused(-kInf, 0, false));
  EXPECT_TRUE(fused(-3.4028234663852886e+38f, 0, false));
  EXPECT_TRUE(fused(0, 0, true));
  EXPECT_FALSE(fused(-1e30f, 0, false));
  EXPECT_FALSE(fused(-kInf, 1, false));
  EXPECT_FALSE(fused(-kInf, -1, false));
  EXPECT_FALSE(fused(0, 1, true));
}

TEST(FuseAttention, DoesNotFuseSharedWeights) {
  EXPECT_THAT(Fused(absl::StrCat(
                  Attention(kMasked, kSafe).substr(0, Attention(kMasked, kSafe).rfind("return")),
                  "return (%z user_output, %w user_output)")),
              ::testing::HasSubstr("_softmax"));
}

TEST(FuseAttention, FusesGroupedQueryAttention) {
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
      %o: f32[s0,4,5,8] = backend.belay_cpu.attention.default(%q, %k, %v, none, 1.0, false, false)
      %y: f32[s0,20,8] = edge.aten.view_copy.default(%o, [%n,20,8])
      return (%y user_output) } })",
      CpuPassTestOps());
}

// The output of WidenProducts, with weights from `softmax` and a mask between float32 matmuls.
std::string WidenedAttention(std::string_view mask, std::string_view softmax) {
  return absl::StrCat(R"(program edge {
    graph(%q: bf16[2,4,5,8] user_input, %k: bf16[2,4,6,8] user_input, %v: bf16[2,4,6,7] user_input,
          %m: bf16[5,6] user_input, %keep: b8[5,6] user_input) {
      %qv: bf16[8,5,8] = edge.aten.view_copy.default(%q, [8,5,8])
      %kt: bf16[2,4,8,6] = edge.aten.permute_copy.default(%k, [0,1,3,2])
      %ks: bf16[2,4,8,6] = edge.aten.mul.Scalar(%kt, 0.5)
      %kv: bf16[8,8,6] = edge.aten.view_copy.default(%ks, [8,8,6])
      %qw: f32[8,5,8] = edge.dim_order_ops._to_dim_order_copy.default(%qv, dtype=dtype:f32, dim_order=[0,1,2])
      %kw: f32[8,8,6] = edge.dim_order_ops._to_dim_order_copy.default(%kv, dtype=dtype:f32, dim_order=[0,1,2])
      %pw: f32[8,5,6] = edge.aten.bmm.default(%qw, %kw)
      %p: bf16[8,5,6] = edge.dim_order_ops._to_dim_order_copy.default(%pw, dtype=dtype:bf16, dim_order=[0,1,2])
      %s: bf16[2,4,5,6] = edge.aten.view_copy.default(%p, [2,4,5,6])
      )",
                      mask, softmax, R"(
      %wv: bf16[8,5,6] = edge.aten.view_copy.default(%w, [8,5,6])
      %vv: bf16[8,6,7] = edge.aten.view_copy.default(%v, [8,6,7])
      %ww: f32[8,5,6] = edge.dim_order_ops._to_dim_order_copy.default(%wv, dtype=dtype:f32, dim_order=[0,1,2])
      %vw: f32[8,6,7] = edge.dim_order_ops._to_dim_order_copy.default(%vv, dtype=dtype:f32, dim_order=[0,1,2])
      %ow: f32[8,5,7] = edge.aten.bmm.default(%ww, %vw)
      %o: bf16[8,5,7] = edge.dim_order_ops._to_dim_order_copy.default(%ow, dtype=dtype:bf16, dim_order=[0,1,2])
      %y: bf16[2,4,5,7] = edge.aten.view_copy.default(%o, [2,4,5,7])
      %z: bf16[2,4,5,7] = edge.aten.abs.default(%y)
      return (%z user_output) } })");
}

constexpr std::string_view kSoftmaxOfVisibleRows = R"(
      %eq: b8[2,4,5,6] = edge.aten.eq.Scalar(%t, -inf)
      %ne: b8[2,4,5,6] = edge.aten.logical_not.default(%eq)
      %any: b8[2,4,5,1] = edge.aten.any.dim(%ne, -1, true)
      %none: b8[2,4,5,1] = edge.aten.logical_not.default(%any)
      %soft: bf16[2,4,5,6] = edge.aten._softmax.default(%t, -1, false)
      %zero: bf16[2,4,5,6] = edge.aten.full_like.default(%soft, 0)
      %w: bf16[2,4,5,6] = edge.aten.where.self(%none, %zero, %soft))";

// The operator widens keys and values.
TEST(FuseAttention, FusesBFloat16AsFloat32) {
  FusedHandles handles;
  exir::ExpectRewrite(
      WidenedAttention("%t: bf16[2,4,5,6] = edge.aten.add.Tensor(%s, %m)", kSoftmaxOfVisibleRows),
      FuseAttention(handles).run, R"(program edge {
    graph(%q: bf16[2,4,5,8] user_input, %k: bf16[2,4,6,8] user_input, %v: bf16[2,4,6,7] user_input,
          %m: bf16[5,6] user_input, %keep: b8[5,6] user_input) {
      %wide: f32[5,6] = edge.dim_order_ops._to_dim_order_copy.default(%m, dtype=dtype:f32, dim_order=[0,1])
      %wide_1: f32[2,4,5,8] = edge.dim_order_ops._to_dim_order_copy.default(%q, dtype=dtype:f32, dim_order=[0,1,2,3])
      %ow: f32[2,4,5,7] = backend.belay_cpu.attention.default(%wide_1, %k, %v, %wide, 0.5, false, false)
      %o: bf16[2,4,5,7] = edge.dim_order_ops._to_dim_order_copy.default(%ow, dtype=dtype:bf16, dim_order=[0,1,2,3])
      %z: bf16[2,4,5,7] = edge.aten.abs.default(%o)
      return (%z user_output) } })",
      CpuPassTestOps());
}

TEST(FuseAttention, WidensKeysAndValuesOfDifferentTypes) {
  FusedHandles handles;
  exir::ExpectRewrite(
      exir::Replaced(WidenedAttention("%t: bf16[2,4,5,6] = edge.aten.add.Tensor(%s, %m)",
                                      kSoftmaxOfVisibleRows),
                     {{"%v: bf16", "%v: f16"}, {"%vv: bf16", "%vv: f16"}}),
      FuseAttention(handles).run, R"(program edge {
    graph(%q: bf16[2,4,5,8] user_input, %k: bf16[2,4,6,8] user_input, %v: f16[2,4,6,7] user_input,
          %m: bf16[5,6] user_input, %keep: b8[5,6] user_input) {
      %wide: f32[5,6] = edge.dim_order_ops._to_dim_order_copy.default(%m, dtype=dtype:f32, dim_order=[0,1])
      %wide_1: f32[2,4,5,8] = edge.dim_order_ops._to_dim_order_copy.default(%q, dtype=dtype:f32, dim_order=[0,1,2,3])
      %wide_2: f32[2,4,6,8] = edge.dim_order_ops._to_dim_order_copy.default(%k, dtype=dtype:f32, dim_order=[0,1,2,3])
      %wide_3: f32[2,4,6,7] = edge.dim_order_ops._to_dim_order_copy.default(%v, dtype=dtype:f32, dim_order=[0,1,2,3])
      %ow: f32[2,4,5,7] = backend.belay_cpu.attention.default(%wide_1, %wide_2, %wide_3, %wide, 0.5, false, false)
      %o: bf16[2,4,5,7] = edge.dim_order_ops._to_dim_order_copy.default(%ow, dtype=dtype:bf16, dim_order=[0,1,2,3])
      %z: bf16[2,4,5,7] = edge.aten.abs.default(%o)
      return (%z user_output) } })",
      CpuPassTestOps());
}

TEST(FuseAttention, DoesNotFuseOtherMatmuls) {
  FusedHandles handles;
  exir::ExpectUnchanged(R"(program edge {
    graph(%q: f32[2,5,8] user_input, %k: f32[2,8,6] user_input, %v: f32[2,6,8] user_input) {
      %p: f32[2,5,6] = edge.aten.bmm.default(%q, %k)
      %w: f32[2,5,6] = edge.aten._softmax.default(%p, 1, false)
      %o: f32[2,5,8] = edge.aten.bmm.default(%w, %v)
      return (%o user_output) } })",
                        FuseAttention(handles).run, CpuPassTestOps());
}

// Whether the program with a mask is fused after these replacements.
bool IsFused(std::initializer_list<std::pair<std::string_view, std::string_view>> changes,
             std::string_view scores = kMasked, std::string_view weights = kSafe) {
  const std::string text = exir::Replaced(Attention(scores, weights), changes);
  return Fused(text).find("attention.default") != std::string::npos;
}

TEST(FuseAttention, FusesEquivalentOperators) {
  EXPECT_TRUE(IsFused({}));
  EXPECT_TRUE(IsFused({{"mul.Scalar(%q, 0.5)", "div.Scalar(%q, 2.0)"}}));
  EXPECT_TRUE(IsFused({{"_softmax.default(%t, -1", "_softmax.default(%t, 3"}}));
  EXPECT_TRUE(IsFused({{"any.dim(%ne, -1, true)", "any.dim(%ne, 3, true)"}}));
  EXPECT_TRUE(IsFused({{"full_like.default(%soft, 0)", "full.default([2,4,5,6], 0)"}}));
  EXPECT_TRUE(IsFused({{"%zero: f32[2,4,5,6] = edge.aten.full_like.default(%soft, 0)",
                        "%zero: f32[] = edge.aten.scalar_tensor.default(0.0)"}}));
  EXPECT_TRUE(
      IsFused({{"permute_copy.default(%k, [0,1,3,2])", "permute_copy.default(%k, [0,1,-1,-2])"}}));
  EXPECT_TRUE(IsFused({{"add.Tensor(%s, %m)", "add.Tensor(%m, %s)"}}));
}

TEST(FuseAttention, DoesNotFuseOtherPatterns) {
  for (const auto& [from, to] : std::vector<std::pair<std::string_view, std::string_view>>{
           // Scaled weights, or another function.
           {"%wv: f32[8,5,6] = edge.aten.view_copy.default(%w, [8,5,6])",
            "%w2: f32[2,4,5,6] = edge.aten.mul.Scalar(%w, 2.0) "
            "%wv: f32[8,5,6] = edge.aten.view_copy.default(%w2, [8,5,6])"},
           {"_softmax.default(%t, -1", "_softmax.default(%t, 2"},
           {"_softmax.default(%t, -1", "_log_softmax.default(%t, -1"},
           // Other values for empty rows, and other conditions.
           {"full_like.default(%soft, 0)", "full_like.default(%soft, 1)"},
           {"full_like.default(%soft, 0)", "abs.default(%soft)"},
           {"%none: b8[2,4,5,1] = edge.aten.logical_not.default(%any)",
            "%none: b8[2,4,5,1] = edge.aten.logical_and.default(%any, %any)"},
           {"any.dim(%ne, -1, true)", "any.dim(%ne, 2, true)"},
           {"%any: b8[2,4,5,1] = edge.aten.any.dim(%ne, -1, true)",
            "%any: b8[2,4,5] = edge.aten.any.dim(%ne, -1, false)"},
           {"%any: b8[2,4,5,1] = edge.aten.any.dim(%ne, -1, true)",
            "%any: b8[2,4,5,1] = edge.aten.all.dim(%ne, -1, true)"},
           {"%ne: b8[2,4,5,6] = edge.aten.logical_not.default(%eq)",
            "%ne: b8[2,4,5,6] = edge.aten.logical_and.default(%eq, %eq)"},
           {"eq.Scalar(%t, -inf)", "eq.Scalar(%t, 0.0)"},
           {"eq.Scalar(%t, -inf)", "eq.Scalar(%s, -inf)"},
           {"eq.Scalar(%t, -inf)", "ne.Scalar(%t, -inf)"},
           // Scores that are not a matmul or have another dtype, and scaled masks.
           {"add.Tensor(%s, %m)", "add.Tensor(%s, %m, alpha=2)"},
           {"add.Tensor(%s, %m)", "add.Tensor(%m, %m)"},
           {"add.Tensor(%s, %m)", "add.Tensor(%s, 3.0)"},
           {"add.Tensor(%s, %m)", "add.Tensor(3.0, %s)"},
           {"add.Tensor(%s, %m)", "mul.Tensor(%s, %m)"},
           {"f32[2,4,5,6] = edge.aten.add.Tensor(", "f64[2,4,5,6] = edge.aten.add.Tensor("},
           // Key factors that are not finite, 0, or not scalars.
           {"mul.Scalar(%kt, 0.5)", "mul.Scalar(%kt, inf)"},
           {"mul.Scalar(%kt, 0.5)", "mul.Scalar(%kt, 0.0)"},
           {"mul.Scalar(%kt, 0.5)", "mul.Tensor(%kt, %kt)"},
           // Keys that are not transposed.
           {"permute_copy.default(%k, [0,1,3,2])", "view_copy.default(%k, [2,4,8,6])"},
           {"permute_copy.default(%k, [0,1,3,2])", "permute_copy.default(%k, [1,0,3,2])"},
       }) {
    EXPECT_FALSE(IsFused({{from, to}})) << from << " -> " << to;
  }
}

// SimplifyQuantization moves the quantization of a linear layer's input to the matmul.
TEST(FuseAttention, FusesQuantizedResults) {
  const std::string text = exir::Replaced(
      Attention(kMasked, kSafe),
      {{"%y: f32[2,4,5,7] = edge.aten.view_copy.default(%o, [2,4,5,7])",
        R"(%b: u8[8,5,7] = edge.quantized_decomposed.quantize_per_tensor.default(%o, 0.5, 3, 0, 255, dtype:u8)
           %y: u8[2,4,5,7] = edge.aten.view_copy.default(%b, [2,4,5,7]))"},
       {"%z: f32[2,4,5,7] = edge.aten.abs.default(%y)",
        "%z: f32[2,4,5,7] = edge.quantized_decomposed.dequantize_per_tensor.default(%y, 0.5, 3, 0, "
        "255, dtype:u8)"}});
  EXPECT_THAT(
      Fused(text),
      ::testing::AllOf(
          ::testing::HasSubstr("belay_cpu.attention.default(%q, %k, %v, %m"),
          ::testing::HasSubstr("%b: u8[2,4,5,7] = edge.quantized_decomposed.quantize_per_tensor"),
          ::testing::HasSubstr("dequantize_per_tensor.default(%b, ")));
}

TEST(FuseAttention, RequiresReshapedResults) {
  const std::string_view reshape = "%y: f32[2,4,5,7] = edge.aten.view_copy.default(%o, [2,4,5,7])";
  EXPECT_FALSE(IsFused({{reshape, "%y: f32[8,5,7] = edge.aten.abs.default(%o)"}}));
  EXPECT_FALSE(IsFused({{reshape, "%y: f32[8,1,5,7] = edge.aten.unsqueeze_copy.default(%o, 1)"}}));
  EXPECT_FALSE(IsFused({{"return (%z user_output)", "return (%z user_output, %o user_output)"}}));
  // A returned reshape stays.
  EXPECT_TRUE(IsFused({{"return (%z user_output)", "return (%z user_output, %y user_output)"}}));
}

TEST(FuseAttention, DoesNotFuseUsedIntermediates) {
  EXPECT_FALSE(
      IsFused({{"return (%z user_output)", "return (%z user_output, %soft user_output)"}}));
  EXPECT_FALSE(IsFused({{"return (%z user_output)", "return (%z user_output, %wv user_output)"}}));
  // Scores may have other users: they are computed separately.
  EXPECT_TRUE(IsFused({{"return (%z user_output)", "return (%z user_output, %t user_output)"}}));
}

TEST(FuseAttention, DoesNotFuseOtherRepetitions) {
  // Repetitions of other dimensions than heads.
  EXPECT_FALSE(IsFused({{"%vv: f32[8,6,7] = edge.aten.view_copy.default(%v, [8,6,7])",
                         "%v1: f32[2,4,1,7] = edge.aten.slice_copy.Tensor(%v, 2, 0, 1) "
                         "%v2: f32[2,4,6,7] = edge.aten.expand_copy.default(%v1, [2,4,6,7]) "
                         "%v3: f32[2,1,6,7] = edge.aten.slice_copy.Tensor(%v2, 1, 0, 1) "
                         "%vv: f32[8,6,7] = edge.aten.expand_copy.default(%v3, [8,6,7])"}}));
  // Values with all heads, keys with fewer.
  EXPECT_FALSE(
      IsFused({{"permute_copy.default(%k, [0,1,3,2])", "permute_copy.default(%k2, [0,1,3,2])"},
               {"%kt: f32[2,4,8,6]",
                "%k1: f32[2,1,6,8] = edge.aten.slice_copy.Tensor(%k, 1, 0, 1) "
                "%k2: f32[2,4,6,8] = edge.aten.expand_copy.default(%k1, [2,4,6,8]) "
                "%kt: f32[2,4,8,6]"}}));
  // Queries shared by heads.
  EXPECT_FALSE(IsFused({{"mul.Scalar(%q, 0.5)", "mul.Scalar(%q2, 0.5)"},
                        {"%qs: f32[2,4,5,8]",
                         "%q1: f32[2,1,5,8] = edge.aten.slice_copy.Tensor(%q, 1, 0, 1) "
                         "%q2: f32[2,4,5,8] = edge.aten.expand_copy.default(%q1, [2,4,5,8]) "
                         "%qs: f32[2,4,5,8]"}}));
}

// Repeated rows are not repeated heads, although the sizes are equal.
TEST(FuseAttention, DoesNotFuseRepeatedRows) {
  EXPECT_FALSE(IsFused({{"%kt: f32[2,4,8,6] = edge.aten.permute_copy.default(%k, ",
                         "%k1: f32[2,2,6,8] = edge.aten.slice_copy.Tensor(%k, 1, 0, 2) "
                         "%k2: f32[2,2,6,1,8,1] = edge.aten.view_copy.default(%k1, [2,2,6,1,8,1]) "
                         "%k3: f32[2,2,6,2,8,1] = edge.aten.expand_copy.default(%k2, "
                         "[2,2,6,2,8,1]) "
                         "%k4: f32[2,4,6,8] = edge.aten.view_copy.default(%k3, [2,4,6,8]) "
                         "%kt: f32[2,4,8,6] = edge.aten.permute_copy.default(%k4, "},
                        {"%vv: f32[8,6,7] = edge.aten.view_copy.default(%v, ",
                         "%v1: f32[2,2,6,7] = edge.aten.slice_copy.Tensor(%v, 1, 0, 2) "
                         "%v2: f32[2,2,6,1,7,1] = edge.aten.view_copy.default(%v1, [2,2,6,1,7,1]) "
                         "%v3: f32[2,2,6,2,7,1] = edge.aten.expand_copy.default(%v2, "
                         "[2,2,6,2,7,1]) "
                         "%vv: f32[8,6,7] = edge.aten.view_copy.default(%v3, "}}));
}

// A repeated batch stays: only adjacent heads share keys.
TEST(FuseAttention, KeepsRepeatedBatches) {
  const auto program = [](std::string_view body) {
    return absl::StrCat(R"(program edge {
    graph(%q: f32[2,2,5,8] user_input, %k: f32[2,1,6,8] user_input, %v: f32[2,1,6,8] user_input) {
      %k1: f32[1,2,6,8] = edge.aten.view_copy.default(%k, [1,2,6,8])
      %k2: f32[2,2,6,8] = edge.aten.expand_copy.default(%k1, [2,2,6,8])
      %v1: f32[1,2,6,8] = edge.aten.view_copy.default(%v, [1,2,6,8])
      %v2: f32[2,2,6,8] = edge.aten.expand_copy.default(%v1, [2,2,6,8])
      )",
                        body, " return (%y user_output) } }");
  };
  FusedHandles handles;
  exir::ExpectRewrite(program(R"(%kt: f32[2,2,8,6] = edge.aten.permute_copy.default(%k2, [0,1,3,2])
      %kv: f32[4,8,6] = edge.aten.view_copy.default(%kt, [4,8,6])
      %qv: f32[4,5,8] = edge.aten.view_copy.default(%q, [4,5,8])
      %p: f32[4,5,6] = edge.aten.bmm.default(%qv, %kv)
      %s: f32[2,2,5,6] = edge.aten.view_copy.default(%p, [2,2,5,6])
      %w: f32[2,2,5,6] = edge.aten._softmax.default(%s, -1, false)
      %wv: f32[4,5,6] = edge.aten.view_copy.default(%w, [4,5,6])
      %vv: f32[4,6,8] = edge.aten.view_copy.default(%v2, [4,6,8])
      %o: f32[4,5,8] = edge.aten.bmm.default(%wv, %vv)
      %y: f32[2,10,8] = edge.aten.view_copy.default(%o, [2,10,8]))"),
                      FuseAttention(handles).run,
                      program("%o: f32[2,2,5,8] = backend.belay_cpu.attention.default(%q, %k2, "
                              "%v2, none, 1.0, false, false) "
                              "%y: f32[2,10,8] = edge.aten.view_copy.default(%o, [2,10,8])"),
                      CpuPassTestOps());
}

// Any number of expansions is supported.
TEST(FuseAttention, FindsMasksThroughManyExpansions) {
  std::string scores = "%e0: f32[6] = edge.aten.expand_copy.default(%seen, [6])\n";
  constexpr int kCount = 200'000;
  for (int i = 1; i < kCount; ++i) {
    absl::StrAppend(&scores, "%e", i, ": f32[6] = edge.aten.expand_copy.default(%e", i - 1,
                    ", [6])\n");
  }
  absl::StrAppend(&scores, "%t: f32[2,4,5,6] = edge.aten.add.Tensor(%s, %e", kCount - 1, ")");
  EXPECT_THAT(Fused(Attention(scores, kPlain)),
              ::testing::HasSubstr("attention.default(%q, %k, %v, %e"));
}

TEST(FuseAttention, DoesNotFuseOtherRanksAndDTypes) {
  EXPECT_FALSE(IsFused({{"f32[", "f64["}}));
  EXPECT_FALSE(IsFused({{"2,4,5,6]", "1,2,4,5,6]"}}));
  const std::string_view values = "%vv: f32[8,6,7] = edge.aten.view_copy.default(%v, [8,6,7])";
  EXPECT_FALSE(IsFused({{values, "%vv: f64[8,6,7] = edge.aten.abs.default(%v)"}}));
  EXPECT_FALSE(IsFused({{values,
                         "%v2: f64[2,4,6,7] = edge.aten.abs.default(%v) "
                         "%vv: f64[8,6,7] = edge.aten.view_copy.default(%v2, [8,6,7])"}}));
  EXPECT_FALSE(IsFused({{values,
                         "%v2: f32[6,7] = edge.aten.abs.default(%v) "
                         "%vv: f32[8,6,7] = edge.aten.expand_copy.default(%v2, [8,6,7])"}}));
  EXPECT_FALSE(IsFused({{values,
                         "%v1: f32[8,6,7] = edge.aten.view_copy.default(%v, [8,6,7]) "
                         "%vv: f32[8,6,7] = edge.aten.mul.Scalar(%v1, 2.0)"}}));
  EXPECT_FALSE(IsFused(
      {{"mul.Scalar(%q, 0.5)", "abs.default(%q)"}, {"%qs: f32[2,4,5,8]", "%qs: f32[4,2,5,8]"}}));
  EXPECT_FALSE(IsFused({{"%kt: f32[2,4,8,6] = edge.aten.permute_copy.default(%k, [0,1,3,2])",
                         "%kt: f32[2,4,8,6] = edge.aten.permute_copy.default(%k, [1,0])"}}));
}

TEST(FuseAttention, RequiresMasksAddedToScores) {
  EXPECT_FALSE(IsFused({},
                       "%m5: f32[1,2,1,5,6] = edge.aten.abs.default(%m) "
                       "%t: f32[2,4,5,6] = edge.aten.add.Tensor(%s, %m5)"));
  EXPECT_FALSE(IsFused({},
                       "%m64: f64[2,1,5,6] = edge.aten.abs.default(%m) "
                       "%t: f32[2,4,5,6] = edge.aten.add.Tensor(%s, %m64)"));
  EXPECT_FALSE(IsFused({{"%s: f32[2,4,5,6] = edge.aten.view_copy.default(%p, [2,4,5,6])",
                         "%s: f32[1,8,5,6] = edge.aten.view_copy.default(%p, [1,8,5,6])"}}));
}

// Heads without a batch.
TEST(FuseAttention, FusesRankThree) {
  const auto program = [](std::string_view heads, std::string_view body) {
    return exir::Replaced(absl::StrCat(R"(program edge {
    ranges { s0: [1,9] }
    graph(%q: f32[HEADS,5,8] user_input, %k: f32[HEADS,6,8] user_input, %v: f32[HEADS,6,7] user_input) {
      )",
                                       body, " return (%o user_output) } }"),
                          {{"HEADS", heads}});
  };
  constexpr std::string_view kBody =
      R"(%kt: f32[HEADS,8,6] = edge.aten.permute_copy.default(%k, [0,2,1])
      %p: f32[HEADS,5,6] = edge.aten.bmm.default(%q, %kt)
      %w: f32[HEADS,5,6] = edge.aten._softmax.default(%p, -1, false)
      %o: f32[HEADS,5,7] = edge.aten.bmm.default(%w, %v))";
  FusedHandles handles;
  exir::ExpectRewrite(program("4", kBody), FuseAttention(handles).run,
                      program("4",
                              "%o: f32[4,5,7] = backend.belay_cpu.attention.default(%q, %k, %v, "
                              "none, 1.0, false, false)"),
                      CpuPassTestOps());
  // The repetition is known only if the number of heads is.
  exir::ExpectUnchanged(program("s0", kBody), FuseAttention(handles).run, CpuPassTestOps());
}

}  // namespace
}  // namespace belay::cpu
