#include "runtime/core/memory_budget.h"

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay {

absl::Status MemoryBudget::Take(uint64_t bytes, std::string_view what) {
  if (bytes <= left()) {
    if (whole_ != nullptr) ABSL_RETURN_IF_ERROR(whole_->Take(bytes, what));
    taken_ += bytes;
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(what, " of ", bytes,
                                                   " bytes exceeds the limit '", limit_, "' of ",
                                                   bytes_, ", of which ", left(), " are left"));
}

void MemoryBudget::Give(uint64_t bytes) {
  taken_ -= bytes;
  if (whole_ != nullptr) whole_->Give(bytes);
}

}  // namespace belay
