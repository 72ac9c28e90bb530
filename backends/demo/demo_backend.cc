#include "backends/demo/demo_backend.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/demo/demo_blob.h"
#include "backends/demo/demo_ops.h"
#include "backends/demo/demo_partitioner.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::demo {
namespace {

class Compiler {
 public:
  explicit Compiler(const exir::ExportedProgram& program)
      : program_(program), graph_(program.top()) {}

  absl::StatusOr<exir::PreprocessResult> Run() {
    ABSL_RETURN_IF_ERROR(NumberInputs());
    exir::PreprocessResult result;
    for (exir::NodeId id : graph_.nodes()) {
      ABSL_RETURN_IF_ERROR(AddInstruction(id));
      const int64_t handle = graph_.node(id).debug_handle;
      if (handle != 0) {
        result.debug_handle_map[int64_t{blob_.instructions_size() - 1}] = {handle};
      }
    }
    for (size_t k = 0; k < graph_.outputs().size(); ++k) {
      const exir::ValueId* value = graph_.outputs()[k].get_if<exir::ValueId>();
      if (value == nullptr || program_.signature.outputs[k].kind != exir::OutputKind::kUserOutput) {
        return absl::UnimplementedError(absl::StrCat(
            "output ", k, " is a ", exir::OutputKindName(program_.signature.outputs[k].kind),
            "; only tensors that are returned are supported"));
      }
      blob_.add_outputs(values_.at(*value));
    }
    result.processed = exir::Storage::Own(WriteDemoBlob(blob_, constants_));
    return result;
  }

 private:
  // Numbers arguments before constants, as in the blob.
  absl::Status NumberInputs() {
    for (const bool constants : {false, true}) {
      for (size_t i = 0; i < graph_.inputs().size(); ++i) {
        const exir::ValueId input = graph_.inputs()[i];
        const exir::InputSpec& spec = program_.signature.inputs[i];
        if (exir::NamesTensor(spec.kind) != constants) continue;
        const auto index = static_cast<uint32_t>(values_.size());
        values_[input] = index;
        if (constants) {
          ABSL_RETURN_IF_ERROR(AddConstant(graph_.value(input).name, spec));
        } else {
          blob_.set_num_arguments(index + 1);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddConstant(std::string_view name, const exir::InputSpec& spec) {
    const exir::ConstantTensor* tensor = program_.FindConstant(spec);
    if (tensor == nullptr || tensor->dtype() != DType::kFloat32) {
      return absl::UnimplementedError(
          absl::StrCat("constant %", name, " is not a tensor of float32"));
    }
    ABSL_ASSIGN_OR_RETURN(const exir::Storage dense, tensor->Dense());
    while (constants_.size() % kDemoConstantAlignment != 0) constants_.push_back(std::byte{0});
    DemoConstant& constant = *blob_.add_constants();
    for (int64_t size : tensor->sizes()) constant.add_sizes(size);
    constant.set_offset(constants_.size());
    constants_.insert(constants_.end(), dense.bytes.begin(), dense.bytes.end());
    return absl::OkStatus();
  }

  absl::Status AddInstruction(exir::NodeId id) {
    const std::string reason = UnsupportedByDemoReason(graph_, id);
    if (!reason.empty()) {
      return absl::UnimplementedError(absl::StrCat(reason, ": ", exir::DescribeNode(graph_, id)));
    }
    const exir::Node& node = graph_.node(id);
    DemoInstruction& instruction = *blob_.add_instructions();
    for (const DemoOpRow& row : kDemoOps) {
      if (row.name != node.target->name()) continue;
      instruction.set_op(row.op);
      for (int i = 0; i < row.tensors; ++i) {
        instruction.add_operands(values_.at(*node.arguments[i].get_if<exir::ValueId>()));
      }
      instruction.set_alpha(Number(node, row.alpha));
      instruction.set_beta(Number(node, row.beta));
    }
    values_[node.results()[0]] = static_cast<uint32_t>(values_.size());
    return absl::OkStatus();
  }

  static float Number(const exir::Node& node, int argument) {
    if (argument < 0) return 1;
    if (const int64_t* number = node.arguments[argument].get_if<int64_t>()) {
      return static_cast<float>(*number);
    }
    return static_cast<float>(*node.arguments[argument].get_if<double>());
  }

  const exir::ExportedProgram& program_;
  const exir::Graph& graph_;
  DemoProgram blob_;
  std::vector<std::byte> constants_;
  absl::flat_hash_map<exir::ValueId, uint32_t> values_;
};

}  // namespace

absl::StatusOr<exir::PreprocessResult> DemoBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec> compile_specs) const {
  if (!compile_specs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown compile spec '", compile_specs[0].key, "'; the backend has none"));
  }
  return Compiler(program).Run();
}

}  // namespace belay::demo
