#include "runtime/llm/conversation.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::llm {
namespace {

constexpr std::array<std::string_view, 11> kEndTokens = {
    "</s>",       "<eos>",         "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>",
    "<|im_end|>", "<end_of_turn>", "<turn|>",       "<|end|>",         "<|return|>"};

}  // namespace

absl::StatusOr<int64_t> AppendMessages(Session& session, const Tokenizer& tokenizer,
                                       const ChatTemplate& chat, std::string_view messages,
                                       const ChatOptions& options, const ExecuteOptions& execute) {
  ABSL_ASSIGN_OR_RETURN(const std::string text, chat.Render(messages, options));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int32_t> tokens, tokenizer.Encode(text, false));
  if (tokens.empty()) {
    return absl::InvalidArgumentError("expected messages of at least one token");
  }
  const int64_t context = session.model().context_length();
  const auto size = static_cast<int64_t>(tokens.size());
  if (context > 0 && size > context) {
    return absl::OutOfRangeError(absl::StrCat("expected messages of at most ", context,
                                              " tokens (the context length), got ", size));
  }
  const std::vector<int32_t>& before = session.tokens();
  const auto common = std::mismatch(before.begin(), before.end(), tokens.begin(), tokens.end());
  const int64_t kept = common.first - before.begin();
  ABSL_RETURN_IF_ERROR(session.Cut(kept));
  ABSL_RETURN_IF_ERROR(
      session.Append(absl::MakeConstSpan(tokens).subspan(static_cast<size_t>(kept)), execute));
  return size - kept;
}

std::vector<int32_t> EndTokens(const Tokenizer& tokenizer, const ChatTemplate* chat) {
  std::vector<int32_t> tokens;
  const auto add = [&](std::optional<int32_t> token) {
    if (token.has_value() && std::find(tokens.begin(), tokens.end(), *token) == tokens.end()) {
      tokens.push_back(*token);
    }
  };
  const std::string* eos = chat == nullptr ? nullptr : chat->SpecialToken("eos_token");
  if (eos != nullptr) add(tokenizer.TokenId(*eos));
  for (const std::string_view name : kEndTokens) {
    const std::optional<int32_t> token = tokenizer.TokenId(name);
    if (token.has_value() && tokenizer.IsSpecial(*token)) add(token);
  }
  return tokens;
}

}  // namespace belay::llm
