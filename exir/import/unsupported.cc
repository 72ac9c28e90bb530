#include "exir/import/unsupported.h"

#include <algorithm>

#include "runtime/core/str_cat.h"

namespace belay::exir {

absl::Status UnsupportedReport::ToStatus() const {
  if (lines_.empty()) return absl::OkStatus();
  constexpr size_t kMaxLines = 100;
  std::string message = absl::StrCat("the program uses ", lines_.size(),
                                     lines_.size() == 1 ? " thing" : " things", " not supported:");
  for (size_t i = 0; i < std::min(lines_.size(), kMaxLines); ++i)
    absl::StrAppend(&message, "\n  ", lines_[i]);
  if (lines_.size() > kMaxLines)
    absl::StrAppend(&message, "\n  and ", lines_.size() - kMaxLines, " more");
  return absl::UnimplementedError(message);
}

}  // namespace belay::exir
