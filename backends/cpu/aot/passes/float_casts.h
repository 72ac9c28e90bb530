// Conversions between floating point types that passes insert.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FLOAT_CASTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FLOAT_CASTS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "exir/ir/argument.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"

namespace belay::cpu {

// Dtypes that attention and matmuls may have; accumulators are float32.
inline constexpr DTypeSet kFloatCastTypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};

// Returns the operand of a conversion between kFloatCastTypes; nullopt if no such conversion
// computes the value.
std::optional<exir::ValueId> ConvertedFloat(const exir::Graph& graph, exir::ValueId value);

// Inserts dim_order_ops._to_dim_order_copy to another dtype. Edits the top graph of a program
// through `editor`.
class FloatCasts {
 public:
  FloatCasts(const exir::ExportedProgram& program, exir::GraphEditor& editor)
      : editor_(editor),
        cast_(program.ops->ToEdge(program.ops->Find("dim_order_ops._to_dim_order_copy.default"))) {}

  // Inserts a node named `name` before `before` that converts the tensor `value` to `dtype`. It
  // gets the provenance of `reader`. The result has the value's layout if that is a memory format,
  // else it is row-major.
  exir::ValueId Insert(exir::ValueId value, DType dtype, exir::NodeId before, exir::NodeId reader,
                       std::string_view name);
  // Replaces `node`, which has one result, with the conversion of `value`. The result keeps its
  // layout, which must be a memory format.
  void Become(exir::NodeId node, exir::ValueId value);

 private:
  std::vector<exir::Argument> Of(exir::ValueId value, const exir::TensorMeta& result) const;

  exir::GraphEditor& editor_;
  const exir::OpOverload* cast_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FLOAT_CASTS_H_
