#include <cmath>

#include "exir/decompositions/expect_values.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

using Losses = double (*)(double x, double target);
struct Row {
  std::string_view op;
  Losses loss;
  std::string_view parameters = "";
};

// `op(%a, %b, …, reduction)` for the three reductions.
void ExpectReductions(const Row& row, const Values& x, const Values& target) {
  const Values each = Map(x, target, row.loss);
  double sum = 0;
  for (double loss : each.elements) sum += loss;
  const auto call = [&](int reduction) {
    return std::string(row.op) + "(%a, %b, reduction=" + std::to_string(reduction) +
           std::string(row.parameters) + ")";
  };
  ExpectValues(call(0), {x, target}, {each});
  ExpectValues(call(1), {x, target}, {F({}, {sum / each.elements.size()})});
  ExpectValues(call(2), {x, target}, {F({}, {sum})});
}

TEST(LossValuesTest, ElementwiseLosses) {
  static constexpr Row kRows[] = {
      {"aten.mse_loss.default", [](double x, double t) { return (x - t) * (x - t); }},
      {"aten.l1_loss.default", [](double x, double t) { return std::abs(x - t); }},
      {"aten.huber_loss.default",
       [](double x, double t) {
         const double z = std::abs(x - t);
         return z < 0.75 ? z * z / 2 : 0.75 * (z - 0.375);
       },
       ", delta=0.75"},
      {"aten.smooth_l1_loss.default",
       [](double x, double t) {
         const double z = std::abs(x - t);
         return z < 0.5 ? z * z / 2 / 0.5 : z - 0.25;
       },
       ", beta=0.5"},
      {"aten.smooth_l1_loss.default", [](double x, double t) { return std::abs(x - t); },
       ", beta=0.0"},
      {"aten.soft_margin_loss.default",
       [](double x, double t) { return std::log(1 + std::exp(-x * t)); }},
      {"aten.binary_cross_entropy_with_logits.default",
       [](double x, double t) {
         const double p = 1 / (1 + std::exp(-x));
         return -t * std::log(p) - (1 - t) * std::log(1 - p);
       }},
      {"aten.kl_div.default", [](double x, double t) { return std::exp(t) * (t - x); },
       ", log_target=true"},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.op);
    ExpectReductions(row, Random({2, 3}, 1), Random({2, 3}, 2));
  }
}

TEST(LossValuesTest, ProbabilityLosses) {
  const Values p = F({4}, {0.125, 0.5, 0.75, 1}), t = F({4}, {0, 1, 0.5, 1});
  ExpectReductions(
      {"aten.binary_cross_entropy.default",
       [](double x, double y) {
         return -(y * std::fmax(std::log(x), -100) + (1 - y) * std::fmax(std::log1p(-x), -100));
       }},
      p, t);
  ExpectReductions({"aten.kl_div.default",
                    [](double x, double y) { return y == 0 ? 0 : y * (std::log(y) - x); }},
                   p, t);
  ExpectValues("aten.binary_cross_entropy.default(%a, %b, %c, 2)",
               {F({2}, {0.5, 0.5}), F({2}, {1, 0}), F({2}, {2, 3})}, {F({}, {5 * std::log(2)})});
  ExpectValues("aten.binary_cross_entropy_with_logits.default(%a, %b, %c, %d, 0)",
               {F({2}, {0, 0}), F({2}, {1, 0}), F({2}, {2, 3}), F({2}, {4, 4})},
               {F({2}, {8 * std::log(2), 3 * std::log(2)})});
  ExpectValues("aten.poisson_nll_loss.default(%a, %b, true, false, 1e-8, 0)",
               {F({2}, {0, 1}), F({2}, {2, 3})}, {F({2}, {1, std::exp(1) - 3})});
  // Stirling's terms: 3 log 3 - 3 + log(6 pi) / 2
  ExpectValues("aten.poisson_nll_loss.default(%a, %b, false, true, 0.0, 0)",
               {F({2}, {1, 1}), F({2}, {1, 3})}, {F({2}, {1, 1 + 1.7640815})});
}

// log(softmax) of 0, log 2, log 5 is log(1/8), log(1/4), log(5/8).
const double kLog2 = std::log(2), kLog5 = std::log(5), kLog8 = std::log(8);
Values Logits() { return F({2, 3}, {0, kLog2, kLog5, kLog5, 0, kLog2}); }

TEST(LossValuesTest, CrossEntropyOfClassIndices) {
  const Values x = Logits(), t = I({2}, {2, 1});
  const double first = kLog8 - kLog5, second = kLog8;
  ExpectValues("aten.cross_entropy_loss.default(%a, %b, none, 0)", {x, t},
               {F({2}, {first, second})});
  ExpectValues("aten.cross_entropy_loss.default(%a, %b)", {x, t}, {F({}, {(first + second) / 2})});
  ExpectValues("aten.cross_entropy_loss.default(%a, %b, none, 2)", {x, t},
               {F({}, {first + second})});
  // Ignored targets count neither in the numerator nor in the denominator.
  ExpectValues("aten.cross_entropy_loss.default(%a, %b, none, 1, 1)", {x, t}, {F({}, {first})});
  ExpectValues("aten.cross_entropy_loss.default(%a, %b)", {x, I({2}, {-100, 1})},
               {F({}, {second})});
  const Values weight = F({3}, {1, 3, 2});
  ExpectValues("aten.cross_entropy_loss.default(%a, %b, %c)", {x, t, weight},
               {F({}, {(2 * first + 3 * second) / 5})});
  ExpectValues("aten.cross_entropy_loss.default(%a, %b, %c, 0)", {x, t, weight},
               {F({2}, {2 * first, 3 * second})});
  // An unbatched sample.
  ExpectValues("aten.cross_entropy_loss.default(%a, %b)", {F({3}, {0, kLog2, kLog5}), I({}, {1})},
               {F({}, {kLog8 - kLog2})});
}

TEST(LossValuesTest, CrossEntropyWithLabelSmoothing) {
  const Values x = Logits(), t = I({2}, {2, -100});
  const double loss = kLog8 - kLog5, each = 3 * kLog8 - kLog2 - kLog5;
  ExpectValues("aten.cross_entropy_loss.default(%a, %b, label_smoothing=0.3)", {x, t},
               {F({}, {0.7 * loss + 0.1 * each})});
  ExpectValues("aten.cross_entropy_loss.default(%a, %b, none, 0, label_smoothing=0.3)", {x, t},
               {F({2}, {0.7 * loss + 0.1 * each, 0})});
  const double weighted = 1 * kLog8 + 3 * (kLog8 - kLog2) + 2 * (kLog8 - kLog5);
  ExpectValues("aten.cross_entropy_loss.default(%a, %b, %c, label_smoothing=0.3)",
               {x, t, F({3}, {1, 3, 2})}, {F({}, {0.7 * loss + 0.1 * weighted / 2})});
}

TEST(LossValuesTest, CrossEntropyOfProbabilities) {
  const Values x = Logits(), t = F({2, 3}, {0.5, 0.5, 0, 0, 0, 1});
  const double first = kLog8 - kLog2 / 2, second = kLog8 - kLog2;
  ExpectValues("aten.cross_entropy_loss.default(%a, %b, none, 0)", {x, t},
               {F({2}, {first, second})});
  ExpectValues("aten.cross_entropy_loss.default(%a, %b)", {x, t}, {F({}, {(first + second) / 2})});
  ExpectValues("aten.cross_entropy_loss.default(%a, %b, %c, 2)", {x, t, F({3}, {2, 4, 1})},
               {F({}, {kLog8 + 2 * (kLog8 - kLog2) + second})});
  ExpectValues("aten.cross_entropy_loss.default(%a, %b, none, 0, label_smoothing=0.3)",
               {F({3}, {0, kLog2, kLog5}), F({3}, {1, 0, 0})},
               {F({}, {0.8 * kLog8 + 0.1 * (2 * kLog8 - kLog2 - kLog5)})});
}

TEST(LossValuesTest, NegativeLogLikelihoods) {
  const Values x = F({2, 3}, {-1, -2, -3, -4, -5, -6}), t = I({2}, {2, 0});
  ExpectValues("aten.nll_loss_nd.default(%a, %b)", {x, t}, {F({}, {3.5})});
  ExpectValues("aten.nll_loss.default(%a, %b, none, 0)", {x, t}, {F({2}, {3, 4})});
  ExpectValues("aten.nll_loss_forward.default(%a, %b, %c, 1, -100)", {x, t, F({3}, {3, 1, 1})},
               {F({}, {(3 + 12) / 4.0}), F({}, {4})});
  ExpectValues("aten.nll_loss_forward.default(%a, %b, none, 0, 0)", {x, t},
               {F({2}, {3, 0}), F({}, {0})});
  const Values image = F({1, 2, 1, 2}, {-1, -2, -3, -4});
  ExpectValues("aten.nll_loss2d.default(%a, %b, none, 0)", {image, I({1, 1, 2}, {1, 0})},
               {F({1, 1, 2}, {3, 2})});
  ExpectValues("aten.nll_loss2d_forward.default(%a, %b, none, 1, -100)",
               {image, I({1, 1, 2}, {1, 0})}, {F({}, {2.5}), F({}, {2})});
  ExpectValues("aten.nll_loss_nd.default(%a, %b)",
               {F({1, 2, 3}, {-1, -2, -3, -4, -5, -6}), I({1, 3}, {0, 1, 0})}, {F({}, {3})});
}

TEST(LossValuesTest, MarginLosses) {
  ExpectValues("aten.hinge_embedding_loss.default(%a, %b, 2.0, 0)",
               {F({4}, {1, 3, 1, -1}), F({4}, {1, 1, -1, -1})}, {F({4}, {1, 3, 1, 3})});
  ExpectValues("aten.margin_ranking_loss.default(%a, %b, %c, 0.5, 0)",
               {F({3}, {1, 2, 3}), F({3}, {2, 2, 1}), F({3}, {1, 1, -1})},
               {F({3}, {1.5, 0.5, 2.5})});
  ExpectValues("aten.cosine_embedding_loss.default(%a, %b, %c, 0.25, 0)",
               {F({3, 2}, {1, 0, 3, 4, 3, 4}), F({3, 2}, {0, 2, 4, 3, 4, 3}), F({3}, {1, 1, -1})},
               {F({3}, {1, 0.04, 0.71})});
  ExpectValues("aten.cosine_embedding_loss.default(%a, %b, %c)",
               {F({2}, {3, 4}), F({2}, {4, 3}), F({}, {1})}, {F({}, {0.04})});
  ExpectValues("aten.triplet_margin_loss.default(%a, %b, %c, 1.0, 2.0, 0.0, false, 0)",
               {F({2, 2}, {0, 0, 0, 0}), F({2, 2}, {3, 4, 0, 1}), F({2, 2}, {0, 4.5, 6, 8})},
               {F({2}, {1.5, 0})});
  // With swap, the distance from the positive is used if it is smaller.
  ExpectValues("aten.triplet_margin_loss.default(%a, %b, %c, 1.0, 2.0, 0.0, true, 0)",
               {F({1, 2}, {0, 0}), F({1, 2}, {3, 4}), F({1, 2}, {3, 6})}, {F({1}, {4})});
}

TEST(LossValuesTest, MulticlassMarginLosses) {
  // max(0, 1 - own + other) summed over the other classes, divided by the number of classes.
  const Values x = F({2, 3}, {0.5, 1, 0.25, 2, 0, 1.5}), t = I({2}, {1, 0});
  ExpectValues("aten.multi_margin_loss.default(%a, %b, reduction=0)", {x, t},
               {F({2}, {(0.5 + 0.25) / 3, 0.5 / 3})});
  ExpectValues("aten.multi_margin_loss.default(%a, %b, 2, 1, %c, 2)", {x, t, F({3}, {2, 4, 1})},
               {F({}, {(4 * (0.25 + 0.0625) + 2 * 0.25) / 3})});
  ExpectValues("aten.multi_margin_loss.default(%a, %b)", {x, t}, {F({}, {1.25 / 6})});
  ExpectValues("aten.multi_margin_loss.default(%a, %b, reduction=0)",
               {F({3}, {0.5, 1, 0.25}), I({}, {1})}, {F({}, {0.25})});
  // Targets 2 and 0 of the first sample; 1 of the second.
  const Values labels = I({2, 3}, {2, 0, -1, 1, -1, 0});
  const double first = (1 - 0.25 + 1) + (1 - 0.5 + 1), second = (1 - 0 + 2) + (1 - 0 + 1.5);
  ExpectValues("aten.multilabel_margin_loss.default(%a, %b, 0)", {x, labels},
               {F({2}, {first / 3, second / 3})});
  ExpectValues("aten.multilabel_margin_loss_forward.default(%a, %b, 1)", {x, labels},
               {F({}, {(first + second) / 6}), F({2, 3}, {1, 0, 1, 0, 1, 0})});
}

}  // namespace
}  // namespace belay::exir
