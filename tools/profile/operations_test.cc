#include "tools/profile/operations.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/schema/operator_facts.h"
#include "tools/profile/testing/logged_method.h"

namespace belay::tools {
namespace {

// The only instruction of a program, after a call.
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

TEST_F(OperationsTest, Matmuls) {
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

TEST_F(OperationsTest, Convolutions) {
  EXPECT_EQ(OperationsOf(Only(R"(program edge {
  graph(%x: f32[1,4,8,8] user_input, %w: f32[6,2,3,3] user_input) {
    %c: f32[1,6,6,6] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 2)
    return (%c user_output)
  }
})")),
            2.0 * (6 * 6 * 6) * (2 * 3 * 3));
}

TEST_F(OperationsTest, TransposedConvolutions) {
  EXPECT_EQ(OperationsOf(Only(R"(program edge {
  graph(%x: f32[1,4,8,8] user_input, %w: f32[4,6,3,3] user_input) {
    %c: f32[1,6,10,10] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], true, [0,0], 1)
    return (%c user_output)
  }
})")),
            2.0 * (4 * 8 * 8) * (6 * 3 * 3));
}

// Rules of backends' private operators.
constexpr FlopRule kWindow = {FlopRule::Kind::kWindow, "input"};
constexpr FlopRule kDepthwise = {FlopRule::Kind::kDepthwise, "input"};
constexpr FlopRule kAttention = {FlopRule::Kind::kAttention};
constexpr FlopRule kChain = {FlopRule::Kind::kChain, "input"};

// As in the CPU backend: a depthwise convolution with stride 2 and a pointwise convolution.
TEST(ChainOperationsTest, SumsStages) {
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
  const OperatorFacts facts = {.flops = kChain};
  info.facts = &facts;
  info.signature = "input out_channels kernel_size stride padding dilation";
  info.outputs = {&result};
  for (const EValue& argument : arguments) info.arguments.push_back(&argument);
  EXPECT_EQ(OperationsOf(info), 2.0 * 2 * (5 * 4 * 16 * 9 + 5 * 4 * 20 * 16));
}

// A call with these named arguments and one result.
class BuiltCall {
 public:
  explicit BuiltCall(std::string_view op) { info_.facts = &FactsOf(op); }
  explicit BuiltCall(const FlopRule& rule) : facts_{.flops = rule} { info_.facts = &facts_; }
  BuiltCall& Tensor(std::string name, std::vector<int64_t> sizes) {
    return Add(std::move(name), ViewOf(sizes));
  }
  BuiltCall& Ints(std::string name, const std::vector<int64_t>& numbers) {
    std::vector<EValue*> elements;
    for (const int64_t number : numbers) elements.push_back(Keep(EValue(number)));
    lists_.push_back(std::make_unique<std::vector<EValue*>>(std::move(elements)));
    return Add(std::move(name), EValue(ListView{*lists_.back()}));
  }
  BuiltCall& Add(std::string name, EValue value) {
    signature_.append(signature_.empty() ? "" : " ").append(name);
    info_.arguments.push_back(Keep(std::move(value)));
    return *this;
  }
  double Giving(std::vector<int64_t> sizes) {
    info_.outputs = {Keep(ViewOf(sizes))};
    info_.signature = signature_;
    return OperationsOf(info_);
  }
  double GivingNothing() {
    info_.signature = signature_;
    return OperationsOf(info_);
  }

 private:
  static EValue ViewOf(const std::vector<int64_t>& sizes) {
    return EValue(TensorView::Contiguous(DType::kFloat32, sizes, nullptr));
  }
  EValue* Keep(EValue value) {
    values_.push_back(std::make_unique<EValue>(std::move(value)));
    return values_.back().get();
  }
  OperatorFacts facts_;
  InstructionInfo info_;
  std::string signature_;
  std::vector<std::unique_ptr<EValue>> values_;
  std::vector<std::unique_ptr<std::vector<EValue*>>> lists_;
};

TEST(BuiltOperationsTest, ConvolutionsWithPackedWeights) {
  BuiltCall window(kWindow);
  window.Tensor("input", {1, 4, 8, 8}).Ints("kernel_size", {3, 2});
  EXPECT_EQ(window.Giving({1, 6, 7, 6}), 2.0 * (6 * 7 * 6) * (4 * 3 * 2));
  BuiltCall depthwise(kDepthwise);
  depthwise.Tensor("input", {1, 4, 8, 8}).Ints("kernel_size", {3, 2});
  EXPECT_EQ(depthwise.Giving({1, 4, 7, 6}), 2.0 * (4 * 7 * 6) * (3 * 2));
}

TEST(BuiltOperationsTest, GroupedWindowsReadTheChannelsOfTheirGroup) {
  const auto grouped = [](EValue groups, EValue transposed) {
    BuiltCall call(kWindow);
    call.Tensor("input", {1, 4, 8, 8}).Ints("kernel_size", {3, 2});
    call.Add("groups", std::move(groups)).Add("transposed", std::move(transposed));
    return call.Giving({1, 6, 7, 6});
  };
  EXPECT_EQ(grouped(EValue(int64_t{2}), EValue(false)), 2.0 * (6 * 7 * 6) * (2 * 3 * 2));
  EXPECT_EQ(grouped(EValue(int64_t{2}), EValue(true)), 2.0 * (4 * 8 * 8) * (3 * 3 * 2));
  EXPECT_EQ(grouped(EValue(int64_t{0}), EValue(false)), 0);
  EXPECT_EQ(grouped(EValue(), EValue(false)), 0);
  EXPECT_EQ(grouped(EValue(int64_t{2}), EValue()), 0);
}

TEST(BuiltOperationsTest, Attention) {
  BuiltCall call(kAttention);
  call.Tensor("query", {2, 3, 5, 8}).Tensor("key", {2, 3, 7, 8}).Tensor("value", {2, 3, 7, 4});
  // Each of 5 queries with 7 keys over 8 elements, and 7 rows of 4.
  EXPECT_EQ(call.Giving({2, 3, 5, 4}), 2.0 * (2 * 3) * 5 * 7 * (8 + 4));
  BuiltCall empty(kAttention);
  empty.Tensor("query", {2, 0}).Tensor("key", {2, 0}).Tensor("value", {2, 4});
  EXPECT_EQ(empty.Giving({2, 4}), 0);
}

// Calls from files may have any operands: unrecognized ones count as 0.
TEST(BuiltOperationsTest, ZeroForMismatchedOperands) {
  EXPECT_EQ(BuiltCall("aten.mm").GivingNothing(), 0);
  EXPECT_EQ(BuiltCall("aten.mm.default").Tensor("self", {2, 3}).GivingNothing(), 0);
  EXPECT_EQ(BuiltCall("aten.mm.default").Tensor("other", {2, 3}).Giving({2, 2}), 0);
  EXPECT_EQ(BuiltCall("aten.mm.default").Tensor("self", {}).Giving({2, 2}), 0);
  EXPECT_EQ(BuiltCall("aten.mm.default").Add("self", EValue(1.5)).Giving({2, 2}), 0);

  // Convolutions.
  const auto convolution = [](std::vector<int64_t> weight, EValue transposed) {
    return BuiltCall("aten.convolution.default")
        .Tensor("input", {1, 4, 8, 8})
        .Tensor("weight", std::move(weight))
        .Add("transposed", std::move(transposed))
        .Giving({1, 6, 6, 6});
  };
  EXPECT_EQ(convolution({6, 4, 3, 3}, EValue(false)), 2.0 * (6 * 6 * 6) * (4 * 3 * 3));
  EXPECT_EQ(convolution({}, EValue(false)), 0);
  EXPECT_EQ(convolution({0, 4, 3, 3}, EValue(false)), 0);
  EXPECT_EQ(convolution({6, 4, 3, 3}, EValue(int64_t{0})), 0);
  EXPECT_EQ(BuiltCall("aten.convolution.default")
                .Tensor("input", {1, 4, 8, 8})
                .Tensor("weight", {6, 4, 3, 3})
                .Giving({1, 6, 6, 6}),
            0);
  EXPECT_EQ(BuiltCall(kWindow).Tensor("input", {4}).Giving({4}), 0);
  EXPECT_EQ(BuiltCall(kWindow).Tensor("input", {1, 4, 8, 8}).Giving({4}), 0);
  EXPECT_EQ(BuiltCall(kWindow)
                .Tensor("input", {1, 4, 8, 8})
                .Add("kernel_size", EValue(int64_t{3}))
                .Giving({4}),
            0);
  BuiltCall real(kWindow);
  EValue half(0.5);
  std::vector<EValue*> elements = {&half};
  EXPECT_EQ(
      real.Tensor("input", {1, 4, 8, 8}).Add("kernel_size", EValue(ListView{elements})).Giving({4}),
      0);

  // Attention.
  const auto attention = [](bool query, bool key, bool value, std::vector<int64_t> keys) {
    BuiltCall call(kAttention);
    if (query) call.Tensor("query", {2, 8});
    if (key) call.Tensor("key", std::move(keys));
    if (value) call.Tensor("value", {3, 8});
    return call.Giving({2, 8});
  };
  EXPECT_GT(attention(true, true, true, {3, 8}), 0);
  EXPECT_EQ(attention(false, true, true, {3, 8}), 0);
  EXPECT_EQ(attention(true, false, true, {3, 8}), 0);
  EXPECT_EQ(attention(true, true, false, {3, 8}), 0);
  EXPECT_EQ(attention(true, true, true, {8}), 0);

  // Chains with one list that is too short.
  const auto chain = [](std::vector<int64_t> input, size_t kernel, size_t stride, size_t padding,
                        size_t dilation) {
    const auto ones = [](size_t count) { return std::vector<int64_t>(count, 1); };
    return BuiltCall(kChain)
        .Tensor("input", std::move(input))
        .Ints("out_channels", {8})
        .Ints("kernel_size", ones(kernel))
        .Ints("stride", ones(stride))
        .Ints("padding", ones(padding))
        .Ints("dilation", ones(dilation))
        .Giving({1, 8, 10, 10});
  };
  EXPECT_EQ(chain({1, 4, 8, 8}, 2, 2, 4, 2), 2.0 * 10 * 10 * 8 * 4);
  EXPECT_EQ(chain({4, 8, 8}, 2, 2, 4, 2), 0);
  EXPECT_EQ(chain({1, 4, 8, 8}, 1, 2, 4, 2), 0);
  EXPECT_EQ(chain({1, 4, 8, 8}, 2, 3, 4, 2), 0);
  EXPECT_EQ(chain({1, 4, 8, 8}, 2, 2, 2, 2), 0);
  EXPECT_EQ(chain({1, 4, 8, 8}, 2, 2, 4, 0), 0);
}

TEST_F(OperationsTest, OtherOperatorsOnlyHaveBytes) {
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
