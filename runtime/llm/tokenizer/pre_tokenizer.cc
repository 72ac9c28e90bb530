#include "runtime/llm/tokenizer/pre_tokenizer.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/byte_characters.h"
#include "runtime/llm/tokenizer/pattern_field.h"
#include "runtime/llm/tokenizer/unicode_text.h"

namespace belay::llm {
namespace {

using Step = PreTokenizer::Step;

constexpr int kMaxDepth = 8;
// Of GPT-2: https://github.com/openai/gpt-2/blob/master/src/encoder.py.
constexpr std::string_view kByteLevelExpression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// \w+|[^\w\s]+ with the word characters of Unicode (UTS #18, Annex C), as in Rust.
constexpr std::string_view kWordExpression =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]+)"
    R"(|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}\s]+)";

// Treatment of the matches of a split.
enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

absl::StatusOr<Behavior> ReadBehavior(const JsonValue& json) {
  constexpr std::pair<std::string_view, Behavior> kNames[] = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous},
  };
  ABSL_ASSIGN_OR_RETURN(const std::string_view name, json.String());
  for (const auto& [known, behavior] : kNames) {
    if (known == name) return behavior;
  }
  return json.Error("expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

// Merges or removes ranges that are matches.
std::vector<TextRange> Merged(const std::vector<TextRange>& ranges, Behavior behavior) {
  std::vector<TextRange> result;
  bool previous = false;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const TextRange& range = ranges[i];
    switch (behavior) {
      case Behavior::kRemoved:
        if (!range.is_match) result.push_back(range);
        break;
      case Behavior::kIsolated:
        result.push_back(range);
        break;
      case Behavior::kContiguous:
        if (i > 0 && range.is_match == previous) {
          result.back().end = range.end;
        } else {
          result.push_back(range);
        }
        break;
      case Behavior::kMergedWithPrevious:
        // A match joins the range before it, unless that is a match, too.
        if (range.is_match && !previous && !result.empty()) {
          result.back().end = range.end;
        } else {
          result.push_back(range);
        }
        break;
      case Behavior::kMergedWithNext:
        // A range that is not a match joins the match before it.
        if (!range.is_match && previous) {
          result.back().end = range.end;
        } else {
          result.push_back(range);
        }
        break;
    }
    previous = range.is_match;
  }
  return result;
}

std::vector<Piece> PiecesOf(const Piece& piece, const std::vector<TextRange>& ranges) {
  std::vector<Piece> pieces;
  for (const TextRange& range : ranges) {
    if (range.begin == range.end) continue;
    pieces.push_back({piece.text.substr(range.begin, range.end - range.begin),
                      piece.at_start && range.begin == 0});
  }
  return pieces;
}

Step SplitStep(Pattern pattern, Behavior behavior, bool invert) {
  return [pattern = std::move(pattern), behavior,
          invert](const Piece& piece) -> absl::StatusOr<std::vector<Piece>> {
    ABSL_ASSIGN_OR_RETURN(std::vector<TextRange> ranges, pattern.Split(piece.text));
    if (invert) {
      for (TextRange& range : ranges) range.is_match = !range.is_match;
    }
    return PiecesOf(piece, Merged(ranges, behavior));
  };
}

// Splits at single code points.
Step SplitAt(std::function<bool(char32_t)> is_match, Behavior behavior) {
  return [is_match = std::move(is_match),
          behavior](const Piece& piece) -> absl::StatusOr<std::vector<Piece>> {
    std::vector<TextRange> ranges;
    size_t at = 0;
    ForEachCodePoint(piece.text, [&](char32_t c, std::string_view bytes) {
      const bool match = is_match(c);
      if (match || ranges.empty() || ranges.back().is_match) {
        ranges.push_back({at, at, match});
      }
      at += bytes.size();
      ranges.back().end = at;
    });
    return PiecesOf(piece, Merged(ranges, behavior));
  };
}

absl::Status AddByteLevel(const JsonValue& json, std::vector<Step>& steps) {
  ABSL_ASSIGN_OR_RETURN(const bool add_space, json["add_prefix_space"].Bool(true));
  ABSL_ASSIGN_OR_RETURN(const bool use_regex, json["use_regex"].Bool(true));
  if (add_space) {
    steps.push_back([](Piece piece) -> absl::StatusOr<std::vector<Piece>> {
      if (!piece.text.starts_with(' ')) piece.text.insert(0, 1, ' ');
      return std::vector<Piece>{std::move(piece)};
    });
  }
  if (use_regex) {
    ABSL_ASSIGN_OR_RETURN(Pattern pattern, Pattern::Regex(kByteLevelExpression));
    steps.push_back(SplitStep(std::move(pattern), Behavior::kIsolated, false));
  }
  steps.push_back([](Piece piece) -> absl::StatusOr<std::vector<Piece>> {
    piece.text = BytesToCharacters(piece.text);
    return std::vector<Piece>{std::move(piece)};
  });
  return absl::OkStatus();
}

absl::Status AddMetaspace(const JsonValue& json, std::vector<Step>& steps) {
  ABSL_ASSIGN_OR_RETURN(const std::string replacement, json["replacement"].StringOr("▁"));
  if (replacement.empty()) return json["replacement"].Error("expected a character");
  // Older files have add_prefix_space.
  ABSL_ASSIGN_OR_RETURN(const bool add_space, json["add_prefix_space"].Bool(true));
  ABSL_ASSIGN_OR_RETURN(const std::string scheme,
                        json["prepend_scheme"].StringOr(add_space ? "always" : "never"));
  ABSL_ASSIGN_OR_RETURN(const bool split, json["split"].Bool(true));
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    return json["prepend_scheme"].Error("expected 'always', 'first' or 'never'");
  }
  const Pattern space = Pattern::String(" ");
  steps.push_back([=](Piece piece) -> absl::StatusOr<std::vector<Piece>> {
    ABSL_ASSIGN_OR_RETURN(piece.text, space.Replace(piece.text, replacement));
    const bool prepend = scheme == "always" || (scheme == "first" && piece.at_start);
    if (prepend && !piece.text.starts_with(replacement)) piece.text.insert(0, replacement);
    return std::vector<Piece>{std::move(piece)};
  });
  if (split) {
    steps.push_back(SplitStep(Pattern::String(replacement), Behavior::kMergedWithNext, false));
  }
  return absl::OkStatus();
}

absl::Status AddSteps(const JsonValue& json, int depth, std::vector<Step>& steps) {
  if (depth > kMaxDepth) return json.Error("expected fewer nested sequences");
  ABSL_ASSIGN_OR_RETURN(const std::string_view type, json["type"].String());
  if (type == "Sequence") {
    ABSL_ASSIGN_OR_RETURN(const std::vector<JsonValue> parts, json["pretokenizers"].Elements());
    for (const JsonValue& part : parts) ABSL_RETURN_IF_ERROR(AddSteps(part, depth + 1, steps));
  } else if (type == "ByteLevel") {
    return AddByteLevel(json, steps);
  } else if (type == "Split") {
    ABSL_ASSIGN_OR_RETURN(Pattern pattern, ReadPattern(json["pattern"]));
    ABSL_ASSIGN_OR_RETURN(const Behavior behavior, ReadBehavior(json["behavior"]));
    ABSL_ASSIGN_OR_RETURN(const bool invert, json["invert"].Bool(false));
    steps.push_back(SplitStep(std::move(pattern), behavior, invert));
  } else if (type == "Metaspace") {
    return AddMetaspace(json, steps);
  } else if (type == "BertPreTokenizer") {
    steps.push_back(SplitAt(&IsWhitespace, Behavior::kRemoved));
    steps.push_back(SplitAt(&IsPunctuation, Behavior::kIsolated));
  } else if (type == "Whitespace") {
    ABSL_ASSIGN_OR_RETURN(Pattern pattern, Pattern::Regex(kWordExpression));
    steps.push_back(SplitStep(std::move(pattern), Behavior::kRemoved, true));
  } else if (type == "WhitespaceSplit") {
    steps.push_back(SplitAt(&IsWhitespace, Behavior::kRemoved));
  } else if (type == "CharDelimiterSplit") {
    ABSL_ASSIGN_OR_RETURN(const std::string_view delimiter, json["delimiter"].String());
    if (delimiter.empty()) return json["delimiter"].Error("expected a character");
    steps.push_back(SplitStep(Pattern::String(std::string(delimiter)), Behavior::kRemoved, false));
  } else if (type == "Digits") {
    ABSL_ASSIGN_OR_RETURN(const bool individual, json["individual_digits"].Bool(false));
    steps.push_back(SplitAt(&IsNumeric, individual ? Behavior::kIsolated : Behavior::kContiguous));
  } else if (type == "Punctuation") {
    Behavior behavior = Behavior::kIsolated;
    if (json["behavior"].exists()) {
      ABSL_ASSIGN_OR_RETURN(behavior, ReadBehavior(json["behavior"]));
    }
    steps.push_back(SplitAt(&IsPunctuation, behavior));
  } else {
    return json.Unsupported(type);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PreTokenizer> PreTokenizer::Read(const JsonValue& json) {
  PreTokenizer pre_tokenizer;
  if (json.exists()) ABSL_RETURN_IF_ERROR(AddSteps(json, 0, pre_tokenizer.steps_));
  return pre_tokenizer;
}

absl::StatusOr<std::vector<Piece>> PreTokenizer::Apply(Piece piece) const {
  std::vector<Piece> pieces;
  if (!piece.text.empty()) pieces.push_back(std::move(piece));
  for (const Step& step : steps_) {
    std::vector<Piece> next;
    for (Piece& one : pieces) {
      ABSL_ASSIGN_OR_RETURN(std::vector<Piece> parts, step(std::move(one)));
      for (Piece& part : parts) {
        if (!part.text.empty()) next.push_back(std::move(part));
      }
    }
    pieces = std::move(next);
  }
  return pieces;
}

}  // namespace belay::llm
