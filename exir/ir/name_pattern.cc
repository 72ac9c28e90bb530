#include "exir/ir/name_pattern.h"

#include <algorithm>
#include <cstddef>

namespace belay::exir {

bool MatchesPattern(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  // The last '*' and the first character that it does not match; extended by one on a mismatch.
  size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(p), pattern.end(),
                     [](char c) { return c == '*'; });
}

}  // namespace belay::exir
