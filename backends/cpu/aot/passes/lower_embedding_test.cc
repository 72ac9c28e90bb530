#include "backends/cpu/aot/passes/lower_embedding.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/fused_handles.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "backends/cpu/aot/passes/lower_linear.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

// Runs LowerLinear and LowerEmbedding.
absl::StatusOr<bool> LowerBoth(exir::ExportedProgram& program) {
  FusedHandles handles;
  TiedTables tables;
  tables.AddTablesOf(program);
  ABSL_ASSIGN_OR_RETURN(const bool linear, LowerLinear(handles, nullptr, &tables).run(program));
  ABSL_ASSIGN_OR_RETURN(const bool embedding, LowerEmbedding(tables).run(program));
  return linear || embedding;
}

TEST(LowerEmbeddingTest, ReadsRowsOfThePackedWeight) {
  exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
  constants { state "w": f32[64,8] }
  graph(%w: f32[64,8] parameter "w", %i: i64[s0] user_input) {
    %e: f32[s0,8] = edge.aten.embedding.default(%w, %i)
    %t: f32[8,64] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[s0,64] = edge.aten.mm.default(%e, %t)
    return (%y user_output)
  }
})",
                                                   CpuPassTestOps());
  ASSERT_OK(LowerBoth(program).status());
  // Equal constants are stored once in a file.
  EXPECT_EQ(exir::PrintProgram(program), R"(program edge {
  constants {
    constant "w_packed0": f32[512]
    constant "w_packed1": f32[512]
  }
  graph(%w_packed0: f32[512] tensor_constant "w_packed0",
        %w_packed1: f32[512] tensor_constant "w_packed1",
        %i: i64[s0] user_input) {
    %e: f32[s0,8] = backend.belay_cpu.packed_embedding.default(%w_packed1, none, none, %i, 64, 8, "f32", 0)
    %y: f32[s0,64] = backend.belay_cpu.linear.default(%e, %w_packed0, none, none, 64, "none", "add", -inf, inf)
    return (%y user_output)
  }
}
)");
}

TEST(LowerEmbeddingTest, ReadsRowsOfQuantizedWeights) {
  const std::string before = R"(program edge {
  constants { state "s": f32[64,2] state "w": i8[64,32] state "z": f32[64,2] }
  graph(%s: f32[64,2] buffer "s", %w: i8[64,32] buffer "w", %z: f32[64,2] buffer "z", %i: i64[3] user_input) {
    %e: f32[3,32] = edge.quantized_decomposed.embedding_byte.default(%w, %s, %z, -128, 127, %i)
    %d: f32[64,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %s, none, -128, 127, dtype:i8, 16, dtype:f32)
    %t: f32[32,64] = edge.aten.permute_copy.default(%d, [1,0])
    %y: f32[3,64] = edge.aten.mm.default(%e, %t)
    return (%y user_output)
  }
})";
  for (const auto& [number, layout] : {std::pair(9, "int8"), {5, "int4"}}) {
    exir::ExportedProgram program = exir::ParseOrDie(before, CpuPassTestOps());
    Fill(program, {.i8 = static_cast<int8_t>(number)});
    ASSERT_OK(LowerBoth(program).status());
    const std::string text = exir::PrintProgram(program);
    EXPECT_THAT(text, ::testing::HasSubstr(absl::StrCat("%i, 64, 32, \"", layout, "\", 16)")))
        << text;
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("embedding_byte")));
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("state \"w\"")));
  }
}

// A table that no matmul packs, a part of one, its transpose, a small one, groups that are not a
// multiple of 8, and scales that are not constant.
TEST(LowerEmbeddingTest, KeepsOtherTables) {
  const auto program = [](std::string_view inputs, std::string_view nodes) {
    return absl::StrCat(R"(program edge {
  constants { state "w": f32[64,64] state "v": f32[65,64] state "q": i8[64,24] state "s": f32[64,2] state "u": f32[4,4] }
  graph(%w: f32[64,64] parameter "w", %v: f32[65,64] parameter "v", %q: i8[64,24] buffer "q", %s: f32[64,2] buffer "s",
        %u: f32[4,4] parameter "u", %i: i64[3] user_input, %x: f32[3,64] user_input, %g: f32[64,1] user_input)",
                        std::string(inputs), ") {\n", std::string(nodes),
                        "return (%e user_output, %y user_output) } }");
  };
  for (
      const std::string_view nodes : {
          R"(%e: f32[3,64] = edge.aten.embedding.default(%v, %i)
              %t: f32[64,64] = edge.aten.permute_copy.default(%w, [1,0])
              %y: f32[3,64] = edge.aten.mm.default(%x, %t)
)",
          R"(%e: f32[3,64] = edge.aten.embedding.default(%w, %i)
              %y: f32[3,64] = edge.aten.mm.default(%x, %w)
)",
          R"(%e: f32[3,4] = edge.aten.embedding.default(%u, %i)
              %t: f32[4,4] = edge.aten.permute_copy.default(%u, [1,0])
              %y: f32[3,4] = edge.aten.mm.default(%e, %t)
)",
          R"(%e: f32[3,24] = edge.quantized_decomposed.embedding_byte.default(%q, %s, none, -128, 127, %i)
              %d: f32[64,24] = edge.quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 3, -128, 127, dtype:i8)
              %t: f32[24,64] = edge.aten.permute_copy.default(%d, [1,0])
              %y: f32[3,64] = edge.aten.mm.default(%e, %t)
)",
          R"(%e: f32[3,24] = edge.quantized_decomposed.embedding_byte.default(%q, %g, none, -128, 127, %i)
              %d: f32[64,24] = edge.quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 3, -128, 127, dtype:i8)
              %t: f32[24,64] = edge.aten.permute_copy.default(%d, [1,0])
              %y: f32[3,64] = edge.aten.mm.default(%e, %t)
)",
      }) {
    SCOPED_TRACE(nodes);
    exir::ExportedProgram parsed = exir::ParseOrDie(program("", nodes), CpuPassTestOps());
    Fill(parsed, {});
    ASSERT_OK(LowerBoth(parsed).status());
    EXPECT_THAT(exir::PrintProgram(parsed),
                ::testing::Not(::testing::HasSubstr("packed_embedding")));
  }
}

// A layout that a matmul of another partition has.
TEST(LowerEmbeddingTest, UsesLayoutsOfOtherPartitions) {
  exir::ExportedProgram head = exir::ParseOrDie(R"(program edge {
  constants { state "w": f32[64,8] }
  graph(%w: f32[64,8] parameter "w", %x: f32[3,8] user_input) {
    %t: f32[8,64] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[3,64] = edge.aten.mm.default(%x, %t)
    return (%y user_output) } })",
                                                CpuPassTestOps());
  exir::ExportedProgram table = exir::ParseOrDie(R"(program edge {
  constants { state "w": f32[64,8] }
  graph(%w: f32[64,8] parameter "w", %i: i64[3] user_input) {
    %e: f32[3,8] = edge.aten.embedding.default(%w, %i)
    return (%e user_output) } })",
                                                 CpuPassTestOps());
  TiedTables tables;
  EXPECT_FALSE(tables.AddTablesOf(head));
  EXPECT_TRUE(tables.AddTablesOf(table));
  EXPECT_TRUE(tables.HasMatmulOf(head));
  EXPECT_FALSE(tables.HasMatmulOf(table));
  FusedHandles handles;
  TiedTables found = tables;
  ASSERT_OK(LowerLinear(handles, nullptr, &found).run(head).status());
  ASSERT_OK_AND_ASSIGN(const bool before, LowerEmbedding(tables).run(table));
  EXPECT_FALSE(before);
  tables.Merge(found);
  ASSERT_OK_AND_ASSIGN(const bool after, LowerEmbedding(tables).run(table));
  EXPECT_TRUE(after);
  EXPECT_EQ(head.constants.at("w_packed0").view().nbytes(),
            table.constants.at("w_packed0").view().nbytes());
}

}  // namespace
}  // namespace belay::cpu
