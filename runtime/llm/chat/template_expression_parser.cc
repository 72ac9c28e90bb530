#include "runtime/llm/chat/template_expression_parser.h"

#include "runtime/core/str_cat.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {

absl::Status TemplateExpressionParser::Nested::status() const {
  if (parser_.nesting_ <= kMaxTemplateNesting) return absl::OkStatus();
  return parser_.Error(absl::StrCat("expected statements and brackets nested at most ",
                                    kMaxTemplateNesting, " deep"),
                       absl::StatusCode::kResourceExhausted);
}

std::string TemplateExpressionParser::Found() const {
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

absl::Status TemplateExpressionParser::Expected(std::string_view what) const {
  return Error(absl::StrCat("expected ", what, ", got ", Found()));
}

absl::Status TemplateExpressionParser::Expect(std::string_view which) {
  if (SkipOperator(which)) return absl::OkStatus();
  return Expected(absl::StrCat("'", which, "'"));
}

absl::StatusOr<std::string> TemplateExpressionParser::ExpectName() {
  if (token().kind != TokenKind::kName) return Expected("a name");
  std::string name = token().text;
  Advance();
  return name;
}

TemplateNodePtr TemplateExpressionParser::New(Kind kind, std::string name) const {
  auto node = std::make_unique<TemplateNode>();
  node->kind = kind;
  node->line = token().line;
  node->name = std::move(name);
  return node;
}

absl::Status TemplateExpressionParser::UpdateDepth(TemplateNode& node,
                                                   const TemplateNode& child) const {
  node.depth = std::max(node.depth, child.depth + 1);
  if (node.depth <= kMaxTemplateDepth) return absl::OkStatus();
  return Error(absl::StrCat("expected a syntax tree of depth at most ", kMaxTemplateDepth),
               absl::StatusCode::kResourceExhausted);
}

template <class Operand, class More>
absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Chain(Kind kind, Operand operand,
                                                                More more) {
  ABSL_ASSIGN_OR_RETURN(TemplateNodePtr first, operand());
  if (!more()) return first;
  TemplateNodePtr node = New(kind);
  ABSL_RETURN_IF_ERROR(Add(*node, std::move(first)));
  do {
    ABSL_RETURN_IF_ERROR(Add(*node, operand()));
  } while (more());
  return node;
}

template <class Operand>
absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Binary(Names operators, Operand operand) {
  ABSL_ASSIGN_OR_RETURN(TemplateNodePtr left, operand());
  while (true) {
    const auto which = std::find_if(operators.begin(), operators.end(), [&](std::string_view name) {
      return token().IsOperator(name);
    });
    if (which == operators.end()) return left;
    TemplateNodePtr node = New(Kind::kBinary, std::string(*which));
    Advance();
    ABSL_RETURN_IF_ERROR(Add(*node, std::move(left)));
    ABSL_RETURN_IF_ERROR(Add(*node, operand()));
    left = std::move(node);
  }
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Expression(bool conditional) {
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

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Or() {
  return Chain(Kind::kOr, [this] { return And(); }, [this] { return SkipName("or"); });
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::And() {
  return Chain(Kind::kAnd, [this] { return Not(); }, [this] { return SkipName("and"); });
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Not() {
  if (!token().IsName("not")) return Compare();
  const Nested nested(*this);
  ABSL_RETURN_IF_ERROR(nested.status());
  TemplateNodePtr node = New(Kind::kNot);
  Advance();
  ABSL_RETURN_IF_ERROR(Add(*node, Not()));
  return node;
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Compare() {
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

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Sum() {
  return Binary({"+", "-"}, [this] { return Concat(); });
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Concat() {
  return Chain(Kind::kConcat, [this] { return Product(); }, [this] { return SkipOperator("~"); });
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Product() {
  return Binary({"*", "/", "//", "%"}, [this] { return Power(); });
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Power() {
  return Binary({"**"}, [this] { return Unary(true); });
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Unary(bool filters) {
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

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Constant(TemplateValue value) {
  TemplateNodePtr node = New(Kind::kConstant);
  node->value = std::move(value);
  Advance();
  return node;
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Primary() {
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

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Elements(Kind kind,
                                                                   std::string_view close) {
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

bool TemplateExpressionParser::AtTupleEnd() const {
  return token().kind == TokenKind::kVariableEnd || token().kind == TokenKind::kBlockEnd ||
         token().IsOperator(")") || token().IsName("recursive");
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Tuple(bool conditional,
                                                                bool may_be_empty) {
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

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Postfix(TemplateNodePtr node) {
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

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Subscript(TemplateNodePtr object) {
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

absl::Status TemplateExpressionParser::CheckCount(size_t count) const {
  if (count <= kMaxTemplateArguments) return absl::OkStatus();
  return Error(absl::StrCat("expected at most ", kMaxTemplateArguments, " arguments"),
               absl::StatusCode::kResourceExhausted);
}

absl::Status TemplateExpressionParser::Arguments(TemplateNode& node) {
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

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Call(TemplateNodePtr callee) {
  TemplateNodePtr node = New(Kind::kCall);
  ABSL_RETURN_IF_ERROR(Add(*node, std::move(callee)));
  ABSL_RETURN_IF_ERROR(Arguments(*node));
  return node;
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Filter(TemplateNodePtr input) {
  SkipOperator("|");
  TemplateNodePtr node = New(Kind::kFilter);
  ABSL_ASSIGN_OR_RETURN(node->name, ExpectName());
  ABSL_RETURN_IF_ERROR(Add(*node, std::move(input)));
  if (token().IsOperator("(")) ABSL_RETURN_IF_ERROR(Arguments(*node));
  return node;
}

absl::StatusOr<TemplateNodePtr> TemplateExpressionParser::Test(TemplateNodePtr input) {
  Advance();
  const bool negated = SkipName("not");
  TemplateNodePtr node = New(Kind::kTest);
  ABSL_ASSIGN_OR_RETURN(node->name, ExpectName());
  ABSL_RETURN_IF_ERROR(Add(*node, std::move(input)));
  const TokenKind next = token().kind;
  if (token().IsOperator("(")) {
    ABSL_RETURN_IF_ERROR(Arguments(*node));
  } else if ((next == TokenKind::kName && !IsAnyName({"else", "or", "and", "if", "is"})) ||
             next == TokenKind::kString || next == TokenKind::kInt || next == TokenKind::kDouble ||
             token().IsOperator("[") || token().IsOperator("{")) {
    ABSL_ASSIGN_OR_RETURN(TemplateNodePtr argument, Primary());
    ABSL_RETURN_IF_ERROR(Add(*node, Postfix(std::move(argument))));
  }
  if (!negated) return node;
  TemplateNodePtr inverse = New(Kind::kNot);
  ABSL_RETURN_IF_ERROR(Add(*inverse, std::move(node)));
  return inverse;
}

}  // namespace belay::llm
