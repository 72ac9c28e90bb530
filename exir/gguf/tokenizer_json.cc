#include "exir/gguf/tokenizer_json.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/utf8.h"

namespace belay::exir {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kModel = "tokenizer.ggml.model", kPre = "tokenizer.ggml.pre",
                           kTokens = "tokenizer.ggml.tokens", kScores = "tokenizer.ggml.scores",
                           kTypes = "tokenizer.ggml.token_type", kMerges = "tokenizer.ggml.merges",
                           kTemplate = "tokenizer.chat_template";
// Splits of a token are tried, so that the time is this times the bytes of all tokens.
constexpr size_t kMostSplitBytes = 256;
constexpr std::string_view kSpace = "\u2581";  // SentencePiece's

enum TokenType : int64_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kByte = 6 };

// Regular expressions before BPE of bytes.
struct PreTokenizerRow {
  std::string_view name;
  std::string_view pattern;  // "": the one of GPT-2, which ByteLevel has
  bool splits_digits, normalizes, ignores_merges, adds_bos;
};
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr PreTokenizerRow kPreTokenizers[] = {
    {"default", "", false, false, false, false},      {"gpt-2", "", false, false, false, false},
    {"llama-bpe", kLlama3, false, false, true, true}, {"llama3", kLlama3, false, false, true, true},
    {"llama-v3", kLlama3, false, false, true, true},  {"qwen2", kQwen2, false, true, false, false},
    {"smollm", "", true, false, false, false},
};

absl::Status Invalid(std::string_view key, std::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat("key '", key, "': ", problem));
}

std::string Compact(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

// The tokens of a file, which must outlive it.
class Vocabulary {
 public:
  static absl::StatusOr<Vocabulary> Read(const GgufFile& file) {
    Vocabulary vocabulary;
    ABSL_ASSIGN_OR_RETURN(vocabulary.tokens_, file.Strings(kTokens));
    const std::vector<std::string_view>& tokens = vocabulary.tokens_;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!IsUtf8(tokens[i])) return Invalid(kTokens, absl::StrCat("token ", i, " is not UTF-8"));
      if (const auto [it, added] = vocabulary.ids_.emplace(tokens[i], i); !added) {
        return Invalid(kTokens, absl::StrCat("tokens ", it->second, " and ", i, " are equal"));
      }
    }
    vocabulary.types_.assign(tokens.size(), kNormal);
    if (!file.Has(kTypes)) return vocabulary;
    ABSL_ASSIGN_OR_RETURN(vocabulary.types_, file.Ints(kTypes));
    if (vocabulary.types_.size() == tokens.size()) return vocabulary;
    return Invalid(kTypes, absl::StrCat("expected ", tokens.size(), " elements, got ",
                                        vocabulary.types_.size()));
  }

  const std::vector<std::string_view>& tokens() const { return tokens_; }
  int64_t type(size_t id) const { return types_[id]; }
  // nullopt for other tokens and unknown ones.
  std::optional<size_t> FindNormal(std::string_view token) const {
    const auto it = ids_.find(token);
    return it == ids_.end() || types_[it->second] != kNormal ? std::nullopt
                                                             : std::optional(it->second);
  }
  // Returns the id in key "tokenizer.ggml.<name>_token_id"; nullopt without the key.
  absl::StatusOr<std::optional<size_t>> IdOf(const GgufFile& file, std::string_view name) const {
    const std::string key = absl::StrCat("tokenizer.ggml.", name, "_token_id");
    if (!file.Has(key)) return std::nullopt;
    ABSL_ASSIGN_OR_RETURN(const int64_t id, file.Int(key));
    if (id >= 0 && static_cast<uint64_t>(id) < tokens_.size()) return static_cast<size_t>(id);
    return Invalid(key, absl::StrCat("expected an id below ", tokens_.size(), ", got ", id));
  }

  std::string AddedJson() const {
    std::string text;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const bool special = types_[i] == kControl || types_[i] == kUnknown;
      if (!special && types_[i] != kUserDefined) continue;
      absl::StrAppend(&text, text.empty() ? "" : ",", "{\"id\":", i,
                      ",\"content\":", Compact(tokens_[i]),
                      ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
                      "\"normalized\":false,\"special\":",
                      special ? "true" : "false", "}");
    }
    return absl::StrCat("[", text, "]");
  }
  std::string IdsJson() const {
    std::string text;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : ",", Compact(tokens_[i]), ":", i);
    }
    return absl::StrCat("{", text, "}");
  }

 private:
  std::vector<std::string_view> tokens_;
  std::vector<int64_t> types_;
  absl::flat_hash_map<std::string_view, size_t> ids_;
};

using Merge = std::pair<std::string_view, std::string_view>;

std::string MergesJson(const std::vector<Merge>& merges) {
  std::string text;
  for (const auto& [left, right] : merges) {
    absl::StrAppend(&text, text.empty() ? "" : ",", "[", Compact(left), ",", Compact(right), "]");
  }
  return absl::StrCat("[", text, "]");
}

// All splits of tokens into two tokens, by descending score.
absl::StatusOr<std::vector<Merge>> SplitsByScore(const Vocabulary& vocabulary,
                                                 const std::vector<float>& scores) {
  const std::vector<std::string_view>& tokens = vocabulary.tokens();
  std::vector<size_t> order;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (vocabulary.type(i) != kNormal) continue;
    if (tokens[i].size() > kMostSplitBytes) {
      return absl::UnimplementedError(absl::StrCat("key '", kTokens, "': expected at most ",
                                                   kMostSplitBytes, " bytes, token ", i, " has ",
                                                   tokens[i].size()));
    }
    if (std::isnan(scores[i])) {
      return Invalid(kScores, absl::StrCat("element ", i, " is not a number"));
    }
    order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });
  std::vector<Merge> merges;
  for (size_t id : order) {
    const std::string_view token = tokens[id];
    // Longer first parts first, as in tokenizer.json files of converted SentencePiece models.
    for (size_t at = token.size(); at-- > 1;) {
      if (FirstUtf8Length(token.substr(at)) < 0) continue;  // inside a code point
      const std::string_view left = token.substr(0, at), right = token.substr(at);
      if (vocabulary.FindNormal(left).has_value() && vocabulary.FindNormal(right).has_value()) {
        merges.emplace_back(left, right);
      }
    }
  }
  return merges;
}

absl::StatusOr<std::vector<Merge>> ReadMerges(const GgufFile& file) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string_view> strings, file.Strings(kMerges));
  std::vector<Merge> merges;
  for (size_t i = 0; i < strings.size(); ++i) {
    const size_t space = strings[i].find(' ', 1);
    if (!IsUtf8(strings[i]) || space == std::string_view::npos || space + 1 == strings[i].size()) {
      return Invalid(kMerges, absl::StrCat("expected two tokens in UTF-8 in element ", i));
    }
    merges.emplace_back(strings[i].substr(0, space), strings[i].substr(space + 1));
  }
  return merges;
}

// Adds the tokens of the beginning and the end of a text.
absl::StatusOr<Json> PostProcessor(const GgufFile& file, const Vocabulary& vocabulary,
                                   bool adds_bos) {
  Json single = Json::array(), special = Json::object();
  const auto add = [&](std::string_view name, bool is_default) -> absl::Status {
    const std::string key = absl::StrCat("tokenizer.ggml.add_", name, "_token");
    ABSL_ASSIGN_OR_RETURN(const bool adds, file.Bool(key, is_default));
    if (!adds) return absl::OkStatus();
    ABSL_ASSIGN_OR_RETURN(const std::optional<size_t> id, vocabulary.IdOf(file, name));
    if (!id.has_value()) {
      return file.Has(key) ? Invalid(key, absl::StrCat("there is no ", name, "_token_id"))
                           : absl::OkStatus();
    }
    const std::string text(vocabulary.tokens()[*id]);
    single.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
    special[text] = {{"id", text}, {"ids", {*id}}, {"tokens", {text}}};
    return absl::OkStatus();
  };
  ABSL_RETURN_IF_ERROR(add("bos", adds_bos));
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  ABSL_RETURN_IF_ERROR(add("eos", false));
  if (special.empty()) return Json();
  return Json{{"type", "TemplateProcessing"},
              {"single", single},
              {"pair", Json::array({{{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
                                    {{"Sequence", {{"id", "B"}, {"type_id", 1}}}}})},
              {"special_tokens", special}};
}

Json Sequence(std::string_view part, std::vector<Json> steps) {
  if (steps.empty()) return Json();
  if (steps.size() == 1) return steps[0];
  return Json{{"type", "Sequence"}, {part, std::move(steps)}};
}
Json Replace(std::string_view from, std::string_view to) {
  return Json{{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

// The steps of a tokenizer around its vocabulary and merges.
struct Steps {
  Json normalizer, pre_tokenizer, post_processor, decoder, unknown;
  bool byte_fallback = false, ignores_merges = false;
};

std::string Assemble(const Vocabulary& vocabulary, const std::vector<Merge>& merges,
                     const Steps& steps) {
  return absl::StrCat(
      "{\"version\":\"1.0\",\"added_tokens\":", vocabulary.AddedJson(),
      ",\"normalizer\":", Compact(steps.normalizer),
      ",\"pre_tokenizer\":", Compact(steps.pre_tokenizer),
      ",\"post_processor\":", Compact(steps.post_processor),
      ",\"decoder\":", Compact(steps.decoder),
      ",\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":", Compact(steps.unknown),
      ",\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":true,"
      "\"byte_fallback\":",
      steps.byte_fallback ? "true" : "false",
      ",\"ignore_merges\":", steps.ignores_merges ? "true" : "false",
      ",\"vocab\":", vocabulary.IdsJson(), ",\"merges\":", MergesJson(merges), "}}");
}

absl::StatusOr<std::string> SentencePiece(const GgufFile& file, const Vocabulary& vocabulary) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<float> scores, file.Floats(kScores));
  const size_t count = vocabulary.tokens().size();
  if (scores.size() != count) {
    return Invalid(kScores, absl::StrCat("expected ", count, " elements, got ", scores.size()));
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<Merge> merges, SplitsByScore(vocabulary, scores));
  ABSL_ASSIGN_OR_RETURN(const bool prefix, file.Bool("tokenizer.ggml.add_space_prefix", true));
  Steps steps;
  std::vector<Json> normalizer, decoder = {Replace(kSpace, " ")};
  if (prefix) normalizer.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
  normalizer.push_back(Replace(" ", kSpace));
  decoder.push_back({{"type", "ByteFallback"}});
  decoder.push_back({{"type", "Fuse"}});
  if (prefix) {
    decoder.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  steps.normalizer = Sequence("normalizers", std::move(normalizer));
  steps.decoder = Sequence("decoders", std::move(decoder));
  ABSL_ASSIGN_OR_RETURN(steps.post_processor, PostProcessor(file, vocabulary, /*adds_bos=*/true));
  ABSL_ASSIGN_OR_RETURN(const std::optional<size_t> unknown, vocabulary.IdOf(file, "unknown"));
  if (unknown.has_value()) steps.unknown = vocabulary.tokens()[*unknown];
  for (size_t i = 0; i < count; ++i) steps.byte_fallback |= vocabulary.type(i) == kByte;
  return Assemble(vocabulary, merges, steps);
}

absl::StatusOr<std::string> BytePairs(const GgufFile& file, const Vocabulary& vocabulary) {
  ABSL_ASSIGN_OR_RETURN(const std::string_view pre, file.String(kPre, "default"));
  const PreTokenizerRow* row = nullptr;
  for (const PreTokenizerRow& candidate : kPreTokenizers) {
    if (candidate.name == pre) row = &candidate;
  }
  if (row == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        "key '", kPre, "': '", pre, "' is not supported; supported: ",
        absl::StrJoin(kPreTokenizers, ", ",
                      [](std::string* out, const auto& known) { out->append(known.name); })));
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<Merge> merges, ReadMerges(file));
  Steps steps;
  std::vector<Json> pre_tokenizer;
  if (row->normalizes) steps.normalizer = {{"type", "NFC"}};
  if (row->splits_digits) {
    pre_tokenizer.push_back({{"type", "Digits"}, {"individual_digits", true}});
  }
  if (!row->pattern.empty()) {
    pre_tokenizer.push_back({{"type", "Split"},
                             {"pattern", {{"Regex", row->pattern}}},
                             {"behavior", "Isolated"},
                             {"invert", false}});
  }
  const auto byte_level = [](bool use_regex) {
    return Json{{"type", "ByteLevel"},
                {"add_prefix_space", false},
                {"trim_offsets", true},
                {"use_regex", use_regex}};
  };
  pre_tokenizer.push_back(byte_level(row->pattern.empty()));
  steps.pre_tokenizer = Sequence("pretokenizers", std::move(pre_tokenizer));
  steps.decoder = byte_level(true);
  steps.ignores_merges = row->ignores_merges;
  ABSL_ASSIGN_OR_RETURN(steps.post_processor, PostProcessor(file, vocabulary, row->adds_bos));
  return Assemble(vocabulary, merges, steps);
}

absl::StatusOr<std::string> Convert(const GgufFile& file) {
  if (!file.Has(kModel)) return absl::NotFoundError(absl::StrCat("there is no key '", kModel, "'"));
  ABSL_ASSIGN_OR_RETURN(const std::string_view model, file.String(kModel));
  if (model != "llama" && model != "gpt2") {
    return absl::UnimplementedError(
        absl::StrCat("key '", kModel, "': expected 'llama' or 'gpt2', got '", model, "'"));
  }
  ABSL_ASSIGN_OR_RETURN(const Vocabulary vocabulary, Vocabulary::Read(file));
  return model == "llama" ? SentencePiece(file, vocabulary) : BytePairs(file, vocabulary);
}

absl::StatusOr<std::string> ConvertTemplate(const GgufFile& file) {
  if (!file.Has(kTemplate)) {
    return absl::NotFoundError(absl::StrCat("there is no key '", kTemplate, "'"));
  }
  ABSL_ASSIGN_OR_RETURN(const std::string_view text, file.String(kTemplate));
  if (!IsUtf8(text)) return Invalid(kTemplate, "expected UTF-8");
  ABSL_ASSIGN_OR_RETURN(const Vocabulary vocabulary, Vocabulary::Read(file));
  Json json = {{"chat_template", text}};
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"bos", "bos_token"},
                                                                      {"eos", "eos_token"},
                                                                      {"unknown", "unk_token"},
                                                                      {"padding", "pad_token"}};
  for (const auto& [name, field] : kNames) {
    ABSL_ASSIGN_OR_RETURN(const std::optional<size_t> id, vocabulary.IdOf(file, name));
    if (id.has_value()) json[std::string(field)] = vocabulary.tokens()[*id];
  }
  return Compact(json);
}

absl::StatusOr<std::string> WithPrintableError(absl::StatusOr<std::string> json) {
  if (!json.ok()) return Printable(json.status());
  return json;
}

}  // namespace

absl::StatusOr<std::string> TokenizerJson(const GgufFile& file) {
  return WithPrintableError(Convert(file));
}
absl::StatusOr<std::string> ChatTemplateJson(const GgufFile& file) {
  return WithPrintableError(ConvertTemplate(file));
}

}  // namespace belay::exir
