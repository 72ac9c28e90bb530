#include "backends/cpu/aot/cpu_backend.h"

#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

using ::testing::HasSubstr;

// A matmul with a weight of 32 columns: one panel.
exir::ExportedProgram Product(int rows) {
  return exir::ParseOrDie(
      absl::StrCat("program edge { constants { constant \"w\": f32[", rows, ",32] } graph(%w: f32[",
                   rows, ",32] tensor_constant \"w\", %x: f32[2,", rows,
                   "] user_input) { %y: f32[2,32] = edge.aten.mm.default(%x, %w) "
                   "return (%y user_output) } }"),
      CpuPassTestOps());
}

TEST(CpuBackend, SharesConstantsOf1024Bytes) {
  const auto shared = [](int rows) {
    const absl::StatusOr<exir::PreprocessResult> result =
        CpuBackend().Preprocess(Product(rows), {});
    EXPECT_OK(result);
    return result->named_data.buffers.size();
  };
  EXPECT_EQ(shared(7), 0u);  // 896 bytes
  EXPECT_EQ(shared(8), 1u);
}

TEST(CpuBackend, RejectsUnknownCompileSpecs) {
  const exir::CompileSpec spec = {.key = "speed", .value = "10"};
  EXPECT_THAT(CpuBackend().Preprocess(Product(8), {spec}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("compile spec 'speed'")));
}

// A linear layer of `rows` rows with int4 weights.
exir::ExportedProgram Int4Linear(std::string_view rows) {
  exir::ExportedProgram program = exir::ParseOrDie(
      absl::StrCat(R"(program edge { constants { state "w": i8[8,32] state "s": f32[8,1] }
        ranges { s0: [1,99] }
        graph(%w: i8[8,32] parameter "w", %s: f32[8,1] parameter "s", %x: f32[)",
                   rows, R"(,32] user_input) {
          %d: f32[8,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(
              %w, %s, none, -8, 7, dtype:i8, 32, dtype:f32)
          %t: f32[32,8] = edge.aten.permute_copy.default(%d, [1,0])
          %y: f32[)",
                   rows, ",8] = edge.aten.mm.default(%x, %t) return (%y user_output) } }"),
      CpuPassTestOps());
  Fill(program, {.i8 = 3});
  return program;
}

// Whether the first of the methods, with these numbers of rows, quantizes its rows.
bool QuantizesRows(absl::Span<const std::string_view> rows) {
  exir::MethodPartitions methods;
  for (const std::string_view count : rows) {
    methods.emplace_back(absl::StrCat("rows_", count), std::vector<exir::PartitionInput>());
    methods.back().second.push_back({Int4Linear(count), {}});
  }
  const absl::StatusOr<exir::MethodResults> results =
      CpuBackend().PreprocessMultimethod(std::move(methods), /*threads=*/1);
  EXPECT_OK(results);
  if (!results.ok()) return false;
  const auto& bytes = results->front().second.front().processed.bytes;
  const std::string_view program(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return program.find("int4_by_int16") != std::string_view::npos;
}

TEST(CpuBackend, QuantizesManyRowsIfAMethodHasDynamicSizes) {
  EXPECT_TRUE(QuantizesRows({"s0"}));
  EXPECT_FALSE(QuantizesRows({"8"}));
  EXPECT_TRUE(QuantizesRows({"8", "s0"}));
  EXPECT_FALSE(QuantizesRows({"1", "s0"}));
}

}  // namespace
}  // namespace belay::cpu
