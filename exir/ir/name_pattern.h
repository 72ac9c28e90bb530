// Patterns of names, as in recipes and in rules for constants.
#ifndef BELAY_EXIR_IR_NAME_PATTERN_H_
#define BELAY_EXIR_IR_NAME_PATTERN_H_

#include <string_view>

namespace belay::exir {

// Whether all of `text` matches: "*" matches any characters, "?" one character.
// O(pattern * text).
bool MatchesPattern(std::string_view pattern, std::string_view text);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_NAME_PATTERN_H_
