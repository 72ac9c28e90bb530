// Resizing: ExecuTorch's library has only the overloads that take a list of sizes or of factors.

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "executorch/writer/portable_decompositions.h"
#include "exir/builder/op_shorthand.h"

namespace belay::pte {
namespace {

using exir::Argument;
using exir::OpArgument;
using exir::OpBuilder;
using exir::OpCall;
using exir::SymInt;

// Size that the kernel computes from a factor.
SymInt Scaled(const SymInt& size, double factor) {
  if (factor == std::floor(factor) && std::fabs(factor) < 1e9) {
    return size * SymInt(static_cast<int64_t>(factor));
  }
  return exir::SymExpr::Function(
      "TruncToInt", {exir::SymExpr::Function("ToFloat", {size}) * exir::SymExpr::Float(factor)});
}

// Whether the call has no factors other than 1 of dimensions whose sizes do not change.
bool HasNoFactors(OpBuilder& b, const OpCall& c) {
  const std::vector<SymInt> out = c.SymInts("output_size");
  for (int64_t d = 0; d < 2; ++d) {
    const char* const name = d == 0 ? "scales_h" : "scales_w";
    if (c.IsNone(name)) continue;
    if (c.Double(name) != 1 || !(b.size(c["self"], d + 2) == out[d])) return false;
  }
  return true;
}

// Returns one factor per dimension; nullopt without factors. A dimension whose size does not change
// has factor 1.
std::optional<std::vector<Argument>> FactorsOf(OpBuilder& b, const OpCall& c) {
  const std::vector<SymInt> out = c.SymInts("output_size");
  std::vector<Argument> factors;
  bool any = false;
  for (int64_t d = 0; d < 2; ++d) {
    const char* const name = d == 0 ? "scales_h" : "scales_w";
    const SymInt in = b.size(c["self"], d + 2);
    if (!c.IsNone(name)) {
      const double factor = c.Double(name);
      if (!b.ok() || !(out[d] == Scaled(in, factor))) return std::nullopt;
      factors.emplace_back(factor);
      any = any || factor != 1;
    } else if (in == out[d]) {
      factors.emplace_back(1.0);
    } else {
      return std::nullopt;
    }
  }
  if (!any || !b.ok()) return std::nullopt;
  return factors;
}

// resize(x, sizes, scales) -> resize.vec(x, none, scales), or resize.vec(x, sizes, none) without
// scales.
std::vector<Argument> ByLists(OpBuilder& b, const OpCall& c, std::string_view op,
                              std::vector<OpArgument> options) {
  if (b.rank(c["self"]) != 4 || c.SymInts("output_size").size() != 2) {
    b.Invalid("expected a batch of channels of images");
  }
  if (!b.ok()) return {};
  std::vector<OpArgument> arguments = {c["self"]};
  if (std::optional<std::vector<Argument>> factors = FactorsOf(b, c)) {
    arguments.emplace_back(Argument());
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.emplace_back(Argument(Argument::List(factors->begin(), factors->end())));
  } else if (HasNoFactors(b, c)) {
    arguments.emplace_back(c.SymInts("output_size"));
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.emplace_back(Argument());
  } else {
    b.Unsupported(
        "ExecuTorch's operator takes sizes or factors, this call has both and they differ; "
        "interpolate by size, or by a factor for each dimension");
    return {};
  }
  return {b.Call(op, std::move(arguments))};
}

std::vector<Argument> Bilinear(OpBuilder& b, const OpCall& c) {
  return ByLists(b, c, "aten.upsample_bilinear2d.vec", {c["align_corners"]});
}
std::vector<Argument> Nearest(OpBuilder& b, const OpCall& c) {
  return ByLists(b, c, "aten.upsample_nearest2d.vec", {});
}

constexpr exir::Decomposition kDecompositions[] = {
    {"aten.upsample_bilinear2d.default", Bilinear},
    {"aten.upsample_nearest2d.default", Nearest},
};

}  // namespace

absl::Span<const exir::Decomposition> ResizeDecompositions() { return kDecompositions; }

}  // namespace belay::pte
