// Activation functions.

#include <utility>
#include <vector>

#include "exir/decompositions/families.h"
#include "exir/decompositions/op_shorthand.h"

namespace belay::exir {
namespace {

// What PyTorch computes in float32 for half precision: widens, applies, narrows.
template <class Fn>
std::vector<Argument> Computed(OpBuilder& b, const Argument& x, Fn fn) {
  const DType dtype = b.dtype(x);
  return {Cast(b, fn(Cast(b, x, ComputeDtype(dtype))), dtype)};
}

std::vector<Argument> Silu(OpBuilder& b, const OpCall& c) {
  return Computed(b, c["self"],
                  [&](const Argument& x) { return Mul(b, x, Unary(b, "sigmoid", x)); });
}

// relu6(x + 3) / 6
Argument HardSigmoidOf(OpBuilder& b, const Argument& x) {
  return Div(b, Clamp(b, Add(b, x, 3), 0, 6), 6);
}
std::vector<Argument> HardSigmoid(OpBuilder& b, const OpCall& c) {
  return Computed(b, c["self"], [&](const Argument& x) { return HardSigmoidOf(b, x); });
}
std::vector<Argument> HardSwish(OpBuilder& b, const OpCall& c) {
  return Computed(b, c["self"], [&](const Argument& x) {
    return Div(b, Mul(b, x, Clamp(b, Add(b, x, 3), 0, 6)), 6);
  });
}
std::vector<Argument> Relu6(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.hardtanh.default", {c["self"], 0, 6})};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.hardsigmoid.default", HardSigmoid},
    {"aten.hardswish.default", HardSwish},
    {"aten.relu6.default", Relu6},
    {"aten.silu.default", Silu},
};

}  // namespace

absl::Span<const Decomposition> ActivationDecompositions() { return kDecompositions; }

}  // namespace belay::exir
