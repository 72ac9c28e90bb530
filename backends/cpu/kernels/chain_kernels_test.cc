// Compares belay_cpu::conv2d_chain with reference loops over doubles, and bit for bit with separate
// convolutions, on each instruction set.
#include <cstddef>
#include <limits>
#include <list>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/chain_calls.h"
#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/testing/reference_kernels.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel_interface/test_outputs.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/kernel_comparison.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kFloat32 = DType::kFloat32;

struct Stage {
  int64_t out_channels;  // 0: depthwise
  int64_t kernel, stride, padding, dilation = 1;
  std::string activation = "none";
  double low = -kInf, high = kInf;
  bool bias = true;
};

struct TestChain {
  int64_t batch, channels, height, width;
  std::vector<Stage> stages;
  bool other = false;
  std::string combine = "add";
};

int64_t Places(int64_t size, const Stage& s) {
  return (size + 2 * s.padding - s.dilation * (s.kernel - 1) - 1) / s.stride + 1;
}

// Sizes of each stage's input, and of the last result.
std::vector<Sizes> SizesOf(const TestChain& chain) {
  std::vector<Sizes> sizes = {{chain.batch, chain.channels, chain.height, chain.width}};
  for (const Stage& s : chain.stages) {
    const Sizes& in = sizes.back();
    sizes.push_back({chain.batch, s.out_channels == 0 ? in[1] : s.out_channels, Places(in[2], s),
                     Places(in[3], s)});
  }
  return sizes;
}

int64_t PackedSize(const Stage& s, int64_t channels) {
  const int64_t taps = s.kernel * s.kernel;
  return s.out_channels == 0 ? *PackedDepthwiseSize(channels, taps)
                             : *PackedMatrixSize(taps * channels, s.out_channels);
}

const TestChain kChains[] = {
    // Inverted residuals with a number of rows that is not a multiple of the step.
    {1, 8, 13, 11, {{24, 1, 1, 0}, {0, 3, 1, 1}, {9, 1, 1, 0}}, true},
    {2, 8, 13, 52, {{24, 1, 1, 0}, {0, 3, 2, 1}, {16, 1, 1, 0}}, true, "mul"},
    // Consecutive windows.
    {1, 19, 12, 9, {{0, 3, 1, 1}, {0, 3, 1, 1}, {0, 3, 1, 1}, {0, 3, 1, 1}}},
    {1, 5, 23, 21, {{0, 5, 1, 2}, {0, 5, 2, 2}, {0, 3, 1, 2, 2}}},
    // Rows of one L1 cache way.
    {1, 8, 4, 5, {{1024, 1, 1, 0}, {33, 1, 1, 0}}},
    // Windows without padding, one as high as its input, and a single stage.
    {1, 8, 9, 12, {{0, 3, 1, 0}, {8, 1, 1, 0}, {0, 5, 1, 0}}},
    {1, 8, 6, 6, {{0, 3, 1, 1}}},
    // An empty batch.
    {0, 8, 13, 11, {{24, 1, 1, 0}, {0, 3, 1, 1}}},
};

std::string Describe(const TestChain& chain) {
  std::vector<std::string> sizes;
  for (const Sizes& s : SizesOf(chain))
    sizes.push_back(absl::StrCat("[", absl::StrJoin(s, ","), "]"));
  return absl::StrJoin(sizes, " -> ");
}

// Integer lists of a chain's call.
struct Numbers {
  std::vector<int64_t> out_channels, kernel_size, stride, padding, dilation;
  std::vector<double> low, high;
  std::string activations;

  explicit Numbers(const TestChain& chain) {
    for (const Stage& s : chain.stages) {
      out_channels.push_back(s.out_channels);
      kernel_size.insert(kernel_size.end(), 2, s.kernel);
      stride.insert(stride.end(), 2, s.stride);
      padding.insert(padding.end(), 4, s.padding);
      dilation.insert(dilation.end(), 2, s.dilation);
      low.push_back(s.low);
      high.push_back(s.high);
      absl::StrAppend(&activations, activations.empty() ? "" : " ", s.activation);
    }
  }
};

// List arguments of a call.
class Lists {
 public:
  EValue List(const std::vector<EValue>& elements) {
    std::vector<EValue*>& list = lists_.emplace_back();
    for (const EValue& element : elements) list.push_back(&values_.emplace_back(element));
    return EValue(ListView{list});
  }
  EValue Ints(const std::vector<int64_t>& numbers) { return ListOf(numbers); }
  EValue Doubles(const std::vector<double>& numbers) { return ListOf(numbers); }

 private:
  template <class T>
  EValue ListOf(const std::vector<T>& numbers) {
    std::vector<EValue> elements;
    for (T number : numbers) elements.push_back(EValue(number));
    return List(elements);
  }
  std::list<EValue> values_;
  std::list<std::vector<EValue*>> lists_;
};

TEST(ConvolutionChains, MatchReferenceLoops) {
  KernelComparison comparison(CpuReferenceKernels(), Conv2dChainKernels());
  for (TestChain chain : kChains) {
    for (bool bias : {false, true}) {
      for (const double low : {-kInf, 0.0}) {
        const std::vector<Sizes> sizes = SizesOf(chain);
        std::vector<TestTensorSpec> weights;
        std::vector<std::optional<TestTensorSpec>> biases;
        for (Stage& s : chain.stages) s.low = low;
        const Numbers numbers(chain);
        double terms = 0;
        for (size_t k = 0; k < chain.stages.size(); ++k) {
          const Stage& s = chain.stages[k];
          weights.push_back(
              {kFloat32, {PackedSize(s, sizes[k][1])}, Layout::kRowMajor, Values::kUnit});
          biases.push_back(bias ? std::optional(TestTensorSpec{kFloat32, {sizes[k + 1][1]}})
                                : std::nullopt);
          terms +=
              static_cast<double>(s.kernel * s.kernel * (s.out_channels == 0 ? 1 : sizes[k][1])) +
              4;
        }
        Lists lists;
        KernelCall call;
        call.op = "belay_cpu.conv2d_chain.default";
        call.arguments = {TestTensorSpec{kFloat32, sizes[0], Layout::kChannelsLast},
                          weights,
                          biases,
                          chain.other ? TestArgument(TestTensorSpec{kFloat32, sizes.back(),
                                                                    Layout::kChannelsLast})
                                      : TestArgument(EValue()),
                          numbers.out_channels,
                          numbers.kernel_size,
                          numbers.stride,
                          numbers.padding,
                          numbers.dilation,
                          EValue(std::string_view(numbers.activations)),
                          EValue(std::string_view(chain.combine)),
                          lists.Doubles(numbers.low),
                          lists.Doubles(numbers.high)};
        call.output_layout = Layout::kChannelsLast;
        // Rounding errors propagate like terms; a later clamp does not increase differences.
        call.max_ulp = terms;
        call.ulp_of = UlpOf::kMagnitudes;
        ASSERT_TRUE(comparison.Compare(call)) << Describe(chain);
      }
    }
  }
}

// Random operands of a chain, and memory for its results.
class Memory {
 public:
  explicit Memory(uint64_t seed) : random_(seed) {}
  EValue Tensor(const Sizes& sizes) {
    TensorView view = TensorView::Contiguous(kFloat32, sizes, nullptr);
    if (sizes.size() == 4) {
      view.strides = {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]};
    }
    std::vector<float>& floats = memory_.emplace_back(static_cast<size_t>(view.numel()));
    std::normal_distribution<float> normal(0, 0.5f);
    for (float& x : floats) x = normal(random_);
    view.data = floats.data();
    return EValue(view);
  }

 private:
  std::mt19937_64 random_;
  std::list<std::vector<float>> memory_;
};

// Runs the operator's kernel.
absl::Status RunKernel(std::string_view op, std::vector<EValue> arguments, EValue result,
                       ThreadPool* threads) {
  KernelRegistry registry;
  ABSL_RETURN_IF_ERROR(AddCpuKernels(registry));
  EValue* results[] = {&result};
  FixedOutputs allocator;
  return RunOperator(registry, op, std::move(arguments), results, allocator, threads);
}

std::string BytesOf(const EValue& tensor) {
  const TensorView& view = *tensor.get_if<TensorView>();
  return std::string(static_cast<const char*>(view.data), view.nbytes());
}

class ConvolutionChainBitsTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
};

TEST_P(ConvolutionChainBitsTest, MatchSeparateConvolutions) {
  const auto pair = [](Lists& lists, int64_t n) { return lists.Ints({n, n}); };
  for (TestChain chain : kChains) {
    // The first stages end with an activation or bounds.
    chain.stages[0].low = -0.25;
    chain.stages[0].high = 0.75;
    chain.stages.back().activation = "hardswish";
    if (chain.stages.size() > 2) {
      chain.stages[1].activation = "silu";
      chain.stages[1].bias = false;
    }
    const std::vector<Sizes> sizes = SizesOf(chain);
    Memory memory(TestSeed());
    Lists lists;
    std::vector<EValue> weights, biases;
    for (size_t k = 0; k < chain.stages.size(); ++k) {
      weights.push_back(memory.Tensor({PackedSize(chain.stages[k], sizes[k][1])}));
      biases.push_back(chain.stages[k].bias ? memory.Tensor({sizes[k + 1][1]}) : EValue());
    }
    const EValue input = memory.Tensor(sizes[0]);
    const EValue other = chain.other ? memory.Tensor(sizes.back()) : EValue();
    EValue images = input;
    for (size_t k = 0; k < chain.stages.size(); ++k) {
      const Stage& s = chain.stages[k];
      const bool is_last = k + 1 == chain.stages.size();
      std::vector<EValue> arguments = {images, weights[k], biases[k], is_last ? other : EValue()};
      if (s.out_channels != 0) arguments.push_back(EValue(s.out_channels));
      for (int64_t n : {s.kernel, s.stride, s.padding, s.dilation}) {
        arguments.push_back(pair(lists, n));
      }
      arguments.insert(arguments.end(), {EValue(std::string_view(s.activation)),
                                         EValue(is_last ? std::string_view(chain.combine) : "add"),
                                         EValue(s.low), EValue(s.high)});
      images = memory.Tensor(sizes[k + 1]);
      ASSERT_OK(RunKernel(
          s.out_channels == 0 ? "belay_cpu.depthwise_conv2d.default" : "belay_cpu.conv2d.default",
          arguments, images, nullptr));
    }
    const Numbers numbers(chain);
    const std::vector<EValue> arguments = {input,
                                           lists.List(weights),
                                           lists.List(biases),
                                           other,
                                           lists.Ints(numbers.out_channels),
                                           lists.Ints(numbers.kernel_size),
                                           lists.Ints(numbers.stride),
                                           lists.Ints(numbers.padding),
                                           lists.Ints(numbers.dilation),
                                           EValue(std::string_view(numbers.activations)),
                                           EValue(std::string_view(chain.combine)),
                                           lists.Doubles(numbers.low),
                                           lists.Doubles(numbers.high)};
    for (int count : {1, 2, 3, 5}) {
      ThreadPool threads(count);
      const EValue result = memory.Tensor(sizes.back());
      ASSERT_OK(RunKernel("belay_cpu.conv2d_chain.default", arguments, result, &threads));
      EXPECT_TRUE(BytesOf(result) == BytesOf(images))
          << Describe(chain) << " on " << count << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ConvolutionChainBitsTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay::cpu
