// The call of dynamic_quantized_linear: linear with an input that is quantized at run time and a
// weight of 8 or 4 bits.
//
// With input [..., k] of int8 or uint8 and a weight [k, out_features] in groups of rows,
//
//   y = input_scale * (sum over groups g of scales[g] *
//                      (sum over rows p of g of (input[p] - input_zero) * weight[p]))
//
// The result is linear's epilogue (calls.h) applied to y. input_scales and input_zeros have sizes
// [..., 1], or one element for the whole input. Weights, scales and the weight sums of each group,
// `weight_sums`, are packed (runtime/kernels/packed/weight_only_weights.h). Scales that bfloat16
// represents may have that type. A group has at most kMaxTerms rows.
//
// A float32 input has neither input_scales nor input_zeros: its rows are quantized to int8 as
// choose_qparams_per_token_asymmetric and quantize_per_token do.
//
// Zero points outside the range of the input's type are kInvalidArgument at run time. A row whose
// scale is not finite is NaN.
// Source: docs/performance.md §2.5.
#ifndef BELAY_BACKENDS_CPU_DYNAMIC_CALLS_H_
#define BELAY_BACKENDS_CPU_DYNAMIC_CALLS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/quantized_calls.h"
#include "backends/cpu/weight_only_calls.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay::cpu {

static_assert(kMaxTerms == kDynamicTerms);

template <class Arguments>
struct DynamicQuantizedLinearCall {
  using D = typename Arguments::Dim;
  // input_scales and input_zeros are null if the input is float32.
  typename Arguments::TensorRef input, input_scales, input_zeros, weight, scales, weight_sums;
  int64_t out_features = 0;
  const WeightFormatRow* format = nullptr;  // of int8 or int4
  int64_t group = 0;
  EpilogueCall<Arguments> epilogue;

  static absl::StatusOr<DynamicQuantizedLinearCall> Read(const Arguments& arguments) {
    DynamicQuantizedLinearCall call;
    ABSL_ASSIGN_OR_RETURN(call.format, ReadWeightFormat(arguments));
    if (call.format->format == WeightFormat::kBFloat16) {
      return absl::InvalidArgumentError("format: expected 'int8' or 'int4', got 'bf16'");
    }
    ABSL_ASSIGN_OR_RETURN(
        call.input, arguments.Tensor("input", {DType::kInt8, DType::kUint8, DType::kFloat32}));
    ABSL_ASSIGN_OR_RETURN(
        call.input_scales,
        arguments.OptionalTensor("input_scales", {DType::kFloat32, DType::kFloat64}));
    ABSL_ASSIGN_OR_RETURN(
        call.input_zeros,
        arguments.OptionalTensor("input_zeros", {DType::kInt8, DType::kInt32, DType::kInt64}));
    for (const auto& [name, given] : {std::pair("input_scales", call.input_scales != nullptr),
                                      std::pair("input_zeros", call.input_zeros != nullptr)}) {
      if (given != call.Quantizes()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": expected a tensor for an input of integers, and none for one of floats"));
    }
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", {call.format->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.scales,
                          arguments.Tensor("scales", {DType::kFloat32, DType::kBFloat16}));
    ABSL_ASSIGN_OR_RETURN(call.weight_sums, arguments.Tensor("weight_sums", {DType::kInt32}));
    ABSL_ASSIGN_OR_RETURN(call.out_features, ReadFeatures(arguments, "out_features"));
    ABSL_ASSIGN_OR_RETURN(call.group, arguments.StaticInt("group"));
    ABSL_RETURN_IF_ERROR(ExpectAtLeast("group", {&call.group, 1}, 1));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, EpilogueCall<Arguments>::Read(arguments));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    Dims<D> shape = Dims<D>(Arguments::SizesOf(input));
    ABSL_ASSIGN_OR_RETURN(const int64_t k, FeaturesOf<D>(shape));
    ABSL_RETURN_IF_ERROR(CheckTerms(std::min(k, group)));
    std::optional<int64_t> weights = PackedDynamicSize(format->format, k, out_features);
    if (weights.has_value()) *weights /= static_cast<int64_t>(DTypeSize(format->dtype));
    ABSL_RETURN_IF_ERROR(CheckPackedSize<D>(Arguments::SizesOf(weight), weights));
    ABSL_RETURN_IF_ERROR(CheckGroup(group, k));
    const std::optional<int64_t> packed = PackedScalesSize(k, out_features, group);
    ABSL_RETURN_IF_ERROR(CheckPackedSize<D>(Arguments::SizesOf(scales), packed, "scales"));
    ABSL_RETURN_IF_ERROR(
        CheckPackedSize<D>(Arguments::SizesOf(weight_sums), packed, "weight_sums"));
    if (!Quantizes()) {
      shape[shape.size() - 1] = D(int64_t{1});
      ABSL_RETURN_IF_ERROR(CheckPerRow("input_scales", Arguments::SizesOf(input_scales), shape));
      ABSL_RETURN_IF_ERROR(CheckPerRow("input_zeros", Arguments::SizesOf(input_zeros), shape));
    }
    shape[shape.size() - 1] = D(out_features);
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(shape, static_cast<int>(shape.size()) - 1));
    return shape;
  }
  // Whether the call quantizes its input.
  bool Quantizes() const { return input->dtype == DType::kFloat32; }
  // Whether these sizes describe a single element, used for all rows.
  static bool IsOne(absl::Span<const D> sizes) {
    return std::all_of(sizes.begin(), sizes.end(),
                       [](const D& size) { return KnownInt(size) == int64_t{1}; });
  }

 private:
  static absl::Status CheckPerRow(std::string_view name, absl::Span<const D> sizes,
                                  absl::Span<const D> rows) {
    return IsOne(sizes) ? absl::OkStatus() : CheckSameShape<D>(name, sizes, rows);
  }
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_DYNAMIC_CALLS_H_
