// Filters, tests, functions, methods and attributes of chat templates.
#ifndef BELAY_RUNTIME_LLM_CHAT_TEMPLATE_FUNCTIONS_H_
#define BELAY_RUNTIME_LLM_CHAT_TEMPLATE_FUNCTIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/civil_time.h"
#include "runtime/llm/chat/template_value.h"

namespace belay::llm {

// Maximum nesting of evaluations: syntax trees, macros and filters. Bounds the call stack.
inline constexpr int kMaxEvaluationDepth = 400;

// State of one rendering.
struct TemplateContext {
  TemplateWork work;
  std::optional<absl::CivilSecond> now;  // of strftime_now
  std::vector<std::unique_ptr<TemplateNamespace>> namespaces = {};
  int depth = 0;
};

// Counts one level of evaluation during its lifetime.
class TemplateDepth {
 public:
  explicit TemplateDepth(TemplateContext& context) : context_(context) { ++context_.depth; }
  ~TemplateDepth() { --context_.depth; }
  TemplateDepth(const TemplateDepth&) = delete;
  // kResourceExhausted: deeper than kMaxEvaluationDepth, or out of work.
  absl::Status Enter();

 private:
  TemplateContext& context_;
};

struct TemplateArguments {
  std::vector<TemplateValue> values;
  std::vector<std::pair<std::string, TemplateValue>> named = {};

  // Moves each named argument to the position of its parameter. Missing optional arguments become
  // undefined.
  // kInvalidArgument: missing, unknown, repeated, or too many arguments.
  absl::Status Bind(std::string_view function, const std::vector<std::string_view>& parameters,
                    size_t required);
};

// Errors of these functions: kUnimplemented for unknown names, kInvalidArgument for types and
// arguments, kResourceExhausted.
absl::StatusOr<TemplateValue> ApplyFilter(TemplateContext& context, std::string_view name,
                                          const TemplateValue& input, TemplateArguments arguments);
absl::StatusOr<bool> ApplyTest(TemplateContext& context, std::string_view name,
                               const TemplateValue& input, TemplateArguments arguments);
absl::StatusOr<TemplateValue> CallFunction(TemplateContext& context, TemplateFunction function,
                                           TemplateArguments arguments);
absl::StatusOr<TemplateValue> CallMethod(TemplateContext& context, const TemplateMethod& method,
                                         TemplateArguments arguments);

// Returns kInvalidArgument with the name of an undefined value.
absl::Status CheckDefined(const TemplateValue& value);
// object.name and object[index]: undefined if the value is missing.
absl::StatusOr<TemplateValue> GetAttribute(TemplateContext& context, const TemplateValue& object,
                                           const std::string& name);
absl::StatusOr<TemplateValue> GetItem(TemplateContext& context, const TemplateValue& object,
                                      const TemplateValue& index);
// object[start:stop:step]; none for a missing bound.
absl::StatusOr<TemplateValue> GetSlice(TemplateContext& context, const TemplateValue& object,
                                       const std::array<TemplateValue, 3>& bounds);
// Elements of a list, keys of a mapping, characters of a string.
absl::StatusOr<std::vector<TemplateValue>> Iterate(TemplateContext& context,
                                                   const TemplateValue& value);
// value in container.
absl::StatusOr<bool> Contains(TemplateContext& context, const TemplateValue& container,
                              const TemplateValue& value);

// Offset of `part` in `text` from `from` on, or npos. Linear time.
size_t FindText(std::string_view text, std::string_view part, size_t from = 0);
// str.replace. Precondition: `from` is not empty. `count` < 0: all.
absl::StatusOr<std::string> ReplaceText(TemplateContext& context, std::string_view text,
                                        std::string_view from, std::string_view to, int64_t count);
// str.capitalize.
std::string Capitalize(std::string_view text);
// str.splitlines.
std::vector<std::string_view> SplitLines(std::string_view text);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_CHAT_TEMPLATE_FUNCTIONS_H_
