#include "runtime/llm/chat/template_lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/chat/template_value.h"
#include "runtime/llm/tokenizer/unicode_text.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {
namespace {

using Kind = TemplateToken::Kind;

// Longer operators first.
constexpr std::array<std::string_view, 26> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsNameCharacter(char c) { return IsNameStart(c) || IsDigit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<TemplateToken>> Run() {
    while (at_ < text_.size()) {
      const size_t tag = FindTag(at_);
      if (tag == std::string_view::npos) {
        Data(text_.substr(at_));
        at_ = text_.size();
        break;
      }
      ABSL_RETURN_IF_ERROR(Tag(tag));
    }
    Push(Kind::kEnd);
    return std::move(tokens_);
  }

 private:
  // Offset of the next "{{", "{%" or "{#".
  size_t FindTag(size_t from) const {
    for (size_t at = text_.find('{', from); at != std::string_view::npos;
         at = text_.find('{', at + 1)) {
      if (at + 1 < text_.size() &&
          std::string_view("{%#").find(text_[at + 1]) != std::string_view::npos) {
        return at;
      }
    }
    return std::string_view::npos;
  }

  void CountLines(size_t from, size_t to) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(from),
                                         text_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
  }

  TemplateToken& Push(Kind kind, std::string text = "") {
    TemplateToken& token = tokens_.emplace_back();
    token.kind = kind;
    token.line = line_;
    token.text = std::move(text);
    return token;
  }
  void Data(std::string_view data) {
    if (!data.empty()) Push(Kind::kData, std::string(data));
  }

  bool StartsWith(size_t at, std::string_view prefix) const {
    return text_.substr(at).starts_with(prefix);
  }
  size_t SkipSpace(size_t at) const {
    return text_.size() - Strip(text_.substr(at), true, false).size();
  }

  // Data before a tag at `tag`, without the whitespace that the tag removes. `marker`: '-', '+' or
  // another character after the delimiter.
  std::string_view Before(size_t tag, char marker, bool variable) const {
    std::string_view data = text_.substr(at_, tag - at_);
    if (marker == '-') return Strip(data, false, true);
    if (marker == '+' || variable) return data;
    const size_t line_feed = data.rfind('\n');
    const size_t start = line_feed == std::string_view::npos ? 0 : line_feed + 1;
    const bool line_start = start > 0 || at_ == 0 || text_[at_ - 1] == '\n';
    const std::string_view rest = data.substr(start);
    if (line_start && Strip(rest, true, false).empty()) return data.substr(0, start);
    return data;
  }

  // Offset after the end of a tag: past whitespace after "-", past a line feed unless "+".
  std::optional<size_t> TagEnd(size_t at, std::string_view close, bool trims) const {
    if (StartsWith(at, "-") && StartsWith(at + 1, close)) {
      return SkipSpace(at + 1 + close.size());
    }
    if (trims && StartsWith(at, "+") && StartsWith(at + 1, close)) return at + 1 + close.size();
    if (!StartsWith(at, close)) return std::nullopt;
    at += close.size();
    if (trims && StartsWith(at, "\n")) ++at;
    return at;
  }

  absl::Status Tag(size_t tag) {
    const char kind = text_[tag + 1];
    const char marker = tag + 2 < text_.size() ? text_[tag + 2] : ' ';
    const size_t inside = tag + (marker == '-' || marker == '+' ? 3 : 2);
    const size_t from = at_;
    Data(Before(tag, marker, kind == '{'));
    CountLines(from, tag);
    at_ = inside;
    if (kind == '#') return Comment();
    if (kind == '%' && StartsWith(SkipSpace(inside), "raw")) {
      const std::optional<size_t> end = TagEnd(SkipSpace(SkipSpace(inside) + 3), "%}", false);
      if (end.has_value()) return Raw(*end);
    }
    Push(kind == '{' ? Kind::kVariableBegin : Kind::kBlockBegin);
    return Expression(kind == '{' ? "}}" : "%}", kind == '%');
  }

  absl::Status Comment() {
    const size_t close = text_.find("#}", at_);
    if (close == std::string_view::npos) return TemplateError(line_, "a comment has no end '#}'");
    const size_t marker =
        close - (close > at_ && (text_[close - 1] == '-' || text_[close - 1] == '+') ? 1 : 0);
    const size_t end = *TagEnd(marker, "#}", true);
    CountLines(at_, end);
    at_ = end;
    return absl::OkStatus();
  }

  absl::Status Raw(size_t begin) {
    CountLines(at_, begin);
    at_ = begin;
    for (size_t tag = text_.find("{%", begin); tag != std::string_view::npos;
         tag = text_.find("{%", tag + 2)) {
      const char marker = tag + 2 < text_.size() ? text_[tag + 2] : ' ';
      const size_t name = SkipSpace(tag + (marker == '-' || marker == '+' ? 3 : 2));
      if (!StartsWith(name, "endraw")) continue;
      const std::optional<size_t> end = TagEnd(SkipSpace(name + 6), "%}", true);
      if (!end.has_value()) continue;
      Data(Before(tag, marker, false));
      CountLines(at_, *end);
      at_ = *end;
      return absl::OkStatus();
    }
    return TemplateError(line_, "'raw' has no 'endraw'");
  }

  absl::Status Expression(std::string_view close, bool trims) {
    const int begin = line_;
    std::string open;  // brackets
    while (true) {
      const size_t next = SkipSpace(at_);
      CountLines(at_, next);
      at_ = next;
      if (at_ >= text_.size()) {
        return TemplateError(begin, absl::StrCat("a tag has no end '", close, "'"));
      }
      if (open.empty()) {
        const std::optional<size_t> end = TagEnd(at_, close, trims);
        if (end.has_value()) {
          Push(close == "}}" ? Kind::kVariableEnd : Kind::kBlockEnd);
          CountLines(at_, *end);
          at_ = *end;
          return absl::OkStatus();
        }
      }
      const char c = text_[at_];
      if (IsNameStart(c)) {
        size_t end = at_;
        while (end < text_.size() && IsNameCharacter(text_[end])) ++end;
        Push(Kind::kName, std::string(text_.substr(at_, end - at_)));
        at_ = end;
      } else if (IsDigit(c)) {
        ABSL_RETURN_IF_ERROR(Number());
      } else if (c == '\'' || c == '"') {
        ABSL_RETURN_IF_ERROR(String(c));
      } else {
        ABSL_RETURN_IF_ERROR(Operator(open));
      }
    }
  }

  absl::Status Operator(std::string& open) {
    for (const std::string_view name : kOperators) {
      if (!StartsWith(at_, name)) continue;
      const size_t bracket = std::string_view("([{").find(name);
      if (bracket != std::string_view::npos) open += std::string_view(")]}")[bracket];
      if (std::string_view(")]}").find(name) != std::string_view::npos) {
        if (open.empty() || open.back() != name[0]) {
          return TemplateError(line_, absl::StrCat("unexpected '", name, "'"));
        }
        open.pop_back();
      }
      Push(Kind::kOperator, std::string(name));
      at_ += name.size();
      return absl::OkStatus();
    }
    const size_t length = std::min(Utf8Length(text_[at_]), text_.size() - at_);
    return TemplateError(line_,
                         absl::StrCat("unexpected character ", Quoted(text_.substr(at_, length))));
  }

  // A decimal integer or a float; digits may be separated by "_".
  absl::Status Number() {
    std::string digits;
    size_t end = at_;
    bool is_double = false;
    const auto take = [&] {
      while (end < text_.size() && (IsDigit(text_[end]) || text_[end] == '_')) {
        if (text_[end] != '_') digits += text_[end];
        ++end;
      }
    };
    take();
    if (end + 1 < text_.size() && text_[end] == '.' && IsDigit(text_[end + 1])) {
      is_double = true;
      digits += '.';
      ++end;
      take();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      size_t exponent = end + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
      if (exponent < text_.size() && IsDigit(text_[exponent])) {
        is_double = true;
        digits += text_.substr(end, exponent - end);
        end = exponent;
        take();
      }
    }
    if (end < text_.size() && IsNameStart(text_[end])) {
      return TemplateError(line_, absl::StrCat("expected a decimal number, got ",
                                               Quoted(text_.substr(at_, end + 1 - at_))));
    }
    TemplateToken& token = Push(is_double ? Kind::kDouble : Kind::kInt);
    const char *first = digits.data(), *last = first + digits.size();
    const auto result = is_double ? std::from_chars(first, last, token.number)
                                  : std::from_chars(first, last, token.integer);
    if (result.ec != std::errc()) {
      return TemplateError(line_, absl::StrCat("the number ", Quoted(digits), " is too large"));
    }
    at_ = end;
    return absl::OkStatus();
  }

  absl::Status String(char quote) {
    const int begin = line_;
    std::string value;
    size_t i = at_ + 1;
    for (; i < text_.size() && text_[i] != quote; ++i) {
      if (text_[i] == '\n') ++line_;
      if (text_[i] != '\\') {
        value += text_[i];
        continue;
      }
      if (++i >= text_.size()) break;
      ABSL_RETURN_IF_ERROR(Escape(i, value));
    }
    if (i >= text_.size()) return TemplateError(begin, "a string has no end");
    at_ = i + 1;
    Push(Kind::kString, std::move(value));
    return absl::OkStatus();
  }

  // Python's escapes. `i`: the character after the backslash; moves to the last of the escape.
  absl::Status Escape(size_t& i, std::string& value) {
    constexpr std::string_view kLetters = "\\'\"abfnrtv", kValues = "\\'\"\a\b\f\n\r\t\v";
    const char c = text_[i];
    if (const size_t at = kLetters.find(c); at != std::string_view::npos) {
      value += kValues[at];
      return absl::OkStatus();
    }
    if (c == '\n') {
      ++line_;
      return absl::OkStatus();
    }
    if (c == 'N') {
      return TemplateError(line_, "the escape \\N is not supported: write the character",
                           absl::StatusCode::kUnimplemented);
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code_point = 0;
    // Parses up to `size` digits at `from`, and returns their number.
    const auto parse = [&](size_t from, size_t size, int base) {
      const std::string_view part = text_.substr(from, size);
      const char* end =
          std::from_chars(part.data(), part.data() + part.size(), code_point, base).ptr;
      return static_cast<size_t>(end - part.data());
    };
    if (digits > 0) {
      if (parse(i + 1, digits, 16) < digits) {
        return TemplateError(line_, absl::StrCat("the escape \\", std::string(1, c), " needs ",
                                                 digits, " hexadecimal digits"));
      }
      i += digits;
    } else if (c >= '0' && c <= '7') {
      i += parse(i, 3, 8) - 1;
    } else {
      value += '\\';
      value += c;
      return absl::OkStatus();
    }
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) {
      return TemplateError(line_, "the escape is a surrogate or above U+10FFFF");
    }
    AppendCodePoint(code_point, value);
    return absl::OkStatus();
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  std::vector<TemplateToken> tokens_;
};

}  // namespace

absl::StatusOr<std::vector<TemplateToken>> LexTemplate(std::string_view text) {
  // Jinja reads all line ends as "\n" and drops the last one.
  std::string normalized;
  normalized.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      normalized += text[i];
    } else if (i + 1 >= text.size() || text[i + 1] != '\n') {
      normalized += '\n';
    }
  }
  if (normalized.ends_with('\n')) normalized.pop_back();
  return Lexer(normalized).Run();
}

absl::Status TemplateError(int line, std::string_view message, absl::StatusCode code) {
  return Printable(absl::Status(code, absl::StrCat("line ", line, ": ", message)));
}

}  // namespace belay::llm
