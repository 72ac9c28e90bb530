// Finds linear layers whose rows are quantized to int8 at run time.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_DYNAMIC_FORM_H_
#define BELAY_BACKENDS_XNNPACK_AOT_DYNAMIC_FORM_H_

#include <optional>
#include <string_view>
#include <vector>

#include "exir/ir/exported_program.h"

namespace belay::xnnpack {

// Nodes that quantize the rows of `source` and dequantize them:
//
//   scale, zero = choose_qparams_per_token_asymmetric(source)
//   dequantize_per_token(quantize_per_token(source, scale, zero), scale, zero)
struct DynamicRows {
  exir::ValueId source;
  exir::NodeId choose;
  std::vector<exir::NodeId> nodes;  // these, and the views of their result
};

// Whether the operator is one of DynamicRows.
bool IsDynamicQuantization(std::string_view op);

// Returns the rows that `node`, one of their nodes, belongs to, or those that a matmul reads
// directly or through a view as a matrix. nullopt if they have other users than matmuls whose weights
// are int8 with a scale per output channel, or int4 in groups.
std::optional<DynamicRows> DynamicRowsOf(const exir::ExportedProgram& program, exir::NodeId node);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_DYNAMIC_FORM_H_
