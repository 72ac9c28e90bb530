#include "backends/cpu/aot/passes/fuse_epilogues.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/activation_forms.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

class EpilogueFusion : NodeLowering {
 public:
  EpilogueFusion(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program),
        handles_(handles),
        activations_(program, views_),
        constants_(program, editor_),
        cat_(program.ops->Find("aten.cat.default")) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    const std::vector<NodeId> nodes = graph_.NodeList();
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      if (!graph_.contains(*it) || !HasEpilogue(*graph_.node(*it).target)) continue;
      for (;;) {
        ABSL_ASSIGN_OR_RETURN(const bool fused, Step(*it));
        if (!fused) break;
        changed = true;
      }
    }
    for (NodeId id : nodes) {
      if (graph_.contains(id) && graph_.node(id).target->aten() == cat_ && FuseIntoParts(id)) {
        changed = true;
      }
    }
    if (changed) EraseUnused(program_, editor_);
    return changed;
  }

 private:
  // Which slots of an epilogue are in use or unavailable.
  struct State {
    bool bias, other, multiply, activation, clamp;
    bool inner = false, output = false;
  };
  State StateOf(NodeId id) const {
    const exir::Node& node = graph_.node(id);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool quantized = IsQuantized(*node.target);
    return {.bias = !node.argument("bias").is_none(),
            .other = quantized || !node.argument("other").is_none(),
            .multiply = node.argument("combine") == Argument("mul"),
            .activation = node.argument("activation") != Argument("none"),
            .clamp = node.argument("low") != Argument(-kInfinity) ||
                     node.argument("high") != Argument(kInfinity),
            .inner = !quantized || !node.argument("inner_scale").is_none(),
            .output = !quantized || !node.argument("output_scale").is_none()};
  }

  // Fuses `nodes` into `id`, which then computes the last node's result at its position.
  void FuseInto(NodeId id, const std::vector<NodeId>& nodes) {
    const ValueId result = graph_.ResultOf(id), last = graph_.ResultOf(nodes.back());
    editor_.MoveBefore(id, nodes.back());
    editor_.SetType(result, graph_.value(last).type);
    editor_.ReplaceAllUses(last, result);
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      handles_.Fuse(editor_, id, *it);
      editor_.EraseNode(*it);
    }
  }

  // activation(op(…))           ->  op(…, activation)
  // op(…) + row of constants     ->  op(…, bias)
  // op(…) + y, op(…) * y         ->  op(…, other=y, combine)
  // clamp(op(…))                 ->  op(…, bounds)
  // quantize(op(…))              ->  op(…, quantization); likewise dequantize
  absl::StatusOr<bool> Step(NodeId id) {
    const State state = StateOf(id);
    const ValueId result = graph_.ResultOf(id);
    if (IsQuantized(*graph_.node(id).target)) {
      if (FuseQuantization(id, state)) return true;
      if (state.inner || state.output) return false;
    }
    if (!state.activation && !state.clamp && !state.multiply) {
      if (const std::optional<ActivationForm> form = activations_.Find(result)) {
        SetArgument(id, "activation", std::string(form->activation));
        FuseInto(id, form->nodes);
        return true;
      }
    }
    const std::optional<NodeId> reader = graph_.SoleUser(result);
    if (!reader.has_value()) return false;
    if (!state.activation && !state.clamp && !state.multiply) {
      if (const std::optional<Argument> addend = activations_.Addend(*reader, result)) {
        if (!state.bias) {
          ABSL_ASSIGN_OR_RETURN(const bool fused, FuseBias(id, *reader, *addend));
          if (fused) return true;
        }
        if (!state.other && FuseOther(id, *reader, *addend)) return true;
      }
    }
    if (!state.other && !state.clamp) {
      if (const std::optional<Argument> factor = activations_.Factor(*reader, result)) {
        if (FuseOther(id, *reader, *factor)) {
          SetArgument(id, "combine", "mul");
          return true;
        }
      }
    }
    if (const std::optional<ClampForm> clamp = activations_.Clamp(*reader)) {
      FuseClamp(id, *reader, *clamp);
      return true;
    }
    return false;
  }

  // activation(cat([op(…), …]))  ->  cat([op(…, activation), …]); likewise clamp. Only if all parts
  // can fuse it.
  bool FuseIntoParts(NodeId id) {
    const auto* list = graph_.node(id).operand().get_if<Argument::List>();
    if (list == nullptr || list->empty()) return false;
    std::vector<NodeId> parts;
    for (const Argument& element : *list) {
      const ValueId* value = element.get_if<ValueId>();
      if (value == nullptr || !graph_.HasOneUse(*value)) return false;
      const NodeId part = graph_.value(*value).producer;
      if (!part.valid() || !HasEpilogue(*graph_.node(part).target) ||
          graph_.MetaOf(*value).dtype != DType::kFloat32) {
        return false;
      }
      const State state = StateOf(part);
      if (IsQuantized(*graph_.node(part).target) || state.activation || state.clamp ||
          state.multiply) {
        return false;
      }
      parts.push_back(part);
    }
    const ValueId result = graph_.ResultOf(id);
    std::vector<NodeId> fused;
    if (const std::optional<ActivationForm> form = activations_.Find(result)) {
      for (NodeId part : parts) SetArgument(part, "activation", std::string(form->activation));
      fused = form->nodes;
    } else {
      const std::optional<NodeId> reader = graph_.SoleUser(result);
      const std::optional<ClampForm> clamp =
          reader.has_value() ? activations_.Clamp(*reader) : std::nullopt;
      if (!clamp.has_value()) return false;
      for (NodeId part : parts) {
        SetArgument(part, "low", clamp->low);
        SetArgument(part, "high", clamp->high);
      }
      fused = {*reader};
    }
    editor_.ReplaceAllUses(graph_.ResultOf(fused.back()), result);
    for (auto it = fused.rbegin(); it != fused.rend(); ++it) {
      handles_.Fuse(editor_, id, *it);
      editor_.EraseNode(*it);
    }
    return true;
  }

  // Fuses a quantization of the real result of a quantized operator, or a dequantization of its
  // quantized result.
  bool FuseQuantization(NodeId id, const State& state) {
    const std::optional<NodeId> reader = graph_.SoleUser(graph_.ResultOf(id));
    if (!reader.has_value()) return false;
    if (!state.output) {
      const std::optional<QuantizedForm> to = forms_.Quantize(*reader);
      if (!to.has_value() || !to->IsCallable()) return false;
      SetArgument(id, "output_scale", to->scale);
      SetArgument(id, "output_range", to->Range());
    } else {
      const std::optional<QuantizedForm> from = forms_.Dequantize(*reader);
      const Argument scale = graph_.node(id).argument("output_scale");
      const Argument range = graph_.node(id).argument("output_range");
      if (state.inner || !from.has_value() || scale != Argument(from->scale) ||
          (*range.get_if<Argument::List>())[0] != Argument(from->zero_point)) {
        return false;
      }
      SetArgument(id, "inner_scale", scale);
      SetArgument(id, "inner_range", range);
      SetArgument(id, "output_scale", Argument());
      SetArgument(id, "output_range", Argument::List());
    }
    FuseInto(id, {*reader});
    return true;
  }

  absl::StatusOr<bool> FuseBias(NodeId id, NodeId sum, const Argument& addend) {
    const std::optional<ConstantView> view = views_.Find(addend);
    const TensorMeta& result = graph_.MetaOf(graph_.ResultOf(id));
    if (!view.has_value() || view->tensor->dtype() != DType::kFloat32 ||
        view->rank() > result.rank() || graph_.MetaOf(graph_.ResultOf(sum)).sizes != result.sizes) {
      return false;
    }
    const int channels = IsOverImages(*graph_.node(id).target) ? 1 : result.rank() - 1;
    const int missing = result.rank() - view->rank();
    if (channels < missing) return false;
    for (int d = 0; d < view->rank(); ++d) {
      const bool along = d + missing == channels;
      if (!(view->sizes[d] == (along ? result.sizes[channels] : SymInt(1)))) return false;
    }
    ABSL_ASSIGN_OR_RETURN(const ValueId bias, constants_.Vector(*view));
    SetArgument(id, "bias", bias);
    FuseInto(id, {sum});
    return true;
  }

  bool FuseOther(NodeId id, NodeId reader, const Argument& other) {
    const ValueId* value = other.get_if<ValueId>();
    const TensorMeta& result = graph_.MetaOf(graph_.ResultOf(id));
    const TensorMeta* meta = value == nullptr ? nullptr : graph_.value(*value).tensor();
    if (meta == nullptr || meta->dtype != result.dtype || meta->sizes != result.sizes ||
        graph_.MetaOf(graph_.ResultOf(reader)).dtype != result.dtype) {
      return false;
    }
    SetArgument(id, "other", *value);
    FuseInto(id, {reader});
    return true;
  }

  void FuseClamp(NodeId id, NodeId reader, ClampForm clamp) {
    const double low = *graph_.node(id).argument("low").get_if<double>();
    const double high = *graph_.node(id).argument("high").get_if<double>();
    // PyTorch rounds the bounds to bfloat16.
    if (graph_.MetaOf(graph_.ResultOf(id)).dtype == DType::kBFloat16) {
      clamp = {BFloat16(clamp.low), BFloat16(clamp.high)};
    }
    SetArgument(id, "low", std::clamp<double>(low, clamp.low, clamp.high));
    SetArgument(id, "high", std::clamp<double>(high, clamp.low, clamp.high));
    FuseInto(id, {reader});
  }

  FusedHandles& handles_;
  const ActivationForms activations_;
  PackedConstants constants_;
  const exir::OpOverload* cat_;
};

}  // namespace

exir::Pass FuseEpilogues(FusedHandles& handles) {
  return {"fuse_epilogues", [&handles](exir::ExportedProgram& program) {
            return EpilogueFusion(program, handles).Run();
          }};
}

}  // namespace belay::cpu
