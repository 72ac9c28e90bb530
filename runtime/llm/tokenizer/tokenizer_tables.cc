#include "runtime/llm/tokenizer/tokenizer_tables.h"

#include <algorithm>
#include <bit>

#include "absl/functional/function_ref.h"
#include "runtime/core/byte_reader.h"
#include "runtime/core/bytes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/utf8.h"

namespace belay::llm {
namespace {

constexpr size_t kLongestRun = 4 * kLongestProbe;

template <class... Args>
absl::Status Error(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat("tokenizer tables: ", args...));
}

template <class T>
absl::StatusOr<absl::Span<const T>> TakeArray(ByteReader& reader, uint64_t count,
                                              std::string_view what) {
  static_assert(alignof(T) <= alignof(uint32_t) && sizeof(T) % alignof(uint32_t) == 0);
  ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> bytes,
                        reader.TakeBytes(count, sizeof(T), what));
  return absl::MakeConstSpan(reinterpret_cast<const T*>(bytes.data()), count);
}

// Checks the length of a hash table and of its runs. Runs are at most those of two passes, since
// they continue at the start.
template <class Slot>
absl::Status CheckRuns(std::string_view what, absl::Span<const Slot> slots,
                       absl::FunctionRef<bool(const Slot&)> is_free) {
  if (!std::has_single_bit(slots.size())) {
    return Error("expected a power of two of slots of ", what, ", got ", slots.size());
  }
  size_t run = 0, longest = 0, free = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (const Slot& slot : slots) {
      const bool is_used = !is_free(slot);
      free += is_used ? 0 : 1;
      run = is_used ? run + 1 : 0;
      longest = std::max(longest, run);
      // The second pass completes the run that ends the first.
      if (pass == 1 && !is_used) break;
    }
  }
  if (free == 0) return Error("expected a free slot of ", what);
  if (longest > kLongestRun) {
    return Error("expected at most ", kLongestRun, " used slots of ", what, " in a row, got ",
                 longest);
  }
  return absl::OkStatus();
}

absl::Status CheckTokens(const Vocabulary::Tables& tables) {
  if (!IsUtf8(tables.bytes)) return Error("expected tokens in UTF-8");
  const uint64_t size = tables.bytes.size();
  // A continuation byte is not the start of a character.
  const auto at_character = [&](uint64_t at) {
    return at == size || (static_cast<unsigned char>(tables.bytes[at]) & 0xC0) != 0x80;
  };
  for (size_t id = 0; id < tables.tokens.size(); ++id) {
    const Vocabulary::Entry& entry = tables.tokens[id];
    if (entry.size == Vocabulary::kGap) continue;
    const uint64_t begin = entry.begin, end = begin + entry.size;  // below 2^33
    if (end > size) {
      return Error("token ", id, ": expected bytes below ", size, ", got ", begin, " to ", end);
    }
    if (!at_character(begin) || !at_character(end)) {
      return Error("token ", id, ": expected whole characters");
    }
  }
  for (const Vocabulary::Slot& slot : tables.slots) {
    if (slot.id == -1) continue;
    if (slot.id < -1 || static_cast<uint32_t>(slot.id) >= tables.tokens.size() ||
        tables.tokens[static_cast<size_t>(slot.id)].size == Vocabulary::kGap) {
      return Error("a slot has the unknown token ", slot.id);
    }
  }
  return CheckRuns<Vocabulary::Slot>("tokens", tables.slots,
                                     [](const Vocabulary::Slot& slot) { return slot.id < 0; });
}

absl::Status CheckMerges(const MergeTable::Tables& tables, size_t tokens) {
  const auto is_token = [&](int32_t id) { return static_cast<uint32_t>(id) < tokens; };
  for (size_t rank = 0; rank < tables.merges.size(); ++rank) {
    const MergeTable::Merge& merge = tables.merges[rank];
    if (!is_token(merge.left) || !is_token(merge.right) || !is_token(merge.token)) {
      return Error("merge ", rank, ": expected tokens below ", tokens, ", got ", merge.left, ", ",
                   merge.right, " and ", merge.token);
    }
  }
  for (const uint32_t rank : tables.slots) {
    if (rank != MergeTable::kFree && rank >= tables.merges.size()) {
      return Error("expected slots of ranks below ", tables.merges.size(), ", got ", rank);
    }
  }
  return CheckRuns<uint32_t>("merges", tables.slots,
                             [](uint32_t rank) { return rank == MergeTable::kFree; });
}

}  // namespace

absl::StatusOr<TokenizerTables> ParseTokenizerTables(absl::Span<const std::byte> bytes,
                                                     int64_t max_size) {
  if (!AsString(bytes).starts_with(kTokenizerTablesMagic)) {
    return absl::DataLossError("expected tables of a tokenizer, got other bytes");
  }
  ByteReader reader(bytes.subspan(kTokenizerTablesMagic.size()));
  ABSL_ASSIGN_OR_RETURN(const auto header,
                        reader.Take<TokenizerTablesHeader>("the counts of the tokenizer tables"));
  if (std::max(header.tokens, header.merges) > max_size) {
    return absl::ResourceExhaustedError(absl::StrCat("expected at most ", max_size,
                                                     " tokens and merges, got ", header.tokens,
                                                     " and ", header.merges));
  }
  TokenizerTables tables;
  Vocabulary::Tables& vocabulary = tables.model.vocabulary;
  MergeTable::Tables& merges = tables.model.merges;
  ABSL_ASSIGN_OR_RETURN(vocabulary.tokens,
                        TakeArray<Vocabulary::Entry>(reader, header.tokens, "tokens"));
  ABSL_ASSIGN_OR_RETURN(vocabulary.slots,
                        TakeArray<Vocabulary::Slot>(reader, header.token_slots, "token slots"));
  ABSL_ASSIGN_OR_RETURN(merges.merges,
                        TakeArray<MergeTable::Merge>(reader, header.merges, "merges"));
  ABSL_ASSIGN_OR_RETURN(merges.slots,
                        TakeArray<uint32_t>(reader, header.merge_slots, "merge slots"));
  ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> token_bytes,
                        reader.TakeBytes(header.token_bytes, 1, "strings of tokens"));
  ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> json,
                        reader.TakeBytes(header.json_bytes, 1, "the tokenizer.json"));
  ABSL_RETURN_IF_ERROR(reader.ExpectEnd());
  vocabulary.bytes = AsString(token_bytes);
  tables.json = AsString(json);
  ABSL_RETURN_IF_ERROR(CheckTokens(vocabulary));
  ABSL_RETURN_IF_ERROR(CheckMerges(merges, vocabulary.tokens.size()));
  return tables;
}

}  // namespace belay::llm
