// Patterns as fields of tokenizer.json.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_PATTERN_FIELD_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_PATTERN_FIELD_H_

#include "absl/status/statusor.h"
#include "runtime/llm/tokenizer/json_value.h"
#include "runtime/llm/tokenizer/pattern.h"

namespace belay::llm {

// Reads {"String": "…"} or {"Regex": "…"}. kInvalidArgument for anything else.
absl::StatusOr<Pattern> ReadPattern(const JsonValue& json);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_PATTERN_FIELD_H_
