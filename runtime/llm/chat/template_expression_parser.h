// Parses the expressions of chat templates.
#ifndef BELAY_RUNTIME_LLM_CHAT_TEMPLATE_EXPRESSION_PARSER_H_
#define BELAY_RUNTIME_LLM_CHAT_TEMPLATE_EXPRESSION_PARSER_H_

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/core/status_macros.h"
#include "runtime/llm/chat/template_lexer.h"
#include "runtime/llm/chat/template_node.h"

namespace belay::llm {

// Maximum nesting of statements and brackets, and maximum depth of a syntax tree.
inline constexpr int kMaxTemplateNesting = 64, kMaxTemplateDepth = 200;
// Maximum number of arguments of a call, and of parameters of a macro.
inline constexpr size_t kMaxTemplateArguments = 255;

// The tokens of a template, a position among them, and the grammar of expressions. The parser of
// statements (template_parser.cc) derives from it. Parsing functions start at the current token,
// stop after the last one that they used, and return the errors of ParseTemplate.
class TemplateExpressionParser {
 protected:
  using Kind = TemplateNode::Kind;
  using TokenKind = TemplateToken::Kind;
  using Names = std::initializer_list<std::string_view>;

  // `tokens` ends with one of the kind kEnd.
  explicit TemplateExpressionParser(std::vector<TemplateToken> tokens)
      : tokens_(std::move(tokens)) {}

  // Counts one level of nesting during its lifetime.
  class Nested {
   public:
    explicit Nested(TemplateExpressionParser& parser) : parser_(parser) { ++parser_.nesting_; }
    ~Nested() { --parser_.nesting_; }
    absl::Status status() const;

   private:
    TemplateExpressionParser& parser_;
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
  absl::Status Expected(std::string_view what) const;
  absl::Status Expect(std::string_view which);  // an operator
  absl::Status Expect(TokenKind kind, std::string_view what) {
    if (token().kind != kind) return Expected(what);
    Advance();
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> ExpectName();

  TemplateNodePtr New(Kind kind, std::string name = "") const;
  // Must be called before `child` becomes a child of `node`.
  absl::Status UpdateDepth(TemplateNode& node, const TemplateNode& child) const;
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

  absl::StatusOr<TemplateNodePtr> Expression(bool conditional = true);
  // One expression, or several with commas.
  absl::StatusOr<TemplateNodePtr> Tuple(bool conditional, bool may_be_empty);
  // `count`: number of arguments or parameters, including the next one.
  absl::Status CheckCount(size_t count) const;
  // "| name(arguments)", or without "|" at the start of a filter block.
  absl::StatusOr<TemplateNodePtr> Filter(TemplateNodePtr input);

 private:
  std::string Found() const;  // the current token, for errors

  // Grammar, in order of precedence.
  absl::StatusOr<TemplateNodePtr> Or();
  absl::StatusOr<TemplateNodePtr> And();
  absl::StatusOr<TemplateNodePtr> Not();
  absl::StatusOr<TemplateNodePtr> Compare();
  absl::StatusOr<TemplateNodePtr> Sum();
  absl::StatusOr<TemplateNodePtr> Concat();
  absl::StatusOr<TemplateNodePtr> Product();
  absl::StatusOr<TemplateNodePtr> Power();
  absl::StatusOr<TemplateNodePtr> Unary(bool filters);
  absl::StatusOr<TemplateNodePtr> Constant(TemplateValue value);
  absl::StatusOr<TemplateNodePtr> Primary();
  // A list or a mapping, with its brackets.
  absl::StatusOr<TemplateNodePtr> Elements(Kind kind, std::string_view close);
  bool AtTupleEnd() const;
  absl::StatusOr<TemplateNodePtr> Postfix(TemplateNodePtr node);
  absl::StatusOr<TemplateNodePtr> Subscript(TemplateNodePtr object);
  // Arguments in parentheses, appended to `node`.
  absl::Status Arguments(TemplateNode& node);
  absl::StatusOr<TemplateNodePtr> Call(TemplateNodePtr callee);
  absl::StatusOr<TemplateNodePtr> Test(TemplateNodePtr input);

  // Parses a first and further operands into one node, while `more` consumes an operator.
  template <class Operand, class More>
  absl::StatusOr<TemplateNodePtr> Chain(Kind kind, Operand operand, More more);
  // Left-associative binary operators.
  template <class Operand>
  absl::StatusOr<TemplateNodePtr> Binary(Names operators, Operand operand);

  std::vector<TemplateToken> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_CHAT_TEMPLATE_EXPRESSION_PARSER_H_
