#include "backends/cpu/kernels/epilogue_of.h"

#include "absl/strings/str_cat.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/elements/channels_last.h"

namespace belay::cpu {
absl::Status ExpectContiguous(std::string_view name, const TensorView& tensor) {
  if (tensor.is_contiguous()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected a contiguous tensor, got ", tensor.ToString()));
}

absl::StatusOr<EpilogueF32> EpilogueOf(const EpilogueCall<KernelArguments>& call,
                                       const TensorView& out) {
  EpilogueF32 epilogue = {
      .multiply = call.multiply, .activation = call.activation, .low = call.low, .high = call.high};
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
    epilogue.other = call.other->as<const float>();
  }
  return epilogue;
}

}  // namespace belay::cpu
