#include "runtime/kernel/work.h"

#include <vector>

#include "gtest/gtest.h"

namespace belay {
namespace {

// A call of tensors without memory.
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
    const WorkRule rule = WorkRuleOf(op);
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

TEST(WorkTest, ProductsTakeEachRowWithAllOfTheOther) {
  EXPECT_EQ(Call({{2, 3}, {3, 5}}, {{2, 5}}).WorkOf("aten.mm.default"),
            2u * 3 * 5 + 16 * (6 + 15 + 10));
  EXPECT_EQ(Call({{7, 2, 3}, {7, 3, 5}}, {}).WorkOf("aten.bmm.default"),
            7u * 2 * 3 * 5 + 16 * (42 + 105));
  EXPECT_EQ(Call({{2, 3}, {3}}, {}).WorkOf("aten.mv.default"), 2u * 3 + 16 * 9);
  EXPECT_EQ(Call({{5}, {2, 3}, {3, 5}}, {}).WorkOf("aten.addmm.default"), 2u * 3 * 5 + 16 * 26);
}

TEST(WorkTest, ConvolutionsTakeEachPlaceWithAllWeights) {
  EXPECT_EQ(Call({{1, 3, 8, 8}, {4, 3, 2, 2}}, {{1, 4, 7, 7}}).WorkOf("aten.convolution.default"),
            49u * 48 + 16 * (192 + 48 + 196));
}

TEST(WorkTest, ChainsOfConvolutionsTakeEachPlaceOfTheirInputWithAllWeights) {
  std::vector<EValue> weights = {EValue(TensorView::Contiguous(DType::kFloat32, {512}, nullptr)),
                                 EValue(TensorView::Contiguous(DType::kFloat32, {144}, nullptr))};
  std::vector<EValue*> elements = {&weights[0], &weights[1]};
  EValue input(TensorView::Contiguous(DType::kFloat32, {1, 16, 8, 8}, nullptr));
  EValue list(ListView{elements});
  EValue* slots[] = {&input, &list};
  const WorkRule rule = WorkRuleOf("belay_cpu.conv2d_chain.default");
  EXPECT_EQ(WorkOfArguments(rule, KernelContext(slots, {}, nullptr, {})),
            64u * (512 + 144) + 16 * (1024 + 512 + 144));
}

TEST(WorkTest, IsSaturated) {
  const int64_t many = int64_t{1} << 40;
  const WorkRule rule = WorkRuleOf("aten.mm.default");
  EXPECT_EQ(WorkOfArguments(rule, Call({{many, 1}, {1, many}}, {}).context()), UINT64_MAX);
}

}  // namespace
}  // namespace belay
