// `lower` of ExecuTorch programs.
#include "tools/belay/converted_program.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Sample(const std::string& name) { return "executorch/reader/testdata/" + name; }

class ConvertedProgramTest : public TestInDirectory {
 protected:
  LowerOptions Options(const std::string& program) const {
    return {.input = Sample(program), .output = Path("m.belay")};
  }
};

TEST_F(ConvertedProgramTest, ComputesTheSame) {
  const Outcome lowered = Capture([&] { return Lower(Options("xnn_convnet.pte")); });
  ASSERT_EQ(lowered.status, kDone) << lowered.errors;
  EXPECT_EQ(lowered.errors, "");
  EXPECT_THAT(lowered.output, HasSubstr("m.belay"));
  for (const std::string& program : {Sample("xnn_convnet.pte"), Path("m.belay")}) {
    RunOptions run{.program = program, .output_dir = Path(program == Path("m.belay") ? "b" : "a")};
    run.inputs = {Sample("xnn_convnet.forward.in0.npy")};
    ASSERT_EQ(Capture([&] { return tools::Run(run); }).status, kDone);
  }
  EXPECT_EQ(Read(Path("a/0.npy")), Read(Path("b/0.npy")));
  const Outcome inspected =
      Capture([&] { return Inspect({.file = Path("m.belay"), .verify = true}); });
  EXPECT_EQ(inspected.status, kDone) << inspected.errors;
}

TEST_F(ConvertedProgramTest, RandomInputsHaveMaximumDynamicSizes) {
  ASSERT_EQ(Capture([&] { return Lower(Options("dynamic_batch.pte")); }).status, kDone);
  RunOptions run{.program = Path("m.belay"), .json = true};
  run.seed = 1;
  const Outcome outcome = Capture([&] { return tools::Run(run); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_EQ(json::parse(outcome.output)["calls"][0]["outputs"][0], "f32[6,4]");
}

TEST_F(ConvertedProgramTest, ReportsDelegates) {
  LowerOptions options = Options("xnn_convnet.pte");
  options.report = Path("report.json");
  options.json = true;
  const Outcome outcome = Capture([&] { return Lower(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const json report = json::parse(outcome.output);
  ASSERT_EQ(report["delegation"].size(), 1u);
  EXPECT_EQ(report["delegation"][0]["backend"], "cpu");
  EXPECT_EQ(report["phases"][0]["name"], "convert");
  EXPECT_EQ(json::parse(Read(Path("report.json")))["file_bytes"], report["file_bytes"]);
}

TEST_F(ConvertedProgramTest, ThreadsDoNotChangeTheFile) {
  LowerOptions options = Options("xnn_convnet.pte");
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  const std::string content = Read(Path("m.belay"));
  options.threads = 3;
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  EXPECT_EQ(Read(Path("m.belay")), content);
}

TEST_F(ConvertedProgramTest, DataFilesBecomePartOfTheProgram) {
  LowerOptions archive{.input = "conformance/models/zoo/mlp/model.pt2", .output = Path("m.pte")};
  archive.external_constants = {"weights"};
  ASSERT_EQ(Capture([&] { return Lower(archive); }).status, kDone);
  LowerOptions options{.input = Path("m.pte"), .output = Path("m.belay")};
  const Outcome missing = Capture([&] { return Lower(options); });
  EXPECT_EQ(missing.status, kBadInput);
  EXPECT_THAT(missing.errors, HasSubstr("not found in the data files (.ptd)"));
  options.data = {Path("weights.ptd")};
  const Outcome converted = Capture([&] { return Lower(options); });
  ASSERT_EQ(converted.status, kDone) << converted.errors;
  const auto result = [&](const std::string& program, const std::vector<std::string>& data) {
    RunOptions run{.program = Path(program), .output_dir = Path("out"), .data = data};
    run.seed = 1;
    const Outcome outcome = Capture([&] { return tools::Run(run); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return Read(Path("out/0.npy"));
  };
  EXPECT_TRUE(result("m.belay", {}) == result("m.pte", {Path("weights.ptd")}));
}

TEST_F(ConvertedProgramTest, ReportsUnusableDataFiles) {
  LowerOptions options = Options("mlp.pte");
  options.data = {Path("none.ptd")};
  const Outcome missing = Capture([&] { return Lower(options); });
  EXPECT_EQ(missing.status, kBadInput);
  EXPECT_THAT(missing.errors, HasSubstr("none.ptd"));
  options.data = {Write("own.ptd", "x")};
  options.output = Path("own.ptd");
  EXPECT_EQ(Capture([&] { return Lower(options); }).status, kBadUsage);
  LowerOptions archive{.input = "conformance/models/zoo/mlp/model.pt2", .output = Path("m.belay")};
  archive.data = {Path("own.ptd")};
  const Outcome outcome = Capture([&] { return Lower(archive); });
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_THAT(outcome.errors, HasSubstr("--data: expected an ExecuTorch program"));
}

TEST_F(ConvertedProgramTest, OptionsOfArchivesAreBadUsage) {
  LowerOptions options = Options("mlp.pte");
  options.quantize = "8da4w";
  options.max_size = {"8"};
  options.output = Path("m.pte");
  const Outcome outcome = Capture([&] { return Lower(options); });
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("mlp.pte is an ExecuTorch program"),
                                    HasSubstr("got --format=pte, --max-size, --quantize")));
  options = Options("mlp.pte");
  options.backends = {"cpu"};
  EXPECT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  options.backends = {"none"};
  EXPECT_THAT(Capture([&] { return Lower(options); }).errors, HasSubstr("got --backend"));
}

TEST_F(ConvertedProgramTest, InvalidProgramsWriteNothing) {
  const std::string content = Read(Sample("mlp.pte"));
  LowerOptions options = Options("mlp.pte");
  options.input = Write("cut.pte", content.substr(0, content.size() / 2));
  options.report = Path("report.json");
  const Outcome outcome = Capture([&] { return Lower(options); });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("cut.pte"));
  EXPECT_THAT(Files(), ElementsAre("cut.pte"));
  options.input = options.output = Write("same.pte", content);
  EXPECT_EQ(Capture([&] { return Lower(options); }).status, kBadUsage);
  EXPECT_EQ(Read(Path("same.pte")), content);
}

TEST_F(ConvertedProgramTest, DetectsFilesByContent) {
  EXPECT_TRUE(IsExecuTorchFile(Sample("mlp.pte")));
  EXPECT_FALSE(IsExecuTorchFile(Sample("mlp.forward.in0.npy")));
  EXPECT_FALSE(IsExecuTorchFile(Path("none.pte")));
  EXPECT_FALSE(IsExecuTorchFile(""));
}

}  // namespace
}  // namespace belay::tools
