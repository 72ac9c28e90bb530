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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/llm/tokenizer/json_value.h"

namespace belay::llm {

// Most slots in a row that lookups in the hash tables below visit. A table whose slots are half used
// has longer runs only if its keys were chosen for it: with a load of 1/2, the longest run of 2^22
// slots has about 80.
inline constexpr size_t kLongestProbe = 256;

// Tokens by id and ids by token. Ids may have gaps. Move-only.
class Vocabulary {
 public:
  struct Entry {
    uint32_t begin = 0;  // in the bytes of all tokens
    uint32_t size = kGap;
  };
  static constexpr uint32_t kGap = UINT32_MAX;  // an id without a token
  // A slot of a hash table with linear probing.
  struct Slot {
    uint32_t hash = 0;
    int32_t id = -1;  // -1: free
  };
  // The arrays of a vocabulary, as they are in memory and in files.
  struct Tables {
    std::string_view bytes;          // of all tokens
    absl::Span<const Entry> tokens;  // by id
    absl::Span<const Slot> slots;    // a power of two; at least half are free
  };

  Vocabulary();
  // Uses tables in place, which must outlive the vocabulary and satisfy the rules of
  // tokenizer_tables.h.
  explicit Vocabulary(const Tables& tables) : tables_(tables) {}
  Vocabulary(Vocabulary&&) noexcept = default;
  Vocabulary& operator=(Vocabulary&&) noexcept = default;

  // Reads {"token": id, …}.
  //   kInvalidArgument    ids that are negative or repeated
  //   kResourceExhausted  ids of max_size and more; hashes of too many tokens collide
  static absl::StatusOr<Vocabulary> Read(const JsonValue& json, int64_t max_size);

  // Not for a vocabulary whose tables are used in place.
  //   kInvalidArgument    an id that is negative, or of another token
  //   kResourceExhausted  an id of max_size and more; hashes of too many tokens collide
  absl::Status Add(std::string_view token, int64_t id, int64_t max_size);
  std::optional<int32_t> Find(std::string_view token) const;
  // Writes the id of each token, or -1. The cache misses of the lookups overlap: several times
  // faster than Find in large vocabularies.
  void FindAll(absl::Span<const std::string_view> tokens, absl::Span<int32_t> ids) const;
  // nullopt for an id without a token. The string is valid until the next Add.
  std::optional<std::string_view> Token(int64_t id) const;
  // One more than the largest id.
  int64_t size() const { return static_cast<int64_t>(tables_.tokens.size()); }
  // Valid until the next Add.
  const Tables& tables() const { return tables_; }

 private:
  // A part of the file format of tokenizer_tables.h.
  static uint32_t HashOf(std::string_view token);
  std::string_view At(int32_t id) const {
    const Entry& entry = tables_.tokens[static_cast<size_t>(id)];
    return tables_.bytes.substr(entry.begin, entry.size);
  }
  // Returns the index of the slot of the token, or of the free slot where it belongs.
  size_t FindSlot(std::string_view token, uint32_t hash) const;
  // Makes the table at least twice as large as `count` tokens.
  void Reserve(size_t count);

  // Empty if the tables are used in place. Moves keep the addresses of elements.
  std::vector<char> bytes_;
  std::vector<Entry> tokens_;
  std::vector<Slot> slots_;
  size_t used_ = 0;  // slots
  Tables tables_;    // of the vectors above, or of a file
};

// Merges of byte pair encoding: rank and result of a pair of tokens. Move-only.
class MergeTable {
 public:
  // The rank is the index.
  struct Merge {
    int32_t left = 0, right = 0, token = 0;
  };
  static constexpr uint32_t kFree = UINT32_MAX;
  // The arrays of the table, as they are in memory and in files.
  struct Tables {
    absl::Span<const Merge> merges;
    absl::Span<const uint32_t> slots;  // ranks, or kFree; a power of two; at least half are free
  };

  // An empty table for up to `count` merges.
  explicit MergeTable(size_t count);
  // As Vocabulary.
  explicit MergeTable(const Tables& tables) : tables_(tables) {}
  MergeTable(MergeTable&&) noexcept = default;
  MergeTable& operator=(MergeTable&&) noexcept = default;

  // Adds the merge of the next rank, which replaces that of the same pair. Not for tables in place.
  // kResourceExhausted: hashes of too many pairs collide.
  absl::Status Add(const Merge& merge);
  // Returns the rank. O(1).
  std::optional<uint32_t> Find(int32_t left, int32_t right) const;
  const Merge& merge(uint32_t rank) const { return tables_.merges[rank]; }
  void Prefetch(int32_t left, int32_t right) const {
    __builtin_prefetch(&tables_.slots[FirstSlot(left, right)]);
  }
  const Tables& tables() const { return tables_; }

 private:
  size_t FirstSlot(int32_t left, int32_t right) const;
  // Returns the index of the slot of the pair, or of the free slot where it belongs.
  size_t FindSlot(int32_t left, int32_t right) const;

  // As in Vocabulary.
  std::vector<Merge> merges_;
  std::vector<uint32_t> slots_;
  Tables tables_;
};

// Tables of a model in a file (tokenizer_tables.h).
struct ModelTables {
  Vocabulary::Tables vocabulary;
  MergeTable::Tables merges;
};

// Immutable; thread-safe.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the tokens of a piece, which is UTF-8 and not empty.
  virtual void Tokenize(std::string_view piece, std::vector<int32_t>& tokens) const = 0;
  const Vocabulary& vocabulary() const { return vocabulary_; }
  // nullptr for models other than BPE.
  virtual const MergeTable* merges() const { return nullptr; }

  // Reads a model of type BPE, Unigram, WordPiece or WordLevel.
  //   kUnimplemented      another type, which is named; BPE with dropout
  //   kInvalidArgument    fields of wrong types; merges of unknown tokens
  //   kResourceExhausted  more than max_size tokens or merges
  // `tables`: of BPE, used in place of `vocab` and `merges`; nullptr: those of the document.
  static absl::StatusOr<std::unique_ptr<TokenModel>> Read(const JsonValue& json, int64_t max_size,
                                                          const ModelTables* tables = nullptr);

 protected:
  explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  Vocabulary vocabulary_;
};

// Read a model of one type.
absl::StatusOr<std::unique_ptr<TokenModel>> ReadBpe(const JsonValue& json, int64_t max_size,
                                                    const ModelTables* tables);
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
