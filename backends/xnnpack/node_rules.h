// Support table: one row per node type.
#ifndef BELAY_BACKENDS_XNNPACK_NODE_RULES_H_
#define BELAY_BACKENDS_XNNPACK_NODE_RULES_H_

#include <string_view>

#include "backends/xnnpack/graph.h"

namespace belay::xnnpack {

struct NodeRule {
  NodeType type;
  // Whether the library, or the backend's own data movement, supports it on FP32 and on QINT8.
  bool fp32, qint8;
  // Only moves elements: inputs and output must have the same quantization parameters.
  bool moves = false;
  // The library does not support it on FP32; functions.h computes it.
  bool function = false;
};

// Returns null for an unknown node type.
const NodeRule* FindNodeRule(NodeType type);

std::string_view NodeTypeName(NodeType type);  // "Conv2d"; "node type 99"
std::string_view DatatypeName(Datatype datatype);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_NODE_RULES_H_
