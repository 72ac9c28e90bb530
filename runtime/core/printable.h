// Escapes untrusted strings in messages for terminals.
#ifndef BELAY_RUNTIME_CORE_PRINTABLE_H_
#define BELAY_RUNTIME_CORE_PRINTABLE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace belay {

// Whether messages must escape `c`: control characters, except line feeds and tabs.
constexpr bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

// Returns `text` with control characters, except line feeds and tabs, escaped as \xHH, so that
// terminal escape sequences have no effect. Truncates to 16 KiB; a truncated result ends with "…".
std::string Printable(std::string_view text);

// Returns the same code with a printable message. Parsers of untrusted bytes apply it to the errors
// that they return.
absl::Status Printable(absl::Status status);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_PRINTABLE_H_
