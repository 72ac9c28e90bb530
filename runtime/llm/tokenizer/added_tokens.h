// Added tokens of tokenizer.json: tokens that match before the text is split.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_ADDED_TOKENS_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_ADDED_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/llm/tokenizer/json_value.h"
#include "runtime/llm/tokenizer/normalizer.h"

namespace belay::llm {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool single_word = false;             // does not match next to a word character
  bool lstrip = false, rstrip = false;  // also matches the whitespace before, after
  bool normalized = false;              // matches in normalized text
  bool special = false;
};

// Immutable; thread-safe.
class AddedTokens {
 public:
  // Reads [{"id": 0, "content": "…", …}, …].
  //   kInvalidArgument    fields of wrong types; negative or repeated ids; empty contents
  //   kResourceExhausted  ids or contents beyond max_size
  //   errors of Normalizer::Apply
  static absl::StatusOr<AddedTokens> Read(const JsonValue& json, const Normalizer& normalizer,
                                          int64_t max_size);

  // A part of a string: an added token, or the text between two of them.
  struct Part {
    size_t begin = 0, end = 0;
    std::optional<int32_t> token;
  };
  // Splits at the tokens whose AddedToken::normalized equals `normalized`. At each position, the
  // longest token matches. O(n * longest token).
  std::vector<Part> Split(std::string_view text, bool normalized) const;

  // nullptr if no added token has the id.
  const AddedToken* Find(int64_t id) const;
  std::optional<int32_t> IdOf(std::string_view content) const;
  // One more than the largest id.
  int64_t size() const { return size_; }

 private:
  // Finds tokens by their bytes.
  class Trie {
   public:
    void Add(std::string_view text, size_t token);
    // The longest token at the start of `text`, and its length.
    std::optional<std::pair<size_t, size_t>> Longest(std::string_view text) const;

   private:
    absl::flat_hash_map<uint64_t, uint32_t> next_;  // node << 8 | byte
    absl::flat_hash_map<uint32_t, size_t> tokens_;  // of nodes
    uint32_t nodes_ = 1;
  };

  std::vector<AddedToken> tokens_;
  absl::flat_hash_map<int64_t, size_t> by_id_;
  absl::flat_hash_map<std::string, int32_t> ids_;
  Trie plain_, normalized_;
  int64_t size_ = 0;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_ADDED_TOKENS_H_
