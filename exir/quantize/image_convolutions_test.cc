#include "exir/quantize/image_convolutions.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

class ImageConvolutionsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  ExportedProgram Parse(std::string_view text) const {
    ExportedProgram program = ParseOrDie(text, **ops_);
    for (auto& [name, tensor] : program.state_dict) {
      tensor = *FloatConstant(tensor.sizes(),
                              PseudoRandom(static_cast<size_t>(tensor.view().numel()), 3));
    }
    return program;
  }
  std::vector<float> OutputOf(const ExportedProgram& program) const {
    std::vector<float> x = PseudoRandom(36, 9);
    absl::StatusOr<Interpreter> interpreter = Interpreter::Create(program, kernels_);
    EXPECT_OK(interpreter);
    const auto outputs =
        interpreter->Run({EValue(TensorView::Contiguous(DType::kFloat32, {1, 4, 9}, x.data()))});
    EXPECT_OK(outputs);
    const TensorView& y = *(*outputs)[0].tensor();
    return {y.as<float>(), y.as<float>() + y.numel()};
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
};

TEST_F(ImageConvolutionsTest, KeepsResults) {
  for (const char* text : {R"(program edge {
  constants { state "b": f32[6] state "w": f32[6,4,3] }
  graph(%b: f32[6] parameter "b", %w: f32[6,4,3] parameter "w", %x: f32[1,4,9] user_input) {
    %y: f32[1,6,4] = edge.aten.convolution.default(%x, %w, %b, [2], [1], [2], false, [0], 1)
    return (%y user_output) } })",
                           R"(program edge {
  constants { state "w": f32[4,1,3] }
  graph(%w: f32[4,1,3] parameter "w", %x: f32[1,4,9] user_input) {
    %y: f32[1,4,9] = edge.aten.convolution.default(%x, %w, none, [1], [1], [1], false, [0], 4)
    return (%y user_output) } })"}) {
    ExportedProgram program = Parse(text);
    const std::vector<float> expected = OutputOf(program);
    ASSERT_OK(WriteConvolutionsAsImages(program, {}));
    EXPECT_OK(Verify(program));
    EXPECT_OK(VerifyEdge(program));
    EXPECT_EQ(program.top().NodeList().size(), 3);
    EXPECT_EQ(program.constants.at("w_2d").sizes().size(), 4);
    EXPECT_FALSE(program.state_dict.contains("w"));
    EXPECT_EQ(OutputOf(program), expected);
  }
}

TEST_F(ImageConvolutionsTest, KeepsTransposedConvolutionsAndSharedWeights) {
  for (const char* text : {R"(program edge {
  constants { state "w": f32[4,2,3] }
  graph(%w: f32[4,2,3] parameter "w", %x: f32[1,4,9] user_input) {
    %y: f32[1,2,11] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], true, [0], 1)
    return (%y user_output) } })",
                           R"(program edge {
  constants { state "w": f32[4,4,1] }
  graph(%w: f32[4,4,1] parameter "w", %x: f32[1,4,9] user_input) {
    %y: f32[1,4,9] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], false, [0], 1)
    %z: f32[1,4,9] = edge.aten.convolution.default(%y, %w, none, [1], [0], [1], false, [0], 1)
    return (%z user_output) } })"}) {
    ExportedProgram program = Parse(text);
    const size_t nodes = program.top().NodeList().size();
    ASSERT_OK(WriteConvolutionsAsImages(program, {}));
    EXPECT_EQ(program.top().NodeList().size(), nodes);
  }
}

}  // namespace
}  // namespace belay::exir
