// Tests of programs that use random numbers: their distributions, and equality of all engines.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/compare/call.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/seed_random_ops.h"
#include "exir/pipeline.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Sample size for which the empirical distribution differs by more than kFarthest from the true one
// with probability below 1e-9, for any distribution: 2 exp(-2 n kFarthest^2) (Dvoretzky, Kiefer,
// Wolfowitz 1956 with Massart's constant of 1990).
constexpr int kNumbers = 1 << 16;
constexpr double kFarthest = 0.0128;

// A program in the interpreter and in the runtime, both starting from the same state.
class Engines {
 public:
  Engines(std::string_view text, std::vector<TestTensor> inputs, PipelineOptions options = {})
      : inputs_(std::move(inputs)) {
    ops_ = CreateStandardOps().value();
    EXPECT_OK(AddReferenceKernels(kernels_));
    ToEdgeOptions to_edge;
    to_edge.random_seed = options.random_seed;
    absl::StatusOr<ExportedProgram> edge = ToEdge(ParseOrDie(text, *ops_), to_edge);
    EXPECT_OK(edge.status());
    program_ = std::make_unique<ExportedProgram>(*std::move(edge));
    MethodPrograms methods;
    methods.emplace_back("forward", ParseOrDie(text, *ops_));
    file_ = std::make_unique<Program>(
        OpenImage(LowerPrograms(std::move(methods), options).value()).value());
    interpreter_ = std::make_unique<Interpreter>(Interpreter::Create(*program_, kernels_).value());
    method_ =
        std::make_unique<Method>(Method::Load(*file_, "forward", kernels_, backends_).value());
  }

  // Returns the first result, which must be equal in both engines.
  std::vector<double> Call() {
    std::vector<EValue> values;
    for (const TestTensor& input : inputs_) values.emplace_back(input.view());
    const CallOutcome got = RunCall(*method_, values);
    EXPECT_OK(got.status);
    EXPECT_EQ(FirstDifference({RunCall(*interpreter_, values)}, {got}, kIdentical), "");
    if (!got.status.ok()) return {};
    const TensorView& result = *got.outputs[0].tensor();
    std::vector<double> numbers;
    DispatchDType<kRealTypes>(result.dtype, [&](auto tag) {
      using T = CppType<tag.value>;
      for (const auto x : ToVector<T>(result)) numbers.push_back(static_cast<double>(x));
    });
    return numbers;
  }
  Method& method() { return *method_; }

 private:
  std::vector<TestTensor> inputs_;
  std::unique_ptr<OpRegistry> ops_;
  KernelRegistry kernels_;
  BackendRegistry backends_;
  std::unique_ptr<ExportedProgram> program_;
  std::unique_ptr<Program> file_;
  std::unique_ptr<Interpreter> interpreter_;
  std::unique_ptr<Method> method_;
};

// `call` returns numbers of this type and may use %x, of the same type and all ones.
std::string ProgramOf(std::string_view call, std::string_view dtype = "f32") {
  const std::string type = absl::StrCat(dtype, "[", kNumbers, "]");
  const std::string text = std::string(call);
  return absl::StrCat(
      "program aten {\n  graph(%x: ", type, " user_input) {\n    %y: ", type,
      text.starts_with("aten.native_dropout") ? absl::StrCat(", %m: b8[", kNumbers, "]") : "",
      " = ", text, "\n    return (%y user_output)\n  }\n}");
}
template <class T>
std::vector<TestTensor> Ones() {
  std::vector<TestTensor> inputs;
  inputs.push_back(TestTensor::Of<T>({kNumbers}, std::vector<T>(kNumbers, T{1})));
  return inputs;
}

// P(X <= x).
using Distribution = std::function<double(double)>;

void ExpectDistribution(std::string_view what, std::vector<double> numbers,
                        const Distribution& distribution) {
  ASSERT_EQ(numbers.size(), static_cast<size_t>(kNumbers)) << what;
  std::sort(numbers.begin(), numbers.end());
  for (int i = 0; i < kNumbers; i += 251) {
    const double x = numbers[i];
    const auto end = std::upper_bound(numbers.begin(), numbers.end(), x);
    const double share = static_cast<double>(end - numbers.begin()) / kNumbers;
    ASSERT_NEAR(share, distribution(x), kFarthest) << what << ": up to " << x;
  }
}

double Between(double x, double low, double high) {
  return std::clamp((x - low) / (high - low), 0.0, 1.0);
}
double NormalUpTo(double x, double mean, double deviation) {
  return std::erfc((mean - x) / deviation / std::sqrt(2)) / 2;
}
double PoissonUpTo(double x, double rate) {
  double term = std::exp(-rate), sum = 0;
  for (int k = 0; k <= x; term *= rate / ++k) sum += term;
  return sum;
}

TEST(RandomNumbersTest, HavePyTorchsDistributions) {
  const std::vector<std::pair<std::string, Distribution>> cases = {
      {"aten.rand_like.default(%x)", [](double x) { return Between(x, 0, 1); }},
      {absl::StrCat("aten.rand.default([", kNumbers, "])"),
       [](double x) { return Between(x, 0, 1); }},
      {"aten.randn_like.default(%x)", [](double x) { return NormalUpTo(x, 0, 1); }},
      {absl::StrCat("aten.randn.default([", kNumbers, "])"),
       [](double x) { return NormalUpTo(x, 0, 1); }},
      {"aten.uniform.default(%x, -1.0, 2.0)", [](double x) { return Between(x, -1, 2); }},
      {"aten.normal_functional.default(%x, 1.0, 2.0)",
       [](double x) { return NormalUpTo(x, 1, 2); }},
      {"aten.normal.Tensor_float(%x, 2.0)", [](double x) { return NormalUpTo(x, 1, 2); }},
      {"aten.log_normal.default(%x, 1.0, 2.0)",
       [](double x) { return NormalUpTo(std::log(x), 1, 2); }},
      {"aten.exponential.default(%x, 2.0)", [](double x) { return -std::expm1(-2 * x); }},
      {"aten.cauchy.default(%x, 1.0, 2.0)",
       [](double x) { return 0.5 + std::atan((x - 1) / 2) / M_PI; }},
      {"aten.geometric.default(%x, 0.3)", [](double x) { return 1 - std::pow(0.7, x); }},
      {"aten.poisson.default(%x)", [](double x) { return PoissonUpTo(x, 1); }},
      {"aten.bernoulli.p(%x, 0.3)", [](double x) { return x < 1 ? 0.7 : 1; }},
      {"aten.randint_like.low_dtype(%x, -2, 5)", [](double x) { return (x + 3) / 7; }},
      {"aten.random.to(%x, 1000)", [](double x) { return (x + 1) / 1000; }},
      {"aten.native_dropout.default(%x, 0.25, true)", [](double x) { return x < 1 ? 0.25 : 1; }},
  };
  for (const auto& [call, distribution] : cases) {
    ExpectDistribution(call, Engines(ProgramOf(call), Ones<float>()).Call(), distribution);
  }
}

TEST(RandomNumbersTest, HaveTheSameDistributionsInOtherDtypes) {
  ExpectDistribution("float64",
                     Engines(ProgramOf("aten.rand_like.default(%x)", "f64"), Ones<double>()).Call(),
                     [](double x) { return Between(x, 0, 1); });
  ExpectDistribution("int64",
                     Engines(ProgramOf("aten.random.default(%x)", "i64"), Ones<int64_t>()).Call(),
                     [](double x) { return x / std::pow(2, 63); });
  ExpectDistribution("uint8",
                     Engines(ProgramOf("aten.random.default(%x)", "u8"), Ones<uint8_t>()).Call(),
                     [](double x) { return (x + 1) / 256; });
}

TEST(RandomNumbersTest, UniformComplexNumbersHaveTwoRandomParts) {
  const std::string text = absl::StrCat(
      "program aten {\n  graph(%x: f32[", kNumbers, "] user_input) {\n    %pairs: f32[",
      kNumbers / 2, ",2] = aten.view.default(%x, [", kNumbers / 2, ",2])\n    %c: c64[",
      kNumbers / 2, "] = aten.view_as_complex.default(%pairs)\n    %u: c64[", kNumbers / 2,
      "] = aten.uniform.default(%c, -1.0, 2.0)\n    %parts: f32[", kNumbers / 2,
      ",2] = aten.view_as_real.default(%u)\n    %y: f32[", kNumbers,
      "] = aten.view.default(%parts, [", kNumbers, "])\n    return (%y user_output)\n  }\n}");
  ExpectDistribution("complex64", Engines(text, Ones<float>()).Call(),
                     [](double x) { return Between(x, -1, 2); });
}

TEST(RandomNumbersTest, PoissonNumbersOfLargeRates) {
  const std::string text = absl::StrCat(R"(program aten {
  graph(%x: f32[)",
                                        kNumbers, R"(] user_input) {
    %rate: f32[)",
                                        kNumbers, R"(] = aten.mul.Scalar(%x, 42.5)
    %y: f32[)",
                                        kNumbers, R"(] = aten.poisson.default(%rate)
    return (%y user_output)
  }
})");
  ExpectDistribution("poisson of 42.5", Engines(text, Ones<float>()).Call(),
                     [](double x) { return PoissonUpTo(x, 42.5); });
}

TEST(RandomNumbersTest, MultinomialDrawsInProportionToWeights) {
  const auto draw = [](std::string_view sizes, std::string_view results, std::string_view call,
                       TestTensor weights) {
    std::vector<TestTensor> inputs;
    inputs.push_back(std::move(weights));
    return Engines(
               absl::StrCat("program aten {\n  graph(%x: f32", sizes, " user_input) {\n    %y: i64",
                            results, " = ", call, "\n    return (%y user_output)\n  }\n}"),
               std::move(inputs))
        .Call();
  };
  const Distribution up_to = [](double x) { return x < 1 ? 0.1 : x < 3 ? 0.4 : 1; };
  ExpectDistribution("with replacement",
                     draw("[4]", absl::StrCat("[", kNumbers, "]"),
                          absl::StrCat("aten.multinomial.default(%x, ", kNumbers, ", true)"),
                          TestTensor::Of<float>({4}, {1, 3, 0, 6})),
                     up_to);
  std::vector<float> rows;
  for (int i = 0; i < kNumbers; ++i) rows.insert(rows.end(), {1, 3, 0, 6});
  const std::vector<double> both =
      draw(absl::StrCat("[", kNumbers, ",4]"), absl::StrCat("[", kNumbers, ",2]"),
           "aten.multinomial.default(%x, 2)", TestTensor::Of<float>({kNumbers, 4}, rows));
  std::vector<double> first;
  for (size_t i = 0; i < both.size(); i += 2) {
    first.push_back(both[i]);
    ASSERT_NE(both[i], both[i + 1]);
  }
  ExpectDistribution("without replacement", std::move(first), up_to);
}

TEST(RandomNumbersTest, RejectsInvalidParameters) {
  const auto fails = [](std::string_view call, std::string_view type, std::vector<float> values) {
    const auto ops = CreateStandardOps().value();
    KernelRegistry kernels;
    EXPECT_OK(AddReferenceKernels(kernels));
    const ExportedProgram program =
        ToEdge(ParseOrDie(absl::StrCat("program aten {\n  graph(%x: f32[2] user_input) {\n    %y: ",
                                       type, " = ", call, "\n    return (%y user_output)\n  }\n}"),
                          *ops))
            .value();
    Interpreter interpreter = Interpreter::Create(program, kernels).value();
    const TestTensor input = TestTensor::Of<float>({2}, values);
    const std::vector<EValue> inputs = {EValue(input.view())};
    return RunCall(interpreter, inputs).status;
  };
  EXPECT_THAT(std::string(fails("aten.poisson.default(%x)", "f32[2]", {1, -1}).message()),
              HasSubstr("expected rates that are finite and not negative, got -1"));
  EXPECT_THAT(std::string(fails("aten.multinomial.default(%x, 1)", "i64[1]", {1, -1}).message()),
              HasSubstr("expected weights that are finite and not negative"));
  EXPECT_THAT(std::string(fails("aten.multinomial.default(%x, 2)", "i64[2]", {1, 0}).message()),
              HasSubstr("expected as many positive weights in each row as are drawn"));
}

TEST(RandomNumbersTest, PermutationsContainEachNumberOnce) {
  Engines engines(R"(program aten {
  graph() {
    %y: i64[100] = aten.randperm.default(100)
    return (%y user_output)
  }
})",
                  {});
  const std::vector<double> first = engines.Call(), second = engines.Call();
  EXPECT_NE(first, second);
  for (std::vector<double> numbers : {first, second}) {
    std::sort(numbers.begin(), numbers.end());
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<double>(i));
  }
}

constexpr std::string_view kTwoDraws = R"(program training {
  graph(%x: f32[4] user_input) {
    %e: f32[4] = aten.empty_like.default(%x)
    %a: f32[4] = aten.uniform_.default(%e)
    %r: f32[4] = aten.rand_like.default(%x)
    %y: f32[8] = aten.cat.default([%a,%r])
    return (%y user_output)
  }
})";
std::vector<TestTensor> Four() {
  std::vector<TestTensor> inputs;
  inputs.push_back(TestTensor::Of<float>({4}, {1, 2, 3, 4}));
  return inputs;
}

TEST(RandomNumbersTest, EachNodeAndEachCallDrawsOtherNumbers) {
  Engines engines(kTwoDraws, Four());
  std::vector<double> all = engines.Call();
  const std::vector<double> second = engines.Call();
  all.insert(all.end(), second.begin(), second.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(RandomNumbersTest, StateIsSavedRestoredSeededAndReset) {
  Engines engines(kTwoDraws, Four());
  ASSERT_OK_AND_ASSIGN(const TensorView state, engines.method().GetState(kRandomState));
  EXPECT_THAT(ToVector<int64_t>(state), ElementsAre(0, 0));
  const auto call = [&] {
    const std::vector<TestTensor> four = Four();
    const std::vector<EValue> inputs = {EValue(four[0].view())};
    const CallOutcome outcome = RunCall(engines.method(), inputs);
    EXPECT_OK(outcome.status);
    return ToVector<float>(*outcome.outputs[0].tensor());
  };
  const std::vector<float> first = call();
  EXPECT_THAT(ToVector<int64_t>(state), ElementsAre(0, 2));
  const std::vector<float> second = call();
  state.as<int64_t>()[1] = 2;
  EXPECT_EQ(call(), second);
  state.as<int64_t>()[0] = 1;
  state.as<int64_t>()[1] = 0;
  EXPECT_NE(call(), first);
  engines.method().ResetState();
  EXPECT_EQ(call(), first);
}

TEST(RandomNumbersTest, TheSeedIsAnOptionOfLowering) {
  PipelineOptions options;
  options.random_seed = 1;
  Engines one(kTwoDraws, Four(), options), again(kTwoDraws, Four(), options),
      other(kTwoDraws, Four());
  const std::vector<double> numbers = one.Call();
  EXPECT_EQ(again.Call(), numbers);
  EXPECT_NE(other.Call(), numbers);
}

TEST(RandomNumbersTest, BranchesDrawFromTheSameGenerator) {
  Engines engines(R"(program aten {
  graph(%x: f32[4] user_input) {
    %s: f32[] = aten.sum.default(%x)
    %p: b8[] = aten.gt.Scalar(%s, 0)
    %c: f32[4] = higher_order.cond(%p, graph#1, graph#2, [%x])
    return (%c user_output)
  }
  graph yes(%a: f32[4]) {
    %r: f32[4] = aten.randn_like.default(%a)
    return (%r)
  }
  graph no(%a: f32[4]) {
    %y: f32[4] = aten.neg.default(%a)
    return (%y)
  }
})",
                  Four());
  EXPECT_NE(engines.Call(), engines.Call());
}

}  // namespace
}  // namespace belay::exir
