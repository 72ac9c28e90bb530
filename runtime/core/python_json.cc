#include "runtime/core/python_json.h"

#include <cstddef>

#include "runtime/core/str_cat.h"

namespace belay {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Returns the length of the integer at the start of `text`, sign and digits. 0 for anything else,
// and for a number with a fraction or an exponent.
size_t IntegerLength(std::string_view text) {
  size_t end = text.starts_with('-') ? 1 : 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  const bool has_digits = end > 0 && IsDigit(text[end - 1]);
  const bool goes_on =
      end < text.size() && (text[end] == '.' || text[end] == 'e' || text[end] == 'E');
  return has_digits && !goes_on ? end : 0;
}

// Converts an integer beyond 64 bits to a double, or to the string of an infinity if it exceeds the
// range of doubles. nullopt: the integer fits.
std::optional<std::string> LongIntegerAsDouble(std::string_view integer) {
  constexpr size_t kDigitsOfDoubles = 308;
  const bool negative = integer[0] == '-';
  const std::string_view digits = integer.substr(negative ? 1 : 0);
  const std::string_view last = negative ? "9223372036854775808" : "18446744073709551615";
  const bool fits = digits.size() < last.size() || (digits.size() == last.size() && digits <= last);
  if (fits || digits[0] == '0') return std::nullopt;
  if (digits.size() <= kDigitsOfDoubles) return absl::StrCat(integer, ".0");
  return negative ? "\"-Infinity\"" : "\"Infinity\"";
}

}  // namespace

std::optional<std::string> WithoutPythonNumbers(std::string_view text) {
  static constexpr std::string_view kTokens[] = {"NaN", "Infinity", "-Infinity"};
  std::string out;
  size_t copied = 0;
  const auto replace = [&](size_t at, size_t length, std::string_view by) {
    out.append(text.substr(copied, at - copied)).append(by);
    copied = at + length;
  };
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    in_string = c == '"';
    if (c != 'N' && c != 'I' && c != '-' && !IsDigit(c)) continue;
    for (std::string_view token : kTokens) {
      if (text.substr(i, token.size()) != token) continue;
      replace(i, token.size(), absl::StrCat("\"", token, "\""));
      i += token.size() - 1;
      break;
    }
    if (c != '-' && !IsDigit(c)) continue;
    if (const size_t length = IntegerLength(text.substr(i)); length > 0) {
      const std::optional<std::string> number = LongIntegerAsDouble(text.substr(i, length));
      if (number.has_value()) replace(i, length, *number);
    }
    // Skip to the end of the token, including digits of fractions and exponents.
    while (i + 1 < text.size() &&
           (IsDigit(text[i + 1]) || text[i + 1] == '.' || text[i + 1] == 'e' ||
            text[i + 1] == 'E' || text[i + 1] == '+' || text[i + 1] == '-')) {
      ++i;
    }
  }
  if (copied == 0) return std::nullopt;
  out.append(text.substr(copied));
  return out;
}

}  // namespace belay
