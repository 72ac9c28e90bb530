#include "runtime/core/memory_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"

namespace belay {

absl::Status CheckMemory(uint64_t bytes, std::string_view what) {
  // Volatile: compilers may elide an unused allocation.
  void* volatile data = nullptr;
  if (bytes <= static_cast<uint64_t>(PTRDIFF_MAX)) {
    data = std::malloc(std::max<size_t>(static_cast<size_t>(bytes), 1));
  }
  const bool there_is = data != nullptr;
  std::free(data);
  if (there_is) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory for ", what, ", which may take up to ", bytes, " bytes"));
}

}  // namespace belay
