// Commands of which a step fails: what is read is not there or no such file, what is written has no
// folder, the program itself fails. Each says what, and on which file.
#include <filesystem>
#include <functional>
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
#include "runtime/executor/testing/program_builder.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"
#include "tools/belay/command_line.h"

namespace belay::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kRule[] = "the rule of the model";

class FailingStepsTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    good_ = Write("good.belay", ReluProgram({2, 3}).Serialize());
    fails_ = Write("fails.belay", FailingProgram({2, 3}).Serialize());
    archive_ =
        Write("m.pt2", exir::PackArchive(exir::DefaultFiles(exir::ProgramJson())));  // relu(x + w)
    ASSERT_OK(WriteNpy(Path("x.npy"), TestTensor::Zeros(DType::kFloat32, {2, 3}).view()));
    ASSERT_OK(WriteNpy(Path("other.npy"), TestTensor::Zeros(DType::kFloat32, {5}).view()));
  }

  static TestProgram ReluProgram(const Sizes& sizes, int results = 1) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    const uint32_t x = method.Input("x", DType::kFloat32, sizes);
    const uint32_t y = method.Arena(DType::kFloat32, sizes);
    method.Call("aten.relu.default", {x}, {y});
    for (int i = 0; i < results; ++i) method.Output(y);
    return program;
  }
  // Loads, and then fails in each call.
  static TestProgram FailingProgram(const Sizes& sizes) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    method.Output(method.Input("x", DType::kFloat32, sizes));
    method.Call("aten._assert_scalar.default", {method.Bool(false), method.String(kRule)}, {});
    return program;
  }

  // The commands that execute a program, with these inputs; random ones when there are none.
  std::vector<std::pair<std::string, std::function<int()>>> Executing(
      const std::string& program, const std::vector<std::string>& inputs,
      const std::string& engine = "highway") const {
    return {
        {"run",
         [=] {
           RunOptions options{.program = program, .engine = engine, .inputs = inputs};
           if (inputs.empty()) options.seed = 1;
           return tools::Run(options);
         }},
        {"bench",
         [=] {
           return Bench({.program = program, .engine = engine, .inputs = inputs, .seconds = 0.001});
         }},
        {"profile",
         [=] {
           return ProfileProgram(
               {.program = program, .engine = engine, .inputs = inputs, .runs = 1});
         }},
    };
  }
  void Expect(const std::function<int()>& command, int status, const std::string& part) const {
    const Outcome outcome = Capture(command);
    EXPECT_EQ(outcome.status, status) << outcome.output << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr(part));
  }

  std::string good_, fails_, archive_;
};

TEST_F(FailingStepsTest, ProgramsThatFailSayWhy) {
  for (const auto& [name, command] : Executing(fails_, {})) {
    SCOPED_TRACE(name);
    Expect(command, kBadInput, kRule);
  }
  Expect([&] { return Verify({.archive = archive_, .program = fails_}); }, kBadInput, kRule);
  Expect(
      [&] {
        VerifyOptions options{.program = fails_, .inputs = {Path("x.npy")}};
        options.expected = {Path("x.npy")};
        return Verify(options);
      },
      kBadInput, kRule);
}

TEST_F(FailingStepsTest, WhatIsReadMustBeThere) {
  const std::string none = Path("none.npy");
  for (const auto& [name, command] : Executing(good_, {none})) {
    SCOPED_TRACE(name);
    Expect(command, kBadInput, none);
  }
  for (const auto& [name, command] : Executing(Path("none.belay"), {})) {
    SCOPED_TRACE(name);
    Expect(command, kBadInput, Path("none.belay"));
  }
  Expect([&] { return Verify({.archive = Path("none.pt2"), .program = good_}); }, kBadInput,
         Path("none.pt2"));
  Expect([&] { return Verify({.archive = archive_, .program = Path("none.belay")}); }, kBadInput,
         Path("none.belay"));
  Expect([&] { return Verify({.archive = archive_, .program = good_, .inputs = {none}}); },
         kBadInput, none);
  const auto recorded = [&](const std::string& program, const std::string& input,
                            const std::string& expected) {
    VerifyOptions options{.program = program, .inputs = {input}};
    options.expected = {expected};
    return [options] { return Verify(options); };
  };
  Expect(recorded(Path("none.belay"), Path("x.npy"), Path("x.npy")), kBadInput, Path("none.belay"));
  Expect(recorded(good_, none, Path("x.npy")), kBadInput, none);
  Expect(recorded(good_, Path("x.npy"), none), kBadInput, none);
  Expect([&] { return Stress({.file = Path("none.belay"), .write = {}, .mutations = 1}); },
         kBadInput, Path("none.belay"));
  for (const bool compares : {false, true}) {
    ProfileOptions options{.program = good_, .runs = 1};
    std::string& file = compares ? options.compare : options.limits;
    file = Path("none.json");
    Expect([&] { return ProfileProgram(options); }, kBadInput, Path("none.json"));
    file = Write("damaged.json", "{");
    Expect([&] { return ProfileProgram(options); }, kBadInput, "damaged.json: no JSON");
  }
  VerifyOptions options{.archive = archive_, .program = ""};
  options.against = Path("none");
  Expect([&] { return Verify(options); }, kBadInput, Path("none"));
}

TEST_F(FailingStepsTest, InputsMustFit) {
  for (const auto& [name, command] : Executing(good_, {Path("other.npy")})) {
    SCOPED_TRACE(name);
    Expect(command, kBadInput, "'x'");
  }
  for (const auto& [name, command] : Executing(good_, {Path("x.npy"), Path("x.npy")})) {
    SCOPED_TRACE(name);
    Expect(command, kBadInput, "2");
  }
}

TEST_F(FailingStepsTest, EnginesAreThoseThatThereAre) {
  for (const auto& [name, command] : Executing(good_, {}, "steam")) {
    SCOPED_TRACE(name);
    Expect(command, kBadInput, "there is no engine 'steam'; there are: highway, reference");
  }
  for (const std::string& program : {good_, std::string()}) {
    Expect([&] { return Verify({.archive = archive_, .program = program, .engine = "steam"}); },
           kBadInput, "there is no engine 'steam'");
  }
}

TEST_F(FailingStepsTest, FilesAreWrittenWhereThereIsAFolder) {
  const std::string file = Path("no/folder/file");
  for (std::string ProfileOptions::* written : {&ProfileOptions::trace, &ProfileOptions::html}) {
    ProfileOptions options{.program = good_, .runs = 1};
    options.*written = file;
    Expect([&] { return ProfileProgram(options); }, kBadInput, file);
  }
  for (const std::string& read : {good_, archive_}) {
    Expect([&] { return Inspect({.file = read, .model_explorer = file}); }, kBadInput, file);
    Expect([&] { return Inspect({.file = read, .dot = file}); }, kBadInput, file);
  }
  Expect([&] { return Stress({.file = good_, .write = file, .mutations = 1}); }, kBadInput, file);
  Expect([&] { return Strip({.file = good_, .output = file}); }, kBadInput, file);
  Expect([&] { return Lower({.input = archive_, .output = file}); }, kBadInput, file);
  LowerOptions lower{.input = archive_, .output = Path("p.belay")};
  lower.report = file;
  Expect([&] { return Lower(lower); }, kBadInput, file);
  VerifyOptions verify{.archive = archive_, .program = ""};
  verify.dump = good_;  // a file stands there
  Expect([&] { return Verify(verify); }, kBadInput, good_);
  // A folder stands where the signature would be.
  ASSERT_EQ(Capture([&] { return Keygen({Path("a")}); }).status, kDone);
  fs::create_directory(good_ + ".sig");
  Expect([&] { return SignFile({.file = good_, .key = Path("a.key")}); }, kBadInput,
         good_ + ".sig");
  RunOptions run{.program = good_, .output_dir = Path("out")};
  run.seed = 1;
  fs::create_directories(Path("out/0.npy"));
  Expect([&] { return tools::Run(run); }, kBadInput, Path("out/0.npy"));
}

TEST_F(FailingStepsTest, FilesOfOtherArchivesAreToldApart) {
  const std::string two = Write("two.belay", ReluProgram({2, 3}, 2).Serialize());
  Expect([&] { return Verify({.archive = archive_, .program = two}); }, kBadInput,
         "the archive's program gives 1 results, the file's 2: it was made from another archive");
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  method.Output(method.ScalarInput("n", schema::ScalarSlot::INT));
  const std::string scalar = Write("scalar.belay", program.Serialize());
  Expect([&] { return Verify({.archive = archive_, .program = scalar}); }, kBadInput,
         "its input 0 'n' is no tensor");
}

TEST_F(FailingStepsTest, DifferencesAreLookedForInWhatWasAskedFor) {
  for (const auto& [backend, text] : std::vector<std::pair<std::string, std::string>>{
           {"none", "computed by a kernel"}, {"demo", "computed by a delegate of demo"}}) {
    VerifyOptions options{.archive = archive_, .program = ""};
    options.backends = {backend};
    options.atol = options.rtol = -1;  // not even equal numbers are close enough
    const Outcome outcome = Capture([&] { return Verify(options); });
    EXPECT_EQ(outcome.status, kNegative) << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr(text));
  }
}

// DIR or METHOD=DIR; a folder that is there is one, whatever its name.
TEST_F(FailingStepsTest, FoldersOfASequenceMayHaveAnyName) {
  for (const std::string name : {"plain", "a=b"}) {
    fs::create_directory(Path(name));
    fs::copy(Path("x.npy"), Path(name + "/input_0.npy"));
  }
  RunOptions options{.program = good_};
  options.sequence = {Path("plain"), Path("a=b"), "forward=" + Path("plain")};
  const Outcome outcome = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  const std::string line = "output 0: f32[2,3] = [0, 0, 0, 0, 0, 0]\n";
  EXPECT_EQ(outcome.output, line + line + line);
  options.sequence = {Path("c=d")};
  Expect([&] { return tools::Run(options); }, kBadInput, "no method");
}

TEST_F(FailingStepsTest, NamesThatAreLikeNoneHaveNoSuggestion) {
  const Outcome outcome = Capture([] { return Ops({.name = "zzzzqqqqxxxxkkkk"}); });
  EXPECT_EQ(outcome.status, kNegative);
  EXPECT_EQ(outcome.errors, "belay: no operator's name holds 'zzzzqqqqxxxxkkkk'\n");
}

// --- Pages and graphs ---

TEST_F(FailingStepsTest, ProfilesAreWrittenAsPages) {
  ProfileOptions options{.program = good_, .runs = 1};
  options.html = Path("p.html");
  const Outcome outcome = Capture([&] { return ProfileProgram(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(Read(Path("p.html")), AllOf(HasSubstr("\"title\":\"good.belay\""),
                                          HasSubstr("\"subtitle\":\"times of the method forward\""),
                                          HasSubstr("\"profile\":{")));
}

TEST_F(FailingStepsTest, GraphsAreWrittenForEitherViewer) {
  for (const std::string& read : {good_, archive_}) {
    ASSERT_EQ(Capture([&] { return Inspect({.file = read, .dot = Path("g.dot")}); }).status, kDone);
    EXPECT_THAT(Read(Path("g.dot")), AllOf(HasSubstr("digraph {"), HasSubstr("relu")));
    ASSERT_EQ(
        Capture([&] { return Inspect({.file = read, .model_explorer = Path("g.json")}); }).status,
        kDone);
    EXPECT_THAT(nlohmann::json::parse(Read(Path("g.json")))["label"],
                fs::path(read).filename().string());
    fs::remove(Path("g.dot"));
    fs::remove(Path("g.json"));
  }
}

TEST_F(FailingStepsTest, TwoFilesAreNotWrittenToOneName) {
  const auto problem = [&](const std::vector<Command>& commands,
                           std::vector<std::string> arguments) {
    std::ostringstream out, error;
    EXPECT_EQ(RunCommandLine(std::move(arguments), commands, out, error), kBadUsage);
    return error.str();
  };
  const std::string same = Path("same");
  EXPECT_THAT(problem({ProfileCommand()}, {"profile", good_, "--trace", same, "--html", same}),
              HasSubstr("--trace and --html would write to one file, " + same));
  EXPECT_THAT(problem({ProfileCommand()}, {"profile", good_, "--html", good_}),
              HasSubstr("--html would be written over " + good_ + ", which is read"));
  EXPECT_THAT(
      problem({InspectCommand()}, {"inspect", good_, "--dot", same, "--model-explorer", same}),
      HasSubstr("--model-explorer and --dot would write to one file, " + same));
  EXPECT_THAT(problem({InspectCommand()}, {"inspect", good_, "--dot", good_}),
              HasSubstr("the graph would be written over " + good_ + ", which is read"));
}

}  // namespace
}  // namespace belay::tools
