#include "backends/xnnpack/aot/weight.h"

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::ElementsAre;

template <class T>
exir::ConstantTensor Constant(DType dtype, const Sizes& sizes, const std::vector<T>& elements) {
  const auto* bytes = reinterpret_cast<const std::byte*>(elements.data());
  return exir::ConstantTensor::Contiguous(
             dtype, sizes, exir::Storage::Own({bytes, bytes + sizeof(T) * elements.size()}))
      .value();
}

class WeightTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps()); }

  // A program of constants with elements: %w 1 to 6, %s 0.5 and 2, %t 1, 10 and 100.
  exir::ExportedProgram Parse(std::string_view body, std::string_view outputs = "") {
    exir::ExportedProgram program = exir::ParseOrDie(
        absl::StrCat(
            "program edge {\nranges { s0: [1, 5] }\n",
            "constants { state \"w\": i8[2,3] state \"u\": u8[2,3] state \"f\": f32[2,3] "
            "state \"s\": f32[2] state \"t\": f32[3] state \"d\": f64[2] state \"i\": i64[2] "
            "state \"o\": i64[2] state \"z\": i32[2] state \"neg\": f32[2] state \"inf\": f32[2] "
            "state \"mat\": f32[1,2] state \"fz\": f32[2] }\n"
            "graph(%w: i8[2,3] parameter \"w\", %u: u8[2,3] parameter \"u\", "
            "%f: f32[2,3] buffer \"f\", %s: f32[2] parameter \"s\", %t: f32[3] parameter \"t\", "
            "%d: f64[2] parameter \"d\", %i: i64[2] parameter \"i\", %o: i64[2] parameter \"o\", "
            "%z: i32[2] parameter \"z\", %neg: f32[2] parameter \"neg\", "
            "%inf: f32[2] parameter \"inf\", %mat: f32[1,2] parameter \"mat\", "
            "%fz: f32[2] parameter \"fz\", "
            "%x: i8[2,3] user_input, %xs: f32[2] user_input, %n: symint(s0) user_input) {\n",
            body, "\nreturn (", outputs, ") } }"),
        *ops_);
    const auto set = [&](const char* name, exir::ConstantTensor tensor) {
      program.state_dict.at(name) = std::move(tensor);
    };
    set("w", Constant<int8_t>(DType::kInt8, {2, 3}, {1, 2, 3, 4, 5, 6}));
    set("s", Constant<float>(DType::kFloat32, {2}, {0.5, 2}));
    set("t", Constant<float>(DType::kFloat32, {3}, {1, 10, 100}));
    set("d", Constant<double>(DType::kFloat64, {2}, {0.5, 2}));
    set("o", Constant<int64_t>(DType::kInt64, {2}, {0, 1}));
    set("neg", Constant<float>(DType::kFloat32, {2}, {0.5, -2}));
    set("inf",
        Constant<float>(DType::kFloat32, {2}, {0.5, std::numeric_limits<float>::infinity()}));
    set("mat", Constant<float>(DType::kFloat32, {1, 2}, {1, 1}));
    return program;
  }
  // Returns the weight %y, which has one use.
  std::optional<Weight> Of(std::string_view body) {
    const exir::ExportedProgram program =
        Parse(absl::StrCat(body, "\n%reader: f32[] = edge.aten.abs.default(%y)"));
    return WeightOf(program, exir::FindValue(program.top(), "y"));
  }
  // Returns the weight of a per-channel dequantization with these arguments.
  std::optional<Weight> PerChannel(std::string_view tensor, std::string_view scales,
                                   std::string_view zeros, std::string_view axis) {
    return Of(
        absl::StrCat("%y: f32[2,3] = "
                     "edge.quantized_decomposed.dequantize_per_channel.default(",
                     tensor, ", ", scales, ", ", zeros, ", ", axis, ", -127, 127, dtype:i8)"));
  }
  std::optional<Weight> PerTensor(std::string_view numbers) {
    return Of(
        absl::StrCat("%y: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, ",
                     numbers, ", -127, 127, dtype:i8)"));
  }

  std::unique_ptr<exir::OpRegistry> ops_;
};

std::vector<float> Floats(const exir::Storage& storage) {
  std::vector<float> numbers(storage.bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), storage.bytes.data(), storage.bytes.size());
  return numbers;
}

TEST_F(WeightTest, AppliesScalesPerChannel) {
  const std::optional<Weight> rows = PerChannel("%w", "%s", "%i", "0");
  ASSERT_TRUE(rows.has_value());
  EXPECT_THAT(rows->scales, ElementsAre(0.5, 2));
  EXPECT_EQ(rows->channel_dim, 0);
  ASSERT_OK_AND_ASSIGN(exir::Storage numbers, Dequantized(*rows, ContiguousOrder(2)));
  EXPECT_THAT(Floats(numbers), ElementsAre(0.5, 1, 1.5, 8, 10, 12));
  // Column-major.
  ASSERT_OK_AND_ASSIGN(numbers, Dequantized(*rows, DimOrder{1, 0}));
  EXPECT_THAT(Floats(numbers), ElementsAre(0.5, 8, 1, 10, 1.5, 12));
  const std::optional<Weight> columns = PerChannel("%w", "%t", "none", "1");
  ASSERT_TRUE(columns.has_value());
  ASSERT_OK_AND_ASSIGN(numbers, Dequantized(*columns, ContiguousOrder(2)));
  EXPECT_THAT(Floats(numbers), ElementsAre(1, 20, 300, 4, 50, 600));
  ASSERT_OK_AND_ASSIGN(numbers, Dequantized(*columns, DimOrder{1, 0}));
  EXPECT_THAT(Floats(numbers), ElementsAre(1, 4, 20, 50, 300, 600));
  // float64 scales, int32 zero points.
  EXPECT_TRUE(PerChannel("%w", "%d", "%z", "0").has_value());
}

TEST_F(WeightTest, PermutationsMoveChannels) {
  const std::optional<Weight> weight =
      Of("%p: f32[2,3] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, %i, 0, "
         "-127, 127, dtype:i8)\n%y: f32[3,2] = edge.aten.transpose_copy.int(%p, 0, 1)");
  ASSERT_TRUE(weight.has_value());
  EXPECT_EQ(weight->channel_dim, 1);
  EXPECT_EQ(weight->tensor.sizes(), Sizes({3, 2}));
  ASSERT_OK_AND_ASSIGN(const exir::Storage numbers, Dequantized(*weight, ContiguousOrder(2)));
  EXPECT_THAT(Floats(numbers), ElementsAre(0.5, 8, 1, 10, 1.5, 12));
  // Only the constant itself may be dequantized.
  EXPECT_FALSE(
      Of("%p: i8[3,2] = edge.aten.permute_copy.default(%w, [1,0])\n"
         "%y: f32[3,2] = edge.quantized_decomposed.dequantize_per_channel.default(%p, %t, none, 0, "
         "-127, 127, dtype:i8)")
          .has_value());
}

TEST_F(WeightTest, AppliesOneScaleToAll) {
  const std::optional<Weight> weight = PerTensor("0.25, 0");
  ASSERT_TRUE(weight.has_value());
  EXPECT_THAT(weight->scales, ElementsAre(0.25));
  ASSERT_OK_AND_ASSIGN(const exir::Storage numbers, Dequantized(*weight, ContiguousOrder(2)));
  EXPECT_THAT(Floats(numbers), ElementsAre(0.25, 0.5, 0.75, 1, 1.25, 1.5));
}

TEST_F(WeightTest, ReshapesFloatConstants) {
  const std::optional<Weight> column =
      Of("%r: f32[1,3] = edge.aten.unsqueeze_copy.default(%t, 0)\n"
         "%y: f32[3,1,1] = edge.aten.view_copy.default(%r, [3,1,1])");
  ASSERT_TRUE(column.has_value());
  EXPECT_EQ(column->tensor.sizes(), Sizes({3, 1, 1}));
  ASSERT_OK_AND_ASSIGN(const exir::Storage numbers, column->tensor.Dense());
  EXPECT_THAT(Floats(numbers), ElementsAre(1, 10, 100));
  // Not row-major, or not float32.
  EXPECT_FALSE(Of("%p: f32[3,2] = edge.aten.permute_copy.default(%f, [1,0])\n"
                  "%y: f32[6] = edge.aten.view_copy.default(%p, [6])")
                   .has_value());
  EXPECT_FALSE(Of("%y: i8[6] = edge.aten.view_copy.default(%w, [6])").has_value());
  EXPECT_FALSE(Of("%p: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.5, "
                  "0, -127, 127, dtype:i8)\n%y: f32[6] = edge.aten.view_copy.default(%p, [6])")
                   .has_value());
}

TEST_F(WeightTest, RejectsOtherParameters) {
  EXPECT_FALSE(PerTensor("0.25, 1").has_value());
  EXPECT_FALSE(PerTensor("0.25, %n").has_value());
  EXPECT_FALSE(PerTensor("%n, 0").has_value());
  EXPECT_FALSE(PerTensor("0.0, 0").has_value());
  EXPECT_FALSE(PerTensor("1e-45, 0").has_value());
  EXPECT_FALSE(PerTensor("inf, 0").has_value());
  for (const char* scales : {"none", "%xs", "%i", "%mat", "%neg", "%inf"}) {
    EXPECT_FALSE(PerChannel("%w", scales, "%i", "0").has_value()) << scales;
  }
  for (const char* zeros : {"%o", "%xs", "%fz", "%mat"}) {
    EXPECT_FALSE(PerChannel("%w", "%s", zeros, "0").has_value()) << zeros;
  }
  for (const char* axis : {"-1", "1", "2", "16", "17", "%n"}) {
    EXPECT_FALSE(PerChannel("%w", "%s", "%i", axis).has_value()) << axis;
  }
  for (const char* tensor : {"%u", "%f", "%x"}) {
    EXPECT_FALSE(PerChannel(tensor, "%s", "%i", "0").has_value()) << tensor;
  }
}

TEST_F(WeightTest, WeightsHaveOneUserAndAreImmutable) {
  const std::string dequantize =
      "%y: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.5, 0, -127, "
      "127, dtype:i8)\n";
  const std::string reader = "%r: f32[2,3] = edge.aten.abs.default(%y)\n";
  const auto is_weight = [&](const std::string& body, std::string_view outputs,
                             std::string_view name = "y") {
    const exir::ExportedProgram program = Parse(body, outputs);
    return WeightOf(program, exir::FindValue(program.top(), name)).has_value();
  };
  EXPECT_TRUE(is_weight(dequantize + reader, "%r user_output"));
  EXPECT_FALSE(is_weight(dequantize, ""));
  EXPECT_FALSE(is_weight(dequantize + reader, "%y user_output"));
  EXPECT_FALSE(is_weight(dequantize + reader + "%q: f32[2,3] = edge.aten.neg.default(%y)", ""));
  // Dequantized twice, or computed in another way.
  EXPECT_FALSE(is_weight(
      dequantize + "%v: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%y, "
                   "0.5, 0, -127, 127, dtype:i8)\n%r: f32[2,3] = edge.aten.abs.default(%v)",
      "", "v"));
  EXPECT_FALSE(is_weight(reader.substr(0, 12) + "= edge.aten.abs.default(%f)\n"
                                                "%q: f32[2,3] = edge.aten.neg.default(%r)",
                         "", "r"));
  // A constant; one that the program changes; an input; a size.
  EXPECT_TRUE(is_weight("", "", "f"));
  EXPECT_FALSE(
      is_weight("%y: f32[2,3] = edge.aten.neg.default(%f)", "%y buffer_mutation \"f\"", "f"));
  EXPECT_FALSE(is_weight("", "", "x"));
  EXPECT_FALSE(is_weight("", "", "n"));
}

}  // namespace
}  // namespace belay::xnnpack
