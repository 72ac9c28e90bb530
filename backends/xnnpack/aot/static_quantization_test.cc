#include "backends/xnnpack/aot/static_quantization.h"

#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using Kind = exir::QuantizationPattern::Kind;

class StaticQuantizationTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps()); }

  // Whether a pattern of this kind accepts the node %y of the program.
  bool Accepts(std::string_view node, Kind kind, std::string_view result = "y") const {
    const exir::ExportedProgram program = exir::ParseOrDie(
        absl::StrCat(R"(program edge {
        constants { state "w": f32[8,2,3,3] state "t": f32[4,2,3,3] }
        graph(%w: f32[8,2,3,3] parameter "w", %t: f32[4,2,3,3] parameter "t",
              %x: f32[1,4,8,8] user_input, %u: f32[1,4,8,8] user_input) { )",
                     absl::string_view(node.data(), node.size()), " return (%",
                     absl::string_view(result.data(), result.size()), " user_output) } }"),
        *ops_);
    const exir::NodeId id = program.top().value(exir::FindValue(program.top(), "y")).producer;
    for (const auto& pattern : StaticQuantizationPatterns(Target::kLocal).patterns) {
      if (pattern.op != program.top().node(id).target->aten()->name()) continue;
      return pattern.kind == kind && pattern.accepts(program, id);
    }
    return false;
  }

  std::unique_ptr<exir::OpRegistry> ops_;
};

TEST_F(StaticQuantizationTest, AcceptsGroupedConvolutions) {
  EXPECT_TRUE(
      Accepts("%y: f32[1,8,6,6] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], "
              "false, [0,0], 2)",
              Kind::kAnchor));
}

TEST_F(StaticQuantizationTest, RejectsTransposedConvolutions) {
  EXPECT_FALSE(
      Accepts("%y: f32[1,2,10,10] = edge.aten.convolution.default(%x, %t, none, [1,1], [0,0], "
              "[1,1], true, [0,0], 1)",
              Kind::kAnchor));
}

TEST_F(StaticQuantizationTest, SumsAndProductsHaveTheirOwnParameters) {
  EXPECT_TRUE(Accepts("%y: f32[1,4,8,8] = edge.aten.add.Tensor(%x, %u)", Kind::kSum));
  EXPECT_TRUE(Accepts("%y: f32[1,4,8,8] = edge.aten.mul.Tensor(%x, %u)", Kind::kSum));
  EXPECT_FALSE(Accepts("%y: f32[1,4,8,8] = edge.aten.add.Tensor(%x, %u, alpha=2)", Kind::kSum));
  EXPECT_FALSE(Accepts("%y: f32[1,4,8,8] = edge.aten.sigmoid.default(%x)", Kind::kTable));
}

TEST_F(StaticQuantizationTest, OperatorsOfHardswishStayTogether) {
  const std::string hardswish =
      "%a: f32[1,4,8,8] = edge.aten.add.Tensor(%x, 3)\n"
      "%b: f32[1,4,8,8] = edge.aten.clamp.default(%a, 0, 6)\n"
      "%y: f32[1,4,8,8] = edge.aten.mul.Tensor(%x, %b)\n";
  const auto accepts = [&](const std::string& number) {
    return Accepts(hardswish + "%d: f32[1,4,8,8] = edge.aten.div.Tensor(%y, " + number + ")",
                   Kind::kSum, "d");
  };
  EXPECT_FALSE(accepts("6"));
  EXPECT_TRUE(accepts("5"));
}

TEST_F(StaticQuantizationTest, MeansOfImagesKeepTheParameters) {
  EXPECT_TRUE(Accepts("%y: f32[1,4,1,1] = edge.aten.mean.dim(%x, [-1,-2], true)", Kind::kMovement));
  EXPECT_FALSE(Accepts("%y: f32[1,4,8] = edge.aten.mean.dim(%x, [-1], false)", Kind::kMovement));
}

TEST_F(StaticQuantizationTest, ClampsBoundTheResultBeforeThem) {
  for (const auto& pattern : StaticQuantizationPatterns(Target::kLocal).patterns) {
    EXPECT_EQ(pattern.bounds, pattern.op == "aten.relu.default" ||
                                  pattern.op == "aten.clamp.default" ||
                                  pattern.op == "aten.hardtanh.default")
        << pattern.op;
  }
  EXPECT_TRUE(StaticQuantizationPatterns(Target::kLocal).quantizes_results);
  EXPECT_TRUE(StaticQuantizationPatterns(Target::kLocal).integer_biases);
}

}  // namespace
}  // namespace belay::xnnpack
