#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/npy.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/program/program.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"
#include "tools/belay/command_line.h"

namespace belay::tools {
namespace {

using exir::DefaultFiles;
using exir::PackArchive;
using exir::ProgramJson;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kZoo[] = "conformance/models/zoo";

class VerifyTest : public TestInDirectory {
 protected:
  // relu(x + w), or -(x + w).
  std::string WriteArchive(const std::string& name, bool negated = false) const {
    std::vector<std::pair<std::string, std::string>> changes;
    if (negated) changes = {{"torch.ops.aten.relu.default", "torch.ops.aten.neg.default"}};
    return Write(name, PackArchive(DefaultFiles(ProgramJson(changes))));
  }
  std::string LowerFile(const std::string& archive, std::vector<std::string> max_size = {}) const {
    const LowerOptions options{
        .input = archive, .output = Path("p.belay"), .max_size = std::move(max_size)};
    const Outcome outcome = Capture([&] { return Lower(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return Path("p.belay");
  }
};

TEST_F(VerifyTest, UsesArchiveProgramAsReference) {
  const Outcome outcome =
      Capture([&] { return Verify({.archive = WriteArchive("m.pt2"), .program = ""}); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("compared with the archive's program\n"));
}

TEST_F(VerifyTest, DecomposesCompositeOperators) {
  VerifyOptions options{.archive = std::string(kZoo) + "/mlp/training.pt2", .program = ""};
  options.calls = 2;
  const Outcome text = Capture([&] { return Verify(options); });
  EXPECT_EQ(text.status, kDone) << text.errors;
  EXPECT_THAT(text.errors, HasSubstr("compared with the archive's program, with the decompositions "
                                     "of aten.linear.default\n"));
  options.json = true;
  const Outcome outcome = Capture([&] { return Verify(options); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  const auto report = nlohmann::json::parse(outcome.output, nullptr, false);
  EXPECT_EQ(report["reference"], "archive") << outcome.output;
  EXPECT_EQ(report["decomposed"], nlohmann::json({"aten.linear.default"})) << outcome.output;
}

TEST_F(VerifyTest, ReportsGapsOfNodes) {
  VerifyOptions options{.archive = std::string(kZoo) + "/digits_cnn/model.pt2", .program = ""};
  options.gaps = true;
  const Outcome text = Capture([&] { return Verify(options); });
  EXPECT_EQ(text.status, kDone) << text.errors;
  EXPECT_THAT(text.output, AllOf(HasSubstr(" dB, mse "), HasSubstr(" nodes have no gap\n")));
  options.json = true;
  const Outcome outcome = Capture([&] { return Verify(options); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  const auto gaps = nlohmann::json::parse(outcome.output)["gaps"];
  ASSERT_GT(gaps.size(), 3);
  double last = 0;
  for (const auto& gap : gaps) {
    const double snr =
        gap["snr"].is_null() ? std::numeric_limits<double>::infinity() : gap["snr"].get<double>();
    EXPECT_GE(snr, 80) << gap;
    EXPECT_GE(snr, last) << gap;
    last = snr;
    EXPECT_EQ(gap["backend"], "cpu") << gap;
    EXPECT_THAT(gap["node"].get<std::string>(), HasSubstr("%"));
    EXPECT_TRUE(gap.contains("mse") && gap.contains("cosine") && gap.contains("absolute"));
  }
}

TEST_F(VerifyTest, FallsBackToEdgeProgram) {
  VerifyOptions options{.archive = "conformance/models/more/gumbel_choice/model.pt2",
                        .program = ""};
  const Outcome text = Capture([&] { return Verify(options); });
  EXPECT_EQ(text.status, kDone) << text.errors;
  EXPECT_THAT(text.errors, HasSubstr("converted to an edge program because the original can't be "
                                     "interpreted: "));
  options.json = true;
  const Outcome outcome = Capture([&] { return Verify(options); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  const auto report = nlohmann::json::parse(outcome.output, nullptr, false);
  EXPECT_EQ(report["reference"], "edge") << outcome.output;
  EXPECT_THAT(report["reference_reason"].get<std::string>(), HasSubstr("random numbers"));
}

TEST_F(VerifyTest, UsesSeedOfFile) {
  const std::string archive = "conformance/models/more/gumbel_choice/model.pt2";
  const LowerOptions lower{.input = archive, .output = Path("p.belay"), .random_seed = 7};
  const Outcome lowered = Capture([&] { return Lower(lower); });
  ASSERT_EQ(lowered.status, kDone) << lowered.errors;
  for (const std::string& program : {std::string(), Path("p.belay")}) {
    VerifyOptions options{.archive = archive, .program = program};
    options.calls = 2;
    const Outcome outcome = Capture([&] { return Verify(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.output << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr("it uses random numbers, whose seed lowering sets"));
  }
}

TEST_F(VerifyTest, FileOfOtherArchiveDiffers) {
  const std::string archive = WriteArchive("m.pt2");
  const std::string program = LowerFile(WriteArchive("other.pt2", /*negated=*/true));
  const Outcome outcome = Capture([&] { return Verify({.archive = archive, .program = program}); });
  EXPECT_EQ(outcome.status, kNegative) << outcome.errors;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("call 0, output 0: "), HasSubstr("is correct when lowered now")));
}

TEST_F(VerifyTest, DetectsFileOfOtherArchiveByInputs) {
  const VerifyOptions options{.archive = std::string(kZoo) + "/conv_kinds/model.pt2",
                              .program = LowerFile(WriteArchive("m.pt2"))};
  const Outcome outcome = Capture([&] { return Verify(options); });
  EXPECT_EQ(outcome.status, kBadInput) << outcome.output;
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("the program was lowered from another archive: it has 1 "
                              "inputs, the archive's program 2; "),
                    HasSubstr("its input 0 'x' is f32 of rank 2, that of the "
                              "archive's program '")));
}

TEST_F(VerifyTest, ReportsDifferenceWithoutNode) {
  const std::string archive = "conformance/models/more/unbounded_batch/model.pt2";
  VerifyOptions options{.archive = archive, .program = LowerFile(archive, {"64"})};
  options.atol = options.rtol = -1;  // not even equal numbers are close enough
  for (const bool json : {false, true}) {
    options.json = json;
    options.max_size = {};
    const Outcome unknown = Capture([&] { return Verify(options); });
    EXPECT_EQ(unknown.status, kNegative) << unknown.errors;
    EXPECT_THAT(unknown.output, HasSubstr("output 0"));
    options.max_size = {"64"};
    const Outcome located = Capture([&] { return Verify(options); });
    EXPECT_EQ(located.status, kNegative) << located.errors;
    EXPECT_THAT(located.output, HasSubstr(json ? "\"first_node\"" : "the first node that differs"));
  }
}

// The file has other weights, and lowering the archive needs a bound that is not given.
TEST_F(VerifyTest, ReportsWhyNodeIsUnknown) {
  VerifyOptions options{.archive = "conformance/models/more/unbounded_batch/model.pt2",
                        .program = Path("p.belay")};
  LowerOptions lower{.input = options.archive, .output = options.program, .max_size = {"64"}};
  lower.backends = {"none"};
  ASSERT_EQ(Capture([&] { return Lower(lower); }).status, kDone);
  std::string bytes = Read(options.program);
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(options.program));
  for (const SegmentPlan& segment : program.segments()) {
    if (segment.kind != SegmentPlan::Kind::kConstants) continue;
    for (size_t i = 3; i < segment.bytes.size(); i += 4) {
      char& sign = bytes[segment.offset + i];
      sign = static_cast<char>(sign ^ 0x80);
    }
  }
  options.program = Write("q.belay", bytes);
  const Outcome text = Capture([&] { return Verify(options); });
  EXPECT_EQ(text.status, kNegative) << text.errors;
  EXPECT_THAT(text.output, HasSubstr("\nthe first node that differs could not be determined: "));
  options.json = true;
  const auto report =
      nlohmann::json::parse(Capture([&] { return Verify(options); }).output, nullptr, false);
  EXPECT_TRUE(report["first_node_unknown"].is_string()) << report;
}

TEST_F(VerifyTest, BoundsUnboundedSizes) {
  VerifyOptions options{.archive = "conformance/models/more/unbounded_batch/model.pt2",
                        .program = ""};
  EXPECT_NE(Capture([&] { return Verify(options); }).status, kDone);
  options.max_size = {"64"};
  const Outcome outcome = Capture([&] { return Verify(options); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors << outcome.output;
}

TEST_F(VerifyTest, RejectsUnknownBackends) {
  VerifyOptions options{.archive = WriteArchive("m.pt2"), .program = ""};
  options.backends = {"nosuch"};
  const Outcome outcome = Capture([&] { return Verify(options); });
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_THAT(outcome.errors, HasSubstr("'nosuch'"));
}

TEST_F(VerifyTest, ErrorsNameArchiveOnce) {
  const std::string file = Write("x.pt2", "PK");
  const Outcome outcome = Capture([&] { return Verify({.archive = file, .program = ""}); });
  EXPECT_EQ(outcome.status, kBadInput);
  const size_t first = outcome.errors.find(file);
  ASSERT_NE(first, std::string::npos) << outcome.errors;
  EXPECT_EQ(outcome.errors.find(file, first + 1), std::string::npos) << outcome.errors;
}

TEST_F(VerifyTest, PrintsDeviations) {
  VerifyOptions options{.archive = std::string(kZoo) + "/mlp/model.pt2", .program = ""};
  const Outcome text = Capture([&] { return Verify(options); });
  EXPECT_EQ(text.status, kDone) << text.errors;
  EXPECT_THAT(text.output, AllOf(HasSubstr("output 0: largest deviation "),
                                 HasSubstr("allowed: 1e-05 + 0.0001 of the expected value")));
  options.json = true;
  const Outcome outcome = Capture([&] { return Verify(options); });
  const auto report = nlohmann::json::parse(outcome.output, nullptr, false);
  ASSERT_EQ(report["deviations"].size(), 1u) << outcome.output;
  EXPECT_LT(report["deviations"][0]["absolute"].get<double>(), 1e-4);
}

TEST_F(VerifyTest, ComparesWithRecordedResultsWithoutAnArchive) {
  const std::string program = LowerFile(WriteArchive("m.pt2"));
  const std::string input = Path("x.npy"), expected = Path("run/0.npy");
  ASSERT_OK(WriteNpy(input, TestTensor::Of<float>({2, 3}, {1, -2, 3, -4, 5, -6}).view()));
  RunOptions run{.program = program, .inputs = {input}};
  run.output_dir = Path("run");
  ASSERT_EQ(Capture([&] { return tools::Run(run); }).status, kDone);
  VerifyOptions options{.program = program, .inputs = {input}};
  options.expected = {expected};
  const Outcome equal = Capture([&] { return Verify(options); });
  EXPECT_EQ(equal.status, kDone) << equal.errors;
  EXPECT_THAT(equal.output, AllOf(HasSubstr("equal: 1 results in 1 call\n"),
                                  HasSubstr("output 0: largest deviation 0, relative 0\n")));
  EXPECT_THAT(equal.errors, HasSubstr("compared with files"));
  options.json = true;
  const auto same =
      nlohmann::json::parse(Capture([&] { return Verify(options); }).output, nullptr, false);
  EXPECT_EQ(same, nlohmann::json::parse(R"({"equal": true, "calls": 1, "reference": "files",
                                            "differences": [],
                                            "deviations": [{"absolute": 0.0, "relative": 0.0}]})"));
  options.expected = {input};
  const auto other =
      nlohmann::json::parse(Capture([&] { return Verify(options); }).output, nullptr, false);
  EXPECT_EQ(other["equal"], false);
  EXPECT_EQ(other["differences"][0]["where"], "output 0");
  options.json = false;
  const Outcome differs = Capture([&] { return Verify(options); });
  EXPECT_EQ(differs.status, kNegative) << differs.errors;
  EXPECT_THAT(differs.output, HasSubstr("call 0, output 0: "));
  options.expected = {expected, expected};
  const Outcome surplus = Capture([&] { return Verify(options); });
  EXPECT_EQ(surplus.status, kBadInput);
  EXPECT_THAT(surplus.errors, HasSubstr("expected a file for each of 1 outputs, got 2 times"));
  options.expected = {Write("damaged.npy", "none")};
  const Outcome damaged = Capture([&] { return Verify(options); });
  EXPECT_EQ(damaged.status, kBadInput);
  EXPECT_THAT(damaged.errors, HasSubstr("damaged.npy"));
}

TEST_F(VerifyTest, DumpsAndComparesIntermediateValues) {
  VerifyOptions options{.archive = WriteArchive("m.pt2"), .program = ""};
  options.dump = Path("dump");
  const Outcome written = Capture([&] { return Verify(options); });
  EXPECT_EQ(written.status, kDone) << written.errors;
  EXPECT_THAT(written.errors, HasSubstr("belay: wrote 2 values to "));
  options.dump = "";
  options.against = Path("dump");
  const Outcome equal = Capture([&] { return Verify(options); });
  EXPECT_EQ(equal.status, kDone) << equal.errors;
  EXPECT_THAT(equal.output, HasSubstr("2 values of the directory were compared, all are close\n"));
  options.archive = WriteArchive("other.pt2", /*negated=*/true);
  const Outcome differs = Capture([&] { return Verify(options); });
  EXPECT_EQ(differs.status, kNegative) << differs.errors;
  EXPECT_THAT(differs.output, HasSubstr("the first that differs: "));
  options.json = true;
  const auto other =
      nlohmann::json::parse(Capture([&] { return Verify(options); }).output, nullptr, false);
  EXPECT_EQ(other["equal"], false) << other;
  EXPECT_EQ(other["dump"]["compared"], 2) << other;
  EXPECT_TRUE(other["dump"]["first_node"].is_string()) << other;
  EXPECT_TRUE(other["dump"]["difference"].is_string()) << other;
  options.archive = WriteArchive("m.pt2");
  const auto same =
      nlohmann::json::parse(Capture([&] { return Verify(options); }).output, nullptr, false);
  EXPECT_EQ(same["equal"], true) << same;
  EXPECT_EQ(same["dump"], nlohmann::json({{"compared", 2}})) << same;
}

// --- Reduced failures ---

TEST_F(VerifyTest, WritesReducedFailure) {
  VerifyOptions options{.archive = WriteArchive("m.pt2"), .program = ""};
  options.atol = options.rtol = -1;  // not even equal numbers are close enough
  options.reduce = Path("small");
  const Outcome text = Capture([&] { return Verify(options); });
  EXPECT_EQ(text.status, kNegative) << text.errors;
  EXPECT_THAT(text.output,
              HasSubstr("\n1 of 2 nodes reproduce the difference: " + Path("small") +
                        "/program.bir with its inputs and outputs, and --backend cpu; "));
  for (const char* file : {"program.bir", "input_0.npy", "output_0.npy"}) {
    EXPECT_TRUE(std::filesystem::exists(Path("small") + "/" + file)) << file;
  }
  options.json = true;
  const auto report =
      nlohmann::json::parse(Capture([&] { return Verify(options); }).output, nullptr, false);
  EXPECT_THAT(report["reduced"].get<std::string>(),
              HasSubstr("1 of 2 nodes reproduce the difference: "));
  // The difference is reported even if the files can't be written.
  options.reduce = Write("file", "none");
  const auto failed =
      nlohmann::json::parse(Capture([&] { return Verify(options); }).output, nullptr, false);
  EXPECT_TRUE(failed["first_node"].is_object()) << failed;
  EXPECT_THAT(failed["reduced"].get<std::string>(), HasSubstr(Path("file")));
}

// Backends of a program file are those that the reduced program is lowered with.
TEST_F(VerifyTest, ReducesWithBackendsOfFile) {
  VerifyOptions options{.archive = WriteArchive("m.pt2"), .program = Path("p.belay")};
  LowerOptions lower{.input = options.archive, .output = options.program};
  lower.backends = {"none"};
  ASSERT_EQ(Capture([&] { return Lower(lower); }).status, kDone);
  options.atol = options.rtol = -1;
  options.reduce = Path("small");
  const Outcome outcome = Capture([&] { return Verify(options); });
  EXPECT_EQ(outcome.status, kNegative) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr(", and --backend none; "));
}

// --- The command line ---

TEST_F(VerifyTest, ParsesProgramAndReference) {
  const auto verify = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "verify");
    std::ostringstream out, error;
    Outcome outcome =
        Capture([&] { return RunCommandLine(arguments, {VerifyCommand()}, out, error); });
    outcome.errors += error.str();
    return outcome;
  };
  const std::string archive = WriteArchive("m.pt2"), program = LowerFile(archive);
  const std::string input = Path("x.npy"), expected = Path("run/0.npy");
  ASSERT_OK(WriteNpy(input, TestTensor::Of<float>({2, 3}, {1, -2, 3, -4, 5, -6}).view()));
  const RunOptions run{.program = program, .output_dir = Path("run"), .inputs = {input}};
  ASSERT_EQ(Capture([&] { return tools::Run(run); }).status, kDone);
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {archive}, {archive, program}, {program, "--reference", archive}}) {
    const Outcome outcome = verify(arguments);
    EXPECT_EQ(outcome.status, kDone) << ::testing::PrintToString(arguments) << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr("compared with the archive's program\n"));
  }
  const Outcome files = verify({program, "--input", input, "--expected", expected});
  EXPECT_EQ(files.status, kDone) << files.errors;
  EXPECT_THAT(files.errors, HasSubstr("compared with files\n"));
  for (const auto& [option, file] : {std::pair("--expected", expected), {"--reference", archive}}) {
    const Outcome surplus = verify({archive, program, option, file});
    EXPECT_EQ(surplus.status, kBadUsage);
    EXPECT_THAT(surplus.errors,
                HasSubstr(std::string("verify takes only one file with ") + option + "\n"));
  }
  EXPECT_EQ(verify({program, "--expected", expected, "--reference", archive}).status, kBadUsage);
}

}  // namespace
}  // namespace belay::tools
