#include "exir/import/note_names.h"

#include "absl/strings/escaping.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr size_t kMaxNames = 5;
constexpr size_t kMaxNameBytes = 80;

}  // namespace

void NoteNames::Add(std::string_view name) {
  if (count_++ >= kMaxNames) return;
  first_.push_back(
      absl::Utf8SafeCHexEscape(ToAbsl(name.substr(0, kMaxNameBytes))).substr(0, kMaxNameBytes));
}

std::string NoteNames::ToString() const {
  std::string text;
  for (const std::string& name : first_) {
    absl::StrAppend(&text, text.empty() ? "'" : ", '", name, "'");
  }
  if (count_ > first_.size()) absl::StrAppend(&text, " and ", count_ - first_.size(), " more");
  return text;
}

}  // namespace belay::exir
