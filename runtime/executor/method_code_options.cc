#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/backend/backend_options.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method_code.h"
#include "runtime/program/metadata_path.h"

namespace belay {

absl::StatusOr<const MethodCode::Record*> MethodCode::FindDelegate(std::string_view backend) const {
  std::set<std::string> used;
  for (const Record& record : records_) {
    if (record.kind != Record::Kind::kDelegate) continue;
    if (record.backend->id() == backend) return &record;
    used.emplace(record.backend->id());
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "method ", Quoted(plan_->name), " has no delegate of the backend ", Quoted(backend),
      "; it has delegates of ", used.empty() ? "none" : absl::StrJoin(used, ", ")));
}

absl::StatusOr<OptionValue> MethodCode::GetOption(std::string_view backend,
                                                  std::string_view name) const {
  ABSL_ASSIGN_OR_RETURN(const Record* record, FindDelegate(backend));
  ABSL_RETURN_IF_ERROR(FindOption(backend, record->backend->options(), name).status());
  return record->handle->GetOption(name);
}

absl::Status MethodCode::SetOption(std::string_view backend, std::string_view name,
                                   const OptionValue& value) {
  ABSL_ASSIGN_OR_RETURN(const Record* record, FindDelegate(backend));
  ABSL_ASSIGN_OR_RETURN(const BackendOption* option,
                        CheckOption(backend, record->backend->options(), name, value));
  if (!option->changeable) {
    return absl::FailedPreconditionError(
        absl::StrCat("option '", option->name, "' of backend '", backend,
                     "' can only be set when the method is loaded"));
  }
  for (size_t i = 0; i < handles_.size(); ++i) {
    if (plan_->delegates[i].backend_id == backend) handles_[i]->SetOption(name, value);
  }
  return absl::OkStatus();
}

}  // namespace belay
