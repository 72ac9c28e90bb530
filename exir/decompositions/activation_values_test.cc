#include <cmath>

#include "exir/decompositions/expect_values.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return std::log1p(std::exp(x)); }

using Function = double (*)(double);
struct Row {
  std::string_view call;
  Function function;
};

TEST(ActivationValuesTest, UnaryFunctions) {
  static constexpr Row kRows[] = {
      {"aten.silu.default(%a)", [](double x) { return x * Sigmoid(x); }},
      {"aten.hardsigmoid.default(%a)",
       [](double x) { return std::fmin(std::fmax(x + 3, 0), 6) / 6; }},
      {"aten.hardswish.default(%a)",
       [](double x) { return x * std::fmin(std::fmax(x + 3, 0), 6) / 6; }},
      {"aten.relu6.default(%a)", [](double x) { return std::fmin(std::fmax(x, 0), 6); }},
      {"aten.celu.default(%a, 2.0)",
       [](double x) { return x > 0 ? x : 2 * (std::exp(x / 2) - 1); }},
      {"aten.selu.default(%a)",
       [](double x) { return 1.05070098735 * (x > 0 ? x : 1.67326324235 * (std::exp(x) - 1)); }},
      {"aten.hardshrink.default(%a, 0.75)", [](double x) { return std::abs(x) <= 0.75 ? 0 : x; }},
      {"aten.softshrink.default(%a, 0.75)",
       [](double x) { return x > 0.75    ? x - 0.75
                             : x < -0.75 ? x + 0.75
                                         : 0; }},
      {"aten.log_sigmoid.default(%a)", [](double x) { return std::log(Sigmoid(x)); }},
      {"aten.softplus.default(%a)", Softplus},
      {"aten.softplus.default(%a, 2, 1)",
       [](double x) { return 2 * x > 1 ? x : Softplus(2 * x) / 2; }},
      {"aten.mish.default(%a)", [](double x) { return x * std::tanh(Softplus(x)); }},
      {"aten.rrelu.default(%a, 0.25, 0.75)", [](double x) { return x > 0 ? x : 0.5 * x; }},
      {"aten.threshold.default(%a, 0.5, 7)", [](double x) { return x <= 0.5 ? 7 : x; }},
      {"aten.special_expit.default(%a)", Sigmoid},
      {"aten.logit.default(%a, 0.25)",
       [](double x) {
         const double p = std::fmin(std::fmax(x, 0.25), 0.75);
         return std::log(p / (1 - p));
       }},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.call);
    const Values x = Random({2, 5}), small = F({4}, {-0.75, 0.5, 0.75, 0});
    ExpectValues(row.call, {x}, {Map(x, row.function)});
    ExpectValues(row.call, {small}, {Map(small, row.function)});
    ExpectValues(row.call, {F({}, {0.625})}, {F({}, {row.function(0.625)})});
    ExpectValues(row.call, {F({0, 3}, {})}, {F({0, 3}, {})});
    // Half precision computes in float32 and rounds once.
    Values half = Map(small, row.function);
    half.dtype = DType::kFloat16;
    ExpectValues(row.call, {H({4}, small.elements)}, {half}, {.rtol = 1e-3});
  }
}

TEST(ActivationValuesTest, ExtremesDoNotOverflow) {
  ExpectValues("aten.log_sigmoid.default(%a)", {F({3}, {-1000, 1000, kNan})},
               {F({3}, {-1000, 0, kNan})});
  ExpectValues("aten.softplus.default(%a)", {F({2}, {1000, -1000})}, {F({2}, {1000, 0})});
  ExpectValues("aten.hardshrink.default(%a)", {F({2}, {kNan, kInf})}, {F({2}, {kNan, kInf})});
  ExpectValues("aten.softshrink.default(%a)", {F({1}, {kNan})}, {F({1}, {kNan})});
  ExpectValues("aten.mish.default(%a)", {F({1}, {300})}, {F({1}, {300})});
}

TEST(ActivationValuesTest, LogSigmoidForwardReturnsBuffer) {
  ExpectValues("aten.log_sigmoid_forward.default(%a)", {F({2}, {1, -2})},
               {F({2}, {-0.31326169, -2.12692801}), F({2}, {0.36787944, 0.13533528})});
}

TEST(ActivationValuesTest, GluHalvesDimension) {
  const ExpectOptions numbers = {.symbolic = false};
  ExpectValues("aten.glu.default(%a)", {F({2, 4}, {1, 2, 0, 0, 3, 4, 0, 0})},
               {F({2, 2}, {0.5, 1, 1.5, 2})}, numbers);
  ExpectValues("aten.glu.default(%a, -2)", {F({2, 3}, {1, 2, 3, 0, 0, 0})},
               {F({1, 3}, {0.5, 1, 1.5})}, numbers);
  ExpectAsKernel("aten.glu.default(%a, 1)", {Random({3, 4, 2})}, 1, numbers);
  ExpectValues("aten.glu.default(%a, 1)", {F({5, 4, 0}, {})}, {F({5, 2, 0}, {})});
  ExpectDecompositionError("aten.glu.default(%a)", {F({3}, {1, 2, 3})}, {F({1}, {0})},
                           absl::StatusCode::kInvalidArgument, "odd");
}

TEST(ActivationValuesTest, LogitOfIntegersReturnsFloat) {
  ExpectValues("aten.logit.default(%a, 0.25)", {I({2}, {0, 1})},
               {F({2}, {-1.09861229, 1.09861229})});
  ExpectAsKernel("aten.logit.default(%a)", {F({3}, {0.125, 0.5, 0.875})});
  ExpectAsKernel("aten.logit.default(%a, 0.75)", {F({5}, {0.125, 0.5, 0.75, 0.875, kNan})});
}

TEST(ActivationValuesTest, PReluSupportsSlopePerChannel) {
  ExpectValues("aten.prelu.default(%a, %b)", {F({1, 2, 2}, {-1, 1, -2, 2}), F({2}, {0.5, 0.25})},
               {F({1, 2, 2}, {-0.5, 1, -0.5, 2})});
  ExpectValues("aten.prelu.default(%a, %b)", {F({2}, {-1, 1}), F({1}, {0.5})}, {F({2}, {-0.5, 1})});
  ExpectValues("aten.prelu.default(%a, %b)", {F({2, 2}, {-1, 1, -2, 2}), F({}, {0.5})},
               {F({2, 2}, {-0.5, 1, -1, 2})});
  ExpectValues("aten._prelu_kernel.default(%a, %b)", {F({2}, {-1, 1}), F({1}, {0.5})},
               {F({2}, {-0.5, 1})});
}

TEST(ActivationValuesTest, RejectsUnsupportedArguments) {
  ExpectDecompositionError("aten.softshrink.default(%a, -1.0)", {F({1}, {1})}, {F({1}, {1})},
                           absl::StatusCode::kInvalidArgument, "lambd is negative");
  ExpectDecompositionError("aten.celu.default(%a, 0)", {F({1}, {1})}, {F({1}, {1})},
                           absl::StatusCode::kInvalidArgument, "alpha is 0");
}

}  // namespace
}  // namespace belay::exir
