// Integers of command-line options: "1,2,3".
#ifndef BELAY_TOOLS_BELAY_INTEGER_LIST_H_
#define BELAY_TOOLS_BELAY_INTEGER_LIST_H_

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/belay/printing.h"

namespace belay::tools {

// Parses integers of at least `least`, separated by commas. kInvalidArgument names the option.
template <class T>
absl::StatusOr<std::vector<T>> ParseIntegers(std::string_view option, const std::string& text,
                                             T least = std::numeric_limits<T>::min()) {
  std::vector<T> integers;
  for (const auto& part : absl::StrSplit(text, ',')) {
    T integer;
    if (!absl::SimpleAtoi(part, &integer) || integer < least) {
      return absl::InvalidArgumentError(absl::StrCat(
          std::string(option), ": expected integers ",
          least == std::numeric_limits<T>::min() ? "" : absl::StrCat(">= ", least, " "),
          "separated by commas, got '", OneLine(text), "'"));
    }
    integers.push_back(integer);
  }
  return integers;
}

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_INTEGER_LIST_H_
