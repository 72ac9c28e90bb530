// Shape rules of operators on quantized weights.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_QUANTIZED_WEIGHTS_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_QUANTIZED_WEIGHTS_H_

#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/index.h"
#include "runtime/kernel_interface/shape_rules/quantized.h"
#include "runtime/kernel_interface/shape_rules/same_shape.h"

namespace belay {

// Packed 4-bit and 2-bit elements use the full range of their bits; bytes use the call's range.
inline absl::Status CheckPackedRange(int bits, int64_t quant_min, int64_t quant_max) {
  const int64_t half = int64_t{1} << (bits - 1);
  if (bits == 8 || (quant_min == -half && quant_max == half - 1)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("weight_quant_min, weight_quant_max: expected ",
                                                 -half, " and ", half - 1, ", got ", quant_min,
                                                 " and ", quant_max));
}

// Layout of an embedding's weight: [rows, width] elements after unpacking, `groups` groups per row.
template <class D>
struct GroupedRows {
  D rows, width, groups;
};

// One byte packs `per_byte` elements. Scales and zero points are [rows] or [rows, groups].
template <class D>
absl::StatusOr<GroupedRows<D>> EmbeddingRows(absl::Span<const D> weight, absl::Span<const D> scales,
                                             const Dims<D>* zero_points, int per_byte) {
  if (weight.size() != 2 || (scales.size() != 1 && scales.size() != 2)) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight: expected a matrix with scales of rank 1 or 2, got shapes ",
                     FormatDims<D>(weight), " and ", FormatDims<D>(scales)));
  }
  GroupedRows<D> r = {weight[0], weight[1] * D(int64_t{per_byte}),
                      scales.size() == 2 ? scales[1] : D(int64_t{1})};
  bool fits = !KnownDifferent(weight[0], scales[0]);
  if (zero_points != nullptr) {
    fits = fits && absl::Span<const D>(*zero_points).size() == scales.size();
    for (size_t d = 0; fits && d < scales.size(); ++d) {
      fits = !KnownDifferent((*zero_points)[d], scales[d]);
    }
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weight_scales, weight_zero_points: shape ", FormatDims<D>(scales),
        zero_points == nullptr ? "" : absl::StrCat(" and ", FormatDims<D>(*zero_points)),
        " are not those of a weight ", FormatDims<D>(weight)));
  }
  const std::optional<int64_t> width = KnownInt(r.width), groups = KnownInt(r.groups);
  if (width.has_value() && groups.has_value() &&
      (*groups < 1 || *width % *groups != 0 || *width / *groups < 2)) {
    return absl::InvalidArgumentError(absl::StrCat("weight_scales: ", *groups,
                                                   " scales per row of ", *width,
                                                   " elements; groups have at least 2"));
  }
  return r;
}

// indices […] -> […,width].
template <class D>
absl::StatusOr<Dims<D>> EmbeddingShape(absl::Span<const D> indices, const D& width) {
  ABSL_RETURN_IF_ERROR(CheckRank(indices.size() + 1));
  Dims<D> out;
  for (const D& d : indices) out.push_back(d);
  out.push_back(width);
  return out;
}

// Reads the result's dtype, a floating point dtype; `fallback` if the call has none.
template <class Arguments>
absl::StatusOr<DType> ReadDequantizedDtype(const Arguments& arguments, DType fallback) {
  DType dtype = fallback;
  if (arguments.Has("dtype")) {
    ABSL_ASSIGN_OR_RETURN(dtype, arguments.DtypeOr("dtype", fallback));
  }
  if (kFloatTypes.contains(dtype)) return dtype;
  return absl::InvalidArgumentError(
      absl::StrCat("dtype: expected a floating point type, got ", DTypeName(dtype)));
}

// embedding_byte, embedding_4bit, embedding_2bit, with and without the argument dtype.
template <class Arguments, int kBits>
struct QuantizedEmbeddingCall {
  typename Arguments::TensorRef weight, scales, zero_points, indices;  // zero_points: null for none
  DType dtype = DType::kFloat32;                                       // of the result

  static absl::StatusOr<QuantizedEmbeddingCall> Read(const Arguments& arguments) {
    constexpr DTypeSet kByteTypes = {DType::kInt8, DType::kUint8};
    QuantizedEmbeddingCall call;
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", kByteTypes));
    ABSL_ASSIGN_OR_RETURN(call.scales, arguments.Tensor("weight_scales", kQuantizableTypes));
    ABSL_ASSIGN_OR_RETURN(call.zero_points, arguments.OptionalTensor("weight_zero_points",
                                                                     DTypeSet{call.scales->dtype}));
    ABSL_ASSIGN_OR_RETURN(const int64_t quant_min, arguments.StaticInt("weight_quant_min"));
    ABSL_ASSIGN_OR_RETURN(const int64_t quant_max, arguments.StaticInt("weight_quant_max"));
    ABSL_RETURN_IF_ERROR(CheckPackedRange(kBits, quant_min, quant_max));
    ABSL_ASSIGN_OR_RETURN(call.indices, arguments.Tensor("indices", kIndexTypes));
    ABSL_ASSIGN_OR_RETURN(call.dtype, ReadDequantizedDtype(arguments, call.scales->dtype));
    return call;
  }
  absl::StatusOr<GroupedRows<typename Arguments::Dim>> Rows() const {
    using D = typename Arguments::Dim;
    Dims<D> zero_dims;
    if (zero_points != nullptr) zero_dims = Arguments::SizesOf(zero_points);
    return EmbeddingRows<D>(Arguments::SizesOf(weight), Arguments::SizesOf(scales),
                            zero_points == nullptr ? nullptr : &zero_dims, 8 / kBits);
  }
  // Shape of the result. `rows` is the result of Rows().
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape(
      const GroupedRows<typename Arguments::Dim>& rows) const {
    return EmbeddingShape<typename Arguments::Dim>(Arguments::SizesOf(indices), rows.width);
  }
};

// The result [m,n] of a matmul, and the number of scales per row of a linear weight.
template <class D>
struct MixedShape {
  Dims<D> out;
  D groups;
};

// input [m,k], weight [k,n], scales [k]; for `linear` weight [n,k], scales [n] or [n,groups]. Zero
// points have the shape of the scales.
template <class D>
absl::StatusOr<MixedShape<D>> MixedProductShape(absl::Span<const D> input,
                                                absl::Span<const D> weight,
                                                absl::Span<const D> scales,
                                                const Dims<D>* zero_points, bool linear) {
  const size_t most = linear ? 2 : 1;
  bool fits = input.size() == 2 && weight.size() == 2 && !scales.empty() && scales.size() <= most &&
              !KnownDifferent(input[1], weight[linear ? 1 : 0]) &&
              !KnownDifferent(scales[0], weight[0]);
  if (zero_points != nullptr) {
    fits = fits && absl::Span<const D>(*zero_points).size() == scales.size();
    for (size_t d = 0; fits && d < scales.size(); ++d) {
      fits = !KnownDifferent((*zero_points)[d], scales[d]);
    }
  }
  MixedShape<D> shape;
  shape.groups = D(int64_t{1});
  if (fits && scales.size() == 2) {
    shape.groups = scales[1];
    const std::optional<int64_t> groups = KnownInt(scales[1]);
    fits = !groups.has_value() || *groups > 0;
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("shapes of input ", FormatDims<D>(input), ", weight ", FormatDims<D>(weight),
                     ", weight_scales ", FormatDims<D>(scales), " are inconsistent"));
  }
  shape.out.push_back(input[0]);
  shape.out.push_back(weight[linear ? 0 : 1]);
  return shape;
}

// mixed_mm and, if kLinear, mixed_linear. Only the out variants have `out`.
template <class Arguments, bool kLinear>
struct MixedProductCall {
  typename Arguments::TensorRef input, weight, scales, zero_points;  // zero_points: null for none
  typename Arguments::TensorRef out = nullptr;                       // null for none
  MutableArgument target;                                            // `out`, to write to
  DType dtype = DType::kFloat32;                                     // of the result

  static absl::StatusOr<MixedProductCall> Read(const Arguments& arguments) {
    MixedProductCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kQuantizableTypes));
    const DTypeSet same = DTypeSet{call.input->dtype};
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", DTypeSet{DType::kInt8}));
    ABSL_ASSIGN_OR_RETURN(call.scales, arguments.Tensor("weight_scales", same));
    ABSL_ASSIGN_OR_RETURN(call.zero_points, arguments.OptionalTensor("weight_zero_points", same));
    ABSL_ASSIGN_OR_RETURN(call.dtype, ReadDequantizedDtype(arguments, call.input->dtype));
    if (arguments.Has("out")) {
      ABSL_ASSIGN_OR_RETURN(call.out, arguments.Tensor("out", DTypeSet{call.dtype}));
      ABSL_ASSIGN_OR_RETURN(call.target, arguments.Mutable("out"));
    }
    return call;
  }
  // Also checks that `out` has the result's shape.
  absl::StatusOr<MixedShape<typename Arguments::Dim>> Shape() const {
    using D = typename Arguments::Dim;
    Dims<D> zero_dims;
    if (zero_points != nullptr) zero_dims = Arguments::SizesOf(zero_points);
    ABSL_ASSIGN_OR_RETURN(
        MixedShape<D> shape,
        MixedProductShape<D>(Arguments::SizesOf(input), Arguments::SizesOf(weight),
                             Arguments::SizesOf(scales),
                             zero_points == nullptr ? nullptr : &zero_dims, kLinear));
    if (out != nullptr) {
      ABSL_RETURN_IF_ERROR(CheckSameShape<D>("out", Arguments::SizesOf(out), shape.out));
    }
    return shape;
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_QUANTIZED_WEIGHTS_H_
