#include "runtime/llm/tokenizer/tokenizer.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/utf8.h"
#include "runtime/llm/tokenizer/added_tokens.h"
#include "runtime/llm/tokenizer/json_value.h"
#include "runtime/llm/tokenizer/normalizer.h"
#include "runtime/llm/tokenizer/pre_tokenizer.h"
#include "runtime/llm/tokenizer/text_decoder.h"
#include "runtime/llm/tokenizer/token_model.h"
#include "runtime/llm/tokenizer/tokenizer_tables.h"

namespace belay::llm {
namespace {

constexpr int kMaxDepth = 8;

// Tokens that are added before and after those of the text.
struct PostProcessor {
  std::vector<int32_t> before, after;
};

absl::StatusOr<int32_t> ReadId(const JsonValue& json) {
  ABSL_ASSIGN_OR_RETURN(const int64_t id, json.Int());
  if (id < 0 || id > INT32_MAX) return json.Error(absl::StrCat("expected an id, got ", id));
  return static_cast<int32_t>(id);
}

// TemplateProcessing: special tokens around the sequence A.
absl::Status ReadTemplate(const JsonValue& json, PostProcessor& processor) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<JsonValue> parts, json["single"].Elements());
  PostProcessor added;
  bool past = false;
  for (const JsonValue& part : parts) {
    if (part["Sequence"].exists()) {
      ABSL_ASSIGN_OR_RETURN(const std::string_view id, part["Sequence"]["id"].String());
      if (id != "A" || past) return part.Error("expected one sequence A");
      past = true;
      continue;
    }
    ABSL_ASSIGN_OR_RETURN(const std::string_view name, part["SpecialToken"]["id"].String());
    ABSL_ASSIGN_OR_RETURN(const std::vector<JsonValue> ids,
                          json["special_tokens"][name]["ids"].Elements());
    for (const JsonValue& id : ids) {
      ABSL_ASSIGN_OR_RETURN(const int32_t token, ReadId(id));
      (past ? added.after : added.before).push_back(token);
    }
  }
  if (!past) return json["single"].Error("expected one sequence A");
  processor.before.insert(processor.before.begin(), added.before.begin(), added.before.end());
  processor.after.insert(processor.after.end(), added.after.begin(), added.after.end());
  return absl::OkStatus();
}

absl::Status ReadPostProcessor(const JsonValue& json, int depth, PostProcessor& processor) {
  if (depth > kMaxDepth) return json.Error("expected fewer nested sequences");
  if (!json.exists()) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const std::string_view type, json["type"].String());
  if (type == "ByteLevel") return absl::OkStatus();  // changes offsets only
  if (type == "TemplateProcessing") return ReadTemplate(json, processor);
  if (type == "Sequence") {
    ABSL_ASSIGN_OR_RETURN(const std::vector<JsonValue> parts, json["processors"].Elements());
    for (const JsonValue& part : parts) {
      ABSL_RETURN_IF_ERROR(ReadPostProcessor(part, depth + 1, processor));
    }
    return absl::OkStatus();
  }
  if (type != "BertProcessing" && type != "RobertaProcessing") return json.Unsupported(type);
  for (const std::string_view name : {"cls", "sep"}) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<JsonValue> pair, json[name].Elements());
    if (pair.size() != 2) return json[name].Error("expected a token and its id");
    ABSL_ASSIGN_OR_RETURN(const int32_t token, ReadId(pair[1]));
    if (name == "cls") {
      processor.before.insert(processor.before.begin(), token);
    } else {
      processor.after.push_back(token);
    }
  }
  return absl::OkStatus();
}

}  // namespace

struct Tokenizer::Impl {
  std::vector<uint32_t> copy;  // of misaligned tables
  TokenizerLimits limits;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<TokenModel> model;
  AddedTokens added;
  PostProcessor post_processor;
  TextDecoder decoder;

  // Appends the tokens of a part of the text. The part has no added tokens except those that match
  // in normalized text.
  absl::Status EncodeRaw(std::string_view text, bool at_start, std::vector<int32_t>& tokens) const {
    ABSL_ASSIGN_OR_RETURN(const std::string normalized, normalizer.Apply(text));
    for (const AddedTokens::Part& part : added.Split(normalized, /*normalized=*/true)) {
      if (part.token.has_value()) {
        tokens.push_back(*part.token);
        continue;
      }
      ABSL_ASSIGN_OR_RETURN(
          const std::vector<Piece> pieces,
          pre_tokenizer.Apply(
              {normalized.substr(part.begin, part.end - part.begin), at_start && part.begin == 0}));
      for (const Piece& piece : pieces) model->Tokenize(piece.text, tokens);
    }
    return absl::OkStatus();
  }
};

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

absl::StatusOr<std::unique_ptr<Tokenizer::Impl>> Tokenizer::Read(std::string_view json,
                                                                 const TokenizerLimits& limits,
                                                                 const ModelTables* tables) {
  simdjson::dom::parser parser;
  ABSL_ASSIGN_OR_RETURN(
      const simdjson::dom::element root,
      ParseJson("tokenizer.json", json, limits.json_bytes, kMaxTokenizerJsonDepth, parser));
  const JsonValue document(root, "");
  auto impl = std::make_unique<Impl>();
  impl->limits = limits;
  ABSL_ASSIGN_OR_RETURN(impl->normalizer, Normalizer::Read(document["normalizer"]));
  ABSL_ASSIGN_OR_RETURN(impl->pre_tokenizer, PreTokenizer::Read(document["pre_tokenizer"]));
  ABSL_ASSIGN_OR_RETURN(impl->model,
                        TokenModel::Read(document["model"], limits.vocabulary, tables));
  ABSL_ASSIGN_OR_RETURN(impl->added, AddedTokens::Read(document["added_tokens"], impl->normalizer,
                                                       limits.vocabulary));
  ABSL_RETURN_IF_ERROR(ReadPostProcessor(document["post_processor"], 0, impl->post_processor));
  ABSL_ASSIGN_OR_RETURN(impl->decoder, TextDecoder::Read(document["decoder"]));
  return impl;
}

absl::StatusOr<Tokenizer> Tokenizer::FromJson(std::string_view json,
                                              const TokenizerLimits& limits) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Impl> impl, Read(json, limits, nullptr));
  return Tokenizer(std::move(impl));
}

absl::StatusOr<Tokenizer> Tokenizer::FromTables(absl::Span<const std::byte> tables,
                                                const TokenizerLimits& limits) {
  std::vector<uint32_t> copy;
  if (reinterpret_cast<uintptr_t>(tables.data()) % alignof(uint32_t) != 0) {
    copy.resize(tables.size() / 4 + 1);
    std::memcpy(copy.data(), tables.data(), tables.size());
    tables = {reinterpret_cast<const std::byte*>(copy.data()), tables.size()};
  }
  ABSL_ASSIGN_OR_RETURN(const TokenizerTables parsed,
                        ParseTokenizerTables(tables, limits.vocabulary));
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Impl> impl, Read(parsed.json, limits, &parsed.model));
  impl->copy = std::move(copy);
  return Tokenizer(std::move(impl));
}

absl::StatusOr<std::vector<int32_t>> Tokenizer::Encode(std::string_view text,
                                                       bool special_tokens) const {
  if (text.size() > impl_->limits.text_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("expected at most ", impl_->limits.text_bytes,
                                                     " bytes of text, got ", text.size()));
  }
  if (!IsUtf8(text)) return absl::InvalidArgumentError("expected text in UTF-8, got other bytes");
  std::vector<int32_t> tokens;
  if (special_tokens) tokens = impl_->post_processor.before;
  for (const AddedTokens::Part& part : impl_->added.Split(text, /*normalized=*/false)) {
    if (part.token.has_value()) {
      tokens.push_back(*part.token);
      continue;
    }
    ABSL_RETURN_IF_ERROR(
        impl_->EncodeRaw(text.substr(part.begin, part.end - part.begin), part.begin == 0, tokens));
  }
  if (special_tokens) {
    const std::vector<int32_t>& after = impl_->post_processor.after;
    tokens.insert(tokens.end(), after.begin(), after.end());
  }
  return tokens;
}

absl::StatusOr<std::string> Tokenizer::Decode(absl::Span<const int32_t> tokens,
                                              bool special_tokens) const {
  std::vector<std::string> strings;
  strings.reserve(tokens.size());
  for (int32_t id : tokens) {
    if (!special_tokens && IsSpecial(id)) continue;
    if (const auto token = Token(id); token.has_value()) strings.emplace_back(*token);
  }
  return impl_->decoder.Apply(std::move(strings));
}

std::optional<int32_t> Tokenizer::TokenId(std::string_view token) const {
  const std::optional<int32_t> id = impl_->added.IdOf(token);
  return id.has_value() ? id : impl_->model->vocabulary().Find(token);
}

std::optional<std::string_view> Tokenizer::Token(int64_t id) const {
  const AddedToken* added = impl_->added.Find(id);
  return added != nullptr ? added->content : impl_->model->vocabulary().Token(id);
}

bool Tokenizer::IsSpecial(int64_t id) const {
  const AddedToken* added = impl_->added.Find(id);
  return added != nullptr && added->special;
}

int64_t Tokenizer::vocabulary_size() const {
  return std::max(impl_->added.size(), impl_->model->vocabulary().size());
}

}  // namespace belay::llm
