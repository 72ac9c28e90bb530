// Tokens of Jinja templates.
#ifndef BELAY_RUNTIME_LLM_CHAT_TEMPLATE_LEXER_H_
#define BELAY_RUNTIME_LLM_CHAT_TEMPLATE_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace belay::llm {

struct TemplateToken {
  enum class Kind {
    kData,           // text outside of tags
    kVariableBegin,  // {{
    kVariableEnd,
    kBlockBegin,  // {%
    kBlockEnd,
    kName,
    kString,  // without quotes and escapes
    kInt,
    kDouble,
    kOperator,
    kEnd,  // of the template; the last token
  };
  Kind kind = Kind::kEnd;
  int line = 1;
  std::string text;  // of kData, kName, kString and kOperator
  int64_t integer = 0;
  double number = 0;

  bool IsOperator(std::string_view which) const { return kind == Kind::kOperator && text == which; }
  bool IsName(std::string_view which) const { return kind == Kind::kName && text == which; }
};

// Splits a template, which is UTF-8, with trim_blocks and lstrip_blocks, as transformers does.
// Comments are removed; the content of `raw` blocks is kData. Linear time. Errors begin with
// "line N: ".
//   kInvalidArgument  a tag, comment or string without an end; an unknown character or number
//   kUnimplemented    the escape \N{…}
absl::StatusOr<std::vector<TemplateToken>> LexTemplate(std::string_view text);

// An error at a line of a template.
absl::Status TemplateError(int line, std::string_view message,
                           absl::StatusCode code = absl::StatusCode::kInvalidArgument);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_CHAT_TEMPLATE_LEXER_H_
