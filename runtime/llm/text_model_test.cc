#include "runtime/llm/text_model.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/llm/llm_testing.h"

namespace belay::llm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<TextModel> ModelOf(const TestProgram& test, const TextModelOptions& options = {}) {
  return TextModel::Create(*test.program, test.kernels, test.backends, options);
}

TEST(TextModelTest, ReadsTheSignaturesOfPrefillAndDecode) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test,
                       LowerZoo({{"decode", kStepModel}, {"prefill", kDynamicModel}}));
  ASSERT_OK_AND_ASSIGN(const TextModel model, ModelOf(test));
  EXPECT_FALSE(model.has_one_method());
  EXPECT_EQ(model.vocabulary(), kTestVocabulary);
  EXPECT_EQ(model.context_length(), 0);
  EXPECT_EQ(model.prefill().least, 1);
  EXPECT_EQ(model.prefill().most, 16);
  EXPECT_EQ(model.prefill().position_input, PositionInput::kEach);
  EXPECT_EQ(model.decode().least, 1);
  EXPECT_EQ(model.decode().most, 1);
  EXPECT_EQ(model.decode().position_input, PositionInput::kFirst);
  EXPECT_EQ(model.decode().tokens_dtype, DType::kInt64);
  EXPECT_TRUE(model.prefill().Supports(7));
  EXPECT_FALSE(model.prefill().Supports(17));
}

TEST(TextModelTest, OneMethodDoesBoth) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test, LowerZoo({{"forward", kDynamicModel}}));
  ASSERT_OK_AND_ASSIGN(const TextModel model, ModelOf(test));
  EXPECT_TRUE(model.has_one_method());
  ASSERT_OK_AND_ASSIGN(const TextModel named, ModelOf(test, {.decode = "forward"}));
  EXPECT_TRUE(named.has_one_method());
}

TEST(TextModelTest, ReadsTheContextLengthOfAConstantMethod) {
  exir::PipelineOptions options;
  options.constant_methods = {{"get_max_seq_len", {exir::Argument(int64_t{16})}}};
  ASSERT_OK_AND_ASSIGN(const TestProgram test, LowerZoo({{"forward", kDynamicModel}}, options));
  ASSERT_OK_AND_ASSIGN(const TextModel model, ModelOf(test));
  EXPECT_EQ(model.context_length(), 16);
  ASSERT_OK_AND_ASSIGN(const TextModel shorter, ModelOf(test, {.context_length = 8}));
  EXPECT_EQ(shorter.context_length(), 8);
}

TEST(TextModelTest, RejectsUnknownMethods) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test,
                       LowerZoo({{"encode", kDynamicModel}, {"step", kStepModel}}));
  EXPECT_THAT(ModelOf(test),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("expected methods 'prefill' and 'decode', or one method"),
                             HasSubstr("encode"), HasSubstr("step"))));
  EXPECT_THAT(ModelOf(test, {.prefill = "x", .decode = "step"}),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_OK(ModelOf(test, {.prefill = "encode", .decode = "step"}).status());
}

TEST(TextModelTest, ListsEverythingWrongWithASignature) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test, LowerZoo({{"forward", "mlp"}}));
  EXPECT_THAT(
      ModelOf(test),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("method 'forward': expected token ids and positions as inputs, got"),
                     HasSubstr("method 'forward': expected a cache as state"))));
  // A counter as its only state.
  ASSERT_OK_AND_ASSIGN(const TestProgram counter, LowerZoo({{"forward", "counter_buffer"}}));
  EXPECT_THAT(ModelOf(counter), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("(a buffer of rank 2 or more), got")));
  ASSERT_OK_AND_ASSIGN(const TestProgram convolution, LowerZoo({{"forward", "digits_cnn"}}));
  EXPECT_THAT(ModelOf(convolution), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TextModelTest, RejectsANegativeContextLength) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test, LowerZoo({{"forward", kDynamicModel}}));
  EXPECT_THAT(ModelOf(test, {.context_length = -1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("context_length")));
}

TEST(TextModelTest, DigestDependsOnMethodsStateAndWeights) {
  ASSERT_OK_AND_ASSIGN(const TestProgram a, LowerZoo({{"forward", kDynamicModel}}));
  ASSERT_OK_AND_ASSIGN(const TestProgram b, LowerZoo({{"forward", kDynamicModel}}));
  ASSERT_OK_AND_ASSIGN(const TestProgram c, LowerZoo({{"step", kStepModel}}));
  ASSERT_OK_AND_ASSIGN(const TextModel first, ModelOf(a));
  ASSERT_OK_AND_ASSIGN(const TextModel second, ModelOf(b));
  ASSERT_OK_AND_ASSIGN(const TextModel third, ModelOf(c));
  EXPECT_EQ(first.digest(), second.digest());
  EXPECT_NE(first.digest(), third.digest());
  EXPECT_EQ(first.digest().size(), 32u);
}

}  // namespace
}  // namespace belay::llm
