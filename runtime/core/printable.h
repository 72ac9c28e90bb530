// Messages that quote what a file says, made fit for a terminal.
#ifndef BELAY_RUNTIME_CORE_PRINTABLE_H_
#define BELAY_RUNTIME_CORE_PRINTABLE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace belay {

// Whether a message must not hold `c`: control characters, but for line feeds and tabs.
constexpr bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

// `text` with its control characters, but for line feeds and tabs, as \xHH: escape sequences of a
// terminal are text. At most 16 KiB of it; what is cut off ends with "…".
std::string Printable(std::string_view text);

// The same code, and the message printable. Readers of untrusted bytes pass the errors that they
// return through it.
absl::Status Printable(absl::Status status);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_PRINTABLE_H_
