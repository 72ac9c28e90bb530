#include "runtime/core/annotate.h"

#include "absl/strings/cord.h"
#include "runtime/core/str_cat.h"

namespace belay {

absl::Status Annotate(const absl::Status& status, std::string_view what) {
  return WithMessage(status, absl::StrCat(what, ": ", FromAbsl(status.message())));
}

absl::Status WithMessage(const absl::Status& status, std::string_view message) {
  if (status.ok()) return status;
  absl::Status result(status.code(), absl::string_view(message.data(), message.size()));
  status.ForEachPayload(
      [&](absl::string_view type, const absl::Cord& payload) { result.SetPayload(type, payload); });
  return result;
}

}  // namespace belay
