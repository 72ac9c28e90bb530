#include "exir/quantize/transposed_convolutions.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/edge_verifier.h"
#include "exir/quantize/calibration_testing.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

// A transposed convolution of images [2,3,h,w] with 4 filters.
struct Case {
  int64_t height, width, kernel_y, kernel_x, stride, padding_y, padding_x, output_padding;
  int nodes;  // of the new program; 1: it stays

  int64_t OutHeight() const {
    return (height - 1) * stride - 2 * padding_y + kernel_y + output_padding;
  }
  int64_t OutWidth() const {
    return (width - 1) * stride - 2 * padding_x + kernel_x + output_padding;
  }
  std::string Text() const {
    const std::string weight = absl::StrCat("f32[3,4,", kernel_y, ",", kernel_x, "]");
    return absl::StrCat(R"(program edge { constants { state "b": f32[4] state "w": )", weight,
                        R"( } graph(%b: f32[4] parameter "b", %w: )", weight,
                        R"( parameter "w", %x: f32[2,3,)", height, ",", width,
                        "] user_input) { %y: f32[2,4,", OutHeight(), ",", OutWidth(),
                        "] = edge.aten.convolution.default(%x, %w, %b, [", stride, ",", stride,
                        "], [", padding_y, ",", padding_x, "], [1,1], true, [", output_padding, ",",
                        output_padding, "], 1) return (%y user_output) } }");
  }
};

class TransposedConvolutionsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  ExportedProgram Parse(const Case& c) const {
    ExportedProgram program = ParseOrDie(c.Text(), **ops_);
    for (auto& [name, tensor] : program.state_dict) {
      tensor = *FloatConstant(tensor.sizes(),
                              PseudoRandom(static_cast<size_t>(tensor.view().numel()), 3));
    }
    return program;
  }
  std::vector<float> OutputOf(const ExportedProgram& program, const Case& c) const {
    std::vector<float> x = PseudoRandom(static_cast<size_t>(6 * c.height * c.width), 9);
    absl::StatusOr<Interpreter> interpreter = Interpreter::Create(program, kernels_);
    EXPECT_OK(interpreter);
    const auto outputs = interpreter->Run(
        {EValue(TensorView::Contiguous(DType::kFloat32, {2, 3, c.height, c.width}, x.data()))});
    EXPECT_OK(outputs);
    const TensorView& y = *(*outputs)[0].tensor();
    EXPECT_TRUE(y.is_contiguous());
    return {y.as<float>(), y.as<float>() + y.numel()};
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
};

const auto kAll = [](const Node&) { return true; };

TEST_F(TransposedConvolutionsTest, KeepsResults) {
  for (const Case& c : {
           Case{5, 4, 2, 2, 2, 0, 0, 0, 4},  // windows without overlap
           Case{5, 4, 4, 4, 2, 1, 1, 0, 4},  // symmetric windows
           Case{5, 4, 5, 5, 2, 2, 2, 1, 4},
           Case{5, 4, 3, 3, 2, 1, 1, 1, 6},  // both axes sliced
           Case{5, 4, 3, 3, 2, 1, 1, 0, 6},  // a result smaller than twice the images
           Case{5, 4, 3, 3, 2, 0, 0, 0, 6},  // a larger one
           Case{5, 4, 4, 2, 2, 1, 0, 0, 4},  // different axes
           Case{5, 4, 4, 5, 2, 1, 2, 1, 5},
           Case{1, 1, 4, 4, 1, 0, 0, 0, 1},  // without phases
           Case{5, 4, 3, 3, 1, 1, 1, 0, 1},
           Case{5, 4, 3, 3, 1, 2, 0, 0, 1},
           Case{2, 3, 7, 8, 3, 2, 1, 2, 6},
           Case{2, 3, 8, 8, 4, 2, 2, 0, 4},
       }) {
    SCOPED_TRACE(c.Text());
    ExportedProgram program = Parse(c);
    const std::vector<float> expected = OutputOf(program, c);
    ASSERT_OK(WriteTransposedConvolutions(program, {}, kAll));
    EXPECT_OK(Verify(program));
    EXPECT_OK(VerifyEdge(program));
    EXPECT_EQ(program.top().NodeList().size(), c.nodes);
    EXPECT_FALSE(program.state_dict.contains("w"));
    EXPECT_TRUE(program.constants.contains("w_phases"));
    EXPECT_THAT(OutputOf(program, c), Pointwise(FloatNear(1e-5F), expected));
  }
}

TEST_F(TransposedConvolutionsTest, KeepsOtherConvolutions) {
  const auto keeps = [&](const Case& c, const auto& selects) {
    ExportedProgram program = Parse(c);
    ASSERT_OK(WriteTransposedConvolutions(program, {}, selects));
    EXPECT_EQ(program.top().NodeList().size(), 1) << c.Text();
    EXPECT_TRUE(program.state_dict.contains("w")) << c.Text();
  };
  // A convolution would have 16 times the multiply-adds.
  keeps({5, 4, 1, 1, 4, 0, 0, 0, 1}, kAll);
  // A stride beyond 8.
  keeps({2, 3, 9, 9, 9, 0, 0, 0, 1}, kAll);
  // It is not selected.
  keeps({5, 4, 2, 2, 2, 0, 0, 0, 1}, [](const Node&) { return false; });
}

TEST_F(TransposedConvolutionsTest, KeepsWeightsThatChange) {
  ExportedProgram program = Parse({5, 4, 2, 2, 2, 0, 0, 0, 1});
  ASSERT_OK(WriteTransposedConvolutions(program, {"w"}, kAll));
  EXPECT_EQ(program.top().NodeList().size(), 1);
}

}  // namespace
}  // namespace belay::exir
