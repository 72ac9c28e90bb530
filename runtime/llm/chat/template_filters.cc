#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "runtime/core/python_integers.h"
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

// Elements for map, select and the like, which accept none as an empty list.
absl::StatusOr<std::vector<Value>> IterateOrNone(TemplateContext& context, const Value& value) {
  if (!value.truth()) return std::vector<Value>();
  return Iterate(context, value);
}

absl::StatusOr<Value> Generator(TemplateContext& context, std::vector<Value> items) {
  return Value::List(std::move(items), context.work, SequenceStyle::kGenerator);
}

// Parses all of `text`.
template <class T>
bool ParseAll(std::string_view text, T& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

// Value of an attribute path such as "function.name". Numbers are indices.
absl::StatusOr<Value> ByPath(TemplateContext& context, const Value& item, const Value& path) {
  int64_t index;
  if (path.GetInt(index)) return GetItem(context, item, path);
  if (path.text() == nullptr) return WrongType("the name of an attribute", path);
  Value value = item;
  std::string_view rest = *path.text();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view name = rest.substr(0, dot);
    int64_t number;
    const bool is_number = !name.starts_with('-') && ParseAll(name, number);
    ABSL_RETURN_IF_ERROR(context.work.Charge(kStepUnits + name.size()));
    ABSL_ASSIGN_OR_RETURN(
        value,
        GetItem(context, value, is_number ? Value::Int(number) : Value::Text(std::string(name))));
    if (dot == std::string_view::npos) return value;
    rest.remove_prefix(dot + 1);
  }
}

// The value to compare: lower case unless `case_sensitive`; an attribute if `path` is given.
absl::StatusOr<Value> SortKey(TemplateContext& context, const Value& item, const Value& path,
                              bool case_sensitive) {
  Value key = item;
  if (!path.is_undefined() && !path.is_none()) {
    ABSL_ASSIGN_OR_RETURN(key, ByPath(context, item, path));
  }
  if (case_sensitive || key.text() == nullptr) return key;
  ABSL_RETURN_IF_ERROR(context.work.Charge(2 * key.text()->size()));
  return Value::Text(Lowercase(*key.text()));
}

absl::StatusOr<std::vector<Value>> Sorted(TemplateContext& context, const std::vector<Value>& items,
                                          const Value& path, bool case_sensitive, bool reverse) {
  std::vector<Value> keys;
  std::vector<size_t> order;
  ABSL_RETURN_IF_ERROR(context.work.Charge(2 * kValueUnits * items.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(Value key, SortKey(context, items[i], path, case_sensitive));
    keys.push_back(std::move(key));
    // Insertion by binary search: unlike std::sort, safe for comparisons that fail or contradict.
    ABSL_RETURN_IF_ERROR(context.work.Charge(order.size() / 8));
    absl::Status status;
    const auto before = [&](size_t a, size_t b) {
      if (!status.ok()) return false;
      const absl::StatusOr<bool> less =
          reverse ? Less(keys[b], keys[a], context.work) : Less(keys[a], keys[b], context.work);
      if (!less.ok()) status = less.status();
      return less.ok() && *less;
    };
    order.insert(std::upper_bound(order.begin(), order.end(), i, before), i);
    ABSL_RETURN_IF_ERROR(status);
  }
  std::vector<Value> sorted;
  sorted.reserve(order.size());
  for (const size_t i : order) sorted.push_back(items[i]);
  return sorted;
}

// Parses a number as int() and float() do.
template <class T>
bool ParseNumber(std::string_view text, T& number) {
  text = Strip(text, true, true);
  if (text.starts_with('+')) text.remove_prefix(1);
  return ParseAll(text, number);
}

absl::StatusOr<Value> ToInt(TemplateContext&, const Value& input, const Arguments& arguments) {
  const Value fallback = arguments.values[0].is_undefined() ? Value::Int(0) : arguments.values[0];
  int64_t integer;
  if (input.GetInt(integer)) return Value::Int(integer);
  double number;
  if (const std::string* text = input.text()) {
    if (ParseNumber(*text, integer)) return Value::Int(integer);
    if (!ParseNumber(*text, number)) return fallback;
  } else if (const double* value = input.get_if<double>()) {
    number = *value;
  } else {
    return fallback;
  }
  const std::optional<int64_t> truncated = TruncateToInt64(number);
  return truncated.has_value() ? Value::Int(*truncated) : fallback;
}

absl::StatusOr<Value> ToDouble(TemplateContext&, const Value& input, const Arguments& arguments) {
  if (input.is_number()) return Value::Double(input.AsDouble());
  double number;
  if (input.text() != nullptr && ParseNumber(*input.text(), number)) return Value::Double(number);
  return arguments.values[0].is_undefined() ? Value::Double(0) : arguments.values[0];
}

absl::StatusOr<Value> Length(TemplateContext&, const Value& input, const Arguments&) {
  size_t size = 0;
  if (input.text() != nullptr) {
    size = CodePoints(*input.text());
  } else if (input.sequence() != nullptr) {
    size = input.sequence()->items.size();
  } else if (input.mapping() != nullptr) {
    size = input.mapping()->entries.size();
  } else if (!input.is_undefined()) {
    return WrongType("a list, mapping or string", input);
  }
  return Value::Int(static_cast<int64_t>(size));
}

absl::StatusOr<Value> Join(TemplateContext& context, const Value& input,
                           const Arguments& arguments) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(context, input));
  ABSL_ASSIGN_OR_RETURN(const std::string separator, ToText(arguments.values[0], context.work));
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    Value item = items[i];
    if (!arguments.values[1].is_undefined()) {
      ABSL_ASSIGN_OR_RETURN(item, ByPath(context, item, arguments.values[1]));
    }
    ABSL_ASSIGN_OR_RETURN(const std::string part, ToText(item, context.work));
    ABSL_RETURN_IF_ERROR(context.work.Charge(separator.size() + part.size()));
    if (i > 0) text += separator;
    text += part;
  }
  return Value::Text(std::move(text));
}

absl::StatusOr<Value> Indent(TemplateContext& context, const Value& input,
                             const Arguments& arguments) {
  const Value& width = arguments.values[0];
  ABSL_ASSIGN_OR_RETURN(const std::string text, ToText(input, context.work));
  std::string indentation(4, ' ');
  int64_t spaces;
  if (width.text() != nullptr) {
    indentation = *width.text();
  } else if (width.GetInt(spaces)) {
    ABSL_RETURN_IF_ERROR(context.work.Charge(static_cast<uint64_t>(std::max<int64_t>(spaces, 0))));
    indentation.assign(static_cast<size_t>(std::max<int64_t>(spaces, 0)), ' ');
  }
  const bool first = arguments.values[1].truth(), blank = arguments.values[2].truth();
  std::string result;
  const std::string lines_text = text + "\n";  // keeps a line end of the text
  const std::vector<std::string_view> lines = SplitLines(lines_text);
  for (size_t i = 0; i < lines.size(); ++i) {
    ABSL_RETURN_IF_ERROR(context.work.Charge(kStepUnits + indentation.size() + lines[i].size()));
    if (i > 0) result += '\n';
    if (i == 0 ? first : blank || !lines[i].empty()) result += indentation;
    result += lines[i];
  }
  return Value::Text(std::move(result));
}

absl::StatusOr<Value> Title(TemplateContext& context, const Value& input, const Arguments&) {
  ABSL_ASSIGN_OR_RETURN(const std::string text, ToText(input, context.work));
  std::string result;
  bool start = true;
  ForEachCodePoint(text, [&](char32_t c, std::string_view bytes) {
    const std::string_view separators = "-([{<";
    result += start ? Uppercase(bytes) : Lowercase(bytes);
    start = IsPythonSpace(c) ||
            (c < 0x80 && separators.find(static_cast<char>(c)) != std::string_view::npos);
  });
  return Value::Text(std::move(result));
}

absl::StatusOr<Value> Json(TemplateContext& context, const Value& input,
                           const Arguments& arguments) {
  JsonStyle style;
  style.ensure_ascii = arguments.values[0].truth();
  const Value &indent = arguments.values[1], &separators = arguments.values[2];
  if (indent.GetInt(style.indent)) {
    style.indent = std::clamp<int64_t>(style.indent, 0, 1024);
    style.item_separator = ",";
  } else if (!indent.is_undefined() && !indent.is_none()) {
    return absl::UnimplementedError("tojson: an indent other than an integer is not supported");
  }
  if (const TemplateSequence* pair = separators.sequence()) {
    if (pair->items.size() != 2 || pair->items[0].text() == nullptr ||
        pair->items[1].text() == nullptr) {
      return absl::InvalidArgumentError("tojson: expected two separators");
    }
    style.item_separator = *pair->items[0].text();
    style.key_separator = *pair->items[1].text();
  }
  style.sort_keys = arguments.values[3].truth();
  ABSL_ASSIGN_OR_RETURN(std::string text, ToJson(input, style, context.work));
  return Value::Text(std::move(text));
}

// select, reject, selectattr and rejectattr: the arguments are an attribute, a test and its
// arguments.
absl::StatusOr<Value> Select(TemplateContext& context, const Value& input, Arguments arguments,
                             bool by_attribute, bool expected) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<Value> items, IterateOrNone(context, input));
  Value path = Value::MakeUndefined("attribute");
  if (by_attribute) {
    if (arguments.values.empty()) return absl::InvalidArgumentError("expected an attribute");
    path = arguments.values[0];
    arguments.values.erase(arguments.values.begin());
  }
  std::string test;
  if (!arguments.values.empty()) {
    if (arguments.values[0].text() == nullptr) {
      return WrongType("the name of a test", arguments.values[0]);
    }
    test = *arguments.values[0].text();
    arguments.values.erase(arguments.values.begin());
  }
  std::vector<Value> kept;
  for (const Value& item : items) {
    Value value = item;
    if (by_attribute) {
      ABSL_ASSIGN_OR_RETURN(value, ByPath(context, item, path));
    }
    bool holds = value.truth();
    if (!test.empty()) {
      ABSL_RETURN_IF_ERROR(context.work.Charge(kValueUnits * arguments.values.size()));
      ABSL_ASSIGN_OR_RETURN(holds, ApplyTest(context, test, value, arguments));
    }
    if (holds == expected) kept.push_back(item);
  }
  return Generator(context, std::move(kept));
}

absl::StatusOr<Value> Map(TemplateContext& context, const Value& input, Arguments arguments) {
  ABSL_ASSIGN_OR_RETURN(std::vector<Value> items, IterateOrNone(context, input));
  if (arguments.values.empty()) {
    ABSL_RETURN_IF_ERROR(arguments.Bind("map", {"attribute", "default"}, 1));
    for (Value& item : items) {
      ABSL_ASSIGN_OR_RETURN(Value value, ByPath(context, item, arguments.values[0]));
      item = value.is_undefined() ? arguments.values[1] : std::move(value);
    }
    return Generator(context, std::move(items));
  }
  if (arguments.values[0].text() == nullptr) {
    return WrongType("the name of a filter", arguments.values[0]);
  }
  const std::string filter = *arguments.values[0].text();
  arguments.values.erase(arguments.values.begin());
  for (Value& item : items) {
    ABSL_RETURN_IF_ERROR(context.work.Charge(kValueUnits * arguments.values.size()));
    ABSL_ASSIGN_OR_RETURN(item, ApplyFilter(context, filter, item, arguments));
  }
  return Generator(context, std::move(items));
}

absl::StatusOr<Value> Unique(TemplateContext& context, const Value& input,
                             const Arguments& arguments) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(context, input));
  std::vector<Value> keys, kept;
  for (const Value& item : items) {
    ABSL_ASSIGN_OR_RETURN(Value key,
                          SortKey(context, item, arguments.values[1], arguments.values[0].truth()));
    bool found = false;
    for (size_t i = 0; i < keys.size() && !found; ++i) {
      ABSL_ASSIGN_OR_RETURN(found, Equal(keys[i], key, context.work));
    }
    if (found) continue;
    keys.push_back(std::move(key));
    kept.push_back(item);
  }
  return Generator(context, std::move(kept));
}

template <bool least>
absl::StatusOr<Value> Extreme(TemplateContext& context, const Value& input,
                              const Arguments& arguments) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(context, input));
  if (items.empty()) return Value::MakeUndefined("element");
  size_t best = 0;
  ABSL_ASSIGN_OR_RETURN(
      Value best_key, SortKey(context, items[0], arguments.values[1], arguments.values[0].truth()));
  for (size_t i = 1; i < items.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(
        Value key, SortKey(context, items[i], arguments.values[1], arguments.values[0].truth()));
    ABSL_ASSIGN_OR_RETURN(const bool better, least ? Less(key, best_key, context.work)
                                                   : Less(best_key, key, context.work));
    if (!better) continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

absl::StatusOr<Value> DictSort(TemplateContext& context, const Value& input,
                               const Arguments& arguments) {
  if (input.mapping() == nullptr) return WrongType("a mapping", input);
  const Value& by = arguments.values[1];
  const bool by_value = by.text() != nullptr && *by.text() == "value";
  ABSL_ASSIGN_OR_RETURN(const Value items,
                        CallMethod(context, {std::make_shared<const Value>(input), "items"}, {}));
  ABSL_ASSIGN_OR_RETURN(std::vector<Value> sorted,
                        Sorted(context, items.sequence()->items, Value::Int(by_value ? 1 : 0),
                               arguments.values[0].truth(), arguments.values[2].truth()));
  return Value::List(std::move(sorted), context.work);
}

absl::StatusOr<Value> Text(TemplateContext& context, const Value& input,
                           std::string (*convert)(std::string_view)) {
  ABSL_ASSIGN_OR_RETURN(const std::string text, ToText(input, context.work));
  ABSL_RETURN_IF_ERROR(context.work.Charge(2 * text.size()));
  return Value::Text(convert(text));
}

struct FilterRow {
  std::string_view name;
  std::vector<std::string_view> parameters;
  size_t required;
  absl::StatusOr<Value> (*apply)(TemplateContext&, const Value& input, const Arguments&);
};

const std::vector<FilterRow>& Filters() {
  using Result = absl::StatusOr<Value>;
  using Context = TemplateContext;
  static const auto& rows = *new std::vector<FilterRow>{
      {"abs",
       {},
       0,
       [](Context&, const Value& input, const Arguments&) -> Result {
         int64_t integer;
         if (input.GetInt(integer) && integer != std::numeric_limits<int64_t>::min()) {
           return Value::Int(integer < 0 ? -integer : integer);
         }
         if (!input.is_number()) return WrongType("a number", input);
         return Value::Double(std::fabs(input.AsDouble()));
       }},
      {"capitalize",
       {},
       0,
       [](Context& context, const Value& input, const Arguments&) -> Result {
         return Text(context, input, Capitalize);
       }},
      {"count", {}, 0, Length},
      {"d",
       {"default_value", "boolean"},
       0,
       [](Context& context, const Value& input, const Arguments& arguments) -> Result {
         return ApplyFilter(context, "default", input, arguments);
       }},
      {"default",
       {"default_value", "boolean"},
       0,
       [](Context&, const Value& input, const Arguments& arguments) -> Result {
         if (!input.is_undefined() && !(arguments.values[1].truth() && !input.truth())) {
           return input;
         }
         return arguments.values[0].is_undefined() ? Value::Text("") : arguments.values[0];
       }},
      {"dictsort", {"case_sensitive", "by", "reverse"}, 0, DictSort},
      {"first",
       {},
       0,
       [](Context& context, const Value& input, const Arguments&) -> Result {
         ABSL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(context, input));
         return items.empty() ? Value::MakeUndefined("element") : items.front();
       }},
      {"float", {"default"}, 0, ToDouble},
      {"indent", {"width", "first", "blank"}, 0, Indent},
      {"int", {"default"}, 0, ToInt},
      {"items",
       {},
       0,
       [](Context& context, const Value& input, const Arguments&) -> Result {
         if (input.is_undefined()) return Generator(context, {});
         if (input.mapping() == nullptr) return WrongType("a mapping", input);
         return CallMethod(context, {std::make_shared<const Value>(input), "items"}, {});
       }},
      {"join", {"d", "attribute"}, 0, Join},
      {"last",
       {},
       0,
       [](Context& context, const Value& input, const Arguments&) -> Result {
         ABSL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(context, input));
         return items.empty() ? Value::MakeUndefined("element") : items.back();
       }},
      {"length", {}, 0, Length},
      {"list",
       {},
       0,
       [](Context& context, const Value& input, const Arguments&) -> Result {
         ABSL_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(context, input));
         return Value::List(std::move(items), context.work);
       }},
      {"lower",
       {},
       0,
       [](Context& context, const Value& input, const Arguments&) -> Result {
         return Text(context, input, Lowercase);
       }},
      {"max", {"case_sensitive", "attribute"}, 0, Extreme<false>},
      {"min", {"case_sensitive", "attribute"}, 0, Extreme<true>},
      {"replace",
       {"old", "new", "count"},
       2,
       [](Context& context, const Value& input, const Arguments& arguments) -> Result {
         ABSL_ASSIGN_OR_RETURN(const std::string text, ToText(input, context.work));
         ABSL_ASSIGN_OR_RETURN(const std::string from, ToText(arguments.values[0], context.work));
         ABSL_ASSIGN_OR_RETURN(const std::string to, ToText(arguments.values[1], context.work));
         if (from.empty()) return absl::UnimplementedError("replacing '' is not supported");
         int64_t count = -1;
         arguments.values[2].GetInt(count);
         ABSL_ASSIGN_OR_RETURN(std::string result, ReplaceText(context, text, from, to, count));
         return Value::Text(std::move(result));
       }},
      {"reverse",
       {},
       0,
       [](Context& context, const Value& input, const Arguments&) -> Result {
         if (input.text() != nullptr) {
           return GetSlice(context, input, {Value(), Value(), Value::Int(-1)});
         }
         ABSL_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(context, input));
         std::reverse(items.begin(), items.end());
         return Generator(context, std::move(items));
       }},
      {"safe",
       {},
       0,
       [](Context&, const Value& input, const Arguments&) -> Result { return input; }},
      {"sort",
       {"reverse", "case_sensitive", "attribute"},
       0,
       [](Context& context, const Value& input, const Arguments& arguments) -> Result {
         ABSL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(context, input));
         ABSL_ASSIGN_OR_RETURN(std::vector<Value> sorted,
                               Sorted(context, items, arguments.values[2],
                                      arguments.values[1].truth(), arguments.values[0].truth()));
         return Value::List(std::move(sorted), context.work);
       }},
      {"string",
       {},
       0,
       [](Context& context, const Value& input, const Arguments&) -> Result {
         ABSL_ASSIGN_OR_RETURN(std::string text, ToText(input, context.work));
         return Value::Text(std::move(text));
       }},
      {"title", {}, 0, Title},
      {"tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}, 0, Json},
      {"trim",
       {"chars"},
       0,
       [](Context& context, const Value& input, const Arguments& arguments) -> Result {
         ABSL_ASSIGN_OR_RETURN(std::string text, ToText(input, context.work));
         const Value value = Value::Text(std::move(text));
         return CallMethod(context, {std::make_shared<const Value>(value), "strip"}, arguments);
       }},
      {"unique", {"case_sensitive", "attribute"}, 0, Unique},
      {"upper",
       {},
       0,
       [](Context& context, const Value& input, const Arguments&) -> Result {
         return Text(context, input, Uppercase);
       }},
  };
  return rows;
}

}  // namespace

absl::StatusOr<Value> ApplyFilter(TemplateContext& context, std::string_view name,
                                  const Value& input, Arguments arguments) {
  TemplateDepth depth(context);
  ABSL_RETURN_IF_ERROR(depth.Enter());
  if (name == "map") return Map(context, input, std::move(arguments));
  if (name == "select" || name == "reject" || name == "selectattr" || name == "rejectattr") {
    return Select(context, input, std::move(arguments), name.ends_with("attr"),
                  name.starts_with("select"));
  }
  for (const FilterRow& row : Filters()) {
    if (row.name != name) continue;
    ABSL_RETURN_IF_ERROR(arguments.Bind(row.name, row.parameters, row.required));
    ABSL_RETURN_IF_ERROR(context.work.Charge(input.text() == nullptr ? 0 : input.text()->size()));
    return row.apply(context, input, arguments);
  }
  return absl::UnimplementedError(absl::StrCat("the filter ", Quoted(name), " is not supported"));
}

}  // namespace belay::llm
