// What each node type is here, one row each: which operands it computes with, and whether.
#ifndef BELAY_BACKENDS_XNNPACK_NODE_RULES_H_
#define BELAY_BACKENDS_XNNPACK_NODE_RULES_H_

#include <string_view>

#include "backends/xnnpack/graph.h"

namespace belay::xnnpack {

struct NodeRule {
  NodeType type;
  // Whether the library (with what the backend itself moves) computes it on FP32, on QINT8.
  bool fp32, qint8;
  // Inputs and output must have the same quantization parameters: it only moves elements.
  bool moves = false;
  // The library does not have it on FP32, and functions.h computes it.
  bool function = false;
};

// Null for a tag that no node type has.
const NodeRule* FindNodeRule(NodeType type);

std::string_view NodeTypeName(NodeType type);  // "Conv2d"; "node type 99"
std::string_view DatatypeName(Datatype datatype);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_NODE_RULES_H_
