#include "runtime/kernels/quantize/quantized_embedding.h"

#include <algorithm>
#include <string_view>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/quantized_weights.h"
#include "runtime/kernels/quantize/quantize.h"

namespace belay {
namespace {

// Unpacks elements first … first + n - 1 of a row.
template <int kBits, class In, class Out>
void UnpackRun(const TensorView& weight, int64_t row, int64_t first, int64_t n, Out* out) {
  constexpr int kPerByte = 8 / kBits;
  const int64_t step = weight.strides[1];
  const In* in = weight.as<const In>() + row * weight.strides[0];
  int64_t i = 0;
  if (step == 1 && first % kPerByte == 0) {
    // Whole bytes, in a loop that compilers vectorize.
    const In* bytes = in + first / kPerByte;
    for (int64_t b = 0; b < n / kPerByte; ++b) {
      for (int k = 0; k < kPerByte; ++k) {
        out[b * kPerByte + k] = static_cast<Out>(UnpackElement<kBits>(int{bytes[b]}, k));
      }
    }
    i = n / kPerByte * kPerByte;
  }
  for (; i < n; ++i) {
    const int64_t at = first + i;
    out[i] = static_cast<Out>(UnpackElement<kBits>(static_cast<int>(in[at / kPerByte * step]),
                                                   static_cast<int>(at % kPerByte)));
  }
}

// Dequantizes n elements of a row with one scale and zero point. 4-bit and 2-bit elements are
// signed, whether their bytes are or not.
template <int kBits>
void DequantizePacked(const TensorView& weight, int64_t row, int64_t first, int64_t n, float zero,
                      float scale, float* out) {
  const size_t count = static_cast<size_t>(n);
  const bool bytes = kBits == 8, sign = weight.dtype == DType::kInt8;
  if (bytes && weight.strides[1] == 1) {
    const int64_t at = row * weight.strides[0] + first;
    if (sign) return DequantizeInt8Run(weight.as<const int8_t>() + at, count, zero, scale, out);
    return DequantizeUint8Run(weight.as<const uint8_t>() + at, count, zero, scale, out);
  }
  if (bytes && !sign) {
    uint8_t elements[kRunBufferLength];
    UnpackRun<kBits, uint8_t>(weight, row, first, n, elements);
    return DequantizeUint8Run(elements, count, zero, scale, out);
  }
  int8_t elements[kRunBufferLength];
  if (sign) {
    UnpackRun<kBits, int8_t>(weight, row, first, n, elements);
  } else {
    UnpackRun<kBits, uint8_t>(weight, row, first, n, elements);
  }
  DequantizeInt8Run(elements, count, zero, scale, out);
}

template <int kBits>
absl::Status QuantizedEmbedding(KernelContext& context,
                                const QuantizedEmbeddingCall<KernelArguments, kBits>& call) {
  ABSL_ASSIGN_OR_RETURN(const QuantizedEmbeddingOperands operands, OperandsOf(context, call));
  const TensorView &weight = *operands.weight, &scales = *operands.scales, &out = *operands.out;
  if (scales.dtype != DType::kFloat32)
    return absl::InternalError("the call changed after the kernel was chosen");
  const Reader<int64_t> index(*operands.indices);
  Strides out_rows = out.strides;
  const int64_t step = out_rows.back();
  out_rows.erase(out_rows.size() - 1);
  const int64_t size = static_cast<int64_t>(DTypeSize(out.dtype));
  const bool direct = out.dtype == DType::kFloat32 && step == 1;
  for (StridedIterator<2> it(operands.indices->sizes, {operands.indices->strides, out_rows});
       !it.done(); it.Next()) {
    const int64_t row = index(it.offset(0));
    ABSL_RETURN_IF_ERROR(operands.CheckRow(row));
    std::byte* const to = out.as<std::byte>() + it.offset(1) * size;
    for (int64_t first = 0; first < operands.width;) {
      // Up to the end of a group.
      const int64_t n = std::min(
          {operands.group - first % operands.group, operands.width - first, kRunBufferLength});
      const float scale = scales.as<const float>()[operands.ParameterAt(scales, row, first)];
      const float zero =
          operands.zero_points == nullptr
              ? 0
              : operands.zero_points
                    ->as<const float>()[operands.ParameterAt(*operands.zero_points, row, first)];
      if (direct) {
        DequantizePacked<kBits>(weight, row, first, n, zero, scale,
                                reinterpret_cast<float*>(to) + first);
      } else {
        float run[kRunBufferLength];
        DequantizePacked<kBits>(weight, row, first, n, zero, scale, run);
        RunSink sink(to + first * step * size, out.dtype, {n}, {step}, DType::kFloat32);
        RunStorage storage;
        std::copy_n(run, n, static_cast<float*>(sink.Place(n, storage)));
        sink.Commit(n, storage);
      }
      first += n;
    }
  }
  return absl::OkStatus();
}

template <int kBits>
bool Accepts(const KernelContext& context,
             const QuantizedEmbeddingCall<KernelArguments, kBits>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return call.scales->dtype == DType::kFloat32 && out.ok() && kRunTypes.contains((*out)->dtype);
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;
constexpr std::string_view kEmbedding =
    "weight weight_scales weight_zero_points weight_quant_min weight_quant_max indices";
constexpr std::string_view kWithDtype =
    "weight weight_scales weight_zero_points weight_quant_min weight_quant_max indices dtype";

constexpr Kernel kKernels[] = {
    KernelRow<&QuantizedEmbedding<8>, &Accepts<8>>("quantized_decomposed.embedding_byte.default",
                                                   kEmbedding, "EmbeddingByteSimd", kHighway),
    KernelRow<&QuantizedEmbedding<8>, &Accepts<8>>("quantized_decomposed.embedding_byte.dtype",
                                                   kWithDtype, "EmbeddingByteDtypeSimd", kHighway),
    KernelRow<&QuantizedEmbedding<4>, &Accepts<4>>("quantized_decomposed.embedding_4bit.default",
                                                   kEmbedding, "Embedding4bitSimd", kHighway),
    KernelRow<&QuantizedEmbedding<4>, &Accepts<4>>("quantized_decomposed.embedding_4bit.dtype",
                                                   kWithDtype, "Embedding4bitDtypeSimd", kHighway),
    KernelRow<&QuantizedEmbedding<2>, &Accepts<2>>("quantized_decomposed.embedding_2bit.default",
                                                   kEmbedding, "Embedding2bitSimd", kHighway),
    KernelRow<&QuantizedEmbedding<2>, &Accepts<2>>("quantized_decomposed.embedding_2bit.dtype",
                                                   kWithDtype, "Embedding2bitDtypeSimd", kHighway),
};

}  // namespace

absl::Span<const Kernel> QuantizedEmbeddingHighwayKernels() { return kKernels; }

}  // namespace belay
