// Random numbers with a single possible value; distributions are tested in
// exir/random_numbers_test.cc.
#include <string>

#include "exir/decompositions/expect_values.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(RandomValuesTest, TrialsWithProbabilityZeroOrOne) {
  ExpectValues("aten.bernoulli.default(%a)", {F({3}, {0, 1, 0})}, {F({3}, {0, 1, 0})});
  ExpectValues("aten.bernoulli.p(%a, 1.0)", {I({2}, {5, 5})}, {I({2}, {1, 1})});
  ExpectValues("aten.bernoulli.Tensor(%a, %b)", {F({2, 2}, {7, 7, 7, 7}), F({2}, {0, 1})},
               {F({2, 2}, {0, 1, 0, 1})});
}

TEST(RandomValuesTest, EmptyRanges) {
  const Values x = F({2, 1}, {1, -2});
  ExpectValues("aten.uniform.default(%a, 3.0, 3.0)", {x}, {F({2, 1}, {3, 3})});
  ExpectValues("aten.normal_functional.default(%a, 3.0, 0.0)", {x}, {F({2, 1}, {3, 3})});
  ExpectValues("aten.normal.Tensor_float(%a, 0.0)", {x}, {x});
  ExpectValues("aten.normal.float_Tensor(1.5, %a)", {F({2}, {0, 0})}, {F({2}, {1.5, 1.5})});
  ExpectValues("aten.normal.Tensor_Tensor(%a, %b)", {x, F({2}, {0, 0})},
               {F({2, 2}, {1, 1, -2, -2})});
  ExpectValues("aten.normal.float_float(2.0, 0.0, [2])", {}, {F({2}, {2, 2})});
  ExpectValues("aten.log_normal.default(%a, 0.0, 0.0)", {x}, {F({2, 1}, {1, 1})});
  ExpectValues("aten.randint.default(1, [2])", {}, {I({2}, {0, 0})});
  ExpectValues("aten.randint_like.default(%a, 1)", {x}, {F({2, 1}, {0, 0})});
  ExpectValues("aten.randint_like.low_dtype(%a, -3, -2, dtype=dtype:i64)", {x},
               {I({2, 1}, {-3, -3})});
  ExpectValues("aten.random.from(%a, 4, 5)", {x}, {F({2, 1}, {4, 4})});
  ExpectValues("aten.random.to(%a, 1)", {x}, {F({2, 1}, {0, 0})});
  ExpectValues("aten.rrelu.default(%a, 0.5, 0.5, true)", {x}, {F({2, 1}, {1, -1})});
  ExpectValues("aten.rrelu_with_noise_functional.default(%a, %a, 0.5, 0.5, true)", {x},
               {F({2, 1}, {1, -1}), F({2, 1}, {1, 0.5})});
}

TEST(RandomValuesTest, OperatorsWithTheDefaultGenerator) {
  const ExpectOptions types_only = {.values = false};
  ExpectValues("aten.rand.generator([2], generator=none)", {}, {F({2}, {0, 0})}, types_only);
  ExpectValues("aten.randn.generator([2], generator=none, dtype=dtype:f64)", {}, {D({2}, {0, 0})},
               types_only);
  ExpectValues("aten.randint.generator(1, [2], generator=none)", {}, {I({2}, {0, 0})});
  ExpectValues("aten.randint.low_generator(5, 6, [2], generator=none, dtype=dtype:f32)", {},
               {F({2}, {5, 5})});
  ExpectValues("aten.randperm.generator(1, generator=none)", {}, {I({1}, {0})});
}

TEST(RandomValuesTest, DrawsOnlyNonzeroWeight) {
  const Values weights = F({2, 3}, {0, 2, 0, 0, 0, 1});
  ExpectValues("aten.multinomial.default(%a, 1)", {weights}, {I({2, 1}, {1, 2})});
  ExpectValues("aten.multinomial.default(%a, 3, true)", {weights}, {I({2, 3}, {1, 1, 1, 2, 2, 2})},
               {.symbolic = false});
}

TEST(RandomValuesTest, DropoutWithProbabilityOne) {
  for (const char* name :
       {"dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"}) {
    ExpectValues("aten." + std::string(name) + ".default(%a, 1.0, true)", {F({2, 1}, {1, 2})},
                 {F({2, 1}, {0, 0})});
  }
}

TEST(RandomValuesTest, RejectsInvalidParameters) {
  const Values x = F({2}, {1, 2});
  const auto refused = [&](std::string_view call, std::string_view message) {
    ExpectDecompositionError(call, {x}, {x}, absl::StatusCode::kInvalidArgument, message);
  };
  refused("aten.exponential.default(%a, 0.0)", "lambd: expected a positive number, got 0");
  refused("aten.cauchy.default(%a, 0.0, -1.0)", "sigma: expected a positive number, got -1");
  refused("aten.geometric.default(%a, 1.5)", "p: expected a number between 0 and 1, got 1.5");
  refused("aten.uniform.default(%a, 2.0, 1.0)", "to: expected no less than from, 2, got 1");
  refused("aten.normal_functional.default(%a, 0.0, -1.0)",
          "std: expected no negative number, got -1");
  refused("aten.random.from(%a, 5, 5)", "expected more than low, 5, got 5");
  refused("aten.alpha_dropout.default(%a, 2.0, true)", "p: expected a number from 0 to 1, got 2");
  refused("aten.feature_dropout.default(%a, 0.5, true)", "expected at least 2 dimensions");
}

// PyTorch checks the dimensions only where it draws numbers.
TEST(RandomValuesTest, CertainDropoutOfVectors) {
  const Values x = F({2}, {1, 2});
  ExpectValues("aten.feature_dropout.default(%a, 1.0, true)", {x}, {F({2}, {0, 0})});
  ExpectValues("aten.feature_dropout.default(%a, 0.0, true)", {x}, {x});
}

}  // namespace
}  // namespace belay::exir
