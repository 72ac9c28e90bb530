#include "backends/cpu/aot/passes/lower_quantized_add.h"

#include <optional>

#include "backends/cpu/aot/passes/activation_forms.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

class AddLowering : NodeLowering {
 public:
  AddLowering(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program), handles_(handles), activations_(program, views_) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Lower(id); });
  }

 private:
  // quantize(dequantize(a) + dequantize(b))  ->  quantized_add(a, b)
  absl::StatusOr<bool> Lower(NodeId id) {
    const std::optional<QuantizedForm> to = forms_.Quantize(id);
    if (!to.has_value() || !to->IsCallable() || graph_.SoleUser(to->input) != id) {
      return false;
    }
    const NodeId sum = graph_.value(to->input).producer;
    if (!sum.valid()) return false;
    const Argument self = graph_.node(sum).argument("self");
    const std::optional<QuantizedForm> a = forms_.DequantizedBytes(self);
    if (!a.has_value()) return false;
    const std::optional<Argument> addend = activations_.Addend(sum, *self.get_if<ValueId>());
    const std::optional<QuantizedForm> b =
        addend.has_value() ? forms_.DequantizedBytes(*addend) : std::nullopt;
    if (!b.has_value() || SizesOf(a->input) != SizesOf(b->input)) return false;
    handles_.Fuse(editor_, id, sum);
    editor_.SetTarget(id, CpuOp("quantized_add"));
    editor_.SetArguments(id, {a->input, b->input, a->scale, a->zero_point, b->scale, b->zero_point,
                              to->scale, to->Range()});
    return true;
  }

  const std::vector<exir::SymInt>& SizesOf(ValueId value) const {
    return graph_.value(value).tensor()->sizes;
  }

  FusedHandles& handles_;
  const ActivationForms activations_;
};

}  // namespace

exir::Pass LowerQuantizedAdd(FusedHandles& handles) {
  return {"lower_quantized_add", [&handles](exir::ExportedProgram& program) {
            return AddLowering(program, handles).Run();
          }};
}

}  // namespace belay::cpu
