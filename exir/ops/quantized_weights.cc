// Operators that dequantize their weights on the fly: embeddings of 8, 4 and 2 bits, and matmuls of
// floating-point inputs with int8 weights.

#include <utility>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/quantized_weights.h"

namespace belay::exir {
namespace {

template <int kBits>
absl::Status QuantizedEmbeddingMeta(MetaContext& context,
                                    const QuantizedEmbeddingCall<MetaArguments, kBits>& call) {
  ABSL_ASSIGN_OR_RETURN(const GroupedRows<SymInt> rows, call.Rows());
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape(rows));
  context.SetTensor(0, call.dtype, std::move(shape));
  return absl::OkStatus();
}

template <bool kLinear>
absl::Status MixedProductMeta(MetaContext& context,
                              const MixedProductCall<MetaArguments, kLinear>& call) {
  ABSL_ASSIGN_OR_RETURN(MixedShape<SymInt> shape, call.Shape());
  if (call.out != nullptr) {
    context.SetOutput(0, *call.out);
  } else {
    context.SetTensor(0, call.dtype, std::move(shape.out));
  }
  return absl::OkStatus();
}

constexpr Tolerance kProduct = {1e-5, 1e-6};
constexpr Tolerance kDequantized = {2e-6, 1e-7};

#define BELAY_EMBEDDING_ARGUMENTS                                                            \
  "(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, " \
  "int weight_quant_max, Tensor indices"
#define BELAY_MIXED_ARGUMENTS \
  "(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points"

constexpr OpDef kRows[] = {
    {.schema = "quantized_decomposed::embedding_byte" BELAY_EMBEDDING_ARGUMENTS ") -> Tensor",
     .meta = &MetaKernel<&QuantizedEmbeddingMeta<8>>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::embedding_byte.dtype" BELAY_EMBEDDING_ARGUMENTS
               ", *, ScalarType? dtype=None) -> Tensor",
     .meta = &MetaKernel<&QuantizedEmbeddingMeta<8>>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::embedding_4bit" BELAY_EMBEDDING_ARGUMENTS ") -> Tensor",
     .meta = &MetaKernel<&QuantizedEmbeddingMeta<4>>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::embedding_4bit.dtype" BELAY_EMBEDDING_ARGUMENTS
               ", *, ScalarType? dtype=None) -> Tensor",
     .meta = &MetaKernel<&QuantizedEmbeddingMeta<4>>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::embedding_2bit" BELAY_EMBEDDING_ARGUMENTS ") -> Tensor",
     .meta = &MetaKernel<&QuantizedEmbeddingMeta<2>>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::embedding_2bit.dtype" BELAY_EMBEDDING_ARGUMENTS
               ", *, ScalarType? dtype=None) -> Tensor",
     .meta = &MetaKernel<&QuantizedEmbeddingMeta<2>>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::mixed_mm" BELAY_MIXED_ARGUMENTS ") -> Tensor",
     .meta = &MetaKernel<&MixedProductMeta<false>>,
     .tolerance = kProduct},
    {.schema = "quantized_decomposed::mixed_mm.out" BELAY_MIXED_ARGUMENTS ", *, Tensor(a!) out) -> "
               "Tensor(a!)",
     .meta = &MetaKernel<&MixedProductMeta<false>>,
     .tolerance = kProduct},
    {.schema = "quantized_decomposed::mixed_linear" BELAY_MIXED_ARGUMENTS
               ", ScalarType? dtype=None) -> Tensor",
     .meta = &MetaKernel<&MixedProductMeta<true>>,
     .tolerance = kProduct},
    {.schema = "quantized_decomposed::mixed_linear.out" BELAY_MIXED_ARGUMENTS
               ", ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)",
     .meta = &MetaKernel<&MixedProductMeta<true>>,
     .tolerance = kProduct},
};

#undef BELAY_MIXED_ARGUMENTS
#undef BELAY_EMBEDDING_ARGUMENTS

}  // namespace

absl::Span<const OpDef> QuantizedWeightsOps() { return kRows; }

}  // namespace belay::exir
