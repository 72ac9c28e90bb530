// Converts tokens to text one by one.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_TEXT_STREAM_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_TEXT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/llm/tokenizer/tokenizer.h"

namespace belay::llm {

// The concatenation of all results is the text of all tokens, if the text of a token only depends
// on the token before it (true for all decoders of tokenizer.json). Special tokens have no text.
class TextStream {
 public:
  // `tokenizer` must outlive the object.
  explicit TextStream(const Tokenizer* tokenizer) : tokenizer_(tokenizer) {}

  // Returns the text that the token completes. Empty inside a character of several tokens.
  // Errors of Tokenizer::Decode.
  absl::StatusOr<std::string> Push(int32_t token);
  // Returns the text of incomplete characters, as U+FFFD.
  absl::StatusOr<std::string> Finish();

 private:
  absl::StatusOr<std::string> Added(bool all);

  const Tokenizer* tokenizer_;
  // Tokens whose text is returned, as far as their context matters, and pending ones.
  std::vector<int32_t> tokens_;
  size_t returned_ = 0;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_TEXT_STREAM_H_
