// Subcommands with bad input: one clear error, the right exit status, no output file.
#include "tools/belay/command.h"

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/npy.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "tools/belay/captured_outcome.h"

namespace belay::tools {
namespace {

namespace fs = std::filesystem;
using exir::ArchiveFiles;
using exir::DefaultFiles;
using exir::PackArchive;
using exir::ProgramJson;
using ::testing::HasSubstr;

constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";

class CommandTest : public TestInDirectory {
 protected:
  Outcome LowerFile(const std::string& input) const {
    return Capture(
        [&] { return tools::Lower(LowerOptions{.input = input, .output = Path("out.belay")}); });
  }
  // Expects one error with `message`, this status, and no output file.
  void ExpectLowerFails(const std::string& input, int status, const std::string& message) const {
    const Outcome outcome = LowerFile(input);
    EXPECT_EQ(outcome.status, status) << outcome.errors;
    EXPECT_NE(outcome.errors.find("belay: "), std::string::npos) << outcome.errors;
    EXPECT_NE(outcome.errors.find(message), std::string::npos) << outcome.errors;
    EXPECT_FALSE(fs::exists(Path("out.belay")));
    for (const auto& entry : fs::directory_iterator(directory_)) {
      EXPECT_EQ(entry.path().filename().string().find("out.belay"), std::string::npos)
          << "left behind: " << entry.path();
    }
  }
  std::string LowerMlp() const {
    const Outcome outcome = LowerFile(kMlp);
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return Path("out.belay");
  }
};

TEST_F(CommandTest, LowerRejectsMissingFile) {
  ExpectLowerFails(Path("none.pt2"), kBadInput, "none.pt2");
}

TEST_F(CommandTest, LowerRejectsEmptyFile) {
  ExpectLowerFails(Write("empty.pt2", ""), kBadInput, "empty.pt2");
}

TEST_F(CommandTest, LowerRejectsRandomBytes) {
  std::mt19937 random(TestSeed());
  std::string bytes(5000, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  ExpectLowerFails(Write("random.pt2", bytes), kBadInput, "random.pt2");
}

TEST_F(CommandTest, LowerRejectsTruncatedArchives) {
  const std::string whole = Read(kMlp);
  ASSERT_GT(whole.size(), 1000u);
  for (int i = 0; i < 64; ++i) {
    ExpectLowerFails(Write("cut.pt2", whole.substr(0, whole.size() * i / 64)), kBadInput,
                     "cut.pt2");
  }
}

TEST_F(CommandTest, LowerRejectsOtherSchemaVersion) {
  const std::string archive =
      PackArchive(DefaultFiles(ProgramJson({{"\"major\": 8", "\"major\": 9"}})));
  ExpectLowerFails(Write("version.pt2", archive), kUnsupported, "9");
}

TEST_F(CommandTest, LowerRejectsArchiveWithoutModel) {
  ArchiveFiles files = DefaultFiles(ProgramJson());
  exir::SetFile(files, "models/model.json", nullptr);
  ExpectLowerFails(Write("no_model.pt2", PackArchive(files)), kBadInput, "model");
}

TEST_F(CommandTest, LowerRejectsDuplicateDirectoryEntry) {
  std::vector<exir::ZipWriterEntry> entries;
  for (const auto& [name, content] : DefaultFiles(ProgramJson()))
    entries.push_back({.name = "model/" + name, .content = content});
  entries.push_back(entries.back());
  ExpectLowerFails(Write("twice.pt2", exir::WriteZip(entries)), kBadInput, entries.back().name);
}

TEST_F(CommandTest, LowerRejectsTruncatedWeights) {
  ArchiveFiles files = DefaultFiles(ProgramJson());
  bool found = false;
  for (auto& [name, content] : files) {
    if (name.find("data/weights/weight_") == std::string::npos) continue;
    content.resize(content.size() - 4);
    found = true;
  }
  ASSERT_TRUE(found);
  ExpectLowerFails(Write("short.pt2", PackArchive(files)), kBadInput, "'w'");
}

TEST_F(CommandTest, InspectMarksUncheckedGuards) {
  // No names match; comparing all pairs would take 10^11 comparisons.
  constexpr int kMany = 400'000;
  std::string guards = "\"L['x'].size()[0] == 2\"";
  for (int i = 0; i < kMany; ++i)
    guards += ", \"L['another_input'].size()[0] == " + std::to_string(1'000'000 + i) + "\"";
  const std::string file =
      Write("guards.pt2", PackArchive(DefaultFiles(ProgramJson(
                              {{"\"guards_code\": []", "\"guards_code\": [" + guards + "]"}}))));
  InspectOptions options;
  options.file = file;
  const Outcome outcome = Capture([&] { return Inspect(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("  guard L['x'].size()[0] == 2\n"));
  EXPECT_THAT(outcome.output, HasSubstr("size()[0] == 1000000 (can't be checked)\n"));
  EXPECT_THAT(outcome.output, HasSubstr("size()[0] == 1399999 (can't be checked)\n"));
}

TEST_F(CommandTest, LowerListsUnknownOperators) {
  const std::string archive = PackArchive(DefaultFiles(
      ProgramJson({{"torch.ops.aten.relu.default", "torch.ops.nowhere.relu.default"}})));
  ExpectLowerFails(Write("unknown.pt2", archive), kUnsupported, "nowhere.relu.default");
}

TEST_F(CommandTest, LowerAcceptsTrainingPrograms) {
  const Outcome outcome = LowerFile("conformance/models/zoo/mlp/training.pt2");
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
}

TEST_F(CommandTest, LowerRejectsUnwritablePath) {
  const Outcome outcome = Capture([&] {
    return tools::Lower(LowerOptions{.input = kMlp, .output = Path("no/such/folder/out.belay")});
  });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_NE(outcome.errors.find("no/such/folder"), std::string::npos) << outcome.errors;
}

TEST_F(CommandTest, LowerKeepsExistingFileOnError) {
  Write("out.belay", "precious");
  EXPECT_EQ(LowerFile(Write("empty.pt2", "")).status, kBadInput);
  EXPECT_EQ(Read(Path("out.belay")), "precious");
}

TEST_F(CommandTest, LowerListsKnownBackends) {
  const Outcome outcome = Capture([&] {
    return tools::Lower(
        LowerOptions{.input = kMlp, .output = Path("out.belay"), .backends = {"nosuch"}});
  });
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_NE(outcome.errors.find("unknown backend 'nosuch'; this build has: "), std::string::npos)
      << outcome.errors;
}

TEST_F(CommandTest, LowerIsDeterministicAcrossThreadCounts) {
  std::vector<std::string> files;
  for (int threads : {1, 1, 2, 8}) {
    const std::string path = Path("t" + std::to_string(files.size()));
    ASSERT_EQ(Capture([&] {
                return tools::Lower(LowerOptions{
                    .input = kMlp, .output = path, .backends = {"demo"}, .threads = threads});
              }).status,
              kDone);
    files.push_back(Read(path));
  }
  for (const std::string& file : files) EXPECT_TRUE(file == files[0]);
}

TEST_F(CommandTest, LowerDumpsProgramAfterPass) {
  LowerOptions options{.input = kMlp, .output = Path("out.belay")};
  options.dump_after = "to_edge_ops";
  EXPECT_NE(Capture([&] { return Lower(options); }).output.find("program edge {"),
            std::string::npos);
  options.dump_after = "no_such_pass";
  const Outcome wrong = Capture([&] { return Lower(options); });
  EXPECT_EQ(wrong.status, kBadUsage);
  EXPECT_NE(wrong.errors.find("to_edge_ops"), std::string::npos) << wrong.errors;
}

TEST_F(CommandTest, VerifyFindsNoDifference) {
  const std::string path = LowerMlp();
  for (const std::string& program : {std::string(), path}) {
    VerifyOptions options{.archive = kMlp, .program = program};
    options.calls = 2;
    const Outcome outcome = Capture([&] { return Verify(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors << outcome.output;
    EXPECT_NE(outcome.output.find("equal: "), std::string::npos) << outcome.output;
  }
}

TEST_F(CommandTest, VerifyNamesFirstDifferingNode) {
  VerifyOptions options{.archive = kMlp, .program = LowerMlp()};
  options.atol = options.rtol = -1;  // not even equal numbers are close enough
  const Outcome outcome = Capture([&] { return Verify(options); });
  EXPECT_EQ(outcome.status, kNegative) << outcome.errors << outcome.output;
  EXPECT_NE(outcome.output.find("call 0, output 0: "), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("the first node that differs: %"), std::string::npos)
      << outcome.output;
  options.json = true;
  const Outcome json = Capture([&] { return Verify(options); });
  EXPECT_EQ(json.status, kNegative);
  EXPECT_NE(json.output.find("\"equal\": false"), std::string::npos) << json.output;
  EXPECT_NE(json.output.find("\"first_node\""), std::string::npos) << json.output;
}

TEST_F(CommandTest, VerifyReportsBadInput) {
  const VerifyOptions missing{.archive = Path("missing.pt2"), .program = ""};
  EXPECT_EQ(Capture([&] { return Verify(missing); }).status, kBadInput);
  VerifyOptions inputs{.archive = kMlp, .program = ""};
  inputs.inputs = {Path("missing.npy")};
  EXPECT_EQ(Capture([&] { return Verify(inputs); }).status, kBadInput);
}

TEST_F(CommandTest, InspectAccountsForEveryByte) {
  const std::string path = LowerMlp();
  const Outcome outcome =
      Capture([&] { return Inspect(InspectOptions{.file = path, .size = true, .verify = true}); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_NE(outcome.output.find(std::to_string(fs::file_size(path)) + " bytes in total (100 %)"),
            std::string::npos)
      << outcome.output;
}

TEST_F(CommandTest, InspectFindsDamagedSegment) {
  const std::string path = LowerMlp();
  std::string bytes = Read(path);
  bytes[bytes.size() - 1] ^= 1;
  const Outcome outcome = Capture([&] {
    return Inspect(InspectOptions{.file = Write("damaged.belay", bytes), .verify = true});
  });
  EXPECT_EQ(outcome.status, kBadInput);
}

TEST_F(CommandTest, InspectPrintsArchives) {
  const Outcome outcome =
      Capture([&] { return Inspect(InspectOptions{.file = kMlp, .graph = true}); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_EQ(outcome.output.find("program aten {"), 0u) << outcome.output.substr(0, 100);
}

struct BadArray {
  std::string name;
  DType dtype;
  Sizes sizes;
  std::string expected, came;
};
std::ostream& operator<<(std::ostream& out, const BadArray& c) { return out << c.name; }

class RunBadInputTest : public CommandTest, public testing::WithParamInterface<BadArray> {};

TEST_P(RunBadInputTest, NamesInputExpectedAndActual) {
  const std::string program = LowerMlp();
  const TestTensor tensor = TestTensor::Zeros(GetParam().dtype, GetParam().sizes);
  ASSERT_TRUE(WriteNpy(Path("x.npy"), tensor.view()).ok());
  RunOptions options{.program = program};
  options.output_dir = Path("results");
  options.inputs = {Path("x.npy")};
  const Outcome outcome = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_NE(outcome.errors.find(GetParam().expected), std::string::npos) << outcome.errors;
  EXPECT_NE(outcome.errors.find(GetParam().came), std::string::npos) << outcome.errors;
  EXPECT_FALSE(fs::exists(Path("results")));
}

INSTANTIATE_TEST_SUITE_P(
    Arrays, RunBadInputTest,
    testing::Values(BadArray{"dtype", DType::kFloat64, {4, 16}, "f32", "f64"},
                    BadArray{"rank", DType::kFloat32, {4, 16, 1}, "[4,16]", "[4,16,1]"},
                    BadArray{"shape", DType::kFloat32, {4, 17}, "[4,16]", "[4,17]"}),
    [](const auto& info) { return info.param.name; });

TEST_F(CommandTest, RunRejectsMissingAndSurplusInputs) {
  const std::string program = LowerMlp();
  RunOptions options{.program = program};
  const Outcome missing = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(missing.status, kBadInput);
  EXPECT_NE(missing.errors.find("is missing"), std::string::npos) << missing.errors;
  const TestTensor tensor = TestTensor::Zeros(DType::kFloat32, {4, 16});
  ASSERT_TRUE(WriteNpy(Path("x.npy"), tensor.view()).ok());
  options.inputs = {Path("x.npy"), Path("x.npy")};
  const Outcome surplus = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(surplus.status, kBadInput);
  EXPECT_NE(surplus.errors.find("expected 1 input files"), std::string::npos) << surplus.errors;
}

TEST_F(CommandTest, RunWritesResults) {
  const std::string program = LowerMlp();
  RunOptions options{.program = program};
  options.seed = 0;
  options.output_dir = Path("results");
  const Outcome outcome = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_TRUE(fs::exists(Path("results/0.npy")));
}

TEST_F(CommandTest, RunListsKnownMethods) {
  const std::string program = LowerMlp();
  RunOptions options{.program = program, .method = "backward"};
  const Outcome outcome = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_NE(outcome.errors.find("forward"), std::string::npos) << outcome.errors;
}

TEST_F(CommandTest, OpsListsEveryOperator) {
  const Outcome text = Capture([] { return Ops(OpsOptions{}); });
  EXPECT_EQ(text.status, kDone);
  EXPECT_NE(text.output.find("aten.add.Tensor"), std::string::npos);
  const Outcome json = Capture([] { return Ops(OpsOptions{.json = true}); });
  EXPECT_EQ(json.output.substr(0, 1), "[");
}

}  // namespace
}  // namespace belay::tools
