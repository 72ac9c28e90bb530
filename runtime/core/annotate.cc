#include "runtime/core/annotate.h"

#include "runtime/core/str_cat.h"

namespace belay {

absl::Status Annotate(const absl::Status& status, std::string_view what) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(what, ": ", FromAbsl(status.message())));
}

}  // namespace belay
