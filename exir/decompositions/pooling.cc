// Pooling and resampling.

#include <utility>
#include <vector>

#include "exir/decompositions/families.h"
#include "exir/decompositions/op_shorthand.h"

namespace belay::exir {
namespace {

std::vector<Argument> MaxPool2d(OpBuilder& b, const OpCall& c) {
  return {
      b.Call("aten.max_pool2d_with_indices.default", {c.arguments().begin(), c.arguments().end()})};
}
std::vector<Argument> MaxPool3d(OpBuilder& b, const OpCall& c) {
  return {
      b.Call("aten.max_pool3d_with_indices.default", {c.arguments().begin(), c.arguments().end()})};
}

// One output per channel is a mean.
std::vector<Argument> AdaptiveAvgPool2d(OpBuilder& b, const OpCall& c) {
  const std::vector<SymInt> output = c.SymInts("output_size");
  if (output == std::vector<SymInt>{1, 1}) return {Mean(b, c["self"], {-1, -2}, true)};
  return {b.Call("aten._adaptive_avg_pool2d.default", {c["self"], output})};
}
std::vector<Argument> AdaptiveAvgPool3d(OpBuilder& b, const OpCall& c) {
  const std::vector<SymInt> output = c.SymInts("output_size");
  if (output == std::vector<SymInt>{1, 1, 1}) return {Mean(b, c["self"], {-1, -2, -3}, true)};
  return {b.Call("aten._adaptive_avg_pool3d.default", {c["self"], output})};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.adaptive_avg_pool2d.default", AdaptiveAvgPool2d},
    {"aten.adaptive_avg_pool3d.default", AdaptiveAvgPool3d},
    {"aten.max_pool2d.default", MaxPool2d},
    {"aten.max_pool3d.default", MaxPool3d},
};

}  // namespace

absl::Span<const Decomposition> PoolingDecompositions() { return kDecompositions; }

}  // namespace belay::exir
