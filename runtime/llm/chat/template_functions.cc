#include "runtime/llm/chat/template_functions.h"

#include <string.h>

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/chat/template_arguments.h"
#include "runtime/llm/tokenizer/unicode_text.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {
namespace {

using Value = TemplateValue;
using Arguments = TemplateArguments;

constexpr int64_t kMaxRange = 100'000;  // Jinja's sandbox has the same

absl::StatusOr<Value> Range(TemplateContext& context, const Arguments& arguments) {
  std::array<int64_t, 3> bounds = {0, 0, 1};
  for (size_t i = 0; i < 3; ++i) {
    ABSL_ASSIGN_OR_RETURN(bounds[i], IntArgument("range", arguments.values[i], bounds[i]));
  }
  if (arguments.values[1].is_undefined()) bounds = {0, bounds[0], 1};
  const auto [start, stop, step] = bounds;
  if (step == 0) return absl::InvalidArgumentError("range: expected a step other than 0");
  std::vector<Value> items;
  for (CheckedInt i = start; i.ok() && (step > 0 ? i.value() < stop : i.value() > stop);
       i = i + step) {
    if (static_cast<int64_t>(items.size()) == kMaxRange) {
      return absl::ResourceExhaustedError(
          absl::StrCat("range: expected at most ", kMaxRange, " integers"));
    }
    ABSL_RETURN_IF_ERROR(context.work.Charge(kValueUnits));
    items.push_back(Value::Int(i.value()));
  }
  return Value::List(std::move(items), context.work, SequenceStyle::kView);
}

// Formats a time with the specifiers of strftime that templates use.
absl::StatusOr<std::string> FormatNow(std::string_view format, absl::CivilSecond now) {
  constexpr std::string_view kSupported = "YmdHMSyjBbAapI";
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      text += format[i];
      continue;
    }
    const char specifier = format[++i];
    if (specifier == '%') {
      text += '%';
    } else if (kSupported.find(specifier) != std::string_view::npos) {
      text += absl::FormatTime(std::string({'%', specifier}),
                               absl::FromCivil(now, absl::UTCTimeZone()), absl::UTCTimeZone());
    } else {
      return absl::UnimplementedError(
          absl::StrCat("strftime_now: ", Quoted(format.substr(i - 1, 2)), " is not supported"));
    }
  }
  return text;
}

struct Slice {
  int64_t start, count, step;
};
// Python's rules (slice.indices). `size` elements.
absl::StatusOr<Slice> SliceOf(const std::array<Value, 3>& bounds, int64_t size) {
  ABSL_ASSIGN_OR_RETURN(const int64_t step, IntArgument("slice", bounds[2], 1));
  if (step == 0 || step == std::numeric_limits<int64_t>::min()) {
    return absl::InvalidArgumentError("slice: expected a step other than 0");
  }
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const auto bound = [&](const Value& value, int64_t fallback) -> absl::StatusOr<int64_t> {
    if (value.is_none()) return fallback;
    ABSL_ASSIGN_OR_RETURN(const int64_t i, IntArgument("slice", value, fallback));
    return std::clamp(i < 0 ? i + size : i, low, high);
  };
  ABSL_ASSIGN_OR_RETURN(const int64_t start, bound(bounds[0], step > 0 ? low : high));
  ABSL_ASSIGN_OR_RETURN(const int64_t stop, bound(bounds[1], step > 0 ? high : low));
  const int64_t distance = step > 0 ? stop - start : start - stop;
  const int64_t size_of_step = step > 0 ? step : -step;
  return Slice{start, distance <= 0 ? 0 : (distance - 1) / size_of_step + 1, step};
}

// Offsets of code points, and of the end.
std::vector<size_t> Offsets(std::string_view text) {
  std::vector<size_t> offsets;
  for (size_t i = 0; i < text.size(); i += Utf8Length(text[i])) offsets.push_back(i);
  offsets.push_back(text.size());
  return offsets;
}

}  // namespace

absl::Status TemplateDepth::Enter() {
  if (context_.depth > kMaxEvaluationDepth) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "expected calls and expressions nested at most ", kMaxEvaluationDepth, " deep"));
  }
  return context_.work.Charge(kStepUnits);
}

absl::Status TemplateArguments::Bind(std::string_view function,
                                     const std::vector<std::string_view>& parameters,
                                     size_t required) {
  if (values.size() > parameters.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        function, ": expected at most ", parameters.size(), " arguments, got ", values.size()));
  }
  std::vector<bool> given(parameters.size(), false);
  std::fill_n(given.begin(), values.size(), true);
  values.resize(parameters.size(), TemplateValue::MakeUndefined("argument"));
  for (auto& [name, value] : named) {
    const size_t at = static_cast<size_t>(std::find(parameters.begin(), parameters.end(), name) -
                                          parameters.begin());
    if (at == parameters.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(function, ": unknown argument ", Quoted(name)));
    }
    if (given[at]) {
      return absl::InvalidArgumentError(
          absl::StrCat(function, ": argument ", Quoted(name), " is given twice"));
    }
    given[at] = true;
    values[at] = std::move(value);
  }
  named.clear();
  for (size_t i = 0; i < required; ++i) {
    if (given[i]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(function, ": the argument '", parameters[i], "' is missing"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> CallFunction(TemplateContext& context, TemplateFunction function,
                                   Arguments arguments) {
  switch (function) {
    case TemplateFunction::kRange:
      ABSL_RETURN_IF_ERROR(arguments.Bind("range", {"start", "stop", "step"}, 1));
      return Range(context, arguments);
    case TemplateFunction::kNamespace: {
      if (!arguments.values.empty()) {
        return absl::UnimplementedError("namespace: expected keyword arguments");
      }
      ABSL_RETURN_IF_ERROR(context.work.Charge(2 * kValueUnits * (1 + arguments.named.size())));
      auto& created = context.namespaces.emplace_back(std::make_unique<TemplateNamespace>());
      created->attributes = std::move(arguments.named);
      return Value(created.get());
    }
    case TemplateFunction::kDict: {
      if (!arguments.values.empty()) {
        return absl::UnimplementedError("dict: expected keyword arguments");
      }
      std::vector<std::pair<Value, Value>> entries;
      for (auto& [name, value] : arguments.named) {
        entries.emplace_back(Value::Text(std::move(name)), std::move(value));
      }
      return Value::Dict(std::move(entries), context.work);
    }
    case TemplateFunction::kRaiseException: {
      ABSL_RETURN_IF_ERROR(arguments.Bind("raise_exception", {"message"}, 1));
      ABSL_ASSIGN_OR_RETURN(const std::string message, ToText(arguments.values[0], context.work));
      return absl::InvalidArgumentError(message);
    }
    case TemplateFunction::kStrftimeNow: {
      ABSL_RETURN_IF_ERROR(arguments.Bind("strftime_now", {"format"}, 1));
      ABSL_ASSIGN_OR_RETURN(const std::string* format,
                            TextArgument("strftime_now", arguments.values[0]));
      ABSL_RETURN_IF_ERROR(context.work.Charge(kStepUnits * format->size()));
      ABSL_ASSIGN_OR_RETURN(std::string text, FormatNow(*format, *context.now));
      return Value::Text(std::move(text));
    }
  }
  return absl::InternalError("unknown function");
}

absl::Status CheckDefined(const Value& value) {
  const auto* undefined = value.get_if<Value::Undefined>();
  if (undefined == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Quoted(undefined->name), " is undefined"));
}

absl::StatusOr<Value> GetAttribute(TemplateContext& context, const Value& object,
                                   const std::string& name) {
  ABSL_RETURN_IF_ERROR(CheckDefined(object));
  if (const auto* attributes = object.get_if<TemplateNamespace*>()) {
    ABSL_RETURN_IF_ERROR(context.work.Charge(kStepUnits * (*attributes)->attributes.size()));
    for (const auto& [key, value] : (*attributes)->attributes) {
      if (key == name) return value;
    }
    return Value::MakeUndefined(name);
  }
  if (const auto* pointer = object.get_if<Value::Loop>()) {
    const TemplateLoop& loop = **pointer;
    const auto index = static_cast<int64_t>(loop.index);
    const auto size = static_cast<int64_t>(loop.items().size());
    const std::array<std::pair<std::string_view, int64_t>, 7> integers = {
        {{"index", index + 1},
         {"index0", index},
         {"length", size},
         {"revindex", size - index},
         {"revindex0", size - index - 1},
         {"depth", loop.level},
         {"depth0", loop.level - 1}}};
    for (const auto& [key, value] : integers) {
      if (key == name) return Value::Int(value);
    }
    if (name == "first") return Value::Bool(index == 0);
    if (name == "last") return Value::Bool(index + 1 == size);
    if (name == "previtem" && index > 0) return loop.items()[loop.index - 1];
    if (name == "nextitem" && index + 1 < size) return loop.items()[loop.index + 1];
  }
  if (const std::optional<std::string_view> method = FindMethod(object, name)) {
    ABSL_RETURN_IF_ERROR(context.work.Charge(kValueUnits));
    return Value(TemplateMethod{std::make_shared<const Value>(object), *method});
  }
  if (object.mapping() != nullptr) {
    ABSL_ASSIGN_OR_RETURN(const Value* found,
                          Find(*object.mapping(), Value::Text(name), context.work));
    if (found != nullptr) return *found;
  }
  return Value::MakeUndefined(name);
}

absl::StatusOr<Value> GetItem(TemplateContext& context, const Value& object, const Value& index) {
  ABSL_RETURN_IF_ERROR(CheckDefined(object));
  if (object.mapping() != nullptr) {
    ABSL_ASSIGN_OR_RETURN(const Value* found, Find(*object.mapping(), index, context.work));
    if (found != nullptr) return *found;
  }
  int64_t i;
  if (index.GetInt(i)) {
    if (const TemplateSequence* list = object.sequence()) {
      const auto size = static_cast<int64_t>(list->items.size());
      if (i < -size || i >= size) return Value::MakeUndefined("element");
      return list->items[static_cast<size_t>(i < 0 ? i + size : i)];
    }
    if (object.text() != nullptr) {
      if (i == std::numeric_limits<int64_t>::max()) return Value::MakeUndefined("element");
      const Value stop = i == -1 ? Value() : Value::Int(i + 1);
      ABSL_ASSIGN_OR_RETURN(Value text, GetSlice(context, object, {index, stop, Value()}));
      if (text.text()->empty()) return Value::MakeUndefined("element");
      return text;
    }
  }
  if (index.text() != nullptr) return GetAttribute(context, object, *index.text());
  return Value::MakeUndefined("element");
}

absl::StatusOr<Value> GetSlice(TemplateContext& context, const Value& object,
                               const std::array<Value, 3>& bounds) {
  if (const TemplateSequence* list = object.sequence()) {
    ABSL_ASSIGN_OR_RETURN(const Slice slice,
                          SliceOf(bounds, static_cast<int64_t>(list->items.size())));
    std::vector<Value> items;
    ABSL_RETURN_IF_ERROR(context.work.Charge(kValueUnits * static_cast<uint64_t>(slice.count)));
    for (int64_t k = 0; k < slice.count; ++k) {
      items.push_back(list->items[static_cast<size_t>(slice.start + k * slice.step)]);
    }
    return Value::List(std::move(items), context.work, list->style);
  }
  if (const std::string* text = object.text()) {
    ABSL_RETURN_IF_ERROR(context.work.Charge(8 * text->size()));
    const std::vector<size_t> offsets = Offsets(*text);
    ABSL_ASSIGN_OR_RETURN(const Slice slice,
                          SliceOf(bounds, static_cast<int64_t>(offsets.size()) - 1));
    std::string result;
    for (int64_t k = 0; k < slice.count; ++k) {
      const auto at = static_cast<size_t>(slice.start + k * slice.step);
      result.append(*text, offsets[at], offsets[at + 1] - offsets[at]);
    }
    return Value::Text(std::move(result));
  }
  ABSL_RETURN_IF_ERROR(CheckDefined(object));
  return WrongType("slice", "a list or a string", object);
}

absl::StatusOr<std::vector<Value>> Iterate(TemplateContext& context, const Value& value) {
  std::vector<Value> items;
  if (value.is_undefined()) return items;
  if (const TemplateSequence* list = value.sequence()) {
    ABSL_RETURN_IF_ERROR(context.work.Charge(kValueUnits * list->items.size()));
    return list->items;
  }
  if (const TemplateMapping* mapping = value.mapping()) {
    ABSL_RETURN_IF_ERROR(context.work.Charge(kValueUnits * mapping->entries.size()));
    for (const auto& [key, element] : mapping->entries) items.push_back(key);
    return items;
  }
  if (const std::string* text = value.text()) {
    ABSL_RETURN_IF_ERROR(context.work.Charge(2 * kValueUnits * text->size()));
    ForEachCodePoint(*text, [&](char32_t, std::string_view bytes) {
      items.push_back(Value::Text(std::string(bytes)));
    });
    return items;
  }
  return WrongType("iteration", "a list, mapping or string", value);
}

absl::StatusOr<bool> Contains(TemplateContext& context, const Value& container,
                              const Value& value) {
  if (const std::string* text = container.text()) {
    ABSL_ASSIGN_OR_RETURN(const std::string* part, TextArgument("'in' a string", value));
    ABSL_RETURN_IF_ERROR(context.work.Charge(text->size() + part->size()));
    return FindText(*text, *part) != std::string_view::npos;
  }
  if (container.mapping() != nullptr) {
    ABSL_ASSIGN_OR_RETURN(const Value* found, Find(*container.mapping(), value, context.work));
    return found != nullptr;
  }
  if (const TemplateSequence* list = container.sequence()) {
    for (const Value& item : list->items) {
      ABSL_ASSIGN_OR_RETURN(const bool equal, Equal(item, value, context.work));
      if (equal) return true;
    }
    return false;
  }
  if (container.is_undefined()) return false;
  return WrongType("'in'", "a list, mapping or string", container);
}

size_t FindText(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  // memmem is linear; std::string_view::find is not.
  const void* found = ::memmem(text.data() + from, text.size() - from, part.data(), part.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

absl::StatusOr<std::string> ReplaceText(TemplateContext& context, std::string_view text,
                                        std::string_view from, std::string_view to, int64_t count) {
  ABSL_RETURN_IF_ERROR(context.work.Charge(2 * text.size()));
  std::string result;
  size_t at = 0;
  for (; count != 0; count -= count > 0 ? 1 : 0) {
    const size_t found = FindText(text, from, at);
    if (found == std::string_view::npos) break;
    ABSL_RETURN_IF_ERROR(context.work.Charge(1 + to.size()));
    result += text.substr(at, found - at);
    result += to;
    at = found + from.size();
  }
  result += text.substr(at);
  return result;
}

std::string Capitalize(std::string_view text) {
  if (text.empty()) return "";
  const size_t first = Utf8Length(text[0]);
  return Uppercase(text.substr(0, first)) + Lowercase(text.substr(first));
}

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = FirstCodePoint(text.substr(i));
    size_t end = i + Utf8Length(text[i]);
    const bool line_end = (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
                          c == 0x2028 || c == 0x2029;
    if (line_end) {
      lines.push_back(text.substr(start, i - start));
      if (c == '\r' && end < text.size() && text[end] == '\n') ++end;
      start = end;
    }
    i = end;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

}  // namespace belay::llm
