// WordPiece (Wu et al. 2016, "Google's Neural Machine Translation System", §4.1; the longest token
// first, as BERT's tokenizer), and WordLevel: a token per piece.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/core/status_macros.h"
#include "runtime/llm/tokenizer/token_model.h"
#include "runtime/llm/tokenizer/unicode_text.h"

namespace belay::llm {
namespace {

class WordPieceModel : public TokenModel {
 public:
  WordPieceModel(Vocabulary vocabulary, int32_t unknown, std::string prefix, size_t most)
      : TokenModel(std::move(vocabulary)),
        unknown_(unknown),
        prefix_(std::move(prefix)),
        most_(most) {}

  void Tokenize(std::string_view piece, std::vector<int32_t>& tokens) const override {
    const size_t before = tokens.size();
    if (CodePoints(piece) > most_) {
      tokens.push_back(unknown_);
      return;
    }
    for (size_t at = 0; at < piece.size();) {
      std::string_view rest = piece.substr(at);
      std::optional<int32_t> token;
      while (!rest.empty()) {
        token = vocabulary_.Find(at == 0 ? std::string(rest) : prefix_ + std::string(rest));
        if (token.has_value()) break;
        rest.remove_suffix(LastUtf8Length(rest));
      }
      if (!token.has_value()) {
        tokens.resize(before);
        tokens.push_back(unknown_);
        return;
      }
      tokens.push_back(*token);
      at += rest.size();
    }
  }

 private:
  const int32_t unknown_;
  const std::string prefix_;
  const size_t most_;
};

class WordLevelModel : public TokenModel {
 public:
  WordLevelModel(Vocabulary vocabulary, std::optional<int32_t> unknown)
      : TokenModel(std::move(vocabulary)), unknown_(unknown) {}

  void Tokenize(std::string_view piece, std::vector<int32_t>& tokens) const override {
    std::optional<int32_t> token = vocabulary_.Find(piece);
    if (!token.has_value()) token = unknown_;
    if (token.has_value()) tokens.push_back(*token);
  }

 private:
  const std::optional<int32_t> unknown_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TokenModel>> ReadWordPiece(const JsonValue& json, int64_t max_size) {
  // Bounds the work, which is quadratic in the length of a piece.
  constexpr int64_t kMaxCharacters = 1000;
  ABSL_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::Read(json["vocab"], max_size));
  ABSL_ASSIGN_OR_RETURN(const std::optional<int32_t> unknown,
                        ReadToken(json["unk_token"], vocabulary));
  if (!unknown.has_value()) return json["unk_token"].Error("expected a token");
  ABSL_ASSIGN_OR_RETURN(const std::string prefix, json["continuing_subword_prefix"].StringOr("##"));
  ABSL_ASSIGN_OR_RETURN(const int64_t most, json["max_input_chars_per_word"].IntOr(100));
  if (most < 1 || most > kMaxCharacters) {
    return json["max_input_chars_per_word"].Error("expected a number from 1 to 1000");
  }
  return std::make_unique<WordPieceModel>(std::move(vocabulary), *unknown, prefix,
                                          static_cast<size_t>(most));
}

absl::StatusOr<std::unique_ptr<TokenModel>> ReadWordLevel(const JsonValue& json, int64_t max_size) {
  ABSL_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::Read(json["vocab"], max_size));
  // A file may name an unknown token that it does not have.
  ABSL_ASSIGN_OR_RETURN(const std::string name, json["unk_token"].StringOr(""));
  const std::optional<int32_t> unknown = vocabulary.Find(name);
  return std::make_unique<WordLevelModel>(std::move(vocabulary), unknown);
}

}  // namespace belay::llm
