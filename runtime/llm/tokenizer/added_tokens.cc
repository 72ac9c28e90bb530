#include "runtime/llm/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/unicode_text.h"

namespace belay::llm {
namespace {

constexpr size_t kMaxContent = 4096;

absl::StatusOr<AddedToken> ReadToken(const JsonValue& json, int64_t max_size) {
  AddedToken token;
  ABSL_ASSIGN_OR_RETURN(const int64_t id, json["id"].Int());
  ABSL_ASSIGN_OR_RETURN(const std::string_view content, json["content"].String());
  ABSL_ASSIGN_OR_RETURN(token.single_word, json["single_word"].Bool(false));
  ABSL_ASSIGN_OR_RETURN(token.lstrip, json["lstrip"].Bool(false));
  ABSL_ASSIGN_OR_RETURN(token.rstrip, json["rstrip"].Bool(false));
  ABSL_ASSIGN_OR_RETURN(token.special, json["special"].Bool(false));
  ABSL_ASSIGN_OR_RETURN(token.normalized, json["normalized"].Bool(!token.special));
  if (id < 0) return json["id"].Error(absl::StrCat("expected at least 0, got ", id));
  if (id >= max_size) {
    return json["id"].Error(absl::StrCat("expected less than ", max_size, ", got ", id),
                            absl::StatusCode::kResourceExhausted);
  }
  if (content.empty()) return json["content"].Error("expected a string that is not empty");
  if (content.size() > kMaxContent) {
    return json["content"].Error(
        absl::StrCat("expected at most ", kMaxContent, " bytes, got ", content.size()),
        absl::StatusCode::kResourceExhausted);
  }
  token.id = static_cast<int32_t>(id);
  token.content = std::string(content);
  return token;
}

}  // namespace

void AddedTokens::Trie::Add(std::string_view text, size_t token) {
  uint32_t node = 0;
  for (char c : text) {
    const uint64_t key = uint64_t{node} << 8 | static_cast<unsigned char>(c);
    const auto [it, inserted] = next_.try_emplace(key, nodes_);
    if (inserted) ++nodes_;
    node = it->second;
  }
  if (node != 0) tokens_.insert_or_assign(node, token);
}

std::optional<std::pair<size_t, size_t>> AddedTokens::Trie::Longest(std::string_view text) const {
  std::optional<std::pair<size_t, size_t>> longest;
  uint32_t node = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto it = next_.find(uint64_t{node} << 8 | static_cast<unsigned char>(text[i]));
    if (it == next_.end()) break;
    node = it->second;
    if (const auto token = tokens_.find(node); token != tokens_.end()) {
      longest = {token->second, i + 1};
    }
  }
  return longest;
}

absl::StatusOr<AddedTokens> AddedTokens::Read(const JsonValue& json, const Normalizer& normalizer,
                                              int64_t max_size) {
  AddedTokens added;
  if (!json.exists()) return added;
  ABSL_ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, json.Elements());
  for (const JsonValue& element : elements) {
    ABSL_ASSIGN_OR_RETURN(AddedToken token, ReadToken(element, max_size));
    if (!added.by_id_.try_emplace(token.id, added.tokens_.size()).second) {
      return element["id"].Error(
          absl::StrCat("expected ids that differ, got ", token.id, " twice"));
    }
    added.size_ = std::max<int64_t>(added.size_, int64_t{token.id} + 1);
    added.ids_.insert_or_assign(token.content, token.id);
    if (token.normalized) {
      ABSL_ASSIGN_OR_RETURN(const std::string content, normalizer.Apply(token.content));
      added.normalized_.Add(content, added.tokens_.size());
    } else {
      added.plain_.Add(token.content, added.tokens_.size());
    }
    added.tokens_.push_back(std::move(token));
  }
  return added;
}

std::vector<AddedTokens::Part> AddedTokens::Split(std::string_view text, bool normalized) const {
  const Trie& trie = normalized ? normalized_ : plain_;
  std::vector<Part> parts;
  size_t end = 0;  // of the last part
  for (size_t at = 0; at < text.size();) {
    const auto match = trie.Longest(text.substr(at));
    if (!match.has_value()) {
      at += Utf8Length(text[at]);
      continue;
    }
    const AddedToken& token = tokens_[match->first];
    size_t begin = at, stop = at + match->second;
    at = stop;
    const bool word_before = begin > 0 && IsWordCharacter(LastCodePoint(text.substr(0, begin)));
    const bool word_after =
        stop < text.size() && IsWordCharacter(FirstCodePoint(text.substr(stop)));
    if (token.single_word && (word_before || word_after)) continue;
    while (token.lstrip && begin > end) {
      const std::string_view before = text.substr(end, begin - end);
      if (!IsWhitespace(LastCodePoint(before))) break;
      begin -= LastUtf8Length(before);
    }
    while (token.rstrip && stop < text.size() && IsWhitespace(FirstCodePoint(text.substr(stop)))) {
      stop += Utf8Length(text[stop]);
    }
    if (end < begin) parts.push_back({end, begin, std::nullopt});
    parts.push_back({begin, stop, token.id});
    end = at = stop;
  }
  if (end < text.size()) parts.push_back({end, text.size(), std::nullopt});
  return parts;
}

const AddedToken* AddedTokens::Find(int64_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &tokens_[it->second];
}

std::optional<int32_t> AddedTokens::IdOf(std::string_view content) const {
  const auto it = ids_.find(ToAbsl(content));
  return it == ids_.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace belay::llm
