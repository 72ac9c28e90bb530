// Compares the backend's quantized kernels with reference loops, bit for bit, on each instruction
// set.
#include <deque>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "backends/cpu/kernels/comparison_testing.h"
#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/quantized_calls.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Trailing arguments of every call. A scale of 0 means None.
struct Epilogue {
  int64_t input_zero_point = 7;
  std::string_view activation = "none";
  double low = -kInf, high = kInf;
  double inner_scale = 0;
  std::vector<int64_t> inner_range = {};
  double output_scale = 700;
  std::vector<int64_t> output_range = {120, 0, 255};
};

void Append(const Epilogue& e, KernelCall& call) {
  const auto optional = [](double scale) { return scale == 0 ? EValue() : EValue(scale); };
  call.arguments.insert(
      call.arguments.end(),
      {EValue(e.input_zero_point), EValue(e.activation), EValue(e.low), EValue(e.high),
       optional(e.inner_scale), e.inner_range, optional(e.output_scale), e.output_range});
  call.outputs = {e.output_scale == 0 ? DType::kFloat32 : DType::kUint8};
  if (e.activation != "none") call.max_ulp = 8;
}

struct Convolution {
  int64_t batch, channels, height, width, out_channels;  // 0: depthwise
  int64_t kernel, stride, padding, dilation;
  int64_t groups = 1;
};

class QuantizedKernelsTest : public CpuKernelComparisonTest {
 protected:
  std::vector<int8_t> Draw(int64_t count) {
    std::vector<int8_t> numbers(static_cast<size_t>(count));
    for (int8_t& number : numbers) number = static_cast<int8_t>(random_() % 256);
    return numbers;
  }
  // Returns a packed weight that lives as long as the test.
  TestArgument Packed(std::vector<int8_t> bytes) {
    weights_.push_back(std::move(bytes));
    const auto size = static_cast<int64_t>(weights_.back().size());
    return EValue(TensorView::Contiguous(DType::kInt8, {size}, weights_.back().data()));
  }
  TestArgument PackedMatrix(int64_t taps, int64_t k, int64_t n) {
    const std::vector<int8_t> b = Draw(taps * k * n);
    std::vector<int8_t> packed(static_cast<size_t>(*PackedQuantizedMatrixSize(taps, k, n)));
    PackQuantizedMatrix(b.data(), taps, k, n, k * n, n, 1, packed.data());
    return Packed(std::move(packed));
  }

  // Appends the per-channel arguments after input and weight.
  static void AppendChannels(int64_t channels, bool bias, KernelCall& call) {
    call.arguments.push_back(
        TestTensorSpec{DType::kFloat32, {channels}, Layout::kRowMajor, Values::kPositive});
    call.arguments.push_back(
        TestTensorSpec{DType::kInt32, {channels}, Layout::kRowMajor, Values::kNormal, -20000});
    call.arguments.push_back(
        bias ? TestArgument(
                   TestTensorSpec{DType::kFloat32, {channels}, Layout::kRowMajor, Values::kWide})
             : TestArgument(EValue()));
  }
  static TestTensorSpec Bytes(const Sizes& sizes, Layout layout = Layout::kRowMajor) {
    return TestTensorSpec{DType::kUint8, sizes, layout, Values::kNormal, 256};
  }

  KernelCall Linear(std::vector<int64_t> input, int64_t features, bool bias,
                    const Epilogue& epilogue = {}) {
    const Sizes sizes{absl::MakeConstSpan(input)};
    KernelCall call;
    call.op = "belay_cpu.quantized_linear.default";
    call.arguments = {Bytes(sizes), PackedMatrix(1, sizes[sizes.size() - 1], features)};
    AppendChannels(features, bias, call);
    call.arguments.push_back(EValue(features));
    Append(epilogue, call);
    return call;
  }

  KernelCall CallOf(const Convolution& c, bool bias, const Epilogue& epilogue = {},
                    Layout layout = Layout::kChannelsLast) {
    const bool depthwise = c.out_channels == 0;
    const int64_t taps = c.kernel * c.kernel;
    KernelCall call;
    call.op = depthwise      ? "belay_cpu.quantized_depthwise_conv2d.default"
              : c.groups > 1 ? "belay_cpu.quantized_grouped_conv2d.default"
                             : "belay_cpu.quantized_conv2d.default";
    call.arguments = {Bytes({c.batch, c.channels, c.height, c.width}, layout)};
    if (depthwise) {
      const std::vector<int8_t> weight = Draw(c.channels * taps);
      std::vector<int8_t> packed(
          static_cast<size_t>(*PackedQuantizedDepthwiseSize(c.channels, c.kernel, c.kernel)));
      PackQuantizedDepthwise(weight.data(), c.channels, c.kernel, c.kernel, taps, 1, packed.data());
      call.arguments.push_back(Packed(std::move(packed)));
    } else if (c.groups > 1) {
      const int64_t channels = c.channels / c.groups, filters = c.out_channels / c.groups;
      const std::vector<int8_t> weight = Draw(c.out_channels * taps * channels);
      std::vector<int8_t> packed(
          static_cast<size_t>(*PackedQuantizedGroupsSize(taps, c.groups, channels, filters)));
      PackQuantizedGroups(weight.data(), taps, c.groups, channels, filters, packed.data());
      call.arguments.push_back(Packed(std::move(packed)));
    } else {
      const Window window = {.kernel_size = {c.kernel, c.kernel},
                             .stride = {},
                             .dilation = {c.dilation, c.dilation},
                             .padding = {},
                             .padding_after = {}};
      const TapSizes packed = PackedTaps(c.channels, window);
      call.arguments.push_back(PackedMatrix(packed.count, packed.size, c.out_channels));
    }
    AppendChannels(depthwise ? c.channels : c.out_channels, bias, call);
    if (!depthwise) call.arguments.push_back(EValue(c.out_channels));
    if (c.groups > 1) call.arguments.push_back(EValue(c.groups));
    for (int64_t number : {c.kernel, c.stride, c.padding, c.dilation}) {
      call.arguments.push_back(std::vector<int64_t>{number, number});
    }
    Append(epilogue, call);
    call.output_layout = Layout::kChannelsLast;
    return call;
  }

  std::mt19937_64 random_{TestSeed()};
  std::deque<std::vector<int8_t>> weights_;
};

const Epilogue kEpilogues[] = {
    {},
    {.input_zero_point = 0, .output_scale = 0, .output_range = {}},
    {.input_zero_point = 255, .low = 0, .high = 30000, .output_range = {3, 3, 200}},
    {.inner_scale = 500, .inner_range = {128, 128, 250}, .output_scale = 333},
    {.inner_scale = 500, .inner_range = {100, 0, 255}, .output_scale = 0, .output_range = {}},
    {.activation = "hardswish", .output_scale = 0, .output_range = {}},
};

TEST_F(QuantizedKernelsTest, LinearOfEveryRank) {
  for (const Epilogue& e : kEpilogues) {
    for (bool bias : {false, true}) {
      ASSERT_TRUE(comparison_.Compare(Linear({7}, 5, bias, e)));
      ASSERT_TRUE(comparison_.Compare(Linear({1, 40}, 70, bias, e)));
      ASSERT_TRUE(comparison_.Compare(Linear({3, 5, 33}, 31, bias, e)));
      ASSERT_TRUE(comparison_.Compare(Linear({2, 13, 1, 8}, 64, bias, e)));
    }
  }
  ASSERT_TRUE(comparison_.Compare(Linear({14, 2048}, 33, true)));
  ASSERT_TRUE(comparison_.Compare(Linear({0, 4}, 3, true)));
}

TEST_F(QuantizedKernelsTest, ConvolutionsReadRowsPixelsOrPaddedCopies) {
  const Convolution cases[] = {
      {1, 16, 5, 6, 24, 1, 1, 0, 1},                                   // rows
      {2, 1024, 2, 3, 33, 1, 1, 0, 1}, {2, 16, 9, 7, 20, 3, 1, 1, 1},  // taps
      {1, 8, 9, 7, 33, 3, 2, 1, 1},    {1, 13, 11, 9, 17, 3, 1, 2, 2},
      {1, 9, 6, 6, 5, 1, 2, 0, 1},     {1, 8, 4, 4, 8, 1, 1, 2, 1},
      {2, 3, 13, 11, 32, 3, 2, 1, 1},  // copies
      {1, 3, 20, 20, 40, 7, 2, 3, 1},  {1, 1, 5, 5, 3, 5, 1, 4, 1},
      {2, 3, 9, 12, 7, 3, 1, 2, 2},    {1, 2, 8, 8, 17, 1, 1, 0, 1},
      {1, 5, 7, 9, 4, 1, 3, 2, 2},     {0, 16, 9, 7, 20, 3, 1, 1, 1},  // empty batch
  };
  for (const Convolution& c : cases) {
    for (const Epilogue& e : kEpilogues) ASSERT_TRUE(comparison_.Compare(CallOf(c, true, e)));
    ASSERT_TRUE(comparison_.Compare(CallOf(c, false)));
    if (c.channels >= kFewChannels) continue;
    ASSERT_TRUE(comparison_.Compare(CallOf(c, true, {}, Layout::kRowMajor)));
    ASSERT_TRUE(comparison_.Compare(CallOf(c, true, {}, Layout::kReversed)));
  }
}

TEST_F(QuantizedKernelsTest, DepthwiseConvolutions) {
  const Convolution cases[] = {{2, 24, 9, 11, 0, 3, 1, 1, 1},
                               {1, 35, 10, 9, 0, 3, 2, 1, 1},
                               {1, 144, 8, 8, 0, 5, 1, 2, 1},
                               {1, 7, 8, 8, 0, 4, 3, 0, 2},
                               {0, 24, 9, 11, 0, 3, 1, 1, 1}};
  for (const Convolution& c : cases) {
    for (const Epilogue& e : kEpilogues) {
      ASSERT_TRUE(comparison_.Compare(CallOf(c, true, e)));
      ASSERT_TRUE(comparison_.Compare(CallOf(c, false, e)));
    }
  }
}

TEST_F(QuantizedKernelsTest, GroupedConvolutions) {
  const Convolution cases[] = {
      {1, 16, 5, 6, 16, 1, 1, 0, 1, 4},     // rows; four groups share a matrix
      {2, 32, 9, 7, 64, 3, 1, 1, 1, 2},     // taps; a matrix per group
      {1, 24, 9, 7, 72, 3, 2, 1, 1, 3},     // an incomplete panel per group
      {1, 12, 11, 9, 24, 3, 1, 2, 2, 12},   // one channel, two filters
      {1, 9, 6, 6, 15, 1, 2, 0, 1, 3},      // all groups share a matrix
      {1, 64, 9, 7, 64, 3, 1, 1, 1, 16},    // matrices of four groups of four channels,
      {2, 48, 11, 9, 48, 3, 2, 1, 1, 6},    // of two groups of eight,
      {1, 32, 20, 20, 32, 3, 1, 1, 1, 16},  // of eight groups of two
      {1, 40, 7, 7, 60, 5, 1, 2, 1, 10},   {0, 16, 9, 7, 16, 3, 1, 1, 1, 4},  // empty batch
  };
  for (const Convolution& c : cases) {
    for (const Epilogue& e : kEpilogues) ASSERT_TRUE(comparison_.Compare(CallOf(c, true, e)));
    ASSERT_TRUE(comparison_.Compare(CallOf(c, false)));
  }
}

TEST_F(QuantizedKernelsTest, Sums) {
  for (const Sizes& sizes :
       {Sizes{7}, Sizes{3, 5, 33}, Sizes{2, 20, 9, 7}, Sizes{1, 64, 17, 16}, Sizes{0, 4}}) {
    const Layout layout = sizes.size() == 4 ? Layout::kChannelsLast : Layout::kRowMajor;
    KernelCall call;
    call.op = "belay_cpu.quantized_add.default";
    call.arguments = {Bytes(sizes, layout), Bytes(sizes, layout),
                      EValue(0.5),          EValue(int64_t{3}),
                      EValue(0.3),          EValue(int64_t{200}),
                      EValue(0.7),          std::vector<int64_t>{100, 20, 250}};
    call.outputs = {DType::kUint8};
    call.output_layout = layout;
    ASSERT_TRUE(comparison_.Compare(call));
  }
}

TEST_F(QuantizedKernelsTest, MaxPools) {
  for (const Convolution& c :
       {Convolution{1, 64, 12, 12, 0, 3, 2, 1, 1}, Convolution{2, 7, 5, 6, 0, 2, 2, 0, 1},
        Convolution{1, 33, 4, 9, 0, 5, 1, 2, 1}, Convolution{0, 7, 5, 6, 0, 2, 2, 0, 1}}) {
    const Sizes sizes = {c.batch, c.channels, c.height, c.width};
    // kSpecial: NaN, infinities, both zeros.
    for (const TestTensorSpec& images :
         {Bytes(sizes, Layout::kChannelsLast),
          TestTensorSpec{DType::kFloat32, sizes, Layout::kChannelsLast, Values::kNormal, 0},
          TestTensorSpec{DType::kFloat32, sizes, Layout::kChannelsLast, Values::kSpecial, 0}}) {
      KernelCall call;
      call.op = "belay_cpu.max_pool2d.default";
      call.arguments = {images};
      for (int64_t number : {c.kernel, c.stride, c.padding, c.dilation}) {
        call.arguments.push_back(std::vector<int64_t>{number, number});
      }
      call.outputs = {images.dtype};
      call.output_layout = Layout::kChannelsLast;
      ASSERT_TRUE(comparison_.Compare(call));
    }
  }
}

TEST_F(QuantizedKernelsTest, Lookups) {
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast, Layout::kReversed}) {
    for (const Sizes& sizes : {Sizes{2, 20, 9, 7}, Sizes{1, 64, 17, 16}, Sizes{0, 4, 1, 1}}) {
      KernelCall call;
      call.op = "belay_cpu.lookup.default";
      call.arguments = {Bytes(sizes, layout), Bytes({256})};
      call.outputs = {DType::kUint8};
      call.output_layout = layout;
      ASSERT_TRUE(comparison_.Compare(call));
    }
  }
}

// Calls that a program file may contain but the compiler does not emit: an error, and nothing is
// written.
TEST_F(QuantizedKernelsTest, RejectsInvalidCalls) {
  const auto row = [](int64_t size) { return TestTensorSpec{DType::kUint8, {4, size}}; };
  KernelCall wrong_weight = Linear({4, 8}, 40, false);
  wrong_weight.arguments[0] = row(12);
  KernelCall long_sum = Linear({4, 8}, 40, false);
  long_sum.arguments[0] = row(kMaxTerms + 1);
  KernelCall floats = Linear({4, 8}, 40, false);
  floats.arguments[0] = TestTensorSpec{DType::kFloat32, {4, 8}};
  KernelCall signed_bytes = Linear({4, 8}, 40, false);
  signed_bytes.arguments[0] = TestTensorSpec{DType::kInt8, {4, 8}};
  KernelCall sums = Linear({4, 8}, 40, false);
  sums.arguments[3] = TestTensorSpec{DType::kInt32, {8}};
  KernelRegistry registry;
  ASSERT_TRUE(AddCpuKernels(registry).ok());
  for (const KernelCall& call : {
           wrong_weight,
           long_sum,
           floats,
           signed_bytes,
           sums,
           Linear({4, 8}, 40, false, {.input_zero_point = 256}),
           Linear({4, 8}, 40, false, {.input_zero_point = -1}),
           Linear({4, 8}, 40, false, {.output_scale = -1}),
           Linear({4, 8}, 40, false, {.output_scale = 1e-60}),
           Linear({4, 8}, 40, false, {.output_range = {120, 0}}),
           Linear({4, 8}, 40, false, {.output_range = {120, 0, 256}}),
           Linear({4, 8}, 40, false, {.output_range = {120, 121, 255}}),
           Linear({4, 8}, 40, false, {.inner_scale = 1, .inner_range = {120, 0, 119}}),
           Linear({4, 8}, 40, false, {.low = 1, .high = 0}),
       }) {
    std::deque<EValue> numbers;
    std::deque<std::vector<EValue*>> lists;
    std::vector<EValue> values;
    for (const TestArgument& argument : call.arguments) {
      if (const auto* spec = std::get_if<TestTensorSpec>(&argument)) {
        values.push_back(EValue(TensorView::Contiguous(spec->dtype, spec->sizes, nullptr)));
      } else if (const auto* list = std::get_if<std::vector<int64_t>>(&argument)) {
        std::vector<EValue*>& elements = lists.emplace_back();
        for (int64_t number : *list) elements.push_back(&numbers.emplace_back(number));
        values.push_back(EValue(ListView{elements}));
      } else {
        values.push_back(std::get<EValue>(argument));
      }
    }
    std::vector<EValue*> slots;
    for (EValue& value : values) slots.push_back(&value);
    EValue out(TensorView::Contiguous(DType::kUint8, {4, 40}, nullptr));
    EValue* outputs[] = {&out};
    EXPECT_EQ(registry.Find(call.op, KernelContext(slots, outputs, nullptr, {})), nullptr);
  }
}

}  // namespace
}  // namespace belay::cpu
