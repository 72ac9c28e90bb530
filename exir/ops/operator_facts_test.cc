// Checks which outputs may be placed over an argument against the operators' traits.
#include "runtime/schema/operator_facts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

// Returns known operators with one of the traits that return a new tensor.
std::vector<std::string> WithTrait(std::initializer_list<OpTrait> traits) {
  const std::unique_ptr<OpRegistry> ops = *CreateStandardOps();
  std::vector<std::string> names;
  for (const OpOverload* op : ops->Known()) {
    const bool has = std::any_of(traits.begin(), traits.end(),
                                 [&](OpTrait trait) { return op->has_trait(trait); });
    if (has && !op->schema()->IsMutable()) names.push_back(op->name());
  }
  return names;
}

std::vector<std::string> Listed(OutputOverArgument over) {
  std::vector<std::string> names;
  for (const OperatorRow& row : OperatorRows()) {
    if (row.facts.output_over == over) names.emplace_back(row.op);
  }
  return names;
}

std::vector<std::string> Missing(std::vector<std::string> from, OutputOverArgument over) {
  std::erase_if(from, [&](const std::string& op) { return FactsOf(op).output_over == over; });
  return from;
}

TEST(OperatorFactsTest, ElementwiseOperatorsArePointwise) {
  const std::vector<std::string> pointwise = WithTrait({kPointwise});
  EXPECT_THAT(pointwise, testing::IsSupersetOf(Listed(OutputOverArgument::kElementwise)));
  // Their kernels do not guarantee to read an element before writing it, or the dtype changes.
  EXPECT_THAT(Missing(pointwise, OutputOverArgument::kElementwise),
              testing::ElementsAreArray({"aten.__lshift__.Scalar",
                                         "aten.__lshift__.Tensor",
                                         "aten.__rshift__.Scalar",
                                         "aten.__rshift__.Tensor",
                                         "aten._to_copy.default",
                                         "aten.angle.default",
                                         "aten.clone.default",
                                         "aten.digamma.default",
                                         "aten.erfc.default",
                                         "aten.erfinv.default",
                                         "aten.fmax.default",
                                         "aten.fmin.default",
                                         "aten.gcd.default",
                                         "aten.i0.default",
                                         "aten.igamma.default",
                                         "aten.igammac.default",
                                         "aten.lcm.default",
                                         "aten.lgamma.default",
                                         "aten.nextafter.default",
                                         "aten.polygamma.default",
                                         "aten.special_bessel_j0.default",
                                         "aten.special_bessel_j1.default",
                                         "aten.special_bessel_y0.default",
                                         "aten.special_bessel_y1.default",
                                         "aten.special_erfcx.default",
                                         "aten.special_i0e.default",
                                         "aten.special_i1.default",
                                         "aten.special_i1e.default",
                                         "aten.special_modified_bessel_i0.default",
                                         "aten.special_modified_bessel_i1.default",
                                         "aten.special_modified_bessel_k0.default",
                                         "aten.special_modified_bessel_k1.default",
                                         "aten.special_ndtri.default",
                                         "aten.special_zeta.default",
                                         "aten.special_zeta.other_scalar",
                                         "aten.special_zeta.self_scalar",
                                         "dim_order_ops._clone_dim_order.default",
                                         "dim_order_ops._to_dim_order_copy.default",
                                         "quantized_decomposed.add.default",
                                         "quantized_decomposed.convert_element_type.no_fuse",
                                         "special.airy_ai.default",
                                         "special.polynomial.default",
                                         "special.scaled_modified_bessel_k0.default",
                                         "special.scaled_modified_bessel_k1.default",
                                         "special.spherical_bessel_j0.default"}));
}

TEST(OperatorFactsTest, SameByteOperatorsKeepOrReshapeBytes) {
  const std::vector<std::string> same = WithTrait({kKeepsBytes, kReshapesBytes});
  EXPECT_THAT(same, testing::IsSupersetOf(Listed(OutputOverArgument::kSameBytes)));
  // Not in edge programs, or elements are repeated (expand_copy).
  EXPECT_THAT(Missing(same, OutputOverArgument::kSameBytes),
              testing::ElementsAre("aten._reshape_alias_copy.default", "aten.clone.default",
                                   "aten.expand_copy.default", "aten.reshape.default"));
}

}  // namespace
}  // namespace belay::exir
