#include "exir/gguf/tensor_constants.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "exir/gguf/gguf_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/element.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> Values(const TensorConstants& c) {
  std::vector<float> values;
  const TensorView elements = c.elements.view();
  for (int64_t i = 0; i < elements.numel(); ++i) {
    switch (elements.dtype) {
      case DType::kFloat32:
        values.push_back(elements.as<const float>()[i]);
        break;
      case DType::kBFloat16:
        values.push_back(elements.as<const BFloat16>()[i]);
        break;
      default: {
        const int64_t group = i / c.group;
        const float zero = c.zeros.has_value() ? c.zeros->view().as<const float>()[group] : 0.0f;
        values.push_back((static_cast<float>(elements.as<const int8_t>()[i]) - zero) *
                         c.scales->view().as<const float>()[group]);
      }
    }
  }
  return values;
}

// The values of gguf.quants.dequantize (make_golden.py).
TEST(TensorConstantsTest, EqualsTheFormulasOfGgml) {
  ASSERT_OK_AND_ASSIGN(const auto bytes, MappedFile::Open("exir/gguf/testdata/tensor_types.gguf"));
  ASSERT_OK_AND_ASSIGN(const GgufFile file, GgufFile::Parse(bytes, bytes->bytes()));
  int compared = 0;
  for (const TensorTypeRow& row : kTensorTypes) {
    const GgufTensor* tensor = file.FindTensor(row.name);
    if (row.type == TensorType::kF32) continue;
    ASSERT_NE(tensor, nullptr) << row.name;
    ASSERT_EQ(tensor->type, &row);
    ASSERT_OK_AND_ASSIGN(const TensorConstants constants, ReadTensorConstants(file, *tensor));
    ASSERT_OK_AND_ASSIGN(
        const TensorConstants expected,
        ReadTensorConstants(file, *file.FindTensor(std::string(row.name) + ".values")));
    EXPECT_EQ(constants.group, row.group);
    EXPECT_EQ(constants.zeros.has_value(), row.has_minimum);
    const std::vector<float> actual = Values(constants), golden = Values(expected);
    ASSERT_EQ(actual.size(), 1024);
    for (size_t i = 0; i < actual.size(); ++i) {
      // Two roundings of values of the size of the minimum.
      const float bound = row.has_minimum ? 4e-6f : 0;
      ASSERT_NEAR(actual[i], golden[i], bound) << row.name << " element " << i;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 10);
}

TEST(TensorConstantsTest, StoresFourBitsInTheirRange) {
  ASSERT_OK_AND_ASSIGN(const auto bytes, MappedFile::Open("exir/gguf/testdata/tensor_types.gguf"));
  ASSERT_OK_AND_ASSIGN(const GgufFile file, GgufFile::Parse(bytes, bytes->bytes()));
  for (std::string_view name : {"Q4_0", "Q4_1", "Q4_K"}) {
    ASSERT_OK_AND_ASSIGN(const TensorConstants c,
                         ReadTensorConstants(file, *file.FindTensor(name)));
    const auto* q = c.elements.view().as<const int8_t>();
    for (int i = 0; i < 1024; ++i) ASSERT_TRUE(q[i] >= -8 && q[i] <= 7) << name;
  }
}

// A block of Q8_0 or Q4_1 with this scale.
std::string Q8Block(uint16_t scale, int8_t q) {
  return GgufBytes::Raw(scale) + std::string(32, static_cast<char>(q));
}

TEST(TensorConstantsTest, GroupsWithoutScaleHaveOneValue) {
  GgufBytes bytes;
  bytes.Tensor("zero", {1, 32}, 8, Q8Block(0, 5));
  // d = 0, m = 2.
  bytes.Tensor(
      "minimum", {1, 32}, 3,
      GgufBytes::Raw(uint16_t{0}) + GgufBytes::Raw(FloatToHalfBits(2)) + std::string(16, '\x37'));
  ASSERT_OK_AND_ASSIGN(const GgufFile file, bytes.Parse());
  ASSERT_OK_AND_ASSIGN(const TensorConstants zero,
                       ReadTensorConstants(file, *file.FindTensor("zero")));
  EXPECT_EQ(Values(zero), std::vector<float>(32, 0));
  EXPECT_EQ(zero.scales->view().as<const float>()[0], 1);
  ASSERT_OK_AND_ASSIGN(const TensorConstants minimum,
                       ReadTensorConstants(file, *file.FindTensor("minimum")));
  EXPECT_EQ(Values(minimum), std::vector<float>(32, 2));
}

TEST(TensorConstantsTest, RejectsScalesThatAreNotFinite) {
  for (uint16_t bits : {0x7c00, 0xfc00, 0x7e00}) {
    GgufBytes bytes;
    bytes.Tensor("w", {2, 32}, 8, Q8Block(0x3c00, 1) + Q8Block(bits, 1));
    ASSERT_OK_AND_ASSIGN(const GgufFile file, bytes.Parse());
    EXPECT_THAT(ReadTensorConstants(file, *file.FindTensor("w")),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("tensor 'w': expected finite scales")));
  }
}

TEST(TensorConstantsTest, ReordersRows) {
  GgufBytes bytes;
  bytes.Tensor("f", {2, 1}, 0, GgufBytes::Raw(1.0f) + GgufBytes::Raw(2.0f))
      .Tensor("h", {2, 1}, 1, GgufBytes::Raw(uint16_t{0x3c00}) + GgufBytes::Raw(uint16_t{0x4000}))
      .Tensor("q", {2, 32}, 8, Q8Block(0x3c00, 1) + Q8Block(0x3c00, 2));
  ASSERT_OK_AND_ASSIGN(const GgufFile file, bytes.Parse());
  const auto swapped = [](int64_t row) { return 1 - row; };
  for (std::string_view name : {"f", "h"}) {
    ASSERT_OK_AND_ASSIGN(const TensorConstants c,
                         ReadTensorConstants(file, *file.FindTensor(name), swapped));
    EXPECT_THAT(Values(c), ElementsAre(2, 1)) << name;
  }
  ASSERT_OK_AND_ASSIGN(const TensorConstants q,
                       ReadTensorConstants(file, *file.FindTensor("q"), swapped));
  EXPECT_EQ(Values(q)[0], 2);
  EXPECT_EQ(Values(q)[32], 1);
}

TEST(TensorConstantsTest, SharesFloatsWithTheFile) {
  GgufBytes bytes;
  bytes.Tensor("f", {2}, 0, std::string(8, 'x'));
  ASSERT_OK_AND_ASSIGN(const GgufFile file, bytes.Parse());
  ASSERT_OK_AND_ASSIGN(const TensorConstants c, ReadTensorConstants(file, *file.FindTensor("f")));
  EXPECT_EQ(c.elements.storage().bytes.data(), file.FindTensor("f")->bytes.data());
  EXPECT_EQ(c.elements.storage().owner, file.owner());
}

TEST(TensorConstantsTest, RejectsHigherRanks) {
  GgufBytes bytes;
  bytes.Tensor("w", {1, 1, 1}, 0, "abcd");
  ASSERT_OK_AND_ASSIGN(const GgufFile file, bytes.Parse());
  EXPECT_THAT(ReadTensorConstants(file, *file.FindTensor("w")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "tensor 'w': expected 1 or 2 dimensions, got [1, 1, 1]"));
}

}  // namespace
}  // namespace belay::exir
