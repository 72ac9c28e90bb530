#include "backends/cpu/aot/passes/fuse_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/attention_masks.h"
#include "backends/cpu/aot/passes/float_casts.h"
#include "backends/cpu/aot/passes/permuted_dims.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/match.h"
#include "exir/ir/text.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;
namespace m = exir::match;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Maximal number of masks that are added to scores.
constexpr size_t kMostMasks = 4;
constexpr const char* kBmm = "aten.bmm.default";
constexpr const char* kCast = "dim_order_ops._to_dim_order_copy.default";
constexpr const char* kQuantize = "quantized_decomposed.quantize_per_tensor.default";

// A value found through reshapes, conversions, scalar factors and repetitions: [.., rows, columns]
// with the same rows.
struct Source {
  ValueId value;
  double factor = 1;
  SymInt repeated = 1;  // number of adjacent equal copies in the final value
};

// The parts of one attention.
struct Attention {
  NodeId last;  // bmm(weights, value)
  ValueId scores;
  bool selects_rows = false;    // rows that are all -inf become zeros
  std::vector<NodeId> inside;   // nodes that become part of `last`
  std::vector<NodeId> results;  // `last`, and its users that convert or quantize
  std::vector<AttentionMask> masks;
  std::vector<MaskShape> mask_shapes;
  bool causal = false;
  Source matmul, query, key, value;
  std::vector<SymInt> sizes;  // of the result
};

class AttentionFusion {
 public:
  AttentionFusion(exir::ExportedProgram& program, FusedHandles& handles,
                  PassDiagnostics* diagnostics)
      : handles_(handles),
        diagnostics_(diagnostics),
        editor_(program.top()),
        graph_(editor_.graph()),
        constants_(program),
        matcher_(graph_, [this](const Argument& number) { return constants_.Number(number); }),
        masks_(graph_, constants_, matcher_),
        casts_(program, editor_),
        ops_(*program.ops) {}

  bool Run() {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      if (graph_.contains(id) && Is(id, kBmm) && Fuse(id)) changed = true;
    }
    if (changed) editor_.EraseDeadNodes();
    return changed;
  }

 private:
  const Node& node(NodeId id) const { return graph_.node(id); }
  bool Is(NodeId id, const m::OpNames& names) const { return names.Contains(*node(id).target); }
  bool IsComputedBy(ValueId value, const m::OpNames& names) const {
    const NodeId producer = graph_.value(value).producer;
    return producer.valid() && Is(producer, names);
  }
  // Precondition: the argument is a value.
  ValueId ValueOf(NodeId id, std::string_view argument) const {
    return *node(id).value_argument(argument);
  }

  // Returns the operand of a reshape that keeps the last two dimensions.
  std::optional<ValueId> Reshaped(ValueId value) const {
    const std::optional<ValueId> operand = matcher_.OperandOf(ReshapeOps(), value);
    if (!operand.has_value()) return std::nullopt;
    const std::vector<SymInt>& from = graph_.MetaOf(*operand).sizes;
    const std::vector<SymInt>& to = graph_.MetaOf(value).sizes;
    const bool keeps = from.size() >= 3 && to.size() >= 3 && HasSameLastTwo(from, to);
    return keeps ? operand : std::nullopt;
  }
  // Returns the operand of a multiplication or division by a scalar, and the factor.
  std::optional<std::pair<ValueId, double>> Scaled(ValueId value) const {
    ValueId operand;
    double factor = 0, divisor = 0;
    const m::Pattern scaled = m::OneOf(
        {m::Op("mul", m::Value(&operand), m::Number(&factor)),
         m::Op({"aten.div.Scalar", "aten.div.Tensor"}, m::Value(&operand), m::Number(&divisor))});
    if (!matcher_.Match(scaled, value).has_value()) return std::nullopt;
    const double number = divisor != 0 ? divisor : factor;
    if (!std::isfinite(number) || number == 0 ||
        graph_.MetaOf(operand).sizes != graph_.MetaOf(value).sizes ||
        graph_.MetaOf(operand).dtype != graph_.MetaOf(value).dtype) {
      return std::nullopt;
    }
    return std::pair(operand, divisor != 0 ? 1 / divisor : factor);
  }
  // Returns the operand of a repetition [.., 1, rows, columns] -> [.., n, rows, columns], and n.
  std::optional<std::pair<ValueId, SymInt>> Repeated(ValueId value) const {
    const std::optional<ValueId> operand = matcher_.OperandOf("expand_copy", value);
    if (!operand.has_value()) return std::nullopt;
    const std::vector<SymInt>& from = graph_.MetaOf(*operand).sizes;
    const std::vector<SymInt>& to = graph_.MetaOf(value).sizes;
    if (from.size() != to.size() || from.size() < 3) return std::nullopt;
    const size_t grown = from.size() - 3;
    bool repeats = from[grown] == SymInt(1);
    for (size_t d = 0; d < from.size(); ++d) repeats = repeats && (d == grown || from[d] == to[d]);
    return repeats ? std::optional(std::pair(*operand, to[grown])) : std::nullopt;
  }

  // Returns the value and its sources through reshapes, conversions, scalar factors and
  // repetitions, outermost first. Adds the nodes between to `inside`, unless it is null.
  std::vector<Source> Sources(Source source, std::vector<NodeId>* inside = nullptr) const {
    std::vector<Source> sources = {source};
    for (;;) {
      const ValueId value = source.value;
      if (const auto reshaped = Reshaped(value)) {
        source.value = *reshaped;
      } else if (const auto converted = ConvertedFloat(graph_, value)) {
        source.value = *converted;
      } else if (const auto scaled = Scaled(value)) {
        source.value = scaled->first;
        source.factor *= scaled->second;
      } else if (const auto repeated = Repeated(value);
                 repeated.has_value() && source.repeated == SymInt(1)) {
        source.value = repeated->first;
        source.repeated = repeated->second;
      } else {
        return sources;
      }
      if (inside != nullptr) inside->push_back(graph_.value(value).producer);
      sources.push_back(source);
    }
  }

  // Returns the innermost source with these sizes. For keys and values, sizes[heads] is that of the
  // queries, and a smaller number of heads may be repeated.
  std::optional<Source> Innermost(const std::vector<Source>& sources,
                                  const std::vector<SymInt>& sizes) const {
    for (auto it = sources.rbegin(); it != sources.rend(); ++it) {
      const TensorMeta& meta = graph_.MetaOf(it->value);
      if (meta.rank() != static_cast<int>(sizes.size()) || !kFloatCastTypes.contains(meta.dtype))
        continue;
      const size_t heads = sizes.size() - 3;
      bool fits = meta.sizes[heads] * it->repeated == sizes[heads];
      for (size_t d = 0; d < sizes.size(); ++d) {
        fits = fits && (d == heads || meta.sizes[d] == sizes[d]);
      }
      if (fits) return *it;
    }
    return std::nullopt;
  }

  // Whether only these nodes use the value.
  bool IsUsedOnlyBy(ValueId value, const std::vector<NodeId>& nodes) const {
    if (graph_.IsOutput(value)) return false;
    const std::vector<NodeId>& users = graph_.value(value).users;
    return std::all_of(users.begin(), users.end(), [&](NodeId user) {
      return std::find(nodes.begin(), nodes.end(), user) != nodes.end();
    });
  }

  // Whether a matmul computes the value, through reshapes, conversions, factors and at most `masks`
  // masks.
  bool IsMatmul(ValueId value, size_t masks) const {
    const Source end = Sources({value}).back();
    if (!(end.repeated == SymInt(1))) return false;
    if (IsComputedBy(end.value, kBmm)) return true;
    ValueId a, b;
    return masks > 0 && matcher_.Match(Masked(m::Value(&a), m::Value(&b)), end.value) &&
           (IsMatmul(a, masks - 1) || IsMatmul(b, masks - 1));
  }
  // An addition, or a selection by a condition.
  static m::Pattern Masked(const m::Pattern& a, const m::Pattern& b, ValueId* condition = nullptr,
                           Argument* alpha = nullptr) {
    return m::OneOf({m::Op("add", a, b).With("alpha", m::Any(alpha)),
                     m::Op("where", m::Value(condition), a, b)});
  }

  // weights = softmax(scores, -1), or
  // weights = where(logical_not(any(logical_not(eq(scores, -inf)), -1, keepdim)), 0,
  //                 softmax(scores, -1))
  // Returns "" if the weights of `last` match, else the reason. nullopt if it is not attention.
  std::optional<std::string_view> MatchWeights(Attention& attention) const {
    std::vector<NodeId>& inside = attention.inside;
    const std::vector<Source> weights = Sources({ValueOf(attention.last, "self")}, &inside);
    if (weights.back().factor != 1 || !(weights.back().repeated == SymInt(1))) return std::nullopt;
    ValueId soft = weights.back().value, condition, zero;
    const m::Pattern select =
        m::Op("where", m::Value(&condition), m::Value(&zero), m::Value(&soft));
    const std::optional<std::vector<NodeId>> where = matcher_.Match(select, soft);
    attention.selects_rows = where.has_value();
    if (where.has_value() && masks_.Fill(zero) != 0.0) return std::nullopt;
    const std::optional<std::vector<NodeId>> softmax =
        matcher_.Match(m::Op("_softmax", m::Value(&attention.scores), m::LastDim()), soft);
    if (!softmax.has_value()) return std::nullopt;
    const TensorMeta& shape = graph_.MetaOf(attention.scores);
    const int rank = shape.rank();
    if (!kFloatCastTypes.contains(shape.dtype) || rank < 3 || rank > 4 ||
        graph_.MetaOf(graph_.ResultOf(attention.last)).dtype != DType::kFloat32 ||
        !shape.sizes[rank - 3].AsInt().has_value()) {
      return "its scores are not floats of [heads, queries, keys] with a known number of heads";
    }
    inside.push_back(softmax->front());
    if (where.has_value()) {
      const m::Pattern hidden =
          m::Op("aten.eq.Scalar", m::Same(&attention.scores), m::Number(-kInfinity));
      const m::Pattern any = m::Op("aten.any.dim", m::Op("logical_not", hidden), m::LastDim())
                                 .With("keepdim", m::Literal(true));
      const std::optional<std::vector<NodeId>> empty =
          matcher_.Match(m::Op("logical_not", any), condition);
      if (!empty.has_value()) return "it does not select zeros for rows of -inf";
      inside.insert(inside.end(), empty->begin(), empty->end());
      inside.push_back(where->front());
      const NodeId filled = graph_.value(zero).producer;
      if (filled.valid() && node(filled).operand() == Argument(soft)) inside.push_back(filled);
    }
    std::vector<NodeId> users = inside;
    users.push_back(attention.last);
    bool used_inside = IsUsedOnlyBy(soft, users);
    for (const Source& source : weights) {
      used_inside = used_inside && IsUsedOnlyBy(source.value, users);
    }
    return used_inside ? "" : "its weights have other users";
  }

  // scores = matmul [+ masks], or where(condition, scores, fill) with any of them as `matmul`.
  // Finds the matmul, [.., queries, keys], with its factor, and the masks, the last one first.
  bool FindMatmul(Attention& attention) const {
    ValueId scores = attention.scores;
    for (;;) {
      const Source end = Sources({scores}, &attention.inside).back();
      if (!(end.repeated == SymInt(1))) return false;
      attention.matmul = end;
      if (IsComputedBy(end.value, kBmm)) return true;
      if (end.factor != 1 || attention.masks.size() == kMostMasks) return false;
      ValueId left, right, condition;
      Argument alpha;
      const std::optional<std::vector<NodeId>> masked =
          matcher_.Match(Masked(m::Value(&left), m::Value(&right), &condition, &alpha), end.value);
      if (!masked.has_value()) return false;
      const bool swaps = !IsMatmul(left, kMostMasks - attention.masks.size());
      if (swaps) std::swap(left, right);
      const TensorMeta& meta = graph_.MetaOf(end.value);
      if (graph_.MetaOf(left).sizes != meta.sizes || graph_.MetaOf(left).dtype != meta.dtype) {
        return false;
      }
      AttentionMask mask = {.value = right, .sizes = meta.sizes};
      if (condition.valid()) {
        const std::optional<double> fill = masks_.Fill(right);
        if (!fill.has_value() || graph_.MetaOf(condition).dtype != DType::kBool) return false;
        mask.value = condition;
        mask.is_condition = true;
        mask.visible = !swaps;
        mask.fill = *fill;
      } else if (constants_.Number(alpha) != 1.0 ||
                 !kFloatCastTypes.contains(graph_.MetaOf(right).dtype)) {
        return false;
      }
      if (graph_.MetaOf(mask.value).rank() > meta.rank()) return false;
      attention.inside.push_back(masked->front());
      attention.masks.push_back(std::move(mask));
      scores = left;
    }
  }

  // This and the functions below return "" or why the attention is not fused.
  std::string_view MatchScores(Attention& attention) const {
    std::vector<AttentionMask>& masks = attention.masks;
    if (!FindMatmul(attention)) return "its scores are neither a matmul nor a matmul plus a mask";
    attention.causal = masks.size() == 1 && masks_.IsCausal(masks[0]);
    if (attention.causal) masks.clear();
    // The mask is a condition, if the scores have no other mask.
    if (masks.size() == 1) {
      const AttentionMask condition = masks_.ConditionOf(masks[0]);
      if (condition.is_condition && condition.fill == -kInfinity &&
          (condition.visible || masks[0].is_condition)) {
        masks[0] = condition;
      }
    }
    for (const AttentionMask& mask : masks) {
      if (mask.is_condition && (masks.size() > 1 || mask.fill != -kInfinity)) {
        return "its scores are filled with another value than -inf, or masked twice";
      }
      std::optional<MaskShape> shape = masks_.ShapeOf(mask, graph_.MetaOf(attention.scores).sizes);
      if (!shape.has_value()) return "its mask is not a reshape of [heads, queries, keys]";
      attention.mask_shapes.push_back(*std::move(shape));
    }
    attention.inside.push_back(graph_.value(attention.matmul.value).producer);
    return "";
  }

  // matmul = bmm(query, permute(key)), and bmm(weights, value)
  std::string_view MatchOperands(Attention& attention) const {
    const std::string_view missed = MatchOperandsOf(attention, attention.scores);
    // Scores may have been reshaped only for the softmax.
    if (missed.empty() || !attention.masks.empty()) return missed;
    return MatchOperandsOf(attention, attention.matmul.value).empty() ? "" : missed;
  }

  // The same for operands with the leading dimensions of `scores`.
  std::string_view MatchOperandsOf(Attention& attention, ValueId scores) const {
    const NodeId dot = graph_.value(attention.matmul.value).producer;
    const std::vector<SymInt>& shape = graph_.MetaOf(scores).sizes;
    const size_t rank = shape.size();
    const ValueId left = ValueOf(dot, "self"), right = ValueOf(attention.last, "mat2");
    std::vector<SymInt> sizes = shape;
    sizes[rank - 1] = graph_.MetaOf(left).sizes.back();
    const std::optional<Source> query = Innermost(Sources({left}), sizes);
    if (!query.has_value() || !(query->repeated == SymInt(1))) {
      return "its queries are not a reshape of [heads, queries, size]";
    }
    Source transposed = Sources({ValueOf(dot, "mat2")}).back();
    const NodeId permute = graph_.value(transposed.value).producer;
    if (!IsComputedBy(transposed.value, "permute_copy") || !SwapsLastTwo(permute)) {
      return "its keys are not transposed";
    }
    transposed.value = ValueOf(permute, "self");
    sizes[rank - 2] = shape[rank - 1];
    const std::optional<Source> key = Innermost(Sources(transposed), sizes);
    sizes[rank - 1] = graph_.MetaOf(right).sizes.back();
    const std::optional<Source> value = Innermost(Sources({right}), sizes);
    if (!key.has_value() || !value.has_value() || value->factor != 1 ||
        !(key->repeated == value->repeated)) {
      return "its keys and values are not reshapes of [heads, keys, size] with equal heads";
    }
    attention.query = *query;
    attention.key = *key;
    attention.value = *value;
    // The result has the leading dimensions of the scores.
    sizes[rank - 2] = shape[rank - 2];
    attention.sizes = std::move(sizes);
    return "";
  }

  // The users of a result of other rank, converted, quantized or neither, reshape it.
  std::string_view MatchResults(Attention& attention) const {
    const ValueId result = graph_.ResultOf(attention.last);
    attention.results = {attention.last};
    if (attention.sizes.size() == graph_.MetaOf(result).sizes.size()) return "";
    for (NodeId user : graph_.value(result).users) {
      if (Is(user, {kCast, kQuantize})) attention.results.push_back(user);
    }
    for (NodeId id : attention.results) {
      const ValueId output = graph_.ResultOf(id);
      for (NodeId user : graph_.value(output).users) {
        const bool converts = id == attention.last && Is(user, {kCast, kQuantize});
        if (!converts && !Is(user, "aten.view_copy.default")) {
          return "its result is used before it is reshaped";
        }
      }
      if (graph_.IsOutput(output)) return "its result is returned before it is reshaped";
    }
    return "";
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

  ValueId Widened(ValueId operand, NodeId last) {
    if (graph_.MetaOf(operand).dtype == DType::kFloat32) return operand;
    return casts_.Insert(operand, DType::kFloat32, last, last, "wide");
  }
  // Inserts the sum of the masks; None without a mask.
  Argument InsertMask(const Attention& attention) {
    const NodeId last = attention.last;
    Argument sum;
    for (size_t i = 0; i < attention.masks.size(); ++i) {
      const AttentionMask& mask = attention.masks[i];
      ValueId value = mask.value;
      if (mask.is_condition && !mask.visible) {
        value = Insert(last, "aten.logical_not.default", "mask", {{"self", value}}, DType::kBool,
                       graph_.MetaOf(value).sizes);
      } else if (!mask.is_condition) {
        value = Widened(value, last);
      }
      const MaskShape& shape = attention.mask_shapes[i];
      value = InsertReshape(last, "aten.expand_copy.default", value, shape.expanded);
      value = InsertReshape(last, "aten.view_copy.default", value, shape.reshaped);
      if (const ValueId* others = sum.get_if<ValueId>()) {
        value = Insert(last, "aten.add.Tensor", "mask", {{"self", *others}, {"other", value}},
                       DType::kFloat32,
                       SumSizes(graph_.MetaOf(*others).sizes, graph_.MetaOf(value).sizes));
      }
      sum = value;
    }
    return sum;
  }

  // bmm(softmax(bmm(query, permute(key)) * scale + mask), value)
  //   ->  attention(query, key, value, mask, scale, is_causal, nan_rows)
  bool Fuse(NodeId last) {
    Attention attention;
    attention.last = last;
    const std::optional<std::string_view> weights = MatchWeights(attention);
    if (!weights.has_value()) return false;
    std::string_view missed = *weights;
    if (missed.empty()) missed = MatchScores(attention);
    if (missed.empty()) missed = MatchOperands(attention);
    if (missed.empty()) missed = MatchResults(attention);
    if (!missed.empty()) {
      if (diagnostics_ != nullptr) {
        diagnostics_->RecordMiss(node(last).name, absl::StrCat("attention not fused: ", missed));
      }
      return false;
    }
    Rewrite(attention);
    return true;
  }

  void Rewrite(const Attention& attention) {
    const NodeId last = attention.last;
    const ValueId result = graph_.ResultOf(last);
    const Source &query = attention.query, &key = attention.key;
    if (diagnostics_ != nullptr) {
      diagnostics_->RecordRewrite(
          node(last).name, absl::StrCat("attention, ", exir::PrintType(graph_.MetaOf(query.value)),
                                        " to ", exir::PrintType(graph_.MetaOf(key.value)),
                                        attention.causal          ? ", causal"
                                        : attention.masks.empty() ? ""
                                                                  : " with a mask"));
    }
    const double scale = attention.matmul.factor * query.factor * key.factor;
    const Argument mask = InsertMask(attention);
    // Without a mask, every query sees a key. Otherwise softmax makes NaN of rows of -inf.
    const bool nan_rows = !attention.selects_rows && !mask.is_none();
    const ValueId q = Widened(query.value, last);
    ValueId k = key.value, v = attention.value.value;
    if (graph_.MetaOf(k).dtype != graph_.MetaOf(v).dtype) {
      k = Widened(k, last);
      v = Widened(v, last);
    }
    editor_.SetTarget(last, CpuOp("attention"));
    editor_.SetArguments(last, {q, k, v, mask, scale, attention.causal, nan_rows});
    for (NodeId id : attention.results) {
      const ValueId of = graph_.ResultOf(id);
      editor_.SetType(of, TensorMeta::Contiguous(graph_.MetaOf(of).dtype, attention.sizes));
      if (Is(id, kCast)) casts_.Become(id, result);
    }
    for (NodeId id : attention.inside) handles_.Fuse(editor_, last, id);
    for (NodeId id : attention.results) RemoveReshapes(id);
  }

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
      if (!Is(user, ReshapeOps()) || graph_.MetaOf(reshaped).sizes != graph_.MetaOf(result).sizes ||
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
  const ConstantViews constants_;
  const m::Matcher matcher_;
  const AttentionMasks masks_;
  FloatCasts casts_;
  const exir::OpRegistry& ops_;
};

}  // namespace

exir::Pass FuseAttention(FusedHandles& handles, PassDiagnostics* diagnostics) {
  return {"fuse_attention",
          [&handles, diagnostics](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return AttentionFusion(program, handles, diagnostics).Run();
          }};
}

}  // namespace belay::cpu
