// Tokenizers and chat templates in program files.
#ifndef BELAY_RUNTIME_LLM_PROGRAM_TOKENIZER_H_
#define BELAY_RUNTIME_LLM_PROGRAM_TOKENIZER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/llm/chat/chat_template.h"
#include "runtime/llm/tokenizer/tokenizer.h"
#include "runtime/program/program.h"

namespace belay::llm {

// Key of the named data with the content of a `tokenizer.json`: of saved programs, and of program
// files whose tokenizer has no tables.
inline constexpr std::string_view kTokenizerKey = "belay.tokenizer_json";
// Key of the named data with the tables of tokenizer_tables.h (`belay lower`).
inline constexpr std::string_view kTokenizerTablesKey = "belay.tokenizer";

// Reads the tokenizer of a program file, after checking the digest of its segment. Tables are used
// in place: the program must outlive the tokenizer. O(size).
//   kNotFound         the program has no tokenizer
//   kDataLoss         the digest differs
//   errors of Tokenizer::FromTables and FromJson
absl::StatusOr<Tokenizer> ReadTokenizer(const Program& program, const TokenizerLimits& limits = {});

// Key of the named data with the JSON that ChatTemplate::FromJson reads (`belay lower
// --chat-template`).
inline constexpr std::string_view kChatTemplateKey = "belay.chat_template_json";

// Reads the chat template of a program file, as ReadTokenizer does. Errors of
// ChatTemplate::FromJson.
absl::StatusOr<ChatTemplate> ReadChatTemplate(const Program& program,
                                              const ChatTemplateLimits& limits = {});

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_PROGRAM_TOKENIZER_H_
