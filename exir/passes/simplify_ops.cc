#include "exir/passes/simplify_ops.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

class Simplification {
 public:
  Simplification(const OpRegistry& ops, Graph& graph) : ops_(ops), editor_(graph), graph_(graph) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      const std::string_view op = graph_.node(id).target->name();
      bool simplified = false;
      if (op == "aten.scatter_add.default" || op == "aten.gather.default") {
        ABSL_ASSIGN_OR_RETURN(simplified, UseSlices(id));
      } else if (op == "aten.adaptive_max_pool2d.default") {
        ABSL_ASSIGN_OR_RETURN(simplified,
                              UseEvenWindows(id, 2, "aten.max_pool2d_with_indices.default"));
      } else if (op == "aten.adaptive_max_pool3d.default") {
        ABSL_ASSIGN_OR_RETURN(simplified,
                              UseEvenWindows(id, 3, "aten.max_pool3d_with_indices.default"));
      } else if (op == "aten.max.dim" || op == "aten.min.dim") {
        const Node& node = graph_.node(id);
        ABSL_ASSIGN_OR_RETURN(
            simplified,
            UseExtreme(id, op == "aten.max.dim" ? "aten.amax.default" : "aten.amin.default",
                       {node.argument("self"), Argument::List{node.argument("dim")},
                        node.argument("keepdim")}));
      }
      changed = changed || simplified;
    }
    if (changed) editor_.EraseDeadNodes();
    return changed;
  }

 private:
  const TensorMeta* Tensor(const Argument& argument) const {
    const ValueId* value = argument.get_if<ValueId>();
    return value == nullptr ? nullptr : graph_.value(*value).tensor();
  }

  // Returns the value that an index repeats over all dimensions except `dim`, if these have the
  // sizes `sizes`.
  std::optional<ValueId> RepeatedIndex(const Argument& index, size_t dim,
                                       const std::vector<SymInt>& sizes) const {
    const ValueId* value = index.get_if<ValueId>();
    const NodeId producer = value == nullptr ? NodeId() : graph_.value(*value).producer;
    if (!producer.valid() || graph_.node(producer).target->name() != "aten.expand_copy.default") {
      return std::nullopt;
    }
    const Argument source = graph_.node(producer).operand();
    const TensorMeta *from = Tensor(source), *to = Tensor(index);
    if (from == nullptr || to == nullptr || from->rank() != to->rank() ||
        from->sizes.size() != sizes.size() || from->sizes[dim] != to->sizes[dim]) {
      return std::nullopt;
    }
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (d != dim && (!(from->sizes[d] == SymInt(1)) || to->sizes[d] != sizes[d])) {
        return std::nullopt;
      }
    }
    return *source.get_if<ValueId>();
  }

  // scatter_add and gather of whole slices.
  absl::StatusOr<bool> UseSlices(NodeId id) {
    const Node& node = graph_.node(id);
    const Argument self = node.argument("self"), index = node.argument("index");
    const bool adds = node.target->name() == "aten.scatter_add.default";
    const Argument src = adds ? node.argument("src") : Argument();
    const TensorMeta *x = Tensor(self), *indices = Tensor(index), *values = Tensor(src);
    const int64_t* given = node.argument("dim").get_if<int64_t>();
    if (x == nullptr || indices == nullptr || given == nullptr || x->rank() < 2) return false;
    const auto dim = static_cast<size_t>(*given < 0 ? *given + x->rank() : *given);
    if (dim >= x->sizes.size()) return false;
    if (adds && (values == nullptr || values->sizes != indices->sizes)) return false;
    // scatter_add rounds sums of half precision once, index_put after each addend.
    if (adds && IsFloatingPoint(x->dtype) && DTypeSize(x->dtype) < 4) return false;
    const std::optional<ValueId> source = RepeatedIndex(index, dim, x->sizes);
    const std::optional<int64_t> count = indices->sizes[dim].AsInt();
    if (!source.has_value() || !count.has_value()) return false;
    const OpOverload* const view = ops_.Find("aten.view_copy.default");
    const OpOverload* const target =
        ops_.Find(adds ? "aten.index_put.default" : "aten.index.Tensor");
    if (view == nullptr || target == nullptr) return false;
    ABSL_ASSIGN_OR_RETURN(const ValueId slices, InsertInferred(editor_, id, ops_.ToEdge(view),
                                                               {*source, Argument::List{*count}}));
    Argument::List places(dim);
    places.emplace_back(slices);
    std::vector<Argument> arguments = {self, std::move(places)};
    if (adds) {
      arguments.push_back(src);
      arguments.emplace_back(true);
    }
    editor_.SetTarget(id, ops_.ToEdge(target));
    editor_.SetArguments(id, std::move(arguments));
    return true;
  }

  // Windows that divide the image evenly.
  absl::StatusOr<bool> UseEvenWindows(NodeId id, size_t spatial, std::string_view pool) {
    const Node& node = graph_.node(id);
    const Argument self = node.argument("self");
    const TensorMeta* image = Tensor(self);
    const Argument::List* size = node.argument("output_size").get_if<Argument::List>();
    const OpOverload* const target = ops_.Find(pool);
    if (image == nullptr || size == nullptr || size->size() != spatial ||
        image->sizes.size() < spatial || target == nullptr) {
      return false;
    }
    if (*size == Argument::List(spatial, 1)) {
      Argument::List dims;
      for (size_t d = 1; d <= spatial; ++d) dims.emplace_back(-static_cast<int64_t>(d));
      return UseExtreme(id, "aten.amax.default", {self, std::move(dims), true});
    }
    Argument::List window;
    for (size_t d = 0; d < spatial; ++d) {
      const std::optional<int64_t> from = image->sizes[image->sizes.size() - spatial + d].AsInt();
      const int64_t* to = (*size)[d].get_if<int64_t>();
      if (!from.has_value() || to == nullptr || *from < 1 || *to < 1 || *from % *to != 0) {
        return false;
      }
      window.emplace_back(*from / *to);
    }
    std::vector<Argument> arguments = {
        self, window, window, Argument::List(spatial, 0), Argument::List(spatial, 1), false};
    if (!HasResultsOf(id, ops_.ToEdge(target), arguments)) return false;
    editor_.SetTarget(id, ops_.ToEdge(target));
    editor_.SetArguments(id, std::move(arguments));
    return true;
  }

  // Replaces a call that returns extremes and their positions, if the positions are unused.
  absl::StatusOr<bool> UseExtreme(NodeId id, std::string_view op, std::vector<Argument> arguments) {
    const OpOverload* const target = ops_.Find(op);
    const std::vector<ValueId> results = graph_.node(id).results();
    if (target == nullptr || results.size() != 2 || !graph_.value(results[1]).users.empty() ||
        graph_.IsOutput(results[1])) {
      return false;
    }
    ABSL_ASSIGN_OR_RETURN(const ValueId extreme,
                          InsertInferred(editor_, id, ops_.ToEdge(target), std::move(arguments)));
    if (graph_.value(extreme).type != graph_.value(results[0]).type) {
      editor_.EraseNode(graph_.value(extreme).producer);
      return false;
    }
    editor_.ReplaceAllUses(results[0], extreme);
    editor_.EraseNode(id);
    return true;
  }

  // Whether the call has results of the node's types, with the same strides.
  bool HasResultsOf(NodeId id, const OpOverload* target,
                    const std::vector<Argument>& arguments) const {
    const std::vector<ValueId> results = graph_.node(id).results();
    const absl::StatusOr<std::vector<MetaValue>> inferred =
        InferOutputs(graph_, target, arguments, nullptr);
    bool equal = inferred.ok() && inferred->size() == results.size();
    for (size_t i = 0; equal && i < results.size(); ++i) {
      equal = ToValueType((*inferred)[i]) == graph_.value(results[i]).type;
    }
    return equal;
  }

  const OpRegistry& ops_;
  GraphEditor editor_;
  const Graph& graph_;
};

absl::StatusOr<bool> Run(ExportedProgram& program) {
  bool changed = false;
  for (Graph& graph : program.graphs) {
    ABSL_ASSIGN_OR_RETURN(const bool simplified, Simplification(*program.ops, graph).Run());
    changed = changed || simplified;
  }
  return changed;
}

}  // namespace

Pass SimplifyOps() { return {"simplify_ops", Run}; }

}  // namespace belay::exir
