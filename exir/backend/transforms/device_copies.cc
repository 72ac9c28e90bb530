#include "exir/backend/transforms/device_copies.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/backend/transforms/target_device.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

class DeviceCopier {
 public:
  DeviceCopier(const ExportedProgram& program, Graph& graph, DeviceCopyOptions options)
      : program_(program), editor_(graph) {
    if (&graph != &program.top()) return;
    // Constants and buffers are also inputs of this graph, and new values of buffers outputs.
    for (size_t i = 0; options.skip_method_inputs && i < graph.inputs().size(); ++i) {
      if (program.signature.inputs[i].kind == InputKind::kUserInput) {
        on_device_inputs_.insert(graph.inputs()[i]);
      }
    }
    if (!options.skip_method_outputs) return;
    absl::flat_hash_set<ValueId> host;
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const bool is_result = program.signature.outputs[i].kind == OutputKind::kUserOutput;
      ForEachValue(graph.outputs()[i],
                   [&](ValueId value) { (is_result ? on_device_outputs_ : host).insert(value); });
    }
    for (const ValueId value : host) on_device_outputs_.erase(value);
  }

  absl::StatusOr<bool> Run() {
    for (NodeId id : editor_.graph().NodeList()) {
      ABSL_ASSIGN_OR_RETURN(const std::optional<Device> device, DeviceOf(id));
      if (!device.has_value() || device->type == "cpu") continue;
      ABSL_RETURN_IF_ERROR(MoveArguments(id, *device));
      ABSL_RETURN_IF_ERROR(MoveResults(id, *device));
    }
    for (ValueId copy : to_host_) {
      const Value& value = editor_.graph().value(copy);
      if (value.users.empty() && !editor_.graph().IsOutput(copy)) editor_.EraseNode(value.producer);
    }
    return changed_;
  }

 private:
  // Returns the device of the delegate's tensors; nullopt also for other nodes.
  absl::StatusOr<std::optional<Device>> DeviceOf(NodeId id) const {
    const Node& node = editor_.graph().node(id);
    if (node.target != program_.ops->CallDelegate()) return std::optional<Device>();
    const ModuleId* module = node.argument("module").get_if<ModuleId>();
    if (module == nullptr) return std::optional<Device>();
    return TargetDevice(program_.lowered_modules[*module]->compile_specs);
  }

  // Inserts a copy of `value` to `device` before the node, with the call's provenance.
  absl::StatusOr<ValueId> Copy(std::string_view op, ValueId value, const Device& device,
                               NodeId before, NodeId call) {
    const Graph& graph = editor_.graph();
    ABSL_ASSIGN_OR_RETURN(const OpOverload* overload, program_.ops->Lookup(op));
    TensorMeta type = *graph.value(value).tensor();
    type.device = device;
    changed_ = true;
    return editor_.InsertOp(before,
                            {.name = std::string(overload->op()),
                             .target = program_.ops->ToEdge(overload),
                             .arguments = {value},
                             .provenance = graph.node(call).provenance,
                             .debug_handle = graph.node(call).debug_handle},
                            std::move(type));
  }

  absl::Status MoveArguments(NodeId call, const Device& device) {
    const std::vector<Argument> arguments = editor_.graph().node(call).arguments;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ValueId* value = arguments[i].get_if<ValueId>();
      if (value == nullptr || editor_.graph().value(*value).tensor() == nullptr) continue;
      ValueId& there = on_device_[Key(*value, device)];
      if (!there.valid() && on_device_inputs_.contains(*value)) {
        ABSL_RETURN_IF_ERROR(PlaceInput(*value, device));
        there = *value;
      }
      if (!there.valid()) {
        ABSL_ASSIGN_OR_RETURN(there, Copy("et_copy._h2d_copy.default", *value, device, call, call));
      }
      editor_.SetArgument(call, i, there);
    }
    return absl::OkStatus();
  }

  // Places an input of the method on the device. All of its users must be delegates on it.
  absl::Status PlaceInput(ValueId value, const Device& device) {
    const Graph& graph = editor_.graph();
    absl::btree_set<std::string> descriptions;
    for (const NodeId user : graph.value(value).users) {
      ABSL_ASSIGN_OR_RETURN(const std::optional<Device> other, DeviceOf(user));
      if (other.has_value() && Name(*other) == Name(device)) continue;
      descriptions.insert(DescribeNode(graph, user));
    }
    std::string others;
    for (const std::string& user : descriptions) absl::StrAppend(&others, "\n  ", user);
    if (graph.IsOutput(value)) absl::StrAppend(&others, "\n  the method's outputs");
    if (!others.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("skip_method_inputs: expected delegates on ",
                                                     Name(device), " as the only users of input '",
                                                     graph.value(value).name, "', got", others));
    }
    TensorMeta type = *graph.value(value).tensor();
    type.device = device;
    editor_.SetType(value, std::move(type));
    changed_ = true;
    return absl::OkStatus();
  }

  absl::Status MoveResults(NodeId call, const Device& device) {
    const NodeId behind = editor_.graph().next(call);
    for (ValueId value : editor_.graph().node(call).results()) {
      const TensorMeta* tensor = editor_.graph().value(value).tensor();
      if (tensor == nullptr) continue;
      TensorMeta type = *tensor;
      if (on_device_outputs_.contains(value) && editor_.graph().value(value).users.empty()) {
        type.device = device;
        editor_.SetType(value, std::move(type));
        changed_ = true;
        continue;
      }
      ABSL_ASSIGN_OR_RETURN(const ValueId copy,
                            Copy("et_copy._d2h_copy.default", value, type.device, behind, call));
      editor_.ReplaceAllUses(value, copy);
      editor_.SetArgument(editor_.graph().value(copy).producer, 0, value);
      type.device = device;
      editor_.SetType(value, std::move(type));
      on_device_[Key(copy, device)] = value;
      to_host_.push_back(copy);
    }
    return absl::OkStatus();
  }

  static std::string Name(const Device& device) {
    return absl::StrCat(device.type, ":", device.index.value_or(0));
  }
  static std::pair<ValueId, std::string> Key(ValueId value, const Device& device) {
    return {value, Name(device)};
  }

  const ExportedProgram& program_;
  GraphEditor editor_;
  absl::flat_hash_set<ValueId> on_device_inputs_, on_device_outputs_;  // of the method
  // By the host value.
  absl::flat_hash_map<std::pair<ValueId, std::string>, ValueId> on_device_;
  std::vector<ValueId> to_host_;
  bool changed_ = false;
};

absl::StatusOr<bool> Run(ExportedProgram& program, DeviceCopyOptions options) {
  bool changed = false;
  for (Graph& graph : program.graphs) {
    ABSL_ASSIGN_OR_RETURN(const bool graph_changed, DeviceCopier(program, graph, options).Run());
    changed = changed || graph_changed;
  }
  return changed;
}

}  // namespace

Pass InsertDeviceCopies(DeviceCopyOptions options) {
  return {"insert_device_copies",
          [options](ExportedProgram& program) { return Run(program, options); }};
}

}  // namespace belay::exir
