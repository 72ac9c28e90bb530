#include "exir/functionalize/rebase_as_strided.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "exir/builder/op_builder.h"
#include "exir/builder/op_shorthand.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/op_definition/op_table.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Operators with a storage offset argument.
struct CountsPlaces {
  std::string_view op;
  bool scatter = false;
};
constexpr CountsPlaces kCountsPlaces[] = {
    {"aten.as_strided.default"},
    {"aten.as_strided_copy.default"},
    {"aten.as_strided_scatter.default", /*scatter=*/true},
};

// Returns the value that owns the storage of `value`; nullopt if a view reinterprets the dtype.
std::optional<ValueId> Owner(const Graph& graph, ValueId value) {
  for (;;) {
    const NodeId producer = graph.value(value).producer;
    if (!producer.valid()) return value;
    const Node& node = graph.node(producer);
    const FunctionSchema* schema = node.target->schema();
    if (schema == nullptr || !schema->IsView()) return value;
    const ValueId* operand = node.operand().get_if<ValueId>();
    const TensorMeta* from = operand == nullptr ? nullptr : graph.value(*operand).tensor();
    if (from == nullptr || from->dtype != graph.value(value).tensor()->dtype) return std::nullopt;
    value = *operand;
  }
}

class Rebaser {
 public:
  Rebaser(ExportedProgram& program, Graph& graph, std::vector<std::string>& impossible)
      : editor_(graph),
        builder_(program, editor_),
        counts_places_(*program.ops, kCountsPlaces),
        impossible_(impossible) {}

  absl::StatusOr<bool> Run() {
    const Graph& graph = editor_.graph();
    bool changed = false;
    for (NodeId id : graph.NodeList()) {
      const CountsPlaces* row = counts_places_.Find(graph.node(id).target);
      if (row == nullptr) continue;
      ABSL_ASSIGN_OR_RETURN(const bool node_changed, Rebase(id, row->scatter));
      changed |= node_changed;
    }
    return changed;
  }

 private:
  absl::StatusOr<bool> Rebase(NodeId id, bool scatter) {
    const Graph& graph = editor_.graph();
    const ValueId* operand = graph.node(id).value_argument("self");
    const TensorMeta* shown = operand == nullptr ? nullptr : graph.value(*operand).tensor();
    if (shown == nullptr) return false;
    const int offset_index = *graph.node(id).target->ArgumentIndex("storage_offset");
    const SymInt offset = shown->storage_offset;
    const std::optional<ValueId> owner = Owner(graph, *operand);
    if (!owner.has_value()) return Impossible(id, "the elements' type was reinterpreted");
    const TensorMeta memory = *graph.value(*owner).tensor();
    if (*owner == *operand && memory.is_contiguous() && memory.storage_offset == SymInt(0)) {
      return false;
    }
    if (scatter) return Impossible(id, "its operand is a view or not contiguous");
    if (!(memory.storage_offset == SymInt(0))) {
      return Impossible(id, "the memory begins before the input");
    }
    const absl::StatusOr<DimOrder> order = DimOrderOf(memory);
    if (!order.ok() ||
        !(TensorMeta::Dense(memory.dtype, memory.sizes, *order).strides == memory.strides ||
          memory.is_contiguous())) {
      return Impossible(id, "the elements are not contiguous");
    }
    builder_.MoveTo(id);
    Argument base = *owner;
    if (!memory.is_contiguous()) {
      base = Permute(builder_, base, std::vector<int64_t>(order->begin(), order->end()));
    }
    if (graph.node(id).arguments[offset_index].is_none()) {
      const Argument place = builder_.Size(offset);
      ABSL_RETURN_IF_ERROR(builder_.status());
      editor_.SetArgument(id, offset_index, place);
    }
    ABSL_RETURN_IF_ERROR(builder_.status());
    editor_.SetArgument(id, *editor_.graph().node(id).target->ArgumentIndex("self"), base);
    return true;
  }

  absl::StatusOr<bool> Impossible(NodeId id, std::string_view why) {
    impossible_.push_back(absl::StrCat(why, ": ", DescribeNode(editor_.graph(), id)));
    return false;
  }

  GraphEditor editor_;
  OpBuilder builder_;
  const OpTable<CountsPlaces> counts_places_;
  std::vector<std::string>& impossible_;
};

}  // namespace

Pass RebaseAsStrided() {
  return {"rebase_as_strided", [](ExportedProgram& program) -> absl::StatusOr<bool> {
            bool changed = false;
            std::vector<std::string> impossible;
            for (Graph& graph : program.graphs) {
              ABSL_ASSIGN_OR_RETURN(const bool graph_changed,
                                    Rebaser(program, graph, impossible).Run());
              changed |= graph_changed;
            }
            if (!impossible.empty()) {
              return absl::UnimplementedError(
                  absl::StrCat("as_strided accesses memory outside its operand:\n  ",
                               absl::StrJoin(impossible, "\n  ")));
            }
            return changed;
          }};
}

}  // namespace belay::exir
