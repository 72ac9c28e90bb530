// The call of belay_cpu::conv2d_chain: consecutive convolutions whose intermediate results are
// never materialized as a whole.
//
//   input [n, c, h, w] -> stage 0 -> stage 1 -> … -> [n, channels, …], channels last
//
// A stage computes depthwise_conv2d, or conv2d with 1x1 windows, stride 1 and no padding
// (backends/cpu/calls.h), with its bias, activation and bounds. Only the last stage has `other`.
// Each stage has these elements in the lists of the call: out_channels 1 (0: depthwise),
// kernel_size 2, stride 2, padding 4 (top, left, bottom, right), dilation 2, low 1, high 1.
// `activations` are names separated by spaces.
//
// No stage has more rows or columns than its input. This bounds the work by the input: each input
// position is multiplied with each weight at most once.
#ifndef BELAY_BACKENDS_CPU_CHAIN_CALLS_H_
#define BELAY_BACKENDS_CPU_CHAIN_CALLS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/calls.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/tensor_list.h"

namespace belay::cpu {

inline constexpr int kMaxChainStages = 8;
// Minimum number of columns of each stage's result. GEMMs with fewer rows accumulate in another
// order (packed_gemm.h), so results would depend on how work is divided.
inline constexpr int64_t kLeastChainWidth = 4;

// Returns element k of a Tensor?[] at compile time; tensor_list.h has the overload for the runtime.
template <class Meta>
absl::StatusOr<const Meta*> OptionalListTensor(const std::vector<const Meta*>& list, int k) {
  return list[static_cast<size_t>(k)];
}

template <class Arguments>
struct ChainStage {
  typename Arguments::TensorRef weight = nullptr;
  int64_t out_channels = 0;  // 0: depthwise
  Window window;
  EpilogueCall<Arguments> epilogue;  // `other` of the last stage only

  bool depthwise() const { return out_channels == 0; }
  // Whether the stage is a depthwise convolution or a 1x1 window as described above.
  bool IsAllowed() const {
    constexpr std::array<int64_t, 2> kNone = {0, 0}, kOne = {1, 1};
    return depthwise() || (window.taps() == 1 && window.stride == kOne && window.padding == kNone &&
                           window.padding_after == kNone);
  }
};

template <class Arguments>
struct Conv2dChainCall {
  using D = typename Arguments::Dim;
  using Stage = ChainStage<Arguments>;
  typename Arguments::TensorRef input;
  int count = 0;
  std::array<Stage, kMaxChainStages> stages;

  static absl::StatusOr<Conv2dChainCall> Read(const Arguments& arguments);

  // Returns the result shape of stage k for images [n, c, h, w]. kInvalidArgument if the call
  // violates the limits above.
  absl::StatusOr<Dims<D>> StageShape(int k, const Dims<D>& images) const;
  absl::StatusOr<Dims<D>> Shape() const {
    Dims<D> shape = Dims<D>(Arguments::SizesOf(input));
    for (int k = 0; k < count; ++k) {
      ABSL_ASSIGN_OR_RETURN(shape, StageShape(k, shape));
    }
    return shape;
  }
};

// ---- Implementation

template <class Arguments>
absl::StatusOr<Conv2dChainCall<Arguments>> Conv2dChainCall<Arguments>::Read(
    const Arguments& arguments) {
  Conv2dChainCall call;
  ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloat));
  ABSL_ASSIGN_OR_RETURN(const auto weights, arguments.TensorList("weights"));
  ABSL_ASSIGN_OR_RETURN(const auto biases, arguments.OptionalTensorList("biases"));
  ABSL_ASSIGN_OR_RETURN(call.count, arguments.ListSize("weights"));
  if (call.count < 1 || call.count > kMaxChainStages) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights: expected 1 to ", kMaxChainStages, " stages, got ", call.count));
  }
  for (const auto& [name, each] :
       std::initializer_list<std::pair<std::string_view, int>>{{"biases", 1},
                                                               {"out_channels", 1},
                                                               {"kernel_size", 2},
                                                               {"stride", 2},
                                                               {"padding", 4},
                                                               {"dilation", 2},
                                                               {"low", 1},
                                                               {"high", 1}}) {
    ABSL_ASSIGN_OR_RETURN(const int length, arguments.ListSize(name));
    if (length == call.count * each) continue;
    return absl::InvalidArgumentError(absl::StrCat(name, ": expected ", call.count * each,
                                                   " elements for ", call.count, " stages, got ",
                                                   length));
  }
  // Bounds the values far from the limits of int64.
  const auto read = [&](std::string_view name, int k, int64_t least, int64_t& to) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const auto element, arguments.ListInt(name, k));
    const std::optional<int64_t> value = KnownInt(element);
    if (!value.has_value() || *value < least || *value > int64_t{1} << 24) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": expected ", least, " to 2^24 as element ", k, ", got ", DimToString(element)));
    }
    to = *value;
    return absl::OkStatus();
  };
  ABSL_ASSIGN_OR_RETURN(const auto names, arguments.String("activations"));
  std::string_view rest = names;
  for (int k = 0; k < call.count; ++k) {
    Stage& stage = call.stages[static_cast<size_t>(k)];
    ABSL_ASSIGN_OR_RETURN(stage.weight, OptionalListTensor(weights, k));
    EpilogueCall<Arguments>& epilogue = stage.epilogue;
    ABSL_ASSIGN_OR_RETURN(epilogue.bias, OptionalListTensor(biases, k));
    epilogue.other = nullptr;
    if (stage.weight == nullptr || stage.weight->dtype != DType::kFloat32 ||
        (epilogue.bias != nullptr && epilogue.bias->dtype != DType::kFloat32)) {
      return absl::InvalidArgumentError(
          absl::StrCat("stage ", k, ": expected weights and biases of f32"));
    }
    ABSL_RETURN_IF_ERROR(read("out_channels", k, 0, stage.out_channels));
    Window& window = stage.window;
    for (int d = 0; d < 2; ++d) {
      const auto s = static_cast<size_t>(d);
      ABSL_RETURN_IF_ERROR(read("kernel_size", 2 * k + d, 1, window.kernel_size[s]));
      ABSL_RETURN_IF_ERROR(read("stride", 2 * k + d, 1, window.stride[s]));
      ABSL_RETURN_IF_ERROR(read("dilation", 2 * k + d, 1, window.dilation[s]));
      ABSL_RETURN_IF_ERROR(read("padding", 4 * k + d, 0, window.padding[s]));
      ABSL_RETURN_IF_ERROR(read("padding", 4 * k + 2 + d, 0, window.padding_after[s]));
    }
    if (!stage.IsAllowed()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "stage ", k, ": expected a depthwise convolution or windows of one pixel, got ",
          stage.out_channels, " channels of windows of ", window.kernel_size[0], " by ",
          window.kernel_size[1]));
    }
    ABSL_ASSIGN_OR_RETURN(const double low, arguments.ListDouble("low", k));
    ABSL_ASSIGN_OR_RETURN(const double high, arguments.ListDouble("high", k));
    ABSL_ASSIGN_OR_RETURN(epilogue.bounds, Bounds::Of(low, high));
    const size_t end = rest.find(' ');
    const std::optional<Activation> activation = ActivationOf(rest.substr(0, end));
    const bool is_last = end == std::string_view::npos;
    if (!activation.has_value() || is_last != (k == call.count - 1)) {
      return absl::InvalidArgumentError(absl::StrCat("activations: expected ", call.count,
                                                     " names of ", ActivationNames(), ", got '",
                                                     names, "'"));
    }
    epilogue.activation = *activation;
    if (!is_last) rest.remove_prefix(end + 1);
  }
  EpilogueCall<Arguments>& last = call.stages[static_cast<size_t>(call.count - 1)].epilogue;
  ABSL_ASSIGN_OR_RETURN(last.other, arguments.OptionalTensor("other", kFloat));
  ABSL_ASSIGN_OR_RETURN(last.multiply, ReadMultiply(arguments));
  return call;
}

template <class Arguments>
absl::StatusOr<Dims<typename Arguments::Dim>> Conv2dChainCall<Arguments>::StageShape(
    int k, const Dims<D>& images) const {
  const Stage& stage = stages[static_cast<size_t>(k)];
  ABSL_ASSIGN_OR_RETURN(const int64_t channels, ChannelsOf<D>(images));
  ABSL_RETURN_IF_ERROR(
      CheckPackedSize<D>(Arguments::SizesOf(stage.weight),
                         PackedConvolutionSize(channels, stage.window.taps(), stage.out_channels)));
  ABSL_ASSIGN_OR_RETURN(Dims<D> out, PlacesOf<D>(stage.window, images));
  if (!stage.depthwise()) out[1] = D(stage.out_channels);
  for (int d : {2, 3}) {
    const std::optional<int64_t> before = KnownInt(images[d]), after = KnownInt(out[d]);
    const int64_t least = d == 3 ? kLeastChainWidth : 1;
    if (!before.has_value() || !after.has_value() || *after > *before || *after < least) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected images of known sizes that no stage makes larger, at least ", kLeastChainWidth,
          " wide, got ", FormatDims<D>(images), " and then ", FormatDims<D>(out)));
    }
  }
  ABSL_RETURN_IF_ERROR(stage.epilogue.CheckShapes(out, 1));
  return out;
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_CHAIN_CALLS_H_
