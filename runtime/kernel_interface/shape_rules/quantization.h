// Calls of operators that quantize, dequantize (per tensor, channel, row and group) and choose
// parameters. Results have the input's shape unless a call says otherwise.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_QUANTIZATION_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_QUANTIZATION_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/index.h"
#include "runtime/kernel_interface/shape_rules/quantized.h"
#include "runtime/kernel_interface/shape_rules/same_shape.h"

namespace belay {

struct QuantizedRange {
  int64_t low = 0, high = 0;
};

template <class Arguments>
absl::StatusOr<QuantizedRange> ReadRange(const Arguments& arguments,
                                         std::string_view low = "quant_min",
                                         std::string_view high = "quant_max") {
  QuantizedRange range;
  ABSL_ASSIGN_OR_RETURN(range.low, arguments.StaticInt(low));
  ABSL_ASSIGN_OR_RETURN(range.high, arguments.StaticInt(high));
  return range;
}

// Reads the input, which must have the quantized dtype named by the call.
template <class Arguments>
absl::StatusOr<typename Arguments::TensorRef> ReadQuantizedInput(const Arguments& arguments) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, arguments.Dtype("dtype"));
  ABSL_RETURN_IF_ERROR(QuantizedBounds(dtype).status());
  return arguments.Tensor("input", DTypeSet{dtype});
}

// Reads the dtype of a dequantized tensor; float32 for None.
template <class Arguments>
absl::StatusOr<DType> ReadFloatType(const Arguments& arguments, std::string_view name) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, arguments.DtypeOr(name, DType::kFloat32));
  if (kFloatTypes.contains(dtype)) return dtype;
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected a floating point type, got ", DTypeName(dtype)));
}

// ---- Per tensor

// How scale and zero point (and quant_min, quant_max) are passed.
enum class Given { kNumbers, kTensors, kTensorsAndRange };

// Scale and zero point; for kTensorsAndRange also the range. Tensors have one element each, which
// is only read at run time.
template <class Arguments, Given kGiven>
struct TensorParameters {
  typename Arguments::TensorRef scale_tensor = nullptr, zero_point_tensor = nullptr;
  typename Arguments::TensorRef quant_min_tensor = nullptr, quant_max_tensor = nullptr;
  double scale = 0;        // if kNumbers
  int64_t zero_point = 0;  // if kNumbers

  absl::Status ReadParameters(const Arguments& arguments) {
    if (kGiven == Given::kNumbers) {
      ABSL_ASSIGN_OR_RETURN(scale, arguments.Double("scale"));
      ABSL_ASSIGN_OR_RETURN(zero_point, arguments.StaticInt("zero_point"));
    } else {
      ABSL_ASSIGN_OR_RETURN(scale_tensor, arguments.Tensor("scale", kRealTypes));
      ABSL_ASSIGN_OR_RETURN(zero_point_tensor, arguments.Tensor("zero_point", kRealTypes));
    }
    if (kGiven == Given::kTensorsAndRange) {
      ABSL_ASSIGN_OR_RETURN(quant_min_tensor, arguments.Tensor("quant_min", kRealTypes));
      ABSL_ASSIGN_OR_RETURN(quant_max_tensor, arguments.Tensor("quant_max", kRealTypes));
    }
    return absl::OkStatus();
  }
  absl::Status CheckShapes() const {
    using D = typename Arguments::Dim;
    if (kGiven == Given::kNumbers) return absl::OkStatus();
    const auto& scales = Arguments::SizesOf(scale_tensor);
    ABSL_RETURN_IF_ERROR(CheckOneElement<D>("scale", scales));
    const auto& zero_points = Arguments::SizesOf(zero_point_tensor);
    ABSL_RETURN_IF_ERROR(CheckOneElement<D>("zero_point", zero_points));
    if (kGiven == Given::kTensors) return absl::OkStatus();
    const auto& low = Arguments::SizesOf(quant_min_tensor);
    ABSL_RETURN_IF_ERROR(CheckOneElement<D>("quant_min", low));
    const auto& high = Arguments::SizesOf(quant_max_tensor);
    return CheckOneElement<D>("quant_max", high);
  }
};

// quantize_per_tensor.
template <class Arguments, Given kGiven>
struct QuantizePerTensorCall : TensorParameters<Arguments, kGiven> {
  typename Arguments::TensorRef input;
  DType dtype = DType::kInt8;
  QuantizedRange range;  // unless passed as tensors

  static absl::StatusOr<QuantizePerTensorCall> Read(const Arguments& arguments) {
    QuantizePerTensorCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kQuantizableTypes));
    ABSL_RETURN_IF_ERROR(call.ReadParameters(arguments));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.Dtype("dtype"));
    if (kGiven == Given::kTensorsAndRange) {
      ABSL_RETURN_IF_ERROR(QuantizedBounds(call.dtype).status());
    } else {
      ABSL_ASSIGN_OR_RETURN(call.range, ReadRange(arguments));
      ABSL_RETURN_IF_ERROR(CheckQuantizedRange(call.dtype, call.range.low, call.range.high));
    }
    if (kGiven == Given::kNumbers) ABSL_RETURN_IF_ERROR(CheckScale(call.scale));
    return call;
  }
  // PyTorch's Python implementation raises on the inverse of 0.
  static absl::Status CheckScale(double scale) {
    if (scale != 0) return absl::OkStatus();
    return absl::InvalidArgumentError("scale: expected a number other than 0");
  }
};

// dequantize_per_tensor. The range is ignored.
template <class Arguments, Given kGiven>
struct DequantizePerTensorCall : TensorParameters<Arguments, kGiven> {
  typename Arguments::TensorRef input;
  DType dtype = DType::kFloat32;  // of the result

  static absl::StatusOr<DequantizePerTensorCall> Read(const Arguments& arguments) {
    DequantizePerTensorCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, ReadQuantizedInput(arguments));
    ABSL_RETURN_IF_ERROR(call.ReadParameters(arguments));
    ABSL_ASSIGN_OR_RETURN(call.dtype, ReadFloatType(arguments, "out_dtype"));
    return call;
  }
};

// ---- Per channel

// Scales and zero points (null for none) along a dimension of the input.
template <class Arguments>
struct ChannelParameters {
  typename Arguments::TensorRef input, scales, zero_points;
  int axis = 0;  // counted from 0

  // Precondition: the input was read.
  absl::Status ReadParameters(const Arguments& arguments, bool needs_zero_points) {
    ABSL_ASSIGN_OR_RETURN(const int64_t given, arguments.StaticInt("axis"));
    const auto& sizes = Arguments::SizesOf(input);
    ABSL_ASSIGN_OR_RETURN(axis, ChannelAxis<typename Arguments::Dim>(sizes, given));
    ABSL_ASSIGN_OR_RETURN(scales, arguments.Tensor("scales", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(zero_points, needs_zero_points
                                           ? arguments.Tensor("zero_points", kRealTypes)
                                           : arguments.OptionalTensor("zero_points", kRealTypes));
    return absl::OkStatus();
  }
  absl::Status CheckShapes() const {
    using D = typename Arguments::Dim;
    const auto& sizes = Arguments::SizesOf(input);
    const auto& of_scales = Arguments::SizesOf(scales);
    ABSL_RETURN_IF_ERROR(CheckChannelParameter<D>("scales", of_scales, sizes, axis));
    if (zero_points == nullptr) return absl::OkStatus();
    const auto& of_zero_points = Arguments::SizesOf(zero_points);
    return CheckChannelParameter<D>("zero_points", of_zero_points, sizes, axis);
  }
};

// quantize_per_channel.
template <class Arguments>
struct QuantizePerChannelCall : ChannelParameters<Arguments> {
  QuantizedRange range;
  DType dtype = DType::kInt8;

  static absl::StatusOr<QuantizePerChannelCall> Read(const Arguments& arguments) {
    QuantizePerChannelCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kQuantizableTypes));
    ABSL_RETURN_IF_ERROR(call.ReadParameters(arguments, /*needs_zero_points=*/true));
    ABSL_ASSIGN_OR_RETURN(call.range, ReadRange(arguments));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.Dtype("dtype"));
    ABSL_RETURN_IF_ERROR(CheckQuantizedRange(call.dtype, call.range.low, call.range.high));
    return call;
  }
};

// dequantize_per_channel.
template <class Arguments>
struct DequantizePerChannelCall : ChannelParameters<Arguments> {
  DType dtype = DType::kFloat32;  // of the result

  static absl::StatusOr<DequantizePerChannelCall> Read(const Arguments& arguments) {
    DequantizePerChannelCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, ReadQuantizedInput(arguments));
    ABSL_RETURN_IF_ERROR(call.ReadParameters(arguments, /*needs_zero_points=*/false));
    ABSL_ASSIGN_OR_RETURN(const QuantizedRange range, ReadRange(arguments));
    ABSL_RETURN_IF_ERROR(CheckQuantizedRange(call.input->dtype, range.low, range.high));
    ABSL_ASSIGN_OR_RETURN(call.dtype, ReadFloatType(arguments, "out_dtype"));
    return call;
  }
};

// fake_quant_per_channel, float32 to float32.
template <class Arguments>
struct FakeQuantPerChannelCall : ChannelParameters<Arguments> {
  QuantizedRange range;

  static absl::StatusOr<FakeQuantPerChannelCall> Read(const Arguments& arguments) {
    FakeQuantPerChannelCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", DTypeSet{DType::kFloat32}));
    ABSL_RETURN_IF_ERROR(call.ReadParameters(arguments, /*needs_zero_points=*/true));
    ABSL_ASSIGN_OR_RETURN(call.range, ReadRange(arguments));
    return call;
  }
};

// ---- Per row ("token") and per group

// Scales and zero points of the rows of the input.
template <class Arguments>
struct TokenParameters {
  typename Arguments::TensorRef input, scales, zero_points;

  absl::Status ReadParameters(const Arguments& arguments) {
    ABSL_ASSIGN_OR_RETURN(scales, arguments.Tensor("scales", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(zero_points, arguments.Tensor("zero_points", kRealTypes));
    return absl::OkStatus();
  }
  // `exact`: requires one value per row.
  absl::Status CheckParameters(bool exact) const {
    ABSL_RETURN_IF_ERROR(CheckParameter("scales", scales, exact));
    return CheckParameter("zero_points", zero_points, exact);
  }

 private:
  absl::Status CheckParameter(std::string_view name, typename Arguments::TensorRef parameter,
                              bool exact) const {
    using D = typename Arguments::Dim;
    const auto& dims = Arguments::SizesOf(parameter);
    const auto& sizes = Arguments::SizesOf(input);
    ABSL_RETURN_IF_ERROR(CheckTokenParameter<D>(name, dims, sizes));
    const absl::Span<const D> whole = sizes;
    if (!exact || KnownInt(whole.back()) == 0) return absl::OkStatus();
    const D none(int64_t{0});
    // If one size is 0, the others may have any magnitude.
    const D rows = KnownEmpty<D>(whole) ? none : ProductOf<D>(whole.subspan(0, whole.size() - 1));
    const D numbers = KnownEmpty<D>(dims) ? none : ProductOf<D>(dims);
    if (!KnownDifferent(numbers, rows)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, ": shape ", FormatDims<D>(dims),
                                                   " does not have one number for each of ",
                                                   DimToString(rows), " rows"));
  }
};

// quantize_per_token.
template <class Arguments>
struct QuantizePerTokenCall : TokenParameters<Arguments> {
  QuantizedRange range;
  DType dtype = DType::kInt8;

  static absl::StatusOr<QuantizePerTokenCall> Read(const Arguments& arguments) {
    QuantizePerTokenCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloatTypes));
    ABSL_RETURN_IF_ERROR(call.ReadParameters(arguments));
    ABSL_ASSIGN_OR_RETURN(call.range, ReadRange(arguments));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.Dtype("dtype"));
    ABSL_RETURN_IF_ERROR(CheckQuantizedRange(call.dtype, call.range.low, call.range.high));
    return call;
  }
  absl::Status CheckShapes() const { return this->CheckParameters(/*exact=*/true); }
};

// dequantize_per_token. The range and the quantized dtype are ignored.
template <class Arguments>
struct DequantizePerTokenCall : TokenParameters<Arguments> {
  DType dtype = DType::kFloat32;  // of the result

  static absl::StatusOr<DequantizePerTokenCall> Read(const Arguments& arguments) {
    DequantizePerTokenCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kRealTypes));
    ABSL_RETURN_IF_ERROR(call.ReadParameters(arguments));
    ABSL_ASSIGN_OR_RETURN(call.dtype, ReadFloatType(arguments, "output_dtype"));
    return call;
  }
  absl::Status CheckShapes() const { return this->CheckParameters(/*exact=*/false); }
};

// Scales and zero points (null for none) of the groups of the rows of a matrix.
template <class Arguments>
struct GroupParameters {
  typename Arguments::TensorRef input, scales, zero_points;
  int64_t group_size = 0;

  absl::Status ReadParameters(const Arguments& arguments) {
    ABSL_ASSIGN_OR_RETURN(scales, arguments.Tensor("scales", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(zero_points, arguments.OptionalTensor("zero_points", kRealTypes));
    ABSL_ASSIGN_OR_RETURN(group_size, arguments.StaticInt("group_size"));
    return absl::OkStatus();
  }
  // Returns the number of groups per row. Also checks the shapes of the parameters.
  absl::StatusOr<typename Arguments::Dim> Groups() const {
    using D = typename Arguments::Dim;
    const auto& sizes = Arguments::SizesOf(input);
    const auto& of_scales = Arguments::SizesOf(scales);
    ABSL_ASSIGN_OR_RETURN(const D groups, GroupCount<D>(sizes, of_scales, group_size));
    ABSL_RETURN_IF_ERROR(CheckGroupParameter<D>("scales", of_scales, sizes[0], groups));
    if (zero_points != nullptr) {
      const auto& of_zero_points = Arguments::SizesOf(zero_points);
      ABSL_RETURN_IF_ERROR(CheckGroupParameter<D>("zero_points", of_zero_points, sizes[0], groups));
    }
    return groups;
  }
};

// quantize_per_channel_group.
template <class Arguments>
struct QuantizePerGroupCall : GroupParameters<Arguments> {
  QuantizedRange range;
  DType dtype = DType::kInt8;

  static absl::StatusOr<QuantizePerGroupCall> Read(const Arguments& arguments) {
    QuantizePerGroupCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloatTypes));
    ABSL_RETURN_IF_ERROR(arguments.Tensor("zero_points").status());
    ABSL_RETURN_IF_ERROR(call.ReadParameters(arguments));
    ABSL_ASSIGN_OR_RETURN(call.range, ReadRange(arguments));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.Dtype("dtype"));
    ABSL_RETURN_IF_ERROR(QuantizedBounds(call.dtype).status());
    return call;
  }
};

// dequantize_per_channel_group. The range and the quantized dtype are ignored.
template <class Arguments>
struct DequantizePerGroupCall : GroupParameters<Arguments> {
  DType dtype = DType::kFloat32;  // of the result

  static absl::StatusOr<DequantizePerGroupCall> Read(const Arguments& arguments) {
    DequantizePerGroupCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kRealTypes));
    ABSL_RETURN_IF_ERROR(call.ReadParameters(arguments));
    ABSL_ASSIGN_OR_RETURN(call.dtype, ReadFloatType(arguments, "output_dtype"));
    return call;
  }
};

// ---- Choice of parameters

// choose_qparams, choose_qparams_symmetric -> (scale, zero point), one element each.
template <class Arguments>
struct ChooseParametersCall {
  typename Arguments::TensorRef input;
  QuantizedRange range;
  double eps = 0;
  DType dtype = DType::kInt8;

  static absl::StatusOr<ChooseParametersCall> Read(const Arguments& arguments) {
    ChooseParametersCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kQuantizableTypes));
    ABSL_ASSIGN_OR_RETURN(call.range, ReadRange(arguments));
    ABSL_ASSIGN_OR_RETURN(call.eps, arguments.Double("eps"));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.Dtype("dtype"));
    ABSL_RETURN_IF_ERROR(CheckChosenRange(call.dtype, call.range.low, call.range.high));
    return call;
  }
  absl::Status CheckShapes() const {
    const auto& sizes = Arguments::SizesOf(input);
    if (!KnownEmpty<typename Arguments::Dim>(sizes)) return absl::OkStatus();
    return absl::InvalidArgumentError("input: expected elements, got none");
  }
};

// choose_qparams_per_token (symmetric, int8) and choose_qparams_per_token_asymmetric (parameters
// for int8 whatever the dtype) -> (scales, zero points), one per row.
template <class Arguments, bool kSymmetric>
struct ChoosePerTokenCall {
  typename Arguments::TensorRef input;

  static absl::StatusOr<ChoosePerTokenCall> Read(const Arguments& arguments) {
    ChoosePerTokenCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(const DType dtype, arguments.Dtype("dtype"));
    if (!kSymmetric || dtype == DType::kInt8) return call;
    return absl::InvalidArgumentError(absl::StrCat("dtype: expected int8, got ", DTypeName(dtype)));
  }
  // Shape of both results.
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    const auto& sizes = Arguments::SizesOf(input);
    return TokenShape<typename Arguments::Dim>(sizes);
  }
};

// ---- Other operators

// convert_element_type.
template <class Arguments>
struct ConvertElementTypeCall {
  typename Arguments::TensorRef input;
  DType dtype = DType::kFloat32;  // of the result

  static absl::StatusOr<ConvertElementTypeCall> Read(const Arguments& arguments) {
    ConvertElementTypeCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input"));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.Dtype("dtype"));
    return call;
  }
};

// add: a scale, a zero point and a range for each of a, b and the result. Only the out variant has
// `out`.
template <class Arguments>
struct QuantizedAddCall {
  typename Arguments::TensorRef input, b;
  typename Arguments::TensorRef out = nullptr;  // null for none
  MutableArgument target;                       // `out`, to write to
  double scale[3] = {};
  int64_t zero_point[3] = {};
  QuantizedRange range[3];

  static absl::StatusOr<QuantizedAddCall> Read(const Arguments& arguments) {
    QuantizedAddCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("a", kQuantizedTypes));
    const DType dtype = call.input->dtype;
    ABSL_ASSIGN_OR_RETURN(call.b, arguments.Tensor("b", DTypeSet{dtype}));
    constexpr std::string_view kNames[3][4] = {
        {"a_scale", "a_zero_point", "a_quant_min", "a_quant_max"},
        {"b_scale", "b_zero_point", "b_quant_min", "b_quant_max"},
        {"out_scale", "out_zero_point", "out_quant_min", "out_quant_max"}};
    for (int i = 0; i < 3; ++i) {
      ABSL_ASSIGN_OR_RETURN(call.scale[i], arguments.Double(kNames[i][0]));
      ABSL_ASSIGN_OR_RETURN(call.zero_point[i], arguments.StaticInt(kNames[i][1]));
      ABSL_ASSIGN_OR_RETURN(call.range[i], ReadRange(arguments, kNames[i][2], kNames[i][3]));
      ABSL_RETURN_IF_ERROR(CheckQuantizedRange(dtype, call.range[i].low, call.range[i].high));
    }
    if (arguments.Has("out")) {
      ABSL_ASSIGN_OR_RETURN(call.out, arguments.Tensor("out", DTypeSet{dtype}));
      ABSL_ASSIGN_OR_RETURN(call.target, arguments.Mutable("out"));
    }
    return call;
  }
  absl::Status CheckShapes() const {
    using D = typename Arguments::Dim;
    const auto& sizes = Arguments::SizesOf(input);
    const auto& other = Arguments::SizesOf(b);
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("b", other, sizes));
    if (out == nullptr) return absl::OkStatus();
    const auto& of_out = Arguments::SizesOf(out);
    return CheckSameShape<D>("out", of_out, sizes);
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_QUANTIZATION_H_
