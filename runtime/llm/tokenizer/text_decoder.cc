#include "runtime/llm/tokenizer/text_decoder.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/utf8.h"
#include "runtime/llm/tokenizer/byte_characters.h"
#include "runtime/llm/tokenizer/pattern_field.h"
#include "runtime/llm/tokenizer/unicode_text.h"

namespace belay::llm {
namespace {

using Step = TextDecoder::Step;
using Tokens = std::vector<std::string>;

constexpr int kMaxDepth = 8;

absl::Status DecodeByteLevel(Tokens& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) {
    const std::optional<std::string> decoded = CharactersToBytes(token);
    bytes += decoded.has_value() ? *decoded : token;
  }
  tokens = {ToUtf8(bytes)};
  return absl::OkStatus();
}

std::optional<char> ByteOf(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  uint8_t byte = 0;
  const char* const end = &token[5];
  if (std::from_chars(&token[3], end, byte, 16).ptr != end) return std::nullopt;
  return static_cast<char>(byte);
}

// Replaces each run of byte tokens by its characters, or by a U+FFFD per byte if it is not UTF-8.
absl::Status DecodeByteFallback(Tokens& tokens) {
  Tokens result;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    if (IsUtf8(bytes)) {
      result.push_back(bytes);
    } else {
      result.insert(result.end(), bytes.size(), std::string(kReplacementCharacter));
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    if (const std::optional<char> byte = ByteOf(token); byte.has_value()) {
      bytes.push_back(*byte);
    } else {
      flush();
      result.push_back(std::move(token));
    }
  }
  flush();
  tokens = std::move(result);
  return absl::OkStatus();
}

absl::Status DecodeFuse(Tokens& tokens) {
  tokens = {absl::StrJoin(tokens, "")};
  return absl::OkStatus();
}

// https://huggingface.co/docs/transformers: clean_up_tokenization_spaces.
std::string CleanedUp(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kReplacements[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kReplacements) {
    absl::StrReplaceAll({{ToAbsl(from), ToAbsl(to)}}, &text);
  }
  return text;
}

absl::StatusOr<Step> WordPieceStep(const JsonValue& json) {
  ABSL_ASSIGN_OR_RETURN(const std::string prefix, json["prefix"].StringOr("##"));
  ABSL_ASSIGN_OR_RETURN(const bool clean_up, json["cleanup"].Bool(true));
  return Step([=](Tokens& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0 && token.starts_with(prefix)) {
        token.erase(0, prefix.size());
      } else if (i > 0) {
        token.insert(0, 1, ' ');
      }
      if (clean_up) token = CleanedUp(std::move(token));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<Step> MetaspaceStep(const JsonValue& json) {
  ABSL_ASSIGN_OR_RETURN(const std::string replacement, json["replacement"].StringOr("▁"));
  ABSL_ASSIGN_OR_RETURN(const bool add_space, json["add_prefix_space"].Bool(true));
  ABSL_ASSIGN_OR_RETURN(const std::string scheme,
                        json["prepend_scheme"].StringOr(add_space ? "always" : "never"));
  if (replacement.empty()) return json["replacement"].Error("expected a character");
  return Step([=](Tokens& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      absl::StrReplaceAll({{replacement, i == 0 && scheme != "never" ? "" : " "}}, &tokens[i]);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<Step> StripStep(const JsonValue& json) {
  ABSL_ASSIGN_OR_RETURN(const std::string_view view, json["content"].String());
  ABSL_ASSIGN_OR_RETURN(const int64_t start, json["start"].IntOr(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t stop, json["stop"].IntOr(0));
  if (view.empty()) return json["content"].Error("expected a character");
  return Step([content = std::string(view), start, stop](Tokens& tokens) {
    for (std::string& token : tokens) {
      for (int64_t i = 0; i < start && token.starts_with(content); ++i) {
        token.erase(0, content.size());
      }
      for (int64_t i = 0; i < stop && token.ends_with(content); ++i) {
        token.resize(token.size() - content.size());
      }
    }
    return absl::OkStatus();
  });
}

absl::Status AddSteps(const JsonValue& json, int depth, std::vector<Step>& steps) {
  if (depth > kMaxDepth) return json.Error("expected fewer nested sequences");
  ABSL_ASSIGN_OR_RETURN(const std::string_view type, json["type"].String());
  const auto add = [&](absl::StatusOr<Step> step) {
    if (step.ok()) steps.push_back(*std::move(step));
    return step.status();
  };
  if (type == "Sequence") {
    ABSL_ASSIGN_OR_RETURN(const std::vector<JsonValue> parts, json["decoders"].Elements());
    for (const JsonValue& part : parts) ABSL_RETURN_IF_ERROR(AddSteps(part, depth + 1, steps));
    return absl::OkStatus();
  }
  if (type == "ByteLevel") return add(Step(&DecodeByteLevel));
  if (type == "ByteFallback") return add(Step(&DecodeByteFallback));
  if (type == "Fuse") return add(Step(&DecodeFuse));
  if (type == "WordPiece") return add(WordPieceStep(json));
  if (type == "Metaspace") return add(MetaspaceStep(json));
  if (type == "Strip") return add(StripStep(json));
  if (type == "Replace") {
    ABSL_ASSIGN_OR_RETURN(Pattern pattern, ReadPattern(json["pattern"]));
    ABSL_ASSIGN_OR_RETURN(const std::string_view content, json["content"].String());
    return add(Step([pattern = std::move(pattern),
                     content = std::string(content)](Tokens& tokens) -> absl::Status {
      for (std::string& token : tokens) {
        ABSL_ASSIGN_OR_RETURN(token, pattern.Replace(token, content));
      }
      return absl::OkStatus();
    }));
  }
  if (type == "BPEDecoder") {
    ABSL_ASSIGN_OR_RETURN(const std::string suffix, json["suffix"].StringOr("</w>"));
    if (suffix.empty()) return json["suffix"].Error("expected a string that is not empty");
    return add(Step([suffix](Tokens& tokens) {
      for (size_t i = 0; i < tokens.size(); ++i) {
        absl::StrReplaceAll({{suffix, i + 1 == tokens.size() ? "" : " "}}, &tokens[i]);
      }
      return absl::OkStatus();
    }));
  }
  return json.Unsupported(type);
}

}  // namespace

absl::StatusOr<TextDecoder> TextDecoder::Read(const JsonValue& json) {
  TextDecoder decoder;
  if (json.exists()) ABSL_RETURN_IF_ERROR(AddSteps(json, 0, decoder.steps_));
  return decoder;
}

absl::StatusOr<std::string> TextDecoder::Apply(std::vector<std::string> tokens) const {
  for (const Step& step : steps_) ABSL_RETURN_IF_ERROR(step(tokens));
  return absl::StrJoin(tokens, steps_.empty() ? " " : "");
}

}  // namespace belay::llm
