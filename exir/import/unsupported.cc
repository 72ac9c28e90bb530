#include "exir/import/unsupported.h"

#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr size_t kMaxLines = 100;
constexpr size_t kMaxText = 400;

}  // namespace

std::string Shortened(std::string_view text) {
  if (text.size() <= kMaxText) return std::string(text);
  size_t end = kMaxText;
  // Not within a character of UTF-8.
  while (end > kMaxText - 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "…");
}

void UnsupportedReport::Add(std::string_view where, std::string_view what) {
  if (count_++ < kMaxLines) lines_.push_back(absl::StrCat(Shortened(where), ": ", Shortened(what)));
}

absl::Status UnsupportedReport::ToStatus() const {
  if (count_ == 0) return absl::OkStatus();
  std::string message = absl::StrCat("the program uses ", count_,
                                     count_ == 1 ? " thing" : " things", " not supported:");
  for (const std::string& line : lines_) absl::StrAppend(&message, "\n  ", line);
  if (count_ > lines_.size())
    absl::StrAppend(&message, "\n  and ", count_ - lines_.size(), " more");
  return absl::UnimplementedError(message);
}

}  // namespace belay::exir
