// Byte pair encoding: merges the adjacent pair of the lowest rank until no pair has a merge
// (Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units").
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/token_model.h"
#include "runtime/llm/tokenizer/unicode_text.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {
namespace {

struct BpeOptions {
  std::optional<int32_t> unknown;
  std::string prefix;  // of the characters of a piece after the first
  std::string suffix;  // of the last character of a piece
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
};
class BpeModel : public TokenModel {
 public:
  BpeModel(Vocabulary vocabulary, BpeOptions options, MergeTable merges)
      : TokenModel(std::move(vocabulary)),
        options_(std::move(options)),
        merges_(std::move(merges)) {}

  void Tokenize(std::string_view piece, std::vector<int32_t>& tokens) const override {
    if (options_.ignore_merges) {
      if (const std::optional<int32_t> token = vocabulary_.Find(piece); token.has_value()) {
        tokens.push_back(*token);
        return;
      }
    }
    MergeAll(Characters(piece), tokens);
  }
  const MergeTable* merges() const override { return &merges_; }

 private:
  // Returns the tokens of the characters.
  std::vector<int32_t> Characters(std::string_view piece) const {
    std::vector<int32_t> tokens;
    bool pending = false;  // an unknown token that is not added yet
    const size_t size = piece.size();
    size_t end = 0;
    ForEachCodePoint(piece, [&](char32_t, std::string_view bytes) {
      const bool first = end == 0;
      end += bytes.size();
      std::string character;
      if (!first) character = options_.prefix;
      character += bytes;
      if (end == size) character += options_.suffix;
      if (const std::optional<int32_t> token = vocabulary_.Find(character); token.has_value()) {
        if (std::exchange(pending, false)) tokens.push_back(*options_.unknown);
        tokens.push_back(*token);
        return;
      }
      if (options_.byte_fallback && AppendByteTokens(vocabulary_, character, tokens)) return;
      if (!options_.unknown.has_value()) return;
      if (pending && !options_.fuse_unknown) tokens.push_back(*options_.unknown);
      pending = true;
    });
    if (pending) tokens.push_back(*options_.unknown);
    return tokens;
  }

  // A list of symbols, and a queue of merges by rank, then position: O(n log n).
  void MergeAll(const std::vector<int32_t>& symbols, std::vector<int32_t>& tokens) const {
    struct Symbol {
      int32_t token;
      ptrdiff_t previous, next;
    };
    struct Candidate {
      uint32_t rank;
      ptrdiff_t left;
      int32_t left_token, right_token, token;
      bool operator<(const Candidate& other) const {
        return rank != other.rank ? rank > other.rank : left > other.left;
      }
    };
    const auto count = static_cast<ptrdiff_t>(symbols.size());
    std::vector<Symbol> list;
    list.reserve(symbols.size());
    for (ptrdiff_t i = 0; i < count; ++i) {
      list.push_back({symbols[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
    }
    const auto at = [&](ptrdiff_t i) -> Symbol& { return list[static_cast<size_t>(i)]; };
    std::priority_queue<Candidate> queue;
    const auto add = [&](ptrdiff_t left) {
      if (left < 0 || at(left).next < 0) return;
      const int32_t a = at(left).token, b = at(at(left).next).token;
      if (const std::optional<uint32_t> rank = merges_.Find(a, b); rank.has_value()) {
        queue.push({*rank, left, a, b, merges_.merge(*rank).token});
      }
    };
    for (ptrdiff_t i = 0; i < count; ++i) add(i);
    while (!queue.empty()) {
      const Candidate top = queue.top();
      queue.pop();
      Symbol& left = at(top.left);
      if (left.token != top.left_token || left.next < 0) continue;
      Symbol& right = at(left.next);
      if (right.token != top.right_token) continue;
      left.token = top.token;
      right.token = -1;  // erased
      left.next = right.next;
      if (left.next >= 0) at(left.next).previous = top.left;
      add(left.previous);
      add(top.left);
    }
    for (ptrdiff_t i = count == 0 ? -1 : 0; i >= 0; i = at(i).next) tokens.push_back(at(i).token);
  }

  const BpeOptions options_;
  const MergeTable merges_;
};

// A merge is ["left", "right"], or "left right" in older files.
absl::StatusOr<std::pair<std::string_view, std::string_view>> ReadMerge(
    const JsonValue& json, simdjson::dom::element element, size_t index) {
  std::string_view text;
  simdjson::dom::array pair;
  if (element.get_string().get(text) == 0) {
    const size_t space = text.find(' ');
    if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
      return std::pair(text.substr(0, space), text.substr(space + 1));
    }
  } else if (element.get_array().get(pair) == 0 && pair.size() == 2) {
    std::string_view left, right;
    if (pair.at(0).get_string().get(left) == 0 && pair.at(1).get_string().get(right) == 0) {
      return std::pair(left, right);
    }
  }
  return json.Error(absl::StrCat("[", index, "]: expected a pair of tokens"));
}

// Reads merges in blocks, so that the cache misses of their lookups overlap.
class MergeReader {
 public:
  // `count`: maximum number of merges.
  MergeReader(const JsonValue& json, const Vocabulary& vocabulary, std::string_view prefix,
              size_t count)
      : json_(json), vocabulary_(vocabulary), prefix_(prefix), merges_(count) {}

  absl::Status Add(simdjson::dom::element element, size_t index) {
    ABSL_ASSIGN_OR_RETURN(const auto pair, ReadMerge(json_, element, index));
    const auto& [left, right] = pair;
    std::string_view rest = right;
    if (!prefix_.empty() && rest.starts_with(prefix_)) rest.remove_prefix(prefix_.size());
    const size_t i = size_++;
    merged_[i].assign(left).append(rest);
    strings_[3 * i] = left;
    strings_[3 * i + 1] = right;
    strings_[3 * i + 2] = merged_[i];
    if (size_ < kBlock) return absl::OkStatus();
    return AddBlock();
  }
  absl::StatusOr<MergeTable> Finish() && {
    ABSL_RETURN_IF_ERROR(AddBlock());
    return std::move(merges_);
  }

 private:
  static constexpr size_t kBlock = 16;

  absl::Status AddBlock() {
    std::array<int32_t, 3 * kBlock> ids;
    vocabulary_.FindAll(absl::MakeConstSpan(strings_).first(3 * size_), absl::MakeSpan(ids));
    for (size_t i = 0; i < size_; ++i) merges_.Prefetch(ids[3 * i], ids[3 * i + 1]);
    for (size_t i = 0; i < size_; ++i) {
      const int32_t left = ids[3 * i], right = ids[3 * i + 1], both = ids[3 * i + 2];
      const size_t index = added_ + i;
      if (left < 0 || right < 0 || both < 0) {
        return json_.Error(absl::StrCat("[", index, "]: expected tokens of the vocabulary, got ",
                                        Quoted(strings_[3 * i]), ", ", Quoted(strings_[3 * i + 1]),
                                        " and their concatenation"));
      }
      if (const absl::Status status = merges_.Add({left, right, both}); !status.ok()) {
        return json_.Error(status);
      }
    }
    added_ += size_;
    size_ = 0;
    return absl::OkStatus();
  }

  const JsonValue& json_;
  const Vocabulary& vocabulary_;
  const std::string_view prefix_;
  MergeTable merges_;
  size_t added_ = 0;  // merges before the block
  size_t size_ = 0;   // of the block
  // Left token, right token and their concatenation.
  std::array<std::string_view, 3 * kBlock> strings_;
  std::array<std::string, kBlock> merged_;
};

absl::StatusOr<MergeTable> ReadMerges(const JsonValue& field, const Vocabulary& vocabulary,
                                      std::string_view prefix, int64_t max_size) {
  ABSL_ASSIGN_OR_RETURN(const simdjson::dom::array array, field.Array());
  MergeReader reader(field, vocabulary, prefix,
                     std::min(array.size(), static_cast<size_t>(max_size)));
  size_t index = 0;
  for (const simdjson::dom::element element : array) {
    if (index >= static_cast<size_t>(max_size)) {
      return field.Error(absl::StrCat("expected at most ", max_size, " merges"),
                         absl::StatusCode::kResourceExhausted);
    }
    ABSL_RETURN_IF_ERROR(reader.Add(element, index));
    ++index;
  }
  return std::move(reader).Finish();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenModel>> ReadBpe(const JsonValue& json, int64_t max_size,
                                                    const ModelTables* tables) {
  Vocabulary vocabulary;
  if (tables != nullptr) {
    vocabulary = Vocabulary(tables->vocabulary);
  } else {
    ABSL_ASSIGN_OR_RETURN(vocabulary, Vocabulary::Read(json["vocab"], max_size));
  }
  BpeOptions options;
  ABSL_ASSIGN_OR_RETURN(options.unknown, ReadToken(json["unk_token"], vocabulary));
  ABSL_ASSIGN_OR_RETURN(options.prefix, json["continuing_subword_prefix"].StringOr(""));
  ABSL_ASSIGN_OR_RETURN(options.suffix, json["end_of_word_suffix"].StringOr(""));
  ABSL_ASSIGN_OR_RETURN(options.fuse_unknown, json["fuse_unk"].Bool(false));
  ABSL_ASSIGN_OR_RETURN(options.byte_fallback, json["byte_fallback"].Bool(false));
  ABSL_ASSIGN_OR_RETURN(options.ignore_merges, json["ignore_merges"].Bool(false));
  if (json["dropout"].exists()) {
    ABSL_ASSIGN_OR_RETURN(const double dropout, json["dropout"].Double());
    if (dropout != 0) return json.Unsupported("dropout");
  }
  if (tables != nullptr) {
    return std::make_unique<BpeModel>(std::move(vocabulary), std::move(options),
                                      MergeTable(tables->merges));
  }
  ABSL_ASSIGN_OR_RETURN(MergeTable merges,
                        ReadMerges(json["merges"], vocabulary, options.prefix, max_size));
  return std::make_unique<BpeModel>(std::move(vocabulary), std::move(options), std::move(merges));
}

}  // namespace belay::llm
