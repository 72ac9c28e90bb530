#include "runtime/llm/chat/template_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/unicode_text.h"

namespace belay::llm {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void AppendHex(char32_t c, int digits, std::string& out) {
  for (int i = digits - 1; i >= 0; --i) out += kHex[(c >> (4 * i)) & 0xF];
}

// repr(float): the shortest digits, with an exponent outside [1e-4, 1e16).
std::string DoubleText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 400> buffer;
  const double size = std::fabs(value);
  const bool plain = value == 0 || (size >= 1e-4 && size < 1e16);
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string text(buffer.data(), end);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

// repr(str). Format and control characters are escaped.
std::string Quote(std::string_view text) {
  const char quote =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"'
                                                                                            : '\'';
  std::string out(1, quote);
  ForEachCodePoint(text, [&](char32_t c, std::string_view bytes) {
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += bytes;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (IsOtherCategory(c) || (IsPythonSpace(c) && c != ' ')) {
      out += c < 0x100 ? "\\x" : c < 0x10000 ? "\\u" : "\\U";
      AppendHex(c, c < 0x100 ? 2 : c < 0x10000 ? 4 : 8, out);
    } else {
      out += bytes;
    }
  });
  out += quote;
  return out;
}

std::string JsonQuote(std::string_view text, bool ensure_ascii) {
  std::string out = "\"";
  const auto escape = [&](char32_t unit) {
    out += "\\u";
    AppendHex(unit, 4, out);
  };
  ForEachCodePoint(text, [&](char32_t c, std::string_view bytes) {
    constexpr std::string_view kPlain = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
    const size_t at = c < 0x80 ? kPlain.find(static_cast<char>(c)) : std::string_view::npos;
    if (at != std::string_view::npos) {
      out += '\\';
      out += kLetters[at];
    } else if (c < 0x20 || (ensure_ascii && c >= 0x7F && c < 0x10000 && c != 0x7F)) {
      escape(c);
    } else if (ensure_ascii && c >= 0x10000) {
      escape(0xD800 + ((c - 0x10000) >> 10));
      escape(0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
      out += bytes;
    }
  });
  out += '"';
  return out;
}

// Appends with a charge for the bytes.
absl::Status Append(std::string_view text, std::string& out, TemplateWork& work) {
  ABSL_RETURN_IF_ERROR(work.Charge(text.size()));
  out += text;
  return absl::OkStatus();
}

absl::Status AppendRepr(const TemplateValue& value, std::string& out, TemplateWork& work) {
  ABSL_RETURN_IF_ERROR(work.Charge(kStepUnits));
  if (const std::string* text = value.text()) return Append(Quote(*text), out, work);
  if (const TemplateSequence* sequence = value.sequence()) {
    if (sequence->style == SequenceStyle::kView || sequence->style == SequenceStyle::kGenerator) {
      return absl::UnimplementedError(
          "printing an iterator is not supported: apply the filter 'list'");
    }
    const bool tuple = sequence->style == SequenceStyle::kTuple;
    out += tuple ? '(' : '[';
    for (size_t i = 0; i < sequence->items.size(); ++i) {
      if (i > 0) out += ", ";
      ABSL_RETURN_IF_ERROR(AppendRepr(sequence->items[i], out, work));
    }
    if (tuple && sequence->items.size() == 1) out += ',';
    out += tuple ? ')' : ']';
    return absl::OkStatus();
  }
  if (const TemplateMapping* mapping = value.mapping()) {
    out += '{';
    for (size_t i = 0; i < mapping->entries.size(); ++i) {
      if (i > 0) out += ", ";
      ABSL_RETURN_IF_ERROR(AppendRepr(mapping->entries[i].first, out, work));
      out += ": ";
      ABSL_RETURN_IF_ERROR(AppendRepr(mapping->entries[i].second, out, work));
    }
    out += '}';
    return absl::OkStatus();
  }
  if (const bool* flag = value.get_if<bool>()) return Append(*flag ? "True" : "False", out, work);
  if (const int64_t* integer = value.get_if<int64_t>()) {
    return Append(std::to_string(*integer), out, work);
  }
  if (const double* number = value.get_if<double>()) return Append(DoubleText(*number), out, work);
  if (value.is_none()) return Append("None", out, work);
  if (value.is_undefined()) return Append("Undefined", out, work);
  return absl::UnimplementedError(
      absl::StrCat("printing a value of type ", value.type_name(), " is not supported"));
}

absl::Status AppendJson(const TemplateValue& value, const JsonStyle& style, int64_t level,
                        std::string& out, TemplateWork& work) {
  ABSL_RETURN_IF_ERROR(work.Charge(kStepUnits));
  const auto new_line = [&](int64_t depth) -> absl::Status {
    if (style.indent < 0) return absl::OkStatus();
    out += '\n';
    const auto spaces = static_cast<uint64_t>(style.indent) * static_cast<uint64_t>(depth);
    ABSL_RETURN_IF_ERROR(work.Charge(spaces));
    out.append(spaces, ' ');
    return absl::OkStatus();
  };
  if (const std::string* text = value.text()) {
    return Append(JsonQuote(*text, style.ensure_ascii), out, work);
  }
  if (const TemplateSequence* sequence = value.sequence()) {
    if (sequence->style > SequenceStyle::kTuple) {
      return absl::InvalidArgumentError(
          "tojson: an iterator has no JSON form: apply the filter 'list'");
    }
    if (sequence->items.empty()) return Append("[]", out, work);
    out += '[';
    for (size_t i = 0; i < sequence->items.size(); ++i) {
      if (i > 0) ABSL_RETURN_IF_ERROR(Append(style.item_separator, out, work));
      ABSL_RETURN_IF_ERROR(new_line(level + 1));
      ABSL_RETURN_IF_ERROR(AppendJson(sequence->items[i], style, level + 1, out, work));
    }
    ABSL_RETURN_IF_ERROR(new_line(level));
    out += ']';
    return absl::OkStatus();
  }
  if (const TemplateMapping* mapping = value.mapping()) {
    if (mapping->entries.empty()) return Append("{}", out, work);
    std::vector<std::pair<std::string, const TemplateValue*>> entries;
    for (const auto& [key, item] : mapping->entries) {
      ABSL_RETURN_IF_ERROR(work.Charge(kValueUnits));
      // Keys that are not strings are printed as JSON.
      std::string name;
      if (key.text() != nullptr) {
        name = *key.text();
      } else {
        ABSL_RETURN_IF_ERROR(AppendJson(key, style, 0, name, work));
      }
      entries.emplace_back(std::move(name), &item);
    }
    if (style.sort_keys) {
      ABSL_RETURN_IF_ERROR(work.Charge(kStepUnits * kStepUnits * entries.size()));
      std::sort(entries.begin(), entries.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    out += '{';
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) ABSL_RETURN_IF_ERROR(Append(style.item_separator, out, work));
      ABSL_RETURN_IF_ERROR(new_line(level + 1));
      ABSL_RETURN_IF_ERROR(Append(JsonQuote(entries[i].first, style.ensure_ascii), out, work));
      ABSL_RETURN_IF_ERROR(Append(style.key_separator, out, work));
      ABSL_RETURN_IF_ERROR(AppendJson(*entries[i].second, style, level + 1, out, work));
    }
    ABSL_RETURN_IF_ERROR(new_line(level));
    out += '}';
    return absl::OkStatus();
  }
  if (const bool* flag = value.get_if<bool>()) return Append(*flag ? "true" : "false", out, work);
  if (value.is_none()) return Append("null", out, work);
  if (const double* number = value.get_if<double>()) {
    if (std::isnan(*number)) return Append("NaN", out, work);
    if (std::isinf(*number)) return Append(*number > 0 ? "Infinity" : "-Infinity", out, work);
  }
  if (value.is_number()) return AppendRepr(value, out, work);
  return absl::InvalidArgumentError(
      absl::StrCat("tojson: a value of type ", value.type_name(), " has no JSON form"));
}

}  // namespace

absl::Status TemplateWork::Charge(uint64_t units) {
  if (units > left_) {
    left_ = 0;
    return absl::ResourceExhaustedError("the template needs more steps or memory than allowed");
  }
  left_ -= units;
  return absl::OkStatus();
}

absl::StatusOr<TemplateValue> TemplateValue::List(std::vector<TemplateValue> items,
                                                  TemplateWork& work, SequenceStyle style) {
  ABSL_RETURN_IF_ERROR(work.Charge(kValueUnits * (items.size() + 1)));
  int depth = 1;
  for (const TemplateValue& item : items) depth = std::max(depth, item.depth() + 1);
  if (depth > kMaxValueDepth) {
    return absl::ResourceExhaustedError(
        absl::StrCat("expected lists nested at most ", kMaxValueDepth, " deep"));
  }
  return TemplateValue(
      std::make_shared<const TemplateSequence>(TemplateSequence{std::move(items), style, depth}));
}

absl::StatusOr<TemplateValue> TemplateValue::Dict(
    std::vector<std::pair<TemplateValue, TemplateValue>> entries, TemplateWork& work) {
  ABSL_RETURN_IF_ERROR(work.Charge(2 * kValueUnits * (entries.size() + 1)));
  TemplateMapping mapping;
  absl::flat_hash_map<std::string_view, size_t> strings;  // positions of keys
  for (auto& [key, value] : entries) {
    if (key.text() == nullptr && !key.is_number() && !key.is_none()) {
      return absl::UnimplementedError(
          absl::StrCat("a key of type ", key.type_name(), " is not supported"));
    }
    mapping.depth = std::max(mapping.depth, value.depth() + 1);
    const TemplateValue* before = nullptr;
    if (const std::string* text = key.text()) {
      ABSL_RETURN_IF_ERROR(work.Charge(kStepUnits + text->size()));
      const auto [found, added] = strings.try_emplace(*text, mapping.entries.size());
      if (!added) before = &mapping.entries[found->second].second;
    } else {
      ABSL_ASSIGN_OR_RETURN(before, Find(mapping, key, work));
    }
    if (before != nullptr) {
      *const_cast<TemplateValue*>(before) = std::move(value);
    } else {
      mapping.entries.emplace_back(std::move(key), std::move(value));
    }
  }
  if (mapping.depth > kMaxValueDepth) {
    return absl::ResourceExhaustedError(
        absl::StrCat("expected mappings nested at most ", kMaxValueDepth, " deep"));
  }
  return TemplateValue(std::make_shared<const TemplateMapping>(std::move(mapping)));
}

bool TemplateValue::GetInt(int64_t& value) const {
  if (const int64_t* integer = get_if<int64_t>()) {
    value = *integer;
    return true;
  }
  if (const bool* flag = get_if<bool>()) {
    value = *flag ? 1 : 0;
    return true;
  }
  return false;
}

double TemplateValue::AsDouble() const {
  if (const double* number = get_if<double>()) return *number;
  int64_t integer = 0;
  GetInt(integer);
  return static_cast<double>(integer);
}

bool TemplateValue::truth() const {
  if (const std::string* string = text()) return !string->empty();
  if (const TemplateSequence* list = sequence()) {
    return list->style == SequenceStyle::kGenerator || !list->items.empty();
  }
  if (const TemplateMapping* dict = mapping()) return !dict->entries.empty();
  if (is_number()) return AsDouble() != 0;
  return !is_none() && !is_undefined();
}

int TemplateValue::depth() const {
  if (const TemplateSequence* list = sequence()) return list->depth;
  if (const TemplateMapping* dict = mapping()) return dict->depth;
  if (const Loop* loop = get_if<Loop>()) return (*loop)->list.depth();
  if (const TemplateMethod* method = get_if<TemplateMethod>()) return method->object->depth() + 1;
  return 0;
}

std::string_view TemplateValue::type_name() const {
  constexpr std::array<std::string_view, std::variant_size_v<Variant>> kNames = {
      "undefined", "none",      "bool",  "int",  "float",    "str",   "list",
      "dict",      "namespace", "macro", "loop", "function", "method"};
  const TemplateSequence* list = sequence();
  if (list != nullptr && list->style == SequenceStyle::kTuple) return "tuple";
  return kNames[value_.index()];
}

absl::StatusOr<bool> Equal(const TemplateValue& a, const TemplateValue& b, TemplateWork& work) {
  ABSL_RETURN_IF_ERROR(work.Charge(kStepUnits));
  int64_t i, j;
  if (a.GetInt(i) && b.GetInt(j)) return i == j;
  if (a.is_number() && b.is_number()) return a.AsDouble() == b.AsDouble();
  if (a.text() != nullptr && b.text() != nullptr) {
    ABSL_RETURN_IF_ERROR(work.Charge(std::min(a.text()->size(), b.text()->size())));
    return *a.text() == *b.text();
  }
  if (a.sequence() != nullptr && b.sequence() != nullptr) {
    const TemplateSequence &x = *a.sequence(), &y = *b.sequence();
    if (x.style != y.style || x.items.size() != y.items.size()) return false;
    for (size_t k = 0; k < x.items.size(); ++k) {
      ABSL_ASSIGN_OR_RETURN(const bool equal, Equal(x.items[k], y.items[k], work));
      if (!equal) return false;
    }
    return true;
  }
  if (a.mapping() != nullptr && b.mapping() != nullptr) {
    if (a.mapping()->entries.size() != b.mapping()->entries.size()) return false;
    for (const auto& [key, value] : a.mapping()->entries) {
      ABSL_ASSIGN_OR_RETURN(const TemplateValue* other, Find(*b.mapping(), key, work));
      if (other == nullptr) return false;
      ABSL_ASSIGN_OR_RETURN(const bool equal, Equal(value, *other, work));
      if (!equal) return false;
    }
    return true;
  }
  const auto same = [&](const auto* x, const auto* y) { return x && y && *x == *y; };
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined()) ||
         same(a.get_if<TemplateNamespace*>(), b.get_if<TemplateNamespace*>()) ||
         same(a.get_if<const TemplateNode*>(), b.get_if<const TemplateNode*>());
}

absl::StatusOr<bool> Less(const TemplateValue& a, const TemplateValue& b, TemplateWork& work) {
  ABSL_RETURN_IF_ERROR(work.Charge(kStepUnits));
  int64_t i, j;
  if (a.GetInt(i) && b.GetInt(j)) return i < j;
  if (a.is_number() && b.is_number()) return a.AsDouble() < b.AsDouble();
  if (a.text() != nullptr && b.text() != nullptr) {
    ABSL_RETURN_IF_ERROR(work.Charge(std::min(a.text()->size(), b.text()->size())));
    return *a.text() < *b.text();
  }
  if (a.sequence() != nullptr && b.sequence() != nullptr) {
    const auto &x = a.sequence()->items, &y = b.sequence()->items;
    for (size_t k = 0; k < std::min(x.size(), y.size()); ++k) {
      ABSL_ASSIGN_OR_RETURN(const bool equal, Equal(x[k], y[k], work));
      if (!equal) return Less(x[k], y[k], work);
    }
    return x.size() < y.size();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected two numbers, strings or lists to compare, got ", a.type_name(),
                   " and ", b.type_name()));
}

absl::StatusOr<bool> LessOrEqual(const TemplateValue& a, const TemplateValue& b,
                                 TemplateWork& work) {
  // Not !Less(b, a): comparisons with NaN are false.
  ABSL_ASSIGN_OR_RETURN(const bool less, Less(a, b, work));
  if (less) return true;
  return Equal(a, b, work);
}

absl::StatusOr<const TemplateValue*> Find(const TemplateMapping& mapping, const TemplateValue& key,
                                          TemplateWork& work) {
  for (const auto& [name, value] : mapping.entries) {
    ABSL_ASSIGN_OR_RETURN(const bool equal, Equal(name, key, work));
    if (equal) return &value;
  }
  return nullptr;
}

absl::StatusOr<std::string> ToText(const TemplateValue& value, TemplateWork& work) {
  if (value.is_undefined()) return std::string();
  std::string text;
  if (value.text() != nullptr) {
    ABSL_RETURN_IF_ERROR(Append(*value.text(), text, work));
  } else {
    ABSL_RETURN_IF_ERROR(AppendRepr(value, text, work));
  }
  return text;
}

absl::StatusOr<std::string> ToJson(const TemplateValue& value, const JsonStyle& style,
                                   TemplateWork& work) {
  std::string text;
  ABSL_RETURN_IF_ERROR(AppendJson(value, style, 0, text, work));
  return text;
}

bool IsPythonSpace(char32_t c) { return IsWhitespace(c) || (c >= 0x1C && c <= 0x1F); }

std::string_view Strip(std::string_view text, bool left, bool right,
                       const std::string* characters) {
  return StripIf(text, left, right, [&](char32_t c, std::string_view bytes) {
    return characters == nullptr ? IsPythonSpace(c) : characters->find(bytes) != std::string::npos;
  });
}

}  // namespace belay::llm
