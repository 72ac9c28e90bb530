#include "executorch/writer/portable_passes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "executorch/writer/portable_decompositions.h"
#include "exir/decompositions/decompose.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/dim_order_ops.h"
#include "exir/passes/eliminate_dead_code.h"
#include "exir/passes/replace_view_ops.h"
#include "exir/passes/to_edge_ops.h"
#include "runtime/core/status_macros.h"

namespace belay::pte {
namespace {

using exir::Argument;

absl::StatusOr<bool> RunRemoval(exir::ExportedProgram& program) {
  bool changed = false;
  for (exir::Graph& graph : program.graphs) {
    exir::GraphEditor editor(graph);
    for (exir::NodeId id : graph.NodeList()) {
      if (!graph.node(id).target->has_trait(exir::kSideEffect)) continue;
      editor.EraseNode(id);
      changed = true;
    }
  }
  return changed;
}

exir::TensorMeta Contiguous(const exir::TensorMeta& meta) {
  exir::TensorMeta dense =
      exir::TensorMeta::Dense(meta.dtype, meta.sizes, ContiguousOrder(meta.rank()));
  dense.device = meta.device;
  dense.requires_grad = meta.requires_grad;
  return dense;
}

// Returns whether the order is row-major; dimensions of size 1 may be anywhere.
bool IsRowMajor(const exir::TensorMeta& meta, const DimOrder& order) {
  std::vector<uint8_t> dims;
  for (uint8_t d : order) {
    if (meta.sizes[d].AsInt() != 1) dims.push_back(d);
  }
  return std::is_sorted(dims.begin(), dims.end());
}

// Returns whether the input is a channels-last user input, which keeps its order and is copied.
bool IsChannelsLastInput(const exir::ExportedProgram& program, size_t input,
                         const exir::TensorMeta& meta) {
  if (program.signature.inputs[input].kind != exir::InputKind::kUserInput) return false;
  const absl::StatusOr<DimOrder> order = exir::DimOrderOf(meta);
  return order.ok() && *order == ChannelsLastOrder(meta.rank()) && !IsRowMajor(meta, *order);
}

bool HasOtherOrder(const exir::Graph& graph, exir::ValueId value) {
  const exir::TensorMeta* meta = graph.value(value).tensor();
  return meta != nullptr && meta->strides != Contiguous(*meta).strides;
}

// Values of a graph that are not row-major.
using OtherOrders = absl::flat_hash_set<exir::ValueId>;

// Makes the results of all nodes row-major, except `kept`.
void MakeResultsRowMajor(exir::Graph& graph, const OtherOrders& kept) {
  exir::GraphEditor editor(graph);
  for (exir::NodeId id : graph.NodeList()) {
    bool changes = false;
    for (exir::ValueId value : graph.node(id).results()) {
      if (!HasOtherOrder(graph, value) || kept.contains(value)) continue;
      editor.SetType(value, Contiguous(*graph.value(value).tensor()));
      changes = true;
    }
    const std::optional<int> order = graph.node(id).target->ArgumentIndex("dim_order");
    if (changes && order.has_value() && graph.node(id).target->ns() == "dim_order_ops") {
      editor.SetArgument(id, *order, Argument());
    }
  }
}

// Returns the results of nodes that are not row-major.
OtherOrders FindOtherOrders(const exir::Graph& graph) {
  OtherOrders found;
  for (exir::NodeId id : graph.NodeList()) {
    for (exir::ValueId value : graph.node(id).results()) {
      if (HasOtherOrder(graph, value)) found.insert(value);
    }
  }
  return found;
}

// Makes all tensors row-major, including state and constants, which are then written in this order.
absl::StatusOr<bool> RunContiguous(exir::ExportedProgram& program) {
  const exir::OpOverload* copy =
      program.ops->ToEdge(program.ops->Find("dim_order_ops._to_dim_order_copy.default"));
  std::vector<exir::ValueId> channels_last;
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    exir::Graph& graph = program.graphs[exir::GraphId(g)];
    exir::GraphEditor editor(graph);
    const auto make_contiguous = [&](exir::ValueId value) {
      const exir::TensorMeta* meta = graph.value(value).tensor();
      if (meta != nullptr) editor.SetType(value, Contiguous(*meta));
    };
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const exir::ValueId input = graph.inputs()[i];
      const exir::TensorMeta* meta = graph.value(input).tensor();
      if (g == 0 && meta != nullptr && IsChannelsLastInput(program, i, *meta)) {
        channels_last.push_back(input);
      } else {
        make_contiguous(input);
      }
    }
    MakeResultsRowMajor(graph, {});
  }
  exir::Graph& top = program.top();
  exir::GraphEditor editor(top);
  // Inserts a copy to this order: first (before the operand's other uses) or last.
  const auto insert_copy = [&](exir::ValueId value, const DimOrder& order, bool first) {
    exir::TensorMeta meta = Contiguous(*top.value(value).tensor());
    meta = exir::TensorMeta::Dense(meta.dtype, meta.sizes, order);
    const std::vector<exir::NodeId> nodes = top.NodeList();
    const exir::NodeId before = first && !nodes.empty() ? nodes.front() : exir::NodeId();
    std::vector<Argument> arguments(copy->schema()->arguments.size());
    arguments[0] = value;
    arguments[*copy->ArgumentIndex("non_blocking")] = false;
    arguments[*copy->ArgumentIndex("dim_order")] = Argument::List(order.begin(), order.end());
    return editor.InsertOp(
        before, {.name = "to_dim_order", .target = copy, .arguments = std::move(arguments)}, meta);
  };
  for (exir::ValueId input : channels_last) {
    const int rank = top.value(input).tensor()->rank();
    const std::string name = top.value(input).name;
    const exir::ValueId contiguous = insert_copy(input, ContiguousOrder(rank), /*first=*/true);
    std::vector<Argument> outputs(top.outputs().begin(), top.outputs().end());
    for (exir::NodeId id : top.NodeList()) {
      const auto results = top.node(id).results();
      if (!results.empty() && results[0] == contiguous) continue;
      editor.ReplaceUsesIn(id, input, contiguous);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const exir::ValueId* value = outputs[i].get_if<exir::ValueId>();
      const exir::OutputSpec& spec = program.signature.outputs[i];
      if (value == nullptr) continue;
      if (spec.kind == exir::OutputKind::kUserInputMutation && spec.target == name) {
        if (*value != input) outputs[i] = insert_copy(*value, ChannelsLastOrder(rank), false);
      } else if (*value == input) {
        outputs[i] = contiguous;
      }
    }
    editor.SetOutputs(std::move(outputs));
  }
  return true;
}

}  // namespace

exir::Pass RowMajorTensors() { return {"make_contiguous", RunContiguous}; }

std::vector<exir::Pass> PortablePasses() {
  exir::DecomposeOptions options;
  options.table = &PortableDecompositions();
  options.keep = IsBetterKept;
  // One pass: decompositions emit ATen operators, which must be converted to edge operators again.
  std::vector<exir::Pass> steps = {exir::Decompose(options), exir::ReplaceViewOps(),
                                   exir::ReplaceMemoryFormatOps(), exir::ToEdgeOps()};
  const auto decompose =
      [steps = std::move(steps)](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
    program.dialect = exir::IrDialect::kAten;
    std::vector<OtherOrders> kept;
    for (const exir::Graph& graph : program.graphs) kept.push_back(FindOtherOrders(graph));
    for (const exir::Pass& step : steps) ABSL_RETURN_IF_ERROR(step.run(program).status());
    // Decompositions look through views. Their copies are row-major now, and so are the results
    // computed from them.
    kept.resize(program.graphs.size());
    for (uint32_t g = 0; g < program.graphs.size(); ++g) {
      MakeResultsRowMajor(program.graphs[exir::GraphId(g)], kept[g]);
    }
    return true;
  };
  return {{"remove_runtime_assertions", RunRemoval},
          {"decompose_to_portable", decompose},
          exir::EliminateDeadCode()};
}

}  // namespace belay::pte
