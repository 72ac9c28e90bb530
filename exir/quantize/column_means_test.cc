#include "exir/quantize/column_means.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/constant_input.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointwise;

TensorView View(const Sizes& sizes, std::vector<float>& elements) {
  return TensorView::Contiguous(DType::kFloat32, sizes, elements.data());
}

TEST(ColumnMeansTest, LinearMeansAreOverAllRowsOfAllCalls) {
  ColumnMeans means(InputGeometry{});
  std::vector<float> first = {1, 2, 3, 4}, second = {5, 12};
  means.Add(View({2, 2}, first));
  means.Add(View({1, 1, 2}, second));
  EXPECT_THAT(means.Means(), ElementsAre(DoubleEq(3), DoubleEq(6)));
}

TEST(ColumnMeansTest, ReadsStridedInputs) {
  ColumnMeans means(InputGeometry{});
  std::vector<float> elements = {1, 2, 3, 4};
  TensorView transposed = View({2, 2}, elements);
  transposed.strides = {1, 2};
  means.Add(transposed);
  EXPECT_THAT(means.Means(), ElementsAre(DoubleEq(1.5), DoubleEq(3.5)));
}

// The definition: the element that each kernel position reads, over all output positions.
TEST(ColumnMeansTest, ConvolutionMeansEqualThoseOfItsPatches) {
  const int64_t height = 5, width = 4, channels = 2;
  std::vector<float> x(static_cast<size_t>(channels * height * width));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7) % 11);
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t padding : {0, 1, 2}) {
      for (int64_t dilation : {1, 2}) {
        const InputGeometry geometry = {.kernel = {3, 2},
                                        .stride = {stride, 1},
                                        .padding = {padding, padding},
                                        .dilation = {dilation, dilation}};
        const int64_t rows = (height + 2 * padding - 2 * dilation - 1) / stride + 1;
        const int64_t columns = width + 2 * padding - dilation;
        std::vector<double> expected;
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t kh = 0; kh < 3; ++kh) {
            for (int64_t kw = 0; kw < 2; ++kw) {
              double sum = 0;
              for (int64_t i = 0; i < rows; ++i) {
                for (int64_t j = 0; j < columns; ++j) {
                  const int64_t h = i * stride + kh * dilation - padding;
                  const int64_t w = j + kw * dilation - padding;
                  if (h < 0 || h >= height || w < 0 || w >= width) continue;
                  sum += x[static_cast<size_t>((c * height + h) * width + w)];
                }
              }
              expected.push_back(sum / static_cast<double>(rows * columns));
            }
          }
        }
        ColumnMeans means(geometry);
        means.Add(View({1, channels, height, width}, x));
        EXPECT_THAT(means.Means(), Pointwise(DoubleNear(1e-12), expected))
            << "stride " << stride << ", padding " << padding << ", dilation " << dilation;
      }
    }
  }
}

TEST(ColumnMeansTest, IgnoresInputsThatAreNotFiniteOrOfAnotherRank) {
  ColumnMeans means(InputGeometry{.kernel = {1}, .stride = {1}, .padding = {0}, .dilation = {1}});
  std::vector<float> bad = {1, std::numeric_limits<float>::infinity()}, other = {1, 2};
  means.Add(View({1, 1, 2}, bad));
  means.Add(View({1, 2}, other));
  EXPECT_THAT(means.Means(), IsEmpty());
}

class GeometryOfTest : public ::testing::Test {
 protected:
  // Returns the geometry of the only anchor.
  std::optional<InputGeometry> Geometry(const std::string& inputs, const std::string& call) {
    ExportedProgram program = ParseOrDie(
        "program edge { constants { state \"w\": " + inputs + call + " return (%y user_output) } }",
        **ops_);
    GraphEditor editor(program.top());
    const ConstantInputs constants(program, editor, {});
    const WeightUses found = FindWeightUses(program, constants);
    EXPECT_EQ(found.uses.size(), 1);
    return GeometryOf(program, found.uses.at(0));
  }
  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
};

TEST_F(GeometryOfTest, RepeatsSingleIntegersOfConvolutions) {
  const std::optional<InputGeometry> geometry = Geometry(
      "f32[4,1,3,3] } graph(%w: f32[4,1,3,3] parameter \"w\", %x: f32[1,2,8,8] user_input) {",
      "%y: f32[1,4,4,4] = edge.aten.convolution.default(%x, %w, none, [2], [1,1], [1], false, "
      "[0,0], 2)");
  ASSERT_TRUE(geometry.has_value());
  EXPECT_EQ(geometry->groups, 2);
  EXPECT_THAT(geometry->kernel, ElementsAre(3, 3));
  EXPECT_THAT(geometry->stride, ElementsAre(2, 2));
  EXPECT_THAT(geometry->padding, ElementsAre(1, 1));
  EXPECT_THAT(geometry->dilation, ElementsAre(1, 1));
}

TEST_F(GeometryOfTest, EmbeddingsHaveNone) {
  EXPECT_EQ(Geometry("f32[4,8] } graph(%w: f32[4,8] parameter \"w\", %x: i64[3] user_input) {",
                     "%y: f32[3,8] = edge.aten.embedding.default(%w, %x)"),
            std::nullopt);
}

}  // namespace
}  // namespace belay::exir
