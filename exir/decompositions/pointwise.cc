// Elementwise operators that are others in disguise.

#include <utility>
#include <vector>

#include "exir/decompositions/families.h"
#include "exir/decompositions/op_shorthand.h"

namespace belay::exir {
namespace {

// An operator under another name, with the same arguments.
#define BELAY_SAME(alias, op)                                            \
  {alias, [](OpBuilder& b, const OpCall& c) -> std::vector<Argument> {   \
     return b.CallAll(op, {c.arguments().begin(), c.arguments().end()}); \
   }}

std::vector<Argument> Square(OpBuilder& b, const OpCall& c) { return {Pow(b, c["self"], 2)}; }

constexpr Decomposition kDecompositions[] = {
    BELAY_SAME("aten.__and__.Scalar", "aten.bitwise_and.Scalar"),
    BELAY_SAME("aten.__and__.Tensor", "aten.bitwise_and.Tensor"),
    BELAY_SAME("aten.__or__.Scalar", "aten.bitwise_or.Scalar"),
    BELAY_SAME("aten.__or__.Tensor", "aten.bitwise_or.Tensor"),
    BELAY_SAME("aten.__xor__.Scalar", "aten.bitwise_xor.Scalar"),
    BELAY_SAME("aten.__xor__.Tensor", "aten.bitwise_xor.Tensor"),
    BELAY_SAME("aten.absolute.default", "aten.abs.default"),
    BELAY_SAME("aten.negative.default", "aten.neg.default"),
    {"aten.square.default", Square},
};

}  // namespace

absl::Span<const Decomposition> PointwiseDecompositions() { return kDecompositions; }

}  // namespace belay::exir
