// Compares weight_only_linear with reference loops over doubles, on each instruction set.
#include <limits>
#include <string_view>
#include <vector>

#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/testing/reference_kernels.h"
#include "backends/cpu/weight_only_calls.h"
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kFloat32 = DType::kFloat32;

struct WeightOnly {
  std::vector<int64_t> input;
  int64_t features;
  WeightFormat format = WeightFormat::kInt8;
  int64_t group = 0;
  bool zeros = false, bias = false, other = false;
  std::string_view activation = "none", combine = "add";
  double low = -kInf, high = kInf;
};

// A sum's terms are at most (|q| + |zero|) |scale| |a|: products of -|q| - |zero| and -|scale|.
void TakeMagnitudesOfWeights(WeightFormat format, absl::Span<EValue* const> arguments) {
  TensorView& weight = *arguments[1]->get_if<TensorView>();
  auto* words = weight.as<uint32_t>();
  for (int64_t i = 0; format == WeightFormat::kInt4 && i < weight.numel(); ++i) {
    for (int bit = 0; bit < 32; bit += 4) {
      const uint32_t q = words[i] >> bit & 15;  // and 8 more
      if (q > 8) words[i] -= (2 * q - 16) << bit;
    }
  }
  auto* bytes = weight.as<int8_t>();
  for (int64_t i = 0; format == WeightFormat::kInt8 && i < weight.numel(); ++i) {
    if (bytes[i] > 0) bytes[i] = static_cast<int8_t>(-bytes[i]);
  }
  if (TensorView* scales = arguments[2]->get_if<TensorView>()) {
    for (int64_t i = 0; i < scales->numel(); ++i) scales->as<float>()[i] *= -1;
  }
  *arguments[11] = EValue(-kInf);
  *arguments[12] = EValue(kInf);
}

KernelCall CallOf(const WeightOnly& w) {
  const Sizes sizes{absl::MakeConstSpan(w.input)};
  Sizes result = sizes;
  result[result.size() - 1] = w.features;
  const int64_t k = sizes[sizes.size() - 1];
  const auto tensor = [](bool there, TestTensorSpec spec) {
    return there ? TestArgument(std::move(spec)) : TestArgument(EValue());
  };
  const WeightFormatRow& format = kWeightFormats[static_cast<size_t>(w.format)];
  const int64_t weights =
      *PackedWeightsSize(w.format, k, w.features) / static_cast<int64_t>(DTypeSize(format.dtype));
  TestTensorSpec weight = {format.dtype, {weights}};
  if (format.dtype == DType::kInt8) weight.below = -128;
  if (format.dtype == DType::kInt32) weight.below = std::numeric_limits<int32_t>::min();
  const bool integers = w.format != WeightFormat::kBFloat16;
  const int64_t numbers = integers ? *PackedScalesSize(k, w.features, w.group) : 0;
  KernelCall call;
  call.op = "belay_cpu.weight_only_linear.default";
  call.arguments = {
      TestTensorSpec{kFloat32, sizes},
      std::move(weight),
      tensor(integers, {.sizes = {numbers}, .values = Values::kPositive}),
      tensor(w.zeros, {.sizes = {numbers}, .below = -100}),
      tensor(w.bias, {.sizes = {w.features}}),
      tensor(w.other, {.sizes = result}),
      EValue(w.features),
      EValue(format.name),
      EValue(w.group),
      EValue(w.activation),
      EValue(w.combine),
      EValue(w.low),
      EValue(w.high),
  };
  // The kernel's bound (weight_only_gemm.h) in units of at least 2^-24 of the magnitude, and the
  // reference's rounding.
  call.max_ulp = 2 * (static_cast<double>(k) + 8) + 1;
  call.ulp_of = UlpOf::kMagnitudes;
  call.adjust_magnitudes = [format = w.format](absl::Span<EValue* const> arguments) {
    TakeMagnitudesOfWeights(format, arguments);
  };
  return call;
}

class WeightOnlyKernelsTest : public testing::Test {
 protected:
  WeightOnlyKernelsTest() : comparison_(CpuReferenceKernels(), WeightOnlyLinearKernels()) {}
  KernelComparison comparison_;
};

TEST_F(WeightOnlyKernelsTest, RowsColumnsAndGroups) {
  for (int64_t m : {1, 2, 4, 5, 40}) {
    for (int64_t n : {5, 32, 70}) {
      for (bool zeros : {false, true}) {
        for (WeightFormat format : {WeightFormat::kInt8, WeightFormat::kInt4}) {
          ASSERT_TRUE(comparison_.Compare(CallOf({{m, 64}, n, format, 64, zeros})));
          ASSERT_TRUE(comparison_.Compare(CallOf({{m, 96}, n, format, 32, zeros, true})));
          ASSERT_TRUE(comparison_.Compare(CallOf({{m, 37}, n, format, 37, zeros, true, true})));
        }
      }
      ASSERT_TRUE(
          comparison_.Compare(CallOf({{m, 61}, n, WeightFormat::kBFloat16, 0, false, true, true})));
    }
  }
}

// The kernel quantizes rows of many, whose results are near those of the reference's floats; it
// multiplies few rows as other formats do.
TEST_F(WeightOnlyKernelsTest, QuantizedRows) {
  for (const WeightFormatRow& row : kWeightFormats) {
    if (row.row_bytes == 0) continue;
    for (int64_t group : {32, 96}) {
      for (int64_t m : {1, 7, 8, 17, 40}) {
        KernelCall call = CallOf({{m, 96}, 70, row.format, group, false, true, true});
        call.arguments[7] = EValue(row.name);
        // An element of a row changes by at most 1/254 of the largest, which is a few times that of
        // most elements; with two bytes by 1/65024.
        if (m >= 8) call.max_ulp += row.row_bytes == 1 ? 0x1p24 / 16 : 0x1p16 / 16;
        ASSERT_TRUE(comparison_.Compare(call)) << row.name << ", " << m << " rows";
      }
    }
  }
}

TEST_F(WeightOnlyKernelsTest, InputsOfEveryRank) {
  for (const std::vector<int64_t>& input : std::vector<std::vector<int64_t>>{
           {24}, {0, 24}, {3, 5, 24}, {2, 1, 2, 24}, {7, 0, 24}, {4, 0}}) {
    for (int64_t f : {0, 1}) {
      ASSERT_TRUE(
          comparison_.Compare(CallOf({input, 33, static_cast<WeightFormat>(f), 24, true, true})));
    }
  }
}

TEST_F(WeightOnlyKernelsTest, BoundsAndGates) {
  for (int64_t m : {1, 14}) {
    WeightOnly w = {{m, 16}, 35, WeightFormat::kInt4, 8, true, true, true};
    w.combine = "mul";
    ASSERT_TRUE(comparison_.Compare(CallOf(w)));
    w.low = -3;
    w.high = 5;
    ASSERT_TRUE(comparison_.Compare(CallOf(w)));
  }
}

}  // namespace
}  // namespace belay::cpu
