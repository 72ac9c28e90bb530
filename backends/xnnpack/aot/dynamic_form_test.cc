// Linear layers whose rows are quantized at run time.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_replace.h"
#include "backends/xnnpack/aot/operation.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::HasSubstr;

constexpr char kLinear[] = R"(program edge {
  constants { state "w": i8[8,64] state "s": f32[8,2] }
  graph(%w: i8[8,64] parameter "w", %s: f32[8,2] parameter "s", %x: f32[1,3,64] user_input) {
    %c: f64[1,3,1], %z: i64[1,3,1] = edge.quantized_decomposed.choose_qparams_per_token_asymmetric.default(%x, dtype:i8)
    %q: i8[1,3,64] = edge.quantized_decomposed.quantize_per_token.default(%x, %c, %z, -128, 127, dtype:i8)
    %d: f32[1,3,64] = edge.quantized_decomposed.dequantize_per_token.default(%q, %c, %z, -128, 127, dtype:i8, dtype:f32)
    %m: f32[3,64] = edge.aten.view_copy.default(%d, [3,64])
    %v: f32[8,64] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %s, none, -8, 7, dtype:i8, 32, dtype:f32)
    %p: f32[64,8] = edge.aten.permute_copy.default(%v, [1,0])
    %y: f32[3,8] = edge.aten.mm.default(%m, %p)
    return (%y user_output) } })";

class DynamicFormTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps()); }

  exir::ExportedProgram Parse(std::string_view text) const {
    exir::ExportedProgram program = exir::ParseOrDie(text, *ops_);
    exir::ConstantTensor& scales = program.state_dict.at("s");
    const auto count = static_cast<size_t>(scales.view().numel());
    scales = *exir::FloatConstant(scales.sizes(), std::vector<float>(count, 0.5F));
    return program;
  }
  // Whether each node that computes one of these values is delegated.
  static std::string Why(const exir::ExportedProgram& program, std::string_view value,
                         Target target = Target::kExecuTorch15) {
    const exir::NodeId node = program.top().value(exir::FindValue(program.top(), value)).producer;
    return std::string(CheckSupported(program, node, target).message());
  }

  std::unique_ptr<exir::OpRegistry> ops_;
};

TEST_F(DynamicFormTest, AllNodesAreDelegatedForExecuTorch) {
  const exir::ExportedProgram program = Parse(kLinear);
  for (const char* value : {"c", "q", "d", "m", "v", "p", "y"}) {
    EXPECT_EQ(Why(program, value), "") << value;
  }
  const exir::NodeId node = program.top().value(exir::FindValue(program.top(), "y")).producer;
  ASSERT_OK_AND_ASSIGN(const Operation operation,
                       ReadOperation(program, node, Target::kExecuTorch15));
  EXPECT_TRUE(operation.dynamic);
  EXPECT_EQ(operation.type, NodeType::FullyConnected);
}

TEST_F(DynamicFormTest, LocalPayloadsDoNotQuantizeAtRunTime) {
  const exir::ExportedProgram program = Parse(kLinear);
  EXPECT_THAT(Why(program, "c", Target::kLocal), HasSubstr("does not quantize at run time"));
  EXPECT_THAT(Why(program, "y", Target::kLocal), HasSubstr("its weight is int8"));
}

TEST_F(DynamicFormTest, RowsMustHaveNoOtherUsers) {
  const exir::ExportedProgram program =
      Parse(absl::StrReplaceAll(kLinear, {{"%y user_output", "%y user_output, %d user_output"}}));
  for (const char* value : {"c", "q", "d"}) {
    EXPECT_THAT(Why(program, value), HasSubstr("it is not for linear layers")) << value;
  }
  EXPECT_THAT(Why(program, "y"), HasSubstr("its weight is int8"));
}

TEST_F(DynamicFormTest, RangesMustBeThoseOfInt8AndInt4) {
  EXPECT_NE(Why(Parse(absl::StrReplaceAll(kLinear, {{"%z, -128, 127", "%z, -127, 127"}})), "y"),
            "");
  EXPECT_NE(Why(Parse(absl::StrReplaceAll(kLinear, {{"none, -8, 7", "none, -7, 7"}})), "y"), "");
}

TEST_F(DynamicFormTest, WeightsMayHaveAScalePerChannel) {
  const exir::ExportedProgram program = Parse(absl::StrReplaceAll(
      kLinear,
      {{"f32[8,2]", "f32[8]"},
       {"dequantize_per_channel_group.default(%w, %s, none, -8, 7, dtype:i8, 32, dtype:f32)",
        "dequantize_per_channel.default(%w, %s, none, 0, -128, 127, dtype:i8)"}}));
  EXPECT_EQ(Why(program, "y"), "");
}

}  // namespace
}  // namespace belay::xnnpack
