// Renders parsed chat templates.
#ifndef BELAY_RUNTIME_LLM_CHAT_TEMPLATE_INTERPRETER_H_
#define BELAY_RUNTIME_LLM_CHAT_TEMPLATE_INTERPRETER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/llm/chat/template_functions.h"
#include "runtime/llm/chat/template_node.h"
#include "runtime/llm/chat/template_value.h"

namespace belay::llm {

// Renders a template with these variables. Jinja's scopes and Python's values, without output
// escaping. `strftime_now` is defined if the context has a time. Errors begin with "line N: ".
//   kInvalidArgument    raise_exception, undefined values, types, arguments
//   kUnimplemented      a filter, test or method that is not supported, which is named
//   kOutOfRange         integers beyond 64 bits
//   kResourceExhausted  out of work; an output longer than `output_bytes`; kMaxEvaluationDepth
absl::StatusOr<std::string> RenderTemplate(
    const TemplateNode& root, const std::vector<std::pair<std::string, TemplateValue>>& variables,
    uint64_t output_bytes, TemplateContext& context);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_CHAT_TEMPLATE_INTERPRETER_H_
