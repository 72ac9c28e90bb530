// Quantization and dequantization against the reference kernels: equal bits.
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

struct Quantized {
  DType dtype;
  int64_t low, high;
};
constexpr Quantized kQuantized[] = {{DType::kInt8, -128, 127},
                                    {DType::kUint8, 0, 255},
                                    {DType::kInt16, -32768, 32767},
                                    {DType::kInt8, -8, 7},
                                    {DType::kInt32, -2147483647 - 1, 2147483647}};
constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

TestTensorSpec Scales(const Sizes& sizes, DType dtype = DType::kFloat32) {
  return {dtype, sizes, Layout::kRowMajor, Values::kPositive, 0};
}
TestTensorSpec ZeroPoints(const Sizes& sizes, DType dtype = DType::kInt64) {
  return {dtype, sizes, Layout::kRowMajor, Values::kNormal, 7};
}

TEST(QuantizeTest, PerTensor) {
  KernelComparison comparison;
  for (const Quantized& q : kQuantized) {
    for (DType dtype : kFloats) {
      for (int64_t n : KernelComparison::Lengths(dtype)) {
        for (Values values : {Values::kNormal, Values::kWide, Values::kSpecial}) {
          ASSERT_TRUE(comparison.Compare(
              {"quantized_decomposed.quantize_per_tensor.default",
               {TestTensorSpec{dtype, {n}, Layout::kRowMajor, values, 0}, EValue(0.037),
                EValue(int64_t{3}), EValue(q.low), EValue(q.high), EValue(q.dtype)},
               {q.dtype}},
              /*may_refuse=*/false));
        }
      }
    }
    if (q.dtype == DType::kInt32) continue;
    for (int64_t n : KernelComparison::Lengths(q.dtype)) {
      for (DType out : kFloats) {
        ASSERT_TRUE(comparison.Compare(
            {"quantized_decomposed.dequantize_per_tensor.default",
             {TestTensorSpec{q.dtype, {n}, Layout::kRowMajor, Values::kWide, 0}, EValue(0.037),
              EValue(int64_t{3}), EValue(q.low), EValue(q.high), EValue(q.dtype), EValue(out)},
             {out}}));
      }
    }
  }
}

// An upper bound outside the dtype's range, which PyTorch accepts: the result wraps.
TEST(QuantizeTest, RangesBelowTheDtypeWrap) {
  KernelComparison comparison;
  for (const Quantized& q : {Quantized{DType::kUint8, 0, -128}, Quantized{DType::kUint8, 5, -1},
                             Quantized{DType::kInt8, 7, -8}}) {
    ASSERT_TRUE(comparison.Compare(
        {"quantized_decomposed.quantize_per_tensor.default",
         {TestTensorSpec{DType::kFloat32, {37}, Layout::kRowMajor, Values::kNormal, 0},
          EValue(0.037), EValue(int64_t{3}), EValue(q.low), EValue(q.high), EValue(q.dtype)},
         {q.dtype}},
        /*may_refuse=*/false));
  }
}

TEST(QuantizeTest, PerChannelAlongEveryDimensionAndLayout) {
  KernelComparison comparison;
  const Sizes sizes = {3, 20, 5, 9};
  for (int64_t axis = 0; axis < 4; ++axis) {
    const Sizes channels = {sizes[static_cast<int>(axis)]};
    for (Layout layout :
         {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kChannelsLast}) {
      KernelCall quantize = {"quantized_decomposed.quantize_per_channel.default",
                             {TestTensorSpec{DType::kFloat32, sizes, layout, Values::kNormal, 0},
                              Scales(channels), ZeroPoints(channels), EValue(axis),
                              EValue(int64_t{-128}), EValue(int64_t{127}), EValue(DType::kInt8)},
                             {DType::kInt8}};
      quantize.output_layout = layout;
      ASSERT_TRUE(comparison.Compare(quantize));
      ASSERT_TRUE(comparison.Compare(
          {"quantized_decomposed.dequantize_per_channel.default",
           {TestTensorSpec{DType::kInt8, sizes, layout, Values::kWide, 0}, Scales(channels),
            ZeroPoints(channels), EValue(axis), EValue(int64_t{-128}), EValue(int64_t{127}),
            EValue(DType::kInt8), EValue()},
           {DType::kFloat32}}));
    }
  }
}

TEST(QuantizeTest, PerTokenAndGroup) {
  KernelComparison comparison;
  for (int64_t n : {1, 7, 8, 33, 64, 200}) {
    for (DType scale : {DType::kFloat32, DType::kFloat64}) {
      for (const Quantized& q : {kQuantized[0], kQuantized[1], kQuantized[3]}) {
        for (Values values : {Values::kNormal, Values::kWide, Values::kSpecial}) {
          ASSERT_TRUE(comparison.Compare(
              {"quantized_decomposed.quantize_per_token.default",
               {TestTensorSpec{DType::kFloat32, {4, 3, n}, Layout::kRowMajor, values, 0},
                Scales({4, 3, 1}, scale), ZeroPoints({4, 3, 1}), EValue(q.low), EValue(q.high),
                EValue(q.dtype)},
               {q.dtype}}));
        }
      }
      ASSERT_TRUE(
          comparison.Compare({"quantized_decomposed.dequantize_per_token.default",
                              {TestTensorSpec{DType::kInt8, {4, 3, n}}, Scales({4, 3, 1}, scale),
                               ZeroPoints({4, 3, 1}), EValue(int64_t{-128}), EValue(int64_t{127}),
                               EValue(DType::kInt8), EValue(DType::kFloat32)},
                              {DType::kFloat32}}));
    }
    if (n == 1) continue;  // no groups
    ASSERT_TRUE(comparison.Compare({"quantized_decomposed.quantize_per_channel_group.default",
                                    {TestTensorSpec{DType::kFloat32, {5, 4 * n}}, Scales({5, 4}),
                                     ZeroPoints({5, 4}, DType::kInt32), EValue(int64_t{-8}),
                                     EValue(int64_t{7}), EValue(DType::kInt8), EValue(n)},
                                    {DType::kInt8}}));
    ASSERT_TRUE(comparison.Compare(
        {"quantized_decomposed.dequantize_per_channel_group.default",
         {TestTensorSpec{DType::kInt8, {5, 4 * n}}, Scales({5, 4}),
          ZeroPoints({5, 4}, DType::kInt32), EValue(int64_t{-8}), EValue(int64_t{7}),
          EValue(DType::kInt8), EValue(n), EValue(DType::kFloat32)},
         {DType::kFloat32}}));
  }
}

TEST(QuantizeTest, DenseTensorOfEveryLength) {
  KernelComparison comparison;
  for (const Quantized& q : kQuantized) {
    if (q.dtype == DType::kInt32) continue;
    for (int64_t n : KernelComparison::Lengths(q.dtype)) {
      // Zero points at the limit of exact floats, and beyond.
      for (int64_t zero_point : {int64_t{0}, int64_t{-5}, int64_t{1} << 22, int64_t{1} << 25}) {
        KernelCall call = {
            "quantized_decomposed.dequantize_per_tensor.default",
            {TestTensorSpec{q.dtype, {3, n}, Layout::kReversed, Values::kWide, 0}, EValue(0.037),
             EValue(zero_point), EValue(q.low), EValue(q.high), EValue(q.dtype), EValue()},
            {DType::kFloat32}};
        call.output_layout = Layout::kReversed;
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
  }
}

TEST(QuantizeTest, EveryNumberOfColumns) {
  KernelComparison comparison;
  for (const Quantized& q : kQuantized) {
    if (q.dtype == DType::kInt32) continue;
    for (int64_t n : KernelComparison::Lengths(q.dtype)) {
      if (n == 0) continue;  // no scales
      for (int64_t axis : {0, 1}) {
        const Sizes channels = {axis == 0 ? 3 : n};
        ASSERT_TRUE(comparison.Compare(
            {"quantized_decomposed.dequantize_per_channel.default",
             {TestTensorSpec{q.dtype, {3, n}, Layout::kRowMajor, Values::kWide, 0},
              Scales(channels), ZeroPoints(channels), EValue(axis), EValue(q.low), EValue(q.high),
              EValue(q.dtype), EValue()},
             {DType::kFloat32}}));
      }
    }
  }
}

TEST(QuantizeTest, AddOfEveryTypeLengthAndLayout) {
  KernelComparison comparison;
  for (const Quantized& q : kQuantized) {
    if (q.dtype == DType::kInt32) continue;
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
      for (int64_t n : KernelComparison::Lengths(q.dtype)) {
        for (double scale : {0.031, 1e30}) {
          ASSERT_TRUE(comparison.Compare(
              {"quantized_decomposed.add.default",
               {TestTensorSpec{q.dtype, {2, n}, layout, Values::kWide, 0}, EValue(scale),
                EValue(int64_t{3}), EValue(q.low), EValue(q.high),
                TestTensorSpec{q.dtype, {2, n}, Layout::kRowMajor, Values::kWide, 0}, EValue(0.07),
                EValue(int64_t{-2}), EValue(q.low), EValue(q.high), EValue(0.05),
                EValue(int64_t{1}), EValue(q.low), EValue(q.high)},
               {q.dtype}}));
        }
      }
    }
  }
}

TEST(QuantizeTest, ChoosesParametersOfTensorsAndRows) {
  KernelComparison comparison;
  for (DType dtype : kFloats) {
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
      for (int64_t n : KernelComparison::Lengths(dtype)) {
        if (n == 0) continue;  // no extent
        for (const char* op : {"quantized_decomposed.choose_qparams.tensor",
                               "quantized_decomposed.choose_qparams_symmetric.tensor"}) {
          ASSERT_TRUE(comparison.Compare(
              {op,
               {TestTensorSpec{dtype, {2, n}, layout, Values::kNormal, 0}, EValue(int64_t{-128}),
                EValue(int64_t{127}), EValue(1e-5), EValue(DType::kInt8)},
               {DType::kFloat64, DType::kInt64}}));
        }
        for (Values values : {Values::kNormal, Values::kPositive, Values::kSpecial}) {
          const TestTensorSpec input = {dtype, {3, n}, layout, values, 0};
          const DType scale = dtype == DType::kFloat16 ? DType::kFloat32 : dtype;
          ASSERT_TRUE(comparison.Compare({"quantized_decomposed.choose_qparams_per_token.default",
                                          {input, EValue(DType::kInt8)},
                                          {scale, scale}}));
          ASSERT_TRUE(comparison.Compare(
              {"quantized_decomposed.choose_qparams_per_token_asymmetric.default",
               {input, EValue(DType::kInt8)},
               {DType::kFloat64, DType::kInt64}}));
        }
      }
    }
  }
}

}  // namespace
}  // namespace belay
