// Code points of UTF-8 strings: iteration, categories, case and normalization forms.
//
// Categories, case mappings and normalization are those of utf8proc. All strings are well-formed
// UTF-8 unless stated otherwise.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_UNICODE_TEXT_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_UNICODE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace belay::llm {

// U+FFFD in UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// Returns the bytes of the code point that begins with this byte, 1 to 4.
inline size_t Utf8Length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
// Returns the bytes of the code point at the end of `text`. Precondition: `text` is not empty.
size_t LastUtf8Length(std::string_view text);
// Returns the code point at the start of `text`. Precondition: `text` is not empty.
char32_t FirstCodePoint(std::string_view text);
// Returns the code point at the end of `text`. Precondition: `text` is not empty.
char32_t LastCodePoint(std::string_view text);
void AppendCodePoint(char32_t code_point, std::string& text);
// Number of code points.
size_t CodePoints(std::string_view text);

// Calls visit(code point, its bytes) for each code point.
void ForEachCodePoint(std::string_view text,
                      absl::FunctionRef<void(char32_t, std::string_view)> visit);

// Removes the code points at the start (`left`) and at the end (`right`) for which
// removed(code point, its bytes) is true.
std::string_view StripIf(std::string_view text, bool left, bool right,
                         absl::FunctionRef<bool(char32_t, std::string_view)> removed);

// Categories of Unicode.
bool IsWhitespace(char32_t c);      // property White_Space
bool IsPunctuation(char32_t c);     // P*, and the punctuation and symbols of ASCII
bool IsNumeric(char32_t c);         // N*
bool IsMark(char32_t c);            // M*
bool IsNonspacingMark(char32_t c);  // Mn
bool IsOtherCategory(char32_t c);   // Cc, Cf, Co
bool IsWordCharacter(char32_t c);   // L*, M*, Nd, Nl, Pc

// Maps each code point to lower case, without rules that depend on context.
std::string Lowercase(std::string_view text);
// Maps each code point to upper case, U+00DF to "SS". Other mappings to several code points
// (ligatures, and Greek with a subscript) are not applied.
std::string Uppercase(std::string_view text);

enum class NormalizationForm { kNfc, kNfd, kNfkc, kNfkd };
// kResourceExhausted if memory is short.
absl::StatusOr<std::string> Normalized(std::string_view text, NormalizationForm form);

// Replaces each maximal ill-formed part of any bytes by U+FFFD (Unicode 15, §3.9, U+FFFD
// Substitution of Maximal Subparts).
std::string ToUtf8(std::string_view bytes);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_UNICODE_TEXT_H_
