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

// How often the result of a decomposition may be decomposed again.
constexpr int kMaxGenerations = 32;

class Decomposer {
 public:
  Decomposer(ExportedProgram& program, GraphId graph, const DecomposeOptions& options)
      : program_(program),
        graph_id_(graph),
        options_(options),
        table_(options.table == nullptr ? StandardDecompositions() : *options.table),
        editor_(program.graphs[graph]),
        builder_(program, editor_, &table_) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    const Graph& graph = editor_.graph();
    for (NodeId id = graph.first(); id.valid();) {
      const Decomposition* row = table_.Find(graph.node(id).target);
      if (row == nullptr || (options_.keep && options_.keep(program_, graph_id_, id))) {
        id = graph.next(id);
        continue;
      }
      const NodeId previous = graph.previous(id);
      absl::Status status = Replace(*row, id);
      if (!status.ok()) return status;
      changed = true;
      // What was inserted comes next.
      id = previous.valid() ? graph.next(previous) : graph.first();
    }
    return changed;
  }

 private:
  absl::Status Replace(const Decomposition& row, NodeId id) {
    const Graph& graph = editor_.graph();
    const auto at_node = [&](const absl::Status& status) { return AtNode(status, graph, id); };
    const int generation = generations_.get(id) + 1;
    if (generation > kMaxGenerations) {
      return at_node(absl::InternalError(
          absl::StrCat("the decomposition of ", row.op, " leads back to itself")));
    }
    const NodeId before = graph.previous(id);
    builder_.MoveTo(id);
    const std::vector<Argument> results = RunDecomposition(
        row, builder_, OpCall(builder_, graph.node(id).target, graph.node(id).arguments));
    if (!builder_.ok()) return at_node(builder_.status());
    for (NodeId made = graph.previous(id); made.valid() && made != before;
         made = graph.previous(made)) {
      generations_[made] = generation;
    }
    const std::vector<NodeOutput> outputs = graph.node(id).outputs;
    if (results.size() != outputs.size()) {
      return at_node(absl::InternalError(absl::StrCat("the decomposition of ", row.op, " gives ",
                                                      results.size(), " results instead of ",
                                                      outputs.size())));
    }
    std::vector<std::pair<ValueId, std::string>> names;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const absl::Status status = ReplaceOutput(row, outputs[k], results[k], names);
      if (!status.ok()) return at_node(status);
    }
    editor_.EraseNode(id);
    for (const auto& [value, name] : names) editor_.RenameValue(value, name);
    return absl::OkStatus();
  }

  absl::Status ReplaceOutput(const Decomposition& row, const NodeOutput& output,
                             const Argument& result,
                             std::vector<std::pair<ValueId, std::string>>& names) {
    if (output.kind == NodeOutput::Kind::kNone) return absl::OkStatus();
    if (output.kind == NodeOutput::Kind::kValue) {
      return ReplaceValue(row, output.values[0], result, names);
    }
    const Argument::List* list = result.get_if<Argument::List>();
    if (list == nullptr || list->size() != output.values.size()) {
      return absl::InternalError(absl::StrCat(
          "the decomposition of ", row.op, " gives ", PrintArgument(editor_.graph(), result),
          " instead of a list of ", output.values.size(), " values"));
    }
    for (size_t i = 0; i < list->size(); ++i) {
      ABSL_RETURN_IF_ERROR(ReplaceValue(row, output.values[i], (*list)[i], names));
    }
    return absl::OkStatus();
  }

  absl::Status ReplaceValue(const Decomposition& row, ValueId old, const Argument& result,
                            std::vector<std::pair<ValueId, std::string>>& names) {
    const Graph& graph = editor_.graph();
    const ValueId* value = result.get_if<ValueId>();
    const TensorMeta* declared = graph.value(old).tensor();
    if (declared != nullptr) {
      const TensorMeta* inferred = value == nullptr ? nullptr : graph.value(*value).tensor();
      // A result that nobody uses may be left out.
      if (inferred == nullptr && result.is_none() && graph.value(old).users.empty() &&
          !graph.IsOutput(old)) {
        return absl::OkStatus();
      }
      if (inferred == nullptr || !Agrees(*declared, *inferred)) {
        // What nobody uses may be of another size: PyTorch's kernels differ among themselves.
        if (inferred != nullptr && graph.value(old).users.empty() && !graph.IsOutput(old)) {
          return absl::OkStatus();
        }
        return absl::InternalError(
            absl::StrCat("the decomposition of ", row.op, " gives ",
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

  // Sizes are compared where both are numbers: the program knows equalities between symbols.
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
  const DecomposeOptions& options_;
  const DecompositionTable& table_;
  GraphEditor editor_;
  OpBuilder builder_;
  SecondaryMap<NodeId, int> generations_;
};

}  // namespace

Pass Decompose(DecomposeOptions options) {
  return {"decompose", [options = std::move(options)](ExportedProgram& program) {
            bool changed = false;
            for (uint32_t g = 0; g < program.graphs.size(); ++g) {
              absl::StatusOr<bool> graph_changed = Decomposer(program, GraphId(g), options).Run();
              if (!graph_changed.ok()) return graph_changed;
              changed = changed || *graph_changed;
            }
            return absl::StatusOr<bool>(changed);
          }};
}

}  // namespace belay::exir
