#include "exir/passes/propagate_constants.h"

#include <algorithm>
#include <cstring>
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
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/dtype.h"
#include "runtime/core/one_dtype_copy.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

// How many nodes are looked at to see what a result would free. What lies further away is not
// counted as freed, which can only forbid.
constexpr size_t kMaxFreedNodes = 256;

bool MayCompute(const OpOverload* target) {
  if (target->schema() == nullptr || !target->has_meta_kernel()) return false;
  // What creates a tensor of a number is smaller than the tensor.
  for (OpTrait trait :
       {kDataDependent, kNondeterministic, kSideEffect, kSymbolic, kDequantizes, kCreation}) {
    if (target->has_trait(trait)) return false;
  }
  return !target->schema()->IsMutable() && !target->schema()->IsView();
}

class Propagation {
 public:
  Propagation(ExportedProgram& program, const KernelRegistry& kernels,
              const PropagateConstantsOptions& options)
      : program_(program),
        editor_(program.top()),
        graph_(editor_.graph()),
        kernels_(kernels),
        options_(options) {}

  absl::StatusOr<bool> Run() {
    FindConstants();
    std::vector<NodeId> order;
    for (NodeId id : graph_.nodes()) {
      if (!IsComputable(id)) continue;
      computable_.insert(id);
      order.push_back(id);
      for (ValueId value : graph_.node(id).results()) constant_.insert(value);
    }
    bool changed = false;
    // From the end: a node is asked after all that read it.
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const NodeId id = *it;
      if (!graph_.contains(id) || !IsNeeded(id)) continue;
      const std::optional<uint64_t> bytes = ResultBytes(graph_.node(id));
      if (!bytes.has_value() || IsReturned(id) || !Affordable(id, *bytes) || !Compute(id)) {
        left_.insert(id);
        continue;
      }
      ABSL_RETURN_IF_ERROR(Replace(id, *bytes));
      changed = true;
    }
    if (changed) DropUnusedInputs();
    return changed;
  }

 private:
  static std::optional<uint64_t> Bytes(const TensorMeta& meta) {
    CheckedInt bytes(static_cast<int64_t>(DTypeSize(meta.dtype)));
    for (const SymInt& size : meta.sizes) {
      const std::optional<int64_t> n = size.AsInt();
      if (!n.has_value()) return std::nullopt;
      bytes = bytes * CheckedInt(*n);
    }
    if (!bytes.ok() || bytes.value() < 0) return std::nullopt;
    return static_cast<uint64_t>(bytes.value());
  }

  void FindConstants() {
    absl::flat_hash_set<std::string> changing;  // names
    for (const OutputSpec& spec : program_.signature.outputs) {
      if (IsStateMutation(spec.kind) || spec.kind == OutputKind::kGradientToParameter) {
        changing.insert(spec.target);
      }
    }
    absl::flat_hash_set<const std::byte*> written;
    for (const InputSpec& spec : program_.signature.inputs) {
      const ConstantTensor* tensor = program_.FindConstant(spec);
      if (NamesTensor(spec.kind) && tensor != nullptr && changing.contains(spec.target)) {
        written.insert(tensor->storage().bytes.data());
      }
    }
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const InputSpec& spec = program_.signature.inputs[i];
      const ConstantTensor* tensor = program_.FindConstant(spec);
      if (!NamesTensor(spec.kind) || tensor == nullptr || changing.contains(spec.target)) continue;
      if (tensor->view().nbytes() > 0 && written.contains(tensor->storage().bytes.data())) continue;
      constant_.insert(graph_.inputs()[i]);
      roots_.emplace(graph_.inputs()[i], *tensor);
    }
  }

  bool IsComputable(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!MayCompute(node.target)) return false;
    bool all = true, tensor = false;
    for (const Argument& argument : node.arguments) {
      ForEachValue(argument, [&](ValueId value) {
        all = all && constant_.contains(value);
        tensor = true;
      });
    }
    return all && tensor && ResultBytes(node).has_value();
  }

  // Of the results that are used; nullopt when one is no tensor of known sizes.
  std::optional<uint64_t> ResultBytes(const Node& node) const {
    CheckedInt total(0);
    for (ValueId value : node.results()) {
      const TensorMeta* meta = graph_.value(value).tensor();
      const std::optional<uint64_t> bytes = meta == nullptr ? std::nullopt : Bytes(*meta);
      if (!bytes.has_value() || *bytes > options_.max_tensor_bytes) return std::nullopt;
      if (!graph_.value(value).users.empty()) total = total + CheckedInt(int64_t(*bytes));
    }
    if (!total.ok()) return std::nullopt;
    return static_cast<uint64_t>(total.value());
  }

  bool IsReturned(ValueId value) {
    if (!outputs_.has_value()) {
      outputs_.emplace();
      for (const Argument& output : graph_.outputs()) {
        ForEachValue(output, [&](ValueId v) { outputs_->insert(v); });
      }
    }
    return outputs_->contains(value);
  }
  bool IsReturned(NodeId id) {
    const std::vector<ValueId> results = graph_.node(id).results();
    return std::any_of(results.begin(), results.end(), [&](ValueId v) { return IsReturned(v); });
  }

  // Whether something that stays reads a result, or it is returned.
  bool IsNeeded(NodeId id) {
    if (IsReturned(id)) return true;
    for (ValueId value : graph_.node(id).results()) {
      for (NodeId user : graph_.value(value).users) {
        if (!computable_.contains(user) || left_.contains(user)) return true;
      }
    }
    return false;
  }

  // What goes when the node goes, as far as kMaxFreedNodes nodes show.
  uint64_t FreedBytes(NodeId id) {
    absl::flat_hash_set<NodeId> gone = {id};
    std::vector<NodeId> work = {id};
    uint64_t freed = 0;
    const auto unused = [&](ValueId value) {
      if (IsReturned(value)) return false;
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
            const auto root = roots_.find(value);
            if (root != roots_.end() && counted.insert(value).second) {
              freed += root->second.view().nbytes();
            }
            return;
          }
          const std::vector<ValueId> results = graph_.node(producer).results();
          if (std::all_of(results.begin(), results.end(), unused) && gone.insert(producer).second) {
            work.push_back(producer);
          }
        });
      }
    }
    return freed;
  }

  bool Affordable(NodeId id, uint64_t bytes) {
    return added_ + bytes <= options_.max_growth_bytes + freed_ + FreedBytes(id);
  }

  // Computes the node and what it needs; false when a call fails.
  bool Compute(NodeId id) {
    std::vector<NodeId> stack = {id};
    while (!stack.empty()) {
      const NodeId top = stack.back();
      if (computed_.contains(top)) {
        stack.pop_back();
        continue;
      }
      const size_t before = stack.size();
      for (const Argument& argument : graph_.node(top).arguments) {
        ForEachValue(argument, [&](ValueId value) {
          const NodeId producer = graph_.value(value).producer;
          if (producer.valid() && !computed_.contains(producer)) stack.push_back(producer);
        });
      }
      if (stack.size() != before) continue;
      stack.pop_back();
      if (!Call(top).ok()) return false;
      computed_.insert(top);
    }
    return true;
  }

  absl::StatusOr<Operand> OperandOf(const Argument& argument) {
    if (const ValueId* value = argument.get_if<ValueId>()) {
      const auto found = data_.find(*value);
      if (found != data_.end()) return Operand::Of(found->second.get());
      const auto root = roots_.find(*value);
      if (root == roots_.end()) return absl::NotFoundError("not a constant");
      ABSL_ASSIGN_OR_RETURN(OwnedValue datum, OwnedValue::Constant(root->second));
      return Operand::Of(data_.emplace(*value, std::make_unique<OwnedValue>(std::move(datum)))
                             .first->second.get());
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
    ABSL_ASSIGN_OR_RETURN(std::vector<CallResult> results,
                          CallOperator(*node.target, absl::MakeSpan(operands), kernels_,
                                       {.engine = KernelEngine::kReference,
                                        .max_tensor_bytes = options_.max_tensor_bytes,
                                        .views = false}));
    std::vector<OwnedValue> values;
    for (CallResult& result : results) {
      for (OwnedValue& datum : result.values) {
        if (result.is_list || !datum.is_none()) values.push_back(std::move(datum));
      }
    }
    const std::vector<ValueId> expected = node.results();
    if (values.size() != expected.size()) return absl::InternalError("another number of results");
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
    for (size_t k = 0; k < expected.size(); ++k) {
      data_[expected[k]] = std::make_unique<OwnedValue>(std::move(values[k]));
    }
    return absl::OkStatus();
  }

  // Channels last where that is what the graph declares, row-major otherwise, as constants are.
  static absl::StatusOr<ConstantTensor> MakeConstant(const TensorView& tensor,
                                                     const TensorMeta& meta) {
    ABSL_ASSIGN_OR_RETURN(const uint64_t bytes, CheckedBytes(tensor));
    std::vector<std::byte> raw(bytes);
    if (tensor.is_contiguous() || IsDeclaredChannelsLast(tensor, meta)) {
      if (bytes > 0) std::memcpy(raw.data(), tensor.data, bytes);
      return ConstantTensor::Create(tensor.dtype, tensor.sizes, tensor.strides, 0,
                                    Storage::Own(std::move(raw)));
    }
    ABSL_RETURN_IF_ERROR(CopyElementsOfOneDType(
        tensor, TensorView::Contiguous(tensor.dtype, tensor.sizes, raw.data())));
    return ConstantTensor::Contiguous(tensor.dtype, tensor.sizes, Storage::Own(std::move(raw)));
  }

  static absl::StatusOr<uint64_t> CheckedBytes(const TensorView& tensor) {
    const std::optional<int64_t> n = NumElements(tensor.sizes);
    if (!n.has_value()) return absl::ResourceExhaustedError("too large");
    return static_cast<uint64_t>(*n) * DTypeSize(tensor.dtype);
  }

  static bool IsDeclaredChannelsLast(const TensorView& tensor, const TensorMeta& meta) {
    if (!IsDense(tensor.sizes, tensor.strides) || meta.rank() != tensor.rank()) {
      return false;
    }
    for (int d = 0; d < tensor.rank(); ++d) {
      if (meta.strides[d].AsInt() != tensor.strides[d]) return false;
    }
    return DimOrderOf(tensor.sizes, tensor.strides) == ChannelsLastOrder(tensor.rank());
  }

  absl::Status Replace(NodeId id, uint64_t bytes) {
    for (ValueId value : graph_.node(id).results()) {
      if (graph_.value(value).users.empty()) continue;
      const TensorMeta meta = *graph_.value(value).tensor();
      ABSL_ASSIGN_OR_RETURN(ConstantTensor constant,
                            MakeConstant(*data_.at(value)->tensor(), meta));
      const std::string fqn = UnusedTensorName(program_, "_prop_tensor_constant", next_);
      TensorMeta type = meta;
      type.strides.assign(constant.strides().begin(), constant.strides().end());
      type.storage_offset = 0;
      const ValueId input = InsertConstantInput(program_, editor_, EndOfConstants(program_), fqn,
                                                fqn, std::move(type));
      program_.constants.emplace(fqn, std::move(constant));
      editor_.ReplaceAllUses(value, input);
    }
    added_ += bytes;
    EraseWithProducers(id);
    return absl::OkStatus();
  }

  // Erases the node and, from it upwards, computed or computable nodes that nothing reads any more.
  void EraseWithProducers(NodeId first) {
    std::vector<NodeId> work = {first};
    while (!work.empty()) {
      const NodeId id = work.back();
      work.pop_back();
      if (!graph_.contains(id)) continue;
      const std::vector<ValueId> results = graph_.node(id).results();
      if (!std::all_of(results.begin(), results.end(), [&](ValueId v) {
            return graph_.value(v).users.empty() && !IsReturned(v);
          })) {
        continue;
      }
      std::vector<ValueId> operands;
      for (const Argument& argument : graph_.node(id).arguments) {
        ForEachValue(argument, [&](ValueId v) { operands.push_back(v); });
      }
      for (ValueId value : results) data_.erase(value);
      computable_.erase(id);
      editor_.EraseNode(id);
      for (ValueId value : operands) {
        const NodeId producer = graph_.value(value).producer;
        if (producer.valid()) {
          work.push_back(producer);
        } else if (graph_.value(value).users.empty() && !IsReturned(value)) {
          if (const auto root = roots_.find(value);
              root != roots_.end() && dropped_.insert(value).second) {
            freed_ += root->second.view().nbytes();
          }
        }
      }
    }
  }

  void DropUnusedInputs() {
    std::vector<InputSpec> specs;
    absl::flat_hash_set<std::string> kept;
    std::vector<InputSpec> gone;
    const std::vector<ValueId> inputs(graph_.inputs().begin(), graph_.inputs().end());
    for (size_t i = 0; i < inputs.size(); ++i) {
      InputSpec& spec = program_.signature.inputs[i];
      if (dropped_.contains(inputs[i])) {
        editor_.EraseInput(inputs[i]);
        gone.push_back(std::move(spec));
      } else {
        kept.insert(spec.target);
        specs.push_back(std::move(spec));
      }
    }
    program_.signature.inputs = std::move(specs);
    for (const InputSpec& spec : gone) {
      if (kept.contains(spec.target)) continue;
      program_.state_dict.erase(spec.target);
      program_.constants.erase(spec.target);
    }
  }

  ExportedProgram& program_;
  GraphEditor editor_;
  const Graph& graph_;
  const KernelRegistry& kernels_;
  const PropagateConstantsOptions& options_;
  absl::flat_hash_set<ValueId> constant_;  // known now
  absl::flat_hash_map<ValueId, ConstantTensor> roots_;
  absl::flat_hash_set<NodeId> computable_;  // nodes whose results are
  absl::flat_hash_set<NodeId> left_;        // of those: stay nevertheless
  absl::flat_hash_set<NodeId> computed_;
  absl::flat_hash_map<ValueId, std::unique_ptr<OwnedValue>> data_;
  std::optional<absl::flat_hash_set<ValueId>> outputs_;  // returned
  absl::flat_hash_set<ValueId> dropped_;                 // inputs that nothing reads any more
  uint64_t added_ = 0, freed_ = 0;
  int next_ = 0;
};

}  // namespace

Pass PropagateConstants(PropagateConstantsOptions options) {
  return {"propagate_constants", [options](ExportedProgram& program) -> absl::StatusOr<bool> {
            KernelRegistry kernels;
            ABSL_RETURN_IF_ERROR(AddReferenceKernels(kernels));
            return Propagation(program, kernels, options).Run();
          }};
}

}  // namespace belay::exir
