#include "exir/passes/bound_data_sizes.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/infer.h"
#include "exir/op_definition/meta_context.h"
#include "exir/passes/element_ranges.h"

namespace belay::exir {
namespace {

constexpr int64_t kAbove = SymRange::kUnboundedAbove;

// Creates symbols for the results of meta kernels, with ranges. The names cannot be parsed, so that
// no program has them.
class ImpliedRanges : public SymbolSource {
 public:
  explicit ImpliedRanges(const SymRanges& known) : ranges_(known) {}

  SymExpr Fresh(SymRange range) override {
    const std::string name = absl::StrCat(std::string(kPrefix), next_++);
    ranges_[name] = range;
    return SymExpr::Symbol(name);
  }
  static bool Created(const SymExpr& expr) {
    return expr.kind() == SymExpr::Kind::kSymbol && expr.name().starts_with(kPrefix);
  }
  SymRanges& ranges() { return ranges_; }

 private:
  static constexpr std::string_view kPrefix = "<implied> ";
  SymRanges ranges_;  // of the program's symbols and the created ones
  int next_ = 0;
};

class SizeBounds {
 public:
  explicit SizeBounds(ExportedProgram& program) : program_(program), implied_(program.ranges) {
    for (const Graph& graph : program.graphs) {
      for (ValueId input : graph.inputs()) {
        ForEachExpression(graph.value(input).type, [&](const SymExpr& expr) {
          std::vector<std::string> symbols;
          expr.CollectSymbols(symbols);
          seen_.insert(symbols.begin(), symbols.end());
          if (&graph == &program.top()) inputs_.insert(symbols.begin(), symbols.end());
        });
      }
    }
  }

  bool Run() {
    for (const Graph& graph : program_.graphs) {
      defined_.clear();
      ElementRanges elements(program_);
      std::vector<NodeId> assertions;
      for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        if (node.target->aten()->name() == "aten._assert_scalar.default") assertions.push_back(id);
        if (DefinesSymbol(graph, node)) {
          BoundByOperator(graph, node);
          BoundByElements(graph, node, elements);
        }
        elements.Visit(graph, node);
      }
      // Other sizes of the inputs fail anyway.
      if (&graph == &program_.top()) defined_.insert(inputs_.begin(), inputs_.end());
      for (NodeId id : assertions) BoundByAssertion(graph, graph.node(id));
    }
    return changed_;
  }

 private:
  template <class Fn>
  static void ForEachExpression(const ValueType& type, Fn fn) {
    if (const auto* tensor = std::get_if<TensorMeta>(&type)) {
      for (const SymInt& size : tensor->sizes) fn(size);
    } else if (const auto* number = std::get_if<SymIntType>(&type)) {
      fn(number->expr);
    }
  }

  // Returns whether a result of the node has a size that is a symbol without an earlier definition.
  bool DefinesSymbol(const Graph& graph, const Node& node) {
    bool defines = false;
    for (ValueId result : node.results()) {
      ForEachExpression(graph.value(result).type, [&](const SymExpr& expr) {
        if (expr.kind() != SymExpr::Kind::kSymbol) return;
        if (!seen_.insert(std::string(expr.name())).second) return;
        defined_.insert(std::string(expr.name()));
        defines = true;
      });
    }
    return defines;
  }

  // Infers the results twice. From symbolic operands, results may be expressions of known symbols:
  // Min(20, u0). From the largest operands, meta kernels know bounds like the number of elements.
  void BoundByOperator(const Graph& graph, const Node& node) {
    if (!node.target->has_meta_kernel()) return;
    std::vector<MetaValue> operands;
    for (const Argument& argument : node.arguments) {
      absl::StatusOr<MetaValue> operand = ToMetaValue(graph, argument);
      if (!operand.ok()) return;
      operands.push_back(*std::move(operand));
    }
    std::vector<MetaValue> largest = operands;
    bool differs = false;
    for (MetaValue& operand : largest) differs = ToLargest(operand) || differs;
    only_created_ = false;
    BoundByResults(graph, node, std::move(operands));
    only_created_ = true;
    if (differs) BoundByResults(graph, node, std::move(largest));
  }

  // Replaces dynamic sizes of tensors by their upper bounds, if these exist. The sizes of results
  // with data-dependent sizes grow with those of the operands.
  bool ToLargest(MetaValue& operand) const {
    bool changed = false;
    if (auto* list = std::get_if<MetaList>(&operand.value)) {
      for (MetaValue& element : *list) changed = ToLargest(element) || changed;
    }
    auto* tensor = std::get_if<TensorMeta>(&operand.value);
    if (tensor == nullptr) return changed;
    std::vector<SymInt> sizes = tensor->sizes;
    for (SymInt& size : sizes) {
      if (size.AsInt().has_value()) continue;
      const int64_t most = size.Range(program_.ranges).max;
      if (most == kAbove || most < 0) continue;
      size = SymInt(most);
      changed = true;
    }
    if (changed) *tensor = TensorMeta::Contiguous(tensor->dtype, std::move(sizes));
    return changed;
  }

  void BoundByElements(const Graph& graph, const Node& node, const ElementRanges& elements) {
    const std::string_view op = node.target->aten()->name();
    const ValueId result = node.results()[0];
    if (op == "aten._local_scalar_dense.default" || op == "aten.item.default") {
      const ValueId* tensor = node.operand().get_if<ValueId>();
      const auto* number = std::get_if<SymIntType>(&graph.value(result).type);
      if (tensor != nullptr && number != nullptr) Narrow(number->expr, elements.Of(graph, *tensor));
      return;
    }
    const TensorMeta* tensor = graph.value(result).tensor();
    if (op == "aten.bincount.default") {
      const ValueId* numbers = node.value_argument("self");
      const Argument zero = 0;
      const Argument& given = node.argument("minlength");
      const int64_t* minlength = (given.is_none() ? zero : given).get_if<int64_t>();
      if (numbers == nullptr || tensor == nullptr || minlength == nullptr) return;
      const SymRange range = elements.Of(graph, *numbers);
      if (range.max == kAbove) return;
      Narrow(tensor->sizes[0], {*minlength, std::max(range.max + 1, *minlength)});
      return;
    }
    const ValueId* repeats = node.value_argument("repeats");
    const TensorMeta* counts = repeats == nullptr ? nullptr : graph.value(*repeats).tensor();
    if (counts == nullptr || tensor == nullptr) return;
    const SymRange range = elements.Of(graph, *repeats);
    // A single number of repeats applies to all elements.
    const ValueId* self = node.value_argument("self");
    const TensorMeta* repeated = self == nullptr ? counts : graph.value(*self).tensor();
    const int64_t* dim = node.argument("dim").get_if<int64_t>();
    SymInt count = counts->NumElements();
    if (count == SymInt(1)) count = repeated->NumElements();
    const size_t size =
        dim == nullptr ? 0 : static_cast<size_t>(*dim < 0 ? *dim + repeated->rank() : *dim);
    if (size >= tensor->sizes.size()) return;
    Narrow(tensor->sizes[size], ElementRanges::Sum({0, std::max<int64_t>(range.max, 0)},
                                                   count.Range(program_.ranges).max));
  }

  void BoundByResults(const Graph& graph, const Node& node, std::vector<MetaValue> operands) {
    MetaContext context(*node.target->schema(), std::move(operands), &implied_);
    if (!node.target->def()->meta(context).ok()) return;  // other passes report errors
    const std::vector<MetaValue>* const inferred = &context.outputs();
    for (size_t k = 0; k < node.outputs.size() && k < inferred->size(); ++k) {
      const std::vector<ValueId>& values = node.outputs[k].values;
      const MetaList* list = (*inferred)[k].get_if<MetaList>();
      for (size_t i = 0; i < values.size() && i < (list == nullptr ? 1 : list->size()); ++i) {
        Unify(graph.value(values[i]).type, list == nullptr ? (*inferred)[k] : (*list)[i]);
      }
    }
  }

  void Unify(const ValueType& declared, const MetaValue& inferred) {
    const auto* tensor = std::get_if<TensorMeta>(&declared);
    const auto* meta = inferred.get_if<TensorMeta>();
    if (tensor != nullptr && meta != nullptr && tensor->rank() == meta->rank()) {
      for (int d = 0; d < tensor->rank(); ++d) Unify(tensor->sizes[d], meta->sizes[d]);
    }
    const auto* number = std::get_if<SymIntType>(&declared);
    const auto* expr = inferred.get_if<SymExpr>();
    if (number != nullptr && expr != nullptr) Unify(number->expr, *expr);
  }

  void Unify(const SymExpr& declared, const SymExpr& inferred) {
    if (only_created_ && !ImpliedRanges::Created(inferred)) return;
    Narrow(declared, inferred.Range(implied_.ranges()));
  }

  // Intersects the range of a symbol that this graph defines.
  void Narrow(const SymExpr& symbol, SymRange range) {
    if (symbol.kind() != SymExpr::Kind::kSymbol) return;
    const std::string name(symbol.name());
    if (!defined_.contains(name)) return;
    const SymRange old = symbol.Range(program_.ranges);
    const SymRange both = {std::max(old.min, range.min), std::min(old.max, range.max)};
    if (both.min > both.max || both == old) return;
    program_.ranges[name] = both;
    implied_.ranges()[name] = both;
    changed_ = true;
  }

  void BoundByAssertion(const Graph& graph, const Node& node) {
    const ValueId* condition =
        node.arguments.empty() ? nullptr : node.arguments[0].get_if<ValueId>();
    if (condition == nullptr) return;
    if (const auto* type = std::get_if<SymBoolType>(&graph.value(*condition).type)) {
      BoundByCondition(type->expr, 0);
      BoundBySearch(type->expr);
    }
  }

  // Removes values of a symbol at both ends of its range, from which on the condition is false:
  // Eq(s0 + Max(0, 256 - s0), 256) makes s0 at most 256.
  void BoundBySearch(const SymExpr& condition) {
    std::vector<std::string> symbols;
    condition.CollectSymbols(symbols);
    for (const std::string& name : symbols) {
      if (!defined_.contains(name)) continue;
      const SymExpr symbol = SymExpr::Symbol(name);
      const SymRange all = symbol.Range(program_.ranges);
      SymRanges ranges;
      for (const std::string& other : symbols) {
        ranges[other] = SymExpr::Symbol(other).Range(program_.ranges);
      }
      const auto is_false = [&](int64_t min, int64_t max) {
        ranges[name] = {min, max};
        return condition.Range(ranges) == SymRange{0, 0};
      };
      constexpr int64_t kMost = int64_t{1} << 40;
      int64_t least = std::max(all.min, -kMost), most = std::min(all.max, kMost);
      if (least >= most || is_false(least, most)) continue;
      if (is_false(most, all.max)) {
        for (int64_t first = least; first + 1 < most;) {
          const int64_t middle = first + (most - first) / 2;
          (is_false(middle, all.max) ? most : first) = middle;
        }
        Narrow(symbol, {all.min, most - 1});
      }
      if (is_false(all.min, least)) {
        for (int64_t last = most; least + 1 < last;) {
          const int64_t middle = least + (last - least) / 2;
          (is_false(all.min, middle) ? least : last) = middle;
        }
        Narrow(symbol, {least + 1, all.max});
      }
    }
  }

  void BoundByCondition(const SymExpr& condition, int depth) {
    constexpr int kMaxDepth = 64;
    if (condition.kind() != SymExpr::Kind::kFunction || depth > kMaxDepth) return;
    const absl::Span<const SymExpr> sides = condition.arguments();
    if (condition.name() == "And") {
      for (const SymExpr& side : sides) BoundByCondition(side, depth + 1);
      return;
    }
    if (sides.size() != 2) return;
    const SymRange left = sides[0].Range(program_.ranges), right = sides[1].Range(program_.ranges);
    // a <= b + slack
    const auto at_most = [&](const SymExpr& a, const SymRange& a_range, const SymExpr& b,
                             const SymRange& b_range, int64_t slack) {
      if (b_range.max != kAbove) Narrow(a, {SymRange::kUnboundedBelow, b_range.max + slack});
      if (a_range.min > SymRange::kUnboundedBelow + 1) Narrow(b, {a_range.min - slack, kAbove});
    };
    const bool equal = condition.name() == "Eq";
    if (equal || condition.name() == "Le") at_most(sides[0], left, sides[1], right, 0);
    if (equal || condition.name() == "Ge") at_most(sides[1], right, sides[0], left, 0);
    if (condition.name() == "Lt") at_most(sides[0], left, sides[1], right, -1);
    if (condition.name() == "Gt") at_most(sides[1], right, sides[0], left, -1);
  }

  ExportedProgram& program_;
  ImpliedRanges implied_;
  absl::flat_hash_set<std::string> seen_;     // defined by an input or a node
  absl::flat_hash_set<std::string> inputs_;   // defined by an input of the top graph
  absl::flat_hash_set<std::string> defined_;  // by nodes of the current graph
  bool only_created_ = false;                 // ignores inferred sizes that are not data-dependent
  bool changed_ = false;
};

}  // namespace

Pass BoundDataSizes() {
  return {"bound_data_sizes", [](ExportedProgram& program) -> absl::StatusOr<bool> {
            return SizeBounds(program).Run();
          }};
}

}  // namespace belay::exir
