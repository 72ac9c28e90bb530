#include "backends/cpu/aot/passes/quantize_rows.h"

#include <optional>
#include <string>

#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "backends/cpu/weight_only_calls.h"
#include "exir/ir/argument.h"
#include "runtime/kernels/packed/block_gemm.h"

namespace belay::cpu {
namespace {

using exir::Node;
using exir::NodeId;

class Quantization : NodeLowering {
 public:
  Quantization(exir::ExportedProgram& program, RowQuantization quantization)
      : NodeLowering(program), quantization_(quantization) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) -> absl::StatusOr<bool> {
      const Node& node = graph_.node(id);
      if (!IsCpuOp(*node.target, "weight_only_linear") || !node.argument("zeros").is_none())
        return false;
      const std::string* format = node.argument("format").get_if<std::string>();
      const int64_t* group = node.argument("group").get_if<int64_t>();
      const exir::TensorMeta* input = Tensor(node.argument("input"));
      const std::optional<int64_t> k = input->sizes.back().AsInt();
      if (!k.has_value() || !HasWholeBlocks(*group, *k)) return false;
      const bool int8 = quantization_ == RowQuantization::kInt8;
      if (!int8 && !MayHaveManyRows(*input, *k)) return false;
      const int bytes = int8 || IsNorm(node.argument("input")) ? 1 : 2;
      for (const WeightFormatRow& row : kWeightFormats) {
        if (row.row_bytes != bytes || NameOf(row.format) != *format) continue;
        SetArgument(id, "format", std::string(row.name));
        return true;
      }
      return false;
    });
  }

 private:
  // Whether the tensor may have kBlockGemmRows or more rows of k elements.
  static bool MayHaveManyRows(const exir::TensorMeta& input, int64_t k) {
    if (!input.is_static()) return true;
    const std::optional<int64_t> elements = input.NumElements().AsInt();
    return elements.has_value() && k > 0 && *elements / k >= static_cast<int64_t>(kBlockGemmRows);
  }
  // Whether the input is the result of a norm.
  bool IsNorm(const exir::Argument& input) const {
    const exir::ValueId value = *input.get_if<exir::ValueId>();
    if (graph_.IsInput(value)) return false;
    const exir::OpOverload& producer = *graph_.node(graph_.value(value).producer).target;
    return IsCpuOp(producer, "rms_norm") || producer.name() == "aten.native_layer_norm.default";
  }

  const RowQuantization quantization_;
};

}  // namespace

exir::Pass QuantizeRows(RowQuantization quantization) {
  return {"quantize_rows", [quantization](exir::ExportedProgram& program) {
            return Quantization(program, quantization).Run();
          }};
}

}  // namespace belay::cpu
