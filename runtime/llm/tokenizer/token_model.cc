#include "runtime/llm/tokenizer/token_model.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/unicode_text.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {
namespace {

// Multiplies and folds, so that the low bits depend on all bits.
uint64_t Mix(uint64_t bits) {
  bits *= 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  bits ^= bits >> 32;
  bits *=
      0xbf58476d1ce4e5b9;  // Steele et al. 2014, "Fast Splittable Pseudorandom Number Generators"
  return bits ^ bits >> 29;
}

absl::Status CollisionError() {
  return absl::ResourceExhaustedError(
      absl::StrCat("expected fewer than ", kLongestProbe, " collisions in a hash table"));
}

}  // namespace

Vocabulary::Vocabulary() : slots_(16) { tables_.slots = slots_; }

uint32_t Vocabulary::HashOf(std::string_view token) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t hash = token.size();
  for (; token.size() > 8; token.remove_prefix(8)) {
    uint64_t bits;
    std::memcpy(&bits, token.data(), 8);
    hash = Mix(hash ^ bits);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, token.data(), token.size());
  return static_cast<uint32_t>(Mix(hash ^ bits));
}

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
  if (const std::optional<std::string_view> other = Token(id); other.has_value()) {
    if (*other == token) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("id ", id, " is that of ", Quoted(*other), " and of ", Quoted(token)));
  }
  // Bytes beyond 2^32 do not fit in an Entry: a JSON document of this size is refused earlier.
  if (bytes_.size() + token.size() > kGap - 1) {
    return absl::ResourceExhaustedError("expected fewer than 2^32 bytes of tokens");
  }
  if (index >= tokens_.size()) tokens_.resize(index + 1);
  tokens_[index] = {static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(token.size())};
  bytes_.insert(bytes_.end(), token.begin(), token.end());
  Reserve(used_ + 1);
  tables_ = {{bytes_.data(), bytes_.size()}, tokens_, slots_};
  const uint32_t hash = HashOf(token);
  const size_t mask = slots_.size() - 1;
  const size_t i = FindSlot(token, hash);
  if (slots_[i].id >= 0) return absl::OkStatus();  // keeps the first id of a token
  if (((i - hash) & mask) >= kLongestProbe) return CollisionError();
  slots_[i] = {hash, static_cast<int32_t>(id)};
  ++used_;
  return absl::OkStatus();
}

size_t Vocabulary::FindSlot(std::string_view token, uint32_t hash) const {
  const absl::Span<const Slot> slots = tables_.slots;
  const size_t mask = slots.size() - 1;
  size_t i = hash & mask;
  while (slots[i].id >= 0 && (slots[i].hash != hash || At(slots[i].id) != token)) {
    i = (i + 1) & mask;
  }
  return i;
}

void Vocabulary::Reserve(size_t count) {
  if (slots_.size() / 2 >= count) return;
  std::vector<Slot> slots(std::bit_ceil(2 * count));
  const size_t mask = slots.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.id < 0) continue;
    size_t i = slot.hash & mask;
    while (slots[i].id >= 0) i = (i + 1) & mask;
    slots[i] = slot;
  }
  slots_ = std::move(slots);
  tables_.slots = slots_;
}

absl::StatusOr<Vocabulary> Vocabulary::Read(const JsonValue& json, int64_t max_size) {
  ABSL_ASSIGN_OR_RETURN(const simdjson::dom::object object, json.Object());
  Vocabulary vocabulary;
  const size_t count = std::min(object.size(), static_cast<size_t>(max_size));
  vocabulary.Reserve(count);
  vocabulary.tokens_.reserve(count);
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
  const int32_t id = tables_.slots[FindSlot(token, HashOf(token))].id;
  return id < 0 ? std::nullopt : std::optional(id);
}

void Vocabulary::FindAll(absl::Span<const std::string_view> tokens, absl::Span<int32_t> ids) const {
  constexpr size_t kBlock = 32;
  const absl::Span<const Slot> slots = tables_.slots;
  const size_t mask = slots.size() - 1;
  for (size_t begin = 0; begin < tokens.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, tokens.size() - begin);
    uint32_t hashes[kBlock];
    // Each loop prefetches the memory that the next one reads.
    for (size_t i = 0; i < count; ++i) {
      hashes[i] = HashOf(tokens[begin + i]);
      __builtin_prefetch(&slots[hashes[i] & mask]);
    }
    for (size_t i = 0; i < count; ++i) {
      const int32_t id = slots[hashes[i] & mask].id;
      ids[begin + i] = id;
      if (id >= 0) __builtin_prefetch(&tables_.tokens[static_cast<size_t>(id)]);
    }
    for (size_t i = 0; i < count; ++i) {
      if (ids[begin + i] >= 0) __builtin_prefetch(At(ids[begin + i]).data());
    }
    for (size_t i = 0; i < count; ++i) {
      ids[begin + i] = slots[FindSlot(tokens[begin + i], hashes[i])].id;
    }
  }
}

std::optional<std::string_view> Vocabulary::Token(int64_t id) const {
  if (id < 0 || id >= size()) return std::nullopt;
  if (tables_.tokens[static_cast<size_t>(id)].size == kGap) return std::nullopt;
  return At(static_cast<int32_t>(id));
}

MergeTable::MergeTable(size_t count) : slots_(std::bit_ceil(2 * count + 1), kFree) {
  merges_.reserve(count);
  tables_ = {merges_, slots_};
}

size_t MergeTable::FirstSlot(int32_t left, int32_t right) const {
  const uint64_t pair = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  return Mix(pair) & (tables_.slots.size() - 1);
}

size_t MergeTable::FindSlot(int32_t left, int32_t right) const {
  const absl::Span<const uint32_t> slots = tables_.slots;
  size_t i = FirstSlot(left, right);
  while (slots[i] != kFree) {
    const Merge& merge = tables_.merges[slots[i]];
    if (merge.left == left && merge.right == right) break;
    i = (i + 1) & (slots.size() - 1);
  }
  return i;
}

absl::Status MergeTable::Add(const Merge& merge) {
  const size_t i = FindSlot(merge.left, merge.right);
  const size_t probes = (i - FirstSlot(merge.left, merge.right)) & (slots_.size() - 1);
  if (probes >= kLongestProbe) return CollisionError();
  slots_[i] = static_cast<uint32_t>(merges_.size());
  merges_.push_back(merge);
  tables_.merges = merges_;
  return absl::OkStatus();
}

std::optional<uint32_t> MergeTable::Find(int32_t left, int32_t right) const {
  const uint32_t rank = tables_.slots[FindSlot(left, right)];
  return rank == kFree ? std::nullopt : std::optional(rank);
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
                                                             int64_t max_size,
                                                             const ModelTables* tables) {
  // Older files have no type.
  ABSL_ASSIGN_OR_RETURN(const std::string type,
                        json["type"].StringOr(json["merges"].exists() ? "BPE" : ""));
  if (type == "BPE" || tables != nullptr) return ReadBpe(json, max_size, tables);
  if (type == "Unigram") return ReadUnigram(json, max_size);
  if (type == "WordPiece") return ReadWordPiece(json, max_size);
  if (type == "WordLevel") return ReadWordLevel(json, max_size);
  if (type.empty()) return json["type"].Error("expected BPE, Unigram, WordPiece or WordLevel");
  return json.Unsupported(type);
}

}  // namespace belay::llm
