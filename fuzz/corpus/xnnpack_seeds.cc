// XNNPACK payloads. The call's tensors are f32[2,3] (blob_seeds.cc); 4-D images are reshaped from
// them.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backends/xnnpack/testing/payload_builder.h"
#include "fuzz/corpus/seeds.h"

namespace belay::fuzz {
namespace {

using xnnpack::Datatype;
using xnnpack::kNoId;
using xnnpack::NodeType;
using xnnpack::PayloadBuilder;

// A payload from x to y, both f32[2,3].
struct Payload : PayloadBuilder {
  uint32_t x = Input(0, {2, 3}), y = Output(1, {2, 3});

  void Reshape(uint32_t from, uint32_t to) {
    xnnpack::fb::ReshapeT fields;
    fields.new_shape = tensor(to).dims;
    fields.num_dims = static_cast<uint32_t>(fields.new_shape.size());
    fields.input_id = from;
    fields.output_id = to;
    Add(NodeType::StaticReshape, std::move(fields));
  }
  uint32_t Reshaped(uint32_t from, std::vector<uint32_t> dims) {
    const uint32_t to = Tensor(std::move(dims));
    Reshape(from, to);
    return to;
  }
  xnnpack::fb::ConvolutionT& Convolution(NodeType type, uint32_t from, uint32_t filter,
                                         uint32_t bias, uint32_t to) {
    auto& fields = Add<xnnpack::fb::ConvolutionT>(type);
    fields.kernel_height = tensor(filter).dims[1];
    fields.kernel_width = tensor(filter).dims[2];
    fields.subsampling_height = fields.subsampling_width = 1;
    fields.dilation_height = fields.dilation_width = 1;
    fields.groups = fields.group_input_channels = fields.group_output_channels = 1;
    fields.input1_id = from;
    fields.filter_id = filter;
    fields.bias_id = bias;
    fields.output_id = to;
    return fields;
  }
};

std::string Elementwise() {
  Payload p;
  uint32_t last = p.x;
  for (NodeType type : {NodeType::Abs, NodeType::SquareRoot, NodeType::Negate, NodeType::Sigmoid,
                        NodeType::Hardswish, NodeType::Softmax, NodeType::Floor, NodeType::Square,
                        NodeType::Ceiling, NodeType::Copy, NodeType::Clamp}) {
    const uint32_t next = p.Tensor({2, 3});
    p.Unary(type, last, next);
    last = next;
  }
  p.Bounds(-1, 6);
  for (NodeType type : {NodeType::LeakyReLU, NodeType::ELU}) {
    auto& fields = p.Add<xnnpack::fb::SlopeT>(type);
    fields.slope = 0.5;
    fields.input_id = last;
    fields.output_id = last = p.Tensor({2, 3});
  }
  const uint32_t row = p.Constant({3}, {1, 2, 3});
  for (NodeType type : {NodeType::Add, NodeType::Subtract, NodeType::Multiply, NodeType::Div,
                        NodeType::Minimum, NodeType::Maximum, NodeType::PReLU}) {
    const uint32_t next = p.Tensor({2, 3});
    p.Binary(type, last, row, next);
    last = next;
  }
  p.Unary(NodeType::Copy, last, p.y);
  return p.Serialize();
}

std::string Linear() {
  Payload p;
  const uint32_t hidden = p.Tensor({2, 4});
  auto& first = p.Add<xnnpack::fb::FullyConnectedT>(NodeType::FullyConnected);
  first.input1_id = p.x;
  first.filter_id = p.Constant({4, 3}, std::vector<float>(12, 0.5));
  first.bias_id = p.Constant({4}, {1, 2, 3, 4});
  first.output_id = hidden;
  p.Bounds(0, 6);
  auto& second = p.Add<xnnpack::fb::FullyConnectedT>(NodeType::FullyConnected);
  second.input1_id = hidden;
  second.filter_id = p.Constant({4, 3}, std::vector<float>(12, 0.25));
  second.bias_id = kNoId;
  second.output_id = p.y;
  second.flags = 1;
  return p.Serialize();
}

std::string Images() {
  Payload p;
  const uint32_t image = p.Reshaped(p.x, {1, 2, 3, 1});
  const uint32_t bias = p.Constant({1}, {1});
  const uint32_t a = p.Tensor({1, 2, 3, 1}), b = p.Tensor({1, 2, 3, 1}), c = p.Tensor({1, 3, 4, 1});
  const uint32_t filter = p.Constant({1, 3, 3, 1}, std::vector<float>(9, 1));
  auto& conv = p.Convolution(NodeType::Conv2d, image, filter, bias, a);
  conv.padding_top = conv.padding_left = conv.padding_bottom = conv.padding_right = 1;
  auto& depthwise = p.Convolution(NodeType::DepthwiseConv2d, a, filter, bias, b);
  depthwise.padding_top = depthwise.padding_left = 1;
  depthwise.padding_bottom = depthwise.padding_right = 1;
  p.Convolution(NodeType::ConvTranspose2d, b, p.Constant({1, 2, 2, 1}, {1, 2, 3, 4}), bias, c);
  uint32_t last = c;
  for (NodeType type : {NodeType::MaxPooling2d, NodeType::AvgPooling2d}) {
    auto& pool = p.Add<xnnpack::fb::PoolT>(type);
    pool.pooling_height = pool.pooling_width = 2;
    pool.padding_top = pool.padding_left = 1;
    pool.stride_height = pool.stride_width = pool.dilation_height = pool.dilation_width = 1;
    pool.input_id = last;
    pool.output_id = last = p.Tensor({1, 3, 4, 1});
  }
  auto& resize = p.Add<xnnpack::fb::ResizeT>(NodeType::StaticResizeBilinear2D);
  resize.new_height = 2;
  resize.new_width = 3;
  resize.input_id = last;
  resize.output_id = last = p.Tensor({1, 2, 3, 1});
  const uint32_t mean = p.Tensor({1, 1, 1, 1}), sum = p.Tensor({1, 2, 3, 1});
  p.Unary(NodeType::GlobalAvgPooling2d, last, mean).flags = 64;
  p.Binary(NodeType::Add, last, mean, sum);
  p.Reshape(sum, p.y);
  return p.Serialize();
}

std::string Moves() {
  Payload p;
  const uint32_t turned = p.Tensor({3, 2}), padded = p.Tensor({4, 3}), cut = p.Tensor({3, 2});
  const uint32_t joined = p.Tensor({3, 6});
  auto& transpose = p.Add<xnnpack::fb::TransposeT>(NodeType::StaticTranspose);
  transpose.perm = {1, 0};
  transpose.num_dims = 2;
  transpose.input_id = p.x;
  transpose.output_id = turned;
  auto& pad = p.Add<xnnpack::fb::PadT>(NodeType::StaticConstantPad);
  pad.pre_paddings = {1, 0};
  pad.post_paddings = {0, 1};
  pad.padding_value = 2;
  pad.input_id = turned;
  pad.output_id = padded;
  auto& slice = p.Add<xnnpack::fb::SliceT>(NodeType::StaticSlice);
  slice.offsets = {1, 1};
  slice.sizes = {3, 2};
  slice.num_dims = 2;
  slice.input_id = padded;
  slice.output_id = cut;
  auto& join = p.Add<xnnpack::fb::ConcatenateT>(NodeType::Concatenate3);
  join.axis = 1;
  join.input1_id = cut;
  join.input2_id = turned;
  join.input3_id = cut;
  join.input4_id = join.input5_id = kNoId;
  join.output_id = joined;
  const uint32_t part = p.Tensor({3, 2});
  auto& last = p.Add<xnnpack::fb::SliceT>(NodeType::StaticSlice);
  last.offsets = {0, 4};
  last.sizes = {3, 2};
  last.num_dims = 2;
  last.input_id = joined;
  last.output_id = part;
  p.Reshape(part, p.y);
  return p.Serialize();
}

std::string Quantized() {
  Payload p;
  const auto quantized = [&](std::vector<uint32_t> dims) {
    const uint32_t id = p.Tensor(std::move(dims));
    p.Quantize(id, Datatype::QINT8, 0.5, 3);
    return id;
  };
  const uint32_t q = quantized({2, 3}), hidden = quantized({2, 4}), image = quantized({1, 2, 4, 1});
  p.Unary(NodeType::Convert, p.x, q);
  auto& linear = p.Add<xnnpack::fb::FullyConnectedT>(NodeType::FullyConnected);
  linear.input1_id = q;
  linear.filter_id = p.Constant({4, 3}, {1, 2, 3});
  p.QuantizeChannels(linear.filter_id, Datatype::QCINT8, {1, 2, 3, 4}, 0);
  linear.bias_id = p.Constant({4}, {0, 0, 0, 0});
  p.QuantizeChannels(linear.bias_id, Datatype::QCINT32, {1, 2, 3, 4}, 0);
  linear.output_id = hidden;
  p.Reshape(hidden, image);
  const uint32_t a = quantized({1, 2, 4, 1}), b = quantized({1, 1, 3, 1}),
                 c = quantized({1, 1, 3, 1});
  const uint32_t filter = p.Constant({1, 1, 1, 1}, {1});
  p.Quantize(filter, Datatype::QINT8, 0.5, 0);
  p.Convolution(NodeType::Conv2d, image, filter, kNoId, a);
  auto& pool = p.Add<xnnpack::fb::PoolT>(NodeType::MaxPooling2d);
  pool.pooling_height = pool.pooling_width = 2;
  pool.stride_height = pool.stride_width = pool.dilation_height = pool.dilation_width = 1;
  pool.input_id = a;
  pool.output_id = b;
  p.Unary(NodeType::Clamp, b, c);
  p.Bounds(0, 6);
  const uint32_t mean = quantized({1, 1, 1, 1}), sum = quantized({2, 3}),
                 product = quantized({2, 3});
  p.Unary(NodeType::GlobalAvgPooling2d, c, mean).flags = 64;
  const uint32_t flat = quantized({1});
  p.Reshape(mean, flat);
  p.Binary(NodeType::Add, q, flat, sum);
  p.Binary(NodeType::Multiply, sum, q, product);
  p.Unary(NodeType::Convert, product, p.y);
  return p.Serialize();
}

}  // namespace

void AddXnnpackSeeds(Seeds& seeds, const std::string& call) {
  const std::pair<const char*, std::string> payloads[] = {{"elementwise", Elementwise()},
                                                          {"linear", Linear()},
                                                          {"images", Images()},
                                                          {"moves", Moves()},
                                                          {"quantized", Quantized()}};
  for (const auto& [name, payload] : payloads) {
    seeds.push_back({"backend_blob_xnnpack", name, call + payload});
  }
}

}  // namespace belay::fuzz
