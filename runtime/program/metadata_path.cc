#include "runtime/program/metadata_path.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/str_cat.h"

namespace belay {

std::string MetadataPath::ToString() const {
  if (parent_ == nullptr) return "metadata";
  // Recursion depth is bounded by the schema.
  std::string text = parent_->parent_ == nullptr ? "" : absl::StrCat(parent_->ToString(), ".");
  absl::StrAppend(&text, field_);
  if (indexed_) absl::StrAppend(&text, "[", index_, "]");
  return text;
}

absl::Status MetadataPath::Error(std::string_view message) const {
  return absl::InvalidArgumentError(absl::StrCat(ToString(), ": ", message));
}

absl::Status MetadataPath::LimitError(std::string_view limit, uint64_t got,
                                      uint64_t allowed) const {
  return absl::ResourceExhaustedError(
      absl::StrCat(ToString(), ": ", got, " exceeds the limit '", limit, "' of ", allowed));
}

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 100;
  const bool cut = text.size() > kShown;
  return absl::StrCat("'", absl::CHexEscape(ToAbsl(text.substr(0, kShown))), cut ? "…'" : "'");
}

std::string ListFirst(absl::Span<const std::string> texts, std::string_view separator,
                      uint64_t total) {
  const absl::Span<const std::string> shown = texts.first(std::min(texts.size(), kMostListed));
  std::string list = absl::StrJoin(shown, ToAbsl(separator));
  total = std::max<uint64_t>(total, texts.size());
  if (total > shown.size())
    absl::StrAppend(&list, ToAbsl(separator), "and ", total - shown.size(), " more");
  return list;
}

}  // namespace belay
