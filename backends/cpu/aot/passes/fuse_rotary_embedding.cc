#include "backends/cpu/aot/passes/fuse_rotary_embedding.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/match.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;
namespace m = exir::match;

class RotaryFusion : NodeLowering {
 public:
  RotaryFusion(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program), handles_(handles) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) {
      for (const m::Pattern& pattern : {halves_, turned_}) {
        const std::optional<std::vector<NodeId>> nodes = matcher_.Match(pattern, id);
        if (nodes.has_value()) return Rewrite(id, *nodes);
      }
      return false;
    });
  }

 private:
  // Returns the last size of a float32 tensor, if it is known.
  std::optional<int64_t> Features(ValueId value) const {
    const TensorMeta* meta = graph_.value(value).tensor();
    if (meta == nullptr || meta->dtype != DType::kFloat32 || meta->rank() < 1) return std::nullopt;
    return meta->sizes.back().AsInt();
  }

  // Half 0 or 1 of the last dimension of `row`.
  m::Pattern Half(int index, const m::Pattern& row) const {
    return m::OneOf({m::Op("aten.split_with_sizes_copy.default", row)
                         .With("dim", m::LastDim())
                         .Output(static_cast<size_t>(index)),
                     m::Op("aten.slice_copy.Tensor", row)
                         .With("dim", m::LastDim())
                         .With("step", m::Literal(1))})
        .If([this, index](ValueId value) { return IsHalf(value, index); });
  }
  bool IsHalf(ValueId value, int index) const {
    const Node& node = graph_.node(graph_.value(value).producer);
    const std::optional<int64_t> size = Features(value);
    if (!size.has_value() || Features(*node.value_argument("self")) != *size * 2) return false;
    if (node.argument("step").is_none()) return node.results().size() == 2;  // a split
    const Argument& start = node.argument("start");
    if (index == 0) return start.is_none() || start == Argument(0);
    return start == Argument(*size) || start == Argument(-*size);
  }
  // The concatenation of two halves along the last dimension.
  m::Pattern Cat(m::Pattern first, m::Pattern second) const {
    return m::Op("cat", m::ListOf({std::move(first), std::move(second)}))
        .With("dim", m::LastDim())
        .If([this](ValueId value) {
          const auto& halves =
              *graph_.node(graph_.value(value).producer).operand().get_if<Argument::List>();
          const std::optional<int64_t> size = Features(*halves[0].get_if<ValueId>());
          return size.has_value() && Features(*halves[1].get_if<ValueId>()) == size;
        });
  }
  static m::Pattern Mul(m::Pattern a, m::Pattern b) {
    return m::EitherOrder("mul", std::move(a), std::move(b));
  }

  // Whether the value is float32 of [.., features] and broadcasts to the row.
  bool AreAngles(ValueId value, int64_t features) const {
    if (Features(value) != features) return false;
    const std::vector<SymInt>&of = graph_.MetaOf(value).sizes, &to = graph_.MetaOf(row_).sizes;
    if (of.size() > to.size()) return false;
    for (size_t i = 2; i <= of.size(); ++i) {
      const SymInt& size = of[of.size() - i];
      if (!(size == SymInt(1)) && !(size == to[to.size() - i])) return false;
    }
    return true;
  }

  bool Rewrite(NodeId id, const std::vector<NodeId>& nodes) {
    const std::optional<int64_t> row_features = Features(row_);
    if (!row_features.has_value()) return false;
    const bool by_halves = graph_.node(id).operand().is<Argument::List>();
    const int64_t features = by_halves ? *row_features / 2 : *row_features;
    if (!AreAngles(cosine_, features) || !AreAngles(sine_, features) ||
        graph_.MetaOf(cosine_).sizes != graph_.MetaOf(sine_).sizes ||
        graph_.MetaOf(graph_.ResultOf(id)).sizes != graph_.MetaOf(row_).sizes) {
      return false;
    }
    for (NodeId inner : nodes) {
      if (inner != id) handles_.Fuse(editor_, id, inner);
    }
    editor_.SetTarget(id, CpuOp("rotary_embedding"));
    editor_.SetArguments(id, {row_, cosine_, sine_});
    return true;
  }

  ValueId row_, cosine_, sine_;
  const m::Pattern first_ = Half(0, m::Same(&row_)), second_ = Half(1, m::Same(&row_));
  // cat(a * cosine - b * sine, a * sine + b * cosine)  ->  rotary_embedding(row, cosine, sine)
  // with the halves a and b of the row
  const m::Pattern halves_ =
      Cat(m::Op("sub", Mul(Half(0, m::Value(&row_)), m::Value(&cosine_)),
                Mul(second_, m::Value(&sine_)))
              .With("alpha", m::Number(1)),
          m::Sum(Mul(first_, m::Same(&sine_)), Mul(second_, m::Same(&cosine_))));
  // row * cosine + cat(-b, a) * sine  ->  rotary_embedding(row, cosine, sine)
  const m::Pattern turned_ = m::Sum(Mul(m::Value(&row_), m::Value(&cosine_)),
                                    Mul(Cat(m::Op("neg", second_), first_), m::Value(&sine_)));
  FusedHandles& handles_;
};

}  // namespace

exir::Pass FuseRotaryEmbedding(FusedHandles& handles) {
  return {"fuse_rotary_embedding", [&handles](exir::ExportedProgram& program) {
            return RotaryFusion(program, handles).Run();
          }};
}

}  // namespace belay::cpu
