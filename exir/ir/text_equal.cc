#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"

namespace belay::exir {
namespace {

// Compares two graphs node by node; values correspond if their definitions do.
class GraphComparison {
 public:
  GraphComparison(const Graph& a, const Graph& b) : a_(a), b_(b) {}

  bool Equal() {
    if (a_.name() != b_.name() || a_.inputs().size() != b_.inputs().size() ||
        a_.outputs().size() != b_.outputs().size() || a_.num_nodes() != b_.num_nodes()) {
      return false;
    }
    for (size_t i = 0; i < a_.inputs().size(); ++i) {
      if (!SameDefinition(a_.inputs()[i], b_.inputs()[i])) return false;
    }
    NodeId node_b = b_.first();
    for (NodeId node_a : a_.nodes()) {
      if (!SameNode(a_.node(node_a), b_.node(node_b))) return false;
      node_b = b_.next(node_b);
    }
    return SameArguments(a_.outputs(), b_.outputs());
  }

 private:
  static std::string_view TargetName(const Node& node) {
    return node.target == nullptr ? std::string_view() : std::string_view(node.target->text_name());
  }

  bool SameDefinition(ValueId a, ValueId b) {
    const Value& value_a = a_.value(a);
    const Value& value_b = b_.value(b);
    counterpart_[a] = b;
    return value_a.name == value_b.name && value_a.type == value_b.type;
  }

  bool SameNode(const Node& a, const Node& b) {
    if (a.name != b.name || TargetName(a) != TargetName(b) ||
        !SameArguments(a.arguments, b.arguments) || a.outputs.size() != b.outputs.size() ||
        !(a.provenance == b.provenance) || a.debug_handle != b.debug_handle ||
        a.delegation_tag != b.delegation_tag) {
      return false;
    }
    const auto name = [](const Node& node, size_t i) {
      return i < node.argument_names.size() ? std::string_view(node.argument_names[i])
                                            : std::string_view();
    };
    for (size_t i = 0; i < a.arguments.size(); ++i) {
      if (name(a, i) != name(b, i)) return false;
    }
    for (size_t k = 0; k < a.outputs.size(); ++k) {
      const NodeOutput& output_a = a.outputs[k];
      const NodeOutput& output_b = b.outputs[k];
      if (output_a.kind != output_b.kind || output_a.values.size() != output_b.values.size()) {
        return false;
      }
      for (size_t i = 0; i < output_a.values.size(); ++i) {
        if (!SameDefinition(output_a.values[i], output_b.values[i])) return false;
      }
    }
    return true;
  }

  bool SameArguments(absl::Span<const Argument> a, absl::Span<const Argument> b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [this](const Argument& x, const Argument& y) { return SameArgument(x, y); });
  }

  bool SameArgument(const Argument& a, const Argument& b) const {
    if (a.variant().index() != b.variant().index()) return false;
    if (const ValueId* value = a.get_if<ValueId>()) {
      // Undefined values are shown by their ids.
      const auto it = counterpart_.find(*value);
      return (it == counterpart_.end() ? *value : it->second) == *b.get_if<ValueId>();
    }
    if (const Argument::List* list = a.get_if<Argument::List>()) {
      return SameArguments(*list, *b.get_if<Argument::List>());
    }
    if (const Dict* dict = a.get_if<Dict>()) {
      const Dict& other = *b.get_if<Dict>();
      return std::equal(dict->entries.begin(), dict->entries.end(), other.entries.begin(),
                        other.entries.end(), [this](const auto& x, const auto& y) {
                          return x.first == y.first && SameArgument(x.second, y.second);
                        });
    }
    return a == b;
  }

  const Graph& a_;
  const Graph& b_;
  absl::flat_hash_map<ValueId, ValueId> counterpart_;
};

// Compares declarations of tensors and which share a storage, not elements.
class ConstantComparison {
 public:
  bool Equal(const ConstantMap& a, const ConstantMap& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [this](const auto& x, const auto& y) {
      return x.first == y.first && SameTensor(x.second, y.second);
    });
  }

 private:
  using FirstIndex = absl::flat_hash_map<const std::byte*, size_t>;

  // Returns the index of the first tensor in the same storage; the tensor's own index if it is the
  // first.
  static size_t SharedWith(FirstIndex& first, const ConstantTensor& tensor, size_t index) {
    if (tensor.storage().bytes.empty()) return index;
    return first.emplace(tensor.storage().bytes.data(), index).first->second;
  }

  bool SameTensor(const ConstantTensor& a, const ConstantTensor& b) {
    const size_t index = index_++;
    return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
           a.storage_offset() == b.storage_offset() &&
           SharedWith(first_a_, a, index) == SharedWith(first_b_, b, index);
  }

  FirstIndex first_a_, first_b_;
  size_t index_ = 0;
};

bool SameEntry(const NamedDataEntry& a, const NamedDataEntry& b) {
  return a.buffer == b.buffer && a.alignment == b.alignment && a.layout == b.layout;
}

bool SameEntries(const absl::btree_map<std::string, NamedDataEntry>& a,
                 const absl::btree_map<std::string, NamedDataEntry>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && SameEntry(x.second, y.second);
  });
}

bool SameNamedData(const NamedDataOutput& a, const NamedDataOutput& b) {
  return std::equal(a.buffers.begin(), a.buffers.end(), b.buffers.begin(), b.buffers.end(),
                    [](const Storage& x, const Storage& y) { return x.bytes == y.bytes; }) &&
         SameEntries(a.program_data, b.program_data) &&
         std::equal(a.external_data.begin(), a.external_data.end(), b.external_data.begin(),
                    b.external_data.end(), [](const auto& x, const auto& y) {
                      return x.first == y.first && SameEntries(x.second, y.second);
                    });
}

bool SameModule(const LoweredBackendModule* a, const LoweredBackendModule* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  return a->backend_id == b->backend_id && a->processed.bytes == b->processed.bytes &&
         a->compile_specs == b->compile_specs && SameNamedData(a->named_data, b->named_data) &&
         a->debug_handle_map == b->debug_handle_map && a->delegate_info == b->delegate_info &&
         Equal(a->original, b->original);
}

}  // namespace

bool Equal(const ExportedProgram& a, const ExportedProgram& b) {
  ConstantComparison constants;
  if (a.dialect != b.dialect || a.signature != b.signature || a.ranges != b.ranges ||
      a.hints != b.hints || a.in_spec != b.in_spec || a.out_spec != b.out_spec ||
      a.guards != b.guards || !constants.Equal(a.state_dict, b.state_dict) ||
      !constants.Equal(a.constants, b.constants)) {
    return false;
  }
  return std::equal(a.graphs.begin(), a.graphs.end(), b.graphs.begin(), b.graphs.end(),
                    [](const Graph& x, const Graph& y) { return GraphComparison(x, y).Equal(); }) &&
         std::equal(a.lowered_modules.begin(), a.lowered_modules.end(), b.lowered_modules.begin(),
                    b.lowered_modules.end(),
                    [](const auto& x, const auto& y) { return SameModule(x.get(), y.get()); });
}

}  // namespace belay::exir
