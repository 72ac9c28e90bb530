// `belay quantize` and `belay lower --quantize`.
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/npy.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTransformer[] = "conformance/models/zoo/tiny_llama/model.pt2";
constexpr char kTied[] = "conformance/models/zoo/tied_weights/model.pt2";
constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";

class QuantizeTest : public TestInDirectory {
 protected:
  Outcome Run(const std::string& recipe, const std::string& input = kTransformer) const {
    return Capture(
        [&] { return Quantize({.input = input, .output = Path("q.bir"), .recipe = recipe}); });
  }
  // Lowers the quantized program and compares the file with it. If inputs are quantized at run
  // time, a sum that is rounded differently may move an element by one step.
  void ExpectVerifies(double atol = 1e-5) const {
    const Outcome lowered = Capture([&] {
      return Lower({.input = Path("q.bir"), .output = Path("q.belay"), .min_delegated_flops = 1});
    });
    ASSERT_EQ(lowered.status, kDone) << lowered.errors;
    const Outcome verified = Capture([&] {
      return Verify(
          {.archive = Path("q.bir"), .program = Path("q.belay"), .calls = 2, .atol = atol});
    });
    EXPECT_EQ(verified.status, kDone) << verified.output << verified.errors;
  }
};

class QuantizeByNameTest : public QuantizeTest,
                           public ::testing::WithParamInterface<const char*> {};
TEST_P(QuantizeByNameTest, IsDelegatedAndVerifies) {
  const Outcome outcome = Run(GetParam());
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("quantized"));
  ExpectVerifies(outcome.output.find("dynamic") == std::string::npos ? 1e-5 : 0.05);
}
INSTANTIATE_TEST_SUITE_P(Recipes, QuantizeByNameTest,
                         ::testing::Values("weights-int8", "weights-int4", "weights-bf16",
                                           "embeddings-int8", "embeddings-int4", "int8-dynamic",
                                           "8da4w+embeddings-int8"));

TEST_F(QuantizeTest, RejectsBackendsOfUnknownMethods) {
  const Outcome outcome = Capture([&] {
    return Quantize({.input = kMlp,
                     .output = Path("q.bir"),
                     .recipe = "weights-int8",
                     .backends = {"decode:cpu"}});
  });
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_THAT(outcome.errors, HasSubstr("--backend: unknown method 'decode'"));
  EXPECT_FALSE(std::filesystem::exists(Path("q.bir")));
}

TEST_F(QuantizeTest, ReportsLossPerOperator) {
  const Outcome outcome = Capture([&] {
    return Quantize(
        {.input = kMlp, .output = Path("q.bir"), .recipe = "weights-int8", .json = true});
  });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const json report = json::parse(outcome.output, nullptr, false);
  EXPECT_EQ(report["recipe"], "weights-int8");
  ASSERT_EQ(report["methods"].size(), 1);
  const json& nodes = report["methods"][0]["quantized"];
  ASSERT_GT(nodes.size(), 0);
  for (const json& node : nodes) {
    EXPECT_EQ(node["scheme"], "int8 per row");
    EXPECT_GT(node["snr_db"], 30);
    EXPECT_GT(node["bytes_before"], node["bytes_after"]);
  }
}

TEST_F(QuantizeTest, LowerQuantizesToTheSameProgram) {
  ASSERT_EQ(Run("8da4w", kMlp).status, kDone);
  const auto lower = [&](const std::string& input, const std::string& recipe,
                         const std::string& output) {
    const Outcome outcome =
        Capture([&] { return Lower({.input = input, .output = output, .quantize = recipe}); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  };
  lower(Path("q.bir"), "", Path("two_steps.belay"));
  lower(kMlp, "8da4w", Path("one_step.belay"));
  EXPECT_EQ(Read(Path("two_steps.belay")), Read(Path("one_step.belay")));
  EXPECT_FALSE(Read(Path("one_step.belay")).empty());
}

TEST_F(QuantizeTest, SameInputGivesSameBytes) {
  ASSERT_EQ(Run("weights-int4").status, kDone);
  const std::string first = Read(Path("q.bir"));
  ASSERT_EQ(Run("weights-int4").status, kDone);
  EXPECT_EQ(Read(Path("q.bir")), first);
}

TEST_F(QuantizeTest, TiedWeightsAreSharedWhenRulesAgree) {
  const Outcome both = Run("weights-int8+embeddings-int8", kTied);
  ASSERT_EQ(both.status, kDone) << both.errors;
  EXPECT_THAT(both.output, Not(HasSubstr("also stored as float32")));
  ExpectVerifies();
  const Outcome one = Run("embeddings-int8", kTied);
  ASSERT_EQ(one.status, kDone) << one.errors;
  EXPECT_THAT(one.output, HasSubstr("also stored as float32"));
}

// --- Static quantization ---

constexpr char kDigits[] = "conformance/models/zoo/digits_cnn/model.pt2";
constexpr char kDigitsCase[] = "conformance/models/zoo/digits_cnn/case_0";

class StaticQuantizeTest : public QuantizeTest {
 protected:
  Outcome RunStatic(const std::vector<std::string>& calibration) const {
    return Capture([&] {
      return Quantize({.input = kDigits,
                       .output = Path("q.bir"),
                       .recipe = "int8-static",
                       .calibration = calibration});
    });
  }
  // Writes a call with one value for all elements of [1,1,8,8].
  std::string WriteCall(const std::string& name, float value) const {
    std::vector<float> elements(64, value);
    EXPECT_OK(WriteNpy(Path(name),
                       TensorView::Contiguous(DType::kFloat32, {1, 1, 8, 8}, elements.data())));
    return Path(name);
  }
};

TEST_F(StaticQuantizeTest, IsDelegatedAndVerifies) {
  const Outcome outcome = RunStatic({kDigitsCase});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("static int8"), HasSubstr("activations")));
  // A float32 sum that falls on the other side of a tie moves an element by one step.
  ExpectVerifies(0.5);
}

TEST_F(StaticQuantizeTest, SameDataGivesSameBytes) {
  ASSERT_EQ(RunStatic({kDigitsCase}).status, kDone);
  const std::string first = Read(Path("q.bir"));
  ASSERT_EQ(RunStatic({kDigitsCase}).status, kDone);
  EXPECT_EQ(Read(Path("q.bir")), first);
}

TEST_F(StaticQuantizeTest, ReadsFilesAndFolders) {
  std::filesystem::create_directories(Path("calls/b"));
  WriteCall("calls/a.npy", 1);
  WriteCall("calls/b/input_0.npy", 2);
  EXPECT_EQ(RunStatic({Path("calls")}).status, kDone);
  EXPECT_EQ(RunStatic({Path("calls/a.npy"), Path("calls/b")}).status, kDone);
}

TEST_F(StaticQuantizeTest, NamesFilesWithBadData) {
  const auto expect = [&](const std::string& path, const std::string& message) {
    const Outcome outcome = RunStatic({path});
    EXPECT_EQ(outcome.status, kBadInput) << outcome.errors;
    EXPECT_THAT(outcome.errors, AllOf(HasSubstr(path), HasSubstr(message)));
    EXPECT_FALSE(std::filesystem::exists(Path("q.bir")));
  };
  expect(WriteCall("nan.npy", NAN), "NaN or infinite");
  std::vector<float> elements(63, 1);
  ASSERT_OK(WriteNpy(Path("shape.npy"),
                     TensorView::Contiguous(DType::kFloat32, {1, 1, 7, 9}, elements.data())));
  expect(Path("shape.npy"), "size");
  std::filesystem::create_directories(Path("empty"));
  expect(Path("empty"), "found none");
  expect(Path("missing"), "no such file or folder");
  expect(Write("text.txt", "x"), "expected a .npy file");
}

TEST_F(StaticQuantizeTest, RequiresCalibrationOnlyForStaticRecipes) {
  const Outcome without = RunStatic({});
  EXPECT_EQ(without.status, kBadUsage);
  EXPECT_THAT(without.errors, HasSubstr("needs --calibration"));
  const Outcome unused = Capture([&] {
    return Quantize(
        {.input = kMlp, .output = Path("q.bir"), .recipe = "8da4w", .calibration = {kDigitsCase}});
  });
  EXPECT_EQ(unused.status, kBadUsage);
  EXPECT_THAT(unused.errors, HasSubstr("does not use --calibration"));
  const Outcome lower = Capture([&] {
    return Lower({.input = kMlp, .output = Path("x.belay"), .calibration = {kDigitsCase}});
  });
  EXPECT_EQ(lower.status, kBadUsage);
  EXPECT_THAT(lower.errors, HasSubstr("--calibration needs --quantize"));
}

TEST_F(StaticQuantizeTest, BackendsWithoutPatternsAreUnsupported) {
  const Outcome outcome = Capture([&] {
    return Quantize({.input = kDigits,
                     .output = Path("q.bir"),
                     .recipe = "int8-static",
                     .backends = {"none"},
                     .calibration = {kDigitsCase}});
  });
  EXPECT_EQ(outcome.status, kUnsupported) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("no backend has patterns"));
}

TEST_F(QuantizeTest, RejectsUnknownRecipesAsBadUsage) {
  const Outcome outcome = Run("int9");
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("unknown recipe 'int9'"), HasSubstr("8da4w")));
  EXPECT_THAT(Files(), ElementsAre());
}

TEST_F(QuantizeTest, RejectsInvalidRecipeFilesAsBadInput) {
  const Outcome outcome = Run(Write("r.json", R"({"recipe": "8da4w", "bits": 3, "groups": 1})"));
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("r.json"), HasSubstr("bits: unknown key"), HasSubstr("groups")));
  EXPECT_THAT(Files(), ElementsAre("r.json"));
}

TEST_F(QuantizeTest, DoesNotReplaceItsInputs) {
  const std::string recipe = Write("q.bir", "{}");
  EXPECT_EQ(Run("8da4w", recipe).status, kBadUsage);
  EXPECT_EQ(Read(recipe), "{}");
}

TEST_F(QuantizeTest, NeedsAnArchive) {
  const Outcome outcome = Run("8da4w", "");
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_THAT(outcome.errors, HasSubstr("quantize needs an archive"));
}

TEST_F(QuantizeTest, LowerRejectsQuantizationAtTheAtenStage) {
  const Outcome outcome = Capture([&] {
    return Lower({.input = kMlp, .output = Path("x.bir"), .stage = "aten", .quantize = "8da4w"});
  });
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_THAT(outcome.errors, HasSubstr("after the stage 'aten'"));
}

}  // namespace
}  // namespace belay::tools
