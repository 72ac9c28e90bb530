#include "runtime/llm/tokenizer/pattern_field.h"

#include <string>
#include <string_view>
#include <utility>

#include "runtime/core/status_macros.h"

namespace belay::llm {

absl::StatusOr<Pattern> ReadPattern(const JsonValue& json) {
  if (json["String"].exists()) {
    ABSL_ASSIGN_OR_RETURN(const std::string_view string, json["String"].String());
    return Pattern::String(std::string(string));
  }
  if (!json["Regex"].exists()) return json.Error("expected a field 'String' or 'Regex'");
  ABSL_ASSIGN_OR_RETURN(const std::string_view expression, json["Regex"].String());
  absl::StatusOr<Pattern> pattern = Pattern::Regex(expression);
  if (!pattern.ok()) return json["Regex"].Error(pattern.status());
  return pattern;
}

}  // namespace belay::llm
