#include "runtime/kernels/quantize/quantized_embedding.h"

#include <algorithm>

#include "runtime/core/status_macros.h"
#include "runtime/kernels/call/element_access.h"
#include "runtime/kernels/call/quantized_weights.h"
#include "runtime/kernels/elements/convert_run.h"
#include "runtime/kernels/elements/run_source.h"
#include "runtime/kernels/quantize/quantize.h"

namespace belay {
namespace {

// Elements first … first + n - 1 of a row, unpacked.
template <int kBits, class In, class Out>
void UnpackRun(const TensorView& weight, int64_t row, int64_t first, int64_t n, Out* out) {
  constexpr int kPerByte = 8 / kBits;
  const int64_t step = weight.strides[1];
  const In* in = weight.as<const In>() + row * weight.strides[0];
  int64_t i = 0;
  if (step == 1 && first % kPerByte == 0) {
    // Whole bytes, of which compilers make vectors.
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

// Dequantizes n elements of a row, which have one scale and zero point. Those of 4 and 2 bits have
// a sign whether their bytes have one or not.
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

template <int kBits, bool kDtype>
absl::Status QuantizedEmbedding(KernelContext& context) {
  ABSL_ASSIGN_OR_RETURN(const QuantizedEmbeddingCall call,
                        ReadQuantizedEmbedding(context, kBits, kDtype));
  const TensorView &weight = *call.weight, &scales = *call.scales, &out = *call.out;
  if (scales.dtype != DType::kFloat32)
    return absl::InternalError("the call changed after the kernel was chosen");
  const Reader<int64_t> index(*call.indices);
  Strides out_rows = out.strides;
  const int64_t step = out_rows.back();
  out_rows.erase(out_rows.size() - 1);
  const int64_t size = static_cast<int64_t>(DTypeSize(out.dtype));
  const bool direct = out.dtype == DType::kFloat32 && step == 1;
  for (StridedIterator<2> it(call.indices->sizes, {call.indices->strides, out_rows}); !it.done();
       it.Next()) {
    const int64_t row = index(it.offset(0));
    ABSL_RETURN_IF_ERROR(call.CheckRow(row));
    std::byte* const to = out.as<std::byte>() + it.offset(1) * size;
    for (int64_t first = 0; first < call.width;) {
      // As far as one group goes.
      const int64_t n =
          std::min({call.group - first % call.group, call.width - first, kRunBufferLength});
      const float scale = scales.as<const float>()[call.ParameterAt(scales, row, first)];
      const float zero =
          call.zero_points == nullptr
              ? 0
              : call.zero_points
                    ->as<const float>()[call.ParameterAt(*call.zero_points, row, first)];
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

bool Accepts(const KernelContext& context) {
  if (context.num_arguments() < 6) return false;
  const TensorView* scales = context.argument(1).get_if<TensorView>();
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return scales != nullptr && scales->dtype == DType::kFloat32 && out.ok() &&
         kRunTypes.contains((*out)->dtype);
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;

constexpr Kernel kKernels[] = {
    {"quantized_decomposed.embedding_byte.default", "EmbeddingByteSimd", kHighway,
     &QuantizedEmbedding<8, false>, &Accepts},
    {"quantized_decomposed.embedding_byte.dtype", "EmbeddingByteDtypeSimd", kHighway,
     &QuantizedEmbedding<8, true>, &Accepts},
    {"quantized_decomposed.embedding_4bit.default", "Embedding4bitSimd", kHighway,
     &QuantizedEmbedding<4, false>, &Accepts},
    {"quantized_decomposed.embedding_4bit.dtype", "Embedding4bitDtypeSimd", kHighway,
     &QuantizedEmbedding<4, true>, &Accepts},
    {"quantized_decomposed.embedding_2bit.default", "Embedding2bitSimd", kHighway,
     &QuantizedEmbedding<2, false>, &Accepts},
    {"quantized_decomposed.embedding_2bit.dtype", "Embedding2bitDtypeSimd", kHighway,
     &QuantizedEmbedding<2, true>, &Accepts},
};

}  // namespace

absl::Span<const Kernel> QuantizedEmbeddingHighwayKernels() { return kKernels; }

}  // namespace belay
