#include "exir/ir/text_lexer.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

bool IsWordStart(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsWordCharacter(char c) { return IsWordStart(c) || IsDigit(c) || c == '.'; }

// Returns the length of the well-formed multi-byte UTF-8 sequence at the start of `text`; 0 if
// malformed.
size_t Utf8Length(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                        : (lead & 0xf0) == 0xe0        ? 3
                        : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and code points above U+10FFFF.
  const uint8_t second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90)) {
    return 0;
  }
  return length;
}

std::string Shortest(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end);
}

template <class T>
std::optional<T> ParseInteger(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const uint8_t byte = static_cast<uint8_t>(c);
    if (byte >= 0x80) {
      const size_t length = Utf8Length(text.substr(i));
      if (length > 0) {
        out.append(text.substr(i, length));
        i += length;
        continue;
      }
    }
    ++i;
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      constexpr char kDigits[] = "0123456789abcdef";
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string QuoteUnlessWord(std::string_view name) {
  const bool is_word = !name.empty() && IsWordStart(name[0]) &&
                       std::all_of(name.begin(), name.end(), IsWordCharacter) && name != "none" &&
                       name != "return" && name != "true" && name != "false";
  return is_word ? std::string(name) : Quote(name);
}

std::string FormatDouble(double value) {
  if (std::isnan(value)) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    if (bits == std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN())) return "nan";
    return absl::StrCat("nan:x", absl::Hex(bits, absl::kZeroPad16));
  }
  std::string text = Shortest(value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string FormatComplex(std::complex<double> value) {
  if (std::isnan(value.real()) || std::isnan(value.imag())) {
    return absl::StrCat("complex:[", FormatDouble(value.real()), ",", FormatDouble(value.imag()),
                        "]");
  }
  return absl::StrCat("(", Shortest(value.real()), std::signbit(value.imag()) ? "" : "+",
                      Shortest(value.imag()), "j)");
}

std::optional<int64_t> ParseInt64(std::string_view text) { return ParseInteger<int64_t>(text); }

std::optional<uint64_t> ParseUint64(std::string_view text) { return ParseInteger<uint64_t>(text); }

std::optional<double> ParseDouble(std::string_view text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(value)) {
    return std::nullopt;
  }
  return value;
}

size_t Lexer::SkipSpace(size_t position) const {
  while (position < text_.size()) {
    if (IsSpace(text_[position])) {
      ++position;
    } else if (text_.substr(position, 2) == "//") {
      position = std::min(text_.find('\n', position), text_.size());
    } else {
      break;
    }
  }
  return position;
}

char Lexer::Following() const {
  const size_t position = SkipSpace(end_);
  return position < text_.size() ? text_[position] : '\0';
}

size_t Lexer::EndOfNumber() const {
  size_t i = start_;
  const auto digits = [&] {
    while (i < text_.size() && IsDigit(text_[i])) ++i;
  };
  if (text_[i] == '+' || text_[i] == '-') ++i;
  if (text_.substr(i, 3) == "inf") {
    i += 3;
  } else {
    digits();
    if (i < text_.size() && text_[i] == '.') ++i;
    digits();
    if (i < text_.size() && (text_[i] == 'e' || text_[i] == 'E')) {
      ++i;
      if (i < text_.size() && (text_[i] == '+' || text_[i] == '-')) ++i;
      digits();
    }
  }
  if (i < text_.size() && text_[i] == 'j') ++i;
  return i;
}

void Lexer::LexString() {
  decoded_.clear();
  size_t i = start_ + 1;
  const auto invalid = [this, &i](std::string_view problem) {
    kind_ = Kind::kInvalid;
    problem_ = problem;
    end_ = std::min(i, text_.size());
    spelling_ = text_.substr(start_, end_ - start_);
  };
  while (true) {
    if (i >= text_.size()) return invalid("a string without its closing quote");
    const char c = text_[i++];
    if (c == '"') break;
    if (c != '\\') {
      decoded_ += c;
      continue;
    }
    const char escape = i < text_.size() ? text_[i++] : '\0';
    if (escape == 'n') {
      decoded_ += '\n';
    } else if (escape == 't') {
      decoded_ += '\t';
    } else if (escape == '"' || escape == '\\') {
      decoded_ += escape;
    } else if (escape == 'x') {
      uint8_t byte = 0;
      const std::string_view digits = text_.substr(i, 2);
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2) {
        return invalid("an escape \\x without two hexadecimal digits");
      }
      i += 2;
      decoded_ += static_cast<char>(byte);
    } else {
      return invalid("an unknown escape in a string (known: \\n \\t \\\" \\\\ \\xHH)");
    }
  }
  kind_ = Kind::kString;
  end_ = i;
  spelling_ = text_.substr(start_, end_ - start_);
}

void Lexer::Next() {
  start_ = SkipSpace(end_);
  if (start_ >= text_.size()) {
    kind_ = Kind::kEnd;
    end_ = start_;
    spelling_ = {};
    return;
  }
  const char c = text_[start_];
  const char following = start_ + 1 < text_.size() ? text_[start_ + 1] : '\0';
  if (c == '"') return LexString();
  if (IsWordStart(c)) {
    kind_ = Kind::kWord;
    end_ = start_ + 1;
    while (end_ < text_.size() && IsWordCharacter(text_[end_])) ++end_;
  } else if (IsDigit(c) || ((c == '+' || c == '-') && (IsDigit(following) || following == '.' ||
                                                       text_.substr(start_ + 1, 3) == "inf"))) {
    kind_ = Kind::kNumber;
    end_ = EndOfNumber();
  } else {
    kind_ = Kind::kPunctuation;
    end_ = start_ + 1;
  }
  spelling_ = text_.substr(start_, end_ - start_);
}

std::string_view Lexer::TakeRaw(std::string_view stops) {
  size_t i = start_;
  size_t depth = 0;
  for (; i < text_.size(); ++i) {
    const char c = text_[i];
    if (depth == 0 && stops.find(c) != std::string_view::npos) break;
    if (c == '(') ++depth;
    if (c == ')' && depth > 0) --depth;
  }
  const std::string_view raw = text_.substr(start_, i - start_);
  end_ = i;
  Next();
  return std::string_view(
      raw.data(),
      absl::StripTrailingAsciiWhitespace(absl::string_view(raw.data(), raw.size())).size());
}

absl::Status Lexer::ErrorAt(size_t offset, std::string_view message) const {
  const std::string_view before = text_.substr(0, offset);
  const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, ", column ", column, ": ", message));
}

absl::Status Lexer::Expected(std::string_view what) const {
  std::string actual = "the end of the text";
  if (kind_ == Kind::kInvalid) {
    actual = std::string(problem_);
  } else if (kind_ != Kind::kEnd) {
    actual =
        spelling_.size() > 40 ? absl::StrCat(spelling_.substr(0, 40), "…") : std::string(spelling_);
    if (kind_ != Kind::kString) actual = absl::StrCat("'", actual, "'");
  }
  return ErrorAt(start_, absl::StrCat("expected ", what, ", got ", actual));
}

}  // namespace belay::exir
