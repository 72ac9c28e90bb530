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
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr std::string_view kPrefix = "torch._functorch.predispatch.";

// "_add_batch_dim" of the functions that torch.vmap records, "" for others.
std::string_view VmapFunction(const Node& node) {
  std::string_view name = node.target->name();
  if (!name.starts_with(kPrefix)) return "";
  return name.substr(kPrefix.size());
}

// Operators on one tensor that name dimensions of it: where.
struct DimRow {
  std::string_view op;
  size_t argument;
};
constexpr DimRow kDimRows[] = {
    {"aten._log_softmax.default", 1},
    {"aten._softmax.default", 1},
    {"aten.amax.default", 1},
    {"aten.amin.default", 1},
    {"aten.any.dim", 1},
    {"aten.argmax.default", 1},
    {"aten.argmin.default", 1},
    {"aten.cumprod.default", 1},
    {"aten.cumsum.default", 1},
    {"aten.flip.default", 1},
    {"aten.linalg_vector_norm.default", 2},
    {"aten.max.dim", 1},
    {"aten.mean.dim", 1},
    {"aten.min.dim", 1},
    {"aten.prod.dim_int", 1},
    {"aten.select.int", 1},
    {"aten.slice.Tensor", 1},
    {"aten.sort.default", 1},
    {"aten.split_with_sizes.default", 2},
    {"aten.squeeze.dim", 1},
    {"aten.squeeze.dims", 1},
    {"aten.sum.dim_IntList", 1},
    {"aten.topk.default", 2},
    {"aten.unsqueeze.default", 1},
    {"aten.var.correction", 1},
};
// Those that do not care how many dimensions there are.
constexpr std::string_view kSameOps[] = {
    "aten._to_copy.default",  "aten.alias.default",           "aten.clone.default",
    "aten.full_like.default", "aten.lift_fresh_copy.default",
};

// A tensor with the dimensions of some levels in front.
struct Batched {
  Argument tensor;
  std::vector<int64_t> levels;  // ascending
};

class Batcher {
 public:
  Batcher(ExportedProgram& program, Graph& graph)
      : editor_(graph), builder_(program, editor_, &StandardDecompositions()) {}

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
          return absl::InvalidArgumentError(absl::StrCat("vmap: '", graph.value(value).name,
                                                         "' is used where its batch has ended"));
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
      return absl::UnimplementedError(absl::StrCat("vmap: the function ", function));
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
  // What stands at the place: batched or not.
  Batched At(const Argument& argument) {
    const ValueId* value = argument.get_if<ValueId>();
    if (value != nullptr) {
      const auto it = batched_.find(*value);
      if (it != batched_.end()) return it->second;
    }
    return {argument, {}};
  }
  // The rank that the mapped function sees.
  int64_t Rank(const Batched& x) {
    return builder_.rank(x.tensor) - static_cast<int64_t>(x.levels.size());
  }
  static int64_t Count(const Batched& x) { return static_cast<int64_t>(x.levels.size()); }

  // (tensor, dim, level)
  absl::Status AddDim(NodeId id) {
    const Node& node = editor_.graph().node(id);
    ABSL_ASSIGN_OR_RETURN(const int64_t dim_argument, IntAt(node, 1));
    ABSL_ASSIGN_OR_RETURN(const int64_t level, IntAt(node, 2));
    Batched x = At(node.arguments[0]);
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
    if (node.arguments.size() < 4) return absl::InvalidArgumentError("vmap: arguments are missing");
    const Argument size = node.arguments[2];
    const ValueId old = node.outputs[0].values[0];  // what is made below moves nodes
    Batched x = At(node.arguments[0]);
    const auto place = std::find(x.levels.begin(), x.levels.end(), level);
    if (place != x.levels.end()) {
      const int64_t dim = builder_.WrapDim(dim_argument, Rank(x) + 1);
      if (!builder_.ok()) return builder_.status();
      x.tensor = Moved(x.tensor, place - x.levels.begin(), Count(x) - 1 + dim);
      x.levels.erase(place);
    } else {
      // The same for every element of the batch.
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

  // With a dimension for each of `levels` (of size 1 where it has none) and then `rank` others.
  Argument Aligned(const Batched& x, const std::vector<int64_t>& levels, int64_t rank) {
    if (x.levels.empty()) return x.tensor;  // broadcasting does it
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
  // The same, every level of its size and the other dimensions there.
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
    const std::string_view op = node.target->name();
    // It says what the mapped function saw, and there is nothing to see at run time.
    if (op == "aten._assert_tensor_metadata.default") return absl::OkStatus();
    std::vector<Argument> arguments = node.arguments;
    // All tensors of the call and the levels of any.
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
    if (std::find(std::begin(kSameOps), std::end(kSameOps), op) != std::end(kSameOps)) {
      arguments[0] = At(arguments[0]).tensor;
      return Call(id, node.target, std::move(arguments), levels);
    }
    const Batched self = At(arguments.empty() ? Argument() : arguments[0]);
    for (const DimRow& row : kDimRows) {
      if (row.op != op) continue;
      if (self.levels != levels) break;  // the tensor that is batched is another
      arguments[0] = self.tensor;
      const int64_t seen = Rank(self) + (op == "aten.unsqueeze.default" ? 1 : 0);
      ABSL_ASSIGN_OR_RETURN(arguments[row.argument],
                            ShiftedDims(arguments[row.argument], seen, count));
      return Call(id, node.target, std::move(arguments), levels);
    }
    if (op == "aten.permute.default") {
      ABSL_ASSIGN_OR_RETURN(const Argument dims, ShiftedDims(arguments[1], Rank(self), count));
      Argument::List order;
      for (int64_t d = 0; d < count; ++d) order.push_back(d);
      for (const Argument& dim : *dims.get_if<Argument::List>()) order.push_back(dim);
      return Call(id, node.target, {self.tensor, Argument(std::move(order))}, levels);
    }
    if (op == "aten.view.default" || op == "aten._unsafe_view.default") {
      return Replace(id, Reshape(builder_, self.tensor, Sizes(levels, arguments[1])), levels);
    }
    if (op == "aten.expand.default") {
      const Argument::List* sizes = arguments[1].get_if<Argument::List>();
      if (sizes == nullptr) return absl::InvalidArgumentError("vmap: expand without sizes");
      const Argument x = Aligned(self, levels, static_cast<int64_t>(sizes->size()));
      return Replace(id, Expand(builder_, x, Sizes(levels, arguments[1])), levels);
    }
    if (op == "aten.cat.default") {
      const Argument::List* list = arguments[0].get_if<Argument::List>();
      if (list == nullptr) return absl::InvalidArgumentError("vmap: cat without tensors");
      Argument::List parts;
      for (const Argument& part : *list) parts.push_back(Full(At(part), levels));
      ABSL_ASSIGN_OR_RETURN(const Argument dim, ShiftedDims(arguments[1], rank, count));
      return Call(id, node.target, {Argument(std::move(parts)), dim}, levels);
    }
    if (op == "aten.mm.default" || op == "aten.bmm.default") {
      const int64_t seen = op == "aten.mm.default" ? 2 : 3;
      const Argument x = Aligned(self, levels, seen), y = Aligned(At(arguments[1]), levels, seen);
      return Replace(id, builder_.Call("aten.matmul.default", {x, y}), levels);
    }
    if (op == "aten.index.Tensor") return BatchIndex(id, self, arguments[1], levels);
    return absl::UnimplementedError(absl::StrCat("vmap of ", op));
  }

  // self[indices], where every index is a tensor: the levels of self are indexed, too.
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

  // The list of sizes with those of the levels in front.
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

  // Dimensions as the mapped function counts them, which sees `rank`, behind `count` others. None
  // and no dimensions at all are all that it sees.
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
          return absl::UnimplementedError("vmap of an operator whose result is no tensor");
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
              changed = changed || graph_changed;
            }
            return changed;
          }};
}

}  // namespace belay::exir
