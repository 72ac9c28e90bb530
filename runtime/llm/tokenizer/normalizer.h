// Normalizers of tokenizer.json: rewrite text before it is split.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_NORMALIZER_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_NORMALIZER_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/llm/tokenizer/json_value.h"

namespace belay::llm {

// A sequence of steps. Supported types: Sequence, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents,
// Strip, Replace, Prepend, BertNormalizer, ByteLevel. Immutable; thread-safe.
class Normalizer {
 public:
  // Without steps if the value is missing.
  //   kUnimplemented    another type, which is named (Precompiled, Nmt)
  //   kInvalidArgument  fields of wrong types; an ill-formed regular expression
  static absl::StatusOr<Normalizer> Read(const JsonValue& json);

  // Returns the normalized text. `text` is UTF-8.
  //   kResourceExhausted  memory, or a bound of a regular expression; or a result of more than 64
  //                       times the bytes of `text` and 1 MiB
  absl::StatusOr<std::string> Apply(std::string_view text) const;

  using Step = std::function<absl::StatusOr<std::string>(const std::string&)>;

 private:
  std::vector<Step> steps_;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_NORMALIZER_H_
