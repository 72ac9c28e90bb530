// Patterns of operators, matched from a node backwards to its operands.
//
//   namespace m = exir::match;
//   // x * rsqrt(mean(x^2, -1, keepdim) + eps)
//   ValueId x;
//   double eps;
//   const m::Pattern mean = m::Op("aten.mean.dim", m::Op("aten.pow.Tensor_Scalar", m::Value(&x),
//                                 m::Number(2)), m::LastDim()).With("keepdim", m::Literal(true));
//   const m::Pattern norm = m::EitherOrder("mul", m::Op("rsqrt", m::Sum(mean, m::Number(&eps))),
//                                          m::Same(&x));
//   if (const auto nodes = m::Matcher(graph).Match(norm, node)) Rewrite(*nodes, x, eps);
//
// Captures (`&x`) are written while matching, operands from left to right; they are valid if the
// match succeeds. Alternatives and operand orders are tried until the whole pattern matches.
// Time is bounded by nodes of the pattern * 2^(alternatives and orders).
#ifndef BELAY_EXIR_IR_MATCH_H_
#define BELAY_EXIR_IR_MATCH_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "exir/ir/argument.h"
#include "exir/ir/graph.h"

namespace belay::exir::match {

// Names of operators: "relu" is each overload of aten.relu; a name with dots is one overload
// ("aten.mean.dim"). An operator matches in any dialect. The strings must outlive the pattern.
struct OpNames {
  OpNames(const char* name) : names{name} {}  // NOLINT
  OpNames(std::initializer_list<std::string_view> list) : names(list) {}
  bool Contains(const OpOverload& op) const;
  std::vector<std::string_view> names;
};

// Matches one argument. An immutable value; copies share the tree. Captured variables must outlive
// the matching.
class Pattern {
 public:
  // Also requires that the argument of this name of the operator matches (None if the operator has
  // no such argument). Precondition: an Op or EitherOrder.
  Pattern With(std::string_view name, Pattern pattern) const;
  // Requires result `index` of the operator; otherwise result 0. Precondition: as for With.
  Pattern Output(size_t index) const;
  // Writes the matched node. Precondition: as for With.
  Pattern As(NodeId* node) const;
  // Also requires `condition` of the value, after the operands matched. The pattern then matches
  // values only.
  Pattern If(std::function<bool(ValueId)> condition) const;

 private:
  friend class Matcher;
  friend Pattern Any(Argument* argument);
  friend Pattern Value(ValueId* value);
  friend Pattern Same(const ValueId* value);
  friend Pattern Number(double* number);
  friend Pattern Number(std::function<bool(double)> condition);
  friend Pattern Literal(Argument argument);
  friend Pattern LastDim();
  friend Pattern ListOf(std::vector<Pattern> elements);
  friend Pattern OneOf(std::vector<Pattern> patterns);
  friend Pattern OperatorPattern(OpNames names, std::vector<Pattern> operands, bool either_order);

  struct Tree;
  explicit Pattern(Tree tree);
  template <class Change>
  Pattern Changed(Change change) const;

  std::shared_ptr<const Tree> tree_;
};

Pattern Any(Argument* argument = nullptr);  // any argument; captures it
Pattern Value(ValueId* value = nullptr);    // any tensor or other value; captures it
Pattern Same(const ValueId* value);         // the value that was captured, or set, before
Pattern Number(double* number);             // a number (Matcher::Numbers); captures it
Pattern Number(std::function<bool(double)> condition);  // a number with this property
Pattern Number(double number);                          // this number, an int or a float
Pattern Literal(Argument argument);                     // an equal argument
// The last dimension of the operator's first operand, or of its first element if it is a list: -1
// or rank - 1; or a list with this element only.
Pattern LastDim();
Pattern ListOf(std::vector<Pattern> elements);  // a list of as many elements
Pattern OneOf(std::vector<Pattern> patterns);   // the first that matches
Pattern OperatorPattern(OpNames names, std::vector<Pattern> operands, bool either_order);
// A result of an operator whose first arguments match `operands`. Other arguments may be anything,
// except those of With.
template <class... Patterns>
Pattern Op(OpNames names, Patterns... operands) {
  return OperatorPattern(std::move(names), {std::move(operands)...}, false);
}
// The same with two operands in either order.
inline Pattern EitherOrder(OpNames names, Pattern a, Pattern b) {
  return OperatorPattern(std::move(names), {std::move(a), std::move(b)}, true);
}
// a + b, in either order and without a factor (alpha).
inline Pattern Sum(Pattern a, Pattern b) {
  return EitherOrder("add", std::move(a), std::move(b)).With("alpha", Number(1));
}

// Matches patterns in a graph. The graph must outlive this; it may change between calls.
class Matcher {
 public:
  // Returns the number that an argument stands for; nullopt for other arguments.
  using Numbers = std::function<std::optional<double>(const Argument&)>;
  // By default, numbers are literals.
  explicit Matcher(const Graph& graph, Numbers numbers = LiteralNumber)
      : graph_(graph), numbers_(std::move(numbers)) {}
  static std::optional<double> LiteralNumber(const Argument& argument);

  // Returns the matched operators, users before their operands: first `node`, or the producer of
  // the argument. A node is listed as often as the pattern names it. nullopt without a match.
  std::optional<std::vector<NodeId>> Match(const Pattern& pattern, NodeId node) const;
  std::optional<std::vector<NodeId>> Match(const Pattern& pattern, const Argument& argument) const;

  // Returns the first operand of the operator that computes the value, if it is one of `names` and
  // the operand is a value.
  std::optional<ValueId> OperandOf(const OpNames& names, ValueId value) const;

 private:
  using Next = absl::FunctionRef<bool()>;
  // Matches the argument of `user` (null at the root), then whatever `next` matches.
  bool MatchArgument(const Pattern& pattern, const Argument& argument, const Node* user,
                     std::vector<NodeId>& nodes, Next next) const;
  bool MatchNode(const Pattern& pattern, NodeId id, std::vector<NodeId>& nodes, Next next) const;
  bool MatchEach(absl::Span<const std::pair<const Pattern*, const Argument*>> pairs,
                 const Node* user, std::vector<NodeId>& nodes, Next next) const;
  bool IsLastDim(const Argument& argument, const Node* user) const;

  const Graph& graph_;
  const Numbers numbers_;
};

}  // namespace belay::exir::match

#endif  // BELAY_EXIR_IR_MATCH_H_
