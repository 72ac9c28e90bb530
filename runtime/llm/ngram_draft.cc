#include "runtime/llm/ngram_draft.h"

#include <algorithm>
#include <cstddef>

namespace belay::llm {

absl::Span<const int32_t> NgramDraft(absl::Span<const int32_t> tokens, int64_t most) {
  if (most < 1) return {};
  for (size_t n = 3; n >= 2; --n) {
    if (tokens.size() <= n) continue;
    const absl::Span<const int32_t> last = tokens.subspan(tokens.size() - n);
    for (size_t at = tokens.size() - n; at-- > 0;) {
      if (tokens.subspan(at, n) != last) continue;
      return tokens.subspan(at + n, static_cast<size_t>(most));
    }
  }
  return {};
}

}  // namespace belay::llm
