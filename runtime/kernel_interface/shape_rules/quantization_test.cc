#include "runtime/kernel_interface/shape_rules/quantization.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

absl::Status PerToken(const Sizes& input, const Sizes& scales) {
  return CheckShapesOf<QuantizePerTokenCall<K>>(
      "input scales zero_points quant_min quant_max dtype",
      {Tensor(input), Tensor(scales), Tensor(scales, DType::kInt64), -128, 127, DType::kInt8});
}

TEST(QuantizationTest, TokensHaveExactlyOneParameterEach) {
  EXPECT_OK(PerToken({2, 3, 4}, {2, 3, 1}));
  EXPECT_OK(PerToken({1, 3, 4}, {3, 1}));
  EXPECT_THAT(
      PerToken({2, 3, 4}, {3, 1}),
      StatusIs(kInvalid, "scales: shape [3,1] does not have one number for each of 6 rows"));
  EXPECT_OK(PerToken({2, 3, 0}, {3, 1}));  // empty rows need no parameters
  EXPECT_OK(PerToken({0, 3, 4}, {0, 3, 1}));
  EXPECT_THAT(PerToken({0, 3, 4}, {3, 1}), StatusIs(kInvalid, HasSubstr("each of 0 rows")));
  EXPECT_THAT(PerToken({3, 4}, {2, 1}), StatusIs(kInvalid, HasSubstr("is not that of the rows")));
  // For dequantization, they broadcast.
  EXPECT_OK(CheckShapesOf<DequantizePerTokenCall<K>>(
      "input scales zero_points output_dtype",
      {Tensor({2, 3, 4}, DType::kInt8), Tensor({3, 1}), Tensor({3, 1}), DType::kFloat32}));
}

TEST(QuantizationTest, RejectsZeroScale) {
  EXPECT_THAT((ReadStatus<QuantizePerTensorCall<K, Given::kNumbers>>(
                  "input scale zero_point quant_min quant_max dtype",
                  {Tensor({2}), 0.0, 0, -128, 127, DType::kInt8})),
              StatusIs(kInvalid, "scale: expected a number other than 0"));
}

TEST(QuantizationTest, RangeMustFitDType) {
  EXPECT_THAT((ReadStatus<QuantizePerTensorCall<K, Given::kNumbers>>(
                  "input scale zero_point quant_min quant_max dtype",
                  {Tensor({2}), 1.0, 0, -129, 127, DType::kInt8})),
              StatusIs(kInvalid, HasSubstr("is beyond int8's")));
  EXPECT_THAT((ReadStatus<QuantizePerTensorCall<K, Given::kTensorsAndRange>>(
                  "input scale zero_point quant_min quant_max dtype",
                  {Tensor({2}), Tensor({}), Tensor({}), Tensor({}), Tensor({}), DType::kInt64})),
              StatusIs(kInvalid, HasSubstr("got int64")));
  EXPECT_THAT(
      ReadStatus<DequantizePerChannelCall<K>>(
          "input scales zero_points axis quant_min quant_max dtype out_dtype",
          {Tensor({3}, DType::kInt8), Tensor({3}), None(), 0, 0, 256, DType::kInt8, None()}),
      StatusIs(kInvalid, HasSubstr("is beyond int8's")));
  EXPECT_THAT(ReadStatus<QuantizePerGroupCall<K>>(
                  "input scales zero_points quant_min quant_max dtype group_size",
                  {Tensor({3, 4}), Tensor({3, 1}), Tensor({3, 1}), -8, 7, DType::kFloat32, 4}),
              StatusIs(kInvalid, HasSubstr("got float32")));
  EXPECT_THAT(ReadStatus<ChooseParametersCall<K>>("input quant_min quant_max eps dtype",
                                                  {Tensor({3}), 1, 7, 1e-6, DType::kInt8}),
              StatusIs(kInvalid, HasSubstr("a range around 0")));
  EXPECT_THAT(ReadStatus<DequantizePerTokenCall<K>>(
                  "input scales zero_points output_dtype",
                  {Tensor({3}, DType::kInt8), Tensor({1}), Tensor({1}), DType::kInt32}),
              StatusIs(kInvalid, "output_dtype: expected a floating point type, got int32"));
  EXPECT_THAT(
      (ReadStatus<ChoosePerTokenCall<K, true>>("input dtype", {Tensor({3}), DType::kUint8})),
      StatusIs(kInvalid, "dtype: expected int8, got uint8"));
  EXPECT_OK(
      (ReadStatus<ChoosePerTokenCall<K, false>>("input dtype", {Tensor({3}), DType::kUint8})));
}

TEST(QuantizationTest, ChecksAxisAndChannels) {
  EXPECT_THAT(
      ReadStatus<FakeQuantPerChannelCall<K>>("input scales zero_points axis quant_min quant_max",
                                             {Tensor({3}), Tensor({3}), Tensor({3}), 1, 0, 255}),
      StatusIs(kRange, HasSubstr("dim 1")));
  const auto check = [](const Sizes& scales, TestArgument zero_points) {
    return CheckShapesOf<DequantizePerChannelCall<K>>(
        "input scales zero_points axis quant_min quant_max dtype out_dtype",
        {Tensor({2, 3}, DType::kInt8), Tensor(scales), zero_points, 1, -128, 127, DType::kInt8,
         None()});
  };
  EXPECT_OK(check({3}, None()));
  EXPECT_OK(check({3}, Tensor({3})));
  EXPECT_THAT(check({2}, None()), StatusIs(kInvalid, HasSubstr("scales: expected shape [3]")));
  EXPECT_THAT(check({3}, Tensor({2})),
              StatusIs(kInvalid, HasSubstr("zero_points: expected shape [3]")));
}

TEST(QuantizationTest, RejectsEmptyRows) {
  EXPECT_THAT(CheckShapesOf<ChooseParametersCall<K>>("input quant_min quant_max eps dtype",
                                                     {Tensor({0}), -8, 7, 1e-6, DType::kInt8}),
              StatusIs(kInvalid, "input: expected elements, got none"));
}

TEST(QuantizationTest, AddOperandsHaveSameShape) {
  const std::string names =
      "a a_scale a_zero_point a_quant_min a_quant_max b b_scale b_zero_point b_quant_min "
      "b_quant_max out_scale out_zero_point out_quant_min out_quant_max";
  const auto arguments = [](const Sizes& b, int64_t most) {
    const EValue a = Tensor({2, 3}, DType::kInt8);
    return std::vector<TestArgument>{a,   1.0, 0, -128, 127, Tensor(b, DType::kInt8), 1.0, 0, -128,
                                     127, 1.0, 0, -128, most};
  };
  EXPECT_OK(CheckShapesOf<QuantizedAddCall<K>>(names, arguments({2, 3}, 127)));
  EXPECT_THAT(CheckShapesOf<QuantizedAddCall<K>>(names, arguments({3}, 127)),
              StatusIs(kInvalid, "b: expected shape [2,3], got [3]"));
  EXPECT_THAT(ReadStatus<QuantizedAddCall<K>>(names, arguments({2, 3}, 128)),
              StatusIs(kInvalid, HasSubstr("is beyond int8's")));
  std::vector<TestArgument> with_out = arguments({2, 3}, 127);
  with_out.push_back(Tensor({3, 2}, DType::kInt8));
  EXPECT_THAT(CheckShapesOf<QuantizedAddCall<K>>(names + " out", with_out),
              StatusIs(kInvalid, "out: expected shape [2,3], got [3,2]"));
}

}  // namespace
}  // namespace belay
