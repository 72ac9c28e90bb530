#include "exir/functionalize/batch_regions.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exir/builder/op_builder.h"
#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/standard_decompositions.h"
#include "exir/ir/at_node.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/op_definition/op_table.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr std::string_view kPrefix = "torch._functorch.predispatch.";

// Returns the name of a function recorded by torch.vmap, such as "_add_batch_dim"; "" for other
// nodes.
std::string_view VmapFunction(const Node& node) {
  std::string_view name = node.target->name();
  if (!name.starts_with(kPrefix)) return "";
  return name.substr(kPrefix.size());
}

// Batching rule of an operator. Pointwise operators are not listed.
enum class Form : uint8_t {
  kNothing,  // checks types of the mapped function; dropped
  kSame,     // one tensor, of any rank
  kDims,     // one tensor and arguments that name its dimensions
  kNewDim,   // the same, dimensions may be one past the last
  kPermute,
  kReshape,
  kExpand,
  kJoin,
  kMatrix,    // matmul
  kMatrices,  // batched matmul
  kIndex,
};
struct Row {
  std::string_view op;
  Form form;
  std::string_view dims = "dim";  // name of the dimension argument
};
// Sorted.
constexpr Row kRows[] = {
    {"aten._assert_tensor_metadata.default", Form::kNothing},
    {"aten._log_softmax.default", Form::kDims},
    {"aten._softmax.default", Form::kDims},
    {"aten._to_copy.default", Form::kSame},
    {"aten._unsafe_view.default", Form::kReshape},
    {"aten.alias.default", Form::kSame},
    {"aten.amax.default", Form::kDims},
    {"aten.amin.default", Form::kDims},
    {"aten.any.dim", Form::kDims},
    {"aten.argmax.default", Form::kDims},
    {"aten.argmin.default", Form::kDims},
    {"aten.bmm.default", Form::kMatrices},
    {"aten.cat.default", Form::kJoin},
    {"aten.clone.default", Form::kSame},
    {"aten.cumprod.default", Form::kDims},
    {"aten.cumsum.default", Form::kDims},
    {"aten.expand.default", Form::kExpand},
    {"aten.flip.default", Form::kDims, "dims"},
    {"aten.full_like.default", Form::kSame},
    {"aten.index.Tensor", Form::kIndex},
    {"aten.lift_fresh_copy.default", Form::kSame},
    {"aten.linalg_vector_norm.default", Form::kDims},
    {"aten.max.dim", Form::kDims},
    {"aten.mean.dim", Form::kDims},
    {"aten.min.dim", Form::kDims},
    {"aten.mm.default", Form::kMatrix},
    {"aten.permute.default", Form::kPermute},
    {"aten.prod.dim_int", Form::kDims},
    {"aten.select.int", Form::kDims},
    {"aten.slice.Tensor", Form::kDims},
    {"aten.sort.default", Form::kDims},
    {"aten.split_with_sizes.default", Form::kDims},
    {"aten.squeeze.dim", Form::kDims},
    {"aten.squeeze.dims", Form::kDims},
    {"aten.sum.dim_IntList", Form::kDims},
    {"aten.topk.default", Form::kDims},
    {"aten.unsqueeze.default", Form::kNewDim},
    {"aten.var.correction", Form::kDims},
    {"aten.view.default", Form::kReshape},
};

// A tensor with the batch dimensions of some vmap levels in front.
struct Batched {
  Argument tensor;
  std::vector<int64_t> levels;  // ascending
};

class Batcher {
 public:
  Batcher(ExportedProgram& program, Graph& graph)
      : editor_(graph),
        builder_(program, editor_, &StandardDecompositions()),
        rows_(*program.ops, kRows) {}

  absl::StatusOr<bool> Run() {
    const Graph& graph = editor_.graph();
    for (NodeId id : graph.NodeList()) {
      builder_.MoveTo(id);
      absl::Status status = Visit(id);
      if (status.ok()) status = builder_.status();
      if (!status.ok()) return AtNode(status, graph, id);
    }
    for (auto it = replaced_.rbegin(); it != replaced_.rend(); ++it) {
      for (const NodeOutput& output : graph.node(*it).outputs) {
        for (ValueId value : output.values) {
          if (graph.value(value).users.empty() && !graph.IsOutput(value)) continue;
          return absl::InvalidArgumentError(
              absl::StrCat("vmap: '", graph.value(value).name, "' is used outside its batch"));
        }
      }
      editor_.EraseNode(*it);
    }
    return !replaced_.empty();
  }

 private:
  absl::Status Visit(NodeId id) {
    const Graph& graph = editor_.graph();
    const std::string_view function = VmapFunction(graph.node(id));
    if (function.empty()) {
      bool batched = false;
      for (Argument argument : graph.node(id).arguments) {
        ForEachValueRef(argument, [&](ValueId& value) { batched |= batched_.contains(value); });
      }
      if (!batched) return absl::OkStatus();
      ABSL_RETURN_IF_ERROR(Batch(id));
    } else if ((function == "_add_batch_dim" || function == "_remove_batch_dim") &&
               (graph.node(id).outputs.size() != 1 ||
                graph.node(id).outputs[0].values.size() != 1)) {
      return absl::InvalidArgumentError(absl::StrCat("vmap: ", function, " gives one tensor"));
    } else if (function == "_add_batch_dim") {
      ABSL_RETURN_IF_ERROR(AddDim(id));
    } else if (function == "_remove_batch_dim") {
      ABSL_RETURN_IF_ERROR(RemoveDim(id));
    } else if (function != "_vmap_increment_nesting" && function != "_vmap_decrement_nesting" &&
               function != "lazy_load_decompositions") {
      return absl::UnimplementedError(
          absl::StrCat("the function ", function,
                       " of torch.func (call run_decompositions() on the exported program before "
                       "it is saved: derivatives become operators)"));
    }
    replaced_.push_back(id);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> IntAt(const Node& node, size_t i) {
    const int64_t* value =
        i < node.arguments.size() ? node.arguments[i].get_if<int64_t>() : nullptr;
    if (value != nullptr) return *value;
    return absl::InvalidArgumentError(
        absl::StrCat("vmap: expected argument ", i, " to be a number"));
  }
  // Value of an argument, batched or not.
  Batched At(const Argument& argument) {
    const ValueId* value = argument.get_if<ValueId>();
    if (value != nullptr) {
      const auto it = batched_.find(*value);
      if (it != batched_.end()) return it->second;
    }
    return {argument, {}};
  }
  // Rank inside the mapped function.
  int64_t Rank(const Batched& x) {
    return builder_.rank(x.tensor) - static_cast<int64_t>(x.levels.size());
  }
  static int64_t Count(const Batched& x) { return static_cast<int64_t>(x.levels.size()); }

  // (tensor, dim, level)
  absl::Status AddDim(NodeId id) {
    const Node& node = editor_.graph().node(id);
    ABSL_ASSIGN_OR_RETURN(const int64_t dim_argument, IntAt(node, 1));
    ABSL_ASSIGN_OR_RETURN(const int64_t level, IntAt(node, 2));
    Batched x = At(node.operand());
    const int64_t dim = builder_.WrapDim(dim_argument, Rank(x));
    if (Rank(x) < 1) builder_.Invalid("vmap: a tensor without dimensions is mapped over");
    if (!builder_.ok()) return builder_.status();
    const auto place = std::lower_bound(x.levels.begin(), x.levels.end(), level);
    if (place != x.levels.end() && *place == level) {
      return absl::InvalidArgumentError(absl::StrCat("vmap: level ", level, " is mapped twice"));
    }
    const SymInt size = builder_.size(x.tensor, Count(x) + dim);
    x.tensor = Moved(x.tensor, Count(x) + dim, place - x.levels.begin());
    x.levels.insert(place, level);
    sizes_[level] = size;
    return Set(id, x);
  }

  // (tensor, level, size, out_dim)
  absl::Status RemoveDim(NodeId id) {
    const Node& node = editor_.graph().node(id);
    ABSL_ASSIGN_OR_RETURN(const int64_t level, IntAt(node, 1));
    ABSL_ASSIGN_OR_RETURN(const int64_t dim_argument, IntAt(node, 3));
    const Argument size = node.arguments[2];
    const ValueId old = node.outputs[0].values[0];  // editing below moves nodes
    Batched x = At(node.operand());
    const auto place = std::find(x.levels.begin(), x.levels.end(), level);
    if (place != x.levels.end()) {
      const int64_t dim = builder_.WrapDim(dim_argument, Rank(x) + 1);
      if (!builder_.ok()) return builder_.status();
      x.tensor = Moved(x.tensor, place - x.levels.begin(), Count(x) - 1 + dim);
      x.levels.erase(place);
    } else {
      // Equal for all elements of the batch: expand.
      const int64_t dim = builder_.WrapDim(dim_argument, Rank(x) + 1);
      if (!builder_.ok()) return builder_.status();
      x.tensor = Unsqueeze(builder_, x.tensor, Count(x) + dim);
      std::vector<OpArgument> wide;
      for (const SymInt& s : builder_.sizes(x.tensor)) wide.push_back(s);
      wide[Count(x) + dim] = size;
      x.tensor = Expand(builder_, x.tensor, OpArgument::List(wide));
    }
    if (!builder_.ok()) return builder_.status();
    if (x.levels.empty()) {
      editor_.ReplaceAllUses(old, x.tensor);
      return absl::OkStatus();
    }
    return Set(id, x);
  }

  absl::Status Set(NodeId id, Batched x) {
    if (!builder_.ok()) return builder_.status();
    batched_[editor_.graph().node(id).outputs[0].values[0]] = std::move(x);
    return absl::OkStatus();
  }

  Argument Moved(const Argument& x, int64_t from, int64_t to) {
    if (from == to) return x;
    std::vector<int64_t> order = AllDims(builder_.rank(x));
    order.erase(order.begin() + from);
    order.insert(order.begin() + to, from);
    return Permute(builder_, x, order);
  }

  // Reshapes x to one dimension for each of `levels` (size 1 if x lacks it), then `rank` others.
  Argument Aligned(const Batched& x, const std::vector<int64_t>& levels, int64_t rank) {
    if (x.levels.empty()) return x.tensor;  // broadcasting suffices
    Argument result = x.tensor;
    const int64_t missing = rank - Rank(x);
    for (int64_t i = 0; i < missing; ++i) result = Unsqueeze(builder_, result, Count(x));
    for (size_t i = 0; i < levels.size(); ++i) {
      if (!std::binary_search(x.levels.begin(), x.levels.end(), levels[i])) {
        result = Unsqueeze(builder_, result, static_cast<int64_t>(i));
      }
    }
    return result;
  }
  // Same, with every level expanded to its size and the other dimensions unchanged.
  Argument Full(const Batched& x, const std::vector<int64_t>& levels) {
    Argument result = x.tensor;
    for (size_t i = 0; i < levels.size(); ++i) {
      if (!std::binary_search(x.levels.begin(), x.levels.end(), levels[i])) {
        result = Unsqueeze(builder_, result, static_cast<int64_t>(i));
      }
    }
    std::vector<SymInt> wide = builder_.sizes(result);
    for (size_t i = 0; i < levels.size() && builder_.ok(); ++i) wide[i] = sizes_.at(levels[i]);
    return builder_.sizes(result) == wide ? result : Expand(builder_, result, wide);
  }

  absl::Status Batch(NodeId id) {
    const Node node = editor_.graph().node(id);
    const Row* row = rows_.Find(node.target);
    std::vector<Argument> arguments = node.arguments;
    // All tensors of the call and the union of their levels.
    std::set<int64_t> all;
    int64_t rank = 0;
    for (const Argument& argument : arguments) {
      Argument copy = argument;
      ForEachValueRef(copy, [&](ValueId& value) {
        if (editor_.graph().value(value).tensor() == nullptr) return;
        const Batched x = At(Argument(value));
        all.insert(x.levels.begin(), x.levels.end());
        rank = std::max(rank, Rank(x));
      });
    }
    const std::vector<int64_t> levels(all.begin(), all.end());
    const int64_t count = static_cast<int64_t>(levels.size());

    if (node.target->has_trait(kPointwise)) {
      for (Argument& argument : arguments) {
        if (builder_.IsTensor(argument)) argument = Aligned(At(argument), levels, rank);
      }
      return Call(id, node.target, std::move(arguments), levels);
    }
    const auto unknown = [&] {
      return absl::UnimplementedError(absl::StrCat("vmap of ", node.target->name()));
    };
    if (row == nullptr) return unknown();
    const Batched self = At(node.operand());
    switch (row->form) {
      case Form::kNothing:
        return absl::OkStatus();
      case Form::kSame:
        arguments.front() = self.tensor;
        return Call(id, node.target, std::move(arguments), levels);
      case Form::kDims:
      case Form::kNewDim: {
        if (self.levels != levels) break;  // another argument is batched
        arguments.front() = self.tensor;
        Argument& dims = arguments[*node.target->ArgumentIndex(row->dims)];
        const int64_t seen = Rank(self) + (row->form == Form::kNewDim ? 1 : 0);
        ABSL_ASSIGN_OR_RETURN(dims, ShiftedDims(dims, seen, count));
        return Call(id, node.target, std::move(arguments), levels);
      }
      case Form::kPermute: {
        ABSL_ASSIGN_OR_RETURN(const Argument dims,
                              ShiftedDims(node.argument("dims"), Rank(self), count));
        const Argument::List* behind = dims.get_if<Argument::List>();
        if (behind == nullptr)
          return absl::InvalidArgumentError("vmap: permute without dimensions");
        Argument::List order;
        for (int64_t d = 0; d < count; ++d) order.push_back(d);
        order.insert(order.end(), behind->begin(), behind->end());
        return Call(id, node.target, {self.tensor, Argument(std::move(order))}, levels);
      }
      case Form::kReshape: {
        const OpArgument sizes = Sizes(levels, node.argument("size"));
        return Replace(id, Reshape(builder_, self.tensor, sizes), levels);
      }
      case Form::kExpand: {
        const Argument::List* sizes = node.argument("size").get_if<Argument::List>();
        if (sizes == nullptr) return absl::InvalidArgumentError("vmap: expand without sizes");
        const Argument x = Aligned(self, levels, static_cast<int64_t>(sizes->size()));
        return Replace(id, Expand(builder_, x, Sizes(levels, node.argument("size"))), levels);
      }
      case Form::kJoin: {
        const Argument::List* list = node.argument("tensors").get_if<Argument::List>();
        if (list == nullptr) return absl::InvalidArgumentError("vmap: cat without tensors");
        Argument::List parts;
        for (const Argument& part : *list) parts.push_back(Full(At(part), levels));
        ABSL_ASSIGN_OR_RETURN(const Argument dim, ShiftedDims(node.argument("dim"), rank, count));
        return Call(id, node.target, {Argument(std::move(parts)), dim}, levels);
      }
      case Form::kMatrix:
      case Form::kMatrices: {
        const int64_t seen = row->form == Form::kMatrix ? 2 : 3;
        const Argument x = Aligned(self, levels, seen);
        const Argument y = Aligned(At(node.argument("mat2")), levels, seen);
        return Replace(id, builder_.Call("aten.matmul.default", {x, y}), levels);
      }
      case Form::kIndex:
        return BatchIndex(id, self, node.argument("indices"), levels);
    }
    return unknown();
  }

  // Batches self[indices] with a tensor for every index: the levels of self are indexed, too.
  absl::Status BatchIndex(NodeId id, const Batched& self, const Argument& argument,
                          const std::vector<int64_t>& levels) {
    const Argument::List* list = argument.get_if<Argument::List>();
    if (list == nullptr) return absl::InvalidArgumentError("vmap: index without indices");
    int64_t rank = 0;
    for (const Argument& index : *list) {
      if (!builder_.IsTensor(index) || builder_.dtype(At(index).tensor) == DType::kBool) {
        return absl::UnimplementedError("vmap of an index by a mask or of some dimensions");
      }
      rank = std::max(rank, Rank(At(index)));
    }
    const int64_t total = static_cast<int64_t>(levels.size()) + rank;
    Argument::List indices;
    for (int64_t level : self.levels) {
      std::vector<SymInt> sizes(static_cast<size_t>(total), SymInt(1));
      sizes[std::find(levels.begin(), levels.end(), level) - levels.begin()] = sizes_.at(level);
      indices.push_back(Reshape(builder_, Arange(builder_, sizes_.at(level)), sizes));
    }
    for (const Argument& index : *list) indices.push_back(Aligned(At(index), levels, rank));
    // A level that no index has would be missing from the result.
    Argument result =
        builder_.Call("aten.index.Tensor", {self.tensor, Argument(std::move(indices))});
    return Replace(id, result, levels);
  }

  // Prepends the sizes of the levels to the list of sizes.
  OpArgument Sizes(const std::vector<int64_t>& levels, const Argument& sizes) {
    OpArgument::List all;
    for (int64_t level : levels) all.push_back(sizes_.at(level));
    if (const Argument::List* list = sizes.get_if<Argument::List>()) {
      for (const Argument& size : *list) all.push_back(size);
    } else {
      builder_.Invalid("vmap: expected a list of sizes");
    }
    return all;
  }

  // Shifts dimensions of the mapped function, which has rank `rank`, by `count`. None and an empty
  // list mean all dimensions of the mapped function.
  absl::StatusOr<Argument> ShiftedDims(const Argument& dims, int64_t rank, int64_t count) {
    if (const int64_t* dim = dims.get_if<int64_t>()) {
      const int64_t wrapped = builder_.WrapDim(*dim, rank);
      if (!builder_.ok()) return builder_.status();
      return Argument(wrapped + count);
    }
    const Argument::List* list = dims.get_if<Argument::List>();
    if (!dims.is_none() && list == nullptr) {
      return absl::InvalidArgumentError("vmap: expected dimensions");
    }
    Argument::List shifted;
    if (list == nullptr || list->empty()) {
      for (int64_t d = 0; d < rank; ++d) shifted.push_back(count + d);
    } else {
      for (const Argument& dim : *list) {
        ABSL_ASSIGN_OR_RETURN(Argument one, ShiftedDims(dim, rank, count));
        shifted.push_back(std::move(one));
      }
    }
    return Argument(std::move(shifted));
  }

  absl::Status Replace(NodeId id, const Argument& result, const std::vector<int64_t>& levels) {
    return SetResults(id, {result}, levels);
  }
  absl::Status Call(NodeId id, const OpOverload* op, std::vector<Argument> arguments,
                    const std::vector<int64_t>& levels) {
    return SetResults(id, builder_.CallAll(op, std::move(arguments)), levels);
  }
  absl::Status SetResults(NodeId id, const std::vector<Argument>& results,
                          const std::vector<int64_t>& levels) {
    if (!builder_.ok()) return builder_.status();
    const Graph& graph = editor_.graph();
    const std::vector<NodeOutput> outputs = graph.node(id).outputs;
    for (size_t k = 0; k < outputs.size() && k < results.size(); ++k) {
      const Argument::List* list = results[k].get_if<Argument::List>();
      for (size_t i = 0; i < outputs[k].values.size(); ++i) {
        const Argument& result = list != nullptr && i < list->size() ? (*list)[i] : results[k];
        const TensorMeta* declared = graph.value(outputs[k].values[i]).tensor();
        Batched x = {result, levels};
        if (declared == nullptr || !builder_.IsTensor(result)) {
          return absl::UnimplementedError("vmap of an operator whose result is not a tensor");
        }
        if (declared->dtype != builder_.dtype(result) || declared->rank() != Rank(x)) {
          return absl::UnimplementedError(
              absl::StrCat("vmap: the batched form gives ", PrintType(builder_.meta(result)),
                           ", its elements are ", PrintType(*declared)));
        }
        batched_[outputs[k].values[i]] = std::move(x);
      }
    }
    return absl::OkStatus();
  }

  GraphEditor editor_;
  OpBuilder builder_;
  const OpTable<Row> rows_;
  absl::flat_hash_map<ValueId, Batched> batched_;
  std::map<int64_t, SymInt> sizes_;  // by level
  std::vector<NodeId> replaced_;
};

}  // namespace

Pass BatchRegions() {
  return {"batch_regions", [](ExportedProgram& program) -> absl::StatusOr<bool> {
            bool changed = false;
            for (uint32_t g = 0; g < program.graphs.size(); ++g) {
              const Graph& graph = program.graphs[GraphId(g)];
              bool maps = false;
              for (NodeId id : graph.nodes()) maps = maps || !VmapFunction(graph.node(id)).empty();
              if (!maps) continue;
              ABSL_ASSIGN_OR_RETURN(const bool graph_changed,
                                    Batcher(program, program.graphs[GraphId(g)]).Run());
              changed |= graph_changed;
            }
            return changed;
          }};
}

}  // namespace belay::exir
