#include <cmath>

#include "exir/decompositions/expect_values.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(ReductionValuesTest, SumsAndCounts) {
  const Values x = F({2, 3}, {1, 0, 3, kNan, 0, 6});
  ExpectValues("aten.sum.default(%a)", {F({2, 2}, {1, 2, 3, 4})}, {F({}, {10})});
  ExpectValues("aten.sum.default(%a)", {B({3}, {1, 0, 1})}, {I({}, {2})});
  ExpectValues("aten.nansum.default(%a)", {x}, {F({}, {10})});
  ExpectValues("aten.nansum.default(%a, [-1], true)", {x}, {F({2, 1}, {4, 6})});
  ExpectValues("aten.nansum.default(%a)", {I({2}, {1, 2})}, {I({}, {3})});
  ExpectValues("aten.nanmean.default(%a, [1])", {x}, {F({2}, {4.0 / 3, 3})});
  ExpectValues("aten.nanmean.default(%a, [0], true)", {x}, {F({1, 3}, {1, 0, 4.5})});
  ExpectValues("aten.count_nonzero.default(%a)", {x}, {I({}, {4})});
  ExpectValues("aten.count_nonzero.default(%a, -1)", {x}, {I({2}, {2, 2})});
  ExpectValues("aten.count_nonzero.dim_IntList(%a, [0, 1])", {I({2, 2}, {0, 1, 2, 0})},
               {I({}, {2})});
}

TEST(ReductionValuesTest, All) {
  const Values x = B({2, 2}, {1, 1, 1, 0});
  ExpectValues("aten.all.default(%a)", {x}, {B({}, {0})});
  ExpectValues("aten.all.dim(%a, -1)", {x}, {B({2}, {1, 0})});
  ExpectValues("aten.all.dims(%a, [0], true)", {x}, {B({1, 2}, {1, 0})});
  ExpectValues("aten.all.dims(%a, none)", {x}, {B({}, {0})});
  ExpectValues("aten.all.default(%a)", {U8({2}, {3, 4})}, {U8({}, {1})});
  ExpectValues("aten.all.default(%a)", {F({0}, {})}, {B({}, {1})});
  ExpectAsKernel("aten.all.dim(%a, 1, true)", {I({2, 2}, {1, 0, 4, 4})});
}

TEST(ReductionValuesTest, MinimumAndMaximum) {
  const Values x = F({2, 2}, {3, 1, -4, 2});
  ExpectValues("aten.aminmax.default(%a)", {x}, {F({}, {-4}), F({}, {3})});
  ExpectValues("aten.aminmax.default(%a, dim=-1, keepdim=true)", {x},
               {F({2, 1}, {1, -4}), F({2, 1}, {3, 2})});
  ExpectValues("aten.argsort.default(%a)", {x}, {I({2, 2}, {1, 0, 0, 1})});
  ExpectValues("aten.argsort.default(%a, 0, true)", {x}, {I({2, 2}, {0, 1, 1, 0})});
  ExpectValues("aten.argsort.stable(%a, stable=true, descending=true)", {F({3}, {1, 2, 1})},
               {I({3}, {1, 0, 2})});
  ExpectValues("aten.msort.default(%a)", {x}, {F({2, 2}, {-4, 1, 3, 2})});
  ExpectValues("aten.median.default(%a)", {x}, {F({}, {1})});
  ExpectValues("aten.median.default(%a)", {F({3}, {3, kNan, 1})}, {F({}, {kNan})});
}

// Sums of integers are int64, products keep the dtype of their operands.
TEST(ReductionValuesTest, SumsOfIntegers) {
  ExpectValues("aten.sum_to_size.default(%a, [])", {U8({}, {3})}, {I({}, {3})});
  ExpectValues("aten.sum_to_size.default(%a, [])", {B({2}, {1, 1})}, {I({}, {2})});
  ExpectValues("aten.sum_to_size.default(%a, [1, 2])", {F({2, 2}, {1, 2, 3, 4})},
               {F({1, 2}, {4, 6})});
  // Dimensions of size 1 are not summed.
  ExpectValues("aten.einsum.default(\"ik,j->ij\", [%a, %b])",
               {U8({2, 3}, {100, 100, 100, 1, 2, 3}), U8({2}, {2, 3})},
               {I({2, 2}, {600, 900, 12, 18})});
  ExpectValues("aten.einsum.default(\"ik,j->ij\", [%a, %b])",
               {U8({2, 1}, {200, 3}), U8({2}, {2, 3})}, {U8({2, 2}, {144, 88, 6, 9})});
  ExpectValues("aten.einsum.default(\"i->\", [%a])", {U8({2}, {200, 100})}, {I({}, {300})});
  ExpectValues("aten.einsum.default(\"i,i->\", [%a, %b])", {U8({2}, {2, 3}), U8({2}, {4, 5})},
               {U8({}, {23})});
}

TEST(ReductionValuesTest, FractionalMaxPoolWithoutImages) {
  ExpectValues("aten.fractional_max_pool2d.default(%a, [2,2], [1,2], %b)",
               {F({0, 1, 3, 4}, {}), F({0, 1, 2}, {})}, {F({0, 1, 1, 2}, {}), I({0, 1, 1, 2}, {})},
               {.symbolic = false});
}

TEST(ReductionValuesTest, LogSumExp) {
  const Values x = F({2, 2}, {0, std::log(3), 1000, 1000});
  ExpectValues("aten.logsumexp.default(%a, [1])", {x}, {F({2}, {std::log(4), 1000.6931472})});
  ExpectValues("aten.logsumexp.default(%a, [-1], true)", {x},
               {F({2, 1}, {std::log(4), 1000.6931472})});
  ExpectValues("aten.logsumexp.default(%a, [0])", {F({2, 3}, {-kInf, kInf, 0, -kInf, 0, kNan})},
               {F({3}, {-kInf, kInf, kNan})});
  ExpectValues("aten.special_logsumexp.default(%a, [0])", {I({2}, {0, 0})}, {F({}, {std::log(2)})});
  ExpectValues("aten.logsumexp.default(%a, [0])", {F({}, {3})}, {F({}, {3})});
  const ExpectOptions empty = {.symbolic_empty = true};
  ExpectValues("aten.logsumexp.default(%a, [0])", {F({0, 1}, {})}, {F({1}, {-kInf})}, empty);
  ExpectValues("aten.logsumexp.default(%a, [-1], true)", {F({2, 0}, {})},
               {F({2, 1}, {-kInf, -kInf})}, empty);
  ExpectValues("aten.logsumexp.default(%a, [0, 1])", {F({2, 0}, {})}, {F({}, {-kInf})}, empty);
  ExpectValues("aten.logsumexp.default(%a, [1])", {F({0, 2}, {})}, {F({0}, {})}, empty);
}

TEST(ReductionValuesTest, MediansOfNothing) {
  const ExpectOptions empty = {.symbolic_empty = true};
  for (const char* call : {"aten.median.default(%a)", "aten.nanmedian.default(%a)"}) {
    ExpectValues(call, {F({0}, {})}, {F({}, {kNan})}, empty);
    ExpectValues(call, {F({2, 0}, {})}, {F({}, {kNan})}, empty);
    ExpectValues(call, {F({3}, {3, 1, 2})}, {F({}, {2})}, empty);
  }
}

TEST(ReductionValuesTest, Variances) {
  const Values x = F({2, 3}, {1, 2, 6, 5, 5, 5});
  const double mean = 4;  // squared deviations: 9 4 4 1 1 1
  ExpectValues("aten.var.default(%a)", {x}, {F({}, {20.0 / 5})});
  ExpectValues("aten.var.default(%a, false)", {x}, {F({}, {20.0 / 6})});
  ExpectValues("aten.std.default(%a)", {x}, {F({}, {2})});
  ExpectValues("aten.std.dim(%a, [-1], false)", {x}, {F({2}, {std::sqrt(14.0 / 3), 0})});
  ExpectValues("aten.std.correction(%a, [1], correction=0, keepdim=true)", {x},
               {F({2, 1}, {std::sqrt(14.0 / 3), 0})});
  ExpectValues("aten.std.correction(%a)", {x}, {F({}, {2})});
  ExpectValues("aten.var_mean.default(%a)", {x}, {F({}, {4}), F({}, {mean})});
  ExpectValues("aten.var_mean.dim(%a, [1])", {x}, {F({2}, {7, 0}), F({2}, {3, 5})});
  ExpectValues("aten.var_mean.correction(%a, [1], correction=0)", {x},
               {F({2}, {14.0 / 3, 0}), F({2}, {3, 5})});
  ExpectValues("aten.std_mean.dim(%a, [1], true, true)", {x},
               {F({2, 1}, {std::sqrt(7), 0}), F({2, 1}, {3, 5})});
  ExpectValues("aten.std_mean.default(%a, false)", {x},
               {F({}, {std::sqrt(20.0 / 6)}), F({}, {mean})});
  ExpectValues("aten.std_mean.correction(%a, [1])", {x},
               {F({2}, {std::sqrt(7), 0}), F({2}, {3, 5})});
  ExpectAsKernel("aten.var_mean.correction(%a, [0, 2], correction=1, keepdim=true)",
                 {Random({3, 2, 4})}, 2);
}

TEST(ReductionValuesTest, CovarianceAndCorrelation) {
  const Values x = F({2, 3}, {1, 2, 3, 2, 6, 4});
  ExpectValues("aten.cov.default(%a)", {x}, {F({2, 2}, {1, 1, 1, 4})});
  ExpectValues("aten.cov.default(%a, correction=0)", {F({3}, {1, 2, 6})}, {F({}, {14.0 / 3})});
  ExpectValues("aten.corrcoef.default(%a)", {x}, {F({2, 2}, {1, 0.5, 0.5, 1})});
  ExpectValues("aten.corrcoef.default(%a)", {F({3}, {1, 2, 6})}, {F({}, {1})});
}

TEST(ReductionValuesTest, QuantilesInterpolate) {
  const Values x = F({4}, {40, 10, 30, 20});
  const auto with = [](const char* mode) {
    return std::string("aten.quantile.scalar(%a, 0.4, interpolation=\"") + mode + "\")";
  };
  ExpectValues(with("linear"), {x}, {F({}, {22})});
  ExpectValues(with("lower"), {x}, {F({}, {20})});
  ExpectValues(with("higher"), {x}, {F({}, {30})});
  ExpectValues(with("nearest"), {x}, {F({}, {20})});
  ExpectValues(with("midpoint"), {x}, {F({}, {25})});
  ExpectValues("aten.quantile.default(%a, %b)", {x, F({2}, {0, 1})}, {F({2}, {10, 40})});
  const Values matrix = F({2, 3}, {3, 1, 2, 30, kNan, 20});
  ExpectValues("aten.quantile.default(%a, %b, 1)", {matrix, F({2}, {0, 0.5})},
               {F({2, 2}, {1, kNan, 2, kNan})});
  ExpectValues("aten.quantile.default(%a, %b, 0)",
               {F({2, 3}, {3, 1, 2, 5, 9, 4}), F({2}, {0, 0.5})}, {F({2, 3}, {3, 1, 2, 4, 5, 3})});
  ExpectValues("aten.quantile.default(%a, %b, 0, true)",
               {F({2, 3}, {3, 1, 2, 5, 9, 4}), F({2}, {0, 0.5})},
               {F({2, 1, 3}, {3, 1, 2, 4, 5, 3})});
  ExpectValues("aten.quantile.scalar(%a, 0.5, 1, true)", {F({2, 3, 1}, {3, 1, 2, 5, 9, 4})},
               {F({2, 1, 1}, {2, 5})});
  ExpectValues("aten.quantile.default(%a, %b, 1)",
               {F({2, 2, 3}, {1, 2, 3, 5, 6, 7, 10, 20, 30, 50, 60, 70}), F({2}, {0, 0.5})},
               {F({2, 2, 3}, {1, 2, 3, 10, 20, 30, 3, 4, 5, 30, 40, 50})});
  ExpectValues("aten.quantile.scalar(%a, 0.5, none, true)", {F({1, 3}, {3, 1, 2})},
               {F({1, 1}, {2})});
}

TEST(ReductionValuesTest, DifferencesAndIntegrals) {
  const Values y = F({4}, {1, 3, 2, 6});
  const ExpectOptions numbers = {.symbolic = false};
  ExpectValues("aten.diff.default(%a)", {y}, {F({3}, {2, -1, 4})}, numbers);
  ExpectValues("aten.diff.default(%a, 2)", {y}, {F({2}, {-3, 5})}, numbers);
  ExpectValues("aten.diff.default(%a, 1, -1, %b)", {y, F({1}, {0})}, {F({4}, {1, 2, -1, 4})},
               numbers);
  ExpectValues("aten.trapezoid.dx(%a)", {y}, {F({}, {8.5})}, numbers);
  ExpectValues("aten.trapz.dx(%a, dx=2.0)", {y}, {F({}, {17})}, numbers);
  ExpectValues("aten.trapezoid.x(%a, %b)", {y, F({4}, {0, 1, 3, 4})}, {F({}, {11})}, numbers);
  ExpectValues("aten.trapz.x(%a, %b)", {y, F({4}, {0, 1, 3, 4})}, {F({}, {11})}, numbers);
  ExpectValues("aten.cumulative_trapezoid.dx(%a)", {y}, {F({3}, {2, 4.5, 8.5})}, numbers);
  ExpectValues("aten.cumulative_trapezoid.x(%a, %b, dim=0)",
               {F({2, 2}, {1, 2, 3, 4}), F({2}, {0, 2})}, {F({1, 2}, {4, 6})}, numbers);
  ExpectDecompositionError("aten.diff.default(%a, -1)", {y}, {y},
                           absl::StatusCode::kInvalidArgument, "n is -1");
  ExpectDecompositionError("aten.diff.default(%a)", {F({}, {1})}, {F({}, {0})},
                           absl::StatusCode::kInvalidArgument, "no dimensions");
}

TEST(LinearAlgebraValuesTest, RejectsNonIntegerFactorsOfIntegers) {
  const Values x = I({2}, {1, 2}), y = I({2, 2}, {1, 2, 3, 4});
  ExpectValues("aten.addmv.default(%a, %b, %a, beta=2.75, alpha=-1.5)", {x, y}, {I({2}, {-3, -7})});
  ExpectDecompositionError("aten.addr.default(%b, %a, %a, beta=0.5)", {x, y}, {y},
                           absl::StatusCode::kInvalidArgument,
                           "beta of integers is not an integer");
  ExpectDecompositionError("aten.addr.default(%b, %a, %a, alpha=true)", {x, y}, {y},
                           absl::StatusCode::kInvalidArgument, "alpha of numbers is a boolean");
}

TEST(ReductionValuesTest, MaxPoolOfRows) {
  const std::vector<double> x = {1, 4, 2, 8, 5, -1, -3, -2, -9, -7};
  const std::vector<double> pooled = {1, 4, 8, -1, -2, -7};
  for (const Sizes64& sizes : {Sizes64{1, 2}, Sizes64{2, 1}, Sizes64{2}}) {
    Sizes64 from = sizes, to = sizes;
    from.push_back(5);
    to.push_back(3);
    ExpectValues("aten.max_pool1d.default(%a, [2], [2], [1])", {F(from, x)}, {F(to, pooled)});
  }
}

}  // namespace
}  // namespace belay::exir
