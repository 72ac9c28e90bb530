// Conversions between floating point types that passes insert.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FLOAT_CASTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FLOAT_CASTS_H_

#include <string_view>
#include <vector>

#include "exir/ir/argument.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"

namespace belay::cpu {

// dim_order_ops._to_dim_order_copy to another dtype, in the top graph of a program, of which
// `editor` is.
class FloatCasts {
 public:
  FloatCasts(const exir::ExportedProgram& program, exir::GraphEditor& editor)
      : editor_(editor),
        cast_(program.ops->ToEdge(program.ops->Find("dim_order_ops._to_dim_order_copy.default"))) {}

  // The value, a tensor, as `dtype`, by a node before `reader` and of its provenance that is called
  // `name`. In the value's layout, or row by row if that is no memory format: conversions give those.
  exir::ValueId Insert(exir::ValueId value, DType dtype, exir::NodeId before, exir::NodeId reader,
                       std::string_view name);
  // Makes `node`, of one result, the conversion of `value`, whose layout the result has: a memory
  // format.
  void Become(exir::NodeId node, exir::ValueId value);

 private:
  std::vector<exir::Argument> Of(exir::ValueId value, const exir::TensorMeta& result) const;

  exir::GraphEditor& editor_;
  const exir::OpOverload* cast_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FLOAT_CASTS_H_
