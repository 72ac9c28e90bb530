// Decoders of tokenizer.json: convert tokens to text.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_TEXT_DECODER_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_TEXT_DECODER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/llm/tokenizer/json_value.h"

namespace belay::llm {

// A sequence of steps on a list of strings. The result concatenates the strings; without steps, it
// joins them with spaces. Supported types: Sequence, ByteLevel, ByteFallback, Fuse, Metaspace,
// Replace, Strip, WordPiece, BPEDecoder. Immutable; thread-safe.
class TextDecoder {
 public:
  //   kUnimplemented    another type, which is named (CTC)
  //   kInvalidArgument  fields of wrong types; an ill-formed regular expression
  static absl::StatusOr<TextDecoder> Read(const JsonValue& json);

  // kResourceExhausted: a bound of a regular expression.
  absl::StatusOr<std::string> Apply(std::vector<std::string> tokens) const;

  using Step = std::function<absl::Status(std::vector<std::string>&)>;

 private:
  std::vector<Step> steps_;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_TEXT_DECODER_H_
