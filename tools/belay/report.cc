#include <iostream>

#include "runtime/core/str_cat.h"
#include "tools/belay/command.h"
#include "tools/belay/printing.h"

namespace belay::tools {
namespace {

void PrintError(const absl::Status& status) {
  std::cerr << "belay: " << ForTerminal(FromAbsl(status.message())) << "\n";
}

}  // namespace

int Report(const absl::Status& status) {
  if (status.ok()) return kDone;
  if (absl::IsDeadlineExceeded(status)) {
    PrintError(absl::DeadlineExceededError(absl::StrCat(
        FromAbsl(status.message()), "; raise the limit with --timeout SECONDS, 0 for none")));
  } else {
    PrintError(status);
  }
  switch (status.code()) {
    case absl::StatusCode::kUnimplemented:
      return kUnsupported;
    case absl::StatusCode::kCancelled:
      return kNegative;
    default:
      return kBadInput;
  }
}

int ReportBadUsage(const absl::Status& status) {
  PrintError(status);
  return kBadUsage;
}

}  // namespace belay::tools
