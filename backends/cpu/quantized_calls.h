// Calls of the CPU backend's operators on quantized tensors (backends/cpu/calls.h).
//
// A quantization is a scale and a list [zero_point, quant_min, quant_max] with 0 <= quant_min <=
// zero_point <= quant_max <= 255. As in quantized_decomposed::quantize_per_tensor:
//
//   q = clamp(round(y / scale) + zero_point, quant_min, quant_max)    quantize
//   y = (q - zero_point) * scale                                      dequantize
//
// All quantized tensors are uint8. Inside a delegate, int8 values are stored plus 128, and so are
// their zero point and range. Weights are int8, packed
// (runtime/kernels/packed/quantized_weights.h), with zero point 0.
//
// quantized_linear and the quantized convolutions compute
//
//   y = clamp(activation(sum((input - input_zero_point) * weight) * scales + bias), low, high)
//
// Sums are exact integers. `weight_sums` are the sums of each channel's weights. `scales` are the
// input scale times the weight scales. With an `inner` quantization, y is quantized and dequantized
// again. With an `output` quantization the result is y quantized to uint8; else it is y in float32.
// A sum has at most kMaxTerms products.
//
// Source: docs/performance.md §2.5; runtime/kernels/packed/requantize.h.
#ifndef BELAY_BACKENDS_CPU_QUANTIZED_CALLS_H_
#define BELAY_BACKENDS_CPU_QUANTIZED_CALLS_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/calls.h"
#include "runtime/kernels/packed/quantized_weights.h"

namespace belay::cpu {

inline constexpr DTypeSet kBytes = {DType::kUint8};

// Maximum number of products (byte - zero point) * weight whose sum fits into int32.
inline constexpr int64_t kMaxTerms = int64_t{1} << 16;

struct Quantization {
  double scale = 1;
  int32_t zero_point = 0, quant_min = 0, quant_max = 255;

  // Factor for reals, rounded as in quantize_per_tensor.
  float inverse_scale() const { return static_cast<float>(1 / scale); }
};

// kInvalidArgument unless the scale and its inverse are positive, finite float32 values.
inline absl::Status CheckScale(std::string_view name, double scale) {
  const auto is_usual = [](double value) {
    return std::isfinite(static_cast<float>(value)) && static_cast<float>(value) > 0;
  };
  if (is_usual(scale) && is_usual(1 / scale)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected a positive float32 with an inverse, got ", scale));
}
// kInvalidArgument unless 0 <= zero_point <= 255.
inline absl::Status CheckZeroPoint(std::string_view name, int64_t zero_point) {
  if (zero_point >= 0 && zero_point <= 255) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected a number from 0 to 255, got ", zero_point));
}

template <class Arguments>
absl::StatusOr<Quantization> ReadQuantization(const Arguments& arguments,
                                              std::string_view scale_name,
                                              std::string_view range_name) {
  Quantization q;
  ABSL_ASSIGN_OR_RETURN(q.scale, arguments.Double(scale_name));
  ABSL_RETURN_IF_ERROR(CheckScale(scale_name, q.scale));
  ABSL_ASSIGN_OR_RETURN(const Sizes range, arguments.StaticIntList(range_name));
  if (range.size() != 3 || range[1] < 0 || range[1] > range[0] || range[0] > range[2] ||
      range[2] > 255) {
    return absl::InvalidArgumentError(absl::StrCat(range_name,
                                                   ": expected [zero_point, quant_min, quant_max] "
                                                   "with 0 <= quant_min <= zero_point <= quant_max "
                                                   "<= 255, got ",
                                                   FormatSizes(range)));
  }
  q.zero_point = static_cast<int32_t>(range[0]);
  q.quant_min = static_cast<int32_t>(range[1]);
  q.quant_max = static_cast<int32_t>(range[2]);
  return q;
}
// nullopt if the scale argument is None.
template <class Arguments>
absl::StatusOr<std::optional<Quantization>> ReadOptionalQuantization(const Arguments& arguments,
                                                                     std::string_view scale_name,
                                                                     std::string_view range_name) {
  if (arguments.IsNone(scale_name)) return std::optional<Quantization>();
  ABSL_ASSIGN_OR_RETURN(const Quantization q, ReadQuantization(arguments, scale_name, range_name));
  return std::optional<Quantization>(q);
}

// Reads scales, weight_sums, bias, input_zero_point, activation, low, high, inner and output.
template <class Arguments>
struct QuantizedEpilogueCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef scales, weight_sums, bias;  // the last null for none
  int32_t input_zero_point = 0;
  Activation activation = Activation::kNone;
  Bounds bounds;
  std::optional<Quantization> inner, output;

  static absl::StatusOr<QuantizedEpilogueCall> Read(const Arguments& arguments) {
    QuantizedEpilogueCall call;
    ABSL_ASSIGN_OR_RETURN(call.scales, arguments.Tensor("scales", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.weight_sums, arguments.Tensor("weight_sums", {DType::kInt32}));
    ABSL_ASSIGN_OR_RETURN(call.bias, arguments.OptionalTensor("bias", kFloat));
    ABSL_ASSIGN_OR_RETURN(const int64_t zero_point, arguments.StaticInt("input_zero_point"));
    ABSL_RETURN_IF_ERROR(CheckZeroPoint("input_zero_point", zero_point));
    call.input_zero_point = static_cast<int32_t>(zero_point);
    ABSL_ASSIGN_OR_RETURN(call.activation, ReadActivation(arguments));
    ABSL_ASSIGN_OR_RETURN(call.bounds, ReadBounds(arguments));
    ABSL_ASSIGN_OR_RETURN(call.inner,
                          ReadOptionalQuantization(arguments, "inner_scale", "inner_range"));
    ABSL_ASSIGN_OR_RETURN(call.output,
                          ReadOptionalQuantization(arguments, "output_scale", "output_range"));
    return call;
  }
  absl::Status CheckShapes(const D& channels) const {
    ABSL_RETURN_IF_ERROR(CheckPerChannel<D>("scales", Arguments::SizesOf(scales), channels));
    ABSL_RETURN_IF_ERROR(
        CheckPerChannel<D>("weight_sums", Arguments::SizesOf(weight_sums), channels));
    if (bias == nullptr) return absl::OkStatus();
    return CheckPerChannel<D>("bias", Arguments::SizesOf(bias), channels);
  }
  DType ResultType() const { return output.has_value() ? DType::kUint8 : DType::kFloat32; }
};

// kInvalidArgument if a sum has more than kMaxTerms products.
inline absl::Status CheckTerms(CheckedInt terms) {
  if (terms.ok() && terms.value() <= kMaxTerms) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("weight: expected at most ", kMaxTerms,
                                                 " products in a sum, got ", DimToString(terms)));
}

// belay_cpu::quantized_linear: input [..., k], weight packed from [k, out_features] -> [...,
// out_features].
template <class Arguments>
struct QuantizedLinearCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input, weight;
  int64_t out_features = 0;
  QuantizedEpilogueCall<Arguments> epilogue;

  static absl::StatusOr<QuantizedLinearCall> Read(const Arguments& arguments) {
    QuantizedLinearCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kBytes));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", {DType::kInt8}));
    ABSL_ASSIGN_OR_RETURN(call.out_features, ReadFeatures(arguments, "out_features"));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, QuantizedEpilogueCall<Arguments>::Read(arguments));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    Dims<D> shape = Dims<D>(Arguments::SizesOf(input));
    ABSL_ASSIGN_OR_RETURN(const int64_t k, FeaturesOf<D>(shape));
    ABSL_RETURN_IF_ERROR(CheckTerms(k));
    ABSL_RETURN_IF_ERROR(CheckPackedSize<D>(Arguments::SizesOf(weight),
                                            PackedQuantizedMatrixSize(1, k, out_features)));
    shape[shape.size() - 1] = D(out_features);
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(D(out_features)));
    return shape;
  }
};

// The taps for which the weight of quantized_conv2d is packed.
inline TapSizes PackedTaps(int64_t channels, const Window& window) {
  return channels < kFewChannels ? FewChannelTaps(channels, window)
                                 : TapSizes{window.taps(), channels};
}

// belay_cpu::quantized_conv2d (kDepthwise false) and quantized_depthwise_conv2d: like conv2d and
// depthwise_conv2d, padded with the input's zero point. The weight is packed for PackedTaps. Images
// with kFewChannels channels or more must be channels last.
template <class Arguments, bool kDepthwise>
struct QuantizedConv2dCall : Conv2dOperands<Arguments, kDepthwise> {
  using D = typename Arguments::Dim;
  QuantizedEpilogueCall<Arguments> epilogue;

  static absl::StatusOr<QuantizedConv2dCall> Read(const Arguments& arguments) {
    QuantizedConv2dCall call;
    ABSL_RETURN_IF_ERROR(call.ReadOperands(arguments, kBytes, {DType::kInt8}));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, QuantizedEpilogueCall<Arguments>::Read(arguments));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    ABSL_ASSIGN_OR_RETURN(const int64_t channels, this->Channels());
    const CheckedInt taps = CheckedInt(this->window.taps());
    ABSL_RETURN_IF_ERROR(CheckTerms(kDepthwise ? taps : taps * CheckedInt(channels)));
    ABSL_ASSIGN_OR_RETURN(const Dims<D> out, this->ShapeFor(PackedSize(channels)));
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(out[1]));
    return out;
  }
  // Precondition: CheckTerms.
  std::optional<int64_t> PackedSize(int64_t channels) const {
    const Window& w = this->window;
    if (kDepthwise) {
      return PackedQuantizedDepthwiseSize(channels, w.kernel_size[0], w.kernel_size[1]);
    }
    const TapSizes taps = PackedTaps(channels, w);
    return PackedQuantizedMatrixSize(taps.count, taps.size, this->out_channels);
  }
};

// belay_cpu::quantized_grouped_conv2d: quantized_conv2d whose channels and filters are divided into
// `groups`. The weight is packed by PackQuantizedGroups, and a result sums over all channels of the
// groups that are joined there. Images are channels last, of kFewChannels channels or more.
template <class Arguments>
struct QuantizedGroupedConv2dCall : QuantizedConv2dCall<Arguments, false> {
  using D = typename Arguments::Dim;
  using Plain = QuantizedConv2dCall<Arguments, false>;
  int64_t groups = 1;

  static absl::StatusOr<QuantizedGroupedConv2dCall> Read(const Arguments& arguments) {
    ABSL_ASSIGN_OR_RETURN(const Plain plain, Plain::Read(arguments));
    QuantizedGroupedConv2dCall call;
    static_cast<Plain&>(call) = plain;
    ABSL_ASSIGN_OR_RETURN(call.groups, ReadFeatures(arguments, "groups"));
    if (call.out_channels % call.groups == 0) return call;
    return absl::InvalidArgumentError(absl::StrCat("groups: expected a divisor of out_channels ",
                                                   call.out_channels, ", got ", call.groups));
  }
  absl::StatusOr<Dims<D>> Shape() const {
    ABSL_ASSIGN_OR_RETURN(const int64_t channels, this->Channels());
    if (channels < kFewChannels || channels % groups != 0) {
      return absl::InvalidArgumentError(absl::StrCat("input: expected at least ", kFewChannels,
                                                     " channels, a multiple of ", groups, ", got ",
                                                     channels));
    }
    const CheckedInt taps = CheckedInt(this->window.taps());
    ABSL_RETURN_IF_ERROR(CheckTerms(taps * CheckedInt(channels / matrices())));
    ABSL_ASSIGN_OR_RETURN(const Dims<D> out, this->ShapeFor(PackedQuantizedGroupsSize(
                                                 this->window.taps(), groups, channels / groups,
                                                 this->out_channels / groups)));
    ABSL_RETURN_IF_ERROR(this->epilogue.CheckShapes(out[1]));
    return out;
  }
  // The number of packed matrices.
  int64_t matrices() const {
    return groups / QuantizedJoinedGroups(groups, this->out_channels / groups);
  }
};

// belay_cpu::quantized_add: quantize(dequantize(a) + dequantize(b)), a and b of one shape. All
// three tensors are dense: rank 4 channels last, other ranks row-major.
template <class Arguments>
struct QuantizedAddCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef a, b;
  double a_scale = 1, b_scale = 1;
  int32_t a_zero_point = 0, b_zero_point = 0;
  Quantization output;

  static absl::StatusOr<QuantizedAddCall> Read(const Arguments& arguments) {
    QuantizedAddCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("a", kBytes));
    ABSL_ASSIGN_OR_RETURN(call.b, arguments.Tensor("b", kBytes));
    ABSL_ASSIGN_OR_RETURN(call.a_scale, arguments.Double("a_scale"));
    ABSL_RETURN_IF_ERROR(CheckScale("a_scale", call.a_scale));
    ABSL_ASSIGN_OR_RETURN(call.b_scale, arguments.Double("b_scale"));
    ABSL_RETURN_IF_ERROR(CheckScale("b_scale", call.b_scale));
    ABSL_ASSIGN_OR_RETURN(const int64_t a_zero_point, arguments.StaticInt("a_zero_point"));
    ABSL_RETURN_IF_ERROR(CheckZeroPoint("a_zero_point", a_zero_point));
    ABSL_ASSIGN_OR_RETURN(const int64_t b_zero_point, arguments.StaticInt("b_zero_point"));
    ABSL_RETURN_IF_ERROR(CheckZeroPoint("b_zero_point", b_zero_point));
    call.a_zero_point = static_cast<int32_t>(a_zero_point);
    call.b_zero_point = static_cast<int32_t>(b_zero_point);
    ABSL_ASSIGN_OR_RETURN(call.output, ReadQuantization(arguments, "output_scale", "output_range"));
    return call;
  }
  absl::Status CheckShapes() const {
    return CheckSameShape<D>("b", Arguments::SizesOf(b), Arguments::SizesOf(a));
  }
};

// belay_cpu::lookup: result[i] = table[input[i]], with a table of 256 bytes. The input is dense,
// and the result has its layout.
template <class Arguments>
struct LookupCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input, table;

  static absl::StatusOr<LookupCall> Read(const Arguments& arguments) {
    LookupCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kBytes));
    ABSL_ASSIGN_OR_RETURN(call.table, arguments.Tensor("table", kBytes));
    return call;
  }
  absl::Status CheckShapes() const {
    return CheckPerChannel<D>("table", Arguments::SizesOf(table), D(int64_t{256}));
  }
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_QUANTIZED_CALLS_H_
