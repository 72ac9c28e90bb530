// ParseSymExpr: one recursive-descent parser for srepr and infix; srepr consists of calls.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "exir/symbolic/sym_expr.h"
#include "exir/symbolic/sym_node.h"
#include "exir/symbolic/sym_number.h"
#include "exir/symbolic/sym_polynomial.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

bool IsWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// Precedence, lowest first: or · and · not · comparison · | · & · shifts + - · * / // % · sign ·
// **.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<SymExpr> Parse() {
    ABSL_ASSIGN_OR_RETURN(SymExpr e, Expression());
    SkipSpace();
    if (pos_ != text_.size()) return Error("the end");
    return e;
  }

 private:
  using Result = absl::StatusOr<SymExpr>;

  absl::Status Error(std::string_view expected) const {
    return absl::InvalidArgumentError(
        absl::StrCat("symbolic expression '", text_.substr(0, 200), "': position ", pos_,
                     ": expected ", expected,
                     pos_ < text_.size() ? absl::StrCat(", got '", text_.substr(pos_, 16), "'")
                                         : ", got the end"));
  }

  void SkipSpace() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
  }
  char Peek(size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }
  bool Consume(std::string_view token) {
    SkipSpace();
    if (text_.substr(pos_, token.size()) != token) return false;
    pos_ += token.size();
    return true;
  }
  // Consumes a keyword such as "and", but not the prefix of a longer word.
  bool ConsumeWord(std::string_view word) {
    SkipSpace();
    if (text_.substr(pos_, word.size()) != word) return false;
    const char next = Peek(word.size());
    if (IsWordStart(next) || IsDigit(next)) return false;
    pos_ += word.size();
    return true;
  }

  // Counts the nesting depth; every recursion uses it.
  class Nesting {
   public:
    explicit Nesting(int& depth) : depth_(depth) { ++depth_; }
    ~Nesting() { --depth_; }
    bool too_deep() const { return depth_ > kMaxSymDepth; }

   private:
    int& depth_;
  };

  Result Expression() {
    const Nesting nesting(depth_);
    if (nesting.too_deep()) return Error(absl::StrCat("nesting of at most ", kMaxSymDepth));
    std::vector<SymExpr> x;
    do {
      ABSL_ASSIGN_OR_RETURN(SymExpr e, Conjunction());
      x.push_back(std::move(e));
    } while (ConsumeWord("or"));
    return x.size() == 1 ? std::move(x[0]) : SymExpr::Function("Or", std::move(x));
  }

  Result Conjunction() {
    std::vector<SymExpr> x;
    do {
      ABSL_ASSIGN_OR_RETURN(SymExpr e, Inversion());
      x.push_back(std::move(e));
    } while (ConsumeWord("and"));
    return x.size() == 1 ? std::move(x[0]) : SymExpr::Function("And", std::move(x));
  }

  Result Inversion() {
    bool invert = false;
    while (ConsumeWord("not")) invert = !invert;
    ABSL_ASSIGN_OR_RETURN(SymExpr e, Comparison());
    return invert ? SymExpr::Function("Not", {std::move(e)}) : std::move(e);
  }

  Result Comparison() {
    constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
        {"==", "Eq"}, {"!=", "Ne"}, {"<=", "Le"}, {">=", "Ge"}, {"<", "Lt"}, {">", "Gt"}};
    ABSL_ASSIGN_OR_RETURN(SymExpr left, BitOr());
    for (const auto& [token, name] : kOperators) {
      if (!Consume(token)) continue;
      ABSL_ASSIGN_OR_RETURN(SymExpr right, BitOr());
      return SymExpr::Function(name, {std::move(left), std::move(right)});
    }
    return left;
  }

  Result BitOr() {
    std::vector<SymExpr> x;
    do {
      ABSL_ASSIGN_OR_RETURN(SymExpr e, BitAnd());
      x.push_back(std::move(e));
    } while (Consume("|"));
    return Bitwise("Or", "BitwiseFn_bitwise_or", std::move(x));
  }

  Result BitAnd() {
    std::vector<SymExpr> x;
    do {
      ABSL_ASSIGN_OR_RETURN(SymExpr e, Shift());
      x.push_back(std::move(e));
    } while (Consume("&"));
    return Bitwise("And", "BitwiseFn_bitwise_and", std::move(x));
  }

  // `logical` of truth values, `bitwise` of numbers.
  static SymExpr Bitwise(std::string_view logical, std::string_view bitwise,
                         std::vector<SymExpr> x) {
    const bool truth = std::all_of(x.begin(), x.end(), [](const SymExpr& e) {
      return e.value_kind() == SymExpr::ValueKind::kBool;
    });
    if (x.size() > 1 && truth) return SymExpr::Function(logical, std::move(x));
    SymExpr result = std::move(x[0]);
    for (size_t i = 1; i < x.size(); ++i) {
      result = SymExpr::Function(bitwise, {std::move(result), std::move(x[i])});
    }
    return result;
  }

  Result Shift() {
    ABSL_ASSIGN_OR_RETURN(SymExpr left, Addition());
    for (;;) {
      const bool to_left = Consume("<<");
      if (!to_left && !Consume(">>")) return left;
      ABSL_ASSIGN_OR_RETURN(SymExpr right, Addition());
      left = SymExpr::Function(to_left ? "LShift" : "RShift", {std::move(left), std::move(right)});
    }
  }

  Result Addition() {
    std::vector<SymExpr> x;
    bool negative = false;
    for (;;) {
      std::optional<SymExpr> first;
      // The sign of a product may move to its first factor; that of a quotient may not.
      if (negative && ConsumeLeast({"**", "/", "%"})) {
        first = SymExpr(std::numeric_limits<int64_t>::min());
        negative = false;
      }
      ABSL_ASSIGN_OR_RETURN(SymExpr e, Multiplication(std::move(first)));
      x.push_back(negative ? SymExpr(-1) * e : std::move(e));
      if (Consume("+")) {
        negative = false;
      } else if (Consume("-")) {
        negative = true;
      } else {
        return x.size() == 1 ? std::move(x[0]) : Sum(x);
      }
    }
  }

  Result Multiplication(std::optional<SymExpr> first) {
    std::vector<SymFactor> factors;  // collected, to normalize the whole product at once
    const auto product = [&factors] { return ProductOf(std::exchange(factors, {})); };
    if (first.has_value()) {
      factors.push_back({*std::move(first), 1});
    } else {
      ABSL_RETURN_IF_ERROR(AddFactor(factors));
    }
    for (;;) {
      SkipSpace();
      const bool floor_div = Consume("//");
      const bool modulo = !floor_div && Consume("%");
      if (floor_div || modulo) {
        ABSL_ASSIGN_OR_RETURN(SymExpr right, Sign());
        factors.push_back(
            {SymExpr::Function(floor_div ? "FloorDiv" : "PythonMod", {product(), std::move(right)}),
             1});
        continue;
      }
      if (Consume("/")) {
        ABSL_ASSIGN_OR_RETURN(SymExpr right, Sign());
        factors.push_back({std::move(right), -1});
      } else if (Consume("*")) {
        ABSL_RETURN_IF_ERROR(AddFactor(factors));
      } else {
        return product();
      }
    }
  }

  // After a minus: consumes the magnitude of INT64_MIN, which has no positive counterpart. Not if
  // one of `operators` follows.
  bool ConsumeLeast(std::initializer_list<std::string_view> operators) {
    constexpr std::string_view kLeast = "9223372036854775808";
    SkipSpace();
    if (text_.substr(pos_, kLeast.size()) != kLeast || IsDigit(Peek(kLeast.size()))) return false;
    const size_t start = pos_;
    pos_ += kLeast.size();
    SkipSpace();
    for (const std::string_view op : operators) {
      if (text_.substr(pos_, op.size()) != op) continue;
      pos_ = start;
      return false;
    }
    return true;
  }

  Result Sign() {
    std::vector<SymFactor> factors;
    ABSL_RETURN_IF_ERROR(AddFactor(factors));
    return ProductOf(std::move(factors));
  }

  // Returns the product. A single factor is returned as it is, since it need not be a number.
  static SymExpr ProductOf(std::vector<SymFactor> factors) {
    return factors.size() == 1 && factors[0].exponent == 1 ? factors[0].base
                                                           : Product(std::move(factors));
  }

  // Parses a power with the signs before it. Powers of sums are not computed here: whether they are
  // expanded depends on the surrounding product.
  absl::Status AddFactor(std::vector<SymFactor>& factors) {
    bool negative = false;
    bool invert = false;
    for (;; ++pos_) {
      SkipSpace();
      if (Peek() == '-') {
        negative = !negative;
      } else if (Peek() == '~') {
        invert = !invert;
      } else if (Peek() != '+') {
        break;
      }
    }
    SymFactor power{SymExpr(std::numeric_limits<int64_t>::min()), 1};
    if (negative && ConsumeLeast({"**"})) {
      negative = false;
    } else {
      ABSL_ASSIGN_OR_RETURN(power, Power());
    }
    if (invert) {
      SymExpr e = ProductOf({std::move(power)});
      if (negative) e = SymExpr(-1) * e;
      power = {SymExpr::Function("Not", {std::move(e)}), 1};
    } else if (negative) {
      factors.push_back({SymExpr(-1), 1});
    }
    factors.push_back(std::move(power));
    return absl::OkStatus();
  }

  absl::StatusOr<SymFactor> Power() {
    ABSL_ASSIGN_OR_RETURN(SymExpr base, Atom());
    if (!Consume("**")) return SymFactor{std::move(base), 1};
    const Nesting nesting(depth_);
    if (nesting.too_deep()) return Error(absl::StrCat("nesting of at most ", kMaxSymDepth));
    ABSL_ASSIGN_OR_RETURN(SymExpr exponent, Sign());
    if (base.kind() == SymExpr::Kind::kAdd && exponent.AsInt().has_value()) {
      return SymFactor{std::move(base), *exponent.AsInt()};
    }
    return SymFactor{SymExpr::Function(kPow, {std::move(base), std::move(exponent)}), 1};
  }

  Result Atom() {
    SkipSpace();
    if (Consume("(")) {
      ABSL_ASSIGN_OR_RETURN(SymExpr e, Expression());
      if (!Consume(")")) return Error("')'");
      return e;
    }
    if (IsDigit(Peek()) || Peek() == '.') return Number();
    if (IsWordStart(Peek())) return Word();
    return Error("an expression");
  }

  Result Number() {
    size_t end = pos_;
    bool is_float = false;
    while (end < text_.size()) {
      const char c = text_[end];
      // The first character is a digit or a point, so every sign has a predecessor.
      const bool sign_of_exponent =
          (c == '+' || c == '-') && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
      if (!IsDigit(c) && c != '.' && c != 'e' && c != 'E' && !sign_of_exponent) break;
      is_float = is_float || !IsDigit(c);
      ++end;
    }
    const std::string_view token = text_.substr(pos_, end - pos_);
    if (!is_float) {
      int64_t value = 0;
      if (!Read(token, value)) return Error("an integer of 64 bits");
      pos_ = end;
      return SymExpr(value);
    }
    double value = 0;
    if (!Read(token, value)) return Error("a number");
    pos_ = end;
    return SymExpr::Float(value);
  }

  static bool Read(std::string_view token, int64_t& value) {
    const std::from_chars_result r =
        std::from_chars(token.data(), token.data() + token.size(), value);
    return r.ec == std::errc() && r.ptr == token.data() + token.size();
  }
  // Floats beyond the range of double become infinity or 0: sympy's exponents are unbounded.
  static bool Read(std::string_view token, double& value) {
    const std::from_chars_result r =
        std::from_chars(token.data(), token.data() + token.size(), value);
    if (r.ptr != token.data() + token.size()) return false;
    if (r.ec == std::errc::result_out_of_range) return absl::SimpleAtod(ToAbsl(token), &value);
    return r.ec == std::errc();
  }

  std::string_view Identifier() {
    const size_t start = pos_;
    while (pos_ < text_.size() && (IsWordStart(text_[pos_]) || IsDigit(text_[pos_]))) ++pos_;
    return text_.substr(start, pos_ - start);
  }

  Result Word() {
    std::string_view name = Identifier();
    while (Peek() == '.' && IsWordStart(Peek(1))) {  // torch.utils._sympy.functions.FloorDiv
      ++pos_;
      name = Identifier();
    }
    // Operator names used as symbols could not be parsed again.
    if (name == "and" || name == "or" || name == "not") return Error("an expression");
    SkipSpace();
    if (Peek() == '(') return Call(name);
    if (name == "true" || name == "True") return SymExpr::Bool(true);
    if (name == "false" || name == "False") return SymExpr::Bool(false);
    if (name == "oo" || name == "int_oo" || name == "inf") {
      return SymExpr::Float(std::numeric_limits<double>::infinity());
    }
    if (name == "nan") return Error("a number");
    return SymExpr::Symbol(name);
  }

  absl::StatusOr<std::string> String() {
    SkipSpace();
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return Error("a string");
    std::string value;
    for (++pos_; pos_ < text_.size() && text_[pos_] != quote; ++pos_) {
      if (text_[pos_] == '\\' && pos_ + 1 < text_.size()) ++pos_;
      value += text_[pos_];
    }
    if (!Consume(std::string_view(&quote, 1))) return Error("the end of the string");
    return value;
  }

  // Parses the end of a call: keyword arguments (sympy's assumptions and precisions), which are
  // skipped, and the closing parenthesis.
  absl::Status EndOfCall() {
    for (;;) {
      Consume(",");
      if (Consume(")")) return absl::OkStatus();
      if (!IsKeywordArgument()) return Error("')'");
      Identifier();
      Consume("=");
      SkipSpace();
      if (Peek() == '\'' || Peek() == '"') {
        ABSL_RETURN_IF_ERROR(String().status());
      } else {
        ABSL_RETURN_IF_ERROR(Expression().status());
      }
    }
  }

  // Precondition: an opening parenthesis is next.
  Result Call(std::string_view name) {
    ++pos_;
    if (name == "Symbol" || name == "Dummy") {
      ABSL_ASSIGN_OR_RETURN(const std::string symbol, String());
      if (symbol.empty()) return Error("a symbol's name");
      ABSL_RETURN_IF_ERROR(EndOfCall());
      return SymExpr::Symbol(symbol);
    }
    if (name == "Float" || name == "Integer") return NumberCall(name == "Float");
    std::vector<SymExpr> arguments;
    do {
      SkipSpace();
      if (Peek() == ')' || IsKeywordArgument()) break;
      ABSL_ASSIGN_OR_RETURN(SymExpr e, Expression());
      arguments.push_back(std::move(e));
    } while (Consume(","));
    ABSL_RETURN_IF_ERROR(EndOfCall());
    const size_t count = arguments.size();
    const std::optional<SymArity> arity = ArityOfSymFunction(CanonicalSymName(name));
    if (arity.has_value() && (count < arity->min || count > arity->max)) {
      return Error(
          absl::StrCat("other arguments of ", name, ", which has ", count, ", before this"));
    }
    SymExpr e = SymExpr::Function(name, std::move(arguments));
    if (name == kRational && IsOpaque(e)) return Error("a fraction before this");
    return e;
  }

  bool IsKeywordArgument() const {
    size_t end = pos_;
    while (end < text_.size() && (IsWordStart(text_[end]) || IsDigit(text_[end]))) ++end;
    return end > pos_ && end + 1 < text_.size() && text_[end] == '=' && text_[end + 1] != '=';
  }

  // Float('0.5', precision=53), Integer(-2), with or without quotes.
  Result NumberCall(bool is_float) {
    SkipSpace();
    std::string token;
    if (Peek() == '\'' || Peek() == '"') {
      ABSL_ASSIGN_OR_RETURN(token, String());
    } else {
      const size_t start = pos_;
      while (pos_ < text_.size() && text_[pos_] != ',' && text_[pos_] != ')') ++pos_;
      token = std::string(text_.substr(start, pos_ - start));
    }
    while (!token.empty() && token.back() == ' ') token.pop_back();
    int64_t integer = 0;
    double value = 0;
    if (is_float ? !Read(std::string_view(token), value)
                 : !Read(std::string_view(token), integer)) {
      return Error(absl::StrCat("a number instead of '", token.substr(0, 40), "' before this"));
    }
    ABSL_RETURN_IF_ERROR(EndOfCall());
    return is_float ? SymExpr::Float(value) : SymExpr(integer);
  }

  std::string_view text_;
  size_t pos_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<SymExpr> ParseSymExpr(std::string_view text) {
  if (text.size() > kMaxSymText) {
    return absl::InvalidArgumentError(absl::StrCat("symbolic expression of ", text.size(),
                                                   " bytes: expected at most ", kMaxSymText));
  }
  absl::StatusOr<SymExpr> expression = Parser(text).Parse();
  if (!expression.ok()) return Printable(expression.status());
  return expression;
}

}  // namespace belay::exir
