// Models of tokenizer.json: convert a piece of text to tokens.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_TOKEN_MODEL_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_TOKEN_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/llm/tokenizer/json_value.h"

namespace belay::llm {

// Tokens by id and ids by token. Ids may have gaps.
class Vocabulary {
 public:
  // Reads {"token": id, …}.
  //   kInvalidArgument    ids that are negative or repeated
  //   kResourceExhausted  ids of max_size and more
  static absl::StatusOr<Vocabulary> Read(const JsonValue& json, int64_t max_size);

  //   kInvalidArgument    an id that is negative, or of another token
  //   kResourceExhausted  an id of max_size and more
  absl::Status Add(std::string_view token, int64_t id, int64_t max_size);
  std::optional<int32_t> Find(std::string_view token) const;
  // nullptr for an id without a token.
  const std::string* Token(int64_t id) const;
  // One more than the largest id.
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }

 private:
  std::vector<std::unique_ptr<std::string>> tokens_;  // null: a gap
  absl::flat_hash_map<std::string, int32_t> ids_;
};

// Immutable; thread-safe.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the tokens of a piece, which is UTF-8 and not empty.
  virtual void Tokenize(std::string_view piece, std::vector<int32_t>& tokens) const = 0;
  const Vocabulary& vocabulary() const { return vocabulary_; }

  // Reads a model of type BPE, Unigram, WordPiece or WordLevel.
  //   kUnimplemented      another type, which is named; BPE with dropout
  //   kInvalidArgument    fields of wrong types; merges of unknown tokens
  //   kResourceExhausted  more than max_size tokens or merges
  static absl::StatusOr<std::unique_ptr<TokenModel>> Read(const JsonValue& json, int64_t max_size);

 protected:
  explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  Vocabulary vocabulary_;
};

// Read a model of one type.
absl::StatusOr<std::unique_ptr<TokenModel>> ReadBpe(const JsonValue& json, int64_t max_size);
absl::StatusOr<std::unique_ptr<TokenModel>> ReadUnigram(const JsonValue& json, int64_t max_size);
absl::StatusOr<std::unique_ptr<TokenModel>> ReadWordPiece(const JsonValue& json, int64_t max_size);
absl::StatusOr<std::unique_ptr<TokenModel>> ReadWordLevel(const JsonValue& json, int64_t max_size);

// Appends the tokens <0xHH> of all bytes. Returns false, and appends none, if one is missing.
bool AppendByteTokens(const Vocabulary& vocabulary, std::string_view bytes,
                      std::vector<int32_t>& tokens);

// Reads the id of an optional field that names a token.
//   kInvalidArgument  a token outside the vocabulary
absl::StatusOr<std::optional<int32_t>> ReadToken(const JsonValue& json,
                                                 const Vocabulary& vocabulary);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_TOKEN_MODEL_H_
