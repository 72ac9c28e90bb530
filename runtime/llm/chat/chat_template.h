// Chat templates: convert the messages of a conversation to the text of a prompt.
//
// A template is a Jinja program that the authors of a model write (transformers,
// PreTrainedTokenizer.apply_chat_template). README.md lists the supported part of the language.
#ifndef BELAY_RUNTIME_LLM_CHAT_CHAT_TEMPLATE_H_
#define BELAY_RUNTIME_LLM_CHAT_CHAT_TEMPLATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/civil_time.h"
#include "absl/types/span.h"
#include "runtime/llm/chat/template_node.h"

namespace belay::llm {

struct ChatTemplateLimits {
  uint64_t template_bytes = uint64_t{1} << 20;
  uint64_t json_bytes = uint64_t{16} << 20;    // of messages, of tools, of variables
  uint64_t output_bytes = uint64_t{16} << 20;  // of Render
  // Of Render: about 16 units per step, and one per byte that a step creates. Bounds time and
  // memory: the default is at most about 2 s and 300 MB.
  uint64_t work = uint64_t{1} << 26;
};

struct ChatOptions {
  bool add_generation_prompt = true;  // the text ends where the reply of the model begins
  // JSON. "": none.
  std::string tools = {};      // an array of tool schemas
  std::string variables = {};  // an object; its fields are variables, such as enable_thinking
  // Time of strftime_now, which is undefined without one.
  std::optional<absl::CivilSecond> now = {};
};

// Immutable; thread-safe. Move-only.
class ChatTemplate {
 public:
  // Reads a tokenizer_config.json, which may be any bytes: `chat_template` (a string, or a list of
  // `name` and `template`, from which "default" is used) and the special tokens bos_token,
  // eos_token, unk_token, sep_token, pad_token, cls_token and mask_token. Ignores other fields.
  //   kInvalidArgument    not JSON; no template; a template with another syntax, with the line
  //   kUnimplemented      a statement that is not supported, with the line
  //   kResourceExhausted  a limit
  static absl::StatusOr<ChatTemplate> FromJson(std::string_view json,
                                               const ChatTemplateLimits& limits = {});

  // Returns the text for messages, a JSON array of objects: [{"role": "user", "content": "Hi"}].
  // The text contains the special tokens: encode it without adding them again.
  //   kInvalidArgument    `messages` is not such an array; raise_exception, with its message;
  //                       undefined values and wrong types
  //   kUnimplemented      a filter, test or method that is not supported, which is named
  //   kOutOfRange         integers beyond 64 bits
  //   kResourceExhausted  a limit
  absl::StatusOr<std::string> Render(std::string_view messages,
                                     const ChatOptions& options = {}) const;

  // The value of a special token such as "eos_token", or nullptr.
  const std::string* SpecialToken(std::string_view name) const;
  // Special tokens that the template prints and that have no value: it prints nothing for them.
  std::vector<std::string> MissingSpecialTokens() const;

 private:
  ChatTemplate() = default;
  ChatTemplateLimits limits_;
  TemplateNodePtr root_;
  std::vector<std::pair<std::string, std::string>> special_tokens_;
};

// Merges files into the JSON that FromJson reads: at most one tokenizer_config.json and at most one
// Jinja template, which has precedence. Content is JSON if it begins with "{" but not with "{{",
// "{%" or "{#". Errors of FromJson, and
//   kInvalidArgument  several of a kind; a template without the value of a special token it prints
absl::StatusOr<std::string> MergeChatTemplateFiles(absl::Span<const std::string_view> files,
                                                   const ChatTemplateLimits& limits = {});

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_CHAT_CHAT_TEMPLATE_H_
