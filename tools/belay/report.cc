#include <iostream>

#include "tools/belay/command.h"

namespace belay::tools {

int Report(const absl::Status& status) {
  if (status.ok()) return kDone;
  std::cerr << "belay: " << status.message() << "\n";
  switch (status.code()) {
    case absl::StatusCode::kUnimplemented:
      return kUnsupported;
    case absl::StatusCode::kCancelled:
      return kNegative;
    default:
      return kBadInput;
  }
}

}  // namespace belay::tools
