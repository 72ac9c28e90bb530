#include "backends/cpu/aot/passes/fuse_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/float_casts.h"
#include "backends/cpu/aot/passes/node_kinds.h"
#include "backends/cpu/aot/passes/permuted_dims.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "runtime/core/checked_math.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

enum class Op : uint8_t {
  kAdd,
  kAny,
  kArange,
  kBmm,
  kCast,
  kDiv,
  kEq,
  kExpand,
  kFill,
  kGreater,       // a > b
  kGreaterEqual,  // a >= b
  kLess,          // a < b
  kLessEqual,     // a <= b
  kMul,
  kNot,
  kPermute,
  kQuantize,
  kReshape,
  kSoftmax,
  kWhere,
};
struct Row {
  std::string_view op;
  Op kind;
};
constexpr Row kRows[] = {
    {"aten._softmax.default", Op::kSoftmax},
    {"aten.add.Tensor", Op::kAdd},
    {"aten.any.dim", Op::kAny},
    {"aten.arange.start_step", Op::kArange},
    {"aten.bmm.default", Op::kBmm},
    {"aten.div.Scalar", Op::kDiv},
    {"aten.div.Tensor", Op::kDiv},
    {"aten.eq.Scalar", Op::kEq},
    {"aten.expand_copy.default", Op::kExpand},
    {"aten.full.default", Op::kFill},
    {"aten.full_like.default", Op::kFill},
    {"aten.ge.Tensor", Op::kGreaterEqual},
    {"aten.gt.Tensor", Op::kGreater},
    {"aten.le.Tensor", Op::kLessEqual},
    {"aten.logical_not.default", Op::kNot},
    {"aten.lt.Tensor", Op::kLess},
    {"aten.mul.Scalar", Op::kMul},
    {"aten.mul.Tensor", Op::kMul},
    {"aten.permute_copy.default", Op::kPermute},
    {"aten.scalar_tensor.default", Op::kFill},
    {"aten.unsqueeze_copy.default", Op::kReshape},
    {"aten.view_copy.default", Op::kReshape},
    {"aten.where.self", Op::kWhere},
    {"dim_order_ops._to_dim_order_copy.default", Op::kCast},
    {"quantized_decomposed.quantize_per_tensor.default", Op::kQuantize},
};

// Supported dtypes. Accumulators are float32; other dtypes are widened.
constexpr DTypeSet kDTypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The largest element of a causal mask at keys that are not visible: that of bfloat16's lowest
// value and below. Added to a score of any program that does not overflow, it gives a weight of 0,
// since each query sees a key.
constexpr double kLow = -0x1.fep127;
// Maximal number of masks that are added to scores.
constexpr size_t kMostMasks = 4;

// A value found through reshapes, conversions, scalar factors and repetitions: [.., rows, columns]
// with the same rows.
struct Source {
  ValueId value;
  double factor = 1;
  SymInt repeated = 1;  // number of adjacent equal copies in the final value
};

// A mask of the scores. `sizes` are those of the scores where it applies: a reshape of the leading
// dimensions of the softmax's.
struct Mask {
  ValueId value;  // floats, added to the scores; or booleans
  std::vector<SymInt> sizes;
  bool is_condition = false;
  bool visible = true;  // the condition's value at keys that are visible; the others are filled
  double fill = 0;
};

class AttentionFusion {
 public:
  AttentionFusion(exir::ExportedProgram& program, FusedHandles& handles,
                  PassDiagnostics* diagnostics)
      : handles_(handles),
        diagnostics_(diagnostics),
        editor_(program.top()),
        graph_(editor_.graph()),
        kinds_(graph_, *program.ops, kRows),
        constants_(program),
        casts_(program, editor_),
        ops_(*program.ops) {}

  bool Run() {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      if (!graph_.contains(id) || !Is(id, Op::kBmm)) continue;
      inside_.clear();
      if (Fuse(id)) changed = true;
    }
    if (changed) editor_.EraseDeadNodes();
    return changed;
  }

 private:
  const Node& node(NodeId id) const { return graph_.node(id); }
  bool Is(NodeId id, Op kind) const { return kinds_.Is(id, kind); }
  std::optional<NodeId> Producer(ValueId value, Op kind) const {
    return kinds_.Producer(value, kind);
  }
  ValueId ValueOf(NodeId id, std::string_view argument) const {
    const ValueId* value = node(id).value_argument(argument);
    return value == nullptr ? ValueId() : *value;
  }

  static bool HasSameLastTwo(const std::vector<SymInt>& a, const std::vector<SymInt>& b) {
    return a.size() >= 2 && b.size() >= 2 && std::equal(a.end() - 2, a.end(), b.end() - 2);
  }

  // Returns the operand of a reshape that keeps the last two dimensions.
  std::optional<ValueId> Reshaped(ValueId value) const {
    const std::optional<NodeId> reshape = Producer(value, Op::kReshape);
    if (!reshape.has_value()) return std::nullopt;
    const ValueId operand = ValueOf(*reshape, "self");
    const std::vector<SymInt>& from = graph_.MetaOf(operand).sizes;
    const std::vector<SymInt>& to = graph_.MetaOf(value).sizes;
    if (from.size() < 3 || to.size() < 3 || !HasSameLastTwo(from, to)) return std::nullopt;
    return operand;
  }
  // Returns the operand of a conversion between supported dtypes.
  std::optional<ValueId> Converted(ValueId value) const {
    const std::optional<NodeId> cast = Producer(value, Op::kCast);
    if (!cast.has_value()) return std::nullopt;
    const ValueId operand = ValueOf(*cast, "self");
    if (!kDTypes.contains(graph_.MetaOf(operand).dtype) ||
        !kDTypes.contains(graph_.MetaOf(value).dtype)) {
      return std::nullopt;
    }
    return operand;
  }
  // Returns the operand of a multiplication or division by a scalar, and the factor.
  std::optional<std::pair<ValueId, double>> Scaled(ValueId value) const {
    const std::optional<NodeId> mul = Producer(value, Op::kMul), div = Producer(value, Op::kDiv);
    if (!mul.has_value() && !div.has_value()) return std::nullopt;
    const NodeId id = mul.has_value() ? *mul : *div;
    const ValueId operand = ValueOf(id, "self");
    const std::optional<double> number = constants_.Number(node(id).argument("other"));
    if (!operand.valid() || !number.has_value() || !std::isfinite(*number) || *number == 0 ||
        graph_.MetaOf(operand).sizes != graph_.MetaOf(value).sizes ||
        graph_.MetaOf(operand).dtype != graph_.MetaOf(value).dtype) {
      return std::nullopt;
    }
    return std::pair<ValueId, double>(operand, mul.has_value() ? *number : 1 / *number);
  }

  // Returns the value and its sources through reshapes, conversions, scalar factors and
  // repetitions, outermost first. `inside`: the nodes between become part of the fusion.
  std::vector<Source> Sources(Source source, bool inside) {
    std::vector<Source> sources = {source};
    for (;;) {
      const ValueId value = source.value;
      if (const auto reshaped = Reshaped(value)) {
        source.value = *reshaped;
      } else if (const auto converted = Converted(value)) {
        source.value = *converted;
      } else if (const auto scaled = Scaled(value)) {
        source.value = scaled->first;
        source.factor *= scaled->second;
      } else if (const auto expand = Producer(value, Op::kExpand)) {
        // [.., 1, rows, columns] -> [.., n, rows, columns]
        const ValueId operand = ValueOf(*expand, "self");
        const std::vector<SymInt>& from = graph_.MetaOf(operand).sizes;
        const std::vector<SymInt>& to = graph_.MetaOf(value).sizes;
        if (from.size() != to.size() || from.size() < 3) break;
        const size_t grown = from.size() - 3;
        bool fits = from[grown] == SymInt(1) && source.repeated == SymInt(1);
        for (size_t d = 0; d < from.size(); ++d) fits = fits && (d == grown || from[d] == to[d]);
        if (!fits) break;
        source.repeated = to[grown];
        source.value = operand;
      } else {
        break;
      }
      if (inside) inside_.push_back(graph_.value(value).producer);
      sources.push_back(source);
    }
    return sources;
  }

  // Returns the innermost source with these sizes. For keys and values, sizes[heads] is that of the
  // queries, and a smaller number of heads may be repeated.
  std::optional<Source> Innermost(const std::vector<Source>& sources,
                                  const std::vector<SymInt>& sizes) const {
    for (auto it = sources.rbegin(); it != sources.rend(); ++it) {
      const TensorMeta& meta = graph_.MetaOf(it->value);
      if (meta.rank() != static_cast<int>(sizes.size()) || !kDTypes.contains(meta.dtype)) continue;
      const size_t heads = sizes.size() - 3;
      bool fits = meta.sizes[heads] * it->repeated == sizes[heads];
      for (size_t d = 0; d < sizes.size(); ++d) {
        fits = fits && (d == heads || meta.sizes[d] == sizes[d]);
      }
      if (fits) return *it;
    }
    return std::nullopt;
  }

  // Returns the scalar that all elements equal.
  std::optional<double> Fill(ValueId value) const {
    if (const std::optional<NodeId> fill = Producer(value, Op::kFill)) {
      const Argument& number =
          node(*fill).argument(node(*fill).target->op() == "scalar_tensor" ? "s" : "fill_value");
      return number.is<ValueId>() ? std::nullopt : constants_.Number(number);
    }
    return constants_.Number(Argument(value));
  }

  // Whether the condition selects the rows of the scores that are entirely -inf.
  bool IsEmptyRows(ValueId condition, ValueId scores) {
    const std::optional<NodeId> none = Producer(condition, Op::kNot);
    if (!none.has_value()) return false;
    const std::optional<NodeId> any = Producer(ValueOf(*none, "self"), Op::kAny);
    if (!any.has_value() || !IsLast(node(*any).argument("dim"), scores) ||
        node(*any).argument("keepdim") != Argument(true)) {
      return false;
    }
    const std::optional<NodeId> seen = Producer(ValueOf(*any, "self"), Op::kNot);
    if (!seen.has_value()) return false;
    const std::optional<NodeId> eq = Producer(ValueOf(*seen, "self"), Op::kEq);
    if (!eq.has_value() || ValueOf(*eq, "self") != scores ||
        constants_.Number(node(*eq).argument("other")) != -kInfinity) {
      return false;
    }
    inside_.insert(inside_.end(), {*none, *any, *seen, *eq});
    return true;
  }

  bool IsLast(const Argument& dim, ValueId value) const {
    return dim == Argument(-1) || dim == Argument(int64_t{graph_.MetaOf(value).rank() - 1});
  }

  // Whether only these nodes use the value.
  bool IsUsedOnlyBy(ValueId value, const std::vector<NodeId>& nodes) const {
    if (graph_.IsOutput(value)) return false;
    const std::vector<NodeId>& users = graph_.value(value).users;
    return std::all_of(users.begin(), users.end(), [&](NodeId user) {
      return std::find(nodes.begin(), nodes.end(), user) != nodes.end();
    });
  }

  // Returns the node that masks scores: an addition or a selection.
  std::optional<NodeId> Masking(ValueId scores) const {
    const std::optional<NodeId> sum = Producer(scores, Op::kAdd);
    return sum.has_value() ? sum : Producer(scores, Op::kWhere);
  }

  // Whether a matmul computes the value, through reshapes, conversions, factors and at most `masks`
  // masks.
  bool IsMatmul(ValueId value, size_t masks) {
    const Source end = Sources({value}, /*inside=*/false).back();
    if (!(end.repeated == SymInt(1))) return false;
    if (Producer(end.value, Op::kBmm).has_value()) return true;
    if (masks == 0) return false;
    const std::optional<NodeId> masking = Masking(end.value);
    if (!masking.has_value()) return false;
    for (std::string_view operand : {"self", "other"}) {
      const ValueId of = ValueOf(*masking, operand);
      if (of.valid() && IsMatmul(of, masks - 1)) return true;
    }
    return false;
  }

  // Returns the matmul that computes the scores, [.., queries, keys], with its factor, and the
  // masks, the last one first.
  std::optional<Source> FindMatmul(ValueId scores, std::vector<Mask>& masks) {
    for (;;) {
      const Source end = Sources({scores}, /*inside=*/true).back();
      if (!(end.repeated == SymInt(1))) return std::nullopt;
      if (Producer(end.value, Op::kBmm).has_value()) return end;
      if (end.factor != 1 || masks.size() == kMostMasks) return std::nullopt;
      const std::optional<NodeId> masking = Masking(end.value);
      if (!masking.has_value()) return std::nullopt;
      const NodeId id = *masking;
      ValueId left = ValueOf(id, "self"), right = ValueOf(id, "other");
      if (!left.valid() || !right.valid()) return std::nullopt;
      const bool swaps = !IsMatmul(left, kMostMasks - masks.size());
      if (swaps) std::swap(left, right);
      const TensorMeta& meta = graph_.MetaOf(end.value);
      if (graph_.MetaOf(left).sizes != meta.sizes || graph_.MetaOf(left).dtype != meta.dtype) {
        return std::nullopt;
      }
      Mask mask = {.value = right, .sizes = meta.sizes};
      if (Is(id, Op::kAdd)) {
        if (constants_.Number(node(id).argument("alpha")) != 1.0) return std::nullopt;
        if (!kDTypes.contains(graph_.MetaOf(right).dtype)) return std::nullopt;
      } else {
        const std::optional<double> fill = Fill(right);
        if (!fill.has_value()) return std::nullopt;
        mask = {.value = ValueOf(id, "condition"),
                .sizes = meta.sizes,
                .is_condition = true,
                .visible = !swaps,
                .fill = *fill};
        if (!mask.value.valid() || graph_.MetaOf(mask.value).dtype != DType::kBool) {
          return std::nullopt;
        }
      }
      if (graph_.MetaOf(mask.value).rank() > meta.rank()) return std::nullopt;
      inside_.push_back(id);
      masks.push_back(std::move(mask));
      scores = left;
    }
  }

  // Returns the condition of a mask that is 0 where it has one value and `fill` where it has the
  // other one. Returns other masks unchanged.
  Mask ConditionOf(Mask mask) const {
    if (mask.is_condition) return mask;
    ValueId value = mask.value;
    while (const std::optional<ValueId> converted = Converted(value)) value = *converted;
    const std::optional<NodeId> where = Producer(value, Op::kWhere);
    if (!where.has_value()) return mask;
    const std::optional<double> self = Fill(ValueOf(*where, "self"));
    const std::optional<double> other = Fill(ValueOf(*where, "other"));
    const ValueId condition = ValueOf(*where, "condition");
    if (!self.has_value() || !other.has_value() || (*self != 0 && *other != 0) ||
        !condition.valid() || graph_.MetaOf(condition).dtype != DType::kBool) {
      return mask;
    }
    mask.value = condition;
    mask.is_condition = true;
    mask.visible = *self == 0;
    mask.fill = mask.visible ? *other : *self;
    return mask;
  }

  // Returns 1 for a value that equals the index of the last dimension, 2 for that of the one before
  // it, and 0 for others.
  int IndexOf(ValueId value) const {
    int dim = 0;
    for (;;) {
      const TensorMeta& meta = graph_.MetaOf(value);
      int wide = 0;
      for (int d = 0; d < meta.rank(); ++d) {
        if (meta.sizes[d] == SymInt(1)) continue;
        if (wide != 0) return 0;
        wide = meta.rank() - d;
      }
      if (dim == 0) dim = wide;
      if (wide == 0 || dim > 2) return 0;
      if (const std::optional<NodeId> arange = Producer(value, Op::kArange)) {
        const bool fits = constants_.Number(node(*arange).argument("start")) == 0.0 &&
                          constants_.Number(node(*arange).argument("step")) == 1.0;
        return fits ? dim : 0;
      }
      const std::optional<NodeId> reshape = Producer(value, Op::kReshape);
      if (!reshape.has_value()) break;
      value = ValueOf(*reshape, "self");
    }
    const std::optional<ConstantView> view = constants_.Find(value);
    if (!view.has_value()) return 0;
    const std::optional<std::vector<double>> elements = view->Elements();
    if (!elements.has_value()) return 0;
    for (size_t i = 0; i < elements->size(); ++i) {
      if ((*elements)[i] != static_cast<double>(i)) return 0;
    }
    return dim;
  }

  // Whether element [.., i, j] of the mask hides key j from query i if and only if j > i.
  bool IsCausal(const Mask& given) const {
    const Mask mask = ConditionOf(given);
    ValueId value = mask.value;
    bool visible = mask.visible;
    if (mask.is_condition && mask.fill > kLow) return false;
    for (;;) {
      std::optional<NodeId> view = Producer(value, Op::kReshape);
      if (view.has_value() && !HasSameLastTwo(graph_.MetaOf(ValueOf(*view, "self")).sizes,
                                              graph_.MetaOf(value).sizes)) {
        return false;
      }
      if (!view.has_value()) view = Producer(value, Op::kExpand);
      if (!view.has_value() && mask.is_condition && Producer(value, Op::kNot).has_value()) {
        view = Producer(value, Op::kNot);
        visible = !visible;
      }
      if (!view.has_value()) break;
      value = ValueOf(*view, "self");
    }
    const std::vector<SymInt>& sizes = graph_.MetaOf(value).sizes;
    if (!HasSameLastTwo(sizes, mask.sizes)) return false;
    if (mask.is_condition) {
      for (const auto& [op, columns_first, is_visible] :
           {std::tuple(Op::kLessEqual, true, true), std::tuple(Op::kGreaterEqual, false, true),
            std::tuple(Op::kGreater, true, false), std::tuple(Op::kLess, false, false)}) {
        const std::optional<NodeId> compare = Producer(value, op);
        if (!compare.has_value() || is_visible != visible) continue;
        const ValueId a = ValueOf(*compare, "self"), b = ValueOf(*compare, "other");
        return a.valid() && b.valid() && IndexOf(columns_first ? a : b) == 1 &&
               IndexOf(columns_first ? b : a) == 2;
      }
    }
    const std::optional<ConstantView> view = constants_.Find(value);
    if (!view.has_value()) return false;
    const std::optional<std::vector<double>> elements = view->Elements();
    const std::optional<int64_t> queries = sizes[sizes.size() - 2].AsInt();
    const std::optional<int64_t> keys = sizes.back().AsInt();
    if (!elements.has_value() || !queries.has_value() || !keys.has_value()) return false;
    for (size_t at = 0; at < elements->size(); ++at) {
      const auto i = static_cast<int64_t>(at) / *keys % *queries;
      const auto j = static_cast<int64_t>(at) % *keys;
      const double x = (*elements)[at];
      const bool is_visible = mask.is_condition ? (x != 0) == visible : x == 0;
      if (is_visible != (j <= i) || (!mask.is_condition && !is_visible && !(x <= kLow))) {
        return false;
      }
    }
    return true;
  }

  // Shapes that a mask gets before it broadcasts to the scores of the softmax; empty if it has the
  // shape already.
  struct MaskShape {
    std::vector<int64_t> expanded, reshaped;
  };

  // Returns the shape of a mask for scores of `sizes`. nullopt if no shape fits, or if it depends on
  // sizes that are known only at run time.
  std::optional<MaskShape> ShapeOf(const Mask& mask, const std::vector<SymInt>& sizes) const {
    std::vector<SymInt> from = graph_.MetaOf(mask.value).sizes;
    if (mask.sizes == sizes) return MaskShape();
    // Only dimensions that the mask has matter, if those of both shapes are equal.
    if (from.size() <= 2 ||
        (from.size() <= sizes.size() &&
         std::equal(mask.sizes.end() - static_cast<ptrdiff_t>(from.size()), mask.sizes.end(),
                    sizes.end() - static_cast<ptrdiff_t>(from.size())))) {
      return MaskShape();
    }
    const auto known = [](const std::vector<SymInt>& of) -> std::optional<std::vector<int64_t>> {
      std::vector<int64_t> out;
      for (const SymInt& size : of) {
        const std::optional<int64_t> number = size.AsInt();
        if (!number.has_value()) return std::nullopt;
        out.push_back(*number);
      }
      return out;
    };
    from.insert(from.begin(), mask.sizes.size() - from.size(), SymInt(1));
    const auto own = known(from), full = known(mask.sizes), want = known(sizes);
    if (!own.has_value() || !full.has_value() || !want.has_value()) return std::nullopt;
    // Leading dimensions [i, i2) of the mask's scores have the elements of [j, j2) of the softmax's.
    MaskShape shape;
    shape.expanded = *own;
    const size_t rows = full->size() - 2, want_rows = want->size() - 2;
    size_t i = 0, j = 0;
    while (i < rows || j < want_rows) {
      size_t i2 = i, j2 = j;
      int64_t a = 1, b = 1;
      if (i2 < rows) a = (*full)[i2++];
      if (j2 < want_rows) b = (*want)[j2++];
      while (a != b) {
        CheckedInt next;
        if (a < b && i2 < rows) {
          next = CheckedInt(a) * (*full)[i2++];
          if (!next.ok()) return std::nullopt;
          a = next.value();
        } else if (b < a && j2 < want_rows) {
          next = CheckedInt(b) * (*want)[j2++];
          if (!next.ok()) return std::nullopt;
          b = next.value();
        } else {
          return std::nullopt;
        }
      }
      const bool broadcasts = std::all_of(own->begin() + static_cast<ptrdiff_t>(i),
                                          own->begin() + static_cast<ptrdiff_t>(i2),
                                          [](int64_t size) { return size == 1; });
      for (size_t d = i; d < i2 && !broadcasts; ++d) shape.expanded[d] = (*full)[d];
      for (size_t d = j; d < j2; ++d) shape.reshaped.push_back(broadcasts ? 1 : (*want)[d]);
      i = i2;
      j = j2;
    }
    shape.reshaped.insert(shape.reshaped.end(), own->end() - 2, own->end());
    if (shape.expanded == *own) shape.expanded.clear();
    return shape;
  }

  // Inserts an operator of the edge dialect before `last`.
  ValueId Insert(NodeId last, std::string_view op, std::string_view name,
                 std::vector<std::pair<std::string_view, Argument>> arguments, DType dtype,
                 std::vector<SymInt> sizes) {
    const exir::OpOverload* target = ops_.ToEdge(ops_.Find(op));
    return editor_.InsertOp(
        last,
        {.name = std::string(name),
         .target = target,
         .arguments = exir::ArgumentsByName(*target->schema(), std::move(arguments)),
         .provenance = node(last).provenance,
         .debug_handle = node(last).debug_handle},
        TensorMeta::Contiguous(dtype, std::move(sizes)));
  }
  ValueId InsertReshape(NodeId last, std::string_view op, ValueId value,
                        const std::vector<int64_t>& sizes) {
    if (sizes.empty()) return value;
    Argument::List list;
    std::vector<SymInt> dims;
    for (int64_t size : sizes) {
      list.emplace_back(size);
      dims.emplace_back(size);
    }
    return Insert(last, op, "mask", {{"self", value}, {"size", std::move(list)}},
                  graph_.MetaOf(value).dtype, std::move(dims));
  }
  // Returns the sizes of the sum of two masks that broadcast to the same scores.
  std::vector<SymInt> SumSizes(const std::vector<SymInt>& a, const std::vector<SymInt>& b) const {
    std::vector<SymInt> sum = a.size() < b.size() ? b : a;
    const std::vector<SymInt>& other = a.size() < b.size() ? a : b;
    for (size_t d = 1; d <= other.size(); ++d) {
      if (sum[sum.size() - d] == SymInt(1)) sum[sum.size() - d] = other[other.size() - d];
    }
    return sum;
  }

  bool Fuse(NodeId last) {
    // Match the weights: softmax of the scores.
    const ValueId factor = ValueOf(last, "self");
    const std::vector<Source> weights = Sources({factor}, /*inside=*/true);
    if (weights.back().factor != 1 || !(weights.back().repeated == SymInt(1))) return false;
    ValueId soft = weights.back().value;
    const std::optional<NodeId> where = Producer(soft, Op::kWhere);
    if (where.has_value()) {
      if (Fill(ValueOf(*where, "self")) != 0.0) return false;
      soft = ValueOf(*where, "other");
    }
    const std::optional<NodeId> softmax = Producer(soft, Op::kSoftmax);
    if (!softmax.has_value() || !IsLast(node(*softmax).argument("dim"), soft)) return false;
    const ValueId scores = ValueOf(*softmax, "self");
    const TensorMeta& shape = graph_.MetaOf(scores);
    const int rank = shape.rank();
    const auto no = [&](std::string_view why) {
      if (diagnostics_ != nullptr) {
        diagnostics_->RecordMiss(node(last).name, absl::StrCat("attention not fused: ", why));
      }
      return false;
    };
    const ValueId result = graph_.ResultOf(last);
    if (!kDTypes.contains(shape.dtype) || graph_.MetaOf(result).dtype != DType::kFloat32 ||
        rank < 3 || rank > 4 || !shape.sizes[rank - 3].AsInt().has_value()) {
      return no("its scores are not floats of [heads, queries, keys] with a known number of heads");
    }
    inside_.push_back(*softmax);
    if (where.has_value()) {
      if (!IsEmptyRows(ValueOf(*where, "condition"), scores)) {
        return no("it does not select zeros for rows of -inf");
      }
      inside_.push_back(*where);
      const NodeId zero = graph_.value(ValueOf(*where, "self")).producer;
      if (zero.valid() && node(zero).operand() == Argument(soft)) inside_.push_back(zero);
    }
    // The weights must have no other users.
    std::vector<NodeId> users = inside_;
    users.push_back(last);
    for (const Source& source : weights) {
      if (!IsUsedOnlyBy(source.value, users)) return no("its weights have other users");
    }
    if (!IsUsedOnlyBy(soft, users)) return no("its weights have other users");

    // Match the scores: a matmul and masks.
    std::vector<Mask> masks;
    const std::optional<Source> matmul = FindMatmul(scores, masks);
    if (!matmul.has_value()) return no("its scores are neither a matmul nor a matmul plus a mask");
    const bool causal = masks.size() == 1 && IsCausal(masks[0]);
    if (causal) masks.clear();
    // The mask is a condition, if the scores have no other mask.
    if (masks.size() == 1) {
      const Mask condition = ConditionOf(masks[0]);
      if (condition.is_condition && condition.fill == -kInfinity &&
          (condition.visible || masks[0].is_condition)) {
        masks[0] = condition;
      }
    }
    std::vector<MaskShape> mask_shapes;
    for (const Mask& mask : masks) {
      if (mask.is_condition && (masks.size() > 1 || mask.fill != -kInfinity)) {
        return no("its scores are filled with another value than -inf, or masked twice");
      }
      const std::optional<MaskShape> mask_shape = ShapeOf(mask, shape.sizes);
      if (!mask_shape.has_value()) return no("its mask is not a reshape of [heads, queries, keys]");
      mask_shapes.push_back(*mask_shape);
    }
    const NodeId dot = *Producer(matmul->value, Op::kBmm);
    inside_.push_back(dot);

    // Match the operands of the matmul.
    const std::vector<Source> queries = Sources({ValueOf(dot, "self")}, false);
    std::vector<SymInt> sizes = shape.sizes;
    sizes[rank - 1] = graph_.MetaOf(queries[0].value).sizes.back();
    const std::optional<Source> query = Innermost(queries, sizes);
    if (!query.has_value() || !(query->repeated == SymInt(1))) {
      return no("its queries are not a reshape of [heads, queries, size]");
    }
    const std::vector<Source> transposed = Sources({ValueOf(dot, "mat2")}, false);
    const std::optional<NodeId> permute = Producer(transposed.back().value, Op::kPermute);
    if (!permute.has_value() || !SwapsLastTwo(*permute)) return no("its keys are not transposed");
    Source inner = transposed.back();
    inner.value = ValueOf(*permute, "self");
    sizes[rank - 2] = shape.sizes[rank - 1];
    const std::optional<Source> key = Innermost(Sources(inner, false), sizes);
    sizes[rank - 1] = graph_.MetaOf(ValueOf(last, "mat2")).sizes.back();
    const std::optional<Source> value = Innermost(Sources({ValueOf(last, "mat2")}, false), sizes);
    if (!key.has_value() || !value.has_value() || value->factor != 1 ||
        !(key->repeated == value->repeated)) {
      return no("its keys and values are not reshapes of [heads, keys, size] with equal heads");
    }

    // The result has the leading dimensions of the scores; its users, converted, quantized or
    // neither, reshape it.
    sizes[rank - 2] = shape.sizes[rank - 2];
    std::vector<NodeId> results = {last};
    if (rank != graph_.MetaOf(result).rank()) {
      for (NodeId user : graph_.value(result).users) {
        if (IsConversion(user)) results.push_back(user);
      }
      for (NodeId id : results) {
        const ValueId output = graph_.ResultOf(id);
        for (NodeId user : graph_.value(output).users) {
          const bool reshapes = Is(user, Op::kReshape) && node(user).target->op() == "view_copy";
          if (!reshapes && (id != last || !IsConversion(user))) {
            return no("its result is used before it is reshaped");
          }
        }
        if (graph_.IsOutput(output)) return no("its result is returned before it is reshaped");
      }
    }
    const double scale = matmul->factor * query->factor * key->factor;
    if (diagnostics_ != nullptr) {
      diagnostics_->RecordRewrite(
          node(last).name, absl::StrCat("attention, ", exir::PrintType(graph_.MetaOf(query->value)),
                                        " to ", exir::PrintType(graph_.MetaOf(key->value)),
                                        causal          ? ", causal"
                                        : masks.empty() ? ""
                                                        : " with a mask"));
    }
    const auto wide = [&](ValueId operand) {
      if (graph_.MetaOf(operand).dtype == DType::kFloat32) return operand;
      return casts_.Insert(operand, DType::kFloat32, last, last, "wide");
    };
    Argument mask;
    for (size_t i = 0; i < masks.size(); ++i) {
      ValueId value = masks[i].value;
      if (masks[i].is_condition && !masks[i].visible) {
        value = Insert(last, "aten.logical_not.default", "mask", {{"self", value}}, DType::kBool,
                       graph_.MetaOf(value).sizes);
      } else if (!masks[i].is_condition) {
        value = wide(value);
      }
      value = InsertReshape(last, "aten.expand_copy.default", value, mask_shapes[i].expanded);
      value = InsertReshape(last, "aten.view_copy.default", value, mask_shapes[i].reshaped);
      if (const ValueId* sum = mask.get_if<ValueId>()) {
        const std::vector<SymInt> sum_sizes =
            SumSizes(graph_.MetaOf(*sum).sizes, graph_.MetaOf(value).sizes);
        value = Insert(last, "aten.add.Tensor", "mask", {{"self", *sum}, {"other", value}},
                       DType::kFloat32, sum_sizes);
      }
      mask = value;
    }
    // Without a mask, every query sees a key. Otherwise softmax makes NaN of rows of -inf.
    const bool nan_rows = !where.has_value() && !mask.is_none();
    const ValueId q = wide(query->value), k = wide(key->value), v = wide(value->value);
    editor_.SetTarget(last, CpuOp("attention"));
    editor_.SetArguments(last, {q, k, v, mask, scale, causal, nan_rows});
    for (NodeId id : results) {
      const ValueId of = graph_.ResultOf(id);
      editor_.SetType(of, TensorMeta::Contiguous(graph_.MetaOf(of).dtype, sizes));
      if (Is(id, Op::kCast)) casts_.Become(id, result);
    }
    for (NodeId id : inside_) handles_.Fuse(editor_, last, id);
    for (NodeId id : results) RemoveReshapes(id);
    return true;
  }

  bool IsConversion(NodeId id) const { return Is(id, Op::kCast) || Is(id, Op::kQuantize); }

  bool SwapsLastTwo(NodeId permute) const {
    const std::optional<std::vector<int64_t>> dims = PermutedDims(node(permute));
    if (!dims.has_value() || dims->size() < 3) return false;
    const auto rank = static_cast<int64_t>(dims->size());
    for (int64_t d = 0; d < rank; ++d) {
      if ((*dims)[d] != (d < rank - 2 ? d : 2 * rank - 3 - d)) return false;
    }
    return true;
  }

  // Removes reshapes that return the result unchanged.
  void RemoveReshapes(NodeId id) {
    const ValueId result = graph_.ResultOf(id);
    const std::vector<NodeId> users = graph_.value(result).users;
    for (NodeId user : users) {
      const ValueId reshaped = graph_.ResultOf(user);
      if (!Is(user, Op::kReshape) || graph_.MetaOf(reshaped).sizes != graph_.MetaOf(result).sizes ||
          graph_.IsOutput(reshaped)) {
        continue;
      }
      editor_.ReplaceAllUses(reshaped, result);
      handles_.Fuse(editor_, id, user);
      editor_.EraseNode(user);
    }
  }

  FusedHandles& handles_;
  PassDiagnostics* diagnostics_;
  exir::GraphEditor editor_;
  const exir::Graph& graph_;
  const NodeKinds<Row> kinds_;
  const ConstantViews constants_;
  FloatCasts casts_;
  const exir::OpRegistry& ops_;
  std::vector<NodeId> inside_;  // nodes of the current match
};

}  // namespace

exir::Pass FuseAttention(FusedHandles& handles, PassDiagnostics* diagnostics) {
  return {"fuse_attention",
          [&handles, diagnostics](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return AttentionFusion(program, handles, diagnostics).Run();
          }};
}

}  // namespace belay::cpu
