#include "exir/ops/meta_args.h"

#include "absl/status/status.h"

namespace belay::exir {

absl::StatusOr<int> MetaArgs::ListSize(int i) const {
  if (const MetaList* list = context_.argument(i).get_if<MetaList>()) {
    return static_cast<int>(list->size());
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> lone, context_.IntList(i));
  return static_cast<int>(lone.size());
}

absl::StatusOr<SymInt> MetaArgs::ListInt(int i, int k) const {
  const MetaList* list = context_.argument(i).get_if<MetaList>();
  if (list == nullptr) return context_.Int(i);
  if (const SymExpr* element = (*list)[k].get_if<SymExpr>();
      element != nullptr && element->value_kind() == SymExpr::ValueKind::kInt) {
    return *element;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(context_.schema().arguments[i].name, ": element ", k, " is no int"));
}

}  // namespace belay::exir
