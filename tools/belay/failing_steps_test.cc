// Commands with a failing step: missing or invalid input files, missing output folders, programs
// that fail. Each error names the cause and the file.
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/saved_programs.h"
#include "exir/testing/programs.h"
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
  // Loads, but fails in each call.
  static TestProgram FailingProgram(const Sizes& sizes) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    method.Output(method.Input("x", DType::kFloat32, sizes));
    method.Call("aten._assert_scalar.default", {method.Bool(false), method.String(kRule)}, {});
    return program;
  }

  // Returns its input in the first call and fails in the second.
  static TestProgram OnceProgram(const Sizes& sizes) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    method.Output(method.Input("x", DType::kFloat32, sizes));
    const uint32_t truth = program.AddConstantBytes(std::string_view("\1", 1));
    const uint32_t first = method.State("first", DType::kBool, {1}, truth + 1);
    method.Call("aten._assert_async.msg", {first, method.String(kRule)}, {});
    method.Call("aten.logical_not.default", {method.Constant(truth, DType::kBool, {1})}, {first});
    return program;
  }
  // relu(x + w) as in the archive, plus `state`, which equals `next` after the first call.
  static TestProgram ArchiveProgram(float next) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    const auto constant = [&](const std::vector<float>& elements) {
      return method.Constant(program.AddConstant(elements), DType::kFloat32, {2, 3});
    };
    const uint32_t x = method.Input("x", DType::kFloat32, {2, 3});
    const uint32_t state = method.State("state", DType::kFloat32, {2, 3});
    const uint32_t one = method.Int(1), zeros = constant(std::vector<float>(6, 0));
    const auto add = [&](uint32_t a, uint32_t b, uint32_t sum) {
      method.Call("aten.add.Tensor", {a, b, one}, {sum});
      return sum;
    };
    const auto arena = [&] { return method.Arena(DType::kFloat32, {2, 3}); };
    const uint32_t relu = arena();
    method.Call("aten.relu.default", {add(x, constant({1, 2, 3, 4, 5, 6}), arena())}, {relu});
    method.Output(add(relu, state, arena()));
    add(constant(std::vector<float>(6, next)), zeros, state);
    return program;
  }

  // Runs all commands that execute a program, with these inputs; random ones if empty.
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

TEST_F(FailingStepsTest, FailingProgramsReportReason) {
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

TEST_F(FailingStepsTest, FailingLaterCallsReportReason) {
  const std::string once = Write("once.belay", OnceProgram({2, 3}).Serialize());
  for (const auto& [name, command] : Executing(once, {})) {
    SCOPED_TRACE(name);
    if (name == "run") {
      RunOptions options{.program = once, .repeat = 2};
      options.seed = 1;
      Expect([&] { return tools::Run(options); }, kBadInput, kRule);
    } else {
      Expect(command, kBadInput, kRule);
    }
  }
}

TEST_F(FailingStepsTest, StressRequiresExecutableFile) {
  Expect([&] { return Stress({.file = fails_, .write = {}, .mutations = 1}); }, kBadInput,
         "fails.belay: the unmodified file fails (execute): ");
  const fs::path before = fs::current_path();
  fs::current_path(directory_);  // the companions are in "."
  Expect([&] { return Stress({.file = "good.belay", .write = {}, .mutations = 1}); }, kDone, "");
  fs::current_path(before);
  // Inputs that a program mutates are not copied at load.
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  method.MutatedInput("x", DType::kFloat32, {int64_t{1} << 27});
  method.Output(method.Int(1));
  const std::string input = Write("input.belay", program.Serialize());
  Expect([&] { return Stress({.file = input, .write = {}, .mutations = 1}); }, kBadInput,
         "the unmodified file fails (input): an input is too large to try");
}

TEST_F(FailingStepsTest, FailingArchivesReportReason) {
  const std::string unknown = Write(
      "unknown.pt2", exir::PackArchive(exir::DefaultFiles(exir::ProgramJson(
                         {{"torch.ops.aten.relu.default", "torch.ops.nowhere.relu.default"}}))));
  Expect([&] { return Verify({.archive = unknown, .program = good_}); }, kUnsupported,
         "edge.nowhere.relu.default(self=%add): the operator has no schema or no meta kernel");
  exir::ArchiveFiles files = exir::DefaultFiles(exir::ProgramJson());
  const auto with_weight = [&](const std::string& bytes) {
    exir::SetFile(files, "data/weights/weight_0", &bytes);
    return Write("weight.pt2", exir::PackArchive(files));
  };
  Expect([&] { return Verify({.archive = with_weight("1234"), .program = good_}); }, kBadInput,
         "'w'");
  // As torch saves a tensor without data, which lowering reports.
  Expect([&] { return Lower({.input = with_weight(""), .output = Path("p.belay")}); }, kDone,
         "without data in the archive, filled with zeros");
}

TEST_F(FailingStepsTest, ReportsUncheckedGuards) {
  const std::string guard = "L['another_input'].size()[0] == 7";
  LowerOptions options{
      .input = Write("guard.pt2",
                     exir::PackArchive(exir::DefaultFiles(exir::ProgramJson(
                         {{"\"guards_code\": []", "\"guards_code\": [\"" + guard + "\"]"}})))),
      .output = Path("p.belay")};
  options.json = true;
  const Outcome outcome = Capture([&] { return Lower(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_EQ(outcome.errors,
            "belay: method forward: the program can't check this assumption of the exporter about "
            "its inputs: " +
                guard + "\n");
  EXPECT_EQ(nlohmann::json::parse(outcome.output)["unchecked_guards"][0]["guard"], guard);
}

TEST_F(FailingStepsTest, RejectsProgramsBeyondMemoryLimit) {
  TestProgram echo;
  TestMethod method = echo.AddMethod("forward");
  method.Output(method.Input("x", DType::kFloat32, {int64_t{1} << 31}));
  RunOptions options{.program = Write("echo.belay", echo.Serialize())};
  options.limits.memory = uint64_t{1} << 32;  // more than the test process uses
  Expect([&] { return tools::Run(options); }, kBadInput,
         "exceeds the limit 'arena_bytes' of 4294967296");
}

TEST_F(FailingStepsTest, DamagedSavedProgramsAreBadInput) {
  LowerOptions options{.input = archive_, .output = Path("m.bir")};
  options.stage = "edge";
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  const std::string damaged = Write("damaged.bir", Read(Path("m.bir")).substr(0, 40));
  Expect([&] { return Lower({.input = damaged, .output = Path("p.belay")}); }, kBadInput, damaged);
  Expect([&] { return Inspect({.file = damaged}); }, kBadInput, damaged);
  Expect([&] { return Verify({.archive = damaged, .program = good_}); }, kBadInput, damaged);
  Expect([&] { return Lower({.input = "", .output = Path("p.belay")}); }, kBadUsage,
         "lower needs an archive, or --method NAME=FILE");
}

TEST_F(FailingStepsTest, RejectsMissingInputFiles) {
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
  options.inputs = {none};
  Expect([&] { return Verify(options); }, kBadInput, none);
  RunOptions run{.program = Path("none.pte")};
  run.data = {Path("none.ptd")};
  Expect([&] { return tools::Run(run); }, kBadInput, Path("none.pte"));
}

TEST_F(FailingStepsTest, RejectsMismatchedInputs) {
  for (const auto& [name, command] : Executing(good_, {Path("other.npy")})) {
    SCOPED_TRACE(name);
    Expect(command, kBadInput, "'x'");
  }
  Expect(
      [&] {
        return Verify({.archive = archive_, .program = good_, .inputs = {Path("other.npy")}});
      },
      kBadInput, "interpreter: ");
  for (const auto& [name, command] : Executing(good_, {Path("x.npy"), Path("x.npy")})) {
    SCOPED_TRACE(name);
    Expect(command, kBadInput, "2");
  }
}

TEST_F(FailingStepsTest, RejectsUnknownEngines) {
  for (const auto& [name, command] : Executing(good_, {}, "steam")) {
    SCOPED_TRACE(name);
    Expect(command, kBadInput, "unknown engine 'steam'; expected: highway, reference");
  }
  for (const std::string& program : {good_, std::string()}) {
    Expect([&] { return Verify({.archive = archive_, .program = program, .engine = "steam"}); },
           kBadInput, "unknown engine 'steam'");
  }
}

TEST_F(FailingStepsTest, RejectsOutputInMissingFolder) {
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
  lower.html = Path("p.html");
  Expect([&] { return Lower(lower); }, kBadInput, file);
  EXPECT_FALSE(fs::exists(lower.html));
  VerifyOptions verify{.archive = archive_, .program = ""};
  verify.dump = good_;  // the path is a file
  Expect([&] { return Verify(verify); }, kBadInput, good_);
  // The signature's path is a folder.
  ASSERT_EQ(Capture([&] { return Keygen({Path("a")}); }).status, kDone);
  fs::create_directory(good_ + ".sig");
  Expect([&] { return SignFile({.file = good_, .key = Path("a.key")}); }, kBadInput,
         good_ + ".sig");
  RunOptions run{.program = good_, .output_dir = Path("out")};
  run.seed = 1;
  fs::create_directories(Path("out/0.npy"));
  Expect([&] { return tools::Run(run); }, kBadInput, Path("out/0.npy"));
}

TEST_F(FailingStepsTest, DetectsFilesOfOtherArchives) {
  const std::string two = Write("two.belay", ReluProgram({2, 3}, 2).Serialize());
  Expect([&] { return Verify({.archive = archive_, .program = two}); }, kBadInput,
         "expected 1 outputs of the archive's program, got 2: the file was lowered from another "
         "archive");
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  method.Output(method.ScalarInput("n", schema::ScalarSlot::INT));
  const std::string scalar = Write("scalar.belay", program.Serialize());
  Expect([&] { return Verify({.archive = archive_, .program = scalar}); }, kBadInput,
         "its input 0 'n' is not a tensor");
}

// A difference only in a later call is not attributed to a node; the edge program is interpreted
// for the same number of calls.
TEST_F(FailingStepsTest, ReportsStateDependentDifferences) {
  for (const bool matters : {false, true}) {
    const std::string program = Write("state.belay", ArchiveProgram(matters ? 1 : 0).Serialize());
    VerifyOptions options{.archive = archive_, .program = program};
    options.calls = matters ? 3 : 2;  // the last one is not executed
    const Outcome outcome = Capture([&] { return Verify(options); });
    EXPECT_EQ(outcome.status, matters ? kNegative : kDone) << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr(matters ? "call 1, output 0: " : " in 2 calls\n"));
    EXPECT_EQ(outcome.output.ends_with("or the state of earlier calls matters\n"), matters);
  }
}

TEST_F(FailingStepsTest, DetectsArchivesWithOtherInputs) {
  const auto ops = exir::CreateStandardOps();
  ASSERT_OK(ops.status());
  exir::MethodPrograms programs;
  programs.emplace_back("forward", exir::ParseOrDie(R"(program edge {
    ranges { s0: [1,9] }
    graph(%n: symint(s0) user_input, %k: const(3) constant_input, %x: f32[s0] user_input) {
      %y: f32[s0] = edge.aten.relu.default(%x)
      return (%y user_output)
    } })",
                                                    **ops));
  ASSERT_OK(exir::WriteSavedPrograms(programs, Path("n.bir")));
  Expect([&] { return Verify({.archive = Path("n.bir"), .program = good_}); }, kBadInput,
         "it has 1 inputs, the archive's program 3; its input 0 'x' is f32 of rank 2, that of the "
         "archive's program 'n' is not a tensor");
}

TEST_F(FailingStepsTest, LocatesDifferencesWithRequestedBackend) {
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

// DIR or METHOD=DIR; the name of an existing folder is always DIR.
TEST_F(FailingStepsTest, SequenceFoldersMayHaveAnyName) {
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
  Expect([&] { return tools::Run(options); }, kBadInput, "unknown method");
}

TEST_F(FailingStepsTest, DissimilarNamesHaveNoSuggestion) {
  const Outcome outcome = Capture([] { return Ops({.name = "zzzzqqqqxxxxkkkk"}); });
  EXPECT_EQ(outcome.status, kNegative);
  EXPECT_EQ(outcome.errors, "belay: no operator name contains 'zzzzqqqqxxxxkkkk'\n");
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

TEST_F(FailingStepsTest, WritesGraphsForEachViewer) {
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

TEST_F(FailingStepsTest, RejectsTwoOutputsWithSamePath) {
  const auto problem = [&](const std::vector<Command>& commands,
                           std::vector<std::string> arguments) {
    std::ostringstream out, error;
    EXPECT_EQ(RunCommandLine(std::move(arguments), commands, out, error), kBadUsage);
    return error.str();
  };
  const std::string same = Path("same");
  EXPECT_THAT(problem({ProfileCommand()}, {"profile", good_, "--trace", same, "--html", same}),
              HasSubstr("--trace and --html would write to the same file, " + same));
  EXPECT_THAT(problem({ProfileCommand()}, {"profile", good_, "--html", good_}),
              HasSubstr("--html would overwrite the input file " + good_));
  EXPECT_THAT(
      problem({InspectCommand()}, {"inspect", good_, "--dot", same, "--model-explorer", same}),
      HasSubstr("--model-explorer and --dot would write to the same file, " + same));
  EXPECT_THAT(problem({InspectCommand()}, {"inspect", good_, "--dot", good_}),
              HasSubstr("the graph would overwrite the input file " + good_));
}

}  // namespace
}  // namespace belay::tools
