// JSON as Python's json.dumps writes it, which allows more numbers than the standard (RFC 8259).
#ifndef BELAY_RUNTIME_CORE_PYTHON_JSON_H_
#define BELAY_RUNTIME_CORE_PYTHON_JSON_H_

#include <optional>
#include <string>
#include <string_view>

namespace belay {

// Rewrites numbers that Python writes and simdjson rejects. Quotes NaN, Infinity and -Infinity
// outside strings, and converts integers beyond 64 bits to doubles: those beyond the range of
// doubles become the strings "Infinity" and "-Infinity". Returns nullopt if the text has none of
// them. Works on any text, of JSON or not. O(size); the result is at most twice as long.
std::optional<std::string> WithoutPythonNumbers(std::string_view text);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_PYTHON_JSON_H_
