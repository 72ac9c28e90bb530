#include "backends/cpu/aot/passes/lower_lookup.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

constexpr int64_t kByteValues = 256;
constexpr size_t kMaxNodes = 16;

class LookupLowering : NodeLowering {
 public:
  LookupLowering(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program), handles_(handles) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Lower(id); });
  }

 private:
  // The nodes that compute a function of one dequantized tensor.
  struct Function {
    std::optional<QuantizedForm> from;  // the tensor's bytes
    std::vector<ValueId> reals;         // the tensor, dequantized once or several times
    std::vector<NodeId> nodes;          // in execution order
    size_t met = 0;                     // nodes visited; bounds the depth of the search
  };

  // Whether the value is a constant that broadcasts to the table's single dimension without
  // changing its size.
  bool IsNumber(ValueId value) const {
    const TensorMeta* meta = graph_.value(value).tensor();
    return meta != nullptr && meta->rank() <= 1 && views_.Number(value).has_value();
  }

  // Adds the nodes that compute `value`. Returns false if it depends on more than one tensor.
  bool Collect(ValueId value, Function& function) const {
    if (absl::c_linear_search(function.reals, value)) return true;
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid()) return false;
    if (std::count(function.nodes.begin(), function.nodes.end(), producer) != 0) return true;
    if (const std::optional<QuantizedForm> form = forms_.DequantizedBytes(value)) {
      if (!function.from.has_value()) function.from = form;
      if (form->input != function.from->input || !form->IsLike(*function.from)) return false;
      function.reals.push_back(value);
      return true;
    }
    const Node& node = graph_.node(producer);
    const TensorMeta* meta = graph_.value(value).tensor();
    if (!node.target->has_trait(exir::kPointwise) ||
        node.target->has_trait(exir::kNondeterministic) || node.outputs.size() != 1 ||
        node.outputs[0].kind != exir::NodeOutput::Kind::kValue || meta == nullptr ||
        meta->dtype != DType::kFloat32 || graph_.IsOutput(value) || function.met == kMaxNodes) {
      return false;
    }
    ++function.met;
    bool collected = true;
    for (const Argument& argument : node.arguments) {
      ForEachValue(argument, [&](ValueId operand) {
        collected = collected && (IsNumber(operand) || Collect(operand, function));
      });
    }
    if (!collected || !function.from.has_value() ||
        meta->sizes != graph_.value(function.from->input).tensor()->sizes) {
      return false;
    }
    function.nodes.push_back(producer);
    return true;
  }

  // quantize(f(dequantize(x)))  ->  lookup(x, table), table[i] = quantize(f(dequantize(i)))
  absl::StatusOr<bool> Lower(NodeId id) {
    const std::optional<QuantizedForm> to = forms_.Quantize(id);
    if (!to.has_value() || !to->IsCallable()) return false;
    Function function;
    if (!Collect(to->input, function) || function.nodes.empty()) return false;
    for (NodeId node : function.nodes) {
      for (NodeId user : graph_.value(graph_.ResultOf(node)).users) {
        const bool inside =
            user == id || std::count(function.nodes.begin(), function.nodes.end(), user) != 0;
        if (!inside) return false;
      }
    }
    const QuantizedForm from = *function.from;
    ABSL_ASSIGN_OR_RETURN(const ValueId reals, Reals(from));
    absl::flat_hash_map<ValueId, ValueId> made;
    for (ValueId real : function.reals) made.emplace(real, reals);
    std::vector<NodeId> nodes = function.nodes;
    nodes.push_back(id);
    ValueId table = reals;
    for (NodeId original : nodes) {
      const Node& node = graph_.node(original);
      const ValueId result = node.results()[0];
      exir::GraphEditor::NewNode copy{.name = node.name + "_table",
                                      .target = node.target,
                                      .arguments = node.arguments,
                                      .provenance = node.provenance};
      const DType dtype = graph_.value(result).tensor()->dtype;
      table = editor_.InsertOp(id, std::move(copy),
                               TensorMeta::Contiguous(dtype, {exir::SymInt(kByteValues)}));
      for (const auto& [old, now] : made) {
        editor_.ReplaceUsesIn(graph_.value(table).producer, old, now);
      }
      made.emplace(result, table);
    }
    editor_.SetTarget(id, CpuOp("lookup"));
    editor_.SetArguments(id, {from.input, table});
    for (auto it = function.nodes.rbegin(); it != function.nodes.rend(); ++it) {
      handles_.Fuse(editor_, id, *it);
    }
    return true;
  }

  // The reals of the 256 byte values, as dequantize_per_tensor computes them.
  absl::StatusOr<ValueId> Reals(const QuantizedForm& form) {
    std::vector<float> reals;
    for (int64_t i = 0; i < kByteValues; ++i) {
      reals.push_back(static_cast<float>(i - form.zero_point) * static_cast<float>(form.scale));
    }
    ABSL_ASSIGN_OR_RETURN(exir::ConstantTensor made,
                          exir::FloatConstant({kByteValues}, std::move(reals)));
    const std::string target = exir::UnusedTensorName(program_, "_lookup_values", next_);
    const ValueId input = exir::InsertConstantInput(
        program_, editor_, exir::EndOfConstants(program_), target, target,
        TensorMeta::Contiguous(DType::kFloat32, {exir::SymInt(kByteValues)}));
    program_.constants.emplace(target, std::move(made));
    return input;
  }

  FusedHandles& handles_;
  int next_ = 0;
};

}  // namespace

exir::Pass LowerLookup(FusedHandles& handles) {
  return {"lower_lookup", [&handles](exir::ExportedProgram& program) {
            return LookupLowering(program, handles).Run();
          }};
}

}  // namespace belay::cpu
