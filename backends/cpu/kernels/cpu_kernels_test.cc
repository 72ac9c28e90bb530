// Compares the backend's kernels with reference loops over doubles, on each instruction set.
#include "backends/cpu/kernels/cpu_kernels.h"

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "backends/cpu/kernels/comparison_testing.h"
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kFloat = DType::kFloat32;

// Trailing arguments of every call.
struct Epilogue {
  std::string_view activation = "none", combine = "add";
  double low = -kInf, high = kInf;
};

void Append(const Epilogue& e, std::vector<TestArgument>& arguments) {
  arguments.insert(arguments.end(),
                   {EValue(e.activation), EValue(e.combine), EValue(e.low), EValue(e.high)});
}

// Errors are bounded before the clamp, which does not increase them.
void Unbound(absl::Span<EValue* const> arguments) {
  *arguments[arguments.size() - 2] = EValue(-kInf);
  *arguments[arguments.size() - 1] = EValue(kInf);
}

struct Convolution {
  int64_t batch, channels, height, width, out_channels;  // 0: depthwise
  int64_t kernel, stride, padding, dilation;
};

KernelCall CallOf(const Convolution& c, bool bias, bool other, const Epilogue& epilogue = {},
                  Layout layout = Layout::kChannelsLast) {
  const bool depthwise = c.out_channels == 0;
  const int64_t taps = c.kernel * c.kernel;
  const auto outputs = [&](int64_t size) {
    return (size + 2 * c.padding - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
  };
  const int64_t weights = depthwise ? *PackedDepthwiseSize(c.channels, taps)
                                    : *PackedMatrixSize(taps * c.channels, c.out_channels);
  const int64_t features = depthwise ? c.channels : c.out_channels;
  KernelCall call;
  call.op = depthwise ? "belay_cpu.depthwise_conv2d.default" : "belay_cpu.conv2d.default";
  call.arguments = {TestTensorSpec{kFloat, {c.batch, c.channels, c.height, c.width}, layout},
                    TestTensorSpec{kFloat, {weights}}};
  call.arguments.push_back(bias ? TestArgument(TestTensorSpec{kFloat, {features}})
                                : TestArgument(EValue()));
  call.arguments.push_back(
      other ? TestArgument(TestTensorSpec{kFloat,
                                          {c.batch, features, outputs(c.height), outputs(c.width)},
                                          Layout::kChannelsLast})
            : TestArgument(EValue()));
  if (!depthwise) call.arguments.push_back(EValue(c.out_channels));
  for (int64_t number : {c.kernel, c.stride, c.padding, c.dilation}) {
    call.arguments.push_back(std::vector<int64_t>{number, number});
  }
  Append(epilogue, call.arguments);
  call.output_layout = Layout::kChannelsLast;
  // n terms, and the bias, `other` and the rounding of the sum.
  call.max_ulp = static_cast<double>(taps * (depthwise ? 1 : c.channels)) + 4;
  call.ulp_of = UlpOf::kMagnitudes;
  call.adjust_magnitudes = Unbound;
  return call;
}

KernelCall Linear(std::vector<int64_t> input, int64_t features, bool bias, bool other,
                  const Epilogue& epilogue = {}) {
  Sizes sizes{absl::MakeConstSpan(input)}, result = sizes;
  const int64_t k = sizes[sizes.size() - 1];
  result[result.size() - 1] = features;
  KernelCall call;
  call.op = "belay_cpu.linear.default";
  call.arguments = {TestTensorSpec{kFloat, sizes},
                    TestTensorSpec{kFloat, {*PackedMatrixSize(k, features)}}};
  call.arguments.push_back(bias ? TestArgument(TestTensorSpec{kFloat, {features}})
                                : TestArgument(EValue()));
  call.arguments.push_back(other ? TestArgument(TestTensorSpec{kFloat, result})
                                 : TestArgument(EValue()));
  call.arguments.push_back(EValue(features));
  Append(epilogue, call.arguments);
  call.max_ulp = static_cast<double>(k) + 4;
  call.ulp_of = UlpOf::kMagnitudes;
  call.adjust_magnitudes = Unbound;
  return call;
}

using CpuKernelsTest = CpuKernelComparisonTest;

TEST_F(CpuKernelsTest, LinearOfEveryRank) {
  for (bool bias : {false, true}) {
    for (bool other : {false, true}) {
      ASSERT_TRUE(comparison_.Compare(Linear({7}, 5, bias, other)));
      ASSERT_TRUE(comparison_.Compare(Linear({1, 40}, 70, bias, other)));
      ASSERT_TRUE(comparison_.Compare(Linear({3, 5, 33}, 31, bias, other)));
      ASSERT_TRUE(comparison_.Compare(Linear({2, 13, 1, 8}, 64, bias, other)));
    }
  }
  ASSERT_TRUE(comparison_.Compare(Linear({14, 2048}, 33, true, false)));
  ASSERT_TRUE(comparison_.Compare(Linear({0, 4}, 3, true, false)));
}

TEST_F(CpuKernelsTest, ConvolutionsReadRowsPixelsOrCopies) {
  const Convolution cases[] = {
      {1, 16, 5, 6, 24, 1, 1, 0, 1},    // rows
      {2, 1024, 2, 3, 33, 1, 1, 0, 1},  // rows of one L1 cache way
      {2, 16, 9, 7, 20, 3, 1, 1, 1},    // taps
      {1, 8, 9, 7, 33, 3, 2, 1, 1},    {1, 12, 11, 9, 17, 3, 1, 2, 2}, {1, 9, 6, 6, 5, 1, 2, 0, 1},
      {1, 8, 4, 4, 8, 1, 1, 2, 1},     {2, 3, 13, 11, 32, 3, 2, 1, 1},  // copies
      {1, 3, 20, 20, 40, 7, 2, 3, 1},  {1, 1, 5, 5, 3, 5, 1, 4, 1},
  };
  for (const Convolution& c : cases) {
    for (bool bias : {false, true}) {
      for (bool other : {false, true}) {
        ASSERT_TRUE(comparison_.Compare(CallOf(c, bias, other)));
      }
    }
    ASSERT_TRUE(comparison_.Compare(CallOf(c, true, false, {}, Layout::kRowMajor)));
    ASSERT_TRUE(comparison_.Compare(CallOf(c, true, false, {}, Layout::kReversed)));
  }
}

// Rows of results that are computed from the images in place.
TEST_F(CpuKernelsTest, ConvolutionsOfFewChannels) {
  const Convolution cases[] = {
      {2, 3, 35, 37, 16, 3, 2, 1, 1},
      {1, 3, 9, 32, 33, 3, 1, 0, 1},
      {1, 1, 6, 40, 40, 5, 2, 2, 1},
      {1, 7, 5, 18, 24, 3, 1, 1, 1},
      {2, 4, 8, 64, 48, 4, 4, 0, 1},
      {1, 2, 6, 19, 8, 2, 1, 3, 1},
      {1, 3, 7, 20, 20, 1, 1, 0, 1},
      {1, 3, 7, 20, 20, 1, 1, 0, 2},
      {1, 3, 2, 17, 16, 5, 1, 2, 1},
      // Segments of rows.
      {1, 16, 1, 1100, 16, 3, 1, 1, 1},
      {2, 3, 2, 700, 20, 5, 1, 2, 1},
      {1, 1, 1, 1500, 9, 3, 2, 1, 1},
      {1, 40, 3, 520, 5, 3, 1, 0, 1},
      // Rows of more than a strip.
      {2, 2, 3, 260, 515, 3, 1, 1, 1},
      {1, 1, 5, 170, 2100, 5, 5, 0, 1},
      // Few filters.
      {2, 16, 9, 19, 16, 3, 1, 1, 1},
      {1, 40, 11, 37, 5, 3, 2, 1, 1},
      {1, 9, 5, 18, 12, 2, 1, 1, 1},
  };
  for (const Convolution& c : cases) {
    for (Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
      for (bool other : {false, true}) {
        ASSERT_TRUE(comparison_.Compare(CallOf(c, true, other, {}, layout)));
      }
      KernelCall call = CallOf(c, false, false, {"none", "add", -1, 2}, layout);
      ASSERT_TRUE(comparison_.Compare(call));
      call.output_layout = Layout::kRowMajor;
      ASSERT_TRUE(comparison_.Compare(call));
    }
  }
}

TEST_F(CpuKernelsTest, DepthwiseConvolutions) {
  const Convolution cases[] = {{2, 24, 9, 11, 0, 3, 1, 1, 1},
                               {1, 35, 10, 9, 0, 3, 2, 1, 1},
                               {1, 16, 8, 8, 0, 5, 1, 2, 1},
                               {1, 7, 8, 8, 0, 4, 3, 0, 2}};
  for (const Convolution& c : cases) {
    for (bool bias : {false, true}) {
      for (bool other : {false, true}) {
        ASSERT_TRUE(comparison_.Compare(CallOf(c, bias, other)));
      }
    }
  }
}

// Strips of pixels begin and end inside an image.
TEST_F(CpuKernelsTest, ContiguousResultsOfConvolutions) {
  const Convolution cases[] = {
      {3, 16, 17, 19, 24, 1, 1, 0, 1}, {2, 1024, 2, 3, 33, 1, 1, 0, 1},
      {3, 16, 13, 17, 20, 3, 1, 1, 1}, {2, 3, 29, 31, 32, 3, 2, 1, 1},
      {1, 8, 5, 21, 1500, 3, 1, 1, 1}, {3, 24, 19, 11, 0, 3, 1, 1, 1},
      {2, 35, 40, 33, 0, 5, 2, 2, 1},  {2, 7, 8, 8, 0, 4, 3, 0, 2},
      {1, 3000, 5, 30, 0, 3, 1, 1, 1}, {2, 0, 5, 5, 7, 3, 1, 1, 1},
      {0, 16, 5, 5, 7, 3, 1, 1, 1},    {0, 16, 5, 5, 0, 3, 1, 1, 1},
  };
  for (const Convolution& c : cases) {
    for (const Epilogue& e : {Epilogue{}, Epilogue{"none", "add", -1, 2}}) {
      KernelCall call = CallOf(c, true, false, e);
      call.output_layout = Layout::kRowMajor;
      ASSERT_TRUE(comparison_.Compare(call));
    }
  }
}

TEST_F(CpuKernelsTest, BoundsAndGates) {
  for (const Epilogue& e : {Epilogue{"none", "add", 0, kInf}, Epilogue{"none", "add", -1, 2},
                            Epilogue{"none", "mul", -kInf, kInf}, Epilogue{"none", "mul", -3, 3}}) {
    ASSERT_TRUE(comparison_.Compare(Linear({14, 9}, 35, true, true, e)));
    ASSERT_TRUE(comparison_.Compare(CallOf({1, 16, 5, 5, 19, 3, 1, 1, 1}, true, true, e)));
    ASSERT_TRUE(comparison_.Compare(CallOf({1, 19, 5, 5, 0, 3, 1, 1, 1}, true, true, e)));
  }
}

TEST_F(CpuKernelsTest, EmptySums) {
  // Images without channels, and rows without features: only the bias.
  for (bool bias : {false, true}) {
    ASSERT_TRUE(comparison_.Compare(Linear({4, 0}, 33, bias, false)));
    ASSERT_TRUE(comparison_.Compare(CallOf({2, 0, 5, 5, 7, 3, 1, 1, 1}, bias, true)));
    ASSERT_TRUE(comparison_.Compare(CallOf({2, 0, 5, 5, 7, 1, 1, 0, 1}, bias, true)));
  }
  // An empty batch.
  ASSERT_TRUE(comparison_.Compare(CallOf({0, 16, 5, 5, 7, 3, 1, 1, 1}, true, true)));
  ASSERT_TRUE(comparison_.Compare(CallOf({0, 16, 5, 5, 0, 3, 1, 1, 1}, true, true)));
  ASSERT_TRUE(comparison_.Compare(CallOf({2, 0, 5, 5, 0, 3, 1, 1, 1}, true, true)));
}

TEST_F(CpuKernelsTest, Attention) {
  struct {
    Sizes query, key;
    int64_t value_size;
  } const cases[] = {
      {{2, 4, 3, 8}, {2, 2, 5, 8}, 6},     // grouped query
      {{4, 40, 16}, {4, 70, 16}, 33},      // no batch
      {{1, 2, 65, 8}, {1, 1, 65, 8}, 8},   // many queries
      {{1, 1, 75, 2}, {1, 1, 390, 2}, 2},  // several blocks of queries and of keys
      {{1, 2, 2, 2}, {1, 1, 390, 2}, 2},  {{2, 4, 3, 8}, {2, 2, 0, 8}, 6},  // no keys: zeros
      {{1, 2, 3, 0}, {1, 2, 5, 0}, 4},                                      // equal scores
      {{1, 2, 3, 1}, {1, 2, 5, 1}, 1},    {{0, 2, 3, 8}, {0, 2, 5, 8}, 4},
  };
  for (const auto& c : cases) {
    const int rank = c.query.size();
    Sizes value = c.key, scores = c.query, out = c.query;
    value[rank - 1] = out[rank - 1] = c.value_size;
    scores[rank - 1] = c.key[rank - 2];
    Sizes of_head = scores, of_keys(1, scores[rank - 1]);
    for (int d = 0; d < rank - 3; ++d) of_head[d] = 1;
    for (bool causal : {false, true}) {
      std::vector<TestArgument> masks = {EValue(),
                                         TestTensorSpec{kFloat, scores},
                                         TestTensorSpec{kFloat, of_head, Layout::kReversed},
                                         TestTensorSpec{kFloat, of_keys},
                                         TestTensorSpec{DType::kBool, of_keys},
                                         TestTensorSpec{kFloat, {}}};
      for (const TestArgument& mask : masks) {
        for (const auto& [layout, dtype] :
             {std::pair(Layout::kRowMajor, kFloat), std::pair(Layout::kReversed, kFloat),
              std::pair(Layout::kRowMajor, DType::kBFloat16),
              std::pair(Layout::kRowMajor, DType::kFloat16)}) {
          // The last dimension of queries is dense, unless its size is 1.
          if (layout == Layout::kReversed && c.query[rank - 1] > 1) continue;
          KernelCall call;
          call.op = "belay_cpu.attention.default";
          call.arguments = {TestTensorSpec{kFloat, c.query, layout, Values::kUnit},
                            TestTensorSpec{dtype, c.key, layout, Values::kUnit},
                            TestTensorSpec{dtype, value, Layout::kRowMajor, Values::kUnit},
                            mask,
                            EValue(0.5),
                            EValue(causal),
                            EValue(true)};
          // Weights sum to 1, and values are at most 1.
          call.max_ulp = 64;
          call.ulp_of = UlpOf::kLargest;
          ASSERT_TRUE(comparison_.Compare(call));
        }
      }
    }
  }
}

TEST_F(CpuKernelsTest, RmsNorms) {
  for (const Sizes& sizes :
       {Sizes{7}, Sizes{3, 33}, Sizes{2, 5, 1, 64}, Sizes{0, 8}, Sizes{3, 0}, Sizes{70, 768}}) {
    const int64_t n = sizes[sizes.size() - 1];
    for (bool weighted : {false, true}) {
      KernelCall call;
      call.op = "belay_cpu.rms_norm.default";
      call.arguments = {
          TestTensorSpec{kFloat, sizes},
          weighted ? TestArgument(TestTensorSpec{kFloat, {n}}) : TestArgument(EValue()),
          EValue(1e-5)};
      call.max_ulp = static_cast<double>(n) / 2 + 8;
      ASSERT_TRUE(comparison_.Compare(call));
    }
  }
}

TEST_F(CpuKernelsTest, RotaryEmbeddings) {
  struct {
    Sizes input, angles;
  } const cases[] = {{{6}, {3}},
                     {{2, 3, 5, 8}, {5, 4}},
                     {{2, 3, 5, 8}, {1, 5, 8}},
                     {{2, 3, 5, 34}, {2, 1, 5, 17}},
                     {{2, 3, 0}, {3, 0}},
                     {{2, 70, 3, 64}, {1, 70, 1, 64}},
                     {{0, 3, 8}, {1, 4}}};
  for (const auto& c : cases) {
    KernelCall call;
    call.op = "belay_cpu.rotary_embedding.default";
    for (const Sizes& sizes : {c.input, c.angles, c.angles}) {
      // Integers, so that sums of products are exact.
      call.arguments.push_back(TestTensorSpec{.dtype = kFloat, .sizes = sizes, .below = -8});
    }
    ASSERT_TRUE(comparison_.Compare(call));
  }
}

TEST_F(CpuKernelsTest, MaxPools) {
  for (DType dtype : {kFloat, DType::kBFloat16, DType::kUint8}) {
    for (Values values : {Values::kNormal, Values::kSpecial}) {
      const auto pool = [&](Sizes images, std::vector<int64_t> kernel, std::vector<int64_t> stride,
                            std::vector<int64_t> padding) {
        KernelCall call;
        call.op = "belay_cpu.max_pool2d.default";
        call.arguments = {TestTensorSpec{dtype, images, Layout::kChannelsLast, values}, kernel,
                          stride, padding, std::vector<int64_t>{1, 1}};
        call.outputs = {dtype};
        call.output_layout = Layout::kChannelsLast;
        return call;
      };
      ASSERT_TRUE(comparison_.Compare(pool({2, 16, 9, 7}, {3, 3}, {2, 2}, {1, 1})));
      ASSERT_TRUE(comparison_.Compare(pool({1, 35, 8, 9}, {2, 4}, {1, 3}, {0, 2})));
      ASSERT_TRUE(comparison_.Compare(pool({1, 5, 4, 4}, {9, 2}, {1, 1}, {4, 0, 4, 1})));
      ASSERT_TRUE(comparison_.Compare(pool({0, 16, 9, 7}, {3, 3}, {2, 2}, {1, 1})));
      ASSERT_TRUE(comparison_.Compare(pool({1, 33, 8, 7}, {3, 3}, {2, 2}, {1, 1, 2, 1})));
      // Images without rows.
      ASSERT_TRUE(comparison_.Compare(pool({1, 3, 0, 4}, {2, 2}, {2, 2}, {1, 0})));
    }
  }
}

// Calls that a program file may contain but the compiler does not emit: an error, and nothing is
// written.
TEST_F(CpuKernelsTest, RejectsInvalidCalls) {
  KernelCall wrong_weight = Linear({4, 8}, 40, false, false);
  wrong_weight.arguments[1] = TestTensorSpec{kFloat, {8 * 32}};
  KernelCall wrong_activation = Linear({4, 8}, 40, false, false, {.activation = "relu"});
  KernelCall wrong_bounds = Linear({4, 8}, 40, false, false, {.low = 1, .high = 0});
  KernelCall wrong_combine = Linear({4, 8}, 40, false, true, {.combine = "sub"});
  KernelCall nan_bound = Linear({4, 8}, 40, false, false, {.low = std::nan("")});
  KernelRegistry registry;
  ASSERT_TRUE(AddCpuKernels(registry).ok());
  for (const KernelCall& call :
       {wrong_weight, wrong_activation, wrong_bounds, wrong_combine, nan_bound}) {
    std::vector<EValue> values;
    for (const TestArgument& argument : call.arguments) {
      if (const auto* spec = std::get_if<TestTensorSpec>(&argument)) {
        values.push_back(EValue(TensorView::Contiguous(spec->dtype, spec->sizes, nullptr)));
      } else {
        values.push_back(std::get<EValue>(argument));
      }
    }
    std::vector<EValue*> slots;
    for (EValue& value : values) slots.push_back(&value);
    EValue out(TensorView::Contiguous(kFloat, {4, 40}, nullptr));
    EValue* outputs[] = {&out};
    EXPECT_EQ(registry.Find(call.op, KernelContext(slots, outputs, nullptr, {})), nullptr);
  }
}

}  // namespace
}  // namespace belay::cpu
