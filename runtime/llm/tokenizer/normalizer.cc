#include "runtime/llm/tokenizer/normalizer.h"

#include <cstddef>
#include <utility>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/byte_characters.h"
#include "runtime/llm/tokenizer/pattern_field.h"
#include "runtime/llm/tokenizer/unicode_text.h"

namespace belay::llm {
namespace {

using Step = Normalizer::Step;

constexpr int kMaxDepth = 8;
constexpr size_t kMaxGrowth = 64, kMaxAdded = size_t{1} << 20;

Step FormStep(NormalizationForm form) {
  return [form](const std::string& text) { return Normalized(text, form); };
}

std::string Without(const std::string& text, bool (*is_removed)(char32_t)) {
  std::string result;
  ForEachCodePoint(text, [&](char32_t c, std::string_view bytes) {
    if (!is_removed(c)) result += bytes;
  });
  return result;
}

std::string Stripped(std::string_view text, bool left, bool right) {
  return std::string(
      StripIf(text, left, right, [](char32_t c, std::string_view) { return IsWhitespace(c); }));
}

// The blocks that BERT splits into characters:
// https://github.com/google-research/bert/blob/master/tokenization.py, _is_chinese_char.
bool IsChinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kBlocks[] = {
      {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
      {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  for (const auto& [first, last] : kBlocks) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

std::string CleanForBert(const std::string& text) {
  std::string result;
  ForEachCodePoint(text, [&](char32_t c, std::string_view bytes) {
    const bool is_space = c == '\t' || c == '\n' || c == '\r';
    if (c == 0 || c == 0xFFFD || (!is_space && IsOtherCategory(c))) return;
    if (is_space || IsWhitespace(c)) {
      result += ' ';
    } else {
      result += bytes;
    }
  });
  return result;
}

std::string WithSpacesAroundChinese(const std::string& text) {
  std::string result;
  ForEachCodePoint(text, [&](char32_t c, std::string_view bytes) {
    if (!IsChinese(c)) {
      result += bytes;
      return;
    }
    result += ' ';
    result += bytes;
    result += ' ';
  });
  return result;
}

absl::StatusOr<Step> BertStep(const JsonValue& json) {
  ABSL_ASSIGN_OR_RETURN(const bool clean, json["clean_text"].Bool(true));
  ABSL_ASSIGN_OR_RETURN(const bool chinese, json["handle_chinese_chars"].Bool(true));
  ABSL_ASSIGN_OR_RETURN(const bool lower, json["lowercase"].Bool(true));
  ABSL_ASSIGN_OR_RETURN(const bool strip, json["strip_accents"].Bool(lower));
  return Step([=](const std::string& text) -> absl::StatusOr<std::string> {
    std::string result = clean ? CleanForBert(text) : text;
    if (chinese) result = WithSpacesAroundChinese(result);
    if (strip) {
      ABSL_ASSIGN_OR_RETURN(result, Normalized(result, NormalizationForm::kNfd));
      result = Without(result, &IsNonspacingMark);
    }
    return lower ? Lowercase(result) : result;
  });
}

absl::Status AddSteps(const JsonValue& json, int depth, std::vector<Step>& steps) {
  if (depth > kMaxDepth) return json.Error("expected fewer nested sequences");
  ABSL_ASSIGN_OR_RETURN(const std::string_view type, json["type"].String());
  if (type == "Sequence") {
    ABSL_ASSIGN_OR_RETURN(const std::vector<JsonValue> parts, json["normalizers"].Elements());
    for (const JsonValue& part : parts) ABSL_RETURN_IF_ERROR(AddSteps(part, depth + 1, steps));
  } else if (type == "NFC") {
    steps.push_back(FormStep(NormalizationForm::kNfc));
  } else if (type == "NFD") {
    steps.push_back(FormStep(NormalizationForm::kNfd));
  } else if (type == "NFKC") {
    steps.push_back(FormStep(NormalizationForm::kNfkc));
  } else if (type == "NFKD") {
    steps.push_back(FormStep(NormalizationForm::kNfkd));
  } else if (type == "Lowercase") {
    steps.push_back([](const std::string& text) { return Lowercase(text); });
  } else if (type == "StripAccents") {
    steps.push_back([](const std::string& text) { return Without(text, &IsMark); });
  } else if (type == "Strip") {
    ABSL_ASSIGN_OR_RETURN(const bool left, json["strip_left"].Bool(true));
    ABSL_ASSIGN_OR_RETURN(const bool right, json["strip_right"].Bool(true));
    steps.push_back([=](const std::string& text) { return Stripped(text, left, right); });
  } else if (type == "Replace") {
    ABSL_ASSIGN_OR_RETURN(Pattern pattern, ReadPattern(json["pattern"]));
    ABSL_ASSIGN_OR_RETURN(const std::string_view content, json["content"].String());
    steps.push_back([pattern = std::move(pattern), content = std::string(content)](
                        const std::string& text) { return pattern.Replace(text, content); });
  } else if (type == "Prepend") {
    ABSL_ASSIGN_OR_RETURN(const std::string_view prefix, json["prepend"].String());
    steps.push_back([prefix = std::string(prefix)](const std::string& text) {
      return text.empty() ? text : prefix + text;
    });
  } else if (type == "BertNormalizer") {
    ABSL_ASSIGN_OR_RETURN(Step step, BertStep(json));
    steps.push_back(std::move(step));
  } else if (type == "ByteLevel") {
    steps.push_back([](const std::string& text) { return BytesToCharacters(text); });
  } else {
    return json.Unsupported(type);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Normalizer> Normalizer::Read(const JsonValue& json) {
  Normalizer normalizer;
  if (json.exists()) ABSL_RETURN_IF_ERROR(AddSteps(json, 0, normalizer.steps_));
  return normalizer;
}

absl::StatusOr<std::string> Normalizer::Apply(std::string_view text) const {
  std::string result(text);
  for (const Step& step : steps_) {
    ABSL_ASSIGN_OR_RETURN(result, step(result));
    if (result.size() / kMaxGrowth > text.size() + kMaxAdded / kMaxGrowth) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the normalizers expand ", text.size(), " bytes to ", result.size()));
    }
  }
  return result;
}

}  // namespace belay::llm
