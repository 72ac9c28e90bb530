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

TEST_F(StaticQuantizeTest, InputsAndOutputsBecomeInt8) {
  const Outcome outcome = Capture([&] {
    return Quantize({.input = kDigits,
                     .output = Path("q.bir"),
                     .recipe = Write("r.json", R"({"recipe": "int8-static", "quantize_io": true})"),
                     .calibration = {kDigitsCase}});
  });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("input 0 'x' is int8: scale "), HasSubstr("output 0 ")));
  ExpectVerifies(1);  // a step
}

// Each method has its own data; shared weights are stored once.
TEST_F(StaticQuantizeTest, MethodsHaveTheirOwnData) {
  const auto quantize = [&](const std::vector<std::string>& calibration) {
    return Capture([&] {
      return Quantize({.output = Path("q.bir"),
                       .recipe = "int8-static",
                       .methods = {std::string("a=") + kDigits, std::string("b=") + kDigits},
                       .calibration = calibration,
                       .json = true});
    });
  };
  const std::string small = WriteCall("small.npy", 1), large = WriteCall("large.npy", 8);
  const Outcome outcome = quantize({small, "b:" + large});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const json methods = json::parse(outcome.output, nullptr, false)["methods"];
  ASSERT_EQ(methods.size(), 2);
  EXPECT_EQ(methods[0]["activations"][0]["value"], "x");
  EXPECT_EQ(methods[0]["activations"][0]["high"], 1);
  EXPECT_EQ(methods[1]["activations"][0]["high"], 8);
  for (const json& node : methods[1]["quantized"]) {
    EXPECT_EQ(node["scheme"], "static int8 x int8 per row");
  }
  const Outcome lowered =
      Capture([&] { return Lower({.input = Path("q.bir"), .output = Path("q.belay")}); });
  ASSERT_EQ(lowered.status, kDone) << lowered.errors;
  for (const char* method : {"a", "b"}) {
    const Outcome verified = Capture([&] {
      return Verify(
          {.archive = Path("q.bir"), .program = Path("q.belay"), .method = method, .atol = 0.5});
    });
    EXPECT_EQ(verified.status, kDone) << verified.output << verified.errors;
  }
}

TEST_F(StaticQuantizeTest, EachMethodNeedsData) {
  const std::string call = WriteCall("call.npy", 1);
  const Outcome outcome = Capture([&] {
    return Quantize({.output = Path("q.bir"),
                     .recipe = "int8-static",
                     .methods = {std::string("a=") + kDigits, std::string("b=") + kDigits},
                     .calibration = {"a:" + call}});
  });
  EXPECT_EQ(outcome.status, kBadInput) << outcome.errors;
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("method 'b'"), HasSubstr("needs calibration data")));
  EXPECT_FALSE(std::filesystem::exists(Path("q.bir")));
}

TEST_F(StaticQuantizeTest, RejectsDataOfUnknownMethods) {
  const Outcome outcome = RunStatic({"decode:" + WriteCall("call.npy", 1)});
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_THAT(outcome.errors,
              HasSubstr("--calibration: unknown method 'decode'; the methods are: forward"));
}

TEST_F(StaticQuantizeTest, PathsMayHaveColons) {
  EXPECT_EQ(RunStatic({WriteCall("a:b.npy", 1)}).status, kDone);
}

// --- The page ---

TEST_F(StaticQuantizeTest, PageHasTheReportWithDistributions) {
  const Outcome outcome = Capture([&] {
    return Quantize({.input = kDigits,
                     .output = Path("q.bir"),
                     .recipe = "int8-static",
                     .html = Path("q.html"),
                     .calibration = {kDigitsCase},
                     .json = true});
  });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const std::string page = Read(Path("q.html"));
  constexpr char kBegin[] = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(kBegin);
  ASSERT_NE(begin, std::string::npos);
  const std::string rest = page.substr(begin + sizeof(kBegin) - 1);
  const json data = json::parse(rest.substr(0, rest.find("</script>")), nullptr, false);
  EXPECT_EQ(data["title"], "q.bir");
  EXPECT_EQ(data["subtitle"], "recipe int8-static");
  EXPECT_EQ(data["report"], json::parse(outcome.output, nullptr, false));
  const json& method = data["report"]["methods"][0];
  for (const json& node : method["quantized"]) {
    size_t before = 0, after = 0;
    for (const json& count : node["distribution"]["before"]) before += count.get<size_t>();
    for (const json& count : node["distribution"]["after"]) after += count.get<size_t>();
    EXPECT_EQ(before, node["elements"]);
    EXPECT_EQ(after, node["elements"]);
  }
  for (const json& activation : method["activations"]) {
    EXPECT_LE(activation["distribution"]["low"], activation["low"]);
    EXPECT_EQ(activation["distribution"]["before"].size(), 64);
    EXPECT_GT(activation["snr_db"], 15);
    EXPECT_LE(activation["clamped"], activation["elements"]);
  }
  for (const char* external : {"https:", "src=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(external)));
  }
}

TEST_F(StaticQuantizeTest, NodeLossesAreThoseOfTheResults) {
  const auto run = [&](bool json) {
    return Capture([&] {
      return Quantize({.input = kDigits,
                       .output = Path("q.bir"),
                       .recipe = "int8-static",
                       .calibration = {kDigitsCase},
                       .node_losses = true,
                       .json = json});
    });
  };
  const Outcome outcome = run(true);
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const json report = json::parse(outcome.output, nullptr, false);
  const json& losses = report["methods"][0]["node_losses"];
  EXPECT_EQ(losses["calls"], 1);
  ASSERT_GT(losses["nodes"].size(), 3);
  EXPECT_GT(losses["nodes"].back()["snr_db"], 15);
  EXPECT_THAT(run(false).output, HasSubstr("results of nodes over 1 call, lowest SNR first"));
}

TEST_F(StaticQuantizeTest, ReportsActivationsAndModules) {
  const auto run = [&](bool json) {
    return Capture([&] {
      return Quantize({.input = kDigits,
                       .output = Path("q.bir"),
                       .recipe = "int8-static",
                       .calibration = {kDigitsCase},
                       .node_losses = true,
                       .json = json});
    });
  };
  const json method = json::parse(run(true).output, nullptr, false)["methods"][0];
  ASSERT_FALSE(method["modules"].empty());
  for (const json& module : method["modules"]) {
    EXPECT_NE(module["module"], "");
    EXPECT_GE(module["operators"], 1);
    EXPECT_GT(module["snr_db"], 20);
    EXPECT_GT(module["bytes_before"], module["bytes_after"]);
    EXPECT_TRUE(module.contains("result_snr_db")) << module;
  }
  EXPECT_THAT(run(false).output, HasSubstr("activations, lowest SNR first:\n"));
}

TEST_F(StaticQuantizeTest, TimesAreMeasuredBeforeAndAfter) {
  const auto run = [&](bool json) {
    return Capture([&] {
      return Quantize({.input = kDigits,
                       .output = Path("q.bir"),
                       .recipe = "int8-static",
                       .calibration = {kDigitsCase},
                       .times = true,
                       .json = json});
    });
  };
  const Outcome outcome = run(true);
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const json times = json::parse(outcome.output, nullptr, false)["methods"][0]["times"];
  EXPECT_GT(times["before_ms"], 0);
  EXPECT_GT(times["after_ms"], 0);
  ASSERT_FALSE(times["modules"].empty());
  double before = 0;
  for (const json& module : times["modules"]) before += module["before_ms"].get<double>();
  EXPECT_GT(before, 0);
  EXPECT_THAT(run(false).output, HasSubstr("modules, the slowest first:\n"));
}

TEST_F(StaticQuantizeTest, NodeLossesNeedCalibrationData) {
  const Outcome outcome = Capture([&] {
    return Quantize(
        {.input = kMlp, .output = Path("q.bir"), .recipe = "weights-int8", .node_losses = true});
  });
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_THAT(outcome.errors, HasSubstr("--node-losses needs --calibration"));
}

TEST_F(StaticQuantizeTest, PageEscapesNames) {
  const std::string recipe = Write("<b>&.json", R"({"recipe": "weights-int8"})");
  const Outcome outcome = Capture([&] {
    return Quantize(
        {.input = kMlp, .output = Path("q.bir"), .recipe = recipe, .html = Path("q.html")});
  });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const std::string page = Read(Path("q.html"));
  EXPECT_THAT(page, HasSubstr("\\u003cb\\u003e\\u0026.json"));
  EXPECT_THAT(page, Not(HasSubstr("<b>&")));
}

TEST_F(StaticQuantizeTest, PageDoesNotReplaceOtherFiles) {
  const std::string recipe = Write("r.json", R"({"recipe": "weights-int8"})");
  const auto expect = [&](const std::string& html, const std::string& message) {
    const Outcome outcome = Capture([&] {
      return Quantize({.input = kMlp, .output = Path("q.bir"), .recipe = recipe, .html = html});
    });
    EXPECT_EQ(outcome.status, kBadUsage);
    EXPECT_THAT(outcome.errors, HasSubstr(message));
    EXPECT_THAT(Files(), ElementsAre("r.json"));
  };
  expect(recipe, "it is the recipe file");
  expect(Path("q.bir"), "would write to the same file");
}

TEST_F(StaticQuantizeTest, RemovesThePageIfTheProgramsCannotBeWritten) {
  const Outcome outcome = Capture([&] {
    return Quantize({.input = kMlp,
                     .output = Path("no/such/folder/q.bir"),
                     .recipe = "weights-int8",
                     .html = Path("q.html")});
  });
  EXPECT_NE(outcome.status, kDone);
  EXPECT_THAT(Files(), ElementsAre());
}

// --- Bounds of the loss ---

TEST_F(StaticQuantizeTest, KeepsOperatorsInFloat32UntilTheBoundHolds) {
  const auto run = [&](const std::string& max_loss) {
    const Outcome outcome = Capture([&] {
      return Quantize({.input = kDigits,
                       .output = Path("q.bir"),
                       .recipe = "int8-static",
                       .calibration = {kDigitsCase},
                       .max_loss = max_loss,
                       .json = true});
    });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return json::parse(outcome.output, nullptr, false)["methods"][0];
  };
  const json all = run("snr=1");
  EXPECT_EQ(all["measured"]["loss"], all["measured"]["all_quantized"]);
  EXPECT_TRUE(all["unquantized"].empty());
  const double bound = all["measured"]["loss"].get<double>() + 1;
  const json mixed = run("snr=" + std::to_string(bound));
  EXPECT_FALSE(mixed["unquantized"].empty());
  EXPECT_THAT(mixed["unquantized"][0]["reason"].get<std::string>(),
              HasSubstr("kept in float32 for snr >= "));
  EXPECT_EQ(mixed["measured"]["all_quantized"], all["measured"]["all_quantized"]);
  EXPECT_FALSE(mixed["measured"]["individual"].empty());
  const json loss = mixed["measured"]["loss"];
  EXPECT_TRUE(loss.is_null() || loss.get<double>() >= bound) << loss;
  ExpectVerifies(0.5);
}

TEST_F(StaticQuantizeTest, BoundsTheLossOfWeightOnlyRecipes) {
  const Outcome outcome = Capture([&] {
    return Quantize({.input = kDigits,
                     .output = Path("q.bir"),
                     .recipe = "weights-int8",
                     .calibration = {kDigitsCase},
                     .max_loss = "cosine=0.9"});
  });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("over the calibration data: cosine "));
}

TEST_F(StaticQuantizeTest, RejectsInvalidBounds) {
  const auto expect = [&](const LowerOptions& options, const std::string& message) {
    const Outcome outcome = Capture([&] { return Lower(options); });
    EXPECT_EQ(outcome.status, kBadUsage);
    EXPECT_THAT(outcome.errors, HasSubstr(message));
  };
  LowerOptions options = {.input = kDigits, .output = Path("x.belay")};
  options.max_loss = "snr=20";
  expect(options, "--max-loss needs --quantize");
  options.quantize = "weights-int8";
  expect(options, "--max-loss needs --calibration");
  options.calibration = {kDigitsCase};
  options.max_loss = "psnr=20";
  expect(options, "--max-loss: expected snr=VALUE, cosine=VALUE or mse=VALUE, got 'psnr=20'");
}

// --- Error feedback ---

TEST_F(StaticQuantizeTest, ErrorFeedbackNeedsCalibration) {
  const std::string recipe =
      Write("r.json", R"({"recipe": "weights-int8", "error_feedback": true})");
  const Outcome without = Run(recipe, kDigits);
  EXPECT_EQ(without.status, kBadUsage);
  EXPECT_THAT(without.errors, HasSubstr("needs --calibration"));
  const Outcome outcome = Capture([&] {
    return Quantize({.input = kDigits,
                     .output = Path("q.bir"),
                     .recipe = recipe,
                     .calibration = {kDigitsCase}});
  });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("int8 per row, error feedback"));
  ExpectVerifies();
}

// --- Channels ---

TEST_F(StaticQuantizeTest, ChannelsAreScaledByTheData) {
  for (const std::string recipe : {R"({"recipe": "weights-int8", "activation_scaling": true})",
                                   R"({"recipe": "int8-static", "equalization": "all"})"}) {
    const Outcome outcome = Capture([&] {
      return Quantize({.input = kDigits,
                       .output = Path("q.bir"),
                       .recipe = Write("r.json", recipe),
                       .calibration = {kDigitsCase}});
    });
    ASSERT_EQ(outcome.status, kDone) << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr("activations are scaled, of"));
    ExpectVerifies(0.5);
  }
}

// --- XNNPACK ---

TEST_F(StaticQuantizeTest, XnnpackExecutesItsPatternsInBothFormats) {
  const Outcome quantized = Capture([&] {
    return Quantize({.input = kDigits,
                     .output = Path("q.bir"),
                     .recipe = "int8-static",
                     .backends = {"xnnpack"},
                     .calibration = {kDigitsCase}});
  });
  ASSERT_EQ(quantized.status, kDone) << quantized.errors;
  for (const std::string format : {"belay", "pte"}) {
    const std::string file = Path("q." + format);
    const Outcome lowered = Capture([&] {
      return Lower({.input = Path("q.bir"),
                    .output = file,
                    .format = format,
                    .min_delegated_flops = 1,
                    .backends = {"xnnpack"}});
    });
    ASSERT_EQ(lowered.status, kDone) << lowered.errors;
    const Outcome verified = Capture([&] {
      // The delegate's arguments include a size, which only the library accepts.
      return Verify({.archive = Path("q.bir"),
                     .program = file,
                     .payloads = "library",
                     .calls = 2,
                     .atol = 0.5});
    });
    EXPECT_EQ(verified.status, kDone) << verified.output << verified.errors;
  }
}

TEST_F(QuantizeTest, ExecuTorchXnnpackQuantizesRowsAtRunTime) {
  for (const std::string recipe : {"int8-dynamic", "8da4w"}) {
    ASSERT_EQ(Run(recipe, kMlp).status, kDone);
    const Outcome lowered = Capture([&] {
      return Lower({.input = Path("q.bir"),
                    .output = Path("q.pte"),
                    .min_delegated_flops = 1,
                    .backends = {"xnnpack"},
                    .compile_specs = {"xnnpack:target=executorch-1.5"}});
    });
    ASSERT_EQ(lowered.status, kDone) << recipe << lowered.errors;
    const Outcome verified = Capture([&] {
      return Verify({.archive = Path("q.bir"), .program = Path("q.pte"), .calls = 2, .atol = 0.05});
    });
    EXPECT_EQ(verified.status, kDone) << recipe << verified.output << verified.errors;
  }
}

// --- Labels and metrics ---

class EvaluationTest : public StaticQuantizeTest {
 protected:
  Outcome RunWith(const std::vector<std::string>& labels, const std::string& metric,
                  bool json = false) const {
    return Capture([&] {
      return Quantize({.input = kDigits,
                       .output = Path("q.bir"),
                       .recipe = "int8-static",
                       .calibration = {kDigitsCase},
                       .labels = labels,
                       .metric = metric,
                       .json = json});
    });
  }
  // A folder per class: 0 and 7, with two calls and one.
  std::string WriteLabels(const std::string& second = "7") const {
    std::filesystem::create_directories(Path("labels/0"));
    std::filesystem::create_directories(Path("labels/" + second));
    WriteCall("labels/0/a.npy", 0.5F);
    WriteCall("labels/0/b.npy", 1);
    WriteCall("labels/" + second + "/a.npy", 0.25F);
    return Path("labels");
  }
};

TEST_F(EvaluationTest, CountsLabelsBeforeAndAfter) {
  const Outcome outcome = RunWith({WriteLabels()}, "", true);
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const json labels = json::parse(outcome.output, nullptr, false)["methods"][0]["labels"];
  EXPECT_EQ(labels["samples"], 3);
  // Equal images have one class, so not all labels can be right.
  EXPECT_LE(labels["top1"], 2);
  EXPECT_GE(labels["top5_before"], labels["top1_before"]);
  EXPECT_LE(labels["same_class"], 3);
}

TEST_F(EvaluationTest, SortsNamesOfClasses) {
  const Outcome outcome = RunWith({WriteLabels("seven")}, "");
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("3 labeled samples: top-1 "));
}

TEST_F(EvaluationTest, RejectsClassesWithoutScores) {
  const Outcome outcome = RunWith({WriteLabels("10")}, "");
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("labels/10"), HasSubstr("the class is 10")));
  EXPECT_FALSE(std::filesystem::exists(Path("q.bir")));
}

TEST_F(EvaluationTest, RejectsFoldersWithoutClasses) {
  std::filesystem::create_directories(Path("none"));
  const Outcome outcome = RunWith({Path("none")}, "");
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("expected a folder of each class"));
}

TEST_F(EvaluationTest, RunsTheCommandOnBothPrograms) {
  const Outcome outcome = RunWith({}, "echo text; wc -c <", true);
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const json metric = json::parse(outcome.output, nullptr, false)["metric"];
  EXPECT_GT(metric["before"], metric["after"]);
  EXPECT_EQ(metric["after"], std::filesystem::file_size(Path("q.bir")));
  EXPECT_THAT(Files(), ElementsAre("q.bir"));
}

TEST_F(EvaluationTest, FailedCommandsWriteNothing) {
  const Outcome failed = RunWith({}, "false");
  EXPECT_EQ(failed.status, kBadInput);
  EXPECT_THAT(failed.errors, HasSubstr("--metric: expected exit status 0"));
  const Outcome no_number = RunWith({}, "echo");
  EXPECT_EQ(no_number.status, kBadInput);
  EXPECT_THAT(no_number.errors, HasSubstr("a number on the last line, got"));
  EXPECT_THAT(Files(), ElementsAre());
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
