// Patterns of tokenizer.json: fixed strings and regular expressions.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_PATTERN_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_PATTERN_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace belay::llm {

// Part of a string.
struct TextRange {
  size_t begin = 0, end = 0;
  bool is_match = false;
};

// Immutable; thread-safe. Move-only.
class Pattern {
 public:
  static Pattern String(std::string string);
  // A regular expression of PCRE2, with Unicode properties for \w, \d and \s, and ^ and $ at each
  // line, as in Oniguruma's syntax of Ruby.
  //   kInvalidArgument  not a regular expression (with PCRE2's reason), or above 16 KiB
  static absl::StatusOr<Pattern> Regex(std::string_view expression);

  // Splits the string at all matches, from left to right: ranges that cover it, without empty ones.
  // `text` is UTF-8. Backtracking and memory of a search are bounded.
  //   kResourceExhausted  a bound of the search
  absl::StatusOr<std::vector<TextRange>> Split(std::string_view text) const;

  // Replaces all matches.
  absl::StatusOr<std::string> Replace(std::string_view text, std::string_view replacement) const;

 private:
  struct Compiled;
  Pattern() = default;
  std::string string_;  // without `compiled_`
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_PATTERN_H_
