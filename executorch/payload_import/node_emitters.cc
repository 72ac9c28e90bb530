#include "executorch/payload_import/node_emitters.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/node_rules.h"
#include "exir/builder/op_shorthand.h"

namespace belay::pte {
namespace {

using exir::Argument;
using exir::OpArgument;
using exir::OpBuilder;
using xnnpack::Datatype;
using xnnpack::Node;
using xnnpack::NodeType;
using xnnpack::Value;
using xnnpack::Window;

struct Row {
  NodeType type;
  void (*emit)(const Row& row, const Node& node, DelegateValues& v);
  std::string_view op = {};  // ATen's name of the operator, for emitters of several node types
};

// The dimension of the graph's tensor for dimension `dim` of the value.
int64_t DimOf(bool nchw, int64_t dim) { return nchw ? kToNhwc[dim] : dim; }

// --- Element by element ---

void EmitUnary(const Row& row, const Node& node, DelegateValues& v) {
  GraphTensor x = v.Dequantized(node.inputs[0]);
  if (!row.op.empty()) x.tensor = exir::Unary(v.builder(), row.op, x.tensor);
  v.SetResult(node, std::move(x));
}

void EmitBinary(const Row& row, const Node& node, DelegateValues& v) {
  bool nchw = false;
  const std::vector<Argument> x = v.InCommonOrder(node.inputs, nchw);
  v.SetResult(node, {v.builder().Call(row.op, {x[0], x[1]}), nchw});
}

void EmitSquare(const Row&, const Node& node, DelegateValues& v) {
  const GraphTensor x = v.Dequantized(node.inputs[0]);
  v.SetResult(node, {exir::Mul(v.builder(), x.tensor, x.tensor), x.nchw});
}

// Row::op with the node's slope or alpha.
void EmitSlope(const Row& row, const Node& node, DelegateValues& v) {
  const GraphTensor x = v.Dequantized(node.inputs[0]);
  v.SetResult(node, {v.builder().Call(row.op, {x.tensor, double{node.number}}), x.nchw});
}

// x > 0 ? x : x * slope
void EmitPrelu(const Row&, const Node& node, DelegateValues& v) {
  OpBuilder& b = v.builder();
  bool nchw = false;
  const std::vector<Argument> x = v.InCommonOrder(node.inputs, nchw);
  const Argument positive = b.Call("aten.gt.Scalar", {x[0], 0});
  v.SetResult(node, {exir::Where(b, positive, x[0], exir::Mul(b, x[0], x[1])), nchw});
}

void EmitSoftmax(const Row&, const Node& node, DelegateValues& v) {
  const GraphTensor x = v.Dequantized(node.inputs[0]);
  const int64_t last = DimOf(x.nchw, v.value(node.inputs[0]).sizes.size() - 1);
  v.SetResult(node, {v.builder().Call("aten._softmax.default", {x.tensor, last, false}), x.nchw});
}

// --- Data movement ---

// Moves elements without arithmetic; quantized values keep their integers if both have the same
// parameters.
template <class Move>
void EmitMove(const Node& node, DelegateValues& v, Move move) {
  const Value &in = v.value(node.inputs[0]), &out = v.value(node.output);
  const bool as_stored = in.datatype == out.datatype && in.scale == out.scale &&
                         in.zero_point == out.zero_point && !in.is_constant;
  if (as_stored) {
    v.SetStored(node.output, move(v.Stored(node.inputs[0])));
  } else {
    v.SetResult(node, move(v.Dequantized(node.inputs[0])));
  }
}

void EmitCopy(const Row&, const Node& node, DelegateValues& v) {
  EmitMove(node, v, [](GraphTensor x) { return x; });
}

// result[i] = x[perm[i]]. Permutations between NHWC and NCHW only change
// GraphTensor::nchw.
void EmitTranspose(const Row&, const Node& node, DelegateValues& v) {
  const auto is = [&](absl::Span<const int> perm) {
    return std::equal(node.numbers.begin(), node.numbers.end(), perm.begin(), perm.end());
  };
  EmitMove(node, v, [&](const GraphTensor& x) -> GraphTensor {
    if (!x.nchw && is(kToNhwc)) return {x.tensor, true};
    if (x.nchw && is(kToNchw)) return {x.tensor, false};
    std::vector<int64_t> dims;
    for (const int64_t dim : node.numbers) dims.push_back(DimOf(x.nchw, dim));
    return {exir::Permute(v.builder(), x.tensor, dims), false};
  });
}

void EmitReshape(const Row&, const Node& node, DelegateValues& v) {
  EmitMove(node, v, [&](const GraphTensor& x) -> GraphTensor {
    std::vector<int64_t> sizes;
    for (const int64_t size : node.numbers) sizes.push_back(size == 0 ? -1 : size);
    return {exir::Reshape(v.builder(), v.ToPayloadOrder(x), sizes), false};
  });
}

void EmitSlice(const Row&, const Node& node, DelegateValues& v) {
  const Value& in = v.value(node.inputs[0]);
  EmitMove(node, v, [&](GraphTensor x) {
    for (int dim = 0; dim < in.sizes.size(); ++dim) {
      const int64_t start = node.numbers[dim], size = node.more_numbers[dim];
      if (size == in.sizes[dim]) continue;
      x.tensor = exir::Slice(v.builder(), x.tensor, DimOf(x.nchw, dim), start, start + size);
    }
    return x;
  });
}

void EmitPad(const Row&, const Node& node, DelegateValues& v) {
  GraphTensor x = v.Dequantized(node.inputs[0]);
  const int rank = v.value(node.inputs[0]).sizes.size();
  // From the last dimension to the first.
  std::vector<int64_t> padding(static_cast<size_t>(2 * rank));
  for (int dim = 0; dim < rank; ++dim) {
    const auto at = static_cast<size_t>(2 * (rank - 1 - DimOf(x.nchw, dim)));
    padding[at] = node.numbers[dim];
    padding[at + 1] = node.more_numbers[dim];
  }
  x.tensor =
      v.builder().Call("aten.constant_pad_nd.default", {x.tensor, padding, double{node.number}});
  v.SetResult(node, std::move(x));
}

void EmitConcatenate(const Row&, const Node& node, DelegateValues& v) {
  bool nchw = false;
  const std::vector<Argument> x = v.InCommonOrder(node.inputs, nchw);
  v.SetResult(node, {exir::Cat(v.builder(), x, DimOf(nchw, node.numbers[0])), nchw});
}

// --- Matmuls and convolutions ---

Argument BiasOf(const Node& node, DelegateValues& v, DType dtype) {
  if (node.inputs[2] < 0) return {};
  return exir::Cast(v.builder(), v.InPayloadOrder(node.inputs[2]), dtype);
}

void EmitFullyConnected(const Row&, const Node& node, DelegateValues& v) {
  OpBuilder& b = v.builder();
  const Argument x = v.InPayloadOrder(node.inputs[0]);
  const DType dtype = b.dtype(x);
  Argument filter = exir::Cast(b, v.InPayloadOrder(node.inputs[1]), dtype);
  if ((node.flags & xnnpack::kTransposedWeights) != 0) filter = exir::Permute(b, filter, {1, 0});
  v.SetResult(node, {b.Call("aten.linear.default", {x, filter, BiasOf(node, v, dtype)}), false});
}

void EmitMatmul(const Row&, const Node& node, DelegateValues& v) {
  OpBuilder& b = v.builder();
  const Argument x = v.InPayloadOrder(node.inputs[0]);
  Argument y = v.InPayloadOrder(node.inputs[1]);
  if ((node.flags & xnnpack::kTransposedWeights) != 0) y = exir::Transpose(b, y, -2, -1);
  v.SetResult(node, {b.Call("aten.matmul.default", {x, y}), false});
}

bool IsSymmetric(const Window& w) { return w.top == w.bottom && w.left == w.right; }

// Adds the padding of a window to an image if ATen has no such padding: opposite sides differ, or
// `at_most_half` and it is more than half of the window. Returns the padding that is left.
std::pair<int64_t, int64_t> PadWindow(const Window& w, double value, bool at_most_half,
                                      OpBuilder& b, Argument& x) {
  const bool fits = !at_most_half || (w.top <= w.kernel_height / 2 && w.left <= w.kernel_width / 2);
  if (IsSymmetric(w) && fits) return {w.top, w.left};
  x = b.Call("aten.constant_pad_nd.default", {x, {w.left, w.right, w.top, w.bottom}, value});
  return {0, 0};
}

bool CheckSymmetric(const Window& w, OpBuilder& b) {
  if (IsSymmetric(w)) return true;
  b.Unsupported(absl::StrCat("padding of ", w.top, ", ", w.right, ", ", w.bottom, ", ", w.left,
                             ", which differs between opposite sides"));
  return false;
}

void EmitConvolution(const Row&, const Node& node, DelegateValues& v) {
  OpBuilder& b = v.builder();
  const Window& w = node.window;
  const bool depthwise = node.type == NodeType::DepthwiseConv2d;
  Argument x = v.InNchw(node.inputs[0]);
  const auto [height, width] = PadWindow(w, 0, /*at_most_half=*/false, b, x);
  // [out, kh, kw, in / groups], or [1, kh, kw, out] -> [out, in / groups, kh, kw]
  constexpr int kDense[] = {0, 3, 1, 2}, kDepthwise[] = {3, 0, 1, 2};
  const Argument filter = exir::Cast(
      b, v.Filter(node.inputs[1], depthwise ? kDepthwise : kDense, /*channel_dim=*/0), b.dtype(x));
  v.SetResult(node, {b.Call("aten.convolution.default", {x,
                                                         filter,
                                                         BiasOf(node, v, b.dtype(x)),
                                                         {w.stride_height, w.stride_width},
                                                         {height, width},
                                                         {w.dilation_height, w.dilation_width},
                                                         false,
                                                         {0, 0},
                                                         w.groups}),
                     true});
}

void EmitTransposedConvolution(const Row&, const Node& node, DelegateValues& v) {
  OpBuilder& b = v.builder();
  const Window& w = node.window;
  if (!CheckSymmetric(w, b)) return;
  const Argument x = v.InNchw(node.inputs[0]);
  const bool per_channel = !v.value(node.inputs[1]).channel_scales.empty();
  if (w.groups > 1 && per_channel) {
    return b.Unsupported("scales per channel of a transposed convolution with groups");
  }
  // [out, kh, kw, in / groups] -> [in, out / groups, kh, kw]
  constexpr int kPermutation[] = {3, 0, 1, 2};
  Argument filter =
      exir::Cast(b, v.Filter(node.inputs[1], kPermutation, /*channel_dim=*/1), b.dtype(x));
  if (w.groups > 1) {
    // [in / groups, groups, out / groups, kh, kw]
    filter = exir::Reshape(
        b, filter, {w.group_inputs, w.groups, w.group_outputs, w.kernel_height, w.kernel_width});
    filter = exir::Permute(b, filter, {1, 0, 2, 3, 4});
    filter = exir::Reshape(
        b, filter, {w.groups * w.group_inputs, w.group_outputs, w.kernel_height, w.kernel_width});
  }
  v.SetResult(node, {b.Call("aten.convolution.default", {x,
                                                         filter,
                                                         BiasOf(node, v, b.dtype(x)),
                                                         {w.stride_height, w.stride_width},
                                                         {w.top, w.left},
                                                         {w.dilation_height, w.dilation_width},
                                                         true,
                                                         {w.adjust_height, w.adjust_width},
                                                         w.groups}),
                     true});
}

// --- Pools and resampling ---

void EmitMaxPool(const Row&, const Node& node, DelegateValues& v) {
  OpBuilder& b = v.builder();
  const Window& w = node.window;
  Argument x = v.InNchw(node.inputs[0]);
  const auto [height, width] =
      PadWindow(w, -std::numeric_limits<double>::infinity(), /*at_most_half=*/true, b, x);
  v.SetResult(node, {b.Call("aten.max_pool2d_with_indices.default",
                            {x,
                             {w.kernel_height, w.kernel_width},
                             {w.stride_height, w.stride_width},
                             {height, width},
                             {w.dilation_height, w.dilation_width}}),
                     true});
}

// Padding is not counted.
void EmitAveragePool(const Row&, const Node& node, DelegateValues& v) {
  OpBuilder& b = v.builder();
  const Window& w = node.window;
  if (!CheckSymmetric(w, b)) return;
  v.SetResult(node, {b.Call("aten.avg_pool2d.default", {v.InNchw(node.inputs[0]),
                                                        {w.kernel_height, w.kernel_width},
                                                        {w.stride_height, w.stride_width},
                                                        {w.top, w.left},
                                                        false,
                                                        false}),
                     true});
}

void EmitGlobalAverage(const Row&, const Node& node, DelegateValues& v) {
  const bool keep = (node.flags & xnnpack::kKeepDims) != 0;
  v.SetResult(node, {exir::Mean(v.builder(), v.InNchw(node.inputs[0]), {2, 3}, keep), keep});
}

void EmitResize(const Row&, const Node& node, DelegateValues& v) {
  v.SetResult(node, {v.builder().Call("aten.upsample_bilinear2d.vec",
                                      {v.InNchw(node.inputs[0]),
                                       {node.numbers[0], node.numbers[1]},
                                       (node.flags & xnnpack::kAlignCorners) != 0,
                                       Argument()}),
                     true});
}

constexpr Row kRows[] = {
    {NodeType::Abs, EmitUnary, "abs"},
    {NodeType::Add, EmitBinary, "aten.add.Tensor"},
    {NodeType::AvgPooling2d, EmitAveragePool},
    {NodeType::BatchMatrixMultiply, EmitMatmul},
    {NodeType::Ceiling, EmitUnary, "ceil"},
    {NodeType::Clamp, EmitUnary},
    {NodeType::Concatenate2, EmitConcatenate},
    {NodeType::Concatenate3, EmitConcatenate},
    {NodeType::Concatenate4, EmitConcatenate},
    {NodeType::Concatenate5, EmitConcatenate},
    {NodeType::Conv2d, EmitConvolution},
    {NodeType::ConvTranspose2d, EmitTransposedConvolution},
    {NodeType::Convert, EmitUnary},
    {NodeType::Copy, EmitCopy},
    {NodeType::Cos, EmitUnary, "cos"},
    {NodeType::DepthwiseConv2d, EmitConvolution},
    {NodeType::Div, EmitBinary, "aten.div.Tensor"},
    {NodeType::ELU, EmitSlope, "aten.elu.default"},
    {NodeType::Exp, EmitUnary, "exp"},
    {NodeType::Floor, EmitUnary, "floor"},
    {NodeType::FullyConnected, EmitFullyConnected},
    {NodeType::Gelu, EmitUnary, "gelu"},
    {NodeType::GlobalAvgPooling2d, EmitGlobalAverage},
    {NodeType::Hardswish, EmitUnary, "hardswish"},
    {NodeType::LeakyReLU, EmitSlope, "aten.leaky_relu.default"},
    {NodeType::Log, EmitUnary, "log"},
    {NodeType::MaxPooling2d, EmitMaxPool},
    {NodeType::Maximum, EmitBinary, "aten.maximum.default"},
    {NodeType::Minimum, EmitBinary, "aten.minimum.default"},
    {NodeType::Multiply, EmitBinary, "aten.mul.Tensor"},
    {NodeType::Negate, EmitUnary, "neg"},
    {NodeType::PReLU, EmitPrelu},
    {NodeType::ReciprocalSquareRoot, EmitUnary, "rsqrt"},
    {NodeType::Sigmoid, EmitUnary, "sigmoid"},
    {NodeType::Sin, EmitUnary, "sin"},
    {NodeType::Softmax, EmitSoftmax},
    {NodeType::Square, EmitSquare},
    {NodeType::SquareRoot, EmitUnary, "sqrt"},
    {NodeType::StaticConstantPad, EmitPad},
    {NodeType::StaticReshape, EmitReshape},
    {NodeType::StaticResizeBilinear2D, EmitResize},
    {NodeType::StaticSlice, EmitSlice},
    {NodeType::StaticTranspose, EmitTranspose},
    {NodeType::Subtract, EmitBinary, "aten.sub.Tensor"},
    {NodeType::Tanh, EmitUnary, "tanh"},
};

}  // namespace

void EmitNode(const Node& node, DelegateValues& values) {
  for (const Row& row : kRows) {
    if (row.type == node.type) return row.emit(row, node, values);
  }
  values.builder().Unsupported("this node type");
}

}  // namespace belay::pte
