// Writes the tables of tokenizer_tables.h.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_WRITE_TOKENIZER_TABLES_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_WRITE_TOKENIZER_TABLES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/llm/tokenizer/tokenizer.h"

namespace belay::llm {

// Converts a tokenizer.json. Tokenizer::FromTables of the result equals Tokenizer::FromJson.
// Deterministic. O(size).
//   kUnimplemented  a model other than BPE
//   errors of Tokenizer::FromJson
absl::StatusOr<std::string> WriteTokenizerTables(std::string_view json,
                                                 const TokenizerLimits& limits = {});

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_WRITE_TOKENIZER_TABLES_H_
