#include "exir/passes/propagate_constants.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "exir/interpreter/operator_call.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/content_key.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/ir/mapped_pages.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernels/movement/movement.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/schema/operator_facts.h"

namespace belay::exir {
namespace {

// Limit for the number of nodes visited to find what a result would free. Constants beyond it do
// not count as freed, which can only prevent folding.
constexpr size_t kMaxFreedNodes = 256;

// Work is counted in steps of about a nanosecond: a base amount, and amounts per byte of constants
// and per call.
constexpr double kFreeSteps = 1 << 30, kStepsPerByte = 16, kStepsPerCall = 1000;

// Returns a copy of a large storage in a temporary file; the storage itself if it is small or the
// file cannot be created.
Storage InFile(Storage storage) {
  if (storage.bytes.size() < kLeastFileBytes) return storage;
  const std::optional<FileBytes> file = CreateFileBytes(storage.bytes.size());
  if (!file.has_value()) return storage;
  std::memcpy(file->bytes.data(), storage.bytes.data(), storage.bytes.size());
  ReleasePages(file->bytes);
  return Storage{file->owner, file->bytes};
}

bool MayCompute(const OpOverload* target) {
  constexpr OpTrait kExcluded[] = {kDataDependent, kNondeterministic, kSideEffect, kSymbolic,
                                   kDequantizes};
  return target->schema() != nullptr && target->has_meta_kernel() &&
         std::none_of(std::begin(kExcluded), std::end(kExcluded),
                      [&](OpTrait trait) { return target->has_trait(trait); }) &&
         !target->schema()->IsMutable() && !target->schema()->IsView();
}

class Propagation {
 public:
  Propagation(ExportedProgram& program, const KernelRegistry& kernels,
              const PropagateConstantsOptions& options)
      : program_(program),
        editor_(program.top()),
        graph_(editor_.graph()),
        kernels_(kernels),
        options_(options),
        constants_(program, editor_, options.changing) {
    const absl::Span<const ValueId> inputs = constants_.inputs();
    constant_.insert(inputs.begin(), inputs.end());
    const uint64_t bytes = constants_.FreedBytes(inputs);
    max_growth_ = options.max_growth_bytes.value_or(
        std::clamp(bytes / 4, uint64_t{1} << 20, uint64_t{1} << 24));
    max_node_growth_ =
        options.max_node_growth_bytes.value_or(std::max(max_growth_ / 2, uint64_t{1} << 20));
    max_bytes_ = std::min(options.max_tensor_bytes, bytes + max_growth_);
    steps_ = kFreeSteps + kStepsPerByte * static_cast<double>(bytes);
    for (const Argument& output : graph_.outputs()) {
      ForEachValue(output, [&](ValueId value) { returned_.insert(value); });
    }
  }

  absl::StatusOr<bool> Run() {
    std::vector<NodeId> order;
    for (NodeId id : graph_.nodes()) {
      if (!IsComputable(id)) continue;
      computable_.insert(id);
      order.push_back(id);
      if (DependsOnProduct(id)) products_.insert(id);
      for (ValueId value : graph_.node(id).results()) constant_.insert(value);
    }
    bool changed = false;
    // In reverse order: a node follows all its users.
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const NodeId id = *it;
      if (!graph_.contains(id) || !IsNeeded(id)) continue;
      bool replaced = false;
      if ((!options_.only_subgraph_operands || FeedsSubgraphs(id)) &&
          (!options_.only_products || products_.contains(id))) {
        ABSL_ASSIGN_OR_RETURN(replaced, Replace(id));
      }
      if (!replaced) {
        left_.insert(id);
        for (ValueId value : graph_.node(id).results()) Release(value);
      }
      changed = changed || replaced;
    }
    if (changed) constants_.Finish();
    return changed;
  }

 private:
  // Returns the tensor's bytes; nullopt if a size is unknown, or if they exceed the limit of a
  // result.
  std::optional<uint64_t> Bytes(ValueId value) const {
    const TensorMeta* meta = graph_.value(value).tensor();
    if (meta == nullptr) return std::nullopt;
    const std::optional<Sizes> sizes = AsInts(meta->sizes);
    if (!sizes.has_value()) return std::nullopt;
    CheckedInt bytes(static_cast<int64_t>(DTypeSize(meta->dtype)));
    for (const int64_t size : *sizes) bytes = bytes * CheckedInt(size);
    if (!bytes.ok()) return std::nullopt;
    return static_cast<uint64_t>(bytes.value());
  }

  bool IsComputable(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!MayCompute(node.target) || node.results().empty()) return false;
    bool all = true;
    for (const Argument& argument : node.arguments) {
      ForEachValue(argument, [&](ValueId value) { all = all && constant_.contains(value); });
    }
    const std::vector<ValueId> results = node.results();
    return all && std::all_of(results.begin(), results.end(), [&](ValueId value) {
             const std::optional<uint64_t> bytes = Bytes(value);
             return bytes.has_value() && *bytes <= max_bytes_;
           });
  }

  // Whether the node, or a computable one before it, is a product or a convolution.
  bool DependsOnProduct(NodeId id) const {
    const Node& node = graph_.node(id);
    const WorkRule::Kind kind = FactsOf(node.target->name()).work.kind;
    bool depends = kind == WorkRule::Kind::kMatmul || kind == WorkRule::Kind::kConvolution;
    for (const Argument& argument : node.arguments) {
      ForEachValue(argument, [&](ValueId value) {
        depends = depends || products_.contains(graph_.value(value).producer);
      });
    }
    return depends;
  }

  // Returns the bytes of the used results.
  uint64_t ResultBytes(NodeId id) const {
    uint64_t total = 0;
    for (ValueId value : graph_.node(id).results()) {
      if (!graph_.value(value).users.empty()) total += *Bytes(value);
    }
    return total;
  }

  bool IsReturned(NodeId id) const {
    const std::vector<ValueId> results = graph_.node(id).results();
    return std::any_of(results.begin(), results.end(),
                       [&](ValueId value) { return returned_.contains(value); });
  }

  // Returns whether a node that is kept uses a result, or the program returns one.
  bool IsNeeded(NodeId id) const {
    if (IsReturned(id)) return true;
    for (ValueId value : graph_.node(id).results()) {
      for (NodeId user : graph_.value(value).users) {
        if (!computable_.contains(user) || left_.contains(user)) return true;
      }
    }
    return false;
  }

  // Returns whether a node with subgraphs uses a result.
  bool FeedsSubgraphs(NodeId id) const {
    const std::vector<ValueId> results = graph_.node(id).results();
    return std::any_of(results.begin(), results.end(), [&](ValueId value) {
      const std::vector<NodeId>& users = graph_.value(value).users;
      return std::any_of(users.begin(), users.end(),
                         [&](NodeId user) { return HasSubgraphs(graph_.node(user)); });
    });
  }

  // Returns the bytes freed if the node is erased, as far as kMaxFreedNodes nodes show.
  uint64_t FreedBytes(NodeId id) const {
    absl::flat_hash_set<NodeId> gone = {id};
    std::vector<NodeId> work = {id};
    std::vector<ValueId> inputs;
    const auto unused = [&](ValueId value) {
      if (returned_.contains(value)) return false;
      const std::vector<NodeId>& users = graph_.value(value).users;
      return users.size() <= kMaxFreedNodes &&
             std::all_of(users.begin(), users.end(), [&](NodeId u) { return gone.contains(u); });
    };
    absl::flat_hash_set<ValueId> counted;
    for (size_t k = 0; k < work.size() && k < kMaxFreedNodes; ++k) {
      for (const Argument& argument : graph_.node(work[k]).arguments) {
        ForEachValue(argument, [&](ValueId value) {
          if (!unused(value)) return;
          const NodeId producer = graph_.value(value).producer;
          if (!producer.valid()) {
            if (counted.insert(value).second) inputs.push_back(value);
            return;
          }
          const std::vector<ValueId> results = graph_.node(producer).results();
          if (std::all_of(results.begin(), results.end(), unused) && gone.insert(producer).second) {
            work.push_back(producer);
          }
        });
      }
    }
    return constants_.FreedBytes(inputs);
  }

  bool Affordable(NodeId id, uint64_t bytes) const {
    const uint64_t freed = FreedBytes(id);
    return bytes <= max_node_growth_ + freed && added_ + bytes <= max_growth_ + freed_ + freed;
  }

  // ---- Computing

  // Estimates the work of a node. Operators without a term that grows faster than their operands
  // read each element a few times; others are assumed to cost as much as a matmul.
  double StepsOf(NodeId id) const {
    const Node& node = graph_.node(id);
    double elements = 0;
    const auto count = [&](ValueId value) {  // a constant, or the result of a computable node
      const DType dtype = graph_.value(value).tensor()->dtype;
      elements += static_cast<double>(Bytes(value).value_or(0) / DTypeSize(dtype));
    };
    for (const Argument& argument : node.arguments) ForEachValue(argument, count);
    for (ValueId value : node.results()) count(value);
    const bool linear = FactsOf(node.target->name()).work.kind == WorkRule::Kind::kElements;
    return kStepsPerCall + elements * (linear ? 1 : std::sqrt(elements));
  }

  // Returns the node, preceded by its dependencies without results.
  std::vector<NodeId> ConeOf(NodeId id) const {
    std::vector<NodeId> cone, stack = {id};
    absl::flat_hash_set<NodeId> seen, done;
    while (!stack.empty()) {
      const NodeId top = stack.back();
      if (seen.insert(top).second) {
        for (const Argument& argument : graph_.node(top).arguments) {
          ForEachValue(argument, [&](ValueId value) {
            const NodeId producer = graph_.value(value).producer;
            if (!producer.valid() || seen.contains(producer) || data_.contains(value)) return;
            stack.push_back(producer);
          });
        }
      } else {
        stack.pop_back();
        if (done.insert(top).second) cone.push_back(top);
      }
    }
    return cone;
  }

  // Computes the node and its dependencies. Frees results after their last use, except those that
  // become constants themselves. Returns false if a call fails, and if it takes too many steps.
  bool Compute(NodeId id) {
    if (steps_ <= 0 || failed_.contains(id)) return false;
    const std::vector<ValueId> wanted = graph_.node(id).results();
    if (std::all_of(wanted.begin(), wanted.end(), [&](ValueId v) { return data_.contains(v); })) {
      return true;
    }
    const std::vector<NodeId> cone = ConeOf(id);
    double steps = 0;
    absl::flat_hash_map<ValueId, size_t> reads;
    for (NodeId node : cone) {
      steps += StepsOf(node);
      for (const Argument& argument : graph_.node(node).arguments) {
        ForEachValue(argument, [&](ValueId value) { ++reads[value]; });
      }
    }
    steps_ -= static_cast<double>(cone.size()) * kStepsPerCall;
    if (steps > steps_) return false;
    steps_ -= steps;
    for (NodeId node : cone) {
      const bool small = live_bytes_ <= 4 * max_bytes_;
      if (!small || !Call(node).ok()) {
        if (small) Fail(node);
        for (NodeId computed : cone) {
          for (ValueId value : graph_.node(computed).results()) Release(value);
        }
        for (const auto& [value, count] : reads) Release(value);
        return false;
      }
      for (const Argument& argument : graph_.node(node).arguments) {
        ForEachValue(argument, [&](ValueId value) {
          const NodeId producer = graph_.value(value).producer;
          if (--reads[value] == 0 && (!producer.valid() || !IsNeeded(producer))) Release(value);
        });
      }
    }
    return true;
  }

  // Marks the node and all nodes that depend on it as failed.
  void Fail(NodeId id) {
    std::vector<NodeId> work = {id};
    while (!work.empty()) {
      const NodeId node = work.back();
      work.pop_back();
      if (!failed_.insert(node).second) continue;
      for (ValueId value : graph_.node(node).results()) {
        const std::vector<NodeId>& users = graph_.value(value).users;
        work.insert(work.end(), users.begin(), users.end());
      }
    }
  }

  void Hold(ValueId value, OwnedValue datum) {
    if (data_.emplace(value, std::make_unique<OwnedValue>(std::move(datum))).second) {
      live_bytes_ += Bytes(value).value_or(0);
    }
  }
  void Release(ValueId value) {
    if (data_.erase(value) != 0) live_bytes_ -= Bytes(value).value_or(0);
  }

  absl::StatusOr<Operand> OperandOf(const Argument& argument) {
    if (const ValueId* value = argument.get_if<ValueId>()) {
      if (const ConstantTensor* tensor = constants_.Find(*value); tensor != nullptr) {
        ABSL_ASSIGN_OR_RETURN(OwnedValue datum, OwnedValue::Constant(*tensor));
        Hold(*value, std::move(datum));
      }
      const auto found = data_.find(*value);
      if (found == data_.end()) return absl::NotFoundError("not a constant");
      return Operand::Of(found->second.get());
    }
    if (const Argument::List* list = argument.get_if<Argument::List>()) {
      std::vector<Operand> elements;
      for (const Argument& element : *list) {
        ABSL_ASSIGN_OR_RETURN(Operand operand, OperandOf(element));
        elements.push_back(std::move(operand));
      }
      return Operand::List(std::move(elements));
    }
    ABSL_ASSIGN_OR_RETURN(MetaValue literal, ToMetaValue(graph_, argument));
    return Operand::Literal(std::move(literal));
  }

  absl::Status Call(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<Operand> operands;
    for (const Argument& argument : node.arguments) {
      ABSL_ASSIGN_OR_RETURN(Operand operand, OperandOf(argument));
      operands.push_back(std::move(operand));
    }
    ABSL_ASSIGN_OR_RETURN(
        std::vector<CallResult> results,
        CallOperator(*node.target, absl::MakeSpan(operands), kernels_,
                     {.engine = std::nullopt, .max_tensor_bytes = max_bytes_, .views = false}));
    for (const Argument& argument : node.arguments) {
      ForEachValue(argument, [&](ValueId value) {
        if (const ConstantTensor* tensor = constants_.Find(value)) {
          ReleasePages(tensor->storage().bytes);
        }
      });
    }
    std::vector<OwnedValue> values;
    for (CallResult& result : results) {
      for (OwnedValue& datum : result.values) {
        if (result.is_list || !datum.is_none()) values.push_back(std::move(datum));
      }
    }
    const std::vector<ValueId> expected = node.results();
    if (values.size() != expected.size()) return absl::InternalError("wrong number of results");
    for (size_t k = 0; k < expected.size(); ++k) {
      const TensorMeta* meta = graph_.value(expected[k]).tensor();
      const TensorView* tensor = values[k].tensor();
      if (tensor == nullptr || tensor->dtype != meta->dtype || tensor->rank() != meta->rank()) {
        return absl::InternalError("another result than declared");
      }
      for (int d = 0; d < meta->rank(); ++d) {
        if (meta->sizes[d].AsInt() != tensor->sizes[d]) {
          return absl::InternalError("another size than declared");
        }
      }
    }
    for (size_t k = 0; k < expected.size(); ++k) Hold(expected[k], std::move(values[k]));
    return absl::OkStatus();
  }

  // ---- Replacing

  // Returns the tensor with its own memory: channels last if the graph declares this, row-major
  // otherwise, as constants are.
  static absl::StatusOr<ConstantTensor> MakeConstant(const OwnedValue& value,
                                                     const TensorMeta& meta) {
    ABSL_ASSIGN_OR_RETURN(ConstantTensor tensor, value.ToConstant());
    DimOrder order = ContiguousOrder(meta.rank());
    if (IsDeclaredChannelsLast(*value.tensor(), meta)) order = ChannelsLastOrder(meta.rank());
    ABSL_ASSIGN_OR_RETURN(Storage dense, tensor.Dense(order));
    dense = InFile(std::move(dense));
    const Sizes& sizes = tensor.sizes();
    return ConstantTensor::Create(tensor.dtype(), sizes, DenseStrides(sizes, order), 0,
                                  std::move(dense));
  }

  static bool IsDeclaredChannelsLast(const TensorView& tensor, const TensorMeta& meta) {
    if (!IsDense(tensor.sizes, tensor.strides)) return false;
    for (int d = 0; d < tensor.rank(); ++d) {
      if (meta.strides[d].AsInt() != tensor.strides[d]) return false;
    }
    return DimOrderOf(tensor.sizes, tensor.strides) == ChannelsLastOrder(tensor.rank());
  }

  // Replaces the node's results by constants; returns false if it is kept.
  absl::StatusOr<bool> Replace(NodeId id) {
    if (IsReturned(id) || graph_.node(id).target->has_trait(kCreation)) return false;
    ABSL_ASSIGN_OR_RETURN(const bool folded, Fold(id));
    if (!folded) {
      std::optional<ConstantTensor> permuted = Permuted(id);
      if (!permuted.has_value()) return false;
      AddConstant(graph_.ResultOf(id), *std::move(permuted));
      EraseWithProducers(id);
      return true;
    }
    EraseWithProducers(id);
    return true;
  }

  // Replaces the results by their constants. Results equal to those of other folded nodes, such as
  // a mask that each layer computes, share their elements with them, and the program does not grow.
  absl::StatusOr<bool> Fold(NodeId id) {
    const bool affordable = Affordable(id, ResultBytes(id));
    if ((!affordable && !MayBeShared(id)) || !Compute(id)) return false;
    std::vector<std::pair<ValueId, ConstantTensor>> constants;
    uint64_t bytes = 0;
    for (ValueId value : graph_.node(id).results()) {
      if (graph_.value(value).users.empty()) continue;
      ABSL_ASSIGN_OR_RETURN(ConstantTensor constant,
                            MakeConstant(*data_.at(value), graph_.MetaOf(value)));
      const Storage& storage = constant.storage();
      const auto shared = shared_.find(ContentKey(storage));
      if (shared == shared_.end()) {
        bytes += storage.bytes.size();
      } else {
        ABSL_ASSIGN_OR_RETURN(
            constant, ConstantTensor::Create(constant.dtype(), constant.sizes(), constant.strides(),
                                             0, shared->second));
      }
      constants.emplace_back(value, std::move(constant));
    }
    if (!affordable && bytes != 0) return false;
    added_ += bytes;
    for (auto& [value, constant] : constants) {
      shared_.try_emplace(ContentKey(constant.storage()), constant.storage());
      shared_sizes_.insert(constant.storage().bytes.size());
      AddConstant(value, std::move(constant));
    }
    return true;
  }

  // Whether folded nodes have results of the same sizes.
  bool MayBeShared(NodeId id) const {
    const std::vector<ValueId> results = graph_.node(id).results();
    return std::all_of(results.begin(), results.end(), [&](ValueId value) {
      return graph_.value(value).users.empty() || shared_sizes_.contains(*Bytes(value));
    });
  }

  // Returns the constant that the node permutes, as a view, if all users are matmuls that accept
  // this layout.
  std::optional<ConstantTensor> Permuted(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.target->name() != "aten.permute_copy.default") return std::nullopt;
    const ValueId* self = node.value_argument("self");
    const ConstantTensor* tensor = self == nullptr ? nullptr : constants_.Find(*self);
    if (tensor == nullptr || tensor->sizes().size() != 2 || !tensor->is_contiguous() ||
        node.argument("dims") != Argument(Argument::List{1, 0})) {
      return std::nullopt;
    }
    const ValueId result = node.results()[0];
    for (NodeId user : graph_.value(result).users) {
      const Node& reader = graph_.node(user);
      const std::string& op = reader.target->name();
      if (op != "aten.mm.default" && op != "aten.addmm.default") return std::nullopt;
      size_t uses = 0;
      for (const Argument& argument : reader.arguments) uses += argument == Argument(result);
      if (uses != 1 || reader.argument("mat2") != Argument(result)) return std::nullopt;
    }
    const Sizes &sizes = tensor->sizes(), permuted = {sizes[1], sizes[0]};
    const Strides strides = {tensor->strides()[1], tensor->strides()[0]};
    auto constant = ConstantTensor::Create(tensor->dtype(), permuted, strides,
                                           tensor->storage_offset(), tensor->storage());
    if (!constant.ok()) return std::nullopt;
    return *std::move(constant);
  }

  void AddConstant(ValueId value, ConstantTensor constant) {
    const std::string fqn = UnusedTensorName(program_, "_prop_tensor_constant", next_);
    const Argument* operand = nullptr;
    for (const Argument& argument : graph_.node(graph_.value(value).producer).arguments) {
      if (operand == nullptr && argument.is<ValueId>()) operand = &argument;
    }
    const ValueId source = operand == nullptr ? ValueId() : *operand->get_if<ValueId>();
    TensorMeta type = graph_.MetaOf(value);
    type.strides.assign(constant.strides().begin(), constant.strides().end());
    type.storage_offset = 0;
    const ValueId input = constants_.Add(fqn, fqn, std::move(constant), std::move(type), source);
    editor_.ReplaceAllUses(value, input);
  }

  // Erases the node and, transitively, its computed or computable producers that become unused.
  void EraseWithProducers(NodeId first) {
    std::vector<NodeId> work = {first};
    while (!work.empty()) {
      const NodeId id = work.back();
      work.pop_back();
      if (!graph_.contains(id)) continue;
      const std::vector<ValueId> results = graph_.node(id).results();
      if (!std::all_of(results.begin(), results.end(), [&](ValueId v) {
            return graph_.value(v).users.empty() && !returned_.contains(v);
          })) {
        continue;
      }
      std::vector<ValueId> operands;
      for (const Argument& argument : graph_.node(id).arguments) {
        ForEachValue(argument, [&](ValueId v) { operands.push_back(v); });
      }
      for (ValueId value : results) Release(value);
      computable_.erase(id);
      editor_.EraseNode(id);
      for (ValueId value : operands) {
        const NodeId producer = graph_.value(value).producer;
        if (producer.valid()) {
          work.push_back(producer);
        } else if (graph_.value(value).users.empty() && !returned_.contains(value)) {
          freed_ += constants_.Drop(value);
        }
      }
    }
  }

  ExportedProgram& program_;
  GraphEditor editor_;
  const Graph& graph_;
  const KernelRegistry& kernels_;
  const PropagateConstantsOptions& options_;
  ConstantInputs constants_;
  uint64_t max_growth_, max_node_growth_;
  uint64_t max_bytes_;  // limit for one result
  double steps_;        // remaining
  absl::flat_hash_set<ValueId> returned_;
  absl::flat_hash_set<ValueId> constant_;   // values that are known now
  absl::flat_hash_set<NodeId> computable_;  // nodes whose results are constant
  absl::flat_hash_set<NodeId> products_;    // computable nodes that depend on a product
  absl::flat_hash_set<NodeId> left_;        // computable, but kept
  absl::flat_hash_set<NodeId> failed_;      // computable, but the call failed
  absl::flat_hash_map<ValueId, std::unique_ptr<OwnedValue>> data_;
  absl::flat_hash_map<ContentKey, Storage> shared_;  // elements of folded results
  absl::flat_hash_set<uint64_t> shared_sizes_;       // their bytes
  uint64_t live_bytes_ = 0;                          // of data_
  uint64_t added_ = 0, freed_ = 0;
  int next_ = 0;
};

}  // namespace

Pass PropagateConstants(PropagateConstantsOptions options) {
  return {"propagate_constants",
          [options = std::move(options)](ExportedProgram& program) -> absl::StatusOr<bool> {
            KernelRegistry kernels;
            ABSL_RETURN_IF_ERROR(AddReferenceKernels(kernels));
            // Faster, bit-identical to the reference kernels.
            ABSL_RETURN_IF_ERROR(kernels.Add(MovementKernels()));
            return Propagation(program, kernels, options).Run();
          }};
}

}  // namespace belay::exir
