// Pre-tokenizers of tokenizer.json: split normalized text into pieces, which the model tokenizes
// one by one.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_PRE_TOKENIZER_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_PRE_TOKENIZER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/llm/tokenizer/json_value.h"

namespace belay::llm {

struct Piece {
  std::string text;
  bool at_start = false;  // at the start of the input of Tokenizer::Encode
};

// A sequence of steps. Supported types: Sequence, ByteLevel, Split, Metaspace, BertPreTokenizer,
// Whitespace, WhitespaceSplit, CharDelimiterSplit, Digits, Punctuation. Immutable; thread-safe.
class PreTokenizer {
 public:
  // Without steps if the value is missing.
  //   kUnimplemented    another type, which is named (UnicodeScripts, FixedLength)
  //   kInvalidArgument  fields of wrong types or values; an ill-formed regular expression
  static absl::StatusOr<PreTokenizer> Read(const JsonValue& json);

  // Splits a piece. Empty pieces are removed.
  //   kResourceExhausted  a bound of a regular expression
  absl::StatusOr<std::vector<Piece>> Apply(Piece piece) const;

  // Splits one piece into several.
  using Step = std::function<absl::StatusOr<std::vector<Piece>>(Piece)>;

 private:
  std::vector<Step> steps_;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_PRE_TOKENIZER_H_
