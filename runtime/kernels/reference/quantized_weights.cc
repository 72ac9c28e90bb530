// Operators on quantized weights that are dequantized on the way: embeddings of 8, 4 and 2 bits,
// and matrix products of floating point inputs with int8 weights.

#include <algorithm>
#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/kernels/call/element_access.h"
#include "runtime/kernels/call/quantized_weights.h"
#include "runtime/kernels/call/rounding.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

template <int kBits, bool kDtype>
absl::Status QuantizedEmbedding(KernelContext& context) {
  constexpr int kPerByte = 8 / kBits;
  ABSL_ASSIGN_OR_RETURN(const QuantizedEmbeddingCall call,
                        ReadQuantizedEmbedding(context, kBits, kDtype));
  const TensorView &weight = *call.weight, &scales = *call.scales, &out = *call.out;
  const RoundFn round = RoundingTo(scales.dtype);
  const Reader<int64_t> index(*call.indices), byte(weight);
  const Reader<double> scale(scales);
  const Writer<double> write(out);
  Strides out_rows = out.strides;
  const int64_t out_step = out_rows.back();
  out_rows.erase(out_rows.size() - 1);
  for (StridedIterator<2> it(call.indices->sizes, {call.indices->strides, out_rows}); !it.done();
       it.Next()) {
    const int64_t row = index(it.offset(0));
    ABSL_RETURN_IF_ERROR(call.CheckRow(row));
    for (int64_t i = 0; i < call.width; ++i) {
      const int64_t packed = byte(row * weight.strides[0] + i / kPerByte * weight.strides[1]);
      double x = static_cast<double>(UnpackElement<kBits>(packed, static_cast<int>(i % kPerByte)));
      if (call.zero_points != nullptr) {
        x = round(x -
                  Reader<double>(*call.zero_points)(call.ParameterAt(*call.zero_points, row, i)));
      }
      x = round(x * scale(call.ParameterAt(scales, row, i)));
      write(it.offset(1) + i * out_step, x);
    }
  }
  return absl::OkStatus();
}

template <bool kLinear, bool kOut>
absl::Status MixedProduct(KernelContext& context) {
  ABSL_ASSIGN_OR_RETURN(const MixedProductCall call, ReadMixedProduct(context, kLinear, kOut));
  const TensorView &input = *call.input, &out = *call.out;
  if (out.numel() == 0) return absl::OkStatus();  // of however many rows
  const int64_t depth = input.sizes[1];
  const Reader<double> x(input), w(*call.weight), scale(*call.scales);
  const Writer<double> write(out);
  const RoundFn round = RoundingTo(input.dtype), round_sum = RoundingTo(out.dtype);
  for (int64_t i = 0; i < out.sizes[0]; ++i) {
    for (int64_t j = 0; j < out.sizes[1]; ++j) {
      // Each step is rounded, as ExecuTorch's kernels do it, whose results are the standard.
      double sum = 0;
      for (int64_t first = 0; first < depth; first += call.group) {
        const double s = scale(call.ParameterAt(*call.scales, j, first));
        const double zero =
            call.zero_points == nullptr
                ? 0
                : Reader<double>(*call.zero_points)(call.ParameterAt(*call.zero_points, j, first));
        double part = 0;
        for (int64_t k = first; k < std::min(first + call.group, depth); ++k) {
          const double value = w(k * call.depth_stride() + j * call.column_stride()) - zero;
          const double product =
              round(x(i * input.strides[0] + k * input.strides[1]) * round(value));
          part = round_sum(part + product);
        }
        sum = round_sum(sum + round_sum(part * s));
      }
      write(i * out.strides[0] + j * out.strides[1], sum);
    }
  }
  return FinishMixedProduct(context, call, kOut);
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    {"quantized_decomposed.embedding_byte.default", "EmbeddingByte", kReference,
     &QuantizedEmbedding<8, false>},
    {"quantized_decomposed.embedding_byte.dtype", "EmbeddingByteDtype", kReference,
     &QuantizedEmbedding<8, true>},
    {"quantized_decomposed.embedding_4bit.default", "Embedding4bit", kReference,
     &QuantizedEmbedding<4, false>},
    {"quantized_decomposed.embedding_4bit.dtype", "Embedding4bitDtype", kReference,
     &QuantizedEmbedding<4, true>},
    {"quantized_decomposed.embedding_2bit.default", "Embedding2bit", kReference,
     &QuantizedEmbedding<2, false>},
    {"quantized_decomposed.embedding_2bit.dtype", "Embedding2bitDtype", kReference,
     &QuantizedEmbedding<2, true>},
    {"quantized_decomposed.mixed_mm.default", "MixedMm", kReference, &MixedProduct<false, false>},
    {"quantized_decomposed.mixed_mm.out", "MixedMmOut", kReference, &MixedProduct<false, true>},
    {"quantized_decomposed.mixed_linear.default", "MixedLinear", kReference,
     &MixedProduct<true, false>},
    {"quantized_decomposed.mixed_linear.out", "MixedLinearOut", kReference,
     &MixedProduct<true, true>},
};

}  // namespace

absl::Span<const Kernel> QuantizedWeightsKernels() { return kKernels; }

}  // namespace belay
