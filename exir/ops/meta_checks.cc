#include "exir/ops/meta_checks.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/type_promotion.h"

namespace belay::exir {

absl::StatusOr<const TensorMeta*> TensorOf(const MetaContext& context, int i, DTypeSet allowed) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* tensor, context.Tensor(i));
  if (allowed.contains(tensor->dtype)) return tensor;
  return absl::InvalidArgumentError(absl::StrCat(context.schema().arguments[i].name,
                                                 ": expected one of ", FormatDTypeSet(allowed),
                                                 ", got ", DTypeName(tensor->dtype)));
}

// `n` is the number of outputs of an operator, so it is below 32.
absl::StatusOr<uint32_t> BoolMask(const MetaContext& context, int i, int n) {
  const MetaList* list = context.argument(i).get_if<MetaList>();
  if (list == nullptr || static_cast<int>(list->size()) != n) {
    return absl::InvalidArgumentError(
        absl::StrCat(context.schema().arguments[i].name, ": expected a list of ", n, " bools"));
  }
  uint32_t mask = 0;
  for (int k = 0; k < n; ++k) {
    const MetaValue& element = (*list)[k];
    std::optional<bool> bit;
    if (const bool* b = element.get_if<bool>()) bit = *b;
    if (const SymExpr* e = element.get_if<SymExpr>()) bit = e->AsBool();
    if (!bit.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(context.schema().arguments[i].name, ": element ", k, " is no bool"));
    }
    if (*bit) mask |= uint32_t{1} << k;
  }
  return mask;
}

}  // namespace belay::exir
