// Fourier transforms against the reference kernels, which compute in double precision: lengths of
// all radices, lengths with large prime factors, all dimensions and layouts, and any number of
// lines.
#include <cmath>

#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

using Ints = std::vector<int64_t>;

// The bound of fft.h with S = sum of magnitudes <= 2 * (largest element of the transform of
// magnitudes); the reference kernel rounds once more.
double MaxUlp(int64_t elements) {
  const double n = static_cast<double>(elements);
  return 2 * 6 * (3 * std::log2(4 * n) + 2) + 1;
}

KernelCall Call(const std::string& op, DType in, DType out, const Sizes& sizes, Layout layout,
                const Ints& dims, EValue last, int64_t normalization = 0) {
  KernelCall call;
  call.op = op;
  call.arguments = {TestTensorSpec{in, sizes, layout}, dims, EValue(normalization), last};
  call.outputs = {out};
  call.ulp_of = UlpOf::kLargestMagnitude;
  int64_t n = 1;
  for (int64_t d : dims) n *= sizes[static_cast<int>(d)];
  call.max_ulp = MaxUlp(n);
  call.output_layout = layout == Layout::kRepeated ? Layout::kRowMajor : layout;
  return call;
}

std::vector<int64_t> TestLengths() {
  std::vector<int64_t> lengths;
  for (int64_t n = 1; n <= 70; ++n) lengths.push_back(n);
  for (int64_t n : {97, 100, 128, 200, 210, 243, 251, 256, 343, 400, 512, 601, 1024, 2401, 4099})
    lengths.push_back(n);
  return lengths;
}

TEST(FftTest, EveryLength) {
  KernelComparison comparison;
  for (int64_t n : TestLengths()) {
    for (int64_t lines : {1, 3, 21}) {
      if (n > 100 && lines == 3) continue;
      for (bool flag : {false, true}) {
        ASSERT_TRUE(
            comparison.Compare(Call("aten._fft_r2c.default", DType::kFloat32, DType::kComplex64,
                                    {lines, n}, Layout::kRowMajor, {1}, EValue(flag))));
        ASSERT_TRUE(
            comparison.Compare(Call("aten._fft_c2c.default", DType::kComplex64, DType::kComplex64,
                                    {lines, n}, Layout::kRowMajor, {1}, EValue(flag))));
      }
      KernelCall call = Call("aten._fft_c2r.default", DType::kComplex64, DType::kFloat32,
                             {lines, n / 2 + 1}, Layout::kRowMajor, {1}, EValue(n));
      call.max_ulp = 4 * MaxUlp(n);  // imaginary parts have no magnitude in the reference result
      ASSERT_TRUE(comparison.Compare(call));
    }
  }
}

TEST(FftTest, DoublePrecision) {
  KernelComparison comparison;
  for (int64_t n : {1, 2, 5, 12, 35, 49, 60, 61, 128, 401}) {
    for (int64_t lines : {1, 17}) {
      KernelCall call = Call("aten._fft_r2c.default", DType::kFloat64, DType::kComplex128,
                             {lines, n}, Layout::kRowMajor, {1}, EValue(true));
      call.max_ulp *= 2;  // the reference kernel has the same precision
      ASSERT_TRUE(comparison.Compare(call));
      call = Call("aten._fft_c2c.default", DType::kComplex128, DType::kComplex128, {lines, n},
                  Layout::kRowMajor, {1}, EValue(false));
      call.max_ulp *= 2;
      ASSERT_TRUE(comparison.Compare(call));
      call = Call("aten._fft_c2r.default", DType::kComplex128, DType::kFloat64, {lines, n / 2 + 1},
                  Layout::kRowMajor, {1}, EValue(n));
      call.max_ulp = 8 * MaxUlp(n);
      ASSERT_TRUE(comparison.Compare(call));
    }
  }
}

TEST(FftTest, EveryDimensionLayoutAndNormalization) {
  KernelComparison comparison;
  const std::vector<Ints> dims = {{0}, {1}, {2}, {3}, {1, 2}, {3, 0}, {0, 1, 2, 3}};
  for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated,
                        Layout::kChannelsLast}) {
    for (const Ints& d : dims) {
      for (int64_t normalization : {0, 1, 2}) {
        const Sizes sizes = {4, 3, 22, 10};
        ASSERT_TRUE(
            comparison.Compare(Call("aten._fft_r2c.default", DType::kFloat32, DType::kComplex64,
                                    sizes, layout, d, EValue(true), normalization)));
        ASSERT_TRUE(
            comparison.Compare(Call("aten._fft_c2c.default", DType::kComplex64, DType::kComplex64,
                                    sizes, layout, d, EValue(false), normalization)));
        KernelCall call =
            Call("aten._fft_c2r.default", DType::kComplex64, DType::kFloat32, sizes, layout, d,
                 EValue(2 * (sizes[static_cast<int>(d.back())] - 1)), normalization);
        call.max_ulp *= 4;
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
  }
}

// Enough work for several threads.
TEST(FftTest, ManyLines) {
  KernelComparison comparison;
  for (int64_t n : {200, 61}) {
    ASSERT_TRUE(comparison.Compare(Call("aten._fft_r2c.default", DType::kFloat32, DType::kComplex64,
                                        {600, n}, Layout::kRowMajor, {1}, EValue(true))));
  }
}

TEST(FftTest, ProductsAndMagnitudes) {
  KernelComparison comparison;
  for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
    for (Values values : {Values::kNormal, Values::kSpecial}) {
      for (int64_t n : {0, 1, 3, 7, 8, 9, 17, 40}) {
        const TestTensorSpec a = {DType::kComplex64, {3, n}, layout, values};
        const TestTensorSpec b = {DType::kComplex64, {3, n}, layout};
        const TestTensorSpec row = {DType::kComplex64, {n}};
        KernelCall call = {"aten.mul.Tensor", {a, b}, {DType::kComplex64}, 2, UlpOf::kLargest};
        if (layout != Layout::kRepeated) call.output_layout = layout;
        ASSERT_TRUE(comparison.Compare(call));
        call.arguments[1] = row;
        call.output_layout = Layout::kRowMajor;
        ASSERT_TRUE(comparison.Compare(call));
        ASSERT_TRUE(comparison.Compare({"aten.abs.default", {a}, {DType::kFloat32}, 1}));
        ASSERT_TRUE(comparison.Compare({"aten.angle.default", {a}, {DType::kFloat32}, 8}));
        ASSERT_TRUE(comparison.Compare({"aten._conj_physical.default", {a}, {DType::kComplex64}}));
      }
    }
  }
  const TestTensorSpec large = {DType::kComplex64, {40, 4001}};
  ASSERT_TRUE(comparison.Compare(
      {"aten.mul.Tensor", {large, large}, {DType::kComplex64}, 2, UlpOf::kLargest}));
  ASSERT_TRUE(comparison.Compare({"aten.abs.default", {large}, {DType::kFloat32}, 1}));
}

}  // namespace
}  // namespace belay
