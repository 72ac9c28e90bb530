// Shape rules of normalizations.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_NORM_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_NORM_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/same_shape.h"

namespace belay {

// Checks a parameter that has one element per channel.
template <class D>
absl::Status CheckChannelVector(std::string_view name, absl::Span<const D> dims,
                                const D& channels) {
  if (dims.size() == 1 && !KnownDifferent(dims[0], channels)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": expected shape [", DimToString(channels),
                                                 "], got ", FormatDims<D>(dims)));
}

// Batch norm's input: [n,c,…].
template <class D>
absl::Status CheckBatchNormInput(absl::Span<const D> input) {
  if (input.size() >= 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input: expected at least two dimensions, got shape ", FormatDims<D>(input)));
}

// Checks that statistics are computed over at least one element.
template <class D>
absl::Status CheckHasElements(absl::Span<const D> input) {
  for (const D& size : input) {
    if (KnownInt(size) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input: shape ", FormatDims<D>(input), " has no elements"));
    }
  }
  return absl::OkStatus();
}

// The trailing dimensions of `input` must equal `normalized`. Returns the shape of the statistics:
// the leading dimensions, followed by ones.
template <class D>
absl::StatusOr<Dims<D>> LayerNormStatsShape(absl::Span<const D> input,
                                            absl::Span<const D> normalized) {
  bool fits = !normalized.empty() && normalized.size() <= input.size();
  const size_t leading = fits ? input.size() - normalized.size() : 0;
  for (size_t i = 0; fits && i < normalized.size(); ++i) {
    fits = !KnownDifferent(input[leading + i], normalized[i]);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("normalized_shape: ", FormatDims<D>(normalized),
                                                   " is not the end of the input's shape ",
                                                   FormatDims<D>(input)));
  }
  Dims<D> out;
  for (size_t i = 0; i < input.size(); ++i) out.push_back(i < leading ? input[i] : D(int64_t{1}));
  return out;
}

// Input [n,c,…]; n, c and the product of the other sizes are also passed explicitly. Returns the
// shape [n,group] of the statistics.
template <class D>
absl::StatusOr<Dims<D>> GroupNormStatsShape(absl::Span<const D> input, const D& n, const D& c,
                                            const D& hxw, int64_t group) {
  if (group < 1) {
    return absl::InvalidArgumentError(absl::StrCat("group: expected at least 1, got ", group));
  }
  const std::optional<int64_t> channels = KnownInt(c);
  if (channels.has_value() && *channels % group != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("group: ", *channels, " channels do not divide into ", group, " groups"));
  }
  if (input.size() < 2 || KnownDifferent(input[0], n) || KnownDifferent(input[1], c) ||
      KnownDifferent(ProductOf<D>(input.subspan(2)), hxw)) {
    return absl::InvalidArgumentError(absl::StrCat("input: shape ", FormatDims<D>(input),
                                                   " is not that of N ", DimToString(n), ", C ",
                                                   DimToString(c), ", HxW ", DimToString(hxw)));
  }
  Dims<D> out;
  out.push_back(n);
  out.push_back(D(group));
  return out;
}

// Returns the dtype of parameters and statistics: that of the parameters that are present (not
// null), otherwise the input's. kInvalidArgument unless all have one dtype: the input's, or float32
// if the input is half precision.
template <class TensorRef>
absl::StatusOr<DType> NormParameterDtype(DType input, std::initializer_list<TensorRef> parameters) {
  std::optional<DType> dtype;
  for (TensorRef parameter : parameters) {
    if (parameter == nullptr) continue;
    const bool mixed = parameter->dtype == DType::kFloat32 && DTypeSize(input) == 2;
    if ((parameter->dtype != input && !mixed) ||
        (dtype.has_value() && *dtype != parameter->dtype)) {
      return absl::InvalidArgumentError(absl::StrCat("parameters: expected ",
                                                     DTypeName(dtype.value_or(input)), ", got ",
                                                     DTypeName(parameter->dtype)));
    }
    dtype = parameter->dtype;
  }
  return dtype.value_or(input);
}

// Checks that `parameter` is null or has this shape.
template <class Arguments>
absl::Status CheckNormParameter(std::string_view name, typename Arguments::TensorRef parameter,
                                absl::Span<const typename Arguments::Dim> shape) {
  if (parameter == nullptr) return absl::OkStatus();
  return CheckSameShape<typename Arguments::Dim>(name, Arguments::SizesOf(parameter), shape);
}
// Checks that `parameter` is null or has one element per channel.
template <class Arguments>
absl::Status CheckNormChannels(std::string_view name, typename Arguments::TensorRef parameter,
                               const typename Arguments::Dim& channels) {
  if (parameter == nullptr) return absl::OkStatus();
  return CheckChannelVector<typename Arguments::Dim>(name, Arguments::SizesOf(parameter), channels);
}

// native_layer_norm -> (out, mean, rstd).
template <class Arguments>
struct LayerNormCall {
  typename Arguments::TensorRef input, weight, bias;  // the last two null for none
  Dims<typename Arguments::Dim> normalized_shape;
  double eps = 0;
  DType parameter_dtype = DType::kFloat32;  // of mean and rstd

  static absl::StatusOr<LayerNormCall> Read(const Arguments& arguments) {
    LayerNormCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.normalized_shape, arguments.IntList("normalized_shape"));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.OptionalTensor("weight", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.bias, arguments.OptionalTensor("bias", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.eps, arguments.Double("eps"));
    ABSL_ASSIGN_OR_RETURN(call.parameter_dtype,
                          NormParameterDtype(call.input->dtype, {call.weight, call.bias}));
    return call;
  }
  // Returns the shape of the statistics; checks the parameters.
  absl::StatusOr<Dims<typename Arguments::Dim>> StatsShape() const {
    using D = typename Arguments::Dim;
    ABSL_ASSIGN_OR_RETURN(Dims<D> stats,
                          LayerNormStatsShape<D>(Arguments::SizesOf(input), normalized_shape));
    ABSL_RETURN_IF_ERROR(CheckNormParameter<Arguments>("weight", weight, normalized_shape));
    ABSL_RETURN_IF_ERROR(CheckNormParameter<Arguments>("bias", bias, normalized_shape));
    return stats;
  }
};

// native_group_norm -> (out, mean, rstd).
template <class Arguments>
struct GroupNormCall {
  typename Arguments::TensorRef input, weight, bias;  // the last two null for none
  typename Arguments::Dim n = 0, channels = 0, hxw = 0;
  int64_t groups = 0;
  double eps = 0;
  DType parameter_dtype = DType::kFloat32;  // of mean and rstd

  static absl::StatusOr<GroupNormCall> Read(const Arguments& arguments) {
    GroupNormCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.OptionalTensor("weight", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.bias, arguments.OptionalTensor("bias", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.n, arguments.Int("N"));
    ABSL_ASSIGN_OR_RETURN(call.channels, arguments.Int("C"));
    ABSL_ASSIGN_OR_RETURN(call.hxw, arguments.Int("HxW"));
    ABSL_ASSIGN_OR_RETURN(call.groups, arguments.StaticInt("group"));
    ABSL_ASSIGN_OR_RETURN(call.eps, arguments.Double("eps"));
    ABSL_ASSIGN_OR_RETURN(call.parameter_dtype,
                          NormParameterDtype(call.input->dtype, {call.weight, call.bias}));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> StatsShape() const {
    using D = typename Arguments::Dim;
    ABSL_ASSIGN_OR_RETURN(
        Dims<D> stats, GroupNormStatsShape<D>(Arguments::SizesOf(input), n, channels, hxw, groups));
    ABSL_RETURN_IF_ERROR(CheckNormChannels<Arguments>("weight", weight, channels));
    ABSL_RETURN_IF_ERROR(CheckNormChannels<Arguments>("bias", bias, channels));
    return stats;
  }
};

// _native_batch_norm_legit -> (out, save_mean, save_rstd). The no_training overload has no argument
// `training` (false). The no_stats overload has no running statistics and always trains.
template <class Arguments>
struct BatchNormCall {
  typename Arguments::TensorRef input, weight, bias;  // the last two null for none
  typename Arguments::TensorRef running_mean = nullptr, running_var = nullptr;  // null for none
  // The running statistics, if the call mutates them.
  MutableArgument new_mean, new_var;
  bool training = false;
  double momentum = 0, eps = 0;
  DType parameter_dtype = DType::kFloat32;  // of the saved statistics

  static absl::StatusOr<BatchNormCall> Read(const Arguments& arguments) {
    BatchNormCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.OptionalTensor("weight", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.bias, arguments.OptionalTensor("bias", kFloatTypes));
    if (arguments.Has("training")) {
      ABSL_ASSIGN_OR_RETURN(call.training, arguments.Bool("training"));
    }
    if (arguments.Has("running_mean")) {
      if (arguments.IsNone("running_mean") || arguments.IsNone("running_var")) {
        return absl::InvalidArgumentError("batch norm: the running statistics are missing");
      }
      ABSL_ASSIGN_OR_RETURN(call.running_mean, arguments.Tensor("running_mean", kFloatTypes));
      ABSL_ASSIGN_OR_RETURN(call.running_var, arguments.Tensor("running_var", kFloatTypes));
      ABSL_ASSIGN_OR_RETURN(call.new_mean, arguments.Mutable("running_mean"));
      ABSL_ASSIGN_OR_RETURN(call.new_var, arguments.Mutable("running_var"));
    } else if (!call.training) {
      return absl::InvalidArgumentError("training: batch norm without statistics expects true");
    }
    ABSL_ASSIGN_OR_RETURN(call.momentum, arguments.Double("momentum"));
    ABSL_ASSIGN_OR_RETURN(call.eps, arguments.Double("eps"));
    ABSL_ASSIGN_OR_RETURN(
        call.parameter_dtype,
        NormParameterDtype(call.input->dtype,
                           {call.weight, call.bias, call.running_mean, call.running_var}));
    return call;
  }
  absl::Status CheckShapes() const {
    using D = typename Arguments::Dim;
    const auto& sizes = Arguments::SizesOf(input);
    ABSL_RETURN_IF_ERROR(CheckBatchNormInput<D>(sizes));
    ABSL_RETURN_IF_ERROR(CheckNormChannels<Arguments>("weight", weight, sizes[1]));
    ABSL_RETURN_IF_ERROR(CheckNormChannels<Arguments>("bias", bias, sizes[1]));
    ABSL_RETURN_IF_ERROR(CheckNormChannels<Arguments>("running_mean", running_mean, sizes[1]));
    ABSL_RETURN_IF_ERROR(CheckNormChannels<Arguments>("running_var", running_var, sizes[1]));
    return training ? CheckHasElements<D>(sizes) : absl::OkStatus();
  }
};

// native_layer_norm_backward -> gradients of input, weight and bias, selected by `output_mask`.
template <class Arguments>
struct LayerNormBackwardCall {
  typename Arguments::TensorRef grad_out, input, mean, rstd, weight, bias;
  Dims<typename Arguments::Dim> normalized_shape;
  uint32_t output_mask = 0;
  DType parameter_dtype = DType::kFloat32;

  static absl::StatusOr<LayerNormBackwardCall> Read(const Arguments& arguments) {
    LayerNormBackwardCall call;
    ABSL_ASSIGN_OR_RETURN(call.grad_out, arguments.Tensor("grad_out", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", DTypeSet{call.grad_out->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.normalized_shape, arguments.IntList("normalized_shape"));
    ABSL_ASSIGN_OR_RETURN(call.mean, arguments.Tensor("mean", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.rstd, arguments.Tensor("rstd", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.OptionalTensor("weight", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.bias, arguments.OptionalTensor("bias", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.output_mask, arguments.BoolMask("output_mask", 3));
    ABSL_ASSIGN_OR_RETURN(call.parameter_dtype,
                          NormParameterDtype(call.input->dtype, {call.weight, call.bias}));
    return call;
  }
  absl::Status CheckShapes() const {
    using D = typename Arguments::Dim;
    const auto& sizes = Arguments::SizesOf(input);
    ABSL_ASSIGN_OR_RETURN(const Dims<D> stats, LayerNormStatsShape<D>(sizes, normalized_shape));
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("grad_out", Arguments::SizesOf(grad_out), sizes));
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("mean", Arguments::SizesOf(mean), stats));
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("rstd", Arguments::SizesOf(rstd), stats));
    ABSL_RETURN_IF_ERROR(CheckNormParameter<Arguments>("weight", weight, normalized_shape));
    return CheckNormParameter<Arguments>("bias", bias, normalized_shape);
  }
};

// native_group_norm_backward -> gradients of input, weight and bias, selected by `output_mask`.
template <class Arguments>
struct GroupNormBackwardCall {
  typename Arguments::TensorRef grad_out, input, mean, rstd, weight;
  typename Arguments::Dim n = 0, channels = 0, hxw = 0;
  int64_t groups = 0;
  uint32_t output_mask = 0;
  DType parameter_dtype = DType::kFloat32;

  static absl::StatusOr<GroupNormBackwardCall> Read(const Arguments& arguments) {
    GroupNormBackwardCall call;
    ABSL_ASSIGN_OR_RETURN(call.grad_out, arguments.Tensor("grad_out", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", DTypeSet{call.grad_out->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.mean, arguments.Tensor("mean", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.rstd, arguments.Tensor("rstd", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.OptionalTensor("weight", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.n, arguments.Int("N"));
    ABSL_ASSIGN_OR_RETURN(call.channels, arguments.Int("C"));
    ABSL_ASSIGN_OR_RETURN(call.hxw, arguments.Int("HxW"));
    ABSL_ASSIGN_OR_RETURN(call.groups, arguments.StaticInt("group"));
    ABSL_ASSIGN_OR_RETURN(call.output_mask, arguments.BoolMask("output_mask", 3));
    ABSL_ASSIGN_OR_RETURN(call.parameter_dtype,
                          NormParameterDtype(call.input->dtype, {call.weight}));
    return call;
  }
  absl::Status CheckShapes() const {
    using D = typename Arguments::Dim;
    const auto& sizes = Arguments::SizesOf(input);
    ABSL_ASSIGN_OR_RETURN(const Dims<D> stats,
                          GroupNormStatsShape<D>(sizes, n, channels, hxw, groups));
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("grad_out", Arguments::SizesOf(grad_out), sizes));
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("mean", Arguments::SizesOf(mean), stats));
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("rstd", Arguments::SizesOf(rstd), stats));
    return CheckNormChannels<Arguments>("weight", weight, channels);
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_NORM_H_
