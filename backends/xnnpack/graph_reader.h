// Payload → graph. Everything that is computed with later is checked here.
#ifndef BELAY_BACKENDS_XNNPACK_GRAPH_READER_H_
#define BELAY_BACKENDS_XNNPACK_GRAPH_READER_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/xnnpack/graph.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/named_data_map.h"

namespace belay::xnnpack {

// What holds for the result:
//   - each value has at most 6 dimensions, none of them 0, and fewer than 2^47 bytes; quantization
//     parameters are there where its datatype has some, scales are positive normal numbers
//   - a constant has at least the bytes of its elements
//   - a node's inputs were written by nodes before it or are constants or arguments; each value is
//     written at most once, each output of the call exactly once, nothing else is
//   - the datatypes of a node's operands are those that it has here, filters, biases and slopes are
//     constants, and the sizes of its output are those that follow from its inputs (OutputSizes)
// Constants are views of the payload or of named data. Nothing else of the payload is referred to.
//
//   kDataLoss           the header or the FlatBuffer is damaged
//   kInvalidArgument    a rule is broken, or the graph does not fit the call's numbers of arguments
//                       and outputs; names value or node
//   kNotFound           no named data for a key
//   kUnimplemented      another version of the format; a node type, a datatype or a combination that
//                       the library or this backend lacks; names it
//   kResourceExhausted  `memory`, from which the tables are taken
absl::StatusOr<Graph> ReadGraph(absl::Span<const std::byte> payload, const NamedDataMap& named_data,
                                size_t arguments, size_t outputs, MemoryBudget& memory);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_GRAPH_READER_H_
