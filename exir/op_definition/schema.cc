#include "exir/op_definition/schema.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr size_t kMaxSchemaLength = size_t{64} << 10;
constexpr size_t kMaxArguments = 256;
constexpr size_t kMaxListLength = 1024;

struct TypeName {
  std::string_view name;
  BaseType base;
  bool symbolic;
};

// The first row of a base type without `symbolic` has its canonical name.
constexpr TypeName kTypeNames[] = {
    {"Tensor", BaseType::kTensor, false},
    {"int", BaseType::kInt, false},
    {"SymInt", BaseType::kInt, true},
    {"float", BaseType::kFloat, false},
    {"SymFloat", BaseType::kFloat, true},
    {"bool", BaseType::kBool, false},
    {"SymBool", BaseType::kBool, true},
    {"Scalar", BaseType::kScalar, false},
    {"number", BaseType::kScalar, false},
    {"str", BaseType::kString, false},
    {"ScalarType", BaseType::kScalarType, false},
    {"Layout", BaseType::kLayout, false},
    {"MemoryFormat", BaseType::kMemoryFormat, false},
    {"Device", BaseType::kDevice, false},
    {"Generator", BaseType::kGenerator, false},
    {"Any", BaseType::kAny, false},
};

// c10::MemoryFormat, as schemas write it: by number or by name.
struct MemoryFormatName {
  int64_t number;
  std::string_view token;
  MemoryFormat format;
};
constexpr MemoryFormatName kMemoryFormats[] = {
    {0, "contiguous_format", MemoryFormat::kContiguous},
    {1, "preserve_format", MemoryFormat::kPreserve},
    {2, "channels_last", MemoryFormat::kChannelsLast},
    {3, "channels_last_3d", MemoryFormat::kChannelsLast3d},
};

// Parses all of `text` as a decimal number; "nan" and "inf" are doubles.
template <class T>
bool ReadNumber(std::string_view text, T& value) {
  const std::from_chars_result r = std::from_chars(text.data(), text.data() + text.size(), value);
  return r.ec == std::errc() && r.ptr == text.data() + text.size();
}

std::string TypeText(const SchemaType& type, std::string_view alias) {
  std::string text;
  for (const TypeName& t : kTypeNames) {
    if (t.base == type.base && t.symbolic == type.symbolic) {
      text = std::string(t.name);
      break;
    }
  }
  absl::StrAppend(&text, alias);
  if (type.list) {
    if (type.element_optional) text += "?";
    text += "[";
    if (type.list_size.has_value()) absl::StrAppend(&text, *type.list_size);
    text += "]";
  }
  if (type.optional) text += "?";
  return text;
}

std::string DoubleText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text;
  // Terminates: 17 digits distinguish all doubles.
  for (int digits = 1;; ++digits) {
    text = absl::StrFormat("%.*g", digits, value);
    double back;
    if (ReadNumber(std::string_view(text), back) && back == value) break;
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".";
  return text;
}

template <class T, class Format>
std::string ListText(const std::vector<T>& values, Format format) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", format(values[i]));
  }
  return text + "]";
}

std::string DefaultText(const SchemaDefault& value) {
  struct Visitor {
    std::string operator()(None) const { return "None"; }
    std::string operator()(int64_t v) const { return absl::StrCat(v); }
    std::string operator()(double v) const { return DoubleText(v); }
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(const std::string& v) const {
      std::string text = "\"";
      for (char c : v) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
      }
      return text + "\"";
    }
    std::string operator()(DType v) const {
      const std::optional<C10ScalarType> type = DTypeToC10(v);
      return type.has_value() ? absl::StrCat(type->value) : std::string(DTypeName(v));
    }
    std::string operator()(MemoryFormat v) const {
      int64_t number = 0;
      for (const MemoryFormatName& f : kMemoryFormats) {
        if (f.format == v) number = f.number;
      }
      return absl::StrCat(number);
    }
    std::string operator()(const std::vector<int64_t>& v) const {
      return ListText(v, [](int64_t x) { return absl::StrCat(x); });
    }
    std::string operator()(const std::vector<double>& v) const { return ListText(v, &DoubleText); }
    std::string operator()(const std::vector<bool>& v) const {
      return ListText(v, [](bool x) { return x ? "True" : "False"; });
    }
  };
  return std::visit(Visitor{}, value);
}

bool AliasSetsIntersect(const AliasAnnotation& a, const AliasAnnotation& b) {
  for (absl::string_view x : absl::StrSplit(a.set, '|')) {
    for (absl::string_view y : absl::StrSplit(b.set, '|')) {
      if (x == y) return true;
    }
  }
  return false;
}

// Parses one schema from left to right. No recursion: types nest only as far as the suffixes of
// SchemaType.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<FunctionSchema> Parse() {
    FunctionSchema schema;
    ABSL_RETURN_IF_ERROR(ParseName(schema));
    ABSL_RETURN_IF_ERROR(Expect("("));
    ABSL_RETURN_IF_ERROR(ParseArguments(schema));
    ABSL_RETURN_IF_ERROR(Expect("->"));
    ABSL_RETURN_IF_ERROR(ParseReturns(schema));
    SkipSpace();
    if (pos_ != text_.size()) return Error("the end of the schema");
    return schema;
  }

 private:
  absl::Status Error(std::string_view expected) const {
    const std::string actual = pos_ < text_.size() ? absl::StrCat("'", text_.substr(pos_, 16), "'")
                                                   : std::string("the end");
    return absl::InvalidArgumentError(absl::StrCat("schema '", text_.substr(0, 200), "': position ",
                                                   pos_, ": expected ", expected, ", got ",
                                                   actual));
  }

  void SkipSpace() {
    while (pos_ < text_.size() &&
           (text_[pos_] == ' ' || text_[pos_] == '\t' || text_[pos_] == '\n'))
      ++pos_;
  }
  bool Consume(std::string_view token) {
    SkipSpace();
    if (text_.substr(pos_, token.size()) != token) return false;
    pos_ += token.size();
    return true;
  }
  absl::Status Expect(std::string_view token) {
    if (Consume(token)) return absl::OkStatus();
    return Error(absl::StrCat("'", token, "'"));
  }
  static bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  // Returns "" if no word starts here.
  std::string_view Word() {
    SkipSpace();
    size_t end = pos_;
    while (end < text_.size() && IsWord(text_[end])) ++end;
    const std::string_view word = text_.substr(pos_, end - pos_);
    pos_ = end;
    return word;
  }

  absl::Status ParseName(FunctionSchema& schema) {
    schema.ns = std::string(Word());
    if (schema.ns.empty()) return Error("a namespace");
    ABSL_RETURN_IF_ERROR(Expect("::"));
    schema.op = std::string(Word());
    if (schema.op.empty()) return Error("an operator's name");
    schema.overload = "default";
    if (Consume(".")) {
      schema.overload = std::string(Word());
      if (schema.overload.empty()) return Error("an overload's name");
    }
    return absl::OkStatus();
  }

  absl::Status ParseArguments(FunctionSchema& schema) {
    bool keyword_only = false;
    if (Consume(")")) return absl::OkStatus();
    do {
      if (Consume("*")) {
        if (keyword_only) return Error("an argument (there is one '*' already)");
        keyword_only = true;
        continue;
      }
      if (schema.arguments.size() == kMaxArguments) return Error("at most 256 arguments");
      SchemaArgument argument;
      argument.keyword_only = keyword_only;
      ABSL_RETURN_IF_ERROR(ParseType(argument.type, argument.alias));
      argument.name = std::string(Word());
      if (argument.name.empty()) return Error("an argument's name");
      if (schema.ArgumentIndex(argument.name).has_value()) {
        return Error(absl::StrCat("a name other than '", argument.name, "', which is taken"));
      }
      if (Consume("=")) {
        SchemaDefault value;
        ABSL_RETURN_IF_ERROR(ParseDefault(argument.type, value));
        argument.default_value = std::move(value);
      }
      schema.arguments.push_back(std::move(argument));
    } while (Consume(","));
    return Expect(")");
  }

  absl::Status ParseReturns(FunctionSchema& schema) {
    const bool parentheses = Consume("(");
    if (parentheses && Consume(")")) return absl::OkStatus();
    do {
      if (schema.returns.size() == kMaxArguments) return Error("at most 256 returns");
      SchemaReturn ret;
      ABSL_RETURN_IF_ERROR(ParseType(ret.type, ret.alias));
      ret.name = std::string(Word());
      schema.returns.push_back(std::move(ret));
    } while (parentheses && Consume(","));
    return parentheses ? Expect(")") : absl::OkStatus();
  }

  absl::Status ParseType(SchemaType& type, std::optional<AliasAnnotation>& alias) {
    const std::string_view name = Word();
    if (name.empty()) return Error("a type");
    type.base = BaseType::kAny;
    for (const TypeName& t : kTypeNames) {
      if (t.name == name) {
        type.base = t.base;
        type.symbolic = t.symbolic;
      }
    }
    if (type.base == BaseType::kAny) ABSL_RETURN_IF_ERROR(SkipOpaqueType(name));
    ABSL_RETURN_IF_ERROR(ParseAlias(alias));
    bool question = Consume("?");
    if (!alias.has_value()) ABSL_RETURN_IF_ERROR(ParseAlias(alias));
    while (Consume("[")) {
      if (type.list) type.base = BaseType::kAny;  // a list of lists
      type.list = true;
      type.element_optional = question;
      question = false;
      type.list_size.reset();
      const std::string_view size = Word();
      if (!size.empty()) {
        int n = 0;
        if (!ReadNumber(size, n) || n < 1 || n > 1 << 16)
          return Error("a list's length before this");
        type.list_size = n;
      }
      ABSL_RETURN_IF_ERROR(Expect("]"));
      if (!alias.has_value()) ABSL_RETURN_IF_ERROR(ParseAlias(alias));
      question = Consume("?");
    }
    type.optional = question;
    if (type.base == BaseType::kAny) type.symbolic = false;
    return absl::OkStatus();
  }

  // Skips the rest of an opaque type after its name: ".torch.classes.X", or "(str, Tensor)" for
  // composed types. After any other name, a parenthesis is an alias annotation: "t(a!)".
  absl::Status SkipOpaqueType(std::string_view name) {
    while (pos_ < text_.size() && text_[pos_] == '.') {
      ++pos_;
      if (Word().empty()) return Error("a type's name");
    }
    constexpr std::string_view kComposedTypes[] = {"Await", "Dict", "Future", "RRef", "Union"};
    if (std::find(std::begin(kComposedTypes), std::end(kComposedTypes), name) ==
        std::end(kComposedTypes)) {
      return absl::OkStatus();
    }
    if (pos_ >= text_.size() || text_[pos_] != '(') return absl::OkStatus();
    int depth = 0;
    for (; pos_ < text_.size(); ++pos_) {
      if (text_[pos_] == '(') ++depth;
      if (text_[pos_] == ')' && --depth == 0) {
        ++pos_;
        return absl::OkStatus();
      }
    }
    return Error("')'");
  }

  // Parses "(a)", "(a!)", "(a|b)", "(a -> *)", "(a! -> a|b)". The sets after -> are not kept: the
  // return has them.
  absl::Status ParseAlias(std::optional<AliasAnnotation>& alias) {
    if (pos_ >= text_.size() || text_[pos_] != '(') return absl::OkStatus();
    ++pos_;
    AliasAnnotation annotation;
    ABSL_RETURN_IF_ERROR(ParseAliasSet(annotation.set));
    annotation.write = Consume("!");
    if (Consume("->")) {
      std::string after;
      ABSL_RETURN_IF_ERROR(ParseAliasSet(after));
    }
    ABSL_RETURN_IF_ERROR(Expect(")"));
    alias = std::move(annotation);
    return absl::OkStatus();
  }
  absl::Status ParseAliasSet(std::string& set) {
    do {
      std::string_view name = Consume("*") ? "*" : Word();
      if (name.empty()) return Error("an alias set");
      absl::StrAppend(&set, set.empty() ? "" : "|", name);
    } while (Consume("|"));
    return absl::OkStatus();
  }

  absl::Status ParseDefault(const SchemaType& type, SchemaDefault& value) {
    SkipSpace();
    if (pos_ >= text_.size()) return Error("a default value");
    if (text_[pos_] == '[') return ParseListDefault(type, value);
    if (text_[pos_] == '"' || text_[pos_] == '\'') return ParseStringDefault(value);
    const size_t start = pos_;
    const absl::Status status = ParseElementDefault(type, value);
    if (!status.ok()) pos_ = start;
    return status.ok() ? status : Error("a default value of the argument's type");
  }

  // Parses a number or a word. The status has no message; ParseDefault adds one.
  absl::Status ParseElementDefault(const SchemaType& type, SchemaDefault& value) {
    SkipSpace();
    size_t end = pos_;
    while (end < text_.size() &&
           (IsWord(text_[end]) || text_[end] == '.' || text_[end] == '-' || text_[end] == '+')) {
      ++end;
    }
    const std::string_view token = text_.substr(pos_, end - pos_);
    pos_ = end;
    const absl::Status error = absl::InvalidArgumentError("");
    if (token == "None") {
      value = None{};
      return absl::OkStatus();
    }
    if (token == "True" || token == "False") {
      value = token == "True";
      return absl::OkStatus();
    }
    int64_t integer;
    const bool is_integer = ReadNumber(token, integer);
    switch (type.base) {
      case BaseType::kScalarType: {
        const std::optional<DType> dtype =
            is_integer ? DTypeFromC10(C10ScalarType{integer}) : NamedDType(token);
        if (!dtype.has_value()) return error;
        value = *dtype;
        return absl::OkStatus();
      }
      case BaseType::kMemoryFormat:
        for (const MemoryFormatName& f : kMemoryFormats) {
          if ((is_integer && integer == f.number) || token == f.token) {
            value = f.format;
            return absl::OkStatus();
          }
        }
        return error;
      case BaseType::kFloat:
        break;
      default:
        if (is_integer) {
          value = integer;
          return absl::OkStatus();
        }
        if (token == "Mean") {  // at::Reduction
          value = int64_t{1};
          return absl::OkStatus();
        }
        break;
    }
    double number;
    if (!ReadNumber(token, number)) return error;
    if (type.base == BaseType::kInt || type.base == BaseType::kBool) return error;
    value = number;
    return absl::OkStatus();
  }

  static std::optional<DType> NamedDType(std::string_view name) {
    constexpr std::pair<std::string_view, DType> kSynonyms[] = {{"long", DType::kInt64},
                                                                {"int", DType::kInt32},
                                                                {"float", DType::kFloat32},
                                                                {"double", DType::kFloat64},
                                                                {"half", DType::kFloat16}};
    for (const auto& [synonym, dtype] : kSynonyms) {
      if (synonym == name) return dtype;
    }
    return DTypeFromName(name);
  }

  absl::Status ParseListDefault(const SchemaType& type, SchemaDefault& value) {
    ++pos_;  // the '[' that the caller has seen
    std::vector<SchemaDefault> elements;
    if (!Consume("]")) {
      do {
        if (elements.size() == kMaxListLength) return Error("at most 1024 elements");
        const size_t start = pos_;
        SchemaDefault element;
        if (!ParseElementDefault(type, element).ok()) {
          pos_ = start;
          return Error("an element of the argument's type");
        }
        elements.push_back(std::move(element));
      } while (Consume(","));
      ABSL_RETURN_IF_ERROR(Expect("]"));
    }
    switch (type.base) {
      case BaseType::kFloat:
        return Collect<double>(elements, value);
      case BaseType::kBool:
        return Collect<bool>(elements, value);
      default:
        return Collect<int64_t>(elements, value);
    }
  }
  template <class T>
  absl::Status Collect(const std::vector<SchemaDefault>& elements, SchemaDefault& value) {
    std::vector<T> list;
    for (const SchemaDefault& element : elements) {
      const T* item = std::get_if<T>(&element);
      if (item == nullptr) return Error("a list of the argument's type before this");
      list.push_back(*item);
    }
    value = std::move(list);
    return absl::OkStatus();
  }

  absl::Status ParseStringDefault(SchemaDefault& value) {
    const char quote = text_[pos_++];
    std::string string;
    for (; pos_ < text_.size() && text_[pos_] != quote; ++pos_) {
      if (text_[pos_] == '\\' && pos_ + 1 < text_.size()) ++pos_;
      string += text_[pos_];
    }
    if (pos_ == text_.size()) return Error("the end of the string");
    ++pos_;
    value = std::move(string);
    return absl::OkStatus();
  }

  std::string_view text_;
  size_t pos_ = 0;
};

}  // namespace

std::string SchemaType::ToString() const { return TypeText(*this, ""); }

absl::StatusOr<FunctionSchema> FunctionSchema::Parse(std::string_view text) {
  if (text.size() > kMaxSchemaLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("schema of ", text.size(), " bytes: expected at most ", kMaxSchemaLength));
  }
  absl::StatusOr<FunctionSchema> schema = Parser(text).Parse();
  if (!schema.ok()) return Printable(schema.status());
  return schema;
}

std::string FunctionSchema::ToString() const {
  const auto alias_text = [this](const std::optional<AliasAnnotation>& alias,
                                 bool of_argument) -> std::string {
    if (!alias.has_value()) return "";
    bool into_list = false;
    for (const SchemaReturn& r : returns) {
      into_list |=
          of_argument && r.type.list && r.alias.has_value() && AliasSetsIntersect(*alias, *r.alias);
    }
    return absl::StrCat("(", alias->set, alias->write ? "!" : "", into_list ? " -> *" : "", ")");
  };
  std::string text = absl::StrCat(ns, "::", op);
  if (overload != "default") absl::StrAppend(&text, ".", overload);
  text += "(";
  bool keyword_only = false;
  std::string_view separator = "";
  for (const SchemaArgument& a : arguments) {
    if (a.keyword_only && !keyword_only) {
      absl::StrAppend(&text, separator, "*");
      separator = ", ";
      keyword_only = true;
    }
    absl::StrAppend(&text, separator, TypeText(a.type, alias_text(a.alias, true)), " ", a.name);
    if (a.default_value.has_value()) absl::StrAppend(&text, "=", DefaultText(*a.default_value));
    separator = ", ";
  }
  text += ") -> ";
  const bool parentheses = returns.size() != 1;
  if (parentheses) text += "(";
  for (size_t i = 0; i < returns.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ",
                    TypeText(returns[i].type, alias_text(returns[i].alias, false)));
    if (!returns[i].name.empty()) absl::StrAppend(&text, " ", returns[i].name);
  }
  if (parentheses) text += ")";
  return text;
}

std::optional<int> FunctionSchema::ArgumentIndex(std::string_view name) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

bool FunctionSchema::IsMutable() const {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const SchemaArgument& a) { return a.alias.has_value() && a.alias->write; });
}

bool FunctionSchema::IsView() const {
  if (IsMutable()) return false;
  for (const SchemaReturn& r : returns) {
    for (const SchemaArgument& a : arguments) {
      if (r.alias.has_value() && a.alias.has_value() && AliasSetsIntersect(*r.alias, *a.alias))
        return true;
    }
  }
  return false;
}

}  // namespace belay::exir
