// Emits the operators of a payload's nodes: a table row per node type.
#ifndef BELAY_EXECUTORCH_PAYLOAD_IMPORT_NODE_EMITTERS_H_
#define BELAY_EXECUTORCH_PAYLOAD_IMPORT_NODE_EMITTERS_H_

#include "backends/xnnpack/graph.h"
#include "executorch/payload_import/delegate_values.h"

namespace belay::pte {

// Emits ATen operators for the node and stores its result. Errors go to the builder of `values`:
// kUnimplemented for a node type without a row, and for parameters that ATen cannot express:
// padding that differs between opposite sides, of averages and transposed convolutions; filters
// that are not constant, of convolutions; scales per channel of a grouped transposed convolution.
void EmitNode(const xnnpack::Node& node, DelegateValues& values);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_PAYLOAD_IMPORT_NODE_EMITTERS_H_
