#include "tools/profile/operations.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "tools/profile/logged_method.h"

namespace belay::tools {
namespace {

// The one instruction of a program, after a call.
class OperationsTest : public ::testing::Test {
 protected:
  InstructionInfo Only(std::string_view program) {
    absl::StatusOr<std::unique_ptr<LoggedMethod>> logged = LoggedMethod::Create(program, {});
    EXPECT_OK(logged);
    logged_ = *std::move(logged);
    EXPECT_OK(logged_->Execute());
    EXPECT_EQ(logged_->method().instructions().size(), 1u);
    return logged_->method().instructions()[0];
  }
  std::unique_ptr<LoggedMethod> logged_;
};

TEST_F(OperationsTest, OfProducts) {
  const InstructionInfo info = Only(R"(program edge {
  graph(%x: f32[4,3] user_input, %y: f32[3,5] user_input) {
    %a: f32[4,5] = edge.aten.mm.default(%x, %y)
    return (%a user_output)
  }
})");
  EXPECT_EQ(OperationsOf(info), 2 * 4 * 5 * 3);
  EXPECT_EQ(BytesOf(info).read, 4u * (12 + 15));
  EXPECT_EQ(BytesOf(info).written, 4u * 20);
  EXPECT_EQ(OperandText(info), "f32[4,3], f32[3,5] -> f32[4,5]");
}

TEST_F(OperationsTest, OfConvolutions) {
  EXPECT_EQ(OperationsOf(Only(R"(program edge {
  graph(%x: f32[1,4,8,8] user_input, %w: f32[6,2,3,3] user_input) {
    %c: f32[1,6,6,6] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 2)
    return (%c user_output)
  }
})")),
            2.0 * (6 * 6 * 6) * (2 * 3 * 3));
}

TEST_F(OperationsTest, OfTransposedConvolutions) {
  EXPECT_EQ(OperationsOf(Only(R"(program edge {
  graph(%x: f32[1,4,8,8] user_input, %w: f32[4,6,3,3] user_input) {
    %c: f32[1,6,10,10] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], true, [0,0], 1)
    return (%c user_output)
  }
})")),
            2.0 * (4 * 8 * 8) * (6 * 3 * 3));
}

// As the CPU backend has them: a depthwise convolution with stride 2 and a product of its pixels.
TEST(ChainOperationsTest, AreThoseOfItsStages) {
  const auto ints = [](std::vector<int64_t> numbers) {
    return std::vector<EValue>(numbers.begin(), numbers.end());
  };
  std::vector<EValue> lists[] = {ints({0, 20}), ints({3, 3, 1, 1}), ints({2, 2, 1, 1}),
                                 ints({1, 1, 1, 1, 0, 0, 0, 0}), ints({1, 1, 1, 1})};
  std::vector<std::vector<EValue*>> elements;
  std::vector<EValue> arguments = {
      EValue(TensorView::Contiguous(DType::kFloat32, {2, 16, 9, 8}, nullptr))};
  for (std::vector<EValue>& list : lists) {
    elements.emplace_back();
    for (EValue& number : list) elements.back().push_back(&number);
  }
  for (const std::vector<EValue*>& list : elements) arguments.push_back(EValue(ListView{list}));
  const EValue result(TensorView::Contiguous(DType::kFloat32, {2, 20, 5, 4}, nullptr));
  InstructionInfo info;
  info.op = "belay_cpu.conv2d_chain.default";
  info.signature = "input out_channels kernel_size stride padding dilation";
  info.outputs = {&result};
  for (const EValue& argument : arguments) info.arguments.push_back(&argument);
  EXPECT_EQ(OperationsOf(info), 2.0 * 2 * (5 * 4 * 16 * 9 + 5 * 4 * 20 * 16));
}

TEST_F(OperationsTest, OthersAreNotKnownButMoveBytesAlsoOfLists) {
  const InstructionInfo info = Only(R"(program edge {
  graph(%x: f32[2,3] user_input, %y: f32[2,3] user_input) {
    %a: f32[4,3] = edge.aten.cat.default([%x, %y])
    return (%a user_output)
  }
})");
  EXPECT_EQ(OperationsOf(info), 0);
  EXPECT_EQ(BytesOf(info).read, 48u);
  EXPECT_EQ(BytesOf(info).written, 48u);
}

}  // namespace
}  // namespace belay::tools
