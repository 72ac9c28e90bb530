// Sample payloads for tests, and ReadGraph() of them.
#ifndef BELAY_BACKENDS_XNNPACK_TESTING_SAMPLE_PAYLOADS_H_
#define BELAY_BACKENDS_XNNPACK_TESTING_SAMPLE_PAYLOADS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/xnnpack/graph_reader.h"
#include "backends/xnnpack/library_rules.h"
#include "backends/xnnpack/testing/payload_builder.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/test_named_data.h"

namespace belay::xnnpack {

inline absl::StatusOr<Graph> Read(const std::string& payload, size_t arguments = 1,
                                  size_t outputs = 1, const TestNamedData& data = {},
                                  uint64_t memory_bytes = 1 << 20,
                                  const GraphSupport& support = kLibrarySupport) {
  MemoryBudget memory("delegate_bytes", memory_bytes);
  return ReadGraph({reinterpret_cast<const std::byte*>(payload.data()), payload.size()}, data,
                   arguments, outputs, support, memory);
}

// abs(x) of f32[2,3].
struct Abs : PayloadBuilder {
  uint32_t x = Input(0, {2, 3}), y = Output(1, {2, 3});
  fb::UnaryT& node = Unary(NodeType::Abs, x, y);
};

// A convolution of 1×5×5×2 by 3 filters of 3×3, stride 2.
struct Conv : PayloadBuilder {
  uint32_t x = Input(0, {1, 5, 5, 2}), y = Output(1, {1, 2, 2, 3});
  uint32_t filter = Constant({3, 3, 3, 2}, std::vector<float>(54, 1));
  uint32_t bias = Constant({3}, {1, 2, 3});
  fb::ConvolutionT& node = Add<fb::ConvolutionT>(NodeType::Conv2d);
  Conv() {
    node.kernel_height = node.kernel_width = 3;
    node.subsampling_height = node.subsampling_width = 2;
    node.dilation_height = node.dilation_width = 1;
    node.groups = 1;
    node.group_input_channels = 2;
    node.group_output_channels = 3;
    node.input1_id = x;
    node.filter_id = filter;
    node.bias_id = bias;
    node.output_id = y;
  }
};

// A convolution whose operands are all quantized.
struct QuantizedConv : Conv {
  QuantizedConv() {
    Quantize(x, Datatype::QINT8, 0.5, 1);
    Quantize(y, Datatype::QINT8, 0.25, -3);
    QuantizeChannels(filter, Datatype::QCINT8, {1, 2, 3}, 0);
    QuantizeChannels(bias, Datatype::QCINT32, {1, 2, 3}, 0);
  }
  fb::PerChannelQuantT& scales() {
    return *graph()
                .values[filter]
                ->value.AsQuantizedTensorValue()
                ->quant_params.AsPerChannelQuant();
  }
};

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_TESTING_SAMPLE_PAYLOADS_H_
