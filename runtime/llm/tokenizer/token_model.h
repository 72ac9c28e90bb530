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

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
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
  // Writes the id of each token, or -1. The cache misses of the lookups overlap: several times
  // faster than Find in large vocabularies.
  void FindAll(absl::Span<const std::string_view> tokens, absl::Span<int32_t> ids) const;
  // nullopt for an id without a token. The string is valid until the next Add.
  std::optional<std::string_view> Token(int64_t id) const;
  // One more than the largest id.
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }

 private:
  struct Entry {
    size_t begin = 0;  // in bytes_
    size_t size = kGap;
  };
  static constexpr size_t kGap = SIZE_MAX;
  // A slot of a hash table with linear probing.
  struct Slot {
    uint32_t hash = 0;
    int32_t id = -1;  // -1: free
  };

  static uint32_t HashOf(std::string_view token) {
    return static_cast<uint32_t>(absl::HashOf(absl::string_view(token.data(), token.size())));
  }
  std::string_view At(int32_t id) const {
    const Entry& entry = tokens_[static_cast<size_t>(id)];
    return std::string_view(bytes_).substr(entry.begin, entry.size);
  }
  // Returns the index of the slot of the token, or of the free slot where it belongs.
  size_t FindSlot(std::string_view token, uint32_t hash) const;
  // Makes the table at least twice as large as `count` tokens.
  void Reserve(size_t count);

  std::string bytes_;  // of all tokens
  std::vector<Entry> tokens_;
  std::vector<Slot> slots_ = std::vector<Slot>(16);  // a power of two; at least half are free
  size_t used_ = 0;                                  // slots
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
