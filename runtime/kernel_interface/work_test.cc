#include "runtime/kernel_interface/work.h"

#include <vector>

#include "gtest/gtest.h"

namespace belay {
namespace {

// A call with tensors without memory.
class Call {
 public:
  Call(std::vector<Sizes> arguments, std::vector<Sizes> outputs) {
    const auto add = [&](const std::vector<Sizes>& sizes) {
      for (const Sizes& s : sizes) {
        values_.push_back(EValue(TensorView::Contiguous(DType::kFloat32, s, nullptr)));
      }
    };
    add(arguments);
    add(outputs);
    for (EValue& value : values_) slots_.push_back(&value);
    arguments_ = arguments.size();
  }
  KernelContext context() {
    const absl::Span<EValue* const> all = slots_;
    return KernelContext(all.first(arguments_), all.subspan(arguments_), nullptr, {});
  }
  uint64_t WorkOf(std::string_view op) {
    const WorkRule rule = FactsOf(op).work;
    return WorkOfArguments(rule, context()) + WorkOfOutputs(rule, context());
  }

 private:
  std::vector<EValue> values_;
  std::vector<EValue*> slots_;
  size_t arguments_ = 0;
};

TEST(WorkTest, CountsElements) {
  EXPECT_EQ(Call({{2, 3}, {3}}, {{2, 3}}).WorkOf("aten.add.Tensor"), 16u * (6 + 3 + 6));
  EXPECT_EQ(Call({{0, 1 << 30}}, {}).WorkOf("aten.relu.default"), 0u);
}

TEST(WorkTest, MatmulCountsMultiplyAdds) {
  EXPECT_EQ(Call({{2, 3}, {3, 5}}, {{2, 5}}).WorkOf("aten.mm.default"),
            2u * 3 * 5 + 16 * (6 + 15 + 10));
  EXPECT_EQ(Call({{7, 2, 3}, {7, 3, 5}}, {}).WorkOf("aten.bmm.default"),
            7u * 2 * 3 * 5 + 16 * (42 + 105));
  EXPECT_EQ(Call({{2, 3}, {3}}, {}).WorkOf("aten.mv.default"), 2u * 3 + 16 * 9);
  EXPECT_EQ(Call({{5}, {2, 3}, {3, 5}}, {}).WorkOf("aten.addmm.default"), 2u * 3 * 5 + 16 * 26);
}

TEST(WorkTest, ConvolutionCountsOutputPixelsTimesWeights) {
  EXPECT_EQ(Call({{1, 3, 8, 8}, {4, 3, 2, 2}}, {{1, 4, 7, 7}}).WorkOf("aten.convolution.default"),
            49u * 48 + 16 * (192 + 48 + 196));
}

TEST(WorkTest, ConvolutionChainCountsInputPixelsTimesWeights) {
  std::vector<EValue> weights = {EValue(TensorView::Contiguous(DType::kFloat32, {512}, nullptr)),
                                 EValue(TensorView::Contiguous(DType::kFloat32, {144}, nullptr))};
  std::vector<EValue*> elements = {&weights[0], &weights[1]};
  EValue input(TensorView::Contiguous(DType::kFloat32, {1, 16, 8, 8}, nullptr));
  EValue list(ListView{elements});
  EValue* slots[] = {&input, &list};
  const WorkRule rule = WorkRule{WorkRule::Kind::kChain, 0, 1};
  EXPECT_EQ(WorkOfArguments(rule, KernelContext(slots, {}, nullptr, {})),
            64u * (512 + 144) + 16 * (1024 + 512 + 144));
}

// Returns the slots of `values`.
std::vector<EValue*> SlotsOf(std::vector<EValue>& values) {
  std::vector<EValue*> slots;
  for (EValue& value : values) slots.push_back(&value);
  return slots;
}
EValue Tensor(const Sizes& sizes) {
  return EValue(TensorView::Contiguous(DType::kFloat32, sizes, nullptr));
}

TEST(WorkTest, ListsCountTheirElements) {
  std::vector<EValue> parts = {Tensor({2, 3}), Tensor({4}), EValue(int64_t{7})};
  const std::vector<EValue*> elements = SlotsOf(parts);
  std::vector<EValue> values = {EValue(ListView{elements}), EValue(int64_t{1})};
  const std::vector<EValue*> slots = SlotsOf(values);
  EXPECT_EQ(
      WorkOfArguments(FactsOf("aten.cat.default").work, KernelContext(slots, {}, nullptr, {})),
      16u * (6 + 4));
}

TEST(WorkTest, PairsCountElementProduct) {
  EXPECT_EQ(Call({{3, 2}, {5}, {3, 2}}, {}).WorkOf("aten._trilinear.default"),
            6u * 6 + 16 * (6 + 5 + 6));
  EXPECT_EQ(Call({{5, 4}, {5}}, {}).WorkOf("torchvision.nms.default"),
            8 * (5u * 5 + 16 * (20 + 5)));
}

TEST(WorkTest, AttentionCountsElementsTimesTokens) {
  constexpr char kOp[] = "llama.custom_sdpa.default";
  EXPECT_EQ(Call({{1, 2, 4, 8}, {1, 6, 2, 8}}, {}).WorkOf(kOp), 2u * (64 * 6 + 16 * (64 + 96)));
  EXPECT_EQ(Call({{1, 4, 2, 8}, {1, 2, 6, 8}}, {}).WorkOf(kOp), 2u * (64 * 6 + 16 * (64 + 96)));
  EXPECT_EQ(Call({{8}, {6, 2}}, {}).WorkOf(kOp), 2u * 16 * (8 + 12));
}

TEST(WorkTest, RowsCountElementsTimesLastSize) {
  EXPECT_EQ(Call({{3, 4}}, {}).WorkOf("aten._linalg_det.default"), 2 * (12u * 4 + 16 * 12));
  EXPECT_EQ(Call({{0, 4}}, {}).WorkOf("aten._linalg_det.default"), 0u);
  EXPECT_EQ(Call({{}}, {}).WorkOf("aten._linalg_det.default"), 2 * (1u + 16));
}

TEST(WorkTest, ConvolutionGradientCountsThreeTimes) {
  EXPECT_EQ(Call({{1, 4, 7, 7}, {1, 3, 8, 8}, {4, 3, 2, 2}}, {})
                .WorkOf("aten.convolution_backward.default"),
            3u * 49 * 48 + 16 * (196 + 192 + 48));
}

TEST(WorkTest, EmbeddingBagCountsOneRowPerIndex) {
  EXPECT_EQ(Call({{10, 8}, {5}, {2}}, {}).WorkOf("aten._embedding_bag.default"),
            5u * 8 + 16 * (80 + 5 + 2));
  const WorkRule bags = FactsOf("aten._embedding_bag.default").work;
  std::vector<EValue> values = {EValue(), Tensor({5})};
  const std::vector<EValue*> slots = SlotsOf(values);
  EXPECT_EQ(WorkOfArguments(bags, KernelContext(slots, {}, nullptr, {})), 16u * 5);
}

TEST(WorkTest, WindowsCountPerOutputElement) {
  EValue two(int64_t{2}), three(int64_t{3}), none, minus(int64_t{-1});
  EValue *const both[] = {&two, &three}, *const odd[] = {&three, &none, &minus};
  const WorkRule rule = FactsOf("aten.max_pool2d_with_indices.default").work;
  const auto work = [&](EValue kernel) {
    std::vector<EValue> values = {Tensor({1, 4, 4}), kernel, Tensor({1, 2, 2})};
    const std::vector<EValue*> slots = SlotsOf(values);
    const absl::Span<EValue* const> all = slots;
    return WorkOfOutputs(rule, KernelContext(all.first(2), all.subspan(2), nullptr, {}));
  };
  EXPECT_EQ(work(EValue(ListView{both})), 4u * 6 + 16 * 4);
  EXPECT_EQ(work(EValue(ListView{odd})),
            4u * 3 + 16 * 4);               // anything other than a size counts as 1
  EXPECT_EQ(work(three), 4u * 9 + 16 * 4);  // in both directions
  EXPECT_EQ(work(minus), 4u + 16 * 4);
  EXPECT_EQ(work(none), 4u + 16 * 4);
  // Without such an argument, the operator has no window.
  EXPECT_EQ(WorkOfOutputs(rule, Call({{1, 4, 4}}, {{1, 2, 2}}).context()), 16u * 4);
}

TEST(WorkTest, TransposedConvolutionCountsInputPixels) {
  const WorkRule rule = FactsOf("aten.convolution.default").work;
  const auto work = [&](EValue transposed) {
    std::vector<EValue> values(9);
    values[0] = Tensor({1, 3, 2, 2});
    values[1] = Tensor({3, 4, 2, 2});
    values[6] = transposed;
    values.push_back(Tensor({1, 4, 5, 5}));
    const std::vector<EValue*> slots = SlotsOf(values);
    const absl::Span<EValue* const> all = slots;
    return WorkOfOutputs(rule, KernelContext(all.first(9), all.subspan(9), nullptr, {}));
  };
  EXPECT_EQ(work(true), 4u * 48 + 16 * 100);
  EXPECT_EQ(work(false), 25u * 48 + 16 * 100);
  EXPECT_EQ(work(EValue()), 25u * 48 + 16 * 100);
}

TEST(WorkTest, NonTensorsCountNothing) {
  const WorkRule product = FactsOf("aten.mm.default").work;
  std::vector<EValue> values = {Tensor({2, 3}), EValue()};
  const std::vector<EValue*> slots = SlotsOf(values);
  EXPECT_EQ(WorkOfArguments(product, KernelContext(slots, {}, nullptr, {})), 16u * 6);
  EXPECT_EQ(WorkOfArguments(product, KernelContext({}, {}, nullptr, {})), 0u);
  const WorkRule convolution = FactsOf("aten.convolution.default").work;
  EValue* const nothing[] = {nullptr};
  EXPECT_EQ(WorkOfOutputs(convolution, KernelContext(slots, nothing, nullptr, {})), 0u);
  EXPECT_EQ(WorkOfOutputs(convolution, KernelContext(slots, {}, nullptr, {})), 0u);
  EXPECT_EQ(WorkOfOutputs(convolution, KernelContext(slots, slots, nullptr, {})), 16u * 6);
  // An image without channels, and a chain without weights.
  EXPECT_EQ(WorkOfOutputs(convolution, Call({{2}, {3}}, {{4}}).context()), 4u * 3 + 16 * 4);
  EXPECT_EQ(
      WorkOfArguments(WorkRule{WorkRule::Kind::kChain, 0, 1}, Call({{1, 2, 3}}, {}).context()),
      16u * 6);
}

TEST(WorkTest, Saturates) {
  const int64_t many = int64_t{1} << 40;
  const WorkRule rule = FactsOf("aten.mm.default").work;
  EXPECT_EQ(WorkOfArguments(rule, Call({{many, 1}, {1, many}}, {}).context()), UINT64_MAX);
  // Even if the number of matrices overflows int64.
  const int64_t half = int64_t{1} << 32;
  EXPECT_EQ(WorkOfArguments(rule, Call({{half, half, 1, 1}, {half, half, 1, 1}}, {}).context()),
            UINT64_MAX);
}

}  // namespace
}  // namespace belay
