#include "fuzz/oracles/typed_status.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "runtime/core/printable.h"
#include "runtime/core/str_cat.h"

namespace belay::fuzz {
namespace {

constexpr size_t kMaxMessageBytes = 64 << 10;

}  // namespace

absl::Status CheckTyped(std::string_view stage, const absl::Status& status,
                        std::initializer_list<absl::StatusCode> allowed) {
  if (status.ok()) return absl::OkStatus();
  const std::string_view message(status.message().data(), status.message().size());
  std::string wrong;
  if (std::find(allowed.begin(), allowed.end(), status.code()) == allowed.end()) {
    wrong = "an error of no documented kind";
  } else if (message.empty()) {
    wrong = "an error without a message";
  } else if (message.size() > kMaxMessageBytes) {
    wrong = absl::StrCat("a message of ", message.size(), " bytes");
  } else if (std::any_of(message.begin(), message.end(), IsControl)) {
    wrong = "a message with control characters";
  } else {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat(stage, ": ", wrong, ": ",
                                          absl::StatusCodeToString(status.code()), ": ",
                                          absl::CHexEscape(std::string(message.substr(0, 2000)))));
}

}  // namespace belay::fuzz
