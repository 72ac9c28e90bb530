#include "exir/import/unsupported.h"

#include "runtime/core/str_cat.h"

namespace belay::exir {

absl::Status UnsupportedReport::ToStatus() const {
  const size_t count = problems_.size();
  return problems_.ToStatus(
      absl::StatusCode::kUnimplemented,
      absl::StrCat("the program uses ", count,
                   count == 1 ? " unsupported feature:" : " unsupported features:"));
}

}  // namespace belay::exir
