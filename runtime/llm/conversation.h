// Continues a session with the messages of a conversation.
#ifndef BELAY_RUNTIME_LLM_CONVERSATION_H_
#define BELAY_RUNTIME_LLM_CONVERSATION_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/executor/execute_options.h"
#include "runtime/llm/chat/chat_template.h"
#include "runtime/llm/session.h"
#include "runtime/llm/tokenizer/tokenizer.h"

namespace belay::llm {

// Renders messages, a JSON array (ChatTemplate::Render), and replaces the tokens of the session by
// those of the result. Keeps the longest common prefix, and returns the number of tokens after it.
// If SessionOptions::rewind allows, evaluates only these. Session::Generate then gives the reply;
// stop it at EndTokens().
//   kInvalidArgument  the messages have no tokens
//   kOutOfRange       more tokens than the context length
//   errors of ChatTemplate::Render, Tokenizer::Encode and Session::Append. After an error of
//   Session::Append, the session has the tokens of the common prefix.
absl::StatusOr<int64_t> AppendMessages(Session& session, const Tokenizer& tokenizer,
                                       const ChatTemplate& chat, std::string_view messages,
                                       const ChatOptions& options = {},
                                       const ExecuteOptions& execute = {});

// Tokens that end a text or a turn: the eos_token of `chat`, which may be null, and the special
// tokens of common models: </s>, <eos>, <|endoftext|>, <|eot_id|>, <|im_end|>,
// <end_of_turn>, <|end|> and others. Each occurs once.
std::vector<int32_t> EndTokens(const Tokenizer& tokenizer, const ChatTemplate* chat = nullptr);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_CONVERSATION_H_
