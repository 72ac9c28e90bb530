#include "backends/cpu/aot/passes/fuse_rotary_embedding.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/node_kinds.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

enum class Op : uint8_t { kAdd, kCat, kMul, kNeg, kSlice, kSplit, kSub };
struct Row {
  std::string_view op;
  Op kind;
};
constexpr Row kRows[] = {
    {"aten.add.Tensor", Op::kAdd},          {"aten.cat.default", Op::kCat},
    {"aten.mul.Tensor", Op::kMul},          {"aten.neg.default", Op::kNeg},
    {"aten.slice_copy.Tensor", Op::kSlice}, {"aten.split_with_sizes_copy.default", Op::kSplit},
    {"aten.sub.Tensor", Op::kSub},
};

using Pair = std::pair<ValueId, ValueId>;

class RotaryFusion : NodeLowering {
 public:
  RotaryFusion(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program), handles_(handles), kinds_(graph_, *program.ops, kRows) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) {
      inside_.clear();
      return FuseHalves(id) || FuseWhole(id);
    });
  }

 private:
  bool Is(NodeId id, Op kind) const { return kinds_.Is(id, kind); }
  std::optional<NodeId> Producer(ValueId value, Op kind) {
    const std::optional<NodeId> producer = kinds_.Producer(value, kind);
    if (producer.has_value()) inside_.push_back(*producer);
    return producer;
  }
  // Returns the last size of a float32 tensor, if it is known.
  std::optional<int64_t> Features(ValueId value) const {
    const TensorMeta* meta = graph_.value(value).tensor();
    if (meta == nullptr || meta->dtype != DType::kFloat32 || meta->rank() < 1) return std::nullopt;
    return meta->sizes.back().AsInt();
  }
  static bool IsLast(const Argument& dim, int rank) {
    return dim == Argument(-1) || dim == Argument(int64_t{rank - 1});
  }

  // Returns both operands of a multiplication, addition or subtraction.
  std::optional<Pair> Operands(NodeId id) const {
    const Node& node = graph_.node(id);
    const ValueId *self = node.value_argument("self"), *other = node.value_argument("other");
    const bool scaled = !Is(id, Op::kMul) && views_.Number(node.argument("alpha")) != 1.0;
    if (self == nullptr || other == nullptr || scaled) return std::nullopt;
    return Pair(*self, *other);
  }
  std::optional<Pair> Operands(ValueId value, Op kind) {
    const std::optional<NodeId> producer = Producer(value, kind);
    return producer.has_value() ? Operands(*producer) : std::nullopt;
  }

  // The row whose half a value is, and which half.
  struct Half {
    ValueId row;
    int index = 0;
    bool operator==(const Half&) const = default;
  };
  std::optional<Half> HalfOf(ValueId value) {
    const std::optional<int64_t> features = Features(value);
    if (!features.has_value()) return std::nullopt;
    const NodeId producer = graph_.value(value).producer;
    if (!Is(producer, Op::kSplit) && !Is(producer, Op::kSlice)) return std::nullopt;
    const Node& node = graph_.node(producer);
    const ValueId* row = node.value_argument("self");
    if (row == nullptr || Features(*row) != *features * 2 ||
        !IsLast(node.argument("dim"), graph_.MetaOf(*row).rank())) {
      return std::nullopt;
    }
    inside_.push_back(producer);
    if (Is(producer, Op::kSplit)) {
      // A split into two halves.
      const std::vector<ValueId>& pieces = node.outputs[0].values;
      if (pieces.size() != 2) return std::nullopt;
      return Half{*row, value == pieces[0] ? 0 : 1};
    }
    const Argument& start = node.argument("start");
    if (node.argument("step") != Argument(1)) return std::nullopt;
    if (start.is_none() || start == Argument(0)) return Half{*row, 0};
    if (start == Argument(*features) || start == Argument(-*features)) return Half{*row, 1};
    return std::nullopt;
  }

  // A half, or the row itself, times another factor.
  struct Term {
    Half half;
    ValueId factor;
  };
  std::optional<Term> TermOf(ValueId value) {
    const std::optional<Pair> factors = Operands(value, Op::kMul);
    if (!factors.has_value()) return std::nullopt;
    for (const auto& [x, factor] : {*factors, Pair(factors->second, factors->first)}) {
      const std::optional<Half> half = HalfOf(x);
      if (half.has_value() && graph_.MetaOf(value).sizes == graph_.MetaOf(x).sizes)
        return Term{*half, factor};
    }
    return std::nullopt;
  }

  // Returns both operands of a concatenation along rows.
  std::optional<Pair> Pieces(NodeId id) const {
    const Argument::List* list = graph_.node(id).argument("tensors").get_if<Argument::List>();
    if (list == nullptr || list->size() != 2) return std::nullopt;
    const ValueId *first = (*list)[0].get_if<ValueId>(), *second = (*list)[1].get_if<ValueId>();
    if (first == nullptr || second == nullptr || !Features(*first).has_value() ||
        Features(*first) != Features(*second) ||
        !IsLast(graph_.node(id).argument("dim"), graph_.MetaOf(*first).rank())) {
      return std::nullopt;
    }
    return Pair(*first, *second);
  }

  // Whether the value has a last dimension of `features` and broadcasts to the row.
  bool AreAngles(ValueId value, ValueId row, int64_t features) const {
    if (Features(value) != features) return false;
    const std::vector<SymInt>&of = graph_.MetaOf(value).sizes, &to = graph_.MetaOf(row).sizes;
    if (of.size() > to.size()) return false;
    for (size_t i = 2; i <= of.size(); ++i) {
      const SymInt& size = of[of.size() - i];
      if (!(size == SymInt(1)) && !(size == to[to.size() - i])) return false;
    }
    return true;
  }

  bool Make(NodeId id, ValueId row, ValueId cosine, ValueId sine, int64_t features) {
    if (!AreAngles(cosine, row, features) || !AreAngles(sine, row, features) ||
        graph_.MetaOf(cosine).sizes != graph_.MetaOf(sine).sizes ||
        graph_.MetaOf(graph_.ResultOf(id)).sizes != graph_.MetaOf(row).sizes) {
      return false;
    }
    for (NodeId inner : inside_) handles_.Fuse(editor_, id, inner);
    editor_.SetTarget(id, CpuOp("rotary_embedding"));
    editor_.SetArguments(id, {row, cosine, sine});
    return true;
  }

  // cat(a * cosine - b * sine, a * sine + b * cosine).
  bool FuseHalves(NodeId id) {
    const std::optional<Pair> pieces = Is(id, Op::kCat) ? Pieces(id) : std::nullopt;
    if (!pieces.has_value()) return false;
    const std::optional<Pair> difference = Operands(pieces->first, Op::kSub);
    const std::optional<Pair> sum = Operands(pieces->second, Op::kAdd);
    if (!difference.has_value() || !sum.has_value()) return false;
    const std::optional<Term> a = TermOf(difference->first), b = TermOf(difference->second);
    std::optional<Term> c = TermOf(sum->first), d = TermOf(sum->second);
    if (!a || !b || !c || !d) return false;
    if (c->half.index == 1) std::swap(c, d);
    const ValueId row = a->half.row;
    const Half first = {row, 0}, second = {row, 1};
    if (!(a->half == first) || !(b->half == second) || !(c->half == first) ||
        !(d->half == second) || c->factor != b->factor || d->factor != a->factor) {
      return false;
    }
    return Make(id, row, a->factor, b->factor, *Features(pieces->first));
  }

  // x * cosine + cat(-b, a) * sine.
  bool FuseWhole(NodeId id) {
    const std::optional<Pair> terms = Is(id, Op::kAdd) ? Operands(id) : std::nullopt;
    if (!terms.has_value()) return false;
    for (const auto& [straight, turned] : {*terms, Pair(terms->second, terms->first)}) {
      inside_.clear();
      const std::optional<Pair> x = Operands(straight, Op::kMul), y = Operands(turned, Op::kMul);
      if (!x.has_value() || !y.has_value()) continue;
      for (const auto& [swapped, sine] : {*y, Pair(y->second, y->first)}) {
        const std::optional<ValueId> row = RowOfTurned(swapped);
        if (!row.has_value() || (x->first != *row && x->second != *row)) continue;
        const ValueId cosine = x->first == *row ? x->second : x->first;
        return Make(id, *row, cosine, sine, *Features(*row));
      }
    }
    return false;
  }
  // Returns x if the value is cat(-b, a).
  std::optional<ValueId> RowOfTurned(ValueId value) {
    const std::optional<NodeId> cat = Producer(value, Op::kCat);
    const std::optional<Pair> pieces = cat.has_value() ? Pieces(*cat) : std::nullopt;
    if (!pieces.has_value()) return std::nullopt;
    const std::optional<NodeId> negative = Producer(pieces->first, Op::kNeg);
    if (!negative.has_value()) return std::nullopt;
    const std::optional<Half> b = HalfOf(*graph_.node(*negative).operand().get_if<ValueId>());
    const std::optional<Half> a = HalfOf(pieces->second);
    if (!a || !b || a->index != 0 || b->index != 1 || a->row != b->row) return std::nullopt;
    return a->row;
  }

  FusedHandles& handles_;
  const NodeKinds<Row> kinds_;
  std::vector<NodeId> inside_;  // nodes of the current match
};

}  // namespace

exir::Pass FuseRotaryEmbedding(FusedHandles& handles) {
  return {"fuse_rotary_embedding", [&handles](exir::ExportedProgram& program) {
            return RotaryFusion(program, handles).Run();
          }};
}

}  // namespace belay::cpu
