// Tables of a BPE tokenizer in a program file, used in place: opening a model then does not parse the
// vocabulary and the merges.
//
// Layout, little-endian, without padding; the counts are uint32:
//   char magic[8]                         "BelayTk1"
//   uint32 tokens, token_slots, merges, merge_slots, token_bytes, json_bytes
//   {uint32 begin, size} tokens[]         by id; size 2^32 - 1: an id without a token
//   {uint32 hash; int32 id} token_slots[] by Vocabulary::HashOf; id -1: free
//   {int32 left, right, token} merges[]   by rank
//   uint32 merge_slots[]                  ranks; 2^32 - 1: free
//   char token_bytes[]                    UTF-8
//   char json[]                           tokenizer.json; model.vocab and model.merges are empty
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_TOKENIZER_TABLES_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_TOKENIZER_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/llm/tokenizer/token_model.h"

namespace belay::llm {

inline constexpr std::string_view kTokenizerTablesMagic = "BelayTk1";
inline constexpr size_t kMaxTokenizerJsonDepth = 64;

// Counts after the magic.
struct TokenizerTablesHeader {
  uint32_t tokens = 0, token_slots = 0, merges = 0, merge_slots = 0, token_bytes = 0;
  uint32_t json_bytes = 0;
};

struct TokenizerTables {
  std::string_view json;
  ModelTables model;
};

// Checks all rules in one pass; the result refers to `bytes`, which may be any bytes. After it, every
// lookup is inside the tables and visits at most 4 * kLongestProbe slots, and tokens are UTF-8.
// The hashes of slots are not checked: other slots give other tokens.
//   kDataLoss           another magic, or another size than the counts say
//   kInvalidArgument    a token outside the bytes or not UTF-8; a slot or a merge of an unknown
//                       token; a number of slots that is not a power of two; long runs of
//                       used slots
//   kResourceExhausted  more than max_size tokens or merges
// Precondition: `bytes` are aligned to 4 bytes. O(size).
absl::StatusOr<TokenizerTables> ParseTokenizerTables(absl::Span<const std::byte> bytes,
                                                     int64_t max_size);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_TOKENIZER_TABLES_H_
