// Parses a payload into a graph and validates everything that later computations depend on.
#ifndef BELAY_BACKENDS_XNNPACK_GRAPH_READER_H_
#define BELAY_BACKENDS_XNNPACK_GRAPH_READER_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/xnnpack/graph.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/named_data_map.h"

namespace belay::xnnpack {

// Guarantees of the result:
//   - each value has at most 6 dimensions, none of them 0, and fewer than 2^47 bytes; values of
//     quantized datatypes have quantization parameters; scales are positive normal numbers
//   - a constant has at least the bytes of its elements
//   - a node's inputs are constants, arguments, or outputs of earlier nodes; each value is written
//     at most once, and each output of the call exactly once; constants and arguments are not
//     written
//   - values of per-channel and per-group datatypes are constants; 4-bit values are matrices with
//     rows of even length; groups divide rows
//   - values and nodes are accepted by `support`
//   - the output of a node has the sizes that follow from the inputs (OutputSizes), from the common
//     bounds of operands that broadcast if `support.sizes_are_bounds`
// Constants are views of the payload or of named data. Nothing else of the payload is referenced.
//
//   kDataLoss           the header or the FlatBuffer is damaged
//   kInvalidArgument    a rule is violated, or the graph does not match the call's number of
//                       arguments and outputs; names the value or node
//   kNotFound           a key without named data
//   kUnimplemented      another version of the format; an unknown node type; a dynamic quantization
//                       of an old file; the errors of `support`, with the value or node
//   kResourceExhausted  `memory`, which is charged for the tables
absl::StatusOr<Graph> ReadGraph(absl::Span<const std::byte> payload, const NamedDataMap& named_data,
                                size_t arguments, size_t outputs, const GraphSupport& support,
                                MemoryBudget& memory);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_GRAPH_READER_H_
