// Compares belay_cpu::pointwise with loops over doubles that round every step, on each instruction
// set, and with one and several threads.
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/kernels/comparison_testing.h"
#include "backends/cpu/pointwise_calls.h"
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay::cpu {
namespace {

constexpr DType kF32 = DType::kFloat32;

// A list of scalars, which lives as long as the process.
EValue Doubles(const std::vector<double>& numbers) {
  static auto& values = *new std::list<EValue>;
  static auto& lists = *new std::list<std::vector<EValue*>>;
  std::vector<EValue*>& list = lists.emplace_back();
  for (const double number : numbers) list.push_back(&values.emplace_back(number));
  return EValue(ListView{list});
}

class PointwiseKernelTest : public CpuKernelComparisonTest {
 protected:
  void ExpectEqual(std::vector<TestTensorSpec> inputs, std::string_view ops,
                   std::vector<int64_t> operands, std::vector<double> scalars, double max_ulp) {
    KernelCall call;
    call.op = "belay_cpu.pointwise.default";
    call.arguments = {std::move(inputs), EValue(ops), std::move(operands), Doubles(scalars)};
    call.max_ulp = max_ulp;
    ASSERT_TRUE(comparison_.Compare(call)) << ops;
  }
};

TEST_F(PointwiseKernelTest, EveryStep) {
  for (const PointwiseStep& step : kPointwiseSteps) {
    // A truth value selects between inputs.
    std::string ops(step.name);
    std::vector<int64_t> operands;
    for (int i = 0; i < step.operands; ++i) {
      operands.push_back((step.truth_operands >> i & 1) != 0 ? 3 : i % 3);
    }
    const int64_t first_scalar = 4;
    for (int i = 0; i < step.scalars; ++i) operands.push_back(first_scalar + i);
    std::vector<double> scalars(static_cast<size_t>(step.scalars), 0.5);
    if (step.name == "clamp") scalars = {-0.25, 0.75};
    if (step.conversion == PointwiseConversion::kDequantize ||
        step.conversion == PointwiseConversion::kQuantize) {
      continue;  // ReadsAndWritesBytes
    }
    if (step.conversion == PointwiseConversion::kBFloat16) {
      ops += " abs";
      operands.push_back(first_scalar);
    }
    if (step.truth) {
      ops += " where";
      operands.insert(operands.end(), {first_scalar + step.scalars, 0, 1});
    }
    for (const int64_t n : {1, 31, 1024, 3000}) {
      const TestTensorSpec value = {kF32, {n}, Layout::kRowMajor, Values::kPositive};
      ExpectEqual({value, value, value, {DType::kBool, {n}}}, ops, operands, scalars, 32);
    }
  }
}

TEST_F(PointwiseKernelTest, ReadsAndWritesBFloat16) {
  for (const int64_t n : {1, 31, 1024, 3000}) {
    KernelCall call;
    call.op = "belay_cpu.pointwise.default";
    call.arguments = {std::vector<TestTensorSpec>{{DType::kBFloat16, {3, n}}, {kF32, {n}}},
                      EValue(std::string_view("mul bfloat16 add bfloat16")),
                      std::vector<int64_t>{0, 1, 2, 3, 0, 4}, Doubles({})};
    call.outputs = {DType::kBFloat16};
    ASSERT_TRUE(comparison_.Compare(call)) << n;
  }
}

TEST_F(PointwiseKernelTest, ReadsAndWritesBytes) {
  for (const DType dtype : {DType::kUint8, DType::kInt8}) {
    for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
      for (const Sizes& sizes : {Sizes{1, 3, 1, 1}, Sizes{2, 19, 5, 7}, Sizes{1, 40, 30, 30}}) {
        KernelCall call;
        call.op = "belay_cpu.pointwise.default";
        call.arguments = {
            std::vector<TestTensorSpec>{{dtype, sizes, layout}, {kF32, {sizes[1], 1, 1}}},
            EValue(std::string_view("dequantize mul quantize")),
            std::vector<int64_t>{0, 2, 3, 8, 1, 9, 4, 5, 6, 7},
            Doubles({17, 0.03125, 20, 100, 3, 250})};
        call.outputs = {DType::kUint8};
        call.output_layout = layout;
        ASSERT_TRUE(comparison_.Compare(call));
      }
    }
  }
}

TEST_F(PointwiseKernelTest, NaNIsQuantizedToZero) {
  KernelCall call;
  call.op = "belay_cpu.pointwise.default";
  call.arguments = {
      std::vector<TestTensorSpec>{{kF32, {3000}, Layout::kRowMajor, Values::kSpecial}},
      EValue(std::string_view("neg quantize")), std::vector<int64_t>{0, 5, 1, 2, 3, 4},
      Doubles({20, 100, 3, 250})};
  call.outputs = {DType::kUint8};
  ASSERT_TRUE(comparison_.Compare(call));
}

TEST_F(PointwiseKernelTest, BroadcastsInEveryLayout) {
  const Sizes sizes = {2, 19, 5, 7};
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
    for (const Sizes& other : {Sizes{2, 19, 5, 7}, Sizes{2, 19, 1, 1}, Sizes{1, 19, 1, 1},
                               Sizes{2, 1, 5, 7}, Sizes{7}, Sizes{5, 1}, Sizes{}}) {
      for (const Layout second : {Layout::kRowMajor, Layout::kChannelsLast}) {
        if (second == Layout::kChannelsLast && other.size() != 4) continue;
        KernelCall call;
        call.op = "belay_cpu.pointwise.default";
        call.arguments = {std::vector<TestTensorSpec>{{kF32, sizes, layout}, {kF32, other, second}},
                          EValue(std::string_view("mul add maximum")),
                          std::vector<int64_t>{0, 1, 3, 2, 4, 0}, Doubles({0.25})};
        call.output_layout = layout;
        ASSERT_TRUE(comparison_.Compare(call));
      }
    }
  }
}

TEST_F(PointwiseKernelTest, ReusesBuffersOfDeadResults) {
  // A chain of 16 steps, and a tree whose leaves are all alive at once.
  std::string ops = "neg";
  std::vector<int64_t> operands = {0};
  for (int64_t i = 1; i < 16; ++i) {
    absl::StrAppend(&ops, " neg");
    operands.push_back(i);
  }
  ExpectEqual({{kF32, {5000}}}, ops, operands, {}, 0);
  ExpectEqual({{kF32, {5000}}}, "neg abs neg abs neg abs add add add add add",
              {0, 0, 0, 0, 0, 0, 1, 2, 7, 3, 8, 4, 9, 5, 10, 6}, {}, 1);
}

}  // namespace
}  // namespace belay::cpu
