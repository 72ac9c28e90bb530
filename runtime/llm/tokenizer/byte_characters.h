// The byte-level alphabet: a printable character for each byte.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_BYTE_CHARACTERS_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_BYTE_CHARACTERS_H_

#include <optional>
#include <string>
#include <string_view>

namespace belay::llm {

// Maps bytes to characters as GPT-2's bytes_to_unicode: '!'..'~', 0xA1..0xAC and 0xAE..0xFF to the
// code points of the same values, and the other 68 bytes, in order, to U+100..U+143.
std::string BytesToCharacters(std::string_view bytes);
// The inverse. nullopt if `text` has another character.
std::optional<std::string> CharactersToBytes(std::string_view text);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_BYTE_CHARACTERS_H_
