#include "runtime/llm/chat/template_parser.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/chat/template_expression_parser.h"
#include "runtime/llm/chat/template_lexer.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {
namespace {

// Statements.
class Parser : private TemplateExpressionParser {
 public:
  explicit Parser(std::vector<TemplateToken> tokens)
      : TemplateExpressionParser(std::move(tokens)) {}

  absl::StatusOr<TemplateNodePtr> Run() { return Block({}); }

 private:
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

  int loops_ = 0;
  bool in_macro_ = false;
};

}  // namespace

absl::StatusOr<TemplateNodePtr> ParseTemplate(std::string_view text) {
  ABSL_ASSIGN_OR_RETURN(std::vector<TemplateToken> tokens, LexTemplate(text));
  return Parser(std::move(tokens)).Run();
}

}  // namespace belay::llm
