#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/chat/template_arguments.h"
#include "runtime/llm/chat/template_functions.h"
#include "runtime/llm/tokenizer/unicode_text.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {
namespace {

using Value = TemplateValue;
using Arguments = TemplateArguments;

// Arguments of methods are bound: missing ones are undefined.

// MethodRow::required of a method with any arguments, which are not bound.
constexpr size_t kAnyArguments = std::numeric_limits<size_t>::max();

struct MethodRow {
  std::string_view name;
  std::vector<std::string_view> parameters;
  size_t required;
  absl::StatusOr<Value> (*call)(TemplateContext&, const Value& object, const Arguments&);
};

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

absl::Status WrongType(std::string_view what, std::string_view expected, const Value& actual) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": expected ", expected, ", got ", actual.type_name()));
}

absl::Status WrongType(std::string_view expected, const Value& actual) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", expected, ", got ", actual.type_name()));
}

absl::StatusOr<int64_t> IntArgument(std::string_view what, const Value& value, int64_t fallback) {
  if (value.is_undefined() || value.is_none()) return fallback;
  int64_t integer;
  if (!value.GetInt(integer)) return WrongType(what, "an integer", value);
  return integer;
}

absl::StatusOr<const std::string*> TextArgument(std::string_view what, const Value& value) {
  if (value.text() == nullptr) return WrongType(what, "a string", value);
  return value.text();
}

std::optional<std::string_view> FindMethod(const Value& object, std::string_view name) {
  for (const MethodRow& row : MethodsOf(object)) {
    if (row.name == name) return row.name;
  }
  const auto among = [&](const auto& names) -> std::optional<std::string_view> {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return *found;
  };
  if (object.text() != nullptr) return among(kOtherStringMethods);
  if (object.mapping() != nullptr || object.sequence() != nullptr) return among(kMutators);
  return std::nullopt;
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

}  // namespace belay::llm
