#include "exir/ir/text_value_parser.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "exir/ir/text_names.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr int kMaxNesting = 64;  // lists and dictionaries in an argument

bool IsInteger(std::string_view number) {
  return number.find_first_of(".eEnj") == std::string_view::npos;
}

}  // namespace

std::string ValueParser::Take() {
  std::string text(lexer_.text());
  lexer_.Next();
  return text;
}

absl::Status ValueParser::Punctuation(char c) {
  if (!lexer_.Is(c)) return lexer_.Expected(absl::StrCat("'", std::string(1, c), "'"));
  lexer_.Next();
  return absl::OkStatus();
}

absl::Status ValueParser::Word(std::string_view word) {
  if (!lexer_.IsWord(word)) return lexer_.Expected(absl::StrCat("'", word, "'"));
  lexer_.Next();
  return absl::OkStatus();
}

bool ValueParser::TakePunctuation(char c) {
  if (!lexer_.Is(c)) return false;
  lexer_.Next();
  return true;
}

bool ValueParser::TakeWord(std::string_view word) {
  if (!lexer_.IsWord(word)) return false;
  lexer_.Next();
  return true;
}

absl::StatusOr<std::string> ValueParser::Name(std::string_view what) {
  if (!lexer_.IsName()) return lexer_.Expected(what);
  return Take();
}

absl::StatusOr<std::string> ValueParser::String(std::string_view what) {
  if (lexer_.kind() != Lexer::Kind::kString) return lexer_.Expected(what);
  return Take();
}

absl::StatusOr<int64_t> ValueParser::Int(std::string_view what) {
  const std::optional<int64_t> value =
      lexer_.kind() == Lexer::Kind::kNumber ? ParseInt64(lexer_.text()) : std::nullopt;
  if (!value.has_value()) return lexer_.Expected(what);
  lexer_.Next();
  return *value;
}

absl::StatusOr<uint64_t> ValueParser::Unsigned(std::string_view what) {
  const std::optional<uint64_t> value =
      lexer_.kind() == Lexer::Kind::kNumber ? ParseUint64(lexer_.text()) : std::nullopt;
  if (!value.has_value()) return lexer_.Expected(what);
  lexer_.Next();
  return *value;
}

absl::StatusOr<std::vector<int64_t>> ValueParser::Ints() {
  std::vector<int64_t> values;
  ABSL_RETURN_IF_ERROR(Punctuation('['));
  while (!lexer_.Is(']')) {
    ABSL_ASSIGN_OR_RETURN(const int64_t value, Int("an integer"));
    values.push_back(value);
    if (!TakePunctuation(',')) break;
  }
  ABSL_RETURN_IF_ERROR(Punctuation(']'));
  return values;
}

absl::StatusOr<DType> ValueParser::Dtype() {
  const std::optional<DType> dtype =
      lexer_.kind() == Lexer::Kind::kWord ? DTypeFromShortName(lexer_.text()) : std::nullopt;
  if (!dtype.has_value()) return lexer_.Expected("a dtype");
  lexer_.Next();
  return *dtype;
}

// --- Types ---

absl::StatusOr<SymExpr> ValueParser::Expression(std::string_view stops) {
  if (lexer_.kind() == Lexer::Kind::kNumber &&
      stops.find(lexer_.Following()) != std::string_view::npos) {
    if (const std::optional<int64_t> value = ParseInt64(lexer_.text())) {
      lexer_.Next();
      return SymExpr(*value);
    }
  }
  const size_t offset = lexer_.offset();
  absl::StatusOr<SymExpr> expr = SymExpr();
  if (lexer_.kind() == Lexer::Kind::kString) {
    expr = ParseSymExpr(lexer_.text());
    lexer_.Next();
  } else {
    expr = ParseSymExpr(lexer_.TakeRaw(stops));
  }
  if (!expr.ok()) return lexer_.ErrorAt(offset, FromAbsl(expr.status().message()));
  return expr;
}

absl::StatusOr<std::vector<SymExpr>> ValueParser::Expressions() {
  std::vector<SymExpr> exprs;
  ABSL_RETURN_IF_ERROR(Punctuation('['));
  while (!lexer_.Is(']')) {
    ABSL_ASSIGN_OR_RETURN(SymExpr expr, Expression(",]"));
    exprs.push_back(std::move(expr));
    if (!TakePunctuation(',')) break;
  }
  ABSL_RETURN_IF_ERROR(Punctuation(']'));
  return exprs;
}

absl::StatusOr<Device> ValueParser::ParseDevice() {
  Device device;
  ABSL_ASSIGN_OR_RETURN(device.type, Name("a device type"));
  if (TakePunctuation(':')) {
    ABSL_ASSIGN_OR_RETURN(device.index, Int("a device index"));
  }
  return device;
}

absl::Status ValueParser::TensorDetails(TensorMeta& meta, bool& has_strides) {
  if (!TakePunctuation('{')) return absl::OkStatus();
  do {
    if (TakeWord("grad")) {
      meta.requires_grad = true;
    } else if (TakeWord("strides")) {
      ABSL_RETURN_IF_ERROR(Punctuation('='));
      ABSL_ASSIGN_OR_RETURN(meta.strides, Expressions());
      has_strides = true;
    } else if (TakeWord("offset")) {
      ABSL_RETURN_IF_ERROR(Punctuation('='));
      ABSL_ASSIGN_OR_RETURN(meta.storage_offset, Expression(",}"));
    } else if (TakeWord("device")) {
      ABSL_RETURN_IF_ERROR(Punctuation('='));
      ABSL_ASSIGN_OR_RETURN(meta.device, ParseDevice());
    } else if (TakeWord("layout")) {
      ABSL_RETURN_IF_ERROR(Punctuation('='));
      const Layout* layout =
          lexer_.kind() == Lexer::Kind::kWord ? ValueIn(kLayoutNames, lexer_.text()) : nullptr;
      if (layout == nullptr) return lexer_.Expected("a layout");
      meta.layout = *layout;
      lexer_.Next();
    } else {
      return lexer_.Expected("'strides', 'offset', 'device', 'layout' or 'grad'");
    }
  } while (TakePunctuation(','));
  return Punctuation('}');
}

absl::StatusOr<TensorMeta> ValueParser::Tensor(DType dtype) {
  TensorMeta meta;
  meta.dtype = dtype;
  const size_t offset = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(meta.sizes, Expressions());
  if (meta.sizes.size() > kMaxRank) {
    return lexer_.ErrorAt(
        offset, absl::StrCat("expected at most ", kMaxRank, " sizes, got ", meta.sizes.size()));
  }
  bool has_strides = false;
  ABSL_RETURN_IF_ERROR(TensorDetails(meta, has_strides));
  if (!has_strides) meta.strides = ContiguousStrides(meta.sizes);
  return meta;
}

absl::StatusOr<ConstantType> ValueParser::Constant() {
  if (TakeWord("none")) return ConstantType{None{}};
  if (TakeWord("true")) return ConstantType{true};
  if (TakeWord("false")) return ConstantType{false};
  if (lexer_.kind() == Lexer::Kind::kString) return ConstantType{Take()};
  if (lexer_.kind() == Lexer::Kind::kNumber && IsInteger(lexer_.text())) {
    ABSL_ASSIGN_OR_RETURN(const int64_t value, Int("an integer that fits in 64 bits"));
    return ConstantType{value};
  }
  ABSL_ASSIGN_OR_RETURN(const double value, Double());
  return ConstantType{value};
}

absl::StatusOr<ValueType> ValueParser::Type() {
  if (lexer_.kind() != Lexer::Kind::kWord) return lexer_.Expected("a type");
  if (const std::optional<DType> dtype = DTypeFromShortName(lexer_.text())) {
    lexer_.Next();
    ABSL_ASSIGN_OR_RETURN(TensorMeta meta, Tensor(*dtype));
    return meta;
  }
  if (TakeWord("token")) return TokenType{};
  const std::string word(lexer_.text());
  if (word != "symint" && word != "symfloat" && word != "symbool" && word != "object" &&
      word != "const") {
    return lexer_.Expected("a type");
  }
  lexer_.Next();
  ABSL_RETURN_IF_ERROR(Punctuation('('));
  ValueType type;
  if (word == "object") {
    ABSL_ASSIGN_OR_RETURN(std::string class_name, String("a class name in quotes"));
    type = CustomObjectType{std::move(class_name)};
  } else if (word == "const") {
    ABSL_ASSIGN_OR_RETURN(type, Constant());
  } else {
    ABSL_ASSIGN_OR_RETURN(SymExpr expr, Expression(")"));
    if (word == "symint") {
      type = SymIntType{std::move(expr)};
    } else if (word == "symfloat") {
      type = SymFloatType{std::move(expr)};
    } else {
      type = SymBoolType{std::move(expr)};
    }
  }
  ABSL_RETURN_IF_ERROR(Punctuation(')'));
  return type;
}

// --- Arguments ---

absl::StatusOr<double> ValueParser::Double() {
  if (TakeWord("inf")) return std::numeric_limits<double>::infinity();
  if (TakeWord("nan")) {
    if (!TakePunctuation(':')) return std::numeric_limits<double>::quiet_NaN();
    const std::string_view bits = lexer_.text();
    uint64_t value = 0;
    if (lexer_.kind() == Lexer::Kind::kWord && bits.size() == 17 && bits[0] == 'x') {
      const auto [end, error] =
          std::from_chars(bits.data() + 1, bits.data() + bits.size(), value, 16);
      const double nan = std::bit_cast<double>(value);
      if (error == std::errc() && end == bits.data() + bits.size() && std::isnan(nan)) {
        lexer_.Next();
        return nan;
      }
    }
    return lexer_.Expected("x and the 16 hexadecimal digits of a NaN");
  }
  const std::optional<double> value =
      lexer_.kind() == Lexer::Kind::kNumber ? ParseDouble(lexer_.text()) : std::nullopt;
  if (!value.has_value()) return lexer_.Expected("a number");
  lexer_.Next();
  return *value;
}

absl::StatusOr<Argument> ValueParser::Number() {
  if (IsInteger(lexer_.text())) {
    ABSL_ASSIGN_OR_RETURN(const int64_t value, Int("an integer that fits in 64 bits"));
    return Argument(value);
  }
  ABSL_ASSIGN_OR_RETURN(const double value, Double());
  return Argument(value);
}

absl::StatusOr<Argument> ValueParser::Complex() {
  lexer_.Next();  // the '(' that the caller has seen
  ABSL_ASSIGN_OR_RETURN(const double real, Double());
  std::string_view text = lexer_.text();
  if (lexer_.kind() != Lexer::Kind::kNumber || (text[0] != '+' && text[0] != '-') ||
      text.back() != 'j') {
    return lexer_.Expected("an imaginary part like +2j");
  }
  text.remove_suffix(1);
  const std::optional<double> imag = ParseDouble(text);
  if (!imag.has_value()) return lexer_.Expected("an imaginary part like +2j");
  lexer_.Next();
  ABSL_RETURN_IF_ERROR(Punctuation(')'));
  return Argument(std::complex<double>(real, *imag));
}

absl::StatusOr<uint32_t> ValueParser::Reference() {
  ABSL_RETURN_IF_ERROR(Punctuation('#'));
  const size_t offset = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(const int64_t index, Int("a number"));
  if (index < 0 || index >= std::numeric_limits<uint32_t>::max()) {
    return lexer_.ErrorAt(offset, absl::StrCat("expected a number >= 0, got ", index));
  }
  return static_cast<uint32_t>(index);
}

absl::StatusOr<Argument> ValueParser::WordLiteral() {
  if (lexer_.IsWord("inf") || lexer_.IsWord("nan")) {
    ABSL_ASSIGN_OR_RETURN(const double value, Double());
    return Argument(value);
  }
  if (TakeWord("none")) return Argument(None{});
  if (TakeWord("true")) return Argument(true);
  if (TakeWord("false")) return Argument(false);
  const size_t offset = lexer_.offset();
  if (TakeWord("graph")) {
    ABSL_ASSIGN_OR_RETURN(const uint32_t index, Reference());
    highest_graph.Note(index, offset);
    return Argument(GraphId(index));
  }
  if (TakeWord("module")) {
    ABSL_ASSIGN_OR_RETURN(const uint32_t index, Reference());
    highest_module.Note(index, offset);
    return Argument(ModuleId(index));
  }
  const std::string word(lexer_.text());
  if (word != "dtype" && word != "format" && word != "layout" && word != "device" && word != "op" &&
      word != "complex") {
    return lexer_.Expected("an argument");
  }
  lexer_.Next();
  ABSL_RETURN_IF_ERROR(Punctuation(':'));
  if (word == "dtype") {
    ABSL_ASSIGN_OR_RETURN(const DType dtype, Dtype());
    return Argument(dtype);
  }
  if (word == "device") {
    ABSL_ASSIGN_OR_RETURN(Device device, ParseDevice());
    return Argument(std::move(device));
  }
  if (word == "op") {
    ABSL_ASSIGN_OR_RETURN(std::string name, String("an operator's name in quotes"));
    return Argument(OperatorName{std::move(name)});
  }
  if (word == "complex") {
    ABSL_RETURN_IF_ERROR(Punctuation('['));
    ABSL_ASSIGN_OR_RETURN(const double real, Double());
    ABSL_RETURN_IF_ERROR(Punctuation(','));
    ABSL_ASSIGN_OR_RETURN(const double imag, Double());
    ABSL_RETURN_IF_ERROR(Punctuation(']'));
    return Argument(std::complex<double>(real, imag));
  }
  if (lexer_.kind() != Lexer::Kind::kWord) return lexer_.Expected(absl::StrCat("a ", word));
  if (word == "format") {
    const MemoryFormat* format = ValueIn(kMemoryFormatNames, lexer_.text());
    if (format == nullptr) return lexer_.Expected("a memory format");
    lexer_.Next();
    return Argument(*format);
  }
  const Layout* layout = ValueIn(kLayoutNames, lexer_.text());
  if (layout == nullptr) return lexer_.Expected("a layout");
  lexer_.Next();
  return Argument(*layout);
}

absl::StatusOr<Argument> ValueParser::ParseArgument(
    const absl::flat_hash_map<std::string, ValueId>& scope) {
  return Nested(scope, 0);
}

absl::StatusOr<Argument> ValueParser::Nested(const absl::flat_hash_map<std::string, ValueId>& scope,
                                             int depth) {
  if (depth > kMaxNesting) {
    return lexer_.ErrorAt(lexer_.offset(), absl::StrCat("lists and dictionaries nest deeper than ",
                                                        kMaxNesting, " levels"));
  }
  switch (lexer_.kind()) {
    case Lexer::Kind::kNumber:
      return Number();
    case Lexer::Kind::kWord:
      return WordLiteral();
    case Lexer::Kind::kString:
      return Argument(Take());
    default:
      break;
  }
  if (lexer_.Is('(')) return Complex();
  if (TakePunctuation('%')) {
    const auto it = lexer_.IsName() ? scope.find(ToAbsl(lexer_.text())) : scope.end();
    if (it == scope.end()) return lexer_.Expected("the name of a value that is defined before");
    lexer_.Next();
    return Argument(it->second);
  }
  if (TakePunctuation('[')) {
    Argument::List list;
    while (!lexer_.Is(']')) {
      ABSL_ASSIGN_OR_RETURN(Argument element, Nested(scope, depth + 1));
      list.push_back(std::move(element));
      if (!TakePunctuation(',')) break;
    }
    ABSL_RETURN_IF_ERROR(Punctuation(']'));
    return Argument(std::move(list));
  }
  if (TakePunctuation('{')) {
    Dict dict;
    while (!lexer_.Is('}')) {
      ABSL_ASSIGN_OR_RETURN(std::string key, String("a key in quotes"));
      ABSL_RETURN_IF_ERROR(Punctuation(':'));
      ABSL_ASSIGN_OR_RETURN(Argument element, Nested(scope, depth + 1));
      dict.entries.emplace_back(std::move(key), std::move(element));
      if (!TakePunctuation(',')) break;
    }
    ABSL_RETURN_IF_ERROR(Punctuation('}'));
    return Argument(std::move(dict));
  }
  return lexer_.Expected("an argument");
}

}  // namespace belay::exir
