// All kinds of convolutions against the reference kernel.
#include "gtest/gtest.h"
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
    {40, 40, 40, 7, 3, 1, 0, 2}, {17, 34, 17, 6, 3, 1, 1, 1},
};

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

}  // namespace
}  // namespace belay
