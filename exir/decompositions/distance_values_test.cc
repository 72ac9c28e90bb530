#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "exir/decompositions/expect_values.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(DistanceValuesTest, Norms) {
  const Values x = F({2, 2}, {3, -4, 0, 12});
  const double all = 13;
  ExpectValues("aten.norm.Scalar(%a)", {x}, {F({}, {all})});
  ExpectValues("aten.norm.Scalar(%a, 1)", {x}, {F({}, {19})});
  ExpectValues("aten.norm.ScalarOpt_dim(%a, none, [-1])", {x}, {F({2}, {5, 12})});
  ExpectValues("aten.norm.ScalarOpt_dim(%a, inf, [0], true)", {x}, {F({1, 2}, {3, 12})});
  ExpectValues("aten.norm.ScalarOpt_dim(%a, 2, [])", {x}, {F({}, {all})});
  ExpectValues("aten.norm.ScalarOpt_dtype(%a, 2, dtype=dtype:f64)", {x}, {D({}, {all})});
  ExpectValues("aten.norm.ScalarOpt_dim_dtype(%a, 2, [1], false, dtype=dtype:f64)", {x},
               {D({2}, {5, 12})});
  ExpectValues("aten.frobenius_norm.dim(%a, [0, 1])", {x}, {F({}, {all})});
  ExpectValues("aten.frobenius_norm.dim(%a, [1], true)", {x}, {F({2, 1}, {5, 12})});
}

TEST(DistanceValuesTest, NormsOfMatricesWithoutElementsAreZero) {
  for (const Sizes64& sizes : {Sizes64{2, 0, 3}, {2, 3, 0}, {2, 0, 0}}) {
    const Values x = F(sizes, {});
    const Values zeros = F({2}, {0, 0});
    for (const char* order : {"2", "1", "inf"}) {
      const std::string call = absl::StrCat("aten.linalg_matrix_norm.default(%a, ", order);
      ExpectValues(absl::StrCat(call, ")"), {x}, {zeros});
      ExpectValues(absl::StrCat(call, ", [1, 2], true)"), {x}, {F({2, 1, 1}, {0, 0})});
      ExpectValues(absl::StrCat("aten.linalg_norm.default(%a, ", order, ", [2, 1])"), {x}, {zeros});
      ExpectValues(absl::StrCat("aten.linalg_cond.default(%a, ", order, ")"), {x}, {zeros});
    }
    ExpectValues("aten.linalg_matrix_norm.str_ord(%a, \"nuc\")", {x}, {zeros});
    ExpectValues("aten.linalg_matrix_norm.str_ord(%a, \"fro\")", {x}, {zeros});
    ExpectValues("aten.linalg_cond.default(%a)", {x}, {zeros});
    ExpectValues("aten.linalg_cond.default(%a, -2)", {x}, {zeros});
    ExpectValues("aten.linalg_cond.p_str(%a, \"nuc\")", {x}, {zeros});
  }
}

TEST(DistanceValuesTest, LinalgNormOfVectorsAndMatrices) {
  const Values x = F({2, 2}, {3, -4, 0, 12});
  ExpectValues("aten.linalg_norm.default(%a)", {x}, {F({}, {13})});
  ExpectValues("aten.linalg_norm.default(%a, none, [0, 1], true)", {x}, {F({1, 1}, {13})});
  ExpectValues("aten.linalg_norm.default(%a, 1)", {x}, {F({}, {16})});
  ExpectValues("aten.linalg_norm.default(%a, -1)", {x}, {F({}, {3})});
  ExpectValues("aten.linalg_norm.default(%a, inf)", {x}, {F({}, {12})});
  ExpectValues("aten.linalg_norm.default(%a, 1, [1])", {x}, {F({2}, {7, 12})});
  ExpectValues("aten.linalg_norm.default(%a, 3)", {F({2}, {1, -2})}, {F({}, {std::cbrt(9)})});
  ExpectValues("aten.linalg_norm.ord_str(%a, \"fro\", dtype=dtype:f64)", {x}, {D({}, {13})});
  const Values batch = F({1, 2, 2}, {3, -4, 0, 12});
  ExpectValues("aten.linalg_matrix_norm.default(%a, inf)", {batch}, {F({1}, {12})});
  ExpectValues("aten.linalg_matrix_norm.default(%a, -inf, [1, 2], true)", {batch},
               {F({1, 1, 1}, {7})});
  ExpectValues("aten.linalg_matrix_norm.default(%a, 1, [2, 1])", {batch}, {F({1}, {12})});
  ExpectValues("aten.linalg_matrix_norm.str_ord(%a)", {batch}, {F({1}, {13})});
  ExpectValues("aten.linalg_matrix_norm.default(%a, 2)", {x}, {F({}, {12.686516})});
  ExpectValues("aten.linalg_matrix_norm.default(%a, -2, [1, 2], true)", {batch},
               {F({1, 1, 1}, {2.8376584})});
  ExpectValues("aten.linalg_matrix_norm.str_ord(%a, \"nuc\")", {x}, {F({}, {15.524175})});
}

TEST(DistanceValuesTest, WeightNorm) {
  const Values v = F({2, 2}, {3, 4, 0, 2});
  ExpectValues("aten._weight_norm.default(%a, %b)", {v, F({2, 1}, {10, 1})},
               {F({2, 2}, {6, 8, 0, 1})});
  ExpectValues("aten._weight_norm_interface.default(%a, %b, 1)",
               {F({2, 2}, {3, 0, 4, 2}), F({1, 2}, {10, 1})},
               {F({2, 2}, {6, 0, 8, 1}), F({1, 2}, {5, 2})});
  ExpectValues("aten.norm_except_dim.default(%a)", {v}, {F({2, 1}, {5, 2})});
  ExpectValues("aten.norm_except_dim.default(%a, 1, 1)", {v}, {F({1, 2}, {3, 6})});
  ExpectValues("aten.norm_except_dim.default(%a, 2, -1)", {v}, {F({}, {std::sqrt(29)})});
  ExpectValues("aten.renorm.default(%a, 2, 0, 4)", {v}, {F({2, 2}, {2.4, 3.2, 0, 2})});
}

TEST(DistanceValuesTest, Distances) {
  const Values x = F({2, 2}, {1, 2, 3, 4}), y = F({2, 2}, {4, 6, 3, 4});
  ExpectValues("aten.dist.default(%a, %b)", {x, y}, {F({}, {5})});
  ExpectValues("aten.dist.default(%a, %b, 1)", {x, y}, {F({}, {7})});
  ExpectValues("aten.pairwise_distance.default(%a, %b, 2.0, 0.0)", {x, y}, {F({2}, {5, 0})});
  ExpectValues("aten.pairwise_distance.default(%a, %b, 1.0, 0.5, true)", {x, y},
               {F({2, 1}, {2.5 + 3.5, 1})});
  ExpectValues("aten.pairwise_distance.default(%a, %b, 2.0, 0.0)", {x, F({2}, {1, 2})},
               {F({2}, {0, std::sqrt(8)})});
  ExpectValues("aten.cdist.default(%a, %b)", {x, y},
               {F({2, 2}, {5, std::sqrt(8), std::sqrt(5), 0})});
  ExpectValues("aten._euclidean_dist.default(%a, %b)", {x, y},
               {F({2, 2}, {5, std::sqrt(8), std::sqrt(5), 0})}, {.atol = 1e-4});
  ExpectValues("aten.pdist.default(%a)", {F({3, 1}, {1, 3, 7})}, {F({3}, {2, 6, 4})});
}

TEST(DistanceValuesTest, CosineSimilarity) {
  const Values x = F({2, 2}, {3, 4, 1, 0}), y = F({2, 2}, {4, 3, 0, 0});
  ExpectValues("aten.cosine_similarity.default(%a, %b)", {x, y}, {F({2}, {0.96, 0})});
  ExpectValues("aten.cosine_similarity.default(%a, %b, -2)",
               {F({2, 2}, {3, 1, 4, 0}), F({2, 2}, {4, 0, 3, 0})}, {F({2}, {0.96, 0})});
  ExpectValues("aten.cosine_similarity.default(%a, %b)", {x, F({1, 2}, {4, 3})},
               {F({2}, {0.96, 0.8})});
  ExpectValues("aten.cosine_similarity.default(%a, %b, -1)", {x, F({2}, {4, 3})},
               {F({2}, {0.96, 0.8})});
}

}  // namespace
}  // namespace belay::exir
