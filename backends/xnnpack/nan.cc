#include "backends/xnnpack/nan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/xnnpack/node_rules.h"

namespace belay::xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
// Half of the largest float32: rounding never doubles an intermediate sum.
constexpr double kLargestSum = std::numeric_limits<float>::max() / 2;

const float* Input(const Operands& operands, int i = 0) {
  return static_cast<const float*>(operands.inputs[i]);
}
float* Output(const Operands& operands) { return static_cast<float*>(operands.output); }
int64_t Rows(const Sizes& sizes) { return sizes.empty() ? 1 : *NumElements(sizes) / sizes.back(); }

float Element(const Value& constant, int64_t i) {
  float element;
  std::memcpy(&element, constant.constant.data() + i * sizeof(float), sizeof(float));
  return element;
}

// --- Elementwise ---

// Stride of dimension `dim` of the result, counted from the last.
int64_t BroadcastStride(const Sizes& sizes, int dim) {
  if (dim >= sizes.size() || sizes[sizes.size() - 1 - dim] == 1) return 0;
  int64_t stride = 1;
  for (int i = 0; i < dim; ++i) stride *= sizes[sizes.size() - 1 - i];
  return stride;
}

template <class Function>
void RestoreBinary(const Operands& operands, Function function) {
  const Sizes& sizes = *operands.output_sizes;
  const int rank = sizes.size();
  const int64_t columns = sizes.empty() ? 1 : sizes.back();
  const int64_t a_step = BroadcastStride(*operands.sizes[0], 0);
  const int64_t b_step = BroadcastStride(*operands.sizes[1], 0);
  float* out = Output(operands);
  for (int64_t row = 0; row < Rows(sizes); ++row, out += columns) {
    const float *a = Input(operands), *b = Input(operands, 1);
    int64_t rest = row;
    for (int dim = 1; dim < rank; ++dim) {
      const int64_t index = rest % sizes[rank - 1 - dim];
      rest /= sizes[rank - 1 - dim];
      a += index * BroadcastStride(*operands.sizes[0], dim);
      b += index * BroadcastStride(*operands.sizes[1], dim);
    }
    for (int64_t i = 0; i < columns; ++i) {
      const float result = function(a[i * a_step], b[i * b_step]);
      out[i] = std::isnan(result) ? result : out[i];
    }
  }
}

void RestoreClamp(const Operands& operands) {
  const float* in = Input(operands);
  float* out = Output(operands);
  const int64_t count = *NumElements(*operands.output_sizes);
  for (int64_t i = 0; i < count; ++i) out[i] = std::isnan(in[i]) ? in[i] : out[i];
}

// exp(x - max) / sum: the whole row is NaN if the maximum is infinite.
void RestoreSoftmax(const Operands& operands) {
  const int64_t columns = operands.output_sizes->back();
  const float* in = Input(operands);
  float* out = Output(operands);
  for (int64_t row = 0; row < Rows(*operands.output_sizes); ++row, in += columns, out += columns) {
    float largest = -kInfinity;
    for (int64_t i = 0; i < columns; ++i) largest = !(in[i] <= largest) ? in[i] : largest;
    // Comparisons with NaN are false, so the running maximum may lose it.
    const bool any = std::any_of(in, in + columns, [](float x) { return std::isnan(x); });
    if (any || std::isinf(largest)) std::fill_n(out, columns, kNan);
  }
}

// --- Windows over images ---

// Position of one result: row y, column x and channel c of image n.
struct Position {
  int64_t n, y, x, c;
};

template <class Function>
void ForEachPosition(const Sizes& sizes, Function function) {
  for (int64_t n = 0; n < sizes[0]; ++n) {
    for (int64_t y = 0; y < sizes[1]; ++y) {
      for (int64_t x = 0; x < sizes[2]; ++x) {
        for (int64_t c = 0; c < sizes[3]; ++c) function(Position{n, y, x, c});
      }
    }
  }
}

// Returns the input index that tap `tap` of a window reads. -1 outside of the image, and between
// the elements of a transposed convolution.
int64_t InputIndex(bool transposed, int64_t place, int64_t tap, int64_t stride, int64_t dilation,
                   int64_t padding, int64_t size) {
  int64_t read = place * stride + tap * dilation - padding;
  if (transposed) {
    read = place + padding - tap * dilation;
    if (read % stride != 0) return -1;
    read /= stride;
  }
  return read < size ? std::max<int64_t>(read, -1) : -1;
}

// Calls function(elements, ky, kx) for each tap until it returns that it is done; `elements` are
// the channels at the input position of the tap.
template <class Function>
void ForEachTap(const Node& node, const Operands& operands, const Position& at, Function function) {
  const Window& w = node.window;
  const Sizes& in = *operands.sizes[0];
  const bool transposed = node.type == NodeType::ConvTranspose2d;
  for (int64_t ky = 0; ky < w.kernel_height; ++ky) {
    const int64_t y =
        InputIndex(transposed, at.y, ky, w.stride_height, w.dilation_height, w.top, in[1]);
    if (y < 0) continue;
    for (int64_t kx = 0; kx < w.kernel_width; ++kx) {
      const int64_t x =
          InputIndex(transposed, at.x, kx, w.stride_width, w.dilation_width, w.left, in[2]);
      if (x < 0) continue;
      if (function(Input(operands) + ((at.n * in[1] + y) * in[2] + x) * in[3], ky, kx)) return;
    }
  }
}

// Whether the library may have replaced a NaN with a bound.
bool IsBound(const Node& node, float result) { return !(result > node.min && result < node.max); }

void RestoreConvolution(const Graph& graph, const Node& node, const Operands& operands) {
  const Window& w = node.window;
  const Value& filter = *graph.input(node, 1);
  const Value* bias = graph.input(node, 2);
  const bool depthwise = node.type == NodeType::DepthwiseConv2d;
  float* out = Output(operands);
  ForEachPosition(*operands.output_sizes, [&](const Position& at) {
    float& result = *out++;
    if (!IsBound(node, result)) return;
    float sum = bias == nullptr ? 0 : Element(*bias, at.c);
    const int64_t first = at.c / w.group_outputs * w.group_inputs;
    ForEachTap(node, operands, at, [&](const float* elements, int64_t ky, int64_t kx) {
      const int64_t tap = ky * w.kernel_width + kx;
      for (int64_t i = 0; i < w.group_inputs && !std::isnan(sum); ++i) {
        const int64_t weight =
            depthwise ? tap * w.groups * w.group_outputs + at.c
                      : (at.c * w.kernel_height * w.kernel_width + tap) * w.group_inputs + i;
        sum += elements[first + i] * Element(filter, weight);
      }
      return std::isnan(sum);
    });
    if (std::isnan(sum)) result = kNan;
  });
}

void RestoreLinear(const Graph& graph, const Node& node, const Operands& operands) {
  const Value& filter = *graph.input(node, 1);
  const Value* bias = graph.input(node, 2);
  const int64_t inputs = operands.sizes[0]->back(), outputs = operands.output_sizes->back();
  const bool transposed = (node.flags & kTransposedWeights) != 0;
  const float* in = Input(operands);
  float* out = Output(operands);
  for (int64_t row = 0; row < Rows(*operands.output_sizes); ++row, in += inputs) {
    for (int64_t o = 0; o < outputs; ++o, ++out) {
      if (!IsBound(node, *out)) continue;
      float sum = bias == nullptr ? 0 : Element(*bias, o);
      for (int64_t i = 0; i < inputs && !std::isnan(sum); ++i) {
        sum += in[i] * Element(filter, transposed ? i * outputs + o : o * inputs + i);
      }
      if (std::isnan(sum)) *out = kNan;
    }
  }
}

// An average is NaN if its sum is; a maximum is NaN if an element is.
void RestorePool(const Node& node, const Operands& operands) {
  const bool average = node.type == NodeType::AvgPooling2d;
  float* out = Output(operands);
  ForEachPosition(*operands.output_sizes, [&](const Position& at) {
    float& result = *out++;
    if (average && !IsBound(node, result)) return;
    float sum = 0;
    ForEachTap(node, operands, at, [&](const float* elements, int64_t, int64_t) {
      sum = average ? sum + elements[at.c] : elements[at.c];
      return std::isnan(sum);
    });
    if (std::isnan(sum)) result = kNan;
  });
}

void RestoreGlobalAverage(const Node& node, const Operands& operands) {
  const Sizes& sizes = *operands.sizes[0];
  const int64_t places = sizes[1] * sizes[2], channels = sizes[3];
  const float* in = Input(operands);
  float* out = Output(operands);
  for (int64_t n = 0; n < sizes[0]; ++n, in += places * channels, out += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      if (!IsBound(node, out[c])) continue;
      float sum = 0;
      for (int64_t place = 0; place < places; ++place) sum += in[place * channels + c];
      if (std::isnan(sum)) out[c] = kNan;
    }
  }
}

}  // namespace

float LargestMagnitude(const void* numbers, int64_t count) {
  // Bit patterns of magnitudes are ordered like the numbers, and NaN follows infinity.
  constexpr int32_t kMagnitude = 0x7fffffff, kInfinityBits = 0x7f800000;
  int32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    int32_t bits;
    std::memcpy(&bits, static_cast<const std::byte*>(numbers) + i * sizeof(bits), sizeof(bits));
    largest = std::max(largest, bits & kMagnitude);
  }
  largest = std::min(largest, kInfinityBits);
  float result;
  std::memcpy(&result, &largest, sizeof(result));
  return result;
}

bool LosesNan(const Graph& graph, const Node& node) {
  if (graph.input(node, 0)->datatype != Datatype::FP32) return false;
  switch (node.type) {
    case NodeType::Add:
    case NodeType::Subtract:
    case NodeType::Multiply:
    case NodeType::Div:
    case NodeType::Minimum:
    case NodeType::Maximum:
    case NodeType::Clamp:
    case NodeType::Softmax:
    case NodeType::FullyConnected:
    case NodeType::Conv2d:
    case NodeType::DepthwiseConv2d:
    case NodeType::ConvTranspose2d:
    case NodeType::AvgPooling2d:
    case NodeType::MaxPooling2d:
    case NodeType::GlobalAvgPooling2d:
      return true;
    default:
      return false;
  }
}

WeightMagnitudes WeightMagnitudesOf(const Graph& graph, const Node& node) {
  switch (node.type) {
    case NodeType::FullyConnected:
    case NodeType::Conv2d:
    case NodeType::DepthwiseConv2d:
    case NodeType::ConvTranspose2d: {
      const auto of = [](const Value* value) {
        const bool any = value != nullptr && value->datatype == Datatype::FP32;
        return any ? LargestMagnitude(value->constant.data(), *NumElements(value->sizes)) : 0;
      };
      return {.filter = of(graph.input(node, 1)), .bias = of(graph.input(node, 2))};
    }
    default:
      return {};
  }
}

float ResultMagnitude(const Node& node, const WeightMagnitudes& weights,
                      absl::Span<const float> inputs, const Operands& operands) {
  const double largest = *std::max_element(inputs.begin(), inputs.end());
  const Window& w = node.window;
  const auto taps = static_cast<double>(w.kernel_height) * static_cast<double>(w.kernel_width);
  const auto weighted = [&](double products) {
    return products * weights.filter * largest + weights.bias;
  };
  double bound = kInfinity;
  switch (node.type) {
    case NodeType::Add:
    case NodeType::Subtract:
      bound = double{inputs[0]} + inputs[1];
      break;
    case NodeType::Multiply:
      bound = double{inputs[0]} * inputs[1];
      break;
    case NodeType::Minimum:
    case NodeType::Maximum:
      bound = largest;
      break;
    case NodeType::Softmax:
      return largest < kLargestSum ? 1 : kInfinity;
    case NodeType::FullyConnected:
      bound = weighted(static_cast<double>(operands.sizes[0]->back()));
      break;
    case NodeType::Conv2d:
    case NodeType::DepthwiseConv2d:
    case NodeType::ConvTranspose2d:
      bound = weighted(taps * static_cast<double>(w.group_inputs));
      break;
    case NodeType::AvgPooling2d:
      bound = taps * largest;
      break;
    case NodeType::GlobalAvgPooling2d:
      bound = static_cast<double>((*operands.sizes[0])[1] * (*operands.sizes[0])[2]) * largest;
      break;
    default:
      if (!FindNodeRule(node.type)->moves) return kInfinity;
      bound = std::fabs(node.number) <= largest ? largest : std::fabs(node.number);
  }
  if (!(bound < kLargestSum)) return kInfinity;
  return std::min(static_cast<float>(bound) * 2,
                  std::max(std::fabs(node.min), std::fabs(node.max)));
}

void RestoreNan(const Graph& graph, const Node& node, const Operands& operands) {
  switch (node.type) {
    case NodeType::Add:
      return RestoreBinary(operands, [](float a, float b) { return a + b; });
    case NodeType::Subtract:
      return RestoreBinary(operands, [](float a, float b) { return a - b; });
    case NodeType::Multiply:
      return RestoreBinary(operands, [](float a, float b) { return a * b; });
    case NodeType::Div:
      return RestoreBinary(operands, [](float a, float b) { return a / b; });
    case NodeType::Minimum:
    case NodeType::Maximum:
      return RestoreBinary(operands, [](float a, float b) { return std::isnan(a) ? a : b; });
    case NodeType::Clamp:
      return RestoreClamp(operands);
    case NodeType::Softmax:
      return RestoreSoftmax(operands);
    case NodeType::FullyConnected:
      return RestoreLinear(graph, node, operands);
    case NodeType::AvgPooling2d:
    case NodeType::MaxPooling2d:
      return RestorePool(node, operands);
    case NodeType::GlobalAvgPooling2d:
      return RestoreGlobalAverage(node, operands);
    default:
      return RestoreConvolution(graph, node, operands);
  }
}

}  // namespace belay::xnnpack
