#include "exir/ir/match.h"

#include <algorithm>
#include <string>

namespace belay::exir::match {

struct Pattern::Tree {
  enum class Kind : uint8_t {
    kAny,
    kValue,
    kSame,
    kNumber,
    kLiteral,
    kLastDim,
    kList,
    kOneOf,
    kOp,
  };
  Kind kind = Kind::kAny;
  Argument* argument = nullptr;
  ValueId* value = nullptr;
  const ValueId* same = nullptr;
  double* number = nullptr;
  std::function<bool(double)> number_condition = nullptr;
  Argument literal = {};
  std::vector<Pattern> parts = {};  // elements, alternatives or operands
  OpNames names = {};
  bool either_order = false;
  std::vector<std::pair<std::string_view, Pattern>> attributes = {};
  size_t output = 0;
  NodeId* node = nullptr;
  std::vector<std::function<bool(ValueId)>> conditions = {};
};

bool OpNames::Contains(const OpOverload& op) const {
  const OpOverload& aten = *op.aten();
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return name.find('.') == name.npos ? aten.op() == name && aten.ns() == "aten"
                                       : aten.name() == name;
  });
}

Pattern::Pattern(Tree tree) : tree_(std::make_shared<const Tree>(std::move(tree))) {}

template <class Change>
Pattern Pattern::Changed(Change change) const {
  Tree tree = *tree_;
  change(tree);
  return Pattern(std::move(tree));
}
Pattern Pattern::With(std::string_view name, Pattern pattern) const {
  return Changed([&](Tree& tree) { tree.attributes.emplace_back(name, std::move(pattern)); });
}
Pattern Pattern::Output(size_t index) const {
  return Changed([&](Tree& tree) { tree.output = index; });
}
Pattern Pattern::As(NodeId* node) const {
  return Changed([&](Tree& tree) { tree.node = node; });
}
Pattern Pattern::If(std::function<bool(ValueId)> condition) const {
  return Changed([&](Tree& tree) { tree.conditions.push_back(std::move(condition)); });
}

Pattern Any(Argument* argument) {
  return Pattern({.kind = Pattern::Tree::Kind::kAny, .argument = argument});
}
Pattern Value(ValueId* value) {
  return Pattern({.kind = Pattern::Tree::Kind::kValue, .value = value});
}
Pattern Same(const ValueId* value) {
  return Pattern({.kind = Pattern::Tree::Kind::kSame, .same = value});
}
Pattern Number(double* number) {
  return Pattern({.kind = Pattern::Tree::Kind::kNumber, .number = number});
}
Pattern Number(std::function<bool(double)> condition) {
  return Pattern({.kind = Pattern::Tree::Kind::kNumber, .number_condition = std::move(condition)});
}
Pattern Number(double number) {
  return Number([number](double actual) { return actual == number; });
}
Pattern Literal(Argument argument) {
  return Pattern({.kind = Pattern::Tree::Kind::kLiteral, .literal = std::move(argument)});
}
Pattern LastDim() { return Pattern({.kind = Pattern::Tree::Kind::kLastDim}); }
Pattern ListOf(std::vector<Pattern> elements) {
  return Pattern({.kind = Pattern::Tree::Kind::kList, .parts = std::move(elements)});
}
Pattern OneOf(std::vector<Pattern> patterns) {
  return Pattern({.kind = Pattern::Tree::Kind::kOneOf, .parts = std::move(patterns)});
}
Pattern OperatorPattern(OpNames names, std::vector<Pattern> operands, bool either_order) {
  return Pattern({.kind = Pattern::Tree::Kind::kOp,
                  .parts = std::move(operands),
                  .names = std::move(names),
                  .either_order = either_order});
}

std::optional<double> Matcher::LiteralNumber(const Argument& argument) {
  if (const double* real = argument.get_if<double>()) return *real;
  const int64_t* integer = argument.get_if<int64_t>();
  return integer == nullptr ? std::nullopt : std::optional(static_cast<double>(*integer));
}

std::optional<std::vector<NodeId>> Matcher::Match(const Pattern& pattern, NodeId node) const {
  if (!node.valid()) return std::nullopt;
  const std::vector<ValueId> results = graph_.node(node).results();
  const size_t output = pattern.tree_->output;
  return output < results.size() ? Match(pattern, Argument(results[output])) : std::nullopt;
}

std::optional<std::vector<NodeId>> Matcher::Match(const Pattern& pattern,
                                                  const Argument& argument) const {
  std::vector<NodeId> nodes;
  if (!MatchArgument(pattern, argument, nullptr, nodes, [] { return true; })) return std::nullopt;
  return nodes;
}

std::optional<ValueId> Matcher::OperandOf(const OpNames& names, ValueId value) const {
  const NodeId producer = graph_.value(value).producer;
  if (!producer.valid() || !names.Contains(*graph_.node(producer).target)) return std::nullopt;
  const ValueId* operand = graph_.node(producer).operand().get_if<ValueId>();
  return operand == nullptr ? std::nullopt : std::optional(*operand);
}

bool Matcher::MatchArgument(const Pattern& pattern, const Argument& argument, const Node* user,
                            std::vector<NodeId>& nodes, Next next) const {
  using Kind = Pattern::Tree::Kind;
  const Pattern::Tree& tree = *pattern.tree_;
  const ValueId* value = argument.get_if<ValueId>();
  const auto matched = [&] {
    for (const auto& condition : tree.conditions) {
      if (value == nullptr || !condition(*value)) return false;
    }
    return next();
  };
  switch (tree.kind) {
    case Kind::kAny:
      if (tree.argument != nullptr) *tree.argument = argument;
      return matched();
    case Kind::kValue:
      if (value == nullptr) return false;
      if (tree.value != nullptr) *tree.value = *value;
      return matched();
    case Kind::kSame:
      return value != nullptr && *value == *tree.same && matched();
    case Kind::kNumber: {
      const std::optional<double> number = numbers_(argument);
      if (!number.has_value()) return false;
      if (tree.number != nullptr) *tree.number = *number;
      return (tree.number_condition == nullptr || tree.number_condition(*number)) && matched();
    }
    case Kind::kLiteral:
      return argument == tree.literal && matched();
    case Kind::kLastDim:
      return IsLastDim(argument, user) && matched();
    case Kind::kList: {
      const Argument::List* list = argument.get_if<Argument::List>();
      if (list == nullptr || list->size() != tree.parts.size()) return false;
      std::vector<std::pair<const Pattern*, const Argument*>> pairs;
      for (size_t i = 0; i < list->size(); ++i) pairs.emplace_back(&tree.parts[i], &(*list)[i]);
      return MatchEach(pairs, user, nodes, matched);
    }
    case Kind::kOneOf:
      return std::any_of(tree.parts.begin(), tree.parts.end(), [&](const Pattern& part) {
        return MatchArgument(part, argument, user, nodes, matched);
      });
    case Kind::kOp: {
      const NodeId producer = value == nullptr ? NodeId() : graph_.value(*value).producer;
      if (!producer.valid() || !tree.names.Contains(*graph_.node(producer).target)) return false;
      const std::vector<ValueId> results = graph_.node(producer).results();
      return tree.output < results.size() && results[tree.output] == *value &&
             MatchNode(pattern, producer, nodes, matched);
    }
  }
  return false;
}

bool Matcher::MatchNode(const Pattern& pattern, NodeId id, std::vector<NodeId>& nodes,
                        Next next) const {
  const Pattern::Tree& tree = *pattern.tree_;
  const Node& node = graph_.node(id);
  if (node.arguments.size() < tree.parts.size()) return false;
  std::vector<std::pair<const Pattern*, const Argument*>> pairs;
  for (size_t i = 0; i < tree.parts.size(); ++i) {
    pairs.emplace_back(&tree.parts[i], &node.arguments[i]);
  }
  for (const auto& [name, attribute] : tree.attributes) {
    pairs.emplace_back(&attribute, &node.argument(name));
  }
  if (tree.node != nullptr) *tree.node = id;
  const size_t size = nodes.size();
  nodes.push_back(id);
  if (MatchEach(pairs, &node, nodes, next)) return true;
  if (tree.either_order) {
    if (tree.node != nullptr) *tree.node = id;
    std::swap(pairs[0].second, pairs[1].second);
    if (MatchEach(pairs, &node, nodes, next)) return true;
  }
  nodes.resize(size);
  return false;
}

bool Matcher::MatchEach(absl::Span<const std::pair<const Pattern*, const Argument*>> pairs,
                        const Node* user, std::vector<NodeId>& nodes, Next next) const {
  if (pairs.empty()) return next();
  return MatchArgument(*pairs[0].first, *pairs[0].second, user, nodes,
                       [&] { return MatchEach(pairs.subspan(1), user, nodes, next); });
}

bool Matcher::IsLastDim(const Argument& argument, const Node* user) const {
  if (const Argument::List* list = argument.get_if<Argument::List>()) {
    return list->size() == 1 && IsLastDim(list->front(), user);
  }
  const int64_t* dim = argument.get_if<int64_t>();
  if (dim == nullptr || user == nullptr) return false;
  const Argument* operand = &user->operand();
  const Argument::List* list = operand->get_if<Argument::List>();
  if (list != nullptr && !list->empty()) operand = &list->front();
  const ValueId* value = operand->get_if<ValueId>();
  const TensorMeta* meta = value == nullptr ? nullptr : graph_.value(*value).tensor();
  return meta != nullptr && meta->rank() > 0 && (*dim == -1 || *dim == meta->rank() - 1);
}

}  // namespace belay::exir::match
