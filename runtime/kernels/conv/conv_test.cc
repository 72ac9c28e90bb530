// All kinds of convolutions against the reference kernel.
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernel_interface/test_outputs.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/conv/winograd_strips.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

struct Form {
  int64_t channels, filters, groups, size, kernel, stride, padding, dilation;
};

constexpr Form kForms[] = {
    {1, 1, 1, 5, 3, 1, 1, 1},    {3, 8, 1, 9, 3, 1, 1, 1},    {3, 13, 1, 12, 3, 2, 1, 1},
    {4, 6, 2, 10, 3, 1, 2, 2},   {8, 8, 8, 19, 3, 1, 1, 1},   {8, 16, 8, 20, 3, 2, 1, 1},
    {5, 7, 1, 21, 1, 1, 0, 1},   {5, 7, 1, 9, 1, 2, 0, 1},    {2, 2, 2, 40, 5, 2, 2, 1},
    {6, 6, 6, 17, 3, 3, 1, 2},   {1, 40, 1, 8, 8, 1, 7, 1},   {12, 10, 2, 7, 2, 2, 0, 1},
    {4, 4, 1, 6, 4, 3, 2, 1},    {16, 16, 16, 9, 3, 1, 1, 1}, {21, 21, 21, 14, 5, 2, 2, 1},
    {40, 40, 40, 7, 3, 1, 0, 2}, {17, 34, 17, 6, 3, 1, 1, 1}, {6, 9, 1, 5, 3, 1, 7, 7},
    {8, 12, 2, 5, 5, 1, 8, 4},   {5, 7, 1, 6, 3, 2, 9, 9},
};

// Depthwise, with images of several strips of rows; in the last one, strips read only padding.
constexpr Form kTallForms[] = {{35, 35, 35, 66, 3, 1, 1, 1},
                               {16, 16, 16, 99, 5, 2, 2, 1},
                               {19, 19, 19, 70, 3, 3, 2, 3},
                               {17, 17, 17, 20, 1, 1, 45, 1},
                               {33, 33, 33, 130, 2, 3, 0, 1}};

KernelCall CallOf(const Form& f, int spatial, bool transposed, DType dtype, Layout layout,
                  bool with_bias) {
  Sizes input = {2, f.channels}, weight;
  if (transposed) {
    weight = {f.channels, f.filters / f.groups};
  } else {
    weight = {f.filters, f.channels / f.groups};
  }
  std::vector<int64_t> stride, padding, dilation, output_padding;
  for (int d = 0; d < spatial; ++d) {
    // Not smaller than the window.
    input.push_back(std::max(f.size - d, f.dilation * (f.kernel - 1) + 1 - 2 * f.padding));
    weight.push_back(f.kernel);
    stride.push_back(f.stride);
    padding.push_back(transposed ? std::min(f.padding, f.dilation * (f.kernel - 1) / 2)
                                 : f.padding);
    dilation.push_back(f.dilation);
    output_padding.push_back(transposed && f.stride > 1 ? 1 : 0);
  }
  KernelCall call;
  call.op = "aten.convolution.default";
  call.arguments = {
      TestTensorSpec{dtype, input, layout, Values::kUnit, 0},
      TestTensorSpec{dtype, weight, Layout::kRowMajor, Values::kUnit, 0},
      with_bias ? TestArgument(TestTensorSpec{dtype, {f.filters}}) : TestArgument(EValue()),
      stride,
      padding,
      dilation,
      EValue(transposed),
      output_padding,
      EValue(f.groups)};
  call.outputs = {dtype};
  // Terms of a sum, the bias, and the rounding of the result.
  double terms = static_cast<double>(f.channels / f.groups);
  for (int d = 0; d < spatial; ++d) terms *= static_cast<double>(f.kernel);
  call.max_ulp = terms + 4;
  call.ulp_of = UlpOf::kMagnitudes;
  call.output_layout = layout == Layout::kChannelsLast ? layout : Layout::kRowMajor;
  return call;
}

TEST(ConvTest, EveryKindInOneTwoAndThreeDimensions) {
  KernelComparison comparison;
  for (const Form& form : kForms) {
    for (int spatial : {1, 2, 3}) {
      if (spatial == 3 && form.size > 12) continue;
      for (bool transposed : {false, true}) {
        for (bool with_bias : {false, true}) {
          ASSERT_TRUE(comparison.Compare(
              CallOf(form, spatial, transposed, DType::kFloat32, Layout::kRowMajor, with_bias)));
        }
      }
    }
  }
}

TEST(ConvTest, DepthwiseImagesOfSeveralStrips) {
  KernelComparison comparison;
  for (const Form& form : kTallForms) {
    for (const bool with_bias : {false, true}) {
      ASSERT_TRUE(comparison.Compare(
          CallOf(form, 2, false, DType::kFloat32, Layout::kRowMajor, with_bias)));
    }
    ASSERT_TRUE(
        comparison.Compare(CallOf(form, 2, false, DType::kBFloat16, Layout::kChannelsLast, true)));
  }
  // A row of results that is longer than the cache.
  ASSERT_TRUE(comparison.Compare(
      CallOf({21, 21, 21, 3001, 5, 2, 2, 1}, 1, false, DType::kFloat32, Layout::kRowMajor, true)));
}

TEST(ConvTest, HalfPrecisionAndOtherLayouts) {
  KernelComparison comparison;
  for (const Form& form : kForms) {
    for (bool transposed : {false, true}) {
      for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
        for (Layout layout : {Layout::kRowMajor, Layout::kChannelsLast, Layout::kGaps}) {
          ASSERT_TRUE(comparison.Compare(CallOf(form, 2, transposed, dtype, layout, true)));
        }
      }
    }
  }
}

// Calls the kernel for an image of `side` x `side` with the working memory that it requests for an
// image of `planned` x `planned`, on that many threads; returns the status and the result.
absl::StatusOr<std::vector<float>> RunWithMemoryOf(const Form& form, bool transposed,
                                                   int64_t planned, int64_t side, int threads) {
  ThreadPool pool(threads);
  FixedOutputs allocator;
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(kernels.Add(ConvHighwayKernels()));
  std::optional<PlannedKernel> kernel;
  std::vector<float> result;
  for (const int64_t size : {planned, side}) {
    const int64_t out_size = transposed ? size + form.kernel - 1 : size - form.kernel + 1;
    const Sizes weights =
        transposed ? Sizes{form.channels, form.filters / form.groups, form.kernel, form.kernel}
                   : Sizes{form.filters, form.channels / form.groups, form.kernel, form.kernel};
    const auto numbers = [](const Sizes& sizes) {
      std::vector<float> elements(static_cast<size_t>(*NumElements(sizes)));
      for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i % 13) - 6;
      return TestTensor::Of<float>(sizes, elements);
    };
    const TestTensor x = numbers({1, form.channels, size, size}), weight = numbers(weights);
    const TestTensor out =
        TestTensor::Zeros(DType::kFloat32, {1, form.filters, out_size, out_size});
    EValue one(int64_t{1}), zero(int64_t{0});
    EValue *const ones[] = {&one, &one}, *const zeros[] = {&zero, &zero};
    EValue arguments[] = {EValue(x.view()),       EValue(weight.view()),   EValue(),
                          EValue(ListView{ones}), EValue(ListView{zeros}), EValue(ListView{ones}),
                          EValue(transposed),     EValue(ListView{zeros}), EValue(form.groups)};
    std::vector<EValue*> slots;
    for (EValue& argument : arguments) slots.push_back(&argument);
    EValue output(out.view());
    EValue* const outputs[] = {&output};
    if (!kernel.has_value()) {
      ABSL_ASSIGN_OR_RETURN(kernel, PlanKernel(kernels, "aten.convolution.default", slots, outputs,
                                               allocator, &pool));
      continue;
    }
    ABSL_RETURN_IF_ERROR(kernel->Run(slots, outputs, allocator, &pool));
    result.assign(out.view().as<const float>(), out.view().as<const float>() + out.view().numel());
  }
  return result;
}

TEST(ConvTest, WorkingMemorySufficesForSmallerImages) {
  const Form forms[] = {
      {256, 256, 1, 0, 3, 1, 0, 1}, {16, 16, 16, 0, 3, 1, 0, 1}, {8, 24, 2, 0, 2, 1, 0, 1}};
  for (const Form& form : forms) {
    for (const bool transposed : {false, true}) {
      for (const int64_t side : {3, 4, 7, 8, 11, 16, 30, 45}) {
        ASSERT_OK_AND_ASSIGN(const std::vector<float> want,
                             RunWithMemoryOf(form, transposed, side, side, 1));
        for (const int threads : {1, 3}) {
          ASSERT_OK_AND_ASSIGN(const std::vector<float> got,
                               RunWithMemoryOf(form, transposed, 64, side, threads));
          EXPECT_EQ(got, want) << side << ", " << threads << " threads";
        }
      }
    }
  }
}

// Convolution with 3x3 windows in each plane, integer operands and a batch of two images.
struct WinogradForm {
  int64_t channels, filters, height, width, padding, planes = 0, kernel_depth = 1;
};

KernelCall WinogradCall(const WinogradForm& f, DType dtype, Layout layout, bool with_bias) {
  KernelCall call;
  call.op = "aten.convolution.default";
  Sizes input = {2, f.channels}, weight = {f.filters, f.channels};
  std::vector<int64_t> padding, ones, zeros;
  if (f.planes != 0) {
    input.push_back(f.planes);
    weight.push_back(f.kernel_depth);
    padding.push_back(1);
  }
  for (const int64_t size : {f.height, f.width}) {
    input.push_back(size);
    weight.push_back(3);
    padding.push_back(f.padding);
  }
  ones.assign(padding.size(), 1);
  zeros.assign(padding.size(), 0);
  const auto integers = [&](const Sizes& sizes, Layout memory) {
    return TestTensorSpec{dtype, sizes, memory, Values::kNormal, -6};
  };
  call.arguments = {
      integers(input, layout),
      integers(weight, Layout::kRowMajor),
      with_bias ? TestArgument(integers({f.filters}, Layout::kRowMajor)) : TestArgument(EValue()),
      ones,
      padding,
      ones,
      EValue(false),
      zeros,
      EValue(int64_t{1})};
  call.outputs = {dtype};
  call.output_layout = layout == Layout::kChannelsLast ? layout : Layout::kRowMajor;
  return call;
}

// Transforms of integers are multiples of 1/4: all sums are exact.
TEST(ConvTest, WinogradIsExactForIntegers) {
  constexpr WinogradForm kImages[] = {{40, 40, 20, 20, 1},
                                      {33, 65, 23, 17, 0},
                                      {64, 31, 15, 40, 2},
                                      {48, 32, 90, 31, 1},
                                      {100, 70, 14, 14, 1}};
  constexpr WinogradForm kVolumes[] = {{32, 40, 11, 12, 1, 5, 3}, {48, 33, 9, 15, 0, 3, 1}};
  KernelComparison comparison;
  for (const bool with_bias : {false, true}) {
    for (const WinogradForm& form : kImages) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
        for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast, Layout::kGaps}) {
          ASSERT_TRUE(comparison.Compare(WinogradCall(form, dtype, layout, with_bias)));
        }
      }
    }
    for (const WinogradForm& form : kVolumes) {
      ASSERT_TRUE(
          comparison.Compare(WinogradCall(form, DType::kFloat32, Layout::kRowMajor, with_bias)));
    }
  }
}

ConvGeometry GeometryOf(int64_t channels, int64_t side) {
  ConvGeometry g;
  g.channels = g.filters = channels;
  g.kernel[1] = g.kernel[2] = 3;
  g.padding[1] = g.padding[2] = 1;
  g.size[1] = g.size[2] = g.out[1] = g.out[2] = side;
  return g;
}

TEST(ConvTest, WinogradIsForManyChannelsAndPixels) {
  EXPECT_TRUE(WinogradStrips::For(GeometryOf(64, 56), 1).has_value());
  EXPECT_FALSE(WinogradStrips::For(GeometryOf(8, 56), 1).has_value());
  EXPECT_FALSE(WinogradStrips::For(GeometryOf(512, 7), 1).has_value());
  ConvGeometry strided = GeometryOf(64, 56);
  strided.stride[2] = 2;
  EXPECT_FALSE(WinogradStrips::For(strided, 1).has_value());
  ConvGeometry grouped = GeometryOf(64, 56);
  grouped.groups = 2;
  EXPECT_FALSE(WinogradStrips::For(grouped, 1).has_value());
}

}  // namespace
}  // namespace belay
