// Operators that dequantize weights: embeddings of 8, 4 and 2 bits, and GEMMs of floating-point
// inputs with int8 weights.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/quantized_weights.h"
#include "runtime/kernels/operands/rounding.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

template <int kBits>
absl::Status QuantizedEmbedding(KernelContext& context,
                                const QuantizedEmbeddingCall<KernelArguments, kBits>& call) {
  constexpr int kPerByte = 8 / kBits;
  ABSL_ASSIGN_OR_RETURN(const QuantizedEmbeddingOperands operands, OperandsOf(context, call));
  const TensorView &weight = *operands.weight, &scales = *operands.scales, &out = *operands.out;
  const RoundFn round = RoundingTo(scales.dtype);
  const Reader<int64_t> index(*operands.indices), byte(weight);
  const Reader<double> scale(scales);
  const Writer<double> write(out);
  Strides out_rows = out.strides;
  const int64_t out_step = out_rows.back();
  out_rows.erase(out_rows.size() - 1);
  for (StridedIterator<2> it(operands.indices->sizes, {operands.indices->strides, out_rows});
       !it.done(); it.Next()) {
    const int64_t row = index(it.offset(0));
    ABSL_RETURN_IF_ERROR(operands.CheckRow(row));
    for (int64_t i = 0; i < operands.width; ++i) {
      const int64_t packed = byte(row * weight.strides[0] + i / kPerByte * weight.strides[1]);
      double x = static_cast<double>(UnpackElement<kBits>(packed, static_cast<int>(i % kPerByte)));
      if (operands.zero_points != nullptr) {
        x = round(x - Reader<double>(*operands.zero_points)(
                          operands.ParameterAt(*operands.zero_points, row, i)));
      }
      x = round(x * scale(operands.ParameterAt(scales, row, i)));
      write(it.offset(1) + i * out_step, x);
    }
  }
  return absl::OkStatus();
}

template <bool kLinear>
absl::Status MixedProduct(KernelContext& context,
                          const MixedProductCall<KernelArguments, kLinear>& call) {
  ABSL_ASSIGN_OR_RETURN(const MixedProductOperands operands, OperandsOf(context, call));
  const TensorView &input = *operands.input, &out = *operands.out;
  if (out.numel() == 0) return absl::OkStatus();  // any number of rows
  const int64_t depth = input.sizes[1];
  const Reader<double> x(input), w(*operands.weight), scale(*operands.scales);
  const Writer<double> write(out);
  const RoundFn round = RoundingTo(input.dtype), round_sum = RoundingTo(out.dtype);
  for (int64_t i = 0; i < out.sizes[0]; ++i) {
    for (int64_t j = 0; j < out.sizes[1]; ++j) {
      // Each step is rounded as in ExecuTorch's kernels, whose results define the standard.
      double sum = 0;
      for (int64_t first = 0; first < depth; first += operands.group) {
        const double s = scale(operands.ParameterAt(*operands.scales, j, first));
        const double zero = operands.zero_points == nullptr
                                ? 0
                                : Reader<double>(*operands.zero_points)(
                                      operands.ParameterAt(*operands.zero_points, j, first));
        double part = 0;
        for (int64_t k = first; k < std::min(first + operands.group, depth); ++k) {
          const double value = w(k * operands.depth_stride() + j * operands.column_stride()) - zero;
          const double product =
              round(x(i * input.strides[0] + k * input.strides[1]) * round(value));
          part = round_sum(part + product);
        }
        sum = round_sum(sum + round_sum(part * s));
      }
      write(i * out.strides[0] + j * out.strides[1], sum);
    }
  }
  return FinishMixedProduct(context, call, out);
}

constexpr KernelEngine kReference = KernelEngine::kReference;
constexpr std::string_view kEmbedding =
    "weight weight_scales weight_zero_points weight_quant_min weight_quant_max indices";
constexpr std::string_view kWithDtype =
    "weight weight_scales weight_zero_points weight_quant_min weight_quant_max indices dtype";
constexpr std::string_view kMmNames = "input weight weight_scales weight_zero_points";
constexpr std::string_view kMmOutNames = "input weight weight_scales weight_zero_points out";
constexpr std::string_view kLinearNames = "input weight weight_scales weight_zero_points dtype";
constexpr std::string_view kLinearOutNames =
    "input weight weight_scales weight_zero_points dtype out";

constexpr Kernel kKernels[] = {
    KernelRow<&QuantizedEmbedding<8>>("quantized_decomposed.embedding_byte.default", kEmbedding,
                                      "EmbeddingByte", kReference),
    KernelRow<&QuantizedEmbedding<8>>("quantized_decomposed.embedding_byte.dtype", kWithDtype,
                                      "EmbeddingByteDtype", kReference),
    KernelRow<&QuantizedEmbedding<4>>("quantized_decomposed.embedding_4bit.default", kEmbedding,
                                      "Embedding4bit", kReference),
    KernelRow<&QuantizedEmbedding<4>>("quantized_decomposed.embedding_4bit.dtype", kWithDtype,
                                      "Embedding4bitDtype", kReference),
    KernelRow<&QuantizedEmbedding<2>>("quantized_decomposed.embedding_2bit.default", kEmbedding,
                                      "Embedding2bit", kReference),
    KernelRow<&QuantizedEmbedding<2>>("quantized_decomposed.embedding_2bit.dtype", kWithDtype,
                                      "Embedding2bitDtype", kReference),
    KernelRow<&MixedProduct<false>>("quantized_decomposed.mixed_mm.default", kMmNames, "MixedMm",
                                    kReference),
    KernelRow<&MixedProduct<false>>("quantized_decomposed.mixed_mm.out", kMmOutNames, "MixedMmOut",
                                    kReference),
    KernelRow<&MixedProduct<true>>("quantized_decomposed.mixed_linear.default", kLinearNames,
                                   "MixedLinear", kReference),
    KernelRow<&MixedProduct<true>>("quantized_decomposed.mixed_linear.out", kLinearOutNames,
                                   "MixedLinearOut", kReference),
};

}  // namespace

absl::Span<const Kernel> QuantizedWeightsKernels() { return kKernels; }

}  // namespace belay
