// Drafts of speculative decoding by n-gram lookup ("prompt lookup decoding").
#ifndef BELAY_RUNTIME_LLM_NGRAM_DRAFT_H_
#define BELAY_RUNTIME_LLM_NGRAM_DRAFT_H_

#include <cstdint>

#include "absl/types/span.h"

namespace belay::llm {

// Returns the tokens that followed the last earlier occurrence of the last three tokens, or, without
// one, of the last two: at most `most`, a part of `tokens`. Empty without an occurrence, or if
// `most` < 1. O(tokens).
absl::Span<const int32_t> NgramDraft(absl::Span<const int32_t> tokens, int64_t most);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_NGRAM_DRAFT_H_
