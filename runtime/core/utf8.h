// UTF-8 validation.
#ifndef BELAY_RUNTIME_CORE_UTF8_H_
#define BELAY_RUNTIME_CORE_UTF8_H_

#include <string_view>

namespace belay {

// Whether `text` is well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above
// U+10FFFF. Linear time.
bool IsUtf8(std::string_view text);

// Returns the bytes of the well-formed code point at the start of `text`. If it is ill-formed,
// returns minus the bytes of its maximal subpart (Unicode 15, §3.9, U+FFFD Substitution of Maximal
// Subparts). Precondition: `text` is not empty.
int FirstUtf8Length(std::string_view text);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_UTF8_H_
