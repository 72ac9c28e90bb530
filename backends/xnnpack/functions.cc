#include "backends/xnnpack/functions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace belay::xnnpack {
namespace {

void Multiply(const Node& node, const Operands& operands) {
  const Sizes &left = *operands.sizes[0], &output = *operands.output_sizes;
  const int64_t rows = left[left.size() - 2], inner = left.back(), columns = output.back();
  const auto* a = static_cast<const float*>(operands.inputs[0]);
  const auto* b = static_cast<const float*>(operands.inputs[1]);
  auto* out = static_cast<float*>(operands.output);
  const bool transposed = (node.flags & kTransposedWeights) != 0;
  const int64_t matrices = *NumElements(output) / (rows * columns);
  for (int64_t m = 0; m < matrices; ++m, b += inner * columns) {
    for (int64_t i = 0; i < rows; ++i, a += inner, out += columns) {
      std::fill_n(out, columns, 0.0f);
      for (int64_t k = 0; k < inner; ++k) {
        for (int64_t j = 0; j < columns; ++j) {
          out[j] += a[k] * (transposed ? b[j * inner + k] : b[k * columns + j]);
        }
      }
    }
  }
}

template <class Function>
void ForEach(const Operands& operands, Function function) {
  const auto* in = static_cast<const float*>(operands.inputs[0]);
  auto* out = static_cast<float*>(operands.output);
  std::transform(in, in + *NumElements(*operands.output_sizes), out, function);
}

}  // namespace

void ComputeFunction(const Node& node, const Operands& operands) {
  switch (node.type) {
    case NodeType::BatchMatrixMultiply:
      return Multiply(node, operands);
    case NodeType::Gelu:
      return ForEach(operands, [](float x) {
        return 0.5f * x * (1 + std::erf(x * (std::numbers::sqrt2_v<float> / 2)));
      });
    case NodeType::Tanh:
      return ForEach(operands, [](float x) { return std::tanh(x); });
    case NodeType::Exp:
      return ForEach(operands, [](float x) { return std::exp(x); });
    case NodeType::Log:
      return ForEach(operands, [](float x) { return std::log(x); });
    case NodeType::Sin:
      return ForEach(operands, [](float x) { return std::sin(x); });
    case NodeType::Cos:
      return ForEach(operands, [](float x) { return std::cos(x); });
    default:  // ReciprocalSquareRoot
      return ForEach(operands, [](float x) { return 1 / std::sqrt(x); });
  }
}

}  // namespace belay::xnnpack
