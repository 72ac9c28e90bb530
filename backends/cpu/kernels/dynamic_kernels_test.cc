// Compares dynamic_quantized_linear with reference loops over doubles, on each instruction set. If
// a result sums several terms, all are positive, so that a few ulp bound the error.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/dynamic_calls.h"
#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/valid_calls_testing.h"
#include "backends/cpu/testing/reference_kernels.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/kernel_comparison.h"
#include "runtime/kernels/packed/quantized_weights.h"

namespace belay::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Dynamic {
  std::vector<int64_t> input;
  int64_t features;
  WeightFormat format = WeightFormat::kInt8;
  int64_t group = 0;
  DType dtype = DType::kInt8;  // kFloat32: rows that the call quantizes
  bool positive = true;        // weights, and input - input_zero
  bool bias = false, other = false;
  bool one_scale = false;
  DType scales = DType::kFloat32, zeros = DType::kInt64;
  DType weight_scales = DType::kFloat32;
  std::string_view activation = "none", combine = "add";
  double low = -kInf, high = kInf;
};

class DynamicKernelsTest : public testing::Test {
 protected:
  DynamicKernelsTest() : comparison_(CpuReferenceKernels(), DynamicQuantizedLinearKernels()) {}

  // Returns a one-dimensional tensor that lives as long as the test.
  template <class T>
  EValue Keep(DType dtype, const std::vector<T>& elements, size_t element_size = sizeof(T)) {
    const auto bytes = std::as_bytes(std::span(elements));
    // Stored in units with sufficient alignment.
    kept_.emplace_back((bytes.size() + 7) / 8);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(kept_.back().data()));
    const auto count = static_cast<int64_t>(elements.size() * sizeof(T) / element_size);
    return EValue(TensorView::Contiguous(dtype, {count}, kept_.back().data()));
  }

  KernelCall CallOf(const Dynamic& d) {
    const Sizes sizes{absl::MakeConstSpan(d.input)};
    Sizes rows = sizes, result = sizes;
    rows[rows.size() - 1] = 1;
    if (d.one_scale) rows = Sizes{1};
    result[result.size() - 1] = d.features;
    const int64_t k = sizes[sizes.size() - 1], n = d.features;
    const int64_t groups = (k + d.group - 1) / d.group;
    const bool is_int4 = d.format == WeightFormat::kInt4;
    std::uniform_int_distribution<int> weights(d.positive ? 0
                                               : is_int4  ? -8
                                                          : -128,
                                               is_int4 ? 7 : 127);
    std::vector<int8_t> b(static_cast<size_t>(k * n));
    for (int8_t& x : b) x = static_cast<int8_t>(weights(random_));
    std::vector<int32_t> sums(static_cast<size_t>(groups * n));
    for (int64_t i = 0; i < k * n; ++i) {
      sums[static_cast<size_t>(i / n / d.group * n + i % n)] += b[static_cast<size_t>(i)];
    }
    const auto count = static_cast<size_t>(*PackedScalesSize(k, n, d.group));
    std::vector<int32_t> packed_sums(count);
    PackScales(sums.data(), k, n, d.group, n, 1, packed_sums.data());
    std::vector<int8_t> packed(static_cast<size_t>(*PackedDynamicSize(d.format, k, n)));
    if (is_int4) {
      std::vector<uint32_t> words(packed.size() / 4);
      PackInt4Weights(b.data(), k, n, n, 1, words.data());
      const auto bytes = std::as_bytes(std::span(words));
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(packed.data()));
    } else {
      PackQuantizedMatrix(b.data(), 1, k, n, 0, n, 1, packed.data());
    }
    const bool quantizes = d.dtype == DType::kFloat32;
    const int64_t least = d.dtype == DType::kInt8 ? -128 : 0;
    const auto tensor = [](bool there, TestTensorSpec spec) {
      return there ? TestArgument(std::move(spec)) : TestArgument(EValue());
    };
    int64_t count_of_rows = 1;
    for (int64_t size : rows) count_of_rows *= size;
    std::uniform_int_distribution<int64_t> zeros(least, least + 255);
    std::vector<int64_t> zero(static_cast<size_t>(count_of_rows));
    for (int64_t& z : zero) z = d.positive ? least : zeros(random_);
    EValue zero_points = Keep(DType::kInt64, zero);
    if (d.zeros == DType::kInt32) {
      zero_points = Keep(DType::kInt32, std::vector<int32_t>(zero.begin(), zero.end()));
    } else if (d.zeros == DType::kInt8) {
      zero_points = Keep(DType::kInt8, std::vector<int8_t>(zero.begin(), zero.end()));
    }
    const TensorView& flat = *zero_points.get_if<TensorView>();
    zero_points = EValue(TensorView::Contiguous(flat.dtype, rows, flat.data));
    KernelCall call;
    call.op = "belay_cpu.dynamic_quantized_linear.default";
    TestTensorSpec input = {.dtype = d.dtype, .sizes = sizes};
    if (!quantizes) {
      input.below = least == 0 ? 256 : least;
    } else if (d.positive) {
      input.values = Values::kPositive;
    }
    call.arguments = {
        input,
        tensor(!quantizes, {.dtype = d.scales, .sizes = rows, .values = Values::kPositive}),
        quantizes ? EValue() : zero_points,
        Keep(is_int4 ? DType::kInt32 : DType::kInt8, packed, is_int4 ? 4 : 1),
        TestTensorSpec{.dtype = d.weight_scales,
                       .sizes = {static_cast<int64_t>(count)},
                       .values = Values::kPositive},
        Keep(DType::kInt32, packed_sums),
        tensor(d.bias, {.sizes = {n}, .values = Values::kPositive}),
        tensor(d.other, {.sizes = result, .values = Values::kPositive}),
        EValue(n),
        EValue(NameOf(d.format)),
        EValue(d.group),
        EValue(d.activation),
        EValue(d.combine),
        EValue(d.low),
        EValue(d.high),
    };
    call.max_ulp = static_cast<double>(groups) + 8;
    return call;
  }

  std::mt19937_64 random_{TestSeed()};
  std::deque<std::vector<uint64_t>> kept_;
  KernelComparison comparison_;
};

TEST_F(DynamicKernelsTest, RowsColumnsAndGroups) {
  for (int64_t m : {1, 2, 5, 40}) {
    for (int64_t n : {5, 32, 70}) {
      for (WeightFormat format : {WeightFormat::kInt8, WeightFormat::kInt4}) {
        for (DType dtype : {DType::kInt8, DType::kUint8}) {
          ASSERT_TRUE(comparison_.Compare(CallOf({{m, 64}, n, format, 64, dtype, false})));
          ASSERT_TRUE(comparison_.Compare(CallOf({{m, 96}, n, format, 32, dtype, true, true})));
          ASSERT_TRUE(
              comparison_.Compare(CallOf({{m, 37}, n, format, 8, dtype, true, true, true})));
        }
      }
    }
  }
}

TEST_F(DynamicKernelsTest, InputsOfEveryRank) {
  for (const std::vector<int64_t>& input : std::vector<std::vector<int64_t>>{
           {24}, {0, 24}, {3, 5, 24}, {2, 1, 2, 24}, {7, 0, 24}, {4, 0}}) {
    for (WeightFormat format : {WeightFormat::kInt8, WeightFormat::kInt4}) {
      ASSERT_TRUE(comparison_.Compare(CallOf({input, 33, format, 24, DType::kInt8, true, true})));
    }
  }
}

TEST_F(DynamicKernelsTest, ParametersOfEachTypePerTensorOrPerRow) {
  for (bool one : {false, true}) {
    for (DType scales : {DType::kFloat32, DType::kFloat64}) {
      for (DType zeros : {DType::kInt8, DType::kInt32, DType::kInt64}) {
        Dynamic d = {{3, 40}, 20, WeightFormat::kInt8, 40, DType::kInt8, false};
        d.one_scale = one;
        d.scales = scales;
        d.zeros = zeros;
        ASSERT_TRUE(comparison_.Compare(CallOf(d)));
      }
    }
  }
}

TEST_F(DynamicKernelsTest, QuantizesRowsOfFloats) {
  for (int64_t m : {1, 2, 9, 40}) {
    for (WeightFormat format : {WeightFormat::kInt8, WeightFormat::kInt4}) {
      for (int64_t k : {8, 13, 64, 200}) {
        Dynamic d = {{m, k}, 37, format, k, DType::kFloat32, false};
        ASSERT_TRUE(comparison_.Compare(CallOf(d)));
        d = {{2, m, k}, 37, format, 8, DType::kFloat32, true, true, true};
        ASSERT_TRUE(comparison_.Compare(CallOf(d)));
      }
    }
  }
}

TEST_F(DynamicKernelsTest, WeightScalesOfBFloat16) {
  for (int64_t m : {1, 9}) {
    for (WeightFormat format : {WeightFormat::kInt8, WeightFormat::kInt4}) {
      Dynamic d = {{m, 64}, 37, format, 32, DType::kInt8, true};
      d.weight_scales = DType::kBFloat16;
      ASSERT_TRUE(comparison_.Compare(CallOf(d)));
    }
  }
}

// The row's result is NaN, as its scale would be; other rows are unaffected.
TEST_F(DynamicKernelsTest, RowsWithoutFiniteParametersAreNan) {
  for (const std::string_view bad : {"nan", "inf", "-inf"}) {
    TextCall call = ValidCall("dynamic_quantized_linear")
                        .With("input", absl::StrCat("f32[2,12]=1,", bad, ",1,1,1,1,1,1,1,1,1,1",
                                                    ",1,1,1,1,1,1,1,1,1,1,1,1"))
                        .With("input_scales", "none")
                        .With("input_zeros", "none")
                        .With("other", "none");
    const CallOutcome outcome = RunKernel(call);
    ASSERT_OK(outcome.status);
    const auto* y = outcome.outputs[0].get_if<TensorView>()->as<const float>();
    for (int i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(y[i]), i < 8) << bad << " " << i;
  }
}

TEST_F(DynamicKernelsTest, BoundsAndGates) {
  for (int64_t m : {1, 14}) {
    Dynamic d = {{m, 16}, 35, WeightFormat::kInt4, 8, DType::kUint8, true, true, true};
    d.combine = "mul";
    ASSERT_TRUE(comparison_.Compare(CallOf(d)));
    d.low = -100;
    d.high = 100;
    ASSERT_TRUE(comparison_.Compare(CallOf(d)));
  }
}

}  // namespace
}  // namespace belay::cpu
