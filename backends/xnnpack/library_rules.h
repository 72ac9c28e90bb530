// The datatypes and nodes that the backend executes with the library, or itself.
#ifndef BELAY_BACKENDS_XNNPACK_LIBRARY_RULES_H_
#define BELAY_BACKENDS_XNNPACK_LIBRARY_RULES_H_

#include "backends/xnnpack/graph.h"

namespace belay::xnnpack {

// Operands have the datatypes of the node's rule (node_rules.h), alike unless the node converts.
// Filters, biases and slopes are constants. Data movement keeps quantization parameters.
extern const GraphSupport kLibrarySupport;

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_LIBRARY_RULES_H_
