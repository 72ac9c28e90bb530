#include "backends/cpu/aot/passes/fuse_rms_norm.h"

#include <optional>
#include <vector>

#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/match.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;
namespace m = exir::match;

class RmsNormFusion : NodeLowering {
 public:
  RmsNormFusion(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program), handles_(handles) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Fuse(id); });
  }

 private:
  // x * rsqrt(mean(x^2, -1, keepdim) + eps) [* weight]  ->  rms_norm(x, weight, eps)
  bool Fuse(NodeId root) {
    const std::optional<std::vector<NodeId>> inner = matcher_.Match(inverse_, root);
    const TensorMeta* meta = inner.has_value() ? graph_.value(x_).tensor() : nullptr;
    inverse_value_ = inner.has_value() ? graph_.ResultOf(root) : ValueId();
    if (meta == nullptr || meta->dtype != DType::kFloat32 || !IsFloat32(inverse_value_)) {
      return false;
    }
    const std::vector<NodeId> users = graph_.value(inverse_value_).users;
    bool changed = false;
    for (NodeId user : users) {
      if (!matcher_.Match(normalized_, user).has_value()) continue;
      NodeId end = user;
      Argument weight;
      normalized_value_ = graph_.ResultOf(user);
      const std::optional<NodeId> next = graph_.SoleUser(normalized_value_);
      if (next.has_value() && matcher_.Match(weighted_, *next).has_value() && IsRowOf(*meta)) {
        end = *next;
        weight = weight_;
        handles_.Fuse(editor_, end, user);
      }
      if (users.size() == 1) {
        for (NodeId id : *inner) handles_.Fuse(editor_, end, id);
      }
      editor_.SetTarget(end, CpuOp("rms_norm"));
      editor_.SetArguments(end, {x_, weight, eps_});
      changed = true;
    }
    return changed;
  }

  // Whether the weight is float32 of [last size of `shape`].
  bool IsRowOf(const TensorMeta& shape) const {
    const TensorMeta* meta = graph_.value(weight_).tensor();
    return meta != nullptr && meta->dtype == DType::kFloat32 && meta->rank() == 1 &&
           meta->sizes[0] == shape.sizes.back();
  }

  ValueId x_, inverse_value_, normalized_value_, weight_;
  double eps_ = 0;
  const m::Pattern square_ = m::OneOf({m::Op("aten.pow.Tensor_Scalar", m::Value(&x_), m::Number(2)),
                                       m::Op("aten.mul.Tensor", m::Value(&x_), m::Same(&x_))});
  const m::Pattern mean_ =
      m::Op("aten.mean.dim", square_, m::LastDim()).With("keepdim", m::Literal(true));
  const m::Pattern inverse_ =
      m::Op("rsqrt", m::Op("add", mean_, m::Number(&eps_)).With("alpha", m::Number(1)));
  const m::Pattern normalized_ =
      m::EitherOrder("aten.mul.Tensor", m::Same(&x_), m::Same(&inverse_value_));
  const m::Pattern weighted_ =
      m::EitherOrder("aten.mul.Tensor", m::Same(&normalized_value_), m::Value(&weight_));
  FusedHandles& handles_;
};

}  // namespace

exir::Pass FuseRmsNorm(FusedHandles& handles) {
  return {"fuse_rms_norm", [&handles](exir::ExportedProgram& program) {
            return RmsNormFusion(program, handles).Run();
          }};
}

}  // namespace belay::cpu
