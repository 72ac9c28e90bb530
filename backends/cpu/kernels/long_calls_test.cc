// Long calls stop when the budget is exhausted, and report it: a file may describe unbounded work.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/kernels/call_testing.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/quantized_weights.h"
#include "runtime/kernels/packed/weight_only_gemm.h"
#include "runtime/kernels/packed/weight_only_weights.h"
#include "runtime/kernels/packed/winograd.h"
#include "runtime/kernels/packed/winograd_weights.h"

namespace belay::cpu {
namespace {

constexpr DType kF32 = DType::kFloat32, kI8 = DType::kInt8, kI32 = DType::kInt32,
                kU8 = DType::kUint8;
constexpr int64_t kSize = 512;

TestCall Product(TestCall call, DType dtype) {
  return call.With("input", T(dtype, {kSize, kSize}))
      .With("out_features", Int(kSize))
      .With("bias", EValue())
      .WithResult(T(call.result().get_if<TensorView>()->dtype, {kSize, kSize}));
}
// A 3x3 window on images with 16 channels.
TestCall OverImages(TestCall call, DType weight, int64_t size) {
  const DType dtype = call["input"].get_if<TensorView>()->dtype;
  call = call.With("input", Images(dtype, {1, 16, kSize, 64})).With("stride", Ints({1, 1}));
  if (call.Has("weight")) call = call.With("weight", T(weight, {size})).With("bias", EValue());
  if (call.Has("other")) call = call.With("other", EValue());
  for (std::string_view name : {"scales", "weight_sums"}) {
    if (!call.Has(name)) continue;
    call = call.With(name, T(call[name].get_if<TensorView>()->dtype, {16}));
  }
  if (call.Has("out_channels")) call = call.With("out_channels", Int(16));
  return call.WithResult(Images(call.result().get_if<TensorView>()->dtype, {1, 16, kSize, 64}));
}

std::vector<TestCall> LongCalls() {
  const int64_t scales = *PackedScalesSize(kSize, kSize, 8);
  return {
      Product(LinearCall(), kF32)
          .With("other", EValue())
          .With("weight", T(kF32, {*PackedMatrixSize(kSize, kSize)})),
      Product(WeightOnlyLinearCall(), kF32)
          .With("other", EValue())
          .With("weight", T(kI8, {*PackedWeightsSize(WeightFormat::kInt8, kSize, kSize)}))
          .With("scales", T(kF32, {scales}))
          .With("zeros", EValue()),
      Product(DynamicLinearCall(), kI8)
          .With("other", EValue())
          .With("weight", T(kI32, {*PackedWeightsSize(WeightFormat::kInt4, kSize, kSize) / 4}))
          .With("scales", T(kF32, {scales}))
          .With("weight_sums", T(kI32, {scales}))
          .With("input_scales", T(kF32, {1}))
          .With("input_zeros", T(kI32, {1})),
      Product(QuantizedLinearCall(), kU8)
          .With("weight", T(kI8, {*PackedQuantizedMatrixSize(1, kSize, kSize)}))
          .With("scales", T(kF32, {kSize}))
          .With("weight_sums", T(kI32, {kSize})),
      OverImages(Conv2dCall(), kF32, *PackedMatrixSize(9 * 16, 16)),
      Product(BFloat16LinearCall(), DType::kBFloat16)
          .With("other", EValue())
          .With("weight", T(DType::kBFloat16, {*PackedVnni2Size(kSize, kSize)})),
      OverImages(BFloat16Conv2dCall(), DType::kBFloat16, *PackedVnni2Size(9 * 16, 16)),
      ConvolutionCall()
          .With("input", Images(kF32, {1, 96, kSize, 64}))
          .With("weight", T(kF32, {9 * 32 * 3 * 32}))
          .With("out_channels", Int(96))
          .With("groups", Int(3))
          .With("transposed", EValue(false))
          .With("kernel_size", Ints({3, 3}))
          .With("stride", Ints({1, 1}))
          .With("bias", EValue())
          .With("other", EValue())
          .WithResult(Images(kF32, {1, 96, kSize, 64})),
      ConvolutionCall()
          .With("input", Images(kF32, {1, 12, kSize, 64}))
          .With("weight", T(kF32, {9 * 4 * 16}))
          .With("out_channels", Int(12))
          .With("groups", Int(3))
          .With("transposed", EValue(false))
          .With("kernel_size", Ints({3, 3}))
          .With("stride", Ints({1, 1}))
          .With("bias", EValue())
          .With("other", EValue())
          .WithResult(Images(kF32, {1, 12, kSize, 64})),
      OverImages(WinogradConv2dCall(), kF32, *PackedWinogradSize(16, 16)),
      OverImages(DepthwiseConv2dCall(), kF32, *PackedDepthwiseSize(16, 9)),
      OverImages(QuantizedConv2dCall(), kI8, *PackedQuantizedMatrixSize(9, 16, 16)),
      OverImages(QuantizedDepthwiseConv2dCall(), kI8, *PackedQuantizedDepthwiseSize(16, 3, 3)),
      OverImages(MaxPool2dCall(), kU8, 0),
      OverImages(MaxPool2dCall().With("input", T(kF32, {1})).WithResult(T(kF32, {1})), kF32, 0),
      Conv2dChainCall()
          .With("input", Images(kF32, {1, 16, 2 * kSize, 64}))
          .With("other", EValue())
          .WithResult(Images(kF32, {1, 20, kSize, 32})),
      RmsNormCall()
          .With("input", T(kF32, {kSize, kSize, 8}))
          .WithResult(T(kF32, {kSize, kSize, 8})),
      RotaryEmbeddingCall()
          .With("input", T(kF32, {kSize, kSize, 3, 8}))
          .WithResult(T(kF32, {kSize, kSize, 3, 8})),
      AttentionCall()
          .With("query", T(kF32, {1, 4, kSize, 8}))
          .With("key", T(kF32, {1, 2, kSize, 8}))
          .With("value", T(kF32, {1, 2, kSize, 6}))
          .With("mask", EValue())
          .WithResult(T(kF32, {1, 4, kSize, 6})),
  };
}

TEST(LongCalls, StopWhenTheBudgetIsExhausted) {
  for (const TestCall& call : LongCalls()) {
    SCOPED_TRACE(absl::StrCat(call.op(), " ", call.result().KindName()));
    const TensorView& result = *call.result().get_if<TensorView>();
    const auto* last = result.as<const std::byte>() + result.nbytes() - 1;
    std::memset(result.data, 0xff, result.nbytes());
    const std::atomic<bool> cancel = true;
    Budget budget;
    budget.cancel = &cancel;
    {
      const Budget::Scope scope(&budget);
      EXPECT_EQ(call.Run(), "");
    }
    EXPECT_TRUE(budget.cut_short());
    EXPECT_EQ(*last, std::byte{0xff});
    // Without a limit they finish.
    EXPECT_EQ(call.Run(), "");
    EXPECT_NE(*last, std::byte{0xff});
  }
}

}  // namespace
}  // namespace belay::cpu
