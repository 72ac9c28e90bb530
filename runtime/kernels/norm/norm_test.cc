// Normalizations against the reference kernels.
#include <cmath>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

using Ints = std::vector<int64_t>;
constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64};
constexpr Layout kLayouts[] = {Layout::kRowMajor, Layout::kReversed, Layout::kGaps,
                               Layout::kChannelsLast};

// `parameter`: dtype of weight and bias, the input's or float32.
KernelCall LayerNorm(DType dtype, DType parameter, const Sizes& sizes, Ints normalized,
                     Layout layout, bool affine) {
  KernelCall call;
  call.op = "aten.native_layer_norm.default";
  const TestTensorSpec weight = {parameter, Sizes(normalized)};
  call.arguments = {TestTensorSpec{dtype, sizes, layout, Values::kNormal, 0}, normalized,
                    affine ? TestArgument(weight) : TestArgument(EValue()),
                    affine ? TestArgument(weight) : TestArgument(EValue()), EValue(1e-5)};
  const DType stats = affine ? parameter : dtype;
  call.outputs = {dtype, stats, stats};
  // The results are within 16; the means cancel to a thousandth of the elements.
  call.max_ulp = 4096;
  call.ulp_of = UlpOf::kLargest;
  return call;
}

// The means and variances of float64 are not more precise than its results: their terms cancel, as above.
double BoundOf(DType dtype) { return dtype == DType::kFloat64 ? 4096 : 4; }

KernelCall GroupNorm(DType dtype, DType parameter, const Sizes& sizes, int64_t groups,
                     Layout layout) {
  KernelCall call;
  call.op = "aten.native_group_norm.default";
  int64_t plane = 1;
  for (int d = 2; d < sizes.size(); ++d) plane *= sizes[d];
  const TestTensorSpec weight = {parameter, {sizes[1]}};
  call.arguments = {TestTensorSpec{dtype, sizes, layout, Values::kNormal, 0},
                    weight,
                    weight,
                    EValue(sizes[0]),
                    EValue(sizes[1]),
                    EValue(plane),
                    EValue(groups),
                    EValue(1e-5)};
  call.outputs = {dtype, parameter, parameter};
  call.max_ulp = BoundOf(dtype);
  call.ulp_of = UlpOf::kLargest;
  return call;
}

// kRunning does not train here, since it would write to its arguments; `conformance` has cases for
// that.
enum class BatchForm { kInference, kRunning, kNoStats };

KernelCall BatchNorm(DType dtype, DType parameter, const Sizes& sizes, Layout layout,
                     BatchForm form) {
  KernelCall call;
  const TestTensorSpec weight = {parameter, {sizes[1]}},
                       positive = {parameter, {sizes[1]}, Layout::kRowMajor, Values::kPositive, 0};
  call.arguments = {TestTensorSpec{dtype, sizes, layout, Values::kNormal, 0}, weight, weight};
  call.op = form == BatchForm::kInference ? "aten._native_batch_norm_legit_no_training.default"
            : form == BatchForm::kRunning ? "aten._native_batch_norm_legit.default"
                                          : "aten._native_batch_norm_legit.no_stats";
  if (form != BatchForm::kNoStats) {
    call.arguments.push_back(weight);
    call.arguments.push_back(positive);
  }
  if (form != BatchForm::kInference) call.arguments.push_back(EValue(form == BatchForm::kNoStats));
  call.arguments.push_back(EValue(0.1));
  call.arguments.push_back(EValue(1e-5));
  call.outputs = {dtype, parameter, parameter};
  call.max_ulp = BoundOf(dtype);
  call.ulp_of = UlpOf::kLargest;
  return call;
}

// float64 has no parameters of another dtype.
std::vector<DType> ParametersOf(DType dtype) {
  if (dtype == DType::kFloat64) return {dtype};
  return {dtype, DType::kFloat32};
}

TEST(NormTest, EveryLength) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (DType parameter : ParametersOf(dtype)) {
      for (int64_t n : KernelComparison::Lengths(dtype)) {
        // A single element has no variance: its rounding error is scaled by 1 / sqrt(eps).
        if (n > 1) {
          ASSERT_TRUE(comparison.Compare(
              LayerNorm(dtype, parameter, {3, n}, {n}, Layout::kRowMajor, n % 2 == 0)));
          ASSERT_TRUE(
              comparison.Compare(GroupNorm(dtype, parameter, {2, 6, n}, 2, Layout::kRowMajor)));
          ASSERT_TRUE(comparison.Compare(
              BatchNorm(dtype, parameter, {2, 3, n}, Layout::kRowMajor, BatchForm::kNoStats)));
        }
        for (BatchForm form : {BatchForm::kInference, BatchForm::kRunning}) {
          ASSERT_TRUE(
              comparison.Compare(BatchNorm(dtype, parameter, {2, 3, n}, Layout::kRowMajor, form)));
        }
      }
    }
  }
}

TEST(NormTest, ScalesOutsideFloat32) {
  KernelComparison comparison;
  // 1 / sqrt(variance) is 100 and 0.01.
  const TestTensor weight = TestTensor::Of<float>({5}, {3e38f, -3e37f, 1e-40f, 0.0f, HUGE_VALF});
  const TestTensor variance = TestTensor::Of<float>({5}, {1e-4f, 1e-4f, 1e4f, 1e-4f, 1.0f});
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    KernelCall call =
        BatchNorm(dtype, DType::kFloat32, {2, 5, 50}, Layout::kRowMajor, BatchForm::kInference);
    call.arguments[1] = EValue(weight.view());
    call.arguments[4] = EValue(variance.view());
    ASSERT_TRUE(comparison.Compare(call));
  }
}

TEST(NormTest, GroupsOfImagesOfOnePixel) {
  KernelComparison comparison;
  for (int64_t per_group : {2, 3, 15, 16, 17, 64, 100}) {
    for (const Sizes& plane : {Sizes{}, Sizes{1}, Sizes{1, 1}}) {
      Sizes sizes = {70, 4 * per_group};
      for (int64_t size : plane) sizes.push_back(size);
      ASSERT_TRUE(comparison.Compare(
          GroupNorm(DType::kFloat32, DType::kFloat32, sizes, 4, Layout::kRowMajor)));
    }
  }
  // Squares that overflow and vanish in float, and NaN.
  const TestTensor x = TestTensor::Of<float>(
      {4, 4}, {3e30f, 1e30f, 1, 2, 1e-30f, 3e-30f, 1, 2, NAN, 1, 2, 3, HUGE_VALF, 1, 5, 6});
  for (double eps : {1e-5, 1e-70}) {
    KernelCall call = GroupNorm(DType::kFloat32, DType::kFloat32, {4, 4}, 2, Layout::kRowMajor);
    call.arguments[0] = EValue(x.view());
    call.arguments[7] = EValue(eps);
    ASSERT_TRUE(comparison.Compare(call));
  }
}

TEST(NormTest, AnyNumberOfInnermostChannels) {
  KernelComparison comparison;
  // Half precision is converted in blocks, of a part of a row if it has more than 4,096 channels.
  for (int64_t channels : {1, 2, 3, 16, 24, 32, 33, 64, 96, 255, 256, 300, 4096, 5000}) {
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {3, 2}, {40, 31}}) {
      if (channels >= 4096 && height == 40) continue;
      for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
        if (channels >= 4096 && dtype == DType::kFloat32) continue;
        const Sizes sizes = {2, channels, height, width};
        const int64_t groups = channels % 4 == 0 ? 4 : 1;
        for (int64_t count : {groups, channels}) {
          // A single element has no variance: its rounding error is scaled by 1 / sqrt(eps).
          if (count == channels && height == 1 && dtype != DType::kFloat32) continue;
          KernelCall call = GroupNorm(dtype, dtype, sizes, count, Layout::kChannelsLast);
          call.output_layout = Layout::kChannelsLast;
          ASSERT_TRUE(comparison.Compare(call));
        }
        for (BatchForm form : {BatchForm::kInference, BatchForm::kNoStats}) {
          KernelCall call = BatchNorm(dtype, dtype, sizes, Layout::kChannelsLast, form);
          call.output_layout = Layout::kChannelsLast;
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
    }
  }
}

// Threads share the rows of half precision.
TEST(NormTest, ManyRowsOfHalves) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (DType parameter : ParametersOf(dtype)) {
      for (Layout layout : {Layout::kRowMajor, Layout::kGaps}) {
        ASSERT_TRUE(
            comparison.Compare(LayerNorm(dtype, parameter, {3, 100, 70}, {70}, layout, true)));
      }
    }
  }
}

TEST(NormTest, EveryLayout) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (Layout layout : kLayouts) {
      for (Layout out : {Layout::kRowMajor, Layout::kReversed}) {
        const Sizes sizes = {2, 6, 5, 7};
        for (KernelCall call :
             {LayerNorm(dtype, dtype, sizes, {7}, layout, true),
              LayerNorm(dtype, dtype, sizes, {6, 5, 7}, layout, true),
              GroupNorm(dtype, dtype, sizes, 3, layout), GroupNorm(dtype, dtype, sizes, 1, layout),
              BatchNorm(dtype, dtype, sizes, layout, BatchForm::kInference),
              BatchNorm(dtype, dtype, sizes, layout, BatchForm::kRunning),
              BatchNorm(dtype, dtype, sizes, layout, BatchForm::kNoStats)}) {
          call.output_layout = out;
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
    }
  }
}

}  // namespace
}  // namespace belay
