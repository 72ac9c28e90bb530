#include <cmath>

#include "exir/decompositions/expect_values.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

const double kRoot = 1 / std::sqrt(1 + 1e-5);

TEST(NormalizationValuesTest, GroupNorm) {
  // Two groups of one channel with two pixels each.
  const Values x = F({1, 2, 2}, {1, 3, 10, 14});
  ExpectValues("aten.group_norm.default(%a, 2)", {x},
               {F({1, 2, 2}, {-kRoot, kRoot, -2 / std::sqrt(4 + 1e-5), 2 / std::sqrt(4 + 1e-5)})});
  ExpectValues("aten.group_norm.default(%a, 1, %b, %c, 0.0)",
               {F({1, 2}, {1, 3}), F({2}, {2, 3}), F({2}, {10, 20})}, {F({1, 2}, {8, 23})});
}

TEST(NormalizationValuesTest, InstanceNorm) {
  const Values x = F({2, 1, 2}, {1, 3, 10, 14});
  const double two = 2 / std::sqrt(4 + 1e-5);
  ExpectValues("aten.instance_norm.default(%a, none, none, none, none, true, 0.1, 1e-5, false)",
               {x}, {F({2, 1, 2}, {-kRoot, kRoot, -two, two})});
  ExpectValues("aten.instance_norm.default(%a, %b, %c, none, none, true, 0.1, 1e-5, false)",
               {x, F({1}, {2}), F({1}, {5})},
               {F({2, 1, 2}, {5 - 2 * kRoot, 5 + 2 * kRoot, 5 - 2 * two, 5 + 2 * two})});
  // Inference mode with running statistics.
  ExpectValues("aten.instance_norm.default(%a, none, none, %b, %c, false, 0.1, 0.0, false)",
               {x, F({1}, {2}), F({1}, {4})}, {F({2, 1, 2}, {-0.5, 0.5, 4, 6})});
}

TEST(NormalizationValuesTest, RmsNorm) {
  const Values x = F({2, 2}, {1, 7, 3, 3});
  ExpectValues("aten.rms_norm.default(%a, [2], none, 0.0)", {x}, {F({2, 2}, {0.2, 1.4, 1, 1})},
               {.symbolic = false});
  ExpectValues("aten.rms_norm.default(%a, [2], %b, 11.0)", {x, F({2}, {6, 12})},
               {F({2, 2}, {1, 14, 6 * 3 / std::sqrt(20), 12 * 3 / std::sqrt(20)})},
               {.symbolic = false});
  ExpectValues("aten.rms_norm.default(%a, [2])", {F({2}, {0, 0})}, {F({2}, {0, 0})},
               {.symbolic = false});
  ExpectValues(
      "aten.rms_norm.default(%a, [2, 2], none, 0.0)", {H({2, 2}, {1, 1, 1, 5})},
      {H({2, 2}, {1 / std::sqrt(7), 1 / std::sqrt(7), 1 / std::sqrt(7), 5 / std::sqrt(7)})},
      {.rtol = 1e-3, .symbolic = false});
}

TEST(NormalizationValuesTest, BatchNorm) {
  const Values x = F({2, 1, 1}, {1, 3});
  ExpectValues("aten.batch_norm.default(%a, none, none, %b, %c, false, 0.1, 0.0, false)",
               {x, F({1}, {2}), F({1}, {4})}, {F({2, 1, 1}, {-0.5, 0.5})});
  ExpectValues("aten.batch_norm.default(%a, none, none, none, none, true, 0.1, 1e-5, false)", {x},
               {F({2, 1, 1}, {-kRoot, kRoot})});
  ExpectValues("aten.native_batch_norm.default(%a, none, none, none, none, true, 0.1, 1e-5)", {x},
               {F({2, 1, 1}, {-kRoot, kRoot}), F({1}, {2}), F({1}, {kRoot})});
}

TEST(NormalizationValuesTest, BatchNormOfAVectorWithoutElements) {
  const Values x = F({0}, {});
  ExpectValues("aten.batch_norm.default(%a, none, none, %b, %c, false, 0.1, 0.0, false)", {x, x, x},
               {x});
  ExpectValues("aten.batch_norm.default(%a, none, none, none, none, true, 0.1, 1e-5, false)", {x},
               {x});
  const Values one = F({1}, {1});
  ExpectDecompositionError(
      "aten.batch_norm.default(%a, none, none, %a, %a, false, 0.1, 0.0, false)", {one}, {one},
      absl::StatusCode::kInvalidArgument, "expected at least two dimensions");
}

// In training mode, existing running statistics move towards those of the batch, with the unbiased
// variance.
TEST(NormalizationValuesTest, TrainingBatchNormUpdatesStatistics) {
  const Values x = F({2, 1, 1}, {1, 3}), y = F({2, 1, 1}, {-kRoot, kRoot});
  const Values one = F({1}, {1}), four = F({1}, {4});
  const Values mean = F({1}, {1.1}), var = F({1}, {3.8});
  ExpectValues("aten.batch_norm.default(%a, none, none, %b, %c, true, 0.1, 1e-5, false)",
               {x, one, four}, {y}, {.written = {x, mean, var}});
  ExpectValues("aten.native_batch_norm.default(%a, none, none, %b, %c, true, 0.1, 1e-5)",
               {x, one, four}, {y, F({1}, {2}), F({1}, {kRoot})}, {.written = {x, mean, var}});
  ExpectValues("aten.batch_norm.default(%a, none, none, %b, none, true, 0.1, 1e-5, false)",
               {x, one}, {y}, {.written = {x, mean}});
  ExpectValues("aten.batch_norm.default(%a, none, none, none, %b, true, 0.1, 1e-5, false)",
               {x, four}, {y}, {.written = {x, var}});
  ExpectValues("aten.batch_norm.default(%a, none, none, %b, %c, false, 0.1, 0.0, false)",
               {x, one, four}, {F({2, 1, 1}, {0, 1})}, {.written = {x, one, four}});
}

// The updated running statistics of all instances are averaged.
TEST(NormalizationValuesTest, TrainingInstanceNormUpdatesStatistics) {
  const Values x = F({2, 2, 2}, {1, 3, 0, 4, 10, 14, 6, 6});
  const double two = 2 / std::sqrt(4 + 1e-5);
  const Values y = F({2, 2, 2}, {-kRoot, kRoot, -two, two, -two, two, 0, 0});
  const Values means = F({2}, {1, 3}), vars = F({2}, {4, 2});
  // Means of the instances are 2 and 12, 2 and 6; their variances 2 and 8, 8 and 0.
  ExpectValues("aten.instance_norm.default(%a, none, none, %b, %c, true, 0.5, 1e-5, false)",
               {x, means, vars}, {y}, {.written = {x, F({2}, {4, 3.5}), F({2}, {4.5, 3})}});
  ExpectValues("aten.instance_norm.default(%a, none, none, %b, none, true, 0.5, 1e-5, false)",
               {x, means}, {y}, {.written = {x, F({2}, {4, 3.5})}});
  ExpectValues("aten.instance_norm.default(%a, none, none, none, %b, true, 0.5, 1e-5, false)",
               {x, vars}, {y}, {.written = {x, F({2}, {4.5, 3})}});
}

// Running statistics are returned, not written; they have the compute dtype float32.
TEST(NormalizationValuesTest, FunctionalBatchNormInHalfPrecision) {
  ExpectValues(
      "aten._native_batch_norm_legit_functional.default(%a, %d, %d, %b, %c, true, 0.1, 0.0)",
      {H({2, 1, 1}, {1, 3}), H({1}, {2}), H({1}, {4}), H({1}, {1})},
      {H({2, 1, 1}, {0, 2}), H({1}, {2}), H({1}, {1}), F({1}, {2}), F({1}, {3.8})}, {.rtol = 1e-3});
}

TEST(NormalizationValuesTest, SoftmaxDtypes) {
  ExpectValues("aten.softmax.int(%a, -1)", {F({2, 2}, {0, std::log(3), 5, 5})},
               {F({2, 2}, {0.25, 0.75, 0.5, 0.5})});
  ExpectValues("aten.softmax.int(%a, 0, dtype:f32)", {I({2}, {3, 3})}, {F({2}, {0.5, 0.5})});
  ExpectValues("aten.log_softmax.int(%a, 0)", {F({2}, {0, std::log(3)})},
               {F({2}, {-std::log(4), std::log(0.75)})});
  ExpectValues("aten.special_softmax.default(%a, 0)", {F({}, {3})}, {F({}, {1})});
  ExpectValues("aten._safe_softmax.default(%a, 1)", {F({2, 2}, {-kInf, -kInf, 0, -kInf})},
               {F({2, 2}, {0, 0, 1, 0})});
}

TEST(NormalizationValuesTest, InferenceDropoutIsIdentity) {
  for (const char* name :
       {"dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"}) {
    const std::string op = "aten." + std::string(name) + ".default";
    ExpectValues(op + "(%a, 0.5, false)", {F({2, 1}, {1, 2})}, {F({2, 1}, {1, 2})});
    ExpectValues(op + "(%a, 0.0, true)", {F({2, 1}, {1, 2})}, {F({2, 1}, {1, 2})});
  }
}

}  // namespace
}  // namespace belay::exir
