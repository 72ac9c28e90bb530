// Parses chat templates.
#ifndef BELAY_RUNTIME_LLM_CHAT_TEMPLATE_PARSER_H_
#define BELAY_RUNTIME_LLM_CHAT_TEMPLATE_PARSER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/llm/chat/template_node.h"

namespace belay::llm {

// Parses a template, which is UTF-8, with Jinja's grammar. Linear time. Errors begin with
// "line N: ".
//   kInvalidArgument    errors of LexTemplate and of the grammar
//   kUnimplemented      statements that are not supported, which are named
//   kResourceExhausted  the limits of template_expression_parser.h
absl::StatusOr<TemplateNodePtr> ParseTemplate(std::string_view text);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_CHAT_TEMPLATE_PARSER_H_
