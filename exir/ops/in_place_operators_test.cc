// Checks the runtime's table of operators whose output may alias an argument against the operators'
// traits.
#include "runtime/schema/in_place_operators.h"

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

std::vector<std::string> Missing(const std::vector<std::string>& from,
                                 absl::Span<const std::string_view> table) {
  std::vector<std::string> missing;
  for (const std::string& name : from) {
    if (std::find(table.begin(), table.end(), name) == table.end()) missing.push_back(name);
  }
  return missing;
}

TEST(InPlaceOperatorsTest, ElementwiseOperatorsArePointwise) {
  const std::vector<std::string> pointwise = WithTrait({kPointwise});
  const std::vector<std::string> listed(std::begin(kElementwiseOperators),
                                        std::end(kElementwiseOperators));
  EXPECT_THAT(pointwise, testing::IsSupersetOf(listed));
  // Their kernels do not guarantee to read an element before writing it, or the dtype changes.
  EXPECT_THAT(Missing(pointwise, kElementwiseOperators),
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
                                         "special.scaled_modified_bessel_k0.default",
                                         "special.scaled_modified_bessel_k1.default",
                                         "special.spherical_bessel_j0.default"}));
}

TEST(InPlaceOperatorsTest, SameByteOperatorsKeepOrReshapeBytes) {
  const std::vector<std::string> same = WithTrait({kKeepsBytes, kReshapesBytes});
  const std::vector<std::string> listed(std::begin(kSameBytesOperators),
                                        std::end(kSameBytesOperators));
  EXPECT_THAT(same, testing::IsSupersetOf(listed));
  // Not in edge programs, or elements are repeated (expand_copy).
  EXPECT_THAT(Missing(same, kSameBytesOperators),
              testing::ElementsAre("aten._reshape_alias_copy.default", "aten.clone.default",
                                   "aten.expand_copy.default", "aten.reshape.default"));
}

}  // namespace
}  // namespace belay::exir
