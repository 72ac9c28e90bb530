#include "exir/passes/element_ranges.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "exir/ir/constant.h"
#include "runtime/core/dtype.h"

namespace belay::exir {
namespace {

constexpr int64_t kAbove = SymRange::kUnboundedAbove, kBelow = SymRange::kUnboundedBelow;
constexpr SymRange kEverything = {kBelow, kAbove};

template <class T>
constexpr SymRange Limits() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

SymRange RangeOfDType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kUint8:
      return Limits<uint8_t>();
    case DType::kInt8:
      return Limits<int8_t>();
    case DType::kUint16:
      return Limits<uint16_t>();
    case DType::kInt16:
      return Limits<int16_t>();
    case DType::kInt32:
      return Limits<int32_t>();
    default:
      return kEverything;
  }
}

bool IsInside(SymRange range, SymRange outer) {
  return range.min >= outer.min && range.max <= outer.max;
}

// Elements of the dtype that are computed with this range. Integers wrap if it exceeds the dtype,
// and floats are rounded.
SymRange Computed(SymRange range, DType dtype) {
  constexpr int64_t kExact = int64_t{1} << 24;  // integers up to here are float32
  SymRange limits = RangeOfDType(dtype);
  if (IsFloatingPoint(dtype)) {
    if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return kEverything;
    limits = {-kExact, kExact};
  }
  return IsInside(range, limits) ? range : RangeOfDType(dtype);
}

enum class Rule : uint8_t {
  kOperand,  // elements of the first argument
  kSelect,   // as kOperand; a second result has indices along `dim`
  kIndices,  // indices along `dim`, or into all elements
  kUnion,    // elements of all tensors among the arguments
  kSum,      // sums along `dim`
  kNumber,   // the number in `fill_value`
  kZero,
  kOne,
  kUnit,     // between 0 and 1
  kFunction  // `function` of the first two arguments
};

struct Row {
  std::string_view op;  // without namespace, the suffix "_copy" and overload
  Rule rule;
  std::string_view function = "";  // of symbolic expressions
  bool on_floats = true;
};

constexpr Row kRows[] = {
    {"_clone_dim_order", Rule::kOperand},
    {"_to", Rule::kOperand},
    {"_to_dim_order", Rule::kOperand},
    {"_unsafe_view", Rule::kOperand},
    {"add", Rule::kFunction, "+"},
    {"alias", Rule::kOperand},
    {"amax", Rule::kOperand},
    {"amin", Rule::kOperand},
    {"argmax", Rule::kIndices},
    {"argmin", Rule::kIndices},
    {"argsort", Rule::kIndices},
    {"bitwise_and", Rule::kFunction, "BitwiseFn_bitwise_and"},
    {"cat", Rule::kUnion},
    {"clamp", Rule::kOperand},
    {"clamp_max", Rule::kOperand},
    {"clamp_min", Rule::kOperand},
    {"clone", Rule::kOperand},
    {"contiguous", Rule::kOperand},
    {"cumsum", Rule::kSum},
    {"detach", Rule::kOperand},
    {"expand", Rule::kOperand},
    {"flatten", Rule::kOperand},
    {"flip", Rule::kOperand},
    {"floor", Rule::kOperand},
    {"floor_divide", Rule::kFunction, "FloorDiv", false},
    {"full", Rule::kNumber},
    {"full_like", Rule::kNumber},
    {"gather", Rule::kOperand},
    {"hardtanh", Rule::kOperand},
    {"index", Rule::kOperand},
    {"index_select", Rule::kOperand},
    {"masked_select", Rule::kOperand},
    {"max", Rule::kSelect},
    {"maximum", Rule::kFunction, "Max"},
    {"min", Rule::kSelect},
    {"minimum", Rule::kFunction, "Min"},
    {"mul", Rule::kFunction, "*"},
    {"ones", Rule::kOne},
    {"ones_like", Rule::kOne},
    {"permute", Rule::kOperand},
    {"rand", Rule::kUnit},
    {"remainder", Rule::kFunction, "PythonMod", false},
    {"repeat", Rule::kOperand},
    {"reshape", Rule::kOperand},
    {"round", Rule::kOperand},
    {"select", Rule::kOperand},
    {"sigmoid", Rule::kUnit},
    {"slice", Rule::kOperand},
    {"sort", Rule::kSelect},
    {"squeeze", Rule::kOperand},
    {"sub", Rule::kFunction, "-"},
    {"sum", Rule::kSum},
    {"to", Rule::kOperand},
    {"topk", Rule::kSelect},
    {"transpose", Rule::kOperand},
    {"trunc", Rule::kOperand},
    {"unsqueeze", Rule::kOperand},
    {"view", Rule::kOperand},
    {"where", Rule::kUnion},
    {"zeros", Rule::kZero},
    {"zeros_like", Rule::kZero},
};

const Row* FindRow(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return nullptr;
  std::string_view op = name.substr(dot + 1);
  op = op.substr(0, op.find('.'));
  if (op.ends_with("_copy")) op.remove_suffix(5);
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& candidate) { return candidate.op == op; });
  return row == std::end(kRows) ? nullptr : row;
}

// The range of a sum, difference or product, which wraps if it may exceed int64.
SymRange WithoutOverflow(SymRange range) {
  return range.min == kBelow || range.max == kAbove ? kEverything : range;
}

SymRange Hull(SymRange a, SymRange b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

// The range of f(a, b) for all a and b.
SymRange FunctionRange(std::string_view function, SymRange a, SymRange b) {
  const SymExpr x = SymExpr::Symbol("a"), y = SymExpr::Symbol("b");
  const SymExpr result = function == "+"   ? x + y
                         : function == "-" ? x - y
                         : function == "*" ? x * y
                                           : SymExpr::Function(function, {x, y});
  return result.Range({{"a", a}, {"b", b}});
}

template <class T>
SymRange RangeOfElements(absl::Span<const std::byte> bytes) {
  SymRange range = {kAbove, kBelow};
  for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T element;
    std::memcpy(&element, bytes.data() + i, sizeof(T));
    range = Hull(range, {element, element});
  }
  return range;
}

// The range of the elements in the storage of a constant, which may be larger than the constant.
SymRange RangeOfConstant(const ConstantTensor& constant) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  const absl::Span<const std::byte> bytes = constant.storage().bytes;
  if (bytes.empty() || bytes.size() > kMostBytes) return RangeOfDType(constant.dtype());
  if (constant.dtype() == DType::kInt64) return RangeOfElements<int64_t>(bytes);
  if (constant.dtype() == DType::kInt32) return RangeOfElements<int32_t>(bytes);
  return RangeOfDType(constant.dtype());
}

}  // namespace

SymRange ElementRanges::Sum(SymRange range, int64_t count) {
  return FunctionRange("*", range, {count, count});
}

SymRange ElementRanges::Of(const Graph& graph, ValueId value) const {
  if (const auto it = ranges_.find(value); it != ranges_.end()) return it->second;
  const ValueType& type = graph.value(value).type;
  if (const auto* number = std::get_if<SymIntType>(&type)) {
    return number->expr.Range(program_.ranges);
  }
  const TensorMeta* tensor = graph.value(value).tensor();
  if (tensor == nullptr) return kEverything;
  const bool may_be_read = tensor->dtype == DType::kInt64 || tensor->dtype == DType::kInt32;
  if (may_be_read && &graph == &program_.top()) {
    // Other methods may change a buffer.
    const std::optional<size_t> input = program_.InputIndex(value);
    const InputSpec* spec = input.has_value() ? &program_.signature.inputs[*input] : nullptr;
    if (spec != nullptr && NamesTensor(spec->kind) && spec->kind != InputKind::kBuffer) {
      const ConstantTensor* constant = program_.FindConstant(*spec);
      if (constant != nullptr) return RangeOfConstant(*constant);
    }
  }
  return RangeOfDType(tensor->dtype);
}

SymRange ElementRanges::OfArgument(const Graph& graph, const Argument& argument) const {
  if (const ValueId* value = argument.get_if<ValueId>()) return Of(graph, *value);
  if (const int64_t* number = argument.get_if<int64_t>()) return {*number, *number};
  if (const bool* truth = argument.get_if<bool>()) return {*truth, *truth};
  const double* number = argument.get_if<double>();
  constexpr double kMost = 1e15;
  if (number == nullptr || !(std::abs(*number) < kMost)) return kEverything;
  return {static_cast<int64_t>(std::floor(*number)), static_cast<int64_t>(std::ceil(*number))};
}

int64_t ElementRanges::CountOf(const Graph& graph, const Argument& tensor,
                               const Argument& dims) const {
  const ValueId* value = tensor.get_if<ValueId>();
  const TensorMeta* meta = value == nullptr ? nullptr : graph.value(*value).tensor();
  if (meta == nullptr) return kAbove;
  std::vector<int64_t> counted;
  if (const int64_t* dim = dims.get_if<int64_t>()) counted = {*dim};
  if (const auto* list = dims.get_if<Argument::List>()) {
    for (const Argument& dim : *list) {
      if (const int64_t* number = dim.get_if<int64_t>()) counted.push_back(*number);
    }
  }
  if (counted.empty()) return meta->NumElements().Range(program_.ranges).max;
  SymExpr count = 1;
  for (int64_t dim : counted) {
    if (dim < 0) dim += meta->rank();
    if (dim < 0 || dim >= meta->rank()) return meta->rank() == 0 ? 1 : kAbove;
    count = count * meta->sizes[static_cast<size_t>(dim)];
  }
  return count.Range(program_.ranges).max;
}

SymRange ElementRanges::OfResult(const Graph& graph, const Node& node, int result) const {
  const Row* row = FindRow(node.target->aten()->name());
  if (row == nullptr) return kEverything;
  const ValueId value = node.results()[static_cast<size_t>(result)];
  const TensorMeta* tensor = graph.value(value).tensor();
  const Argument& first = node.operand();
  const auto indices = [&]() -> SymRange {
    // `dim` of sort and topk is the last one unless given.
    const int64_t count = CountOf(graph, first, node.argument("dim"));
    return {0, count == kAbove ? count : std::max<int64_t>(count - 1, 0)};
  };
  const auto joined = [&] {
    SymRange all = {kAbove, kBelow};
    for (size_t i = row->op == "where" ? 1 : 0; i < node.arguments.size(); ++i) {
      if (const auto* list = node.arguments[i].get_if<Argument::List>()) {
        for (const Argument& element : *list) all = Hull(all, OfArgument(graph, element));
      } else if (row->op == "where") {
        all = Hull(all, OfArgument(graph, node.arguments[i]));
      }
    }
    return all.min > all.max ? kEverything : all;
  };
  switch (row->rule) {
    case Rule::kSelect:
      if (!node.argument("other").is_none()) {
        return FunctionRange(row->op == "max" ? "Max" : "Min", OfArgument(graph, first),
                             OfArgument(graph, node.argument("other")));
      }
      if (result > 0) return indices();
      [[fallthrough]];
    case Rule::kOperand: {
      SymRange range = OfArgument(graph, first);
      // The ends of clamp and hardtanh.
      for (std::string_view end : {"min", "min_val", "max", "max_val"}) {
        const Argument& given = node.argument(end);
        if (given.is_none()) continue;
        range =
            FunctionRange(end.starts_with("min") ? "Max" : "Min", range, OfArgument(graph, given));
      }
      return range;
    }
    case Rule::kIndices:
      return indices();
    case Rule::kUnion:
      return joined();
    case Rule::kSum: {
      const int64_t count = CountOf(graph, first, node.argument("dim"));
      return WithoutOverflow(FunctionRange("*", OfArgument(graph, first), {0, count}));
    }
    case Rule::kNumber:
      return OfArgument(graph, node.argument("fill_value"));
    case Rule::kZero:
      return {0, 0};
    case Rule::kOne:
      return {1, 1};
    case Rule::kUnit:
      return {0, 1};
    case Rule::kFunction: {
      if (!row->on_floats && IsFloatingPoint(tensor->dtype)) return kEverything;
      SymRange b = OfArgument(graph, node.argument("other"));
      if (const Argument& alpha = node.argument("alpha"); !alpha.is_none()) {
        b = FunctionRange("*", b, OfArgument(graph, alpha));
      }
      const SymRange range = FunctionRange(row->function, OfArgument(graph, first), b);
      const bool selects = row->function == "Max" || row->function == "Min";
      return selects ? range : WithoutOverflow(range);
    }
  }
  return kEverything;
}

void ElementRanges::Visit(const Graph& graph, const Node& node) {
  const std::vector<ValueId> results = node.results();
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorMeta* tensor = graph.value(results[i]).tensor();
    if (tensor == nullptr) continue;
    const SymRange range = Computed(OfResult(graph, node, static_cast<int>(i)), tensor->dtype);
    if (range != RangeOfDType(tensor->dtype)) ranges_[results[i]] = range;
  }
}

}  // namespace belay::exir
