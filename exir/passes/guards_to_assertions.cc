#include "exir/passes/guards_to_assertions.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "exir/builder/op_builder.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

constexpr std::string_view kPlaceholder = "guard_operand_";
// Each replacement visits the whole program. Further equalities are only asserted.
constexpr int kMaxReplacements = 256;

// ---- Guard -> expression

// Parses "['x']", "[0]", ".size()" etc. from a position of a guard.
class PathReader {
 public:
  PathReader(std::string_view text, size_t position) : text_(text), pos_(position) {}
  size_t position() const { return pos_; }

  bool Consume(std::string_view token) {
    if (text_.substr(pos_, token.size()) != token) return false;
    pos_ += token.size();
    return true;
  }
  std::optional<int64_t> Index() {
    if (!Consume("[")) return std::nullopt;
    int64_t value = 0;
    const char* end = text_.data() + text_.size();
    const std::from_chars_result r = std::from_chars(text_.data() + pos_, end, value);
    if (r.ec != std::errc()) return std::nullopt;
    pos_ = static_cast<size_t>(r.ptr - text_.data());
    if (!Consume("]")) return std::nullopt;
    return value;
  }
  std::optional<std::string_view> Key() {
    if (!Consume("[")) return std::nullopt;
    const char quote = pos_ < text_.size() ? text_[pos_] : '\0';
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = text_.find(quote, pos_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view key = text_.substr(pos_ + 1, end - pos_ - 1);
    pos_ = end + 1;
    if (key.find('\\') != std::string_view::npos || !Consume("]")) return std::nullopt;
    return key;
  }

 private:
  std::string_view text_;
  size_t pos_;
};

// Appends as torch.export names a placeholder after the path of its value in the arguments.
void AppendName(std::string_view key, std::string& name) {
  if (!name.empty()) name += '_';
  for (char c : key) {
    const auto u = static_cast<unsigned char>(c);
    name += std::isalnum(u) ? static_cast<char>(std::tolower(u)) : '_';
  }
}

class GuardReader {
 public:
  // The program's types may change during the lifetime, its inputs may not.
  explicit GuardReader(const ExportedProgram& program) : program_(program) {
    const Graph& graph = program.top();
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      if (program.signature.inputs[i].kind != InputKind::kUserInput) continue;
      const std::string& name = graph.value(graph.inputs()[i]).name;
      inputs_[name] = graph.inputs()[i];
      const size_t digits = name.find_last_not_of("0123456789") + 1;
      if (digits < name.size() && digits > 1 && name[digits - 1] == '_') {
        ambiguous_.insert(name.substr(0, digits - 1));
      }
    }
  }

  // nullopt if the guard refers to anything except sizes and whole numbers of inputs.
  std::optional<SymExpr> Read(std::string_view guard) {
    if (guard.find(kPlaceholder) != std::string_view::npos) return std::nullopt;
    std::string text;
    std::vector<SymExpr> operands;
    size_t from = 0;
    for (size_t at; (at = guard.find("L[", from)) != std::string_view::npos;) {
      const bool inside_word = at > 0 && (std::isalnum(static_cast<unsigned char>(guard[at - 1])) ||
                                          guard[at - 1] == '_');
      PathReader path(guard, at + 1);
      std::optional<SymExpr> operand = inside_word ? std::nullopt : Operand(path);
      if (!operand.has_value()) return std::nullopt;
      // Parenthesized, so that following text does not extend the name.
      absl::StrAppend(&text, std::string(guard.substr(from, at - from)), "(",
                      std::string(kPlaceholder), operands.size(), ")");
      operands.push_back(*std::move(operand));
      from = path.position();
    }
    text += guard.substr(from);
    const absl::StatusOr<SymExpr> parsed = ParseSymExpr(text);
    if (!parsed.ok()) return std::nullopt;
    // Any other name is not a number of this program.
    std::vector<std::string> symbols;
    parsed->CollectSymbols(symbols);
    for (const std::string& symbol : symbols) {
      if (symbol.substr(0, kPlaceholder.size()) != kPlaceholder) return std::nullopt;
    }
    return parsed->Substitute([&](std::string_view symbol) -> std::optional<SymExpr> {
      size_t index = 0;
      const std::string_view digits = symbol.substr(kPlaceholder.size());
      std::from_chars(digits.data(), digits.data() + digits.size(), index);
      return operands[index];  // only the names generated above have this prefix
    });
  }

 private:
  // Parses "['x']", then further keys, then ".size()[k]" for a tensor.
  std::optional<SymExpr> Operand(PathReader& path) {
    const std::optional<std::string_view> argument = path.Key();
    if (!argument.has_value()) return std::nullopt;
    std::string name;
    AppendName(*argument, name);
    for (;;) {
      if (path.Consume(".size()") || path.Consume(".shape")) {
        const std::optional<int64_t> dim = path.Index();
        const ValueId input = Find(name);
        if (!dim.has_value() || !input.valid()) return std::nullopt;
        const TensorMeta* tensor = program_.top().value(input).tensor();
        if (tensor == nullptr || *dim < 0 || *dim >= tensor->rank()) return std::nullopt;
        return tensor->sizes[*dim];
      }
      PathReader key = path, index = path;
      if (const std::optional<std::string_view> k = key.Key()) {
        AppendName(*k, name);
        path = key;
      } else if (const std::optional<int64_t> i = index.Index()) {
        AppendName(absl::StrCat(*i), name);
        path = index;
      } else {
        break;
      }
    }
    const ValueId input = Find(name);
    if (!input.valid()) return std::nullopt;
    const auto* number = std::get_if<SymIntType>(&program_.top().value(input).type);
    return number == nullptr ? std::nullopt : std::optional<SymExpr>(number->expr);
  }

  // Returns the user input of this name. Invalid if no input has the name, or if the name is
  // ambiguous: colliding names have numeric suffixes.
  ValueId Find(std::string_view name) const {
    const std::string key(name);
    const auto found = inputs_.find(key);
    if (found == inputs_.end() || ambiguous_.contains(key)) return ValueId();
    return found->second;
  }

  const ExportedProgram& program_;
  absl::flat_hash_map<std::string, ValueId> inputs_;  // user inputs by name
  absl::flat_hash_set<std::string> ambiguous_;
};

// ---- Implied by the checks of every call

bool IsTrue(const SymExpr& e, const SymRanges& ranges) {
  if (e.AsBool().has_value()) return *e.AsBool();
  if (e.kind() != SymExpr::Kind::kFunction || e.arguments().size() != 2) return false;
  const SymRange difference = (e.arguments()[0] - e.arguments()[1]).Range(ranges);
  if (e.name() == "Eq") return difference.min == 0 && difference.max == 0;
  if (e.name() == "Ne") return difference.min > 0 || difference.max < 0;
  if (e.name() == "Ge") return difference.min >= 0;
  if (e.name() == "Gt") return difference.min > 0;
  if (e.name() == "Le") return difference.max <= 0;
  if (e.name() == "Lt") return difference.max < 0;
  return false;
}

// Returns whether each call checks the dimension: a number, or multiplier * symbol + offset.
// Normalized sums have their number last, normalized products first.
bool IsCompared(const SymExpr& size) {
  SymExpr rest = size;
  if (rest.kind() == SymExpr::Kind::kAdd && rest.arguments().size() == 2) {
    if (!rest.arguments()[1].AsInt().has_value()) return false;
    rest = SymExpr(rest.arguments()[0]);
  }
  if (rest.kind() == SymExpr::Kind::kMul && rest.arguments().size() == 2) {
    if (rest.arguments()[0].AsInt().value_or(0) <= 0) return false;
    rest = SymExpr(rest.arguments()[1]);
  }
  return size.AsInt().has_value() || rest.kind() == SymExpr::Kind::kSymbol;
}

// ---- Equalities

using SizePlace = std::pair<ValueId, int>;  // a dimension of an input

using Replace = absl::FunctionRef<SymExpr(const SymExpr&)>;

// Replaces the expressions in all types of the program.
void ReplaceInTypes(ExportedProgram& program, Replace replaced) {
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (uint32_t v = 0; v < graph.value_id_limit(); ++v) {
      const ValueId id(v);
      ValueType type = graph.value(id).type;
      std::visit(
          [&](auto& t) {
            using T = std::decay_t<decltype(t)>;
            if constexpr (std::is_same_v<T, TensorMeta>) {
              for (SymInt& size : t.sizes) size = replaced(size);
              for (SymInt& stride : t.strides) stride = replaced(stride);
              t.storage_offset = replaced(t.storage_offset);
            } else if constexpr (std::is_same_v<T, SymIntType> || std::is_same_v<T, SymFloatType> ||
                                 std::is_same_v<T, SymBoolType>) {
              t.expr = replaced(t.expr);
            }
          },
          type);
      if (!(type == graph.value(id).type)) editor.SetType(id, std::move(type));
    }
  }
}

// Replaces `whole` // (whole // divisor) by the divisor, assuming that divisor divides whole. Such
// sizes result from reshape(-1, divisor).
SymExpr WithoutDivisions(const SymExpr& e, const SymExpr& whole, const SymExpr& divisor) {
  if (e.arguments().empty()) return e;
  std::vector<SymExpr> arguments;
  for (const SymExpr& argument : e.arguments()) {
    arguments.push_back(WithoutDivisions(argument, whole, divisor));
  }
  if (e.kind() == SymExpr::Kind::kFunction) {
    const bool quotient =
        e.name() == "FloorDiv" && arguments[0] == whole && arguments[1] == FloorDiv(whole, divisor);
    return quotient ? divisor : SymExpr::Function(e.name(), std::move(arguments));
  }
  SymExpr result = arguments[0];
  for (size_t i = 1; i < arguments.size(); ++i) {
    result = e.kind() == SymExpr::Kind::kAdd ? result + arguments[i] : result * arguments[i];
  }
  return result;
}

// ParseSymExpr checks that known functions have the right number of arguments, and puts a number
// second in an equality.
bool IsEquality(const SymExpr& e) {
  return e.kind() == SymExpr::Kind::kFunction && e.name() == "Eq";
}

// Returns whole and divisor of "whole % divisor == 0" with a constant divisor.
std::optional<std::pair<SymExpr, SymExpr>> AsDivisible(const SymExpr& condition) {
  if (!IsEquality(condition) || condition.arguments()[1].AsInt() != 0) return std::nullopt;
  const SymExpr& rest = condition.arguments()[0];
  if (rest.kind() != SymExpr::Kind::kFunction ||
      (rest.name() != "PythonMod" && rest.name() != "Mod") ||
      rest.arguments()[1].AsInt().value_or(0) < 1) {
    return std::nullopt;
  }
  return std::pair(rest.arguments()[0], rest.arguments()[1]);
}

// Returns the two sides of an equality, neither of them a number; the shorter one second.
std::optional<std::pair<SymExpr, SymExpr>> AsEquality(const SymExpr& condition) {
  if (!IsEquality(condition)) return std::nullopt;
  SymExpr a = condition.arguments()[0], b = condition.arguments()[1];
  if (b.AsInt().has_value()) return std::nullopt;
  if (a.ToString().size() < b.ToString().size()) std::swap(a, b);
  return std::pair(std::move(a), std::move(b));
}

// A symbol that an equality defines by other symbols, so that the sizes on both sides are the same
// expression.
struct Definition {
  std::string symbol;
  SymExpr expr;
};
std::optional<Definition> AsDefinition(const ExportedProgram& program, const SymExpr& condition) {
  if (!IsEquality(condition)) return std::nullopt;
  const Graph& graph = program.top();
  for (int side = 0; side < 2; ++side) {
    const SymExpr& symbol = condition.arguments()[side];
    const SymExpr& expr = condition.arguments()[1 - side];
    if (symbol.kind() != SymExpr::Kind::kSymbol || expr.AsInt().has_value()) continue;
    std::vector<std::string> others;
    expr.CollectSymbols(others);
    bool usable = std::find(others.begin(), others.end(), symbol.name()) == others.end();
    // Memory is planned for the maximum of each size.
    const SymRange own = symbol.Range(program.ranges), range = expr.Range(program.ranges);
    usable = usable && (range.max != SymRange::kUnboundedAbove || own.max == range.max);
    // Number inputs are not replaced, and sizes do not become numbers.
    others.push_back(std::string(symbol.name()));
    for (ValueId input : graph.inputs()) {
      const auto* number = std::get_if<SymIntType>(&graph.value(input).type);
      if (number == nullptr) continue;
      for (const std::string& other : others) {
        usable = usable && !(number->expr == SymExpr::Symbol(other));
      }
    }
    if (usable) return Definition{std::string(symbol.name()), expr};
  }
  return std::nullopt;
}

// ---- Expression -> nodes

class Assertions {
 public:
  explicit Assertions(ExportedProgram& program)
      : program_(program), editor_(program.top()), graph_(editor_.graph()) {
    first_ = graph_.first();
    builder_.emplace(program_, editor_);
    Move();
  }

  // Returns false if it is not a condition, or if a part of it has no operator.
  bool Add(const SymExpr& condition, const std::string& message) {
    if (condition.value_kind() != SymExpr::ValueKind::kBool) return false;
    const Argument value = builder_->Scalar(condition);
    builder_->Call("aten._assert_scalar.default", {value, Argument(message)});
    if (builder_->ok()) return true;
    // Dead code elimination erases the unused nodes.
    builder_.emplace(program_, editor_);
    Move();
    return false;
  }

  // The actual dimension needs a symbol of its own; otherwise it would be folded to its expression.
  // `guard` may be empty.
  void AddSize(ValueId input, int dim, std::string_view guard) {
    const SymExpr size = graph_.value(input).tensor()->sizes[dim];
    const std::string& name = graph_.value(input).name;
    const std::string message = absl::StrCat("input '", name, "': dimension ", dim, ": expected ",
                                             guard.empty() ? size.ToString() : std::string(guard));
    const OpOverload* sym_size = program_.ops->Find("aten.sym_size.int");
    const Argument expected = builder_->Size(size);
    if (builder_->ok() && sym_size != nullptr) {
      std::string symbol = "input_size";
      for (int n = 0; program_.ranges.contains(symbol); ++n) symbol = absl::StrCat("input_size", n);
      program_.ranges[symbol] = size.Range(program_.ranges);
      const ValueId actual =
          editor_.InsertOp(first_,
                           {.name = "sym_size",
                            .target = sym_size,
                            .arguments = {Argument(input), Argument(int64_t{dim})},
                            .argument_names = {},
                            .provenance = {},
                            .debug_handle = 0,
                            .delegation_tag = {}},
                           SymIntType{SymExpr::Symbol(symbol)});
      const Argument equal = builder_->Call("_operator.eq", {Argument(actual), expected});
      builder_->Call("aten._assert_scalar.default", {equal, Argument(message)});
    }
    if (builder_->ok()) return;
    builder_.emplace(program_, editor_);
    Move();
  }

 private:
  void Move() {
    if (first_.valid()) {
      builder_->MoveTo(first_);
    } else {
      builder_->MoveToEnd();
    }
  }

  ExportedProgram& program_;
  GraphEditor editor_;
  const Graph& graph_;
  NodeId first_;
  std::optional<OpBuilder> builder_;
};

absl::StatusOr<bool> Run(ExportedProgram& program) {
  struct Condition {
    SymExpr expr;
    std::string guard;
  };
  std::vector<Condition> conditions;
  std::vector<std::string> unchecked;
  const size_t guards = program.guards.size();
  std::map<SizePlace, std::string> guard_of;  // of dimensions whose symbol a guard defines
  GuardReader reader(program);
  int replacements = 0;
  for (std::string& guard : program.guards) {
    const std::optional<SymExpr> expr = reader.Read(guard);
    // False in the exporter's call: the guard was misinterpreted.
    const bool refuted = expr.has_value() &&
                         expr->EvaluateBool([&](std::string_view symbol) -> std::optional<int64_t> {
                           const auto hint = program.hints.find(std::string(symbol));
                           if (hint == program.hints.end()) return std::nullopt;
                           return hint->second;
                         }) == false;
    std::optional<Definition> definition;
    const bool may_replace = replacements < kMaxReplacements;
    if (expr.has_value() && !refuted && may_replace) definition = AsDefinition(program, *expr);
    if (!expr.has_value() || refuted) {
      unchecked.push_back(std::move(guard));
    } else if (definition.has_value()) {
      const SymExpr symbol = SymExpr::Symbol(definition->symbol);
      for (ValueId input : program.top().inputs()) {
        const TensorMeta* tensor = program.top().value(input).tensor();
        for (int d = 0; tensor != nullptr && d < tensor->rank(); ++d) {
          if (tensor->sizes[d] == symbol) guard_of[{input, d}] = guard;
        }
      }
      const SymRange range = symbol.Range(program.ranges);
      conditions.push_back({SymExpr::Function("Ge", {definition->expr, range.min}), guard});
      if (range.max != SymRange::kUnboundedAbove) {
        conditions.push_back({SymExpr::Function("Le", {definition->expr, range.max}), guard});
      }
      const auto replaced = [&](const SymExpr& e) {
        return e.Substitute([&](std::string_view name) {
          return name == definition->symbol ? std::optional<SymExpr>(definition->expr)
                                            : std::nullopt;
        });
      };
      ReplaceInTypes(program, replaced);
      ++replacements;
      for (Condition& earlier : conditions) earlier.expr = replaced(earlier.expr);
    } else if (!IsTrue(*expr, program.ranges)) {
      if (const auto equal = may_replace ? AsEquality(*expr) : std::nullopt) {
        ++replacements;
        ReplaceInTypes(program,
                       [&](const SymExpr& e) { return e == equal->first ? equal->second : e; });
      } else if (const auto divisible = may_replace ? AsDivisible(*expr) : std::nullopt) {
        ++replacements;
        ReplaceInTypes(program, [&](const SymExpr& e) {
          return WithoutDivisions(e, divisible->first, divisible->second);
        });
      }
      conditions.push_back({*expr, std::move(guard)});
    }
  }
  std::erase_if(conditions, [&](const Condition& c) { return IsTrue(c.expr, program.ranges); });
  std::vector<SizePlace> sizes;
  const Graph& graph = program.top();
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const TensorMeta* tensor = graph.value(graph.inputs()[i]).tensor();
    if (program.signature.inputs[i].kind != InputKind::kUserInput || tensor == nullptr) continue;
    for (int d = 0; d < tensor->rank(); ++d) {
      if (!IsCompared(tensor->sizes[d])) sizes.emplace_back(graph.inputs()[i], d);
    }
  }
  if (!conditions.empty() || !sizes.empty()) {
    Assertions assertions(program);
    for (const SizePlace& place : sizes) {
      const auto guard = guard_of.find(place);
      assertions.AddSize(place.first, place.second,
                         guard == guard_of.end() ? std::string_view() : guard->second);
    }
    for (Condition& condition : conditions) {
      if (!assertions.Add(condition.expr, condition.guard)) {
        unchecked.push_back(std::move(condition.guard));
      }
    }
  }
  const bool changed = unchecked.size() != guards || !conditions.empty() || !sizes.empty();
  program.guards = std::move(unchecked);
  return changed;
}

}  // namespace

Pass GuardsToAssertions() { return {"guards_to_assertions", Run}; }

}  // namespace belay::exir
