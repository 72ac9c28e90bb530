#include "examples/digits/digits.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"
#include "runtime/core/npy.h"
#include "runtime/core/testing.h"

namespace belay::examples {
namespace {

class DigitsTest : public testing::TestWithParam<bool> {};

TEST_P(DigitsTest, LabelsMatchPyTorch) {
  const std::string data = "examples/digits/data/";
  DigitsOptions options{
      .archive = data + "digits_cnn.pt2",
      .images = data + "digits_test_images.npy",
      .labels = data + "digits_test_labels.npy",
      .program = testing::TempDir() + "/digits_" + (GetParam() ? "cpu" : "kernels"),
      .delegate = GetParam()};
  ASSERT_OK_AND_ASSIGN(const DigitsResult result, RunDigits(options));
  ASSERT_OK_AND_ASSIGN(const NpyArray scores, ReadNpyFile(data + "torch_scores.npy"));
  ASSERT_EQ(scores.sizes, (Sizes{360, 10}));
  ASSERT_EQ(result.predicted.size(), 360u);
  for (int i = 0; i < 360; ++i) {
    const float* row = scores.view().as<float>() + 10 * i;
    EXPECT_EQ(result.predicted[i], std::max_element(row, row + 10) - row) << "image " << i;
  }
  EXPECT_EQ(result.correct, 358);  // test_correct of the model's manifest
  size_t delegated = 0;
  for (const auto& d : result.lowering.delegation) delegated += d.backend_id.empty() ? 0 : d.nodes;
  EXPECT_EQ(delegated > 0, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Backends, DigitsTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "cpu" : "kernels"; });

TEST(DigitsErrorTest, MissingArchiveIsNamed) {
  DigitsOptions options{.archive = "no/such.pt2",
                        .images = "",
                        .labels = "",
                        .program = testing::TempDir() + "/none"};
  const auto result = RunDigits(options);
  EXPECT_NE(result.status().message().find("no/such.pt2"), std::string::npos) << result.status();
}

}  // namespace
}  // namespace belay::examples
