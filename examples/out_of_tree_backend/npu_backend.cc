#include "npu_backend.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/ir/text.h"
#include "npu_blob.h"
#include "runtime/core/status_macros.h"

namespace npu {
namespace {

using belay::exir::CompileSpec;
using belay::exir::ExportedProgram;
using belay::exir::Graph;
using belay::exir::GraphId;
using belay::exir::Node;
using belay::exir::NodeId;
using belay::exir::TensorMeta;
using belay::exir::ValueId;

struct OpRow {
  std::string_view name;
  Opcode opcode;
  size_t tensors;
};
constexpr OpRow kOps[] = {{"aten.add.Tensor", Opcode::kAdd, 2},
                          {"aten.mul.Tensor", Opcode::kMul, 2},
                          {"aten.relu.default", Opcode::kRelu, 1}};

const OpRow* FindOp(const Node& node) {
  for (const OpRow& row : kOps) {
    if (row.name == node.target->name()) return &row;
  }
  return nullptr;
}

// Returns the reason why the npu does not support the node, or "". Used by partitioner and
// compiler.
std::string UnsupportedReason(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpRow* row = FindOp(node);
  if (row == nullptr) return absl::StrCat("operator ", node.target->name(), " is not supported");
  const TensorMeta* result = graph.value(node.results()[0]).tensor();
  if (result->dtype != belay::DType::kFloat32 || !result->is_contiguous() || !result->is_static()) {
    return "the result is not a contiguous f32 of static size";
  }
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    if (i >= row->tensors) {  // alpha
      if (!(node.arguments[i] ==
            belay::exir::DefaultArgument(node.target->schema()->arguments[i]))) {
        return "alpha is not 1";
      }
      continue;
    }
    const ValueId* value = node.arguments[i].get_if<ValueId>();
    const TensorMeta* operand = value == nullptr ? nullptr : graph.value(*value).tensor();
    if (operand == nullptr || operand->dtype != belay::DType::kFloat32 ||
        !operand->is_contiguous() || operand->sizes != result->sizes) {
      return absl::StrCat("operand ", i, " is not a contiguous f32 of the result's size");
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<belay::exir::PreprocessResult> NpuBackend::Preprocess(
    ExportedProgram program, absl::Span<const CompileSpec> compile_specs) const {
  if (!compile_specs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the npu has no compile spec '", compile_specs[0].key, "'"));
  }
  const Graph& graph = program.top();
  BlobHeader header;
  std::vector<Instruction> instructions;
  belay::exir::DebugHandleMap handles;
  absl::flat_hash_map<ValueId, uint32_t> registers;
  for (ValueId input : graph.inputs()) registers[input] = header.arguments++;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (const std::string reason = UnsupportedReason(graph, id); !reason.empty()) {
      return absl::UnimplementedError(
          absl::StrCat(reason, ": ", belay::exir::DescribeNode(graph, id)));
    }
    const OpRow& row = *FindOp(node);
    const uint32_t a = registers.at(*node.arguments[0].get_if<ValueId>());
    const uint32_t b = row.tensors == 2 ? registers.at(*node.arguments[1].get_if<ValueId>()) : a;
    // Maps instructions to nodes, for profilers and error messages.
    if (node.debug_handle != 0) {
      handles[static_cast<int64_t>(instructions.size())] = {node.debug_handle};
    }
    registers[node.results()[0]] = header.arguments + static_cast<uint32_t>(instructions.size());
    instructions.push_back({row.opcode, a, b});
  }
  std::vector<uint32_t> outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const ValueId* value = graph.outputs()[i].get_if<ValueId>();
    if (value == nullptr ||
        program.signature.outputs[i].kind != belay::exir::OutputKind::kUserOutput) {
      return absl::UnimplementedError(
          "the npu supports neither state nor outputs other than tensors");
    }
    outputs.push_back(registers.at(*value));
  }
  header.instructions = static_cast<uint32_t>(instructions.size());
  header.outputs = static_cast<uint32_t>(outputs.size());
  std::vector<std::byte> blob;
  const auto append = [&](const void* data, size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    blob.insert(blob.end(), bytes, bytes + size);
  };
  append(&header, sizeof(header));
  append(instructions.data(), instructions.size() * sizeof(Instruction));
  append(outputs.data(), outputs.size() * sizeof(uint32_t));
  belay::exir::PreprocessResult result;
  result.processed = belay::exir::Storage::Own(std::move(blob));
  result.debug_handle_map = std::move(handles);
  return result;
}

std::unique_ptr<belay::exir::Partitioner> CreateNpuPartitioner() {
  belay::exir::CapabilityPartitionerOptions options;
  options.tag_prefix = "npu_";
  options.tag_constants = false;  // constants are passed as arguments
  return std::make_unique<belay::exir::CapabilityPartitioner>(
      belay::exir::DelegationSpec{"npu", {}},
      [](const ExportedProgram& program, GraphId graph, NodeId node) {
        return UnsupportedReason(program.graphs[graph], node);
      },
      options);
}

}  // namespace npu
