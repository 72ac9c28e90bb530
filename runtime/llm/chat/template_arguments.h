// Arguments of the functions and methods of chat templates.
#ifndef BELAY_RUNTIME_LLM_CHAT_TEMPLATE_ARGUMENTS_H_
#define BELAY_RUNTIME_LLM_CHAT_TEMPLATE_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/llm/chat/template_value.h"

namespace belay::llm {

// kInvalidArgument: "<what>: expected <expected>, got <type>".
absl::Status WrongType(std::string_view what, std::string_view expected,
                       const TemplateValue& actual);
// kInvalidArgument: "expected <expected>, got <type>".
absl::Status WrongType(std::string_view expected, const TemplateValue& actual);
// Returns the integer, or `fallback` for undefined and none. kInvalidArgument for other types.
absl::StatusOr<int64_t> IntArgument(std::string_view what, const TemplateValue& value,
                                    int64_t fallback);
// kInvalidArgument if the value is not a string. The result is valid as long as `value`.
absl::StatusOr<const std::string*> TextArgument(std::string_view what, const TemplateValue& value);

// Returns the name of a method of Python that `object` has, with static lifetime; also of methods
// that are not supported, which CallMethod refuses. nullopt: no such method.
std::optional<std::string_view> FindMethod(const TemplateValue& object, std::string_view name);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_CHAT_TEMPLATE_ARGUMENTS_H_
