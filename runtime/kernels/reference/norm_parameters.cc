#include "runtime/kernels/reference/norm_parameters.h"

#include <optional>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/norm.h"
#include "runtime/kernels/reference/operands.h"

namespace belay {

absl::StatusOr<DType> ParameterDtype(const KernelContext& context, DType input,
                                     std::initializer_list<int> parameters) {
  std::optional<DType> dtype;
  for (int i : parameters) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* parameter,
                          OptionalTensorOf(context, i, "parameter", kFloatTypes));
    if (parameter == nullptr) continue;
    const bool mixed = parameter->dtype == DType::kFloat32 && DTypeSize(input) == 2;
    if ((parameter->dtype != input && !mixed) ||
        (dtype.has_value() && *dtype != parameter->dtype)) {
      return absl::InvalidArgumentError(absl::StrCat("argument ", i, ": expected ",
                                                     DTypeName(dtype.value_or(input)), ", got ",
                                                     DTypeName(parameter->dtype)));
    }
    dtype = parameter->dtype;
  }
  return dtype.value_or(input);
}

absl::StatusOr<const TensorView*> ChannelVector(const KernelContext& context, int i,
                                                std::string_view name, int64_t channels) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* t, OptionalTensorOf(context, i, name, kFloatTypes));
  if (t != nullptr) {
    ABSL_RETURN_IF_ERROR(CheckChannelVector<CheckedInt>(name, ToDims(t->sizes), channels));
  }
  return t;
}

absl::StatusOr<const TensorView*> LayerParameter(const KernelContext& context, int i,
                                                 std::string_view name, const Sizes& normalized) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* t, OptionalTensorOf(context, i, name, kFloatTypes));
  if (t != nullptr) {
    ABSL_RETURN_IF_ERROR(CheckSameShape<CheckedInt>(name, ToDims(t->sizes), ToDims(normalized)));
  }
  return t;
}

}  // namespace belay
