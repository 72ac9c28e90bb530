// Parses chat templates.
#ifndef BELAY_RUNTIME_LLM_CHAT_TEMPLATE_PARSER_H_
#define BELAY_RUNTIME_LLM_CHAT_TEMPLATE_PARSER_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/llm/chat/template_node.h"

namespace belay::llm {

// Maximum nesting of statements and brackets, and maximum depth of a syntax tree.
inline constexpr int kMaxTemplateNesting = 64, kMaxTemplateDepth = 200;
// Maximum number of arguments of a call, and of parameters of a macro.
inline constexpr size_t kMaxTemplateArguments = 255;

// Parses a template, which is UTF-8, with Jinja's grammar. Linear time. Errors begin with
// "line N: ".
//   kInvalidArgument    errors of LexTemplate and of the grammar
//   kUnimplemented      statements that are not supported, which are named
//   kResourceExhausted  kMaxTemplateNesting, kMaxTemplateDepth, kMaxTemplateArguments
absl::StatusOr<TemplateNodePtr> ParseTemplate(std::string_view text);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_CHAT_TEMPLATE_PARSER_H_
