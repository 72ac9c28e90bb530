#include "runtime/llm/chat/template_parser.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/chat/template_lexer.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {
namespace {

using Kind = TemplateNode::Kind;
using TokenKind = TemplateToken::Kind;
using Names = std::initializer_list<std::string_view>;

class Parser {
 public:
  explicit Parser(std::vector<TemplateToken> tokens) : tokens_(std::move(tokens)) {}

  absl::StatusOr<TemplateNodePtr> Run() { return Block({}); }

 private:
  // Counts one level of nesting during its lifetime.
  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser) { ++parser_.nesting_; }
    ~Nested() { --parser_.nesting_; }
    absl::Status status() const {
      if (parser_.nesting_ <= kMaxTemplateNesting) return absl::OkStatus();
      return parser_.Error(absl::StrCat("expected statements and brackets nested at most ",
                                        kMaxTemplateNesting, " deep"),
                           absl::StatusCode::kResourceExhausted);
    }

   private:
    Parser& parser_;
  };

  const TemplateToken& token() const { return tokens_[at_]; }
  const TemplateToken& next_token() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  void Advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool SkipOperator(std::string_view which) {
    if (!token().IsOperator(which)) return false;
    Advance();
    return true;
  }
  bool SkipName(std::string_view which) {
    if (!token().IsName(which)) return false;
    Advance();
    return true;
  }
  bool IsAnyName(Names names) const {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return token().IsName(name); });
  }

  absl::Status Error(std::string_view message,
                     absl::StatusCode code = absl::StatusCode::kInvalidArgument) const {
    return TemplateError(token().line, message, code);
  }
  std::string Found() const {
    switch (token().kind) {
      case TokenKind::kEnd:
        return "the end of the template";
      case TokenKind::kBlockEnd:
        return "'%}'";
      case TokenKind::kVariableEnd:
        return "'}}'";
      case TokenKind::kInt:
      case TokenKind::kDouble:
        return "a number";
      default:
        return Quoted(token().text);
    }
  }
  absl::Status Expected(std::string_view what) const {
    return Error(absl::StrCat("expected ", what, ", got ", Found()));
  }
  absl::Status Expect(std::string_view which) {
    if (SkipOperator(which)) return absl::OkStatus();
    return Expected(absl::StrCat("'", which, "'"));
  }
  absl::Status Expect(TokenKind kind, std::string_view what) {
    if (token().kind != kind) return Expected(what);
    Advance();
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> ExpectName() {
    if (token().kind != TokenKind::kName) return Expected("a name");
    std::string name = token().text;
    Advance();
    return name;
  }

  TemplateNodePtr New(Kind kind, std::string name = "") const {
    auto node = std::make_unique<TemplateNode>();
    node->kind = kind;
    node->line = token().line;
    node->name = std::move(name);
    return node;
  }
  // Must be called before `child` becomes a child of `node`.
  absl::Status UpdateDepth(TemplateNode& node, const TemplateNode& child) const {
    node.depth = std::max(node.depth, child.depth + 1);
    if (node.depth <= kMaxTemplateDepth) return absl::OkStatus();
    return Error(absl::StrCat("expected a syntax tree of depth at most ", kMaxTemplateDepth),
                 absl::StatusCode::kResourceExhausted);
  }
  // Appends an operand, which may be null.
  absl::Status Add(TemplateNode& node, TemplateNodePtr operand) {
    if (operand != nullptr) ABSL_RETURN_IF_ERROR(UpdateDepth(node, *operand));
    node.nodes.push_back(std::move(operand));
    return absl::OkStatus();
  }
  // Parses an operand and appends it.
  absl::Status Add(TemplateNode& node, absl::StatusOr<TemplateNodePtr> operand) {
    if (!operand.ok()) return operand.status();
    return Add(node, *std::move(operand));
  }

  // --- Expressions, in order of precedence ---

  absl::StatusOr<TemplateNodePtr> Expression(bool conditional = true) {
    const Nested nested(*this);
    ABSL_RETURN_IF_ERROR(nested.status());
    ABSL_ASSIGN_OR_RETURN(TemplateNodePtr value, Or());
    while (conditional && token().IsName("if")) {
      TemplateNodePtr node = New(Kind::kConditional);
      Advance();
      ABSL_RETURN_IF_ERROR(Add(*node, std::move(value)));
      ABSL_RETURN_IF_ERROR(Add(*node, Or()));
      if (SkipName("else")) {
        ABSL_RETURN_IF_ERROR(Add(*node, Expression()));
      } else {
        ABSL_RETURN_IF_ERROR(Add(*node, TemplateNodePtr()));
      }
      value = std::move(node);
    }
    return value;
  }

  // Parses `first` and further operands into one node, while `more` consumes an operator.
  template <class Operand, class More>
  absl::StatusOr<TemplateNodePtr> Chain(Kind kind, Operand operand, More more) {
    ABSL_ASSIGN_OR_RETURN(TemplateNodePtr first, operand());
    if (!more()) return first;
    TemplateNodePtr node = New(kind);
    ABSL_RETURN_IF_ERROR(Add(*node, std::move(first)));
    do {
      ABSL_RETURN_IF_ERROR(Add(*node, operand()));
    } while (more());
    return node;
  }

  absl::StatusOr<TemplateNodePtr> Or() {
    return Chain(Kind::kOr, [this] { return And(); }, [this] { return SkipName("or"); });
  }
  absl::StatusOr<TemplateNodePtr> And() {
    return Chain(Kind::kAnd, [this] { return Not(); }, [this] { return SkipName("and"); });
  }
  absl::StatusOr<TemplateNodePtr> Not() {
    if (!token().IsName("not")) return Compare();
    const Nested nested(*this);
    ABSL_RETURN_IF_ERROR(nested.status());
    TemplateNodePtr node = New(Kind::kNot);
    Advance();
    ABSL_RETURN_IF_ERROR(Add(*node, Not()));
    return node;
  }

  absl::StatusOr<TemplateNodePtr> Compare() {
    ABSL_ASSIGN_OR_RETURN(TemplateNodePtr first, Sum());
    TemplateNodePtr node;
    while (true) {
      std::string name;
      for (const std::string_view which : {"==", "!=", "<", "<=", ">", ">="}) {
        if (token().IsOperator(which)) name = which;
      }
      if (token().IsName("in")) name = "in";
      if (token().IsName("not") && next_token().IsName("in")) {
        name = "not in";
        Advance();
      }
      if (name.empty()) break;
      Advance();
      if (node == nullptr) {
        node = New(Kind::kCompare);
        ABSL_RETURN_IF_ERROR(Add(*node, std::move(first)));
      }
      node->names.push_back(std::move(name));
      ABSL_RETURN_IF_ERROR(Add(*node, Sum()));
    }
    if (node == nullptr) return first;
    return node;
  }

  // Left-associative binary operators.
  template <class Operand>
  absl::StatusOr<TemplateNodePtr> Binary(Names operators, Operand operand) {
    ABSL_ASSIGN_OR_RETURN(TemplateNodePtr left, operand());
    while (true) {
      const auto which =
          std::find_if(operators.begin(), operators.end(),
                       [&](std::string_view name) { return token().IsOperator(name); });
      if (which == operators.end()) return left;
      TemplateNodePtr node = New(Kind::kBinary, std::string(*which));
      Advance();
      ABSL_RETURN_IF_ERROR(Add(*node, std::move(left)));
      ABSL_RETURN_IF_ERROR(Add(*node, operand()));
      left = std::move(node);
    }
  }
  absl::StatusOr<TemplateNodePtr> Sum() {
    return Binary({"+", "-"}, [this] { return Concat(); });
  }
  absl::StatusOr<TemplateNodePtr> Concat() {
    return Chain(Kind::kConcat, [this] { return Product(); }, [this] { return SkipOperator("~"); });
  }
  absl::StatusOr<TemplateNodePtr> Product() {
    return Binary({"*", "/", "//", "%"}, [this] { return Power(); });
  }
  absl::StatusOr<TemplateNodePtr> Power() {
    return Binary({"**"}, [this] { return Unary(true); });
  }

  absl::StatusOr<TemplateNodePtr> Unary(bool filters) {
    TemplateNodePtr node;
    if (token().IsOperator("-") || token().IsOperator("+")) {
      const Nested nested(*this);
      ABSL_RETURN_IF_ERROR(nested.status());
      node = New(token().text == "-" ? Kind::kNegative : Kind::kPositive);
      Advance();
      ABSL_RETURN_IF_ERROR(Add(*node, Unary(false)));
    } else {
      ABSL_ASSIGN_OR_RETURN(node, Primary());
    }
    ABSL_ASSIGN_OR_RETURN(node, Postfix(std::move(node)));
    if (!filters) return node;
    while (true) {
      if (token().IsOperator("|")) {
        ABSL_ASSIGN_OR_RETURN(node, Filter(std::move(node)));
      } else if (token().IsName("is")) {
        ABSL_ASSIGN_OR_RETURN(node, Test(std::move(node)));
      } else if (token().IsOperator("(")) {
        ABSL_ASSIGN_OR_RETURN(node, Call(std::move(node)));
      } else {
        return node;
      }
    }
  }

  absl::StatusOr<TemplateNodePtr> Constant(TemplateValue value) {
    TemplateNodePtr node = New(Kind::kConstant);
    node->value = std::move(value);
    Advance();
    return node;
  }

  absl::StatusOr<TemplateNodePtr> Primary() {
    const TemplateToken& first = token();
    switch (first.kind) {
      case TokenKind::kName:
        if (IsAnyName({"true", "True"})) return Constant(TemplateValue::Bool(true));
        if (IsAnyName({"false", "False"})) return Constant(TemplateValue::Bool(false));
        if (IsAnyName({"none", "None"})) return Constant(TemplateValue());
        {
          TemplateNodePtr node = New(Kind::kName, first.text);
          Advance();
          return node;
        }
      case TokenKind::kInt:
        return Constant(TemplateValue::Int(first.integer));
      case TokenKind::kDouble:
        return Constant(TemplateValue::Double(first.number));
      case TokenKind::kString: {
        // Adjacent strings are one.
        TemplateNodePtr node = New(Kind::kConstant);
        std::string text;
        for (; token().kind == TokenKind::kString; Advance()) text += token().text;
        node->value = TemplateValue::Text(std::move(text));
        return node;
      }
      default:
        break;
    }
    if (SkipOperator("(")) {
      ABSL_ASSIGN_OR_RETURN(TemplateNodePtr node, Tuple(true, true));
      ABSL_RETURN_IF_ERROR(Expect(")"));
      return node;
    }
    if (first.IsOperator("[")) return Elements(Kind::kList, "]");
    if (first.IsOperator("{")) return Elements(Kind::kDict, "}");
    return Expected("an expression");
  }

  // A list or a mapping, with its brackets.
  absl::StatusOr<TemplateNodePtr> Elements(Kind kind, std::string_view close) {
    TemplateNodePtr node = New(kind);
    Advance();
    while (!SkipOperator(close)) {
      if (!node->nodes.empty()) {
        ABSL_RETURN_IF_ERROR(Expect(","));
        if (SkipOperator(close)) break;
      }
      ABSL_RETURN_IF_ERROR(Add(*node, Expression()));
      if (kind != Kind::kDict) continue;
      ABSL_RETURN_IF_ERROR(Expect(":"));
      ABSL_RETURN_IF_ERROR(Add(*node, Expression()));
    }
    return node;
  }

  bool AtTupleEnd() const {
    return token().kind == TokenKind::kVariableEnd || token().kind == TokenKind::kBlockEnd ||
           token().IsOperator(")") || token().IsName("recursive");
  }

  // One expression, or several with commas.
  absl::StatusOr<TemplateNodePtr> Tuple(bool conditional, bool may_be_empty) {
    TemplateNodePtr tuple = New(Kind::kTuple);
    bool is_tuple = may_be_empty && token().IsOperator(")");
    while (!AtTupleEnd()) {
      ABSL_RETURN_IF_ERROR(Add(*tuple, Expression(conditional)));
      if (!SkipOperator(",")) break;
      is_tuple = true;
    }
    if (is_tuple) return tuple;
    if (tuple->nodes.empty()) return Expected("an expression");
    return std::move(tuple->nodes.front());
  }

  absl::StatusOr<TemplateNodePtr> Postfix(TemplateNodePtr node) {
    while (true) {
      if (token().IsOperator(".")) {
        Advance();
        if (token().kind == TokenKind::kInt) {
          TemplateNodePtr item = New(Kind::kItem);
          ABSL_RETURN_IF_ERROR(Add(*item, std::move(node)));
          ABSL_RETURN_IF_ERROR(Add(*item, Constant(TemplateValue::Int(token().integer))));
          node = std::move(item);
          continue;
        }
        TemplateNodePtr attribute = New(Kind::kAttribute);
        ABSL_ASSIGN_OR_RETURN(attribute->name, ExpectName());
        ABSL_RETURN_IF_ERROR(Add(*attribute, std::move(node)));
        node = std::move(attribute);
      } else if (token().IsOperator("[")) {
        ABSL_ASSIGN_OR_RETURN(node, Subscript(std::move(node)));
      } else if (token().IsOperator("(")) {
        ABSL_ASSIGN_OR_RETURN(node, Call(std::move(node)));
      } else {
        return node;
      }
    }
  }

  absl::StatusOr<TemplateNodePtr> Subscript(TemplateNodePtr object) {
    TemplateNodePtr node = New(Kind::kItem);
    Advance();
    ABSL_RETURN_IF_ERROR(Add(*node, std::move(object)));
    bool is_slice = false;
    for (int part = 0; part < 3; ++part) {
      if (token().IsOperator("]") || token().IsOperator(":")) {
        ABSL_RETURN_IF_ERROR(Add(*node, TemplateNodePtr()));
      } else {
        ABSL_RETURN_IF_ERROR(Add(*node, Expression()));
      }
      if (!SkipOperator(":")) break;
      is_slice = true;
    }
    if (token().IsOperator(",")) {
      return Error("an index of several values is not supported", absl::StatusCode::kUnimplemented);
    }
    if (!is_slice && node->nodes[1] == nullptr) return Expected("an index");
    ABSL_RETURN_IF_ERROR(Expect("]"));
    if (is_slice) {
      node->kind = Kind::kSlice;
      node->nodes.resize(4);
    }
    return node;
  }

  // `count`: number of arguments or parameters, including the next one.
  absl::Status CheckCount(size_t count) const {
    if (count <= kMaxTemplateArguments) return absl::OkStatus();
    return Error(absl::StrCat("expected at most ", kMaxTemplateArguments, " arguments"),
                 absl::StatusCode::kResourceExhausted);
  }

  // Arguments in parentheses, appended to `node`.
  absl::Status Arguments(TemplateNode& node) {
    ABSL_RETURN_IF_ERROR(Expect("("));
    bool first = true;
    while (!SkipOperator(")")) {
      if (!first) {
        ABSL_RETURN_IF_ERROR(Expect(","));
        if (SkipOperator(")")) break;
      }
      first = false;
      ABSL_RETURN_IF_ERROR(CheckCount(node.nodes.size() + node.named.size()));
      if (token().IsOperator("*") || token().IsOperator("**")) {
        return Error("arguments with * are not supported", absl::StatusCode::kUnimplemented);
      }
      if (token().kind == TokenKind::kName && next_token().IsOperator("=")) {
        std::string name = token().text;
        Advance();
        Advance();
        ABSL_ASSIGN_OR_RETURN(TemplateNodePtr value, Expression());
        ABSL_RETURN_IF_ERROR(UpdateDepth(node, *value));
        node.named.emplace_back(std::move(name), std::move(value));
        continue;
      }
      if (!node.named.empty()) return Expected("a keyword argument");
      ABSL_RETURN_IF_ERROR(Add(node, Expression()));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<TemplateNodePtr> Call(TemplateNodePtr callee) {
    TemplateNodePtr node = New(Kind::kCall);
    ABSL_RETURN_IF_ERROR(Add(*node, std::move(callee)));
    ABSL_RETURN_IF_ERROR(Arguments(*node));
    return node;
  }

  // "| name(arguments)", or without "|" at the start of a filter block.
  absl::StatusOr<TemplateNodePtr> Filter(TemplateNodePtr input) {
    SkipOperator("|");
    TemplateNodePtr node = New(Kind::kFilter);
    ABSL_ASSIGN_OR_RETURN(node->name, ExpectName());
    ABSL_RETURN_IF_ERROR(Add(*node, std::move(input)));
    if (token().IsOperator("(")) ABSL_RETURN_IF_ERROR(Arguments(*node));
    return node;
  }

  absl::StatusOr<TemplateNodePtr> Test(TemplateNodePtr input) {
    Advance();
    const bool negated = SkipName("not");
    TemplateNodePtr node = New(Kind::kTest);
    ABSL_ASSIGN_OR_RETURN(node->name, ExpectName());
    ABSL_RETURN_IF_ERROR(Add(*node, std::move(input)));
    const TokenKind next = token().kind;
    if (token().IsOperator("(")) {
      ABSL_RETURN_IF_ERROR(Arguments(*node));
    } else if ((next == TokenKind::kName && !IsAnyName({"else", "or", "and", "if", "is"})) ||
               next == TokenKind::kString || next == TokenKind::kInt ||
               next == TokenKind::kDouble || token().IsOperator("[") || token().IsOperator("{")) {
      ABSL_ASSIGN_OR_RETURN(TemplateNodePtr argument, Primary());
      ABSL_RETURN_IF_ERROR(Add(*node, Postfix(std::move(argument))));
    }
    if (!negated) return node;
    TemplateNodePtr inverse = New(Kind::kNot);
    ABSL_RETURN_IF_ERROR(Add(*inverse, std::move(node)));
    return inverse;
  }

  // --- Statements ---

  // Statements up to a tag with one of these names, at which the parser stops. Without names, up to
  // the end of the template.
  absl::StatusOr<TemplateNodePtr> Block(Names ends) {
    const Nested nested(*this);
    ABSL_RETURN_IF_ERROR(nested.status());
    TemplateNodePtr block = New(Kind::kBlock);
    while (true) {
      switch (token().kind) {
        case TokenKind::kData: {
          TemplateNodePtr data = New(Kind::kData);
          data->value = TemplateValue::Text(token().text);
          Advance();
          ABSL_RETURN_IF_ERROR(Add(*block, std::move(data)));
          break;
        }
        case TokenKind::kVariableBegin: {
          TemplateNodePtr print = New(Kind::kPrint);
          Advance();
          ABSL_RETURN_IF_ERROR(Add(*print, Tuple(true, false)));
          ABSL_RETURN_IF_ERROR(Expect(TokenKind::kVariableEnd, "'}}'"));
          ABSL_RETURN_IF_ERROR(Add(*block, std::move(print)));
          break;
        }
        case TokenKind::kBlockBegin:
          Advance();
          if (IsAnyName(ends)) return block;
          ABSL_RETURN_IF_ERROR(Add(*block, Statement()));
          break;
        default:
          if (ends.size() == 0) return block;
          return Expected(absl::StrCat("'", *(ends.end() - 1), "'"));
      }
    }
  }
  absl::Status TagEnd() { return Expect(TokenKind::kBlockEnd, "'%}'"); }
  // The end of a tag, statements, and the tag that ends them.
  absl::Status AddBlock(TemplateNode& node, std::string_view end) {
    ABSL_RETURN_IF_ERROR(TagEnd());
    ABSL_RETURN_IF_ERROR(Add(node, Block({end})));
    Advance();
    return TagEnd();
  }

  absl::StatusOr<TemplateNodePtr> Statement() {
    TemplateNodePtr node = New(Kind::kBlock);
    ABSL_ASSIGN_OR_RETURN(const std::string name, ExpectName());
    if (name == "if") return If(std::move(node));
    if (name == "for") return For(std::move(node));
    if (name == "set") return Set(std::move(node));
    if (name == "macro") return Macro(std::move(node));
    if (name == "generation") {  // marks text of the assistant, for training
      ABSL_RETURN_IF_ERROR(AddBlock(*node, "endgeneration"));
      return node;
    }
    if (name == "filter") {
      node->kind = Kind::kFilterBlock;
      ABSL_RETURN_IF_ERROR(AddFilters(*node));
      ABSL_RETURN_IF_ERROR(AddBlock(*node, "endfilter"));
      return node;
    }
    if (name == "print") {
      node->kind = Kind::kPrint;
      ABSL_RETURN_IF_ERROR(Add(*node, Tuple(true, false)));
      ABSL_RETURN_IF_ERROR(TagEnd());
      return node;
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) return Error(absl::StrCat("'", name, "' outside of a loop"));
      node->kind = name == "break" ? Kind::kBreak : Kind::kContinue;
      ABSL_RETURN_IF_ERROR(TagEnd());
      return node;
    }
    for (const std::string_view other : {"block", "call", "do", "extends", "from", "import",
                                         "include", "trans", "with", "autoescape"}) {
      if (name == other) {
        return TemplateError(node->line,
                             absl::StrCat("the statement '", name, "' is not supported"),
                             absl::StatusCode::kUnimplemented);
      }
    }
    return TemplateError(node->line, absl::StrCat("unknown statement ", Quoted(name)));
  }

  absl::StatusOr<TemplateNodePtr> If(TemplateNodePtr node) {
    node->kind = Kind::kIf;
    while (true) {
      ABSL_RETURN_IF_ERROR(Add(*node, Tuple(false, false)));
      ABSL_RETURN_IF_ERROR(TagEnd());
      ABSL_RETURN_IF_ERROR(Add(*node, Block({"elif", "else", "endif"})));
      if (!SkipName("elif")) break;
    }
    if (SkipName("else")) {
      ABSL_RETURN_IF_ERROR(AddBlock(*node, "endif"));
    } else {
      Advance();
      ABSL_RETURN_IF_ERROR(TagEnd());
    }
    return node;
  }

  absl::StatusOr<TemplateNodePtr> For(TemplateNodePtr node) {
    node->kind = Kind::kFor;
    ABSL_RETURN_IF_ERROR(Add(*node, Target(false)));
    if (!SkipName("in")) return Expected("'in'");
    ABSL_RETURN_IF_ERROR(Add(*node, Tuple(false, false)));
    if (SkipName("if")) {
      ABSL_RETURN_IF_ERROR(Add(*node, Expression()));
    } else {
      ABSL_RETURN_IF_ERROR(Add(*node, TemplateNodePtr()));
    }
    if (token().IsName("recursive")) {
      return Error("recursive loops are not supported", absl::StatusCode::kUnimplemented);
    }
    ABSL_RETURN_IF_ERROR(TagEnd());
    ++loops_;
    ABSL_RETURN_IF_ERROR(Add(*node, Block({"else", "endfor"})));
    --loops_;
    if (SkipName("else")) {
      ABSL_RETURN_IF_ERROR(AddBlock(*node, "endfor"));
      return node;
    }
    ABSL_RETURN_IF_ERROR(Add(*node, TemplateNodePtr()));
    Advance();
    ABSL_RETURN_IF_ERROR(TagEnd());
    return node;
  }

  // A name, an attribute of a namespace, or several with commas.
  absl::StatusOr<TemplateNodePtr> Target(bool attributes) {
    const bool parenthesis = SkipOperator("(");
    TemplateNodePtr tuple = New(Kind::kTuple);
    bool is_tuple = false;
    while (token().kind == TokenKind::kName && !token().IsName("in")) {
      TemplateNodePtr target = New(Kind::kName, token().text);
      Advance();
      if (attributes && SkipOperator(".")) {
        TemplateNodePtr attribute = New(Kind::kAttribute);
        ABSL_ASSIGN_OR_RETURN(attribute->name, ExpectName());
        ABSL_RETURN_IF_ERROR(Add(*attribute, std::move(target)));
        target = std::move(attribute);
      }
      ABSL_RETURN_IF_ERROR(Add(*tuple, std::move(target)));
      if (!SkipOperator(",")) break;
      is_tuple = true;
    }
    if (parenthesis) ABSL_RETURN_IF_ERROR(Expect(")"));
    if (tuple->nodes.empty()) return Expected("a name to assign to");
    if (is_tuple) return tuple;
    return std::move(tuple->nodes.front());
  }

  absl::Status AddFilters(TemplateNode& node) {
    TemplateNodePtr filters;
    do {
      ABSL_ASSIGN_OR_RETURN(filters, Filter(std::move(filters)));
    } while (token().IsOperator("|"));
    return Add(node, std::move(filters));
  }

  absl::StatusOr<TemplateNodePtr> Set(TemplateNodePtr node) {
    node->kind = Kind::kSet;
    ABSL_RETURN_IF_ERROR(Add(*node, Target(true)));
    if (SkipOperator("=")) {
      ABSL_RETURN_IF_ERROR(Add(*node, Tuple(true, false)));
      ABSL_RETURN_IF_ERROR(TagEnd());
      return node;
    }
    node->kind = Kind::kSetBlock;
    if (token().IsOperator("|")) {
      ABSL_RETURN_IF_ERROR(AddFilters(*node));
    } else {
      ABSL_RETURN_IF_ERROR(Add(*node, TemplateNodePtr()));
    }
    ABSL_RETURN_IF_ERROR(AddBlock(*node, "endset"));
    return node;
  }

  absl::StatusOr<TemplateNodePtr> Macro(TemplateNodePtr node) {
    node->kind = Kind::kMacro;
    ABSL_ASSIGN_OR_RETURN(node->name, ExpectName());
    if (in_macro_ || loops_ > 0) {
      return Error("a macro in a loop or in a macro is not supported",
                   absl::StatusCode::kUnimplemented);
    }
    ABSL_RETURN_IF_ERROR(Expect("("));
    std::vector<TemplateNodePtr> defaults;
    while (!SkipOperator(")")) {
      if (!node->names.empty()) ABSL_RETURN_IF_ERROR(Expect(","));
      ABSL_RETURN_IF_ERROR(CheckCount(node->names.size() + 1));
      ABSL_ASSIGN_OR_RETURN(std::string parameter, ExpectName());
      node->names.push_back(std::move(parameter));
      if (SkipOperator("=")) {
        ABSL_ASSIGN_OR_RETURN(TemplateNodePtr value, Expression());
        defaults.push_back(std::move(value));
      } else if (!defaults.empty()) {
        return Expected("a default value");
      }
    }
    in_macro_ = true;
    ABSL_RETURN_IF_ERROR(AddBlock(*node, "endmacro"));
    in_macro_ = false;
    for (TemplateNodePtr& value : defaults) ABSL_RETURN_IF_ERROR(Add(*node, std::move(value)));
    return node;
  }

  std::vector<TemplateToken> tokens_;
  size_t at_ = 0;
  int nesting_ = 0, loops_ = 0;
  bool in_macro_ = false;
};

}  // namespace

absl::StatusOr<TemplateNodePtr> ParseTemplate(std::string_view text) {
  ABSL_ASSIGN_OR_RETURN(std::vector<TemplateToken> tokens, LexTemplate(text));
  return Parser(std::move(tokens)).Run();
}

}  // namespace belay::llm
