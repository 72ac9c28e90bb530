#include "exir/symbolic/sym_expr.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"
#include "exir/symbolic/sym_node.h"
#include "exir/symbolic/sym_number.h"
#include "exir/symbolic/sym_polynomial.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

using Kind = SymExpr::Kind;
using ValueKind = SymExpr::ValueKind;

bool IsBoolFunction(std::string_view name) {
  for (std::string_view n : {"Eq", "Ne", "Lt", "Le", "Gt", "Ge", "And", "Or", "Not"}) {
    if (n == name) return true;
  }
  return false;
}
bool IsFloatFunction(std::string_view name) {
  for (std::string_view n : {"FloatPow", "FloatTrueDiv", "IntTrueDiv", "OpaqueUnaryFn_sqrt",
                             "RoundDecimal", "ToFloat", "TruncToFloat"}) {
    if (n == name) return true;
  }
  return false;
}
// Whether the result is a float if any argument is.
bool IsPolymorphic(Kind kind, std::string_view name) {
  if (kind == Kind::kAdd || kind == Kind::kMul) return true;
  for (std::string_view n : {"Abs", "FloorDiv", "Max", "Min", "Mod", "Pow", "PythonMod", "Where"}) {
    if (n == name) return true;
  }
  return false;
}

ValueKind ValueKindOf(Kind kind, std::string_view name, const std::vector<SymExpr>& arguments) {
  if (IsBoolFunction(name)) return ValueKind::kBool;  // sums and products have no name
  if (IsFloatFunction(name)) return ValueKind::kFloat;
  if (IsPolymorphic(kind, name)) {
    const bool where = name == "Where";
    bool all_bool = where;
    for (size_t i = where ? 1 : 0; i < arguments.size(); ++i) {
      if (arguments[i].value_kind() == ValueKind::kFloat) return ValueKind::kFloat;
      all_bool = all_bool && arguments[i].value_kind() == ValueKind::kBool;
    }
    if (all_bool) return ValueKind::kBool;
  }
  return ValueKind::kInt;
}

// Sort rank: numbers, truth values, symbols, products and powers, other functions, sums.
int Rank(const SymExpr& e) {
  switch (e.kind()) {
    case Kind::kInt:
    case Kind::kFloat:
      return 0;
    case Kind::kBool:
      return 1;
    case Kind::kSymbol:
      return 2;
    case Kind::kMul:
      return 3;
    case Kind::kFunction:
      return 4;
    case Kind::kAdd:
      return 5;
  }
  return 6;
}

bool IsIdentifier(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}
// Words of the infix grammar that are not symbols.
bool IsReserved(std::string_view name) {
  for (std::string_view n :
       {"true", "false", "True", "False", "and", "or", "not", "oo", "int_oo", "inf", "nan"}) {
    if (n == name) return true;
  }
  return false;
}

std::string SymbolText(std::string_view name) {
  if (IsIdentifier(name) && !IsReserved(name)) return std::string(name);
  std::string text = "Symbol('";
  for (char c : name) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + "')";
}

std::string FloatText(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text = absl::StrFormat("%.*g", digits, value);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    if (back == value) break;
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool IsNegativeNumber(const SymExpr& e) { return e.AsFloat().has_value() && *e.AsFloat() < 0; }

std::string CallText(const SymExpr& e) {
  std::string text = absl::StrCat(e.name(), "(");
  for (size_t i = 0; i < e.arguments().size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", e.arguments()[i].ToString());
  }
  return text + ")";
}

std::string FactorText(const SymExpr& e) {
  return e.kind() == Kind::kAdd ? absl::StrCat("(", e.ToString(), ")") : e.ToString();
}

std::string PowText(const SymExpr& e) {
  const std::optional<int64_t> exponent = e.arguments()[1].AsInt();
  if (!exponent.has_value()) return CallText(e);
  const SymExpr& base = e.arguments()[0];
  const bool atom =
      base.kind() == Kind::kSymbol || (base.kind() == Kind::kFunction && base.name() != kPow);
  const std::string text = atom ? base.ToString() : absl::StrCat("(", base.ToString(), ")");
  return *exponent < 0 ? absl::StrCat(text, "**(", *exponent, ")")
                       : absl::StrCat(text, "**", *exponent);
}

std::string MulText(const SymExpr& e) {
  std::string text;
  for (const SymExpr& argument : e.arguments()) {
    if (text.empty() && argument.AsInt() == -1) {
      text = "-";
      continue;
    }
    absl::StrAppend(&text, text.empty() || text == "-" ? "" : "*", FactorText(argument));
  }
  return text;
}

void AppendSymbols(const SymExpr& e, std::vector<std::string_view>& out) {
  if (e.kind() == Kind::kSymbol) out.push_back(e.name());
  for (const SymExpr& a : e.arguments()) AppendSymbols(a, out);
}

std::string AddText(const SymExpr& e) {
  std::string text;
  for (const SymExpr& argument : e.arguments()) {
    const std::string term = argument.ToString();  // never a sum: sums are flat
    const bool negative = IsNegativeNumber(argument) || (argument.kind() == Kind::kMul &&
                                                         IsNegativeNumber(argument.arguments()[0]));
    if (!text.empty() && negative) {
      absl::StrAppend(&text, " - ", std::string_view(term).substr(1));
    } else {
      absl::StrAppend(&text, text.empty() ? "" : " + ", term);
    }
  }
  return text;
}

}  // namespace

SymExpr SymExprAccess::Make(Kind kind, std::string_view name, std::vector<SymExpr> arguments) {
  auto node = std::make_shared<SymExpr::Node>();
  for (const SymExpr& a : arguments) {
    node->depth = std::max(node->depth, 1 + (a.node_ == nullptr ? 1 : a.node_->depth));
    node->nodes += a.node_ == nullptr ? 1 : a.node_->nodes;
    // Includes a separator and parentheses.
    node->text += 5 + (a.node_ == nullptr ? kMaxSymNumberText : a.node_->text);
  }
  node->text += name.size();
  if (node->depth > kMaxSymDepth || node->nodes > kMaxSymNodes || node->text > kMaxSymText) {
    return MakeOpaque();
  }
  node->kind = kind;
  node->value_kind = ValueKindOf(kind, name, arguments);
  node->name = std::string(name);
  node->arguments = std::move(arguments);
  return SymExpr(std::shared_ptr<const SymExpr::Node>(std::move(node)));
}

SymExpr SymExprAccess::MakeOpaque() {
  auto node = std::make_shared<SymExpr::Node>();
  node->kind = Kind::kFunction;
  node->name = std::string(kOpaque);
  return SymExpr(std::shared_ptr<const SymExpr::Node>(std::move(node)));
}

SymExpr SymExprAccess::MakeFloat(double value) {
  if (std::isnan(value)) return MakeOpaque();
  auto node = std::make_shared<SymExpr::Node>();
  node->kind = Kind::kFloat;
  node->value_kind = ValueKind::kFloat;
  node->number = value == 0 ? 0.0 : value;
  return SymExpr(std::shared_ptr<const SymExpr::Node>(std::move(node)));
}

SymExpr SymExprAccess::MakeBool(bool value) {
  auto node = std::make_shared<SymExpr::Node>();
  node->kind = Kind::kBool;
  node->value_kind = ValueKind::kBool;
  node->boolean = value;
  return SymExpr(std::shared_ptr<const SymExpr::Node>(std::move(node)));
}

SymExpr SymExprAccess::MakeSymbol(std::string_view name) {
  auto node = std::make_shared<SymExpr::Node>();
  node->kind = Kind::kSymbol;
  const bool is_float = name.substr(0, 2) == "zf" || name.substr(0, 3) == "zuf";
  node->value_kind = is_float ? ValueKind::kFloat : ValueKind::kInt;
  node->name = std::string(name);
  node->text = SymbolText(name).size();
  if (node->text > kMaxSymText) return MakeOpaque();
  return SymExpr(std::shared_ptr<const SymExpr::Node>(std::move(node)));
}

int SymExprAccess::Compare(const SymExpr& a, const SymExpr& b, bool by_identity) {
  if (a.node_ == b.node_) return a.int_ < b.int_ ? -1 : a.int_ > b.int_ ? 1 : 0;
  const int rank_a = Rank(a), rank_b = Rank(b);
  if (rank_a != rank_b) return rank_a < rank_b ? -1 : 1;
  if (rank_a == 0) {
    const int order = CompareNumbers(*NumberOf(a), *NumberOf(b));
    return order != 0 ? order : static_cast<int>(a.kind()) - static_cast<int>(b.kind());
  }
  if (a.kind() == Kind::kBool) return static_cast<int>(*a.AsBool()) - static_cast<int>(*b.AsBool());
  if (const int order = a.name().compare(b.name()); order != 0) return order < 0 ? -1 : 1;
  if (IsOpaque(a)) {
    if (!by_identity) return 0;
    return std::less<const SymExpr::Node*>()(a.node_.get(), b.node_.get()) ? -1 : 1;
  }
  const absl::Span<const SymExpr> x = a.arguments(), y = b.arguments();
  for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (const int order = Compare(x[i], y[i], by_identity); order != 0) return order;
  }
  return x.size() == y.size() ? 0 : x.size() < y.size() ? -1 : 1;
}

SymExpr SymExpr::Float(double value) { return SymExprAccess::MakeFloat(value); }
SymExpr SymExpr::Bool(bool value) { return SymExprAccess::MakeBool(value); }
SymExpr SymExpr::Symbol(std::string_view name) { return SymExprAccess::MakeSymbol(name); }

SymExpr::Kind SymExpr::kind() const { return node_ == nullptr ? Kind::kInt : node_->kind; }
SymExpr::ValueKind SymExpr::value_kind() const {
  return node_ == nullptr ? ValueKind::kInt : node_->value_kind;
}
std::optional<int64_t> SymExpr::AsInt() const {
  return node_ == nullptr ? std::optional<int64_t>(int_) : std::nullopt;
}
std::optional<double> SymExpr::AsFloat() const {
  if (node_ == nullptr) return static_cast<double>(int_);
  return node_->kind == Kind::kFloat ? std::optional<double>(node_->number) : std::nullopt;
}
std::optional<bool> SymExpr::AsBool() const {
  return kind() == Kind::kBool ? std::optional<bool>(node_->boolean) : std::nullopt;
}
std::string_view SymExpr::name() const {
  return node_ == nullptr ? std::string_view() : node_->name;
}
absl::Span<const SymExpr> SymExpr::arguments() const {
  return node_ == nullptr ? absl::Span<const SymExpr>() : absl::MakeConstSpan(node_->arguments);
}

SymExpr operator+(const SymExpr& a, const SymExpr& b) { return Sum({a, b}); }
SymExpr operator-(const SymExpr& a, const SymExpr& b) {
  return Sum({a, Product({{SymExpr(-1), 1}, {b, 1}})});
}
SymExpr operator*(const SymExpr& a, const SymExpr& b) { return Product({{a, 1}, {b, 1}}); }
bool operator==(const SymExpr& a, const SymExpr& b) { return SymExprAccess::Compare(a, b) == 0; }
bool operator<(const SymExpr& a, const SymExpr& b) { return SymExprAccess::Compare(a, b) < 0; }

SymExpr FloorDiv(const SymExpr& a, const SymExpr& b) {
  return SymExpr::Function(kFloorDiv, {a, b});
}
SymExpr SymMax(const SymExpr& a, const SymExpr& b) { return SymExpr::Function("Max", {a, b}); }
SymExpr SymMin(const SymExpr& a, const SymExpr& b) { return SymExpr::Function("Min", {a, b}); }

void SymExpr::CollectSymbols(std::vector<std::string>& out) const {
  std::vector<std::string_view> names;
  AppendSymbols(*this, names);
  if (names.empty()) return;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::string> symbols(names.begin(), names.end());
  if (out.empty()) {
    out = std::move(symbols);
    return;
  }
  const std::vector<std::string> before = std::move(out);
  out.clear();
  std::set_union(before.begin(), before.end(), symbols.begin(), symbols.end(),
                 std::back_inserter(out));
}

SymExpr SymExpr::Substitute(
    const std::function<std::optional<SymExpr>(std::string_view)>& replacement) const {
  switch (kind()) {
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kBool:
      return *this;
    case Kind::kSymbol:
      return replacement(name()).value_or(*this);
    default:
      break;
  }
  if (IsOpaque(*this)) return *this;
  std::vector<SymExpr> replaced;
  bool changed = false;
  for (const SymExpr& a : arguments()) {
    replaced.push_back(a.Substitute(replacement));
    changed = changed || !(replaced.back() == a);
  }
  if (!changed) return *this;
  switch (kind()) {
    case Kind::kAdd:
      return Sum(replaced);
    case Kind::kMul:
      return Function("Mul", std::move(replaced));
    default:
      return Function(name(), std::move(replaced));
  }
}

std::string SymExpr::ToString() const {
  switch (kind()) {
    case Kind::kInt:
      return absl::StrCat(int_);
    case Kind::kFloat:
      return FloatText(node_->number);
    case Kind::kBool:
      return node_->boolean ? "true" : "false";
    case Kind::kSymbol:
      return SymbolText(name());
    case Kind::kAdd:
      return AddText(*this);
    case Kind::kMul:
      return MulText(*this);
    case Kind::kFunction:
      return name() == kPow ? PowText(*this) : CallText(*this);
  }
  return "";
}

}  // namespace belay::exir
