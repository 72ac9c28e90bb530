#include "runtime/llm/tokenizer/unicode_text.h"

#include <utf8proc.h>

#include <cstdlib>

#include "runtime/core/utf8.h"

namespace belay::llm {
namespace {

utf8proc_category_t CategoryOf(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

char32_t FirstCodePoint(std::string_view text) {
  const auto at = [&](size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
  };
  switch (Utf8Length(text[0])) {
    case 1:
      return at(0);
    case 2:
      return (at(0) & 0x1F) << 6 | (at(1) & 0x3F);
    case 3:
      return (at(0) & 0x0F) << 12 | (at(1) & 0x3F) << 6 | (at(2) & 0x3F);
    default:
      return (at(0) & 0x07) << 18 | (at(1) & 0x3F) << 12 | (at(2) & 0x3F) << 6 | (at(3) & 0x3F);
  }
}

size_t LastUtf8Length(std::string_view text) {
  size_t length = 1;
  while (length < text.size() && IsContinuation(text[text.size() - length])) ++length;
  return length;
}

char32_t LastCodePoint(std::string_view text) {
  return FirstCodePoint(text.substr(text.size() - LastUtf8Length(text)));
}

void AppendCodePoint(char32_t c, std::string& text) {
  const auto byte = [&](char32_t bits) { text.push_back(static_cast<char>(bits)); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | c >> 6);
    byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3F));
    byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | c >> 18);
    byte(0x80 | (c >> 12 & 0x3F));
    byte(0x80 | (c >> 6 & 0x3F));
    byte(0x80 | (c & 0x3F));
  }
}

size_t CodePoints(std::string_view text) {
  size_t count = 0;
  for (char c : text) count += IsContinuation(c) ? 0 : 1;
  return count;
}

void ForEachCodePoint(std::string_view text,
                      absl::FunctionRef<void(char32_t, std::string_view)> visit) {
  while (!text.empty()) {
    const std::string_view bytes = text.substr(0, Utf8Length(text[0]));
    visit(FirstCodePoint(bytes), bytes);
    text.remove_prefix(bytes.size());
  }
}

std::string_view StripIf(std::string_view text, bool left, bool right,
                         absl::FunctionRef<bool(char32_t, std::string_view)> removed) {
  while (left && !text.empty()) {
    const size_t n = Utf8Length(text.front());
    if (!removed(FirstCodePoint(text), text.substr(0, n))) break;
    text.remove_prefix(n);
  }
  while (right && !text.empty()) {
    const size_t n = LastUtf8Length(text);
    if (!removed(LastCodePoint(text), text.substr(text.size() - n))) break;
    text.remove_suffix(n);
  }
  return text;
}

// https://www.unicode.org/Public/14.0.0/ucd/PropList.txt
bool IsWhitespace(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool IsPunctuation(char32_t c) {
  if (c < 0x80)
    return c > 0x20 && c < 0x7F && !(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z');
  switch (CategoryOf(c)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

bool IsNumeric(char32_t c) {
  const utf8proc_category_t category = CategoryOf(c);
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO;
}

bool IsMark(char32_t c) {
  const utf8proc_category_t category = CategoryOf(c);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

bool IsNonspacingMark(char32_t c) { return CategoryOf(c) == UTF8PROC_CATEGORY_MN; }

bool IsOtherCategory(char32_t c) {
  const utf8proc_category_t category = CategoryOf(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

bool IsWordCharacter(char32_t c) {
  switch (CategoryOf(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

std::string Uppercase(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  ForEachCodePoint(text, [&](char32_t c, std::string_view) {
    if (c == 0xDF) {
      result += "SS";
    } else {
      AppendCodePoint(static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))),
                      result);
    }
  });
  return result;
}

std::string Lowercase(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  ForEachCodePoint(text, [&](char32_t c, std::string_view) {
    if (c == 0x130) {  // the only code point with a longer lower case (SpecialCasing.txt)
      result += "i\xCC\x87";
    } else {
      AppendCodePoint(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))),
                      result);
    }
  });
  return result;
}

absl::StatusOr<std::string> Normalized(std::string_view text, NormalizationForm form) {
  if (text.empty()) return std::string();
  const bool compose = form == NormalizationForm::kNfc || form == NormalizationForm::kNfkc;
  const bool compatible = form == NormalizationForm::kNfkc || form == NormalizationForm::kNfkd;
  const int options = UTF8PROC_STABLE | (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                      (compatible ? UTF8PROC_COMPAT : 0);
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                             static_cast<utf8proc_option_t>(options));
  if (size < 0) return absl::ResourceExhaustedError("no memory to normalize text");
  std::string result(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
  std::free(mapped);
  return result;
}

std::string ToUtf8(std::string_view bytes) {
  std::string result;
  result.reserve(bytes.size());
  while (!bytes.empty()) {
    const int length = FirstUtf8Length(bytes);
    if (length > 0) {
      result += bytes.substr(0, static_cast<size_t>(length));
    } else {
      result += kReplacementCharacter;
    }
    bytes.remove_prefix(static_cast<size_t>(length > 0 ? length : -length));
  }
  return result;
}

}  // namespace belay::llm
