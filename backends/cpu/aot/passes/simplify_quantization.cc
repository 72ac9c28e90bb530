#include "backends/cpu/aot/passes/simplify_quantization.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/aot/max_pool.h"
#include "backends/cpu/aot/passes/activation_forms.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "exir/ir/argument.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/node_like.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

class QuantizationSimplification : NodeLowering {
 public:
  QuantizationSimplification(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program),
        handles_(handles),
        activations_(program, views_),
        pad_(program.ops->Find("aten.constant_pad_nd.default")),
        max_pool_(program.ops->Find("aten.max_pool2d_with_indices.default")),
        mm_(program.ops->Find("aten.mm.default")),
        addmm_(program.ops->Find("aten.addmm.default")),
        convolution_(program.ops->Find("aten.convolution.default")),
        quantize_(program.ops->Find("quantized_decomposed.quantize_per_tensor.default")) {}

  bool Run() {
    for (NodeId id : graph_.NodeList()) MakeUnsigned(id);
    // Only the node itself and earlier nodes are erased meanwhile.
    for (NodeId id : graph_.NodeList()) {
      for (to_hoist_ = {id}; !to_hoist_.empty();) {
        const NodeId next = to_hoist_.back();
        to_hoist_.pop_back();
        Hoist(next);
      }
    }
    std::deque<NodeId> dequantizations;
    for (NodeId id : graph_.NodeList()) {
      if (forms_.Dequantize(id).has_value() || forms_.IsDequantizePerChannel(id)) {
        dequantizations.push_back(id);
      }
    }
    for (; !dequantizations.empty(); dequantizations.pop_front()) {
      for (NodeId sunk : Sink(dequantizations.front())) dequantizations.push_back(sunk);
    }
    for (NodeId id : graph_.NodeList()) ConvertOperand(id);
    if (changed_) editor_.EraseDeadNodes();
    return changed_;
  }

 private:
  void Set(NodeId id, std::string_view argument, Argument value) {
    SetArgument(id, argument, std::move(value));
    changed_ = true;
  }
  void SetDType(ValueId value, DType dtype) {
    TensorMeta meta = graph_.MetaOf(value);
    meta.dtype = dtype;
    editor_.SetType(value, std::move(meta));
  }
  bool IsReadOnlyBy(ValueId value, NodeId reader) const { return graph_.SoleUser(value) == reader; }

  // ---- int8

  void SetParameters(NodeId id, const QuantizedForm& form) {
    Set(id, "zero_point", form.zero_point);
    Set(id, "quant_min", form.quant_min);
    Set(id, "quant_max", form.quant_max);
    Set(id, "dtype", form.dtype);
  }

  // The form of bytes to which 128 was added.
  static QuantizedForm Unsigned(QuantizedForm form) {
    form.zero_point += 128;
    form.quant_min += 128;
    form.quant_max += 128;
    form.dtype = DType::kUint8;
    return form;
  }

  void MakeUnsigned(NodeId id) {
    const std::optional<QuantizedForm> form = forms_.Quantize(id);
    if (!form.has_value() || form->dtype != DType::kInt8) return;
    std::vector<ValueId> tensors = {graph_.ResultOf(id)};
    std::vector<std::pair<NodeId, QuantizedForm>> dequantizations;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (graph_.IsOutput(tensors[i])) return;
      const std::vector<NodeId>& readers = graph_.value(tensors[i]).users;
      for (NodeId reader : readers) {
        if (const std::optional<QuantizedForm> to = forms_.Dequantize(reader)) {
          dequantizations.push_back({reader, Unsigned(*to)});
        } else if (IsMovement(reader) && graph_.node(reader).operand() == Argument(tensors[i]) &&
                   std::count(readers.begin(), readers.end(), reader) == 1) {
          tensors.push_back(graph_.ResultOf(reader));
        } else {
          return;
        }
      }
    }
    SetParameters(id, Unsigned(*form));
    for (ValueId tensor : tensors) SetDType(tensor, DType::kUint8);
    for (const auto& [reader, to] : dequantizations) SetParameters(reader, to);
  }

  // mm(dequantize(q: int8), dequantize(W))  ->  mm(dequantize(quantize(dequantize(q)): uint8), …)
  // for a constant W, and so for convolutions. Quantizing with the same scale restores q + 128.
  // Such int8 tensors are inputs or results of the partition, or have other users.
  void ConvertOperand(NodeId id) {
    const exir::OpOverload* op = graph_.node(id).target->aten();
    const bool convolves = op == convolution_, adds = op == addmm_;
    if (!convolves && !adds && op != mm_) return;
    const std::string_view name = convolves ? "input" : adds ? "mat1" : "self";
    const Argument operand = graph_.node(id).argument(name);
    const std::optional<QuantizedForm> form = forms_.Dequantized(operand);
    if (!form.has_value() || form->dtype != DType::kInt8) return;
    if (!forms_.Constant(graph_.node(id).argument(convolves ? "weight" : "mat2")).has_value()) {
      return;
    }
    const ValueId real = *operand.get_if<ValueId>();
    const NodeId dequantize = graph_.value(real).producer;
    TensorMeta meta = graph_.MetaOf(real);
    meta.dtype = DType::kUint8;
    const exir::OpOverload* quantize_op = program_.ops->ToEdge(quantize_);
    const QuantizedForm to = Unsigned(*form);
    exir::GraphEditor::NewNode quantize =
        exir::NodeLike(graph_.node(dequantize),
                       exir::ArgumentsByName(*quantize_op->schema(), {{"input", real},
                                                                      {"scale", to.scale},
                                                                      {"zero_point", to.zero_point},
                                                                      {"quant_min", to.quant_min},
                                                                      {"quant_max", to.quant_max},
                                                                      {"dtype", to.dtype}}));
    quantize.target = quantize_op;
    const ValueId bytes = editor_.InsertOp(id, std::move(quantize), std::move(meta));
    const NodeId again = Copy(dequantize, id);
    SetParameters(again, to);
    Set(again, "input", bytes);
    Set(id, name, graph_.ResultOf(again));
  }

  // ---- Hoisting quantize

  void Hoist(NodeId id) {
    for (;;) {
      const std::optional<QuantizedForm> form = forms_.Quantize(id);
      if (!form.has_value() || !form->IsCallable()) return;
      const NodeId producer = graph_.value(form->input).producer;
      if (!producer.valid()) return;
      if (const std::optional<QuantizedForm> before = forms_.Dequantize(producer)) {
        return Cancel(id, *form, producer, *before);
      }
      if (!IsReadOnlyBy(form->input, id)) return;
      const std::optional<ClampForm> clamp = activations_.Clamp(producer);
      const bool hoisted = clamp.has_value() ? TakeClamp(id, *form, producer, *clamp)
                                             : MoveAbove(id, *form, producer);
      if (!hoisted) return;
    }
  }

  // Narrows the range of `form` to a clamp of the bytes to [low, high]; nullopt if the zero point
  // is outside.
  static std::optional<QuantizedForm> Narrowed(QuantizedForm form, int64_t low, int64_t high) {
    form.quant_min = std::clamp(form.quant_min, low, high);
    form.quant_max = std::clamp(form.quant_max, low, high);
    return form.IsCallable() ? std::optional<QuantizedForm>(form) : std::nullopt;
  }

  // quantize(clamp(x, low, high), range)  ->  quantize(x, range within the quantized bounds)
  bool TakeClamp(NodeId id, const QuantizedForm& form, NodeId clamp, ClampForm bounds) {
    const Argument operand = graph_.node(clamp).operand();
    // A clamp of an integer tensor with non-integer bounds returns float32.
    if (!operand.is<ValueId>() || !IsFloat32(*operand.get_if<ValueId>())) return false;
    const std::optional<QuantizedForm> narrow =
        Narrowed(form, form.Quantized(bounds.low), form.Quantized(bounds.high));
    if (!narrow.has_value()) return false;
    SetParameters(id, *narrow);
    Set(id, "input", operand);
    handles_.Fuse(editor_, id, clamp);
    editor_.EraseNode(clamp);
    return true;
  }

  // Removes `id`, which quantizes the result of `dequantize` of bytes of the form `before`.
  void Cancel(NodeId id, const QuantizedForm& form, NodeId dequantize,
              const QuantizedForm& before) {
    const ValueId quantized = before.input, result = graph_.ResultOf(id);
    const NodeId source = graph_.value(quantized).producer;
    if (!form.IsLike(before) || graph_.IsOutput(result)) return;
    const std::optional<QuantizedForm> first = forms_.Quantize(source);
    const bool known = first.has_value() && first->IsLike(form);
    if (form.quant_min > (known ? first->quant_min : 0) ||
        form.quant_max < (known ? first->quant_max : 255)) {
      if (!known || !IsReadOnlyBy(quantized, dequantize) || !IsReadOnlyBy(form.input, id)) {
        return;
      }
      const std::optional<QuantizedForm> narrow = Narrowed(*first, form.quant_min, form.quant_max);
      if (!narrow.has_value()) return;
      SetParameters(source, *narrow);
    }
    changed_ = true;
    editor_.ReplaceAllUses(result, quantized);
    if (source.valid()) handles_.Fuse(editor_, source, id);
    editor_.EraseNode(id);
    const ValueId real = graph_.ResultOf(dequantize);
    if (!graph_.value(real).users.empty() || graph_.IsOutput(real)) return;
    if (source.valid()) handles_.Fuse(editor_, source, dequantize);
    editor_.EraseNode(dequantize);
  }

  bool IsMaxPool(NodeId id) const {
    return graph_.node(id).target->aten() == max_pool_ && IsPlainMaxPool(graph_, id);
  }
  bool IsMovement(NodeId id) const {
    const Node& node = graph_.node(id);
    return node.target->has_trait(exir::kMovesElements) && node.outputs.size() == 1 &&
           node.outputs[0].kind == exir::NodeOutput::Kind::kValue;
  }

  // quantize(move(x))  ->  move(quantize(x)), for data movement, padding and max pools without
  // other users. `id` quantizes the result of `mover`.
  bool MoveAbove(NodeId id, const QuantizedForm& form, NodeId mover) {
    const bool pads = graph_.node(mover).target->aten() == pad_;
    if (!pads && !IsMovement(mover) && !IsMaxPool(mover)) return false;
    std::vector<ValueId> reals;
    ForEachValue(graph_.node(mover).operand(), [&](ValueId value) { reals.push_back(value); });
    const auto is_real = [&](ValueId value) { return IsFloat32(value); };
    if (reals.empty() || !std::all_of(reals.begin(), reals.end(), is_real)) return false;
    if (pads) {
      const Argument& value = graph_.node(mover).argument("value");
      const std::optional<double> number = value.is_none() ? 0 : views_.Number(value);
      if (!number.has_value() || std::isnan(*number)) return false;
      Set(mover, "value", form.Quantized(static_cast<float>(*number)));
    }
    const ValueId moved = form.input;
    editor_.ReplaceAllUses(graph_.ResultOf(id), moved);
    SetDType(moved, DType::kUint8);
    editor_.MoveBefore(id, mover);
    Argument operand = graph_.node(mover).operand();
    for (size_t i = 0; i < reals.size(); ++i) {
      const NodeId quantize = i == 0 ? id : Copy(id, mover);
      if (i != 0) to_hoist_.push_back(quantize);
      TensorMeta meta = graph_.MetaOf(reals[i]);
      meta.dtype = DType::kUint8;
      Set(quantize, "input", reals[i]);
      editor_.SetType(graph_.ResultOf(quantize), std::move(meta));
      if (auto* list = operand.get_if<Argument::List>()) {
        (*list)[i] = graph_.ResultOf(quantize);
      } else {
        operand = graph_.ResultOf(quantize);
      }
    }
    editor_.SetArgument(mover, 0, std::move(operand));
    return true;
  }

  // Inserts a copy of `id` before `before`.
  NodeId Copy(NodeId id, NodeId before) {
    const Node& node = graph_.node(id);
    const ValueId made = editor_.InsertOp(before, exir::NodeLike(node, node.arguments),
                                          graph_.value(graph_.ResultOf(id)).type);
    return graph_.value(made).producer;
  }

  // ---- Sinking dequantize

  // Moves the dequantization `id` after each user that moves data. Returns the new dequantizations.
  std::vector<NodeId> Sink(NodeId id) {
    std::vector<NodeId> sunk;
    const ValueId real = graph_.ResultOf(id);
    std::vector<NodeId> readers = graph_.value(real).users;
    for (NodeId reader : readers) {
      if (std::count(readers.begin(), readers.end(), reader) != 1 ||
          graph_.node(reader).operand() != Argument(real)) {
        continue;
      }
      if (!IsMovement(reader) && !IsMaxPool(reader)) continue;
      std::optional<Argument> axis;
      if (forms_.IsDequantizePerChannel(id)) {
        axis = AxisBehind(reader, graph_.node(id).argument("axis"));
        if (!axis.has_value()) continue;
      }
      sunk.push_back(MoveBehind(id, reader, axis));
    }
    return sunk;
  }

  // Returns the index of the dimension after a permutation.
  std::optional<Argument> AxisBehind(NodeId permutation, const Argument& axis) const {
    const Node& node = graph_.node(permutation);
    const auto* from = axis.get_if<int64_t>();
    const int64_t rank = graph_.MetaOf(graph_.ResultOf(permutation)).rank();
    if (from == nullptr || !node.target->has_trait(exir::kPermutesBytes)) return std::nullopt;
    const auto normalized = [rank](const Argument& dim) {
      const auto* number = dim.get_if<int64_t>();
      return number == nullptr ? int64_t{-1} : *number < 0 ? *number + rank : *number;
    };
    const int64_t at = normalized(axis);
    if (const auto* dims = node.argument("dims").get_if<Argument::List>()) {
      for (size_t d = 0; d < dims->size(); ++d) {
        if (normalized((*dims)[d]) == at) return Argument(static_cast<int64_t>(d));
      }
      return std::nullopt;
    }
    // A transposition; without arguments, of both dimensions of a matrix.
    int64_t a = 0, b = 1;
    if (node.target->ArgumentIndex("dim0").has_value()) {
      a = normalized(node.argument("dim0"));
      b = normalized(node.argument("dim1"));
    } else if (rank != 2) {
      return std::nullopt;
    }
    return Argument(at == a ? b : at == b ? a : at);
  }

  NodeId MoveBehind(NodeId id, NodeId mover, const std::optional<Argument>& axis) {
    changed_ = true;
    const Argument quantized = graph_.node(id).argument("input");
    const DType dtype = graph_.value(*quantized.get_if<ValueId>()).tensor()->dtype;
    const ValueId moved = graph_.ResultOf(mover);
    // A dequantization of its own after the node, with the type that the result had.
    const NodeId sunk = Copy(id, graph_.next(mover));
    editor_.SetType(graph_.ResultOf(sunk), graph_.value(moved).type);
    editor_.ReplaceAllUses(moved, graph_.ResultOf(sunk));
    Set(sunk, "input", moved);
    if (axis.has_value()) Set(sunk, "axis", *axis);
    editor_.SetArgument(mover, 0, quantized);
    SetDType(moved, dtype);
    return sunk;
  }

  FusedHandles& handles_;
  const ActivationForms activations_;
  const exir::OpOverload *pad_, *max_pool_, *mm_, *addmm_, *convolution_, *quantize_;
  std::vector<NodeId> to_hoist_;  // worklist of copies; programs may be too deep for recursion
  bool changed_ = false;
};

}  // namespace

exir::Pass SimplifyQuantization(FusedHandles& handles) {
  return {"simplify_quantization",
          [&handles](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return QuantizationSimplification(program, handles).Run();
          }};
}

}  // namespace belay::cpu
