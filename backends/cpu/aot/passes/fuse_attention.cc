#include "backends/cpu/aot/passes/fuse_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/float_casts.h"
#include "backends/cpu/aot/passes/node_kinds.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"

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
  kBmm,
  kCast,
  kDiv,
  kEq,
  kExpand,
  kFill,
  kMul,
  kNot,
  kPermute,
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
    {"aten.bmm.default", Op::kBmm},
    {"aten.div.Scalar", Op::kDiv},
    {"aten.div.Tensor", Op::kDiv},
    {"aten.eq.Scalar", Op::kEq},
    {"aten.expand_copy.default", Op::kExpand},
    {"aten.full.default", Op::kFill},
    {"aten.full_like.default", Op::kFill},
    {"aten.logical_not.default", Op::kNot},
    {"aten.mul.Scalar", Op::kMul},
    {"aten.mul.Tensor", Op::kMul},
    {"aten.permute_copy.default", Op::kPermute},
    {"aten.scalar_tensor.default", Op::kFill},
    {"aten.unsqueeze_copy.default", Op::kReshape},
    {"aten.view_copy.default", Op::kReshape},
    {"aten.where.self", Op::kWhere},
    {"dim_order_ops._to_dim_order_copy.default", Op::kCast},
};

// Supported dtypes. Accumulators are float32; other dtypes are widened.
constexpr DTypeSet kDTypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};
// The lowest finite value of the dtype.
double LeastOf(DType dtype) {
  return dtype == DType::kFloat32    ? -0x1.fffffep127
         : dtype == DType::kBFloat16 ? -0x1.fep127
                                     : -65504;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A value found through reshapes, conversions, scalar factors and repetitions: [.., rows, columns]
// with the same rows.
struct Source {
  ValueId value;
  double factor = 1;
  SymInt repeated = 1;  // number of adjacent equal copies in the final value
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
        casts_(program, editor_) {}

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
  const TensorMeta& MetaOf(ValueId value) const { return *graph_.value(value).tensor(); }

  // Returns the operand of a reshape that keeps the last two dimensions.
  std::optional<ValueId> Reshaped(ValueId value) const {
    const std::optional<NodeId> reshape = Producer(value, Op::kReshape);
    if (!reshape.has_value()) return std::nullopt;
    const ValueId operand = ValueOf(*reshape, "self");
    const std::vector<SymInt>& from = MetaOf(operand).sizes;
    const std::vector<SymInt>& to = MetaOf(value).sizes;
    if (from.size() < 3 || to.size() < 3 || !std::equal(from.end() - 2, from.end(), to.end() - 2)) {
      return std::nullopt;
    }
    return operand;
  }
  // Returns the operand of a conversion between supported dtypes.
  std::optional<ValueId> Converted(ValueId value) const {
    const std::optional<NodeId> cast = Producer(value, Op::kCast);
    if (!cast.has_value()) return std::nullopt;
    const ValueId operand = ValueOf(*cast, "self");
    if (!kDTypes.contains(MetaOf(operand).dtype) || !kDTypes.contains(MetaOf(value).dtype)) {
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
        MetaOf(operand).sizes != MetaOf(value).sizes ||
        MetaOf(operand).dtype != MetaOf(value).dtype) {
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
        const std::vector<SymInt>& from = MetaOf(operand).sizes;
        const std::vector<SymInt>& to = MetaOf(value).sizes;
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
      const TensorMeta& meta = MetaOf(it->value);
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
    return dim == Argument(-1) || dim == Argument(int64_t{MetaOf(value).rank() - 1});
  }

  // Whether no element is -inf or NaN.
  bool IsFinite(ValueId mask) const {
    for (;;) {
      std::optional<NodeId> view = Producer(mask, Op::kReshape);
      if (!view.has_value()) view = Producer(mask, Op::kExpand);
      // Widening never yields an infinity from a finite value.
      if (!view.has_value() && MetaOf(mask).dtype == DType::kFloat32 &&
          Converted(mask).has_value()) {
        view = Producer(mask, Op::kCast);
      }
      if (!view.has_value()) break;
      mask = ValueOf(*view, "self");
    }
    const double least = LeastOf(MetaOf(mask).dtype);
    if (const std::optional<NodeId> where = Producer(mask, Op::kWhere)) {
      for (std::string_view choice : {"self", "other"}) {
        const std::optional<double> number = Fill(ValueOf(*where, choice));
        if (!number.has_value() || !(*number >= least)) return false;
      }
      return true;
    }
    const std::optional<ConstantView> constant = constants_.Find(mask);
    if (!constant.has_value() || !kDTypes.contains(constant->tensor->dtype())) return false;
    const std::optional<std::vector<double>> elements = constant->Elements();
    return elements.has_value() &&
           std::all_of(elements->begin(), elements->end(), [&](double x) { return x >= least; });
  }

  // Whether only these nodes use the value.
  bool IsReadBy(ValueId value, const std::vector<NodeId>& readers) const {
    if (graph_.IsOutput(value)) return false;
    const std::vector<NodeId>& users = graph_.value(value).users;
    return std::all_of(users.begin(), users.end(), [&](NodeId user) {
      return std::find(readers.begin(), readers.end(), user) != readers.end();
    });
  }

  // Returns the matmul that computes the scores, [.., queries, keys], with its factor.
  std::optional<Source> Product(ValueId scores) {
    const size_t before = inside_.size();
    const std::vector<Source> sources = Sources({scores}, /*inside=*/true);
    if (Producer(sources.back().value, Op::kBmm).has_value() &&
        sources.back().repeated == SymInt(1)) {
      return sources.back();
    }
    inside_.resize(before);
    return std::nullopt;
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
    const TensorMeta& shape = MetaOf(scores);
    const int rank = shape.rank();
    const auto no = [&](std::string_view why) {
      if (diagnostics_ != nullptr) {
        diagnostics_->RecordMiss(node(last).name, absl::StrCat("attention not fused: ", why));
      }
      return false;
    };
    const ValueId result = node(last).results()[0];
    if (!kDTypes.contains(shape.dtype) || MetaOf(result).dtype != DType::kFloat32 || rank < 3 ||
        rank > 4 || !shape.sizes[rank - 3].AsInt().has_value()) {
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
    std::vector<NodeId> readers = inside_;
    readers.push_back(last);
    for (const Source& source : weights) {
      if (!IsReadBy(source.value, readers)) return no("its weights have other users");
    }
    if (!IsReadBy(soft, readers)) return no("its weights have other users");

    // Match the scores: a matmul and an optional mask.
    Argument mask;
    std::optional<Source> product = Product(scores);
    if (!product.has_value()) {
      ValueId added = scores;
      while (const std::optional<ValueId> converted = Converted(added)) {
        inside_.push_back(graph_.value(added).producer);
        added = *converted;
      }
      const std::optional<NodeId> sum = Producer(added, Op::kAdd);
      if (!sum.has_value() || constants_.Number(node(*sum).argument("alpha")) != 1.0) {
        return no("its scores are neither a matmul nor a matmul plus a mask");
      }
      inside_.push_back(*sum);
      ValueId left = ValueOf(*sum, "self"), right = ValueOf(*sum, "other");
      if (!left.valid() || !right.valid()) return no("its mask is a scalar");
      product = Product(left);
      if (!product.has_value()) {
        std::swap(left, right);
        product = Product(left);
      }
      if (!product.has_value() || MetaOf(left).sizes != shape.sizes ||
          !kDTypes.contains(MetaOf(right).dtype) || MetaOf(right).rank() > rank) {
        return no("its scores are neither a matmul nor a matmul plus a mask");
      }
      if (!where.has_value() && !IsFinite(right)) {
        return no("its mask may be -inf for a whole row, where softmax returns NaN");
      }
      mask = right;
    }
    const NodeId dot = *Producer(product->value, Op::kBmm);
    inside_.push_back(dot);

    // Match the operands of the matmul.
    const std::vector<Source> queries = Sources({ValueOf(dot, "self")}, false);
    std::vector<SymInt> sizes = shape.sizes;
    sizes[rank - 1] = MetaOf(queries[0].value).sizes.back();
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
    sizes[rank - 1] = MetaOf(ValueOf(last, "mat2")).sizes.back();
    const std::optional<Source> value = Innermost(Sources({ValueOf(last, "mat2")}, false), sizes);
    if (!key.has_value() || !value.has_value() || value->factor != 1 ||
        !(key->repeated == value->repeated)) {
      return no("its keys and values are not reshapes of [heads, keys, size] with equal heads");
    }

    // The result has the leading dimensions of the scores; its users, converted or not, reshape it.
    sizes[rank - 2] = shape.sizes[rank - 2];
    std::vector<NodeId> results = {last};
    if (rank != MetaOf(result).rank()) {
      for (NodeId reader : graph_.value(result).users) {
        if (Is(reader, Op::kCast)) results.push_back(reader);
      }
      for (NodeId id : results) {
        const ValueId read = node(id).results()[0];
        for (NodeId reader : graph_.value(read).users) {
          const bool reshapes =
              Is(reader, Op::kReshape) && node(reader).target->op() == "view_copy";
          if (!reshapes && (id != last || !Is(reader, Op::kCast))) {
            return no("its result is used before it is reshaped");
          }
        }
        if (graph_.IsOutput(read)) return no("its result is returned before it is reshaped");
      }
    }
    const double scale = product->factor * query->factor * key->factor;
    if (diagnostics_ != nullptr) {
      diagnostics_->RecordRewrite(
          node(last).name,
          absl::StrCat("attention, ", exir::PrintType(MetaOf(query->value)), " to ",
                       exir::PrintType(MetaOf(key->value)), mask.is_none() ? "" : " with a mask"));
    }
    const auto wide = [&](ValueId operand) {
      if (MetaOf(operand).dtype == DType::kFloat32) return operand;
      return casts_.Insert(operand, DType::kFloat32, last, last, "wide");
    };
    if (const ValueId* masked = mask.get_if<ValueId>()) mask = wide(*masked);
    const ValueId q = wide(query->value), k = wide(key->value), v = wide(value->value);
    editor_.SetTarget(last, CpuOp("attention"));
    editor_.SetArguments(last, {q, k, v, mask, scale, false});
    for (NodeId id : results) {
      const ValueId of = node(id).results()[0];
      editor_.SetType(of, TensorMeta::Contiguous(MetaOf(of).dtype, sizes));
      if (id != last) casts_.Become(id, result);
    }
    for (NodeId id : inside_) handles_.Fuse(editor_, last, id);
    for (NodeId id : results) RemoveReshapes(id);
    return true;
  }

  bool SwapsLastTwo(NodeId permute) const {
    const Argument::List* dims = node(permute).argument("dims").get_if<Argument::List>();
    if (dims == nullptr || dims->size() < 3) return false;
    const auto rank = static_cast<int64_t>(dims->size());
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t* dim = (*dims)[d].get_if<int64_t>();
      const int64_t expected = d < rank - 2 ? d : 2 * rank - 3 - d;
      if (dim == nullptr || (*dim < 0 ? *dim + rank : *dim) != expected) return false;
    }
    return true;
  }

  // Removes reshapes that return the result unchanged.
  void RemoveReshapes(NodeId id) {
    const ValueId result = node(id).results()[0];
    const std::vector<NodeId> users = graph_.value(result).users;
    for (NodeId reader : users) {
      const ValueId reshaped = node(reader).results()[0];
      if (!Is(reader, Op::kReshape) || MetaOf(reshaped).sizes != MetaOf(result).sizes ||
          graph_.IsOutput(reshaped)) {
        continue;
      }
      editor_.ReplaceAllUses(reshaped, result);
      handles_.Fuse(editor_, id, reader);
      editor_.EraseNode(reader);
    }
  }

  FusedHandles& handles_;
  PassDiagnostics* diagnostics_;
  exir::GraphEditor editor_;
  const exir::Graph& graph_;
  const NodeKinds<Row> kinds_;
  const ConstantViews constants_;
  FloatCasts casts_;
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
