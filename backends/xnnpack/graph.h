// The validated graph of a payload.
#ifndef BELAY_BACKENDS_XNNPACK_GRAPH_H_
#define BELAY_BACKENDS_XNNPACK_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executorch/format/xnnpack_payload_generated.h"
#include "runtime/core/sizes.h"

namespace belay::xnnpack {

using Datatype = fb::Datatype;
using NodeType = fb::NodeUnion;

struct Value {
  uint32_t id = 0;  // id in the payload
  Datatype datatype = Datatype::INVALID;
  Sizes sizes;  // the largest, in memory order
  bool is_constant = false;
  absl::Span<const std::byte> constant;  // the bytes of its elements, possibly more
  float scale = 0;                       // QINT8, QUINT8, QINT32
  int32_t zero_point = 0;                // QINT8, QUINT8
  // QCINT8, QCINT4, QCINT32: one per index of channel_dim. QBINT4: [out, in / group_size].
  std::vector<float> channel_scales;
  int channel_dim = 0;
  int64_t group_size = 0;  // QBINT4
  int nonbatch_dims = 0;   // QDINT8: the trailing dimensions that share a scale and zero point
  int argument = -1, output = -1;  // index in the call; at most one of the two is not -1
};

// Parameters of convolutions and pools; `kernel` is also the window of a pool.
struct Window {
  int64_t top = 0, right = 0, bottom = 0, left = 0;  // padding
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride_height = 1, stride_width = 1;
  int64_t dilation_height = 1, dilation_width = 1;
  int64_t groups = 1, group_inputs = 1, group_outputs = 1;
  int64_t adjust_height = 0, adjust_width = 0;
};

// Bits of Node::flags. kTransposedWeights: a filter is [in, out], the second operand of a
// BatchMatrixMultiply [..., columns, inner].
inline constexpr uint32_t kTransposedWeights = 1, kAlignCorners = 8, kKeepDims = 64;

struct Node {
  NodeType type = NodeType::NONE;
  // Indices of values, in the order of the payload's fields; -1 for an omitted bias.
  std::vector<int> inputs;
  int output = -1;
  uint32_t flags = 0;
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
  uint32_t debug_handle = 0;
  Window window;
  // perm, new_shape, pre_paddings or offsets; height and width of StaticResizeBilinear2D; an axis.
  Sizes numbers;
  Sizes more_numbers;  // post_paddings, sizes
  float number = 0;    // slope or alpha, padding_value
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;  // in execution order

  const Value* input(const Node& node, int i) const {
    return node.inputs[i] < 0 ? nullptr : &values[node.inputs[i]];
  }
};

// The datatypes and nodes that a user of the graph supports, beyond the rules of ReadGraph.
// Functions return kUnimplemented for others.
struct GraphSupport {
  absl::Status (*check_value)(const Value& value);
  absl::Status (*check_node)(const Graph& graph, const Node& node);  // before its output's sizes
  // Sizes are bounds of independent tensors: if those of two operands that broadcast differ, both
  // have at most the smaller one in each call.
  bool sizes_are_bounds = false;
};

// "node 3 (Conv2d)".
std::string DescribeNode(const Graph& graph, size_t index);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_GRAPH_H_
