#include "runtime/llm/chat/template_functions.h"

#include <string.h>

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/unicode_text.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {
namespace {

using Value = TemplateValue;
using Arguments = TemplateArguments;

constexpr int64_t kMaxRange = 100'000;  // Jinja's sandbox has the same

absl::Status WrongType(std::string_view what, std::string_view expected, const Value& actual) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": expected ", expected, ", got ", actual.type_name()));
}

absl::StatusOr<int64_t> IntArgument(std::string_view what, const Value& value, int64_t fallback) {
  if (value.is_undefined() || value.is_none()) return fallback;
  int64_t integer;
  if (!value.GetInt(integer)) return WrongType(what, "an integer", value);
  return integer;
}

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

// --- Methods. Arguments are bound: missing ones are undefined. ---

// MethodRow::required of a method with any arguments, which are not bound.
constexpr size_t kAnyArguments = std::numeric_limits<size_t>::max();

struct MethodRow {
  std::string_view name;
  std::vector<std::string_view> parameters;
  size_t required;
  absl::StatusOr<Value> (*call)(TemplateContext&, const Value& object, const Arguments&);
};

absl::StatusOr<const std::string*> TextArgument(std::string_view what, const Value& value) {
  if (value.text() == nullptr) return WrongType(what, "a string", value);
  return value.text();
}

template <bool left, bool right>
absl::StatusOr<Value> StripMethod(TemplateContext& context, const Value& object,
                                  const Arguments& arguments) {
  const Value& characters = arguments.values[0];
  const std::string* set = nullptr;
  if (!characters.is_undefined() && !characters.is_none()) {
    ABSL_ASSIGN_OR_RETURN(set, TextArgument("strip", characters));
    ABSL_RETURN_IF_ERROR(context.work.Charge(std::max<uint64_t>(1, set->size() / kStepUnits) *
                                             object.text()->size()));
  }
  return Value::Text(std::string(Strip(*object.text(), left, right, set)));
}

template <bool at_start>
absl::StatusOr<Value> AffixMethod(TemplateContext& context, const Value& object,
                                  const Arguments& arguments) {
  std::vector<Value> affixes = {arguments.values[0]};
  if (const TemplateSequence* several = affixes[0].sequence()) affixes = several->items;
  for (const Value& affix : affixes) {
    ABSL_ASSIGN_OR_RETURN(const std::string* text,
                          TextArgument(at_start ? "prefix" : "suffix", affix));
    ABSL_RETURN_IF_ERROR(context.work.Charge(kStepUnits + text->size()));
    if (at_start ? object.text()->starts_with(*text) : object.text()->ends_with(*text)) {
      return Value::Bool(true);
    }
  }
  return Value::Bool(false);
}

template <bool at_start>
absl::StatusOr<Value> RemoveAffix(TemplateContext&, const Value& object,
                                  const Arguments& arguments) {
  ABSL_ASSIGN_OR_RETURN(const std::string* affix,
                        TextArgument(at_start ? "prefix" : "suffix", arguments.values[0]));
  std::string_view text = *object.text();
  if (at_start && text.starts_with(*affix)) text.remove_prefix(affix->size());
  if (!at_start && text.ends_with(*affix)) text.remove_suffix(affix->size());
  return Value::Text(std::string(text));
}

// split and rsplit.
template <bool from_right>
absl::StatusOr<Value> SplitMethod(TemplateContext& context, const Value& object,
                                  const Arguments& arguments) {
  std::string_view rest = *object.text();
  ABSL_ASSIGN_OR_RETURN(int64_t most, IntArgument("split", arguments.values[1], -1));
  std::vector<Value> parts;
  const auto add = [&](std::string_view part) -> absl::Status {
    ABSL_RETURN_IF_ERROR(context.work.Charge(2 * kValueUnits + part.size()));
    parts.push_back(Value::Text(std::string(part)));
    return absl::OkStatus();
  };
  const Value& separator = arguments.values[0];
  if (separator.is_undefined() || separator.is_none()) {
    if (from_right && most >= 0) {
      return absl::UnimplementedError("rsplit: a limit without a separator is not supported");
    }
    for (rest = Strip(rest, true, false); !rest.empty(); rest = Strip(rest, true, false)) {
      if (most == 0) {
        ABSL_RETURN_IF_ERROR(add(rest));
        break;
      }
      size_t end = 0;
      while (end < rest.size() && !IsPythonSpace(FirstCodePoint(rest.substr(end)))) {
        end += Utf8Length(rest[end]);
      }
      ABSL_RETURN_IF_ERROR(add(rest.substr(0, end)));
      rest.remove_prefix(end);
      if (most > 0) --most;
    }
    return Value::List(std::move(parts), context.work);
  }
  ABSL_ASSIGN_OR_RETURN(const std::string* text, TextArgument("split", separator));
  if (text->empty()) return absl::InvalidArgumentError("split: expected a separator, got ''");
  if (from_right) {
    while (most != 0) {
      ABSL_RETURN_IF_ERROR(context.work.Charge(kStepUnits));
      const size_t at = rest.rfind(*text);
      if (at == std::string_view::npos) break;
      // std::string_view::rfind compares at each position.
      ABSL_RETURN_IF_ERROR(
          context.work.Charge((rest.size() - at) * std::max<size_t>(1, text->size() / 8)));
      ABSL_RETURN_IF_ERROR(add(rest.substr(at + text->size())));
      rest = rest.substr(0, at);
      if (most > 0) --most;
    }
    ABSL_RETURN_IF_ERROR(context.work.Charge(rest.size() * std::max<size_t>(1, text->size() / 8)));
    ABSL_RETURN_IF_ERROR(add(rest));
    std::reverse(parts.begin(), parts.end());
  } else {
    while (most != 0) {
      const size_t at = FindText(rest, *text);
      if (at == std::string_view::npos) break;
      ABSL_RETURN_IF_ERROR(add(rest.substr(0, at)));
      rest.remove_prefix(at + text->size());
      if (most > 0) --most;
    }
    ABSL_RETURN_IF_ERROR(add(rest));
  }
  return Value::List(std::move(parts), context.work);
}

// str.format with "{}", "{0}" and "{name}".
absl::StatusOr<Value> Format(TemplateContext& context, const Value& object,
                             const Arguments& arguments) {
  const std::string_view text = *object.text();
  std::string result;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      result += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      result += c;
      ++i;
      continue;
    }
    const size_t end = text.find('}', i);
    if (c == '}' || end == std::string_view::npos) {
      return absl::InvalidArgumentError("format: expected matching '{' and '}'");
    }
    const std::string_view field = text.substr(i + 1, end - i - 1);
    const bool is_index = std::all_of(field.begin(), field.end(),
                                      [](char digit) { return digit >= '0' && digit <= '9'; });
    const Value* value = nullptr;
    size_t index = 0;
    if (field.empty()) {
      index = next++;
    } else if (is_index && !absl::SimpleAtoi(ToAbsl(field), &index)) {
      index = arguments.values.size();
    }
    if (is_index && index < arguments.values.size()) value = &arguments.values[index];
    for (const auto& [name, argument] : arguments.named) {
      if (name == field) value = &argument;
    }
    if (value == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("format: no argument for ", Quoted(text.substr(i, end - i + 1))));
    }
    ABSL_ASSIGN_OR_RETURN(const std::string part, ToText(*value, context.work));
    result += part;
    i = end;
  }
  return Value::Text(std::move(result));
}

const std::vector<MethodRow>& StringMethods() {
  static const auto& rows = *new std::vector<MethodRow>{
      {"strip", {"chars"}, 0, StripMethod<true, true>},
      {"lstrip", {"chars"}, 0, StripMethod<true, false>},
      {"rstrip", {"chars"}, 0, StripMethod<false, true>},
      {"format", {}, kAnyArguments, Format},
      {"startswith", {"prefix"}, 1, AffixMethod<true>},
      {"endswith", {"suffix"}, 1, AffixMethod<false>},
      {"removeprefix", {"prefix"}, 1, RemoveAffix<true>},
      {"removesuffix", {"suffix"}, 1, RemoveAffix<false>},
      {"split", {"sep", "maxsplit"}, 0, SplitMethod<false>},
      {"rsplit", {"sep", "maxsplit"}, 0, SplitMethod<true>},
      {"upper",
       {},
       0,
       [](TemplateContext&, const Value& object, const Arguments&) -> absl::StatusOr<Value> {
         return Value::Text(Uppercase(*object.text()));
       }},
      {"lower",
       {},
       0,
       [](TemplateContext&, const Value& object, const Arguments&) -> absl::StatusOr<Value> {
         return Value::Text(Lowercase(*object.text()));
       }},
      {"capitalize",
       {},
       0,
       [](TemplateContext&, const Value& object, const Arguments&) -> absl::StatusOr<Value> {
         return Value::Text(Capitalize(*object.text()));
       }},
      {"title",
       {},
       0,
       [](TemplateContext& context, const Value& object, const Arguments&)
           -> absl::StatusOr<Value> { return ApplyFilter(context, "title", object, {}); }},
      {"splitlines",
       {},
       0,
       [](TemplateContext& context, const Value& object,
          const Arguments&) -> absl::StatusOr<Value> {
         ABSL_RETURN_IF_ERROR(context.work.Charge(2 * kValueUnits * object.text()->size()));
         std::vector<Value> lines;
         for (const std::string_view line : SplitLines(*object.text())) {
           lines.push_back(Value::Text(std::string(line)));
         }
         return Value::List(std::move(lines), context.work);
       }},
      {"replace",
       {"old", "new", "count"},
       2,
       [](TemplateContext& context, const Value& object, const Arguments& arguments)
           -> absl::StatusOr<Value> { return ApplyFilter(context, "replace", object, arguments); }},
      {"join",
       {"iterable"},
       1,
       [](TemplateContext& context, const Value& object,
          const Arguments& arguments) -> absl::StatusOr<Value> {
         return ApplyFilter(context, "join", arguments.values[0], {{object}});
       }},
      {"find",
       {"sub"},
       1,
       [](TemplateContext&, const Value& object,
          const Arguments& arguments) -> absl::StatusOr<Value> {
         ABSL_ASSIGN_OR_RETURN(const std::string* part, TextArgument("find", arguments.values[0]));
         const size_t at = FindText(*object.text(), *part);
         if (at == std::string_view::npos) return Value::Int(-1);
         return Value::Int(
             static_cast<int64_t>(CodePoints(std::string_view(*object.text()).substr(0, at))));
       }},
      {"count",
       {"sub"},
       1,
       [](TemplateContext& context, const Value& object,
          const Arguments& arguments) -> absl::StatusOr<Value> {
         ABSL_ASSIGN_OR_RETURN(const std::string* part, TextArgument("count", arguments.values[0]));
         if (part->empty())
           return absl::InvalidArgumentError("count: expected a string other than ''");
         int64_t count = 0;
         for (size_t at = FindText(*object.text(), *part); at != std::string_view::npos;
              at = FindText(*object.text(), *part, at + part->size())) {
           ABSL_RETURN_IF_ERROR(context.work.Charge(kStepUnits));
           ++count;
         }
         return Value::Int(count);
       }},
      {"isdigit",
       {},
       0,
       [](TemplateContext&, const Value& object, const Arguments&) -> absl::StatusOr<Value> {
         const std::string& text = *object.text();
         return Value::Bool(!text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
           return c >= '0' && c <= '9';
         }));
       }},
  };
  return rows;
}

enum class Part { kKeys, kValues, kItems };
template <Part part>
absl::StatusOr<Value> Entries(TemplateContext& context, const Value& object, const Arguments&) {
  std::vector<Value> items;
  ABSL_RETURN_IF_ERROR(context.work.Charge(kValueUnits * object.mapping()->entries.size()));
  for (const auto& [key, value] : object.mapping()->entries) {
    if constexpr (part == Part::kItems) {
      ABSL_ASSIGN_OR_RETURN(Value pair,
                            Value::List({key, value}, context.work, SequenceStyle::kTuple));
      items.push_back(std::move(pair));
    } else {
      items.push_back(part == Part::kKeys ? key : value);
    }
  }
  return Value::List(std::move(items), context.work, SequenceStyle::kView);
}

absl::StatusOr<Value> Copy(TemplateContext&, const Value& object, const Arguments&) {
  return object;
}

const std::vector<MethodRow>& DictMethods() {
  static const auto& rows = *new std::vector<MethodRow>{
      {"keys", {}, 0, Entries<Part::kKeys>},
      {"values", {}, 0, Entries<Part::kValues>},
      {"items", {}, 0, Entries<Part::kItems>},
      {"copy", {}, 0, Copy},
      {"get",
       {"key", "default"},
       1,
       [](TemplateContext& context, const Value& object,
          const Arguments& arguments) -> absl::StatusOr<Value> {
         ABSL_ASSIGN_OR_RETURN(const Value* found,
                               Find(*object.mapping(), arguments.values[0], context.work));
         if (found != nullptr) return *found;
         return arguments.values[1].is_undefined() ? Value() : arguments.values[1];
       }},
  };
  return rows;
}

const std::vector<MethodRow>& ListMethods() {
  static const auto& rows = *new std::vector<MethodRow>{
      {"copy", {}, 0, Copy},
      {"count",
       {"value"},
       1,
       [](TemplateContext& context, const Value& object,
          const Arguments& arguments) -> absl::StatusOr<Value> {
         int64_t count = 0;
         for (const Value& item : object.sequence()->items) {
           ABSL_ASSIGN_OR_RETURN(const bool equal, Equal(item, arguments.values[0], context.work));
           count += equal ? 1 : 0;
         }
         return Value::Int(count);
       }},
      {"index",
       {"value"},
       1,
       [](TemplateContext& context, const Value& object,
          const Arguments& arguments) -> absl::StatusOr<Value> {
         const auto& items = object.sequence()->items;
         for (size_t i = 0; i < items.size(); ++i) {
           ABSL_ASSIGN_OR_RETURN(const bool equal,
                                 Equal(items[i], arguments.values[0], context.work));
           if (equal) return Value::Int(static_cast<int64_t>(i));
         }
         return absl::InvalidArgumentError("index: the list has no such value");
       }},
  };
  return rows;
}

const std::vector<MethodRow>& LoopMethods() {
  static const auto& rows = *new std::vector<MethodRow>{
      {"cycle",
       {},
       kAnyArguments,
       [](TemplateContext&, const Value& object,
          const Arguments& arguments) -> absl::StatusOr<Value> {
         const TemplateLoop& loop = **object.get_if<Value::Loop>();
         if (arguments.values.empty()) {
           return absl::InvalidArgumentError("cycle: expected at least one value");
         }
         return arguments.values[loop.index % arguments.values.size()];
       }},
  };
  return rows;
}

// Methods of other types: none.
const std::vector<MethodRow>& MethodsOf(const Value& object) {
  static const auto& none = *new std::vector<MethodRow>;
  return object.text() != nullptr                  ? StringMethods()
         : object.mapping() != nullptr             ? DictMethods()
         : object.sequence() != nullptr            ? ListMethods()
         : object.get_if<Value::Loop>() != nullptr ? LoopMethods()
                                                   : none;
}

// Methods of Python that change their object, or that are not supported.
constexpr std::array<std::string_view, 11> kMutators = {"append", "extend",     "insert", "remove",
                                                        "pop",    "clear",      "sort",   "reverse",
                                                        "update", "setdefault", "popitem"};
constexpr std::array<std::string_view, 21> kOtherStringMethods = {
    "format_map", "encode",  "center",    "ljust",      "rjust",    "zfill",    "index",
    "rfind",      "rindex",  "partition", "rpartition", "casefold", "swapcase", "expandtabs",
    "translate",  "isalpha", "isalnum",   "isspace",    "isupper",  "islower",  "isnumeric"};

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

absl::StatusOr<Value> CallMethod(TemplateContext& context, const TemplateMethod& method,
                                 Arguments arguments) {
  const Value& object = *method.object;
  for (const MethodRow& row : MethodsOf(object)) {
    if (row.name != method.name) continue;
    if (row.required != kAnyArguments) {
      ABSL_RETURN_IF_ERROR(arguments.Bind(row.name, row.parameters, row.required));
    }
    const uint64_t size = object.text() == nullptr ? 0 : object.text()->size();
    ABSL_RETURN_IF_ERROR(context.work.Charge(kStepUnits + size));
    return row.call(context, object, arguments);
  }
  return absl::UnimplementedError(absl::StrCat(
      "the method ", Quoted(method.name), " of ", object.type_name(), " is not supported",
      std::find(kMutators.begin(), kMutators.end(), method.name) != kMutators.end()
          ? ": templates cannot change lists and mappings"
          : ""));
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
  const auto method = [&](std::string_view method_name) -> absl::StatusOr<Value> {
    ABSL_RETURN_IF_ERROR(context.work.Charge(kValueUnits));
    return Value(TemplateMethod{std::make_shared<const Value>(object), method_name});
  };
  for (const MethodRow& row : MethodsOf(object)) {
    if (row.name == name) return method(row.name);
  }
  if (object.text() != nullptr) {
    for (const std::string_view other : kOtherStringMethods) {
      if (other == name) return method(other);
    }
  }
  if (object.mapping() != nullptr || object.sequence() != nullptr) {
    for (const std::string_view mutator : kMutators) {
      if (mutator == name) return method(mutator);
    }
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
