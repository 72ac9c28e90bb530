#include "executorch/writer/portable_decompositions.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "exir/ir/argument.h"
#include "runtime/core/dtype.h"

namespace belay::pte {
namespace {

using exir::Argument;
using exir::Graph;
using exir::Node;
using exir::SymRanges;
using exir::TensorMeta;

const TensorMeta* TensorOf(const Graph& graph, const Node& node, std::string_view name) {
  const exir::ValueId* value = node.argument(name).get_if<exir::ValueId>();
  return value == nullptr ? nullptr : graph.value(*value).tensor();
}

// The floating-point kernel is correct, and a quotient would lose digits.
bool KeepsRemainder(const Graph& graph, const Node& node, const SymRanges&) {
  const TensorMeta* result = graph.value(node.results()[0]).tensor();
  return result == nullptr || !IsIntegral(result->dtype, /*include_bool=*/true);
}

// All calls except those of the reciprocal kernel: several float32 or float64 divided by one
// element.
bool KeepsDivision(const Graph& graph, const Node& node, const SymRanges&) {
  const TensorMeta *x = TensorOf(graph, node, "self"), *y = TensorOf(graph, node, "other");
  if (x == nullptr || y == nullptr || x->dtype != y->dtype) return true;
  if (x->dtype != DType::kFloat32 && x->dtype != DType::kFloat64) return true;
  return y->NumElements().AsInt() != 1 || x->NumElements().AsInt() == 1;
}

bool KeepsAddMm(const Graph& graph, const Node& node, const SymRanges&) {
  const TensorMeta* result = graph.value(node.results()[0]).tensor();
  if (result == nullptr) return true;
  // A separate matmul in half precision would round once more.
  if (result->dtype != DType::kFloat32 && result->dtype != DType::kFloat64) return true;
  const auto is_one = [&](std::string_view name) {
    const Argument& factor = node.argument(name);
    const int64_t* whole = factor.get_if<int64_t>();
    const double* real = factor.get_if<double>();
    return (whole != nullptr && *whole == 1) || (real != nullptr && *real == 1);
  };
  return !is_one("beta") || !is_one("alpha");
}

// Image sizes that are symbolic.
bool KeepsAdaptiveMaxPool(const Graph& graph, const Node& node, const SymRanges&) {
  const TensorMeta* image = TensorOf(graph, node, "self");
  if (image == nullptr) return true;
  const int spatial = node.target->op().ends_with("3d") ? 3 : 2;
  return image->rank() < spatial ||
         !std::all_of(
             image->sizes.end() - spatial, image->sizes.end(),
             [](const exir::SymInt& size) { return size.AsInt().has_value(); });
}

// Groups along columns or along the reduction dimension.
bool KeepsGroupedMm(const Graph& graph, const Node& node, const SymRanges&) {
  const TensorMeta *x = TensorOf(graph, node, "self"), *y = TensorOf(graph, node, "mat2");
  if (x == nullptr || y == nullptr || y->rank() != 3) return true;
  return !node.argument("bias").is_none() || x->rank() != (node.argument("offs").is_none() ? 3 : 2);
}

// Unless the dimension may be empty.
bool KeepsIndexSelect(const Graph& graph, const Node& node, const SymRanges& ranges) {
  const TensorMeta* x = TensorOf(graph, node, "self");
  const int64_t* dim = node.argument("dim").get_if<int64_t>();
  if (x == nullptr || dim == nullptr || *dim < -x->rank() || *dim >= x->rank()) return true;
  const exir::SymInt& size = x->sizes[static_cast<size_t>(*dim < 0 ? *dim + x->rank() : *dim)];
  return size.Range(ranges).min > 0;
}

struct Exception {
  std::string_view op;  // all of its overloads
  bool (*keeps)(const Graph&, const Node&, const SymRanges&);
};
constexpr Exception kExceptions[] = {
    {"_grouped_mm", KeepsGroupedMm},
    {"adaptive_max_pool2d", KeepsAdaptiveMaxPool},
    {"adaptive_max_pool3d", KeepsAdaptiveMaxPool},
    {"addmm", KeepsAddMm},
    {"div", KeepsDivision},
    {"index_select", KeepsIndexSelect},
    {"remainder", KeepsRemainder},
};

}  // namespace

const exir::DecompositionTable& PortableDecompositions() {
  static const exir::DecompositionTable& table = *[] {
    const absl::Span<const exir::Decomposition> families[] = {
        ArithmeticDecompositions(), BesselDecompositions(),  OrderDecompositions(),
        ResizeDecompositions(),     ScatterDecompositions(), WindowDecompositions()};
    return new exir::DecompositionTable(families);
  }();
  return table;
}

bool IsBetterKept(const exir::ExportedProgram& program, exir::GraphId graph, exir::NodeId id) {
  const Graph& in = program.graphs[graph];
  const Node& node = in.node(id);
  for (const Exception& exception : kExceptions) {
    if (exception.op == node.target->op()) return exception.keeps(in, node, program.ranges);
  }
  return false;
}

}  // namespace belay::pte
