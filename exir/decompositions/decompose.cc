#include "exir/decompositions/decompose.h"

#include <string>
#include <utility>
#include <vector>

#include "exir/builder/op_builder.h"
#include "exir/builder/op_call.h"
#include "exir/ir/at_node.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Maximum depth of repeated decomposition.
constexpr int kMaxGenerations = 32;

// Returns the decomposition of a node; nullptr to keep it. `made`: a decomposition created the
// node.
using KernelOf = std::function<CompositeFn(const ExportedProgram&, GraphId, NodeId, bool made)>;

class Decomposer {
 public:
  Decomposer(ExportedProgram& program, GraphId graph, const DecompositionTable& table,
             const KernelOf& kernel_of)
      : program_(program),
        graph_id_(graph),
        kernel_of_(kernel_of),
        editor_(program.graphs[graph]),
        builder_(program, editor_, &table) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    const Graph& graph = editor_.graph();
    for (NodeId id = graph.first(); id.valid();) {
      const CompositeFn kernel = kernel_of_(program_, graph_id_, id, generations_.get(id) > 0);
      if (kernel == nullptr) {
        id = graph.next(id);
        continue;
      }
      const NodeId previous = graph.previous(id);
      absl::Status status = Replace(kernel, id);
      if (!status.ok()) return status;
      changed = true;
      // Continue with the inserted nodes.
      id = previous.valid() ? graph.next(previous) : graph.first();
    }
    return changed;
  }

 private:
  absl::Status Replace(const CompositeFn& kernel, NodeId id) {
    const Graph& graph = editor_.graph();
    const std::string& op = graph.node(id).target->name();
    const auto at_node = [&](const absl::Status& status) { return AtNode(status, graph, id); };
    const int generation = generations_.get(id) + 1;
    if (generation > kMaxGenerations) {
      return at_node(
          absl::InternalError(absl::StrCat("the decomposition of ", op, " leads back to itself")));
    }
    const NodeId before = graph.previous(id);
    builder_.MoveTo(id);
    const std::vector<Argument> results = RunDecomposition(
        kernel, builder_, OpCall(builder_, graph.node(id).target, graph.node(id).arguments));
    if (!builder_.ok()) return at_node(builder_.status());
    for (NodeId made = graph.previous(id); made.valid() && made != before;
         made = graph.previous(made)) {
      generations_[made] = generation;
    }
    const std::vector<NodeOutput> outputs = graph.node(id).outputs;
    std::vector<std::pair<ValueId, std::string>> names;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const absl::Status status = ReplaceOutput(op, outputs[k], results[k], names);
      if (!status.ok()) return at_node(status);
    }
    editor_.EraseNode(id);
    for (const auto& [value, name] : names) editor_.RenameValue(value, name);
    return absl::OkStatus();
  }

  absl::Status ReplaceOutput(const std::string& op, const NodeOutput& output,
                             const Argument& result,
                             std::vector<std::pair<ValueId, std::string>>& names) {
    if (output.kind == NodeOutput::Kind::kNone) return absl::OkStatus();
    if (output.kind == NodeOutput::Kind::kValue) {
      return ReplaceValue(op, output.values[0], result, names);
    }
    const Argument::List* list = result.get_if<Argument::List>();
    if (list == nullptr || list->size() != output.values.size()) {
      return absl::InternalError(absl::StrCat(
          "the decomposition of ", op, " gives ", PrintArgument(editor_.graph(), result),
          " instead of a list of ", output.values.size(), " values"));
    }
    for (size_t i = 0; i < list->size(); ++i) {
      ABSL_RETURN_IF_ERROR(ReplaceValue(op, output.values[i], (*list)[i], names));
    }
    return absl::OkStatus();
  }

  absl::Status ReplaceValue(const std::string& op, ValueId old, const Argument& result,
                            std::vector<std::pair<ValueId, std::string>>& names) {
    const Graph& graph = editor_.graph();
    const ValueId* value = result.get_if<ValueId>();
    const TensorMeta* declared = graph.value(old).tensor();
    if (declared != nullptr) {
      const TensorMeta* inferred = value == nullptr ? nullptr : graph.value(*value).tensor();
      // Unused results may be omitted.
      if (inferred == nullptr && result.is_none() && graph.value(old).users.empty() &&
          !graph.IsOutput(old)) {
        return absl::OkStatus();
      }
      if (inferred == nullptr || !Agrees(*declared, *inferred)) {
        // Unused results may have other sizes: PyTorch's kernels are inconsistent.
        if (inferred != nullptr && graph.value(old).users.empty() && !graph.IsOutput(old)) {
          return absl::OkStatus();
        }
        return absl::InternalError(
            absl::StrCat("the decomposition of ", op, " gives ",
                         inferred == nullptr ? PrintArgument(graph, result) : PrintType(*inferred),
                         ", the program declares ", PrintType(*declared)));
      }
      if (builder_.Made(*value)) {
        TensorMeta type = *inferred;
        type.device = declared->device;
        type.requires_grad = declared->requires_grad;
        if (type.sizes != declared->sizes) {
          const absl::StatusOr<DimOrder> order = DimOrderOf(*inferred);
          if (order.ok()) type = TensorMeta::Dense(declared->dtype, declared->sizes, *order);
        }
        editor_.SetType(*value, std::move(type));
      }
    } else if (value != nullptr && builder_.Made(*value)) {
      editor_.SetType(*value, graph.value(old).type);
    }
    if (value != nullptr && builder_.Made(*value))
      names.emplace_back(*value, graph.value(old).name);
    editor_.ReplaceAllUses(old, result);
    return absl::OkStatus();
  }

  // Compares sizes only if both are static: the program may imply equalities between symbols.
  static bool Agrees(const TensorMeta& declared, const TensorMeta& inferred) {
    if (declared.dtype != inferred.dtype || declared.rank() != inferred.rank()) return false;
    for (int d = 0; d < declared.rank(); ++d) {
      const auto a = declared.sizes[d].AsInt(), b = inferred.sizes[d].AsInt();
      if (a.has_value() && b.has_value() && *a != *b) return false;
    }
    return true;
  }

  ExportedProgram& program_;
  GraphId graph_id_;
  const KernelOf& kernel_of_;
  GraphEditor editor_;
  OpBuilder builder_;
  SecondaryMap<NodeId, int> generations_;
};

Pass ReplaceByKernels(std::string_view name, const DecompositionTable& table, KernelOf kernel_of) {
  return {
      std::string(name),
      [&table, kernel_of = std::move(kernel_of)](ExportedProgram& program) -> absl::StatusOr<bool> {
        bool changed = false;
        for (uint32_t g = 0; g < program.graphs.size(); ++g) {
          ABSL_ASSIGN_OR_RETURN(const bool graph_changed,
                                Decomposer(program, GraphId(g), table, kernel_of).Run());
          changed = changed || graph_changed;
        }
        return changed;
      }};
}

}  // namespace

Pass Decompose(DecomposeOptions options) {
  const DecompositionTable& table =
      options.table == nullptr ? StandardDecompositions() : *options.table;
  return ReplaceByKernels(
      "decompose", table,
      [&table, keep = std::move(options.keep)](const ExportedProgram& program, GraphId graph,
                                               NodeId id, bool) -> CompositeFn {
        const Decomposition* row = table.Find(program.graphs[graph].node(id).target);
        if (row == nullptr || (keep && keep(program, graph, id))) return nullptr;
        return row->decompose;
      });
}

Pass PromoteBackendOps() {
  const DecompositionTable& table = StandardDecompositions();
  return ReplaceByKernels(
      "promote_backend_ops", table,
      [&table](const ExportedProgram& program, GraphId graph, NodeId id, bool made) -> CompositeFn {
        const OpOverload* op = program.graphs[graph].node(id).target;
        const CompositeFn* kernel = op->composite_kernel();
        if (kernel != nullptr && !op->has_meta_kernel() && !op->has_composite_explicit_kernel()) {
          return *kernel;
        }
        const Decomposition* row = made ? table.Find(op) : nullptr;
        return row == nullptr ? nullptr : CompositeFn(row->decompose);
      });
}

}  // namespace belay::exir
