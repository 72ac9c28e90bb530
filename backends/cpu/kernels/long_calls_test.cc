// Long calls stop when the budget is exhausted, and report it: a file may describe unbounded work.
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/kernels/valid_calls_testing.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/element.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/quantized_weights.h"
#include "runtime/kernels/packed/weight_only_gemm.h"
#include "runtime/kernels/packed/weight_only_weights.h"
#include "runtime/kernels/packed/winograd.h"
#include "runtime/kernels/packed/winograd_weights.h"

namespace belay::cpu {
namespace {

constexpr int kInitial = 77;  // elements of results

// A tensor of zeros with the dtype of another one.
std::string Like(std::string_view tensor, std::string_view sizes) {
  return absl::StrCat(tensor.substr(0, tensor.find('[')), sizes, "=0");
}
std::string Packed(std::string_view tensor, int64_t size) {
  return Like(tensor, absl::StrCat("[", size, "]"));
}
// Changes sizes, and clears optional arguments.
TextCall Sized(TextCall call, std::string_view input, std::string_view result) {
  call = call.With("input", Like(call["input"], input))
             .WithOutput(0, absl::StrCat(call.outputs[0].substr(0, call.outputs[0].find('[')),
                                         result, "=", kInitial));
  for (const std::string_view name : {"bias", "other"}) {
    if (call.Has(name)) call = call.With(name, "none");
  }
  return call;
}

TextCall Product(std::string_view op, int64_t weight) {
  const TextCall call = Sized(ValidCall(op), "[512,512]", "[512,512]").With("out_features", "512");
  return call.With("weight", Packed(call["weight"], weight));
}
// A 3x3 window on images with 16 channels.
TextCall OverImages(TextCall call, int64_t weight) {
  call = Sized(call, "[1,16,512,64]:l", "[1,16,512,64]:l").With("stride", "[1,1]");
  if (call.Has("weight")) call = call.With("weight", Packed(call["weight"], weight));
  for (const std::string_view name : {"scales", "weight_sums"}) {
    if (call.Has(name)) call = call.With(name, Packed(call[name], 16));
  }
  return call.Has("out_channels") ? call.With("out_channels", "16") : call;
}
TextCall Grouped(std::string_view images, std::string_view channels, std::string_view weight) {
  return Sized(ValidCall("convolution"), images, images)
      .With("weight", weight)
      .With("out_channels", channels)
      .With("groups", "3")
      .With("transposed", "false")
      .With("kernel_size", "[3,3]")
      .With("stride", "[1,1]");
}

std::vector<TextCall> LongCalls() {
  const int64_t scales = *PackedScalesSize(512, 512, 8);
  const TextCall weight_only =
      Product("weight_only_linear", *PackedWeightsSize(WeightFormat::kInt8, 512, 512));
  const TextCall dynamic =
      Product("dynamic_quantized_linear", *PackedWeightsSize(WeightFormat::kInt4, 512, 512) / 4);
  return {
      Product("linear", *PackedMatrixSize(512, 512)),
      weight_only.With("scales", Packed("f32[]", scales)).With("zeros", "none"),
      dynamic.With("scales", Packed("f32[]", scales))
          .With("weight_sums", Packed("i32[]", scales))
          .With("input_scales", "f32[1]=0")
          .With("input_zeros", "i32[1]=0"),
      Product("quantized_linear", *PackedQuantizedMatrixSize(1, 512, 512))
          .With("scales", "f32[512]=0")
          .With("weight_sums", "i32[512]=0"),
      Product("bfloat16_linear", *PackedVnni2Size(512, 512)),
      OverImages(ValidCall("conv2d"), *PackedMatrixSize(9 * 16, 16)),
      OverImages(ValidCall("bfloat16_conv2d"), *PackedVnni2Size(9 * 16, 16)),
      Grouped("[1,96,512,64]:l", "96", Packed("f32[]", 9 * 32 * 3 * 32)),
      Grouped("[1,12,512,64]:l", "12", Packed("f32[]", 9 * 4 * 16)),
      OverImages(ValidCall("winograd_conv2d"), *PackedWinogradSize(WinogradTile::k4x4, 1, 16, 16)),
      OverImages(ValidCall("depthwise_conv2d"), *PackedDepthwiseSize(16, 9)),
      OverImages(ValidCall("bfloat16_depthwise_conv2d"), *PackedDepthwiseSize(16, 9)),
      OverImages(ValidCall("quantized_conv2d"), *PackedQuantizedMatrixSize(9, 16, 16)),
      OverImages(ValidCall("quantized_grouped_conv2d"), *PackedQuantizedGroupsSize(9, 2, 8, 8)),
      OverImages(ValidCall("quantized_depthwise_conv2d"), *PackedQuantizedDepthwiseSize(16, 3, 3)),
      OverImages(ValidCall("max_pool2d"), 0),
      OverImages(ValidCall("max_pool2d").With("input", "f32[1]").WithOutput(0, "f32[1]"), 0),
      Sized(ValidCall("conv2d_chain"), "[1,16,1024,64]:l", "[1,20,512,32]:l"),
      Sized(ValidCall("rms_norm"), "[512,512,8]", "[512,512,8]"),
      Sized(ValidCall("rotary_embedding"), "[512,512,3,8]", "[512,512,3,8]"),
      ValidCall("attention")
          .With("query", "f32[1,4,512,8]=0")
          .With("key", "f32[1,2,512,8]=0")
          .With("value", "f32[1,2,512,6]=0")
          .With("mask", "none")
          .WithOutput(0, absl::StrCat("f32[1,4,512,6]=", kInitial)),
  };
}

// The element at the largest index.
double LastElement(const EValue& value) {
  const TensorView& tensor = *value.get_if<TensorView>();
  double last = 0;
  DispatchDType<kRealTypes>(tensor.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    last = ConvertElement<double>(tensor.as<const T>()[tensor.numel() - 1]);
  });
  return last;
}

TEST(LongCalls, StopWhenTheBudgetIsExhausted) {
  for (const TextCall& call : LongCalls()) {
    SCOPED_TRACE(call.ToString());
    const std::atomic<bool> cancel = true;
    Budget budget;
    budget.cancel = &cancel;
    {
      const Budget::Scope scope(&budget);
      const CallOutcome outcome = RunKernel(call);
      ASSERT_OK(outcome.status);
      EXPECT_EQ(LastElement(outcome.outputs[0]), kInitial);
    }
    EXPECT_TRUE(budget.cut_short());
    // Without a limit they finish.
    const CallOutcome outcome = RunKernel(call);
    ASSERT_OK(outcome.status);
    EXPECT_NE(LastElement(outcome.outputs[0]), kInitial);
  }
}

}  // namespace
}  // namespace belay::cpu
