// Operators on quantized weights that are dequantized on the way: embeddings of 8, 4 and 2 bits,
// and matrix products of floating point inputs with int8 weights.

#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_checks.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/quantized.h"
#include "runtime/kernel/shape_rules/quantized_weights.h"
#include "runtime/kernel/shape_rules/same_shape.h"

namespace belay::exir {
namespace {

constexpr DTypeSet kByteTypes = {DType::kInt8, DType::kUint8};
constexpr DTypeSet kIndexTypes = {DType::kInt32, DType::kInt64};

absl::StatusOr<DType> FloatTypeAt(const MetaContext& context, int i, DType fallback) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(i, fallback));
  if (kFloatTypes.contains(dtype)) return dtype;
  return absl::InvalidArgumentError(
      absl::StrCat("dtype: expected a floating point type, got ", DTypeName(dtype)));
}

template <int kBits, bool kDtype>
absl::Status QuantizedEmbeddingMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* weight, TensorOf(context, 0, kByteTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* scales, TensorOf(context, 1, kQuantizableTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* zero_points,
                        OptionalTensorOf(context, 2, DTypeSet{scales->dtype}));
  ABSL_ASSIGN_OR_RETURN(const int64_t quant_min, context.StaticInt(3));
  ABSL_ASSIGN_OR_RETURN(const int64_t quant_max, context.StaticInt(4));
  ABSL_RETURN_IF_ERROR(CheckPackedRange(kBits, quant_min, quant_max));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* indices, TensorOf(context, 5, kIndexTypes));
  DType dtype = scales->dtype;
  if (kDtype) {
    ABSL_ASSIGN_OR_RETURN(dtype, FloatTypeAt(context, 6, scales->dtype));
  }
  ABSL_ASSIGN_OR_RETURN(
      const GroupedRows<SymInt> rows,
      EmbeddingRows<SymInt>(weight->sizes, scales->sizes,
                            zero_points == nullptr ? nullptr : &zero_points->sizes, 8 / kBits));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape,
                        EmbeddingShape<SymInt>(indices->sizes, rows.width));
  context.SetTensor(0, dtype, std::move(shape));
  return absl::OkStatus();
}

template <bool kLinear, bool kOut>
absl::Status MixedProductMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kQuantizableTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* weight, TensorOf(context, 1, DType::kInt8));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* scales, TensorOf(context, 2, input->dtype));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* zero_points,
                        OptionalTensorOf(context, 3, DTypeSet{input->dtype}));
  DType dtype = input->dtype;
  if (kLinear) {
    ABSL_ASSIGN_OR_RETURN(dtype, FloatTypeAt(context, 4, input->dtype));
  }
  ABSL_ASSIGN_OR_RETURN(
      const MixedShape<SymInt> shape,
      MixedProductShape<SymInt>(input->sizes, weight->sizes, scales->sizes,
                                zero_points == nullptr ? nullptr : &zero_points->sizes, kLinear));
  if (kOut) {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* out, TensorOf(context, kLinear ? 5 : 4, dtype));
    ABSL_RETURN_IF_ERROR(CheckSameShape<SymInt>("out", out->sizes, shape.out));
    context.SetOutput(0, *out);
  } else {
    context.SetTensor(0, dtype, shape.out);
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
     .meta = &QuantizedEmbeddingMeta<8, false>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::embedding_byte.dtype" BELAY_EMBEDDING_ARGUMENTS
               ", *, ScalarType? dtype=None) -> Tensor",
     .meta = &QuantizedEmbeddingMeta<8, true>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::embedding_4bit" BELAY_EMBEDDING_ARGUMENTS ") -> Tensor",
     .meta = &QuantizedEmbeddingMeta<4, false>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::embedding_4bit.dtype" BELAY_EMBEDDING_ARGUMENTS
               ", *, ScalarType? dtype=None) -> Tensor",
     .meta = &QuantizedEmbeddingMeta<4, true>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::embedding_2bit" BELAY_EMBEDDING_ARGUMENTS ") -> Tensor",
     .meta = &QuantizedEmbeddingMeta<2, false>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::embedding_2bit.dtype" BELAY_EMBEDDING_ARGUMENTS
               ", *, ScalarType? dtype=None) -> Tensor",
     .meta = &QuantizedEmbeddingMeta<2, true>,
     .tolerance = kDequantized},
    {.schema = "quantized_decomposed::mixed_mm" BELAY_MIXED_ARGUMENTS ") -> Tensor",
     .meta = &MixedProductMeta<false, false>,
     .tolerance = kProduct},
    {.schema = "quantized_decomposed::mixed_mm.out" BELAY_MIXED_ARGUMENTS ", *, Tensor(a!) out) -> "
               "Tensor(a!)",
     .meta = &MixedProductMeta<false, true>,
     .tolerance = kProduct},
    {.schema = "quantized_decomposed::mixed_linear" BELAY_MIXED_ARGUMENTS
               ", ScalarType? dtype=None) -> Tensor",
     .meta = &MixedProductMeta<true, false>,
     .tolerance = kProduct},
    {.schema = "quantized_decomposed::mixed_linear.out" BELAY_MIXED_ARGUMENTS
               ", ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)",
     .meta = &MixedProductMeta<true, true>,
     .tolerance = kProduct},
};

#undef BELAY_MIXED_ARGUMENTS
#undef BELAY_EMBEDDING_ARGUMENTS

}  // namespace

absl::Span<const OpDef> QuantizedWeightsOps() { return kRows; }

}  // namespace belay::exir
