// Unigram language model: the segmentation of the largest sum of scores (Kudo 2018, "Subword
// Regularization", §3.2), found by Viterbi's algorithm.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/token_model.h"
#include "runtime/llm/tokenizer/unicode_text.h"

namespace belay::llm {
namespace {

// Score of an unknown character below the smallest score, as in SentencePiece.
constexpr double kUnknownPenalty = 10;

class UnigramModel : public TokenModel {
 public:
  UnigramModel(Vocabulary vocabulary, std::vector<double> scores, std::optional<int32_t> unknown,
               bool byte_fallback, size_t longest)
      : TokenModel(std::move(vocabulary)),
        scores_(std::move(scores)),
        unknown_(unknown),
        byte_fallback_(byte_fallback),
        longest_(longest) {
    unknown_score_ =
        (scores_.empty() ? 0 : *std::min_element(scores_.begin(), scores_.end())) - kUnknownPenalty;
  }

  // O(n * longest token).
  void Tokenize(std::string_view piece, std::vector<int32_t>& tokens) const override {
    struct Best {
      int32_t token = -1;  // -1: unknown
      ptrdiff_t start = -1;
      double score = 0;
    };
    std::vector<Best> best(piece.size() + 1);
    for (size_t at = 0; at < piece.size();) {
      const double score = best[at].score;
      const size_t character = Utf8Length(piece[at]);
      bool has_character = false;
      const auto offer = [&](size_t end, int32_t token, double sum) {
        if (best[end].start < 0 || sum > best[end].score) {
          best[end] = {token, static_cast<ptrdiff_t>(at), sum};
        }
      };
      const size_t most = std::min(longest_, piece.size() - at);
      for (size_t n = character; n <= most;) {
        const std::optional<int32_t> token = vocabulary_.Find(piece.substr(at, n));
        if (token.has_value()) {
          offer(at + n, *token, scores_[static_cast<size_t>(*token)] + score);
          has_character = has_character || n == character;
        }
        if (at + n >= piece.size()) break;
        n += Utf8Length(piece[at + n]);
      }
      if (!has_character) offer(at + character, -1, unknown_score_ + score);
      at += character;
    }
    std::vector<std::pair<int32_t, std::string_view>> path;  // from the end
    for (size_t end = piece.size(); end > 0;) {
      const Best& last = best[end];
      const auto start = static_cast<size_t>(last.start);
      const bool unknown = last.token < 0 || last.token == unknown_;
      if (unknown && !path.empty() && path.back().first < 0) {
        // Adjacent unknown characters are one token.
        path.back().second =
            std::string_view(piece.data() + start, path.back().second.size() + end - start);
      } else {
        path.emplace_back(unknown ? -1 : last.token, piece.substr(start, end - start));
      }
      end = start;
    }
    for (auto it = path.rbegin(); it != path.rend(); ++it) {
      if (it->first >= 0) {
        tokens.push_back(it->first);
        continue;
      }
      if (const std::optional<int32_t> token = vocabulary_.Find(it->second)) {
        tokens.push_back(*token);
      } else if (!byte_fallback_ || !AppendByteTokens(vocabulary_, it->second, tokens)) {
        if (unknown_.has_value()) tokens.push_back(*unknown_);
      }
    }
  }

 private:
  const std::vector<double> scores_;
  const std::optional<int32_t> unknown_;
  const bool byte_fallback_;
  const size_t longest_;  // bytes of the longest token
  double unknown_score_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TokenModel>> ReadUnigram(const JsonValue& json, int64_t max_size) {
  const JsonValue field = json["vocab"];
  ABSL_ASSIGN_OR_RETURN(const simdjson::dom::array array, field.Array());
  Vocabulary vocabulary;
  std::vector<double> scores;
  size_t longest = 1;
  for (const simdjson::dom::element element : array) {
    simdjson::dom::array pair;
    std::string_view token;
    double score;
    if (element.get_array().get(pair) != 0 || pair.size() != 2 ||
        pair.at(0).get_string().get(token) != 0 || pair.at(1).get_double().get(score) != 0) {
      return field.Error(absl::StrCat("[", scores.size(), "]: expected a token and a score"));
    }
    const absl::Status status =
        vocabulary.Add(token, static_cast<int64_t>(scores.size()), max_size);
    if (!status.ok()) return field.Error(status);
    scores.push_back(score);
    longest = std::max(longest, token.size());
  }
  std::optional<int32_t> unknown;
  if (json["unk_id"].exists()) {
    ABSL_ASSIGN_OR_RETURN(const int64_t id, json["unk_id"].Int());
    if (id < 0 || id >= vocabulary.size()) {
      return json["unk_id"].Error(
          absl::StrCat("expected an id in [0, ", vocabulary.size(), "), got ", id));
    }
    unknown = static_cast<int32_t>(id);
  }
  ABSL_ASSIGN_OR_RETURN(const bool byte_fallback, json["byte_fallback"].Bool(false));
  return std::make_unique<UnigramModel>(std::move(vocabulary), std::move(scores), unknown,
                                        byte_fallback, longest);
}

}  // namespace belay::llm
