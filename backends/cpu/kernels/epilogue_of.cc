#include "backends/cpu/kernels/epilogue_of.h"

#include "absl/strings/str_cat.h"
#include "runtime/core/element.h"
#include "runtime/core/sizes.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/element_copy/channels_last.h"

namespace belay::cpu {

absl::Status ExpectContiguous(std::string_view name, const TensorView& tensor) {
  if (tensor.is_contiguous()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected a contiguous tensor, got ", tensor.ToString()));
}

absl::Status ExpectChannelsLast(std::string_view name, const TensorView& tensor) {
  const bool images = tensor.rank() == 4 || tensor.rank() == 5;
  if (images && HasStrides(tensor, DenseStrides(tensor.sizes, ChannelsLastOrder(tensor.rank())))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected dense images, channels last, got ", tensor.ToString()));
}

template <class T>
absl::StatusOr<EpilogueOn<T>> EpilogueOf(const EpilogueCall<KernelArguments>& call,
                                         const TensorView& out) {
  EpilogueOn<T> epilogue = {.multiply = call.multiply,
                            .activation = call.activation,
                            .low = call.bounds.low,
                            .high = call.bounds.high};
  if (call.bias != nullptr) {
    ABSL_RETURN_IF_ERROR(ExpectContiguous("bias", *call.bias));
    epilogue.bias = call.bias->as<const float>();
  }
  if (call.other != nullptr) {
    if (!HasStrides(*call.other, out.strides)) {
      return absl::InvalidArgumentError(absl::StrCat("other: expected the layout of the result, ",
                                                     out.ToString(), ", got ",
                                                     call.other->ToString()));
    }
    epilogue.other = call.other->as<const T>();
  }
  return epilogue;
}
template absl::StatusOr<EpilogueF32> EpilogueOf<float>(const EpilogueCall<KernelArguments>&,
                                                       const TensorView&);
template absl::StatusOr<EpilogueOn<BFloat16>> EpilogueOf<BFloat16>(
    const EpilogueCall<KernelArguments>&, const TensorView&);

absl::StatusOr<QuantizedEpilogue> EpilogueOf(const QuantizedEpilogueCall<KernelArguments>& call) {
  QuantizedEpilogue epilogue = {.input_zero_point = call.input_zero_point,
                                .activation = call.activation,
                                .low = call.bounds.low,
                                .high = call.bounds.high};
  ABSL_RETURN_IF_ERROR(ExpectContiguous("scales", *call.scales));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight_sums", *call.weight_sums));
  epilogue.scale = call.scales->as<const float>();
  epilogue.weight_sums = call.weight_sums->as<const int32_t>();
  if (call.bias != nullptr) {
    ABSL_RETURN_IF_ERROR(ExpectContiguous("bias", *call.bias));
    epilogue.bias = call.bias->as<const float>();
  }
  if (call.inner.has_value()) {
    epilogue.rounds = true;
    epilogue.inner_inverse_scale = call.inner->inverse_scale();
    epilogue.inner_scale = static_cast<float>(call.inner->scale);
    epilogue.inner_zero_point = call.inner->zero_point;
    epilogue.inner_quant_min = call.inner->quant_min;
    epilogue.inner_quant_max = call.inner->quant_max;
  }
  if (call.output.has_value()) {
    epilogue.quantizes = true;
    epilogue.inverse_scale = call.output->inverse_scale();
    epilogue.zero_point = call.output->zero_point;
    epilogue.quant_min = call.output->quant_min;
    epilogue.quant_max = call.output->quant_max;
  }
  return epilogue;
}

}  // namespace belay::cpu
