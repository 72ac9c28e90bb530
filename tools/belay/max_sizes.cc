#include "tools/belay/max_sizes.h"

#include "absl/strings/numbers.h"
#include "runtime/core/printable.h"
#include "runtime/core/str_cat.h"
#include "tools/belay/printing.h"

namespace belay::tools {

absl::StatusOr<MaxSizes> ParseMaxSizes(const std::vector<std::string>& options) {
  MaxSizes sizes;
  for (const std::string& text : options) {
    const size_t equals = text.find('=');
    const std::string symbol = equals == std::string::npos ? "" : text.substr(0, equals);
    int64_t value = 0;
    if (equals == 0 || !absl::SimpleAtoi(text.substr(equals + 1), &value) || value < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--max-size: expected VALUE or SYMBOL=VALUE with a positive integer, got '",
                       OneLine(text), "'"));
    }
    if (symbol.empty()) {
      sizes.unbounded = value;
    } else {
      sizes.by_symbol[symbol] = value;
    }
  }
  return sizes;
}

}  // namespace belay::tools
