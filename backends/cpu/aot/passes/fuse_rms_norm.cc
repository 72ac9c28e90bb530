#include "backends/cpu/aot/passes/fuse_rms_norm.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/node_kinds.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

enum class Op : uint8_t { kAdd, kMean, kMul, kPower, kRsqrt };
struct Row {
  std::string_view op;
  Op kind;
};
constexpr Row kRows[] = {
    {"aten.add.Scalar", Op::kAdd},          {"aten.add.Tensor", Op::kAdd},
    {"aten.mean.dim", Op::kMean},           {"aten.mul.Tensor", Op::kMul},
    {"aten.pow.Tensor_Scalar", Op::kPower}, {"aten.rsqrt.default", Op::kRsqrt},
};

class RmsNormFusion : NodeLowering {
 public:
  RmsNormFusion(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program), handles_(handles), kinds_(graph_, *program.ops, kRows) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Fuse(id); });
  }

 private:
  // Returns the producer of the argument, if it is of this kind.
  std::optional<NodeId> Producer(const Argument& argument, Op kind) const {
    const ValueId* value = argument.get_if<ValueId>();
    return value == nullptr ? std::nullopt : kinds_.Producer(*value, kind);
  }

  // Returns x if the argument is x^2.
  std::optional<ValueId> Squared(const Argument& argument) const {
    if (const std::optional<NodeId> power = Producer(argument, Op::kPower)) {
      const ValueId* base = graph_.node(*power).value_argument("self");
      const bool squares = views_.Number(graph_.node(*power).argument("exponent")) == 2.0;
      return base != nullptr && squares ? std::optional(*base) : std::nullopt;
    }
    const std::optional<NodeId> product = Producer(argument, Op::kMul);
    if (!product.has_value()) return std::nullopt;
    const ValueId* factor = graph_.node(*product).value_argument("self");
    const bool squares =
        factor != nullptr && graph_.node(*product).argument("other") == Argument(*factor);
    return squares ? std::optional(*factor) : std::nullopt;
  }

  // Returns the other factor if `product` multiplies the value.
  std::optional<ValueId> Beside(NodeId product, ValueId value) const {
    if (!kinds_.Is(product, Op::kMul)) return std::nullopt;
    const ValueId* self = graph_.node(product).value_argument("self");
    const ValueId* other = graph_.node(product).value_argument("other");
    if (self == nullptr || other == nullptr || *self == *other) return std::nullopt;
    return *self == value ? *other : *self;
  }

  bool Fuse(NodeId root) {
    if (!kinds_.Is(root, Op::kRsqrt)) return false;
    const std::optional<NodeId> sum = Producer(graph_.node(root).operand(), Op::kAdd);
    if (!sum.has_value()) return false;
    const std::optional<NodeId> mean = Producer(graph_.node(*sum).argument("self"), Op::kMean);
    const std::optional<double> eps = views_.Number(graph_.node(*sum).argument("other"));
    if (!mean.has_value() || !eps.has_value() ||
        views_.Number(graph_.node(*sum).argument("alpha")) != 1.0) {
      return false;
    }
    const Argument squares = graph_.node(*mean).argument("self");
    const std::optional<ValueId> x = Squared(squares);
    const TensorMeta* meta = x.has_value() ? graph_.value(*x).tensor() : nullptr;
    if (meta == nullptr || meta->dtype != DType::kFloat32 || meta->rank() < 1 ||
        graph_.MetaOf(graph_.ResultOf(root)).dtype != DType::kFloat32) {
      return false;
    }
    const Argument& dims = graph_.node(*mean).argument("dim");
    const int64_t last = meta->rank() - 1;
    if ((dims != Argument(Argument::List{last}) && dims != Argument(Argument::List{-1})) ||
        graph_.node(*mean).argument("keepdim") != Argument(true)) {
      return false;
    }
    const std::vector<NodeId> readers = graph_.value(graph_.ResultOf(root)).users;
    bool changed = false;
    for (NodeId reader : readers) {
      if (Beside(reader, graph_.ResultOf(root)) != x) continue;
      NodeId end = reader;
      Argument weight;
      if (const std::optional<ValueId> found = WeightOf(reader, *meta)) {
        end = graph_.value(graph_.ResultOf(reader)).users[0];
        weight = *found;
        handles_.Fuse(editor_, end, reader);
      }
      if (readers.size() == 1) {
        for (NodeId inner :
             {root, *sum, *mean, graph_.value(*squares.get_if<ValueId>()).producer}) {
          handles_.Fuse(editor_, end, inner);
        }
      }
      editor_.SetTarget(end, CpuOp("rms_norm"));
      editor_.SetArguments(end, {*x, weight, *eps});
      changed = true;
    }
    return changed;
  }

  // Returns the row by which the sole user multiplies the result.
  std::optional<ValueId> WeightOf(NodeId product, const TensorMeta& shape) const {
    const ValueId value = graph_.ResultOf(product);
    const std::optional<NodeId> user = graph_.SoleUser(value);
    if (!user.has_value()) return std::nullopt;
    const std::optional<ValueId> weight = Beside(*user, value);
    const TensorMeta* meta = weight.has_value() ? graph_.value(*weight).tensor() : nullptr;
    if (meta == nullptr || meta->dtype != DType::kFloat32 || meta->rank() != 1 ||
        !(meta->sizes[0] == shape.sizes.back())) {
      return std::nullopt;
    }
    return weight;
  }

  FusedHandles& handles_;
  const NodeKinds<Row> kinds_;
};

}  // namespace

exir::Pass FuseRmsNorm(FusedHandles& handles) {
  return {"fuse_rms_norm", [&handles](exir::ExportedProgram& program) {
            return RmsNormFusion(program, handles).Run();
          }};
}

}  // namespace belay::cpu
