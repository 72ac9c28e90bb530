#include "runtime/core/printable.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace belay {
namespace {

constexpr size_t kShown = 16 << 10;

}  // namespace

std::string Printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown;
  for (const char c : text.substr(0, kShown)) {
    if (!IsControl(c)) {
      shown.push_back(c);
      continue;
    }
    shown += "\\x";
    shown.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    shown.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  if (text.size() > kShown) shown += "…";
  return shown;
}

absl::Status Printable(absl::Status status) {
  const std::string_view message(status.message().data(), status.message().size());
  if (message.size() <= kShown && std::none_of(message.begin(), message.end(), IsControl)) {
    return status;
  }
  return absl::Status(status.code(), Printable(message));
}

}  // namespace belay
