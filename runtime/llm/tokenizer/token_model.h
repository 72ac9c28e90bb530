// Models of tokenizer.json: convert a piece of text to tokens.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_TOKEN_MODEL_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_TOKEN_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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
  int64_t size() const { return static_cast<int64_t>(tokens_->size()); }

 private:
  struct Entry {
    std::string token;
    bool exists = false;  // otherwise a gap
  };
  // A set of ids that is searched by token: the strings are stored once.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view token) const {
      return absl::HashOf(absl::string_view(token.data(), token.size()));
    }
    size_t operator()(int32_t id) const { return (*this)(std::string_view(At(*tokens, id))); }
    const std::vector<Entry>* tokens;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(int32_t id, std::string_view token) const { return At(*tokens, id) == token; }
    bool operator()(int32_t a, int32_t b) const { return At(*tokens, a) == At(*tokens, b); }
    const std::vector<Entry>* tokens;
  };
  static const std::string& At(const std::vector<Entry>& tokens, int32_t id) {
    return tokens[static_cast<size_t>(id)].token;
  }

  // On the heap, since the set refers to it.
  std::unique_ptr<std::vector<Entry>> tokens_ = std::make_unique<std::vector<Entry>>();
  absl::flat_hash_set<int32_t, Hash, Equal> ids_ =
      absl::flat_hash_set<int32_t, Hash, Equal>(0, Hash{tokens_.get()}, Equal{tokens_.get()});
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
