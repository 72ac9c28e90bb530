#include "runtime/llm/tokenizer/token_model.h"

#include <algorithm>
#include <utility>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/unicode_text.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {

absl::Status Vocabulary::Add(std::string_view token, int64_t id, int64_t max_size) {
  if (id < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected an id of at least 0 of ", Quoted(token), ", got ", id));
  }
  if (id >= max_size) {
    return absl::ResourceExhaustedError(
        absl::StrCat("expected ids below ", max_size, ", got ", id, " of ", Quoted(token)));
  }
  const auto index = static_cast<size_t>(id);
  if (index >= tokens_->size()) tokens_->resize(index + 1);
  Entry& entry = (*tokens_)[index];
  if (entry.exists) {
    if (entry.token == token) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("id ", id, " is that of ", Quoted(entry.token), " and of ", Quoted(token)));
  }
  entry = {std::string(token), true};
  ids_.insert(static_cast<int32_t>(id));  // keeps the first id of a token
  return absl::OkStatus();
}

absl::StatusOr<Vocabulary> Vocabulary::Read(const JsonValue& json, int64_t max_size) {
  ABSL_ASSIGN_OR_RETURN(const simdjson::dom::object object, json.Object());
  Vocabulary vocabulary;
  vocabulary.ids_.reserve(std::min(object.size(), static_cast<size_t>(max_size)));
  for (const simdjson::dom::key_value_pair field : object) {
    int64_t id;
    if (field.value.get_int64().get(id) != 0) {
      return json.Error(absl::StrCat("expected an integer as the id of ", Quoted(field.key)));
    }
    if (const absl::Status status = vocabulary.Add(field.key, id, max_size); !status.ok()) {
      return json.Error(status);
    }
  }
  return vocabulary;
}

std::optional<int32_t> Vocabulary::Find(std::string_view token) const {
  const auto it = ids_.find(token);
  return it == ids_.end() ? std::nullopt : std::optional(*it);
}

const std::string* Vocabulary::Token(int64_t id) const {
  if (id < 0 || id >= size()) return nullptr;
  const Entry& entry = (*tokens_)[static_cast<size_t>(id)];
  return entry.exists ? &entry.token : nullptr;
}

bool AppendByteTokens(const Vocabulary& vocabulary, std::string_view bytes,
                      std::vector<int32_t>& tokens) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const size_t before = tokens.size();
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const char name[] = {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
    const std::optional<int32_t> token = vocabulary.Find(std::string_view(name, sizeof(name)));
    if (!token.has_value()) {
      tokens.resize(before);
      return false;
    }
    tokens.push_back(*token);
  }
  return true;
}

absl::StatusOr<std::optional<int32_t>> ReadToken(const JsonValue& json,
                                                 const Vocabulary& vocabulary) {
  if (!json.exists()) return std::nullopt;
  ABSL_ASSIGN_OR_RETURN(const std::string_view token, json.String());
  const std::optional<int32_t> id = vocabulary.Find(token);
  if (!id.has_value()) {
    return json.Error(absl::StrCat("expected a token of the vocabulary, got ", Quoted(token)));
  }
  return id;
}

absl::StatusOr<std::unique_ptr<TokenModel>> TokenModel::Read(const JsonValue& json,
                                                             int64_t max_size) {
  // Older files have no type.
  ABSL_ASSIGN_OR_RETURN(const std::string type,
                        json["type"].StringOr(json["merges"].exists() ? "BPE" : ""));
  if (type == "BPE") return ReadBpe(json, max_size);
  if (type == "Unigram") return ReadUnigram(json, max_size);
  if (type == "WordPiece") return ReadWordPiece(json, max_size);
  if (type == "WordLevel") return ReadWordLevel(json, max_size);
  if (type.empty()) return json["type"].Error("expected BPE, Unigram, WordPiece or WordLevel");
  return json.Unsupported(type);
}

}  // namespace belay::llm
