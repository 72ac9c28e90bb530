#include "runtime/llm/tokenizer/byte_characters.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/llm/tokenizer/unicode_text.h"

namespace belay::llm {
namespace {

constexpr char32_t kFirstOther = 0x100;
constexpr size_t kOthers = 68;

struct Alphabet {
  std::array<char32_t, 256> character = {};
  std::array<uint8_t, kOthers> other = {};  // the bytes of U+100..U+143
};
constexpr Alphabet kAlphabet = [] {
  Alphabet alphabet;
  size_t others = 0;
  for (size_t b = 0; b < 256; ++b) {
    const bool itself = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    if (!itself) alphabet.other[others] = static_cast<uint8_t>(b);
    alphabet.character[b] = static_cast<char32_t>(itself ? b : kFirstOther + others++);
  }
  return alphabet;
}();

}  // namespace

std::string BytesToCharacters(std::string_view bytes) {
  std::string result;
  for (char c : bytes) AppendCodePoint(kAlphabet.character[static_cast<uint8_t>(c)], result);
  return result;
}

std::optional<std::string> CharactersToBytes(std::string_view text) {
  std::string result;
  bool all = true;
  ForEachCodePoint(text, [&](char32_t c, std::string_view) {
    if (c < 0x100 && kAlphabet.character[c] == c) {
      result.push_back(static_cast<char>(c));
    } else if (c >= kFirstOther && c < kFirstOther + kOthers) {
      result.push_back(static_cast<char>(kAlphabet.other[c - kFirstOther]));
    } else {
      all = false;
    }
  });
  return all ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace belay::llm
