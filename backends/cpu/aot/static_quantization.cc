#include "backends/cpu/aot/static_quantization.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "backends/cpu/aot/max_pool.h"
#include "backends/cpu/calls.h"
#include "runtime/core/checked_math.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::ExportedProgram;
using exir::Node;
using exir::NodeId;
using Kind = exir::QuantizationPattern::Kind;

bool IsOne(const Argument& factor) { return factor == Argument(1) || factor == Argument(1.0); }

// Over images; groups of few channels have no integer kernel unless they are depthwise.
bool HasIntegerConvolution(const ExportedProgram& program, NodeId id) {
  const Node& node = program.top().node(id);
  const int64_t* groups = node.argument("groups").get_if<int64_t>();
  const exir::ValueId* weight = node.value_argument("weight");
  const exir::TensorMeta* meta =
      weight == nullptr ? nullptr : program.top().value(*weight).tensor();
  if (groups == nullptr || meta == nullptr || meta->rank() != 4) return false;
  const bool depthwise =
      meta->sizes[0] == exir::SymInt(*groups) && meta->sizes[1] == exir::SymInt(1);
  const CheckedInt channels = CheckedInt(meta->sizes[1].AsInt().value_or(0)) * *groups;
  return *groups == 1 || depthwise || (channels.ok() && channels.value() >= kFewChannels);
}

// lower_linear adds the bias as a row.
bool HasUnscaledBias(const ExportedProgram& program, NodeId id) {
  const Node& node = program.top().node(id);
  return IsOne(node.argument("alpha")) && IsOne(node.argument("beta"));
}

bool HasUnitAlpha(const ExportedProgram& program, NodeId id) {
  return IsOne(program.top().node(id).argument("alpha"));
}

// lower_max_pool2d supports these.
bool IsLoweredMaxPool(const ExportedProgram& program, NodeId id) {
  return IsPlainMaxPool(program.top(), id) && HasKnownWindows(program.top(), id);
}

constexpr std::string_view kMovement[] = {
    "aten.cat.default",
    "aten.permute_copy.default",
    "aten.select_copy.int",
    "aten.slice_copy.Tensor",
    "aten.squeeze_copy.dim",
    "aten.squeeze_copy.dims",
    "aten.transpose_copy.int",
    "aten.unsqueeze_copy.default",
    "aten.view_copy.default",
    "aten.pixel_shuffle.default",
    "dim_order_ops._clone_dim_order.default",
};
constexpr std::string_view kElementwise[] = {
    "aten.add.Scalar",   "aten.add.Tensor",       "aten.clamp.default",      "aten.div.Scalar",
    "aten.div.Tensor",   "aten.elu.default",      "aten.erf.default",        "aten.exp.default",
    "aten.gelu.default", "aten.hardtanh.default", "aten.leaky_relu.default", "aten.mul.Scalar",
    "aten.mul.Tensor",   "aten.relu.default",     "aten.rsub.Scalar",        "aten.sigmoid.default",
    "aten.sub.Scalar",   "aten.sub.Tensor",       "aten.tanh.default",
};
constexpr std::string_view kBounds[] = {"aten.clamp.default", "aten.hardtanh.default",
                                        "aten.relu.default"};

bool IsBounds(std::string_view op) {
  return std::find(std::begin(kBounds), std::end(kBounds), op) != std::end(kBounds);
}

}  // namespace

exir::QuantizationPatterns StaticQuantizationPatterns() {
  exir::QuantizationPatterns result;
  const auto add = [&](std::string_view op, Kind kind,
                       bool (*accepts)(const ExportedProgram&, NodeId) = nullptr) {
    result.patterns.push_back({.op = std::string(op),
                               .kind = kind,
                               .bounds = kind == Kind::kTable && IsBounds(op),
                               .accepts = accepts});
  };
  add("aten.addmm.default", Kind::kAnchor, &HasUnscaledBias);
  add("aten.mm.default", Kind::kAnchor);
  add("aten.convolution.default", Kind::kAnchor, &HasIntegerConvolution);
  add("aten.add.Tensor", Kind::kSum, &HasUnitAlpha);
  add("aten.max_pool2d_with_indices.default", Kind::kMovement, &IsLoweredMaxPool);
  for (std::string_view op : kMovement) add(op, Kind::kMovement);
  for (std::string_view op : kElementwise) add(op, Kind::kTable);
  return result;
}

}  // namespace belay::cpu
