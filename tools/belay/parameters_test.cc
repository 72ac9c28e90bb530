// External constants by rule, and replaceable parameters.
#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/program/program.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";

class ParametersTest : public TestInDirectory {
 protected:
  LowerOptions Options(const std::string& output) const {
    return {.input = kMlp, .output = Path(output)};
  }
  // Lowers with replaceable weights.
  std::string LowerReplaceable(const std::string& output = "m.belay") const {
    LowerOptions options = Options(output);
    options.replaceable = {"*"};
    const Outcome outcome = Capture([&] { return Lower(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return options.output;
  }
  std::string WriteParametersTo(const std::string& output, const std::string& input = kMlp) const {
    LowerOptions options = Options(output);
    options.input = input;
    options.replaceable = {"*"};
    options.stage = "parameters";
    const Outcome outcome = Capture([&] { return Lower(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return options.output;
  }
  Outcome RunWith(const std::string& program, const std::vector<std::string>& parameters,
                  const std::string& folder = "out") const {
    RunOptions options{.program = program, .output_dir = Path(folder)};
    options.data = parameters;
    options.seed = 0;
    return Capture([&] { return tools::Run(options); });
  }
  std::string Result(const std::string& program, const std::vector<std::string>& parameters) const {
    const Outcome outcome = RunWith(program, parameters);
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return Read(Path("out/0.npy"));
  }
};

TEST_F(ParametersTest, ReplaceThoseOfTheProgram) {
  LowerOptions plain = Options("plain.belay");
  ASSERT_EQ(Capture([&] { return Lower(plain); }).status, kDone);
  const std::string expected = Result(plain.output, {});
  const std::string program = LowerReplaceable();
  EXPECT_EQ(Result(program, {}), expected);
  const std::string parameters = WriteParametersTo("p.params");
  EXPECT_EQ(Result(program, {parameters}), expected);
  EXPECT_EQ(Result(program, {WriteParametersTo("p.ptd")}), expected);
  // Other weights: zeros.
  std::string bytes = Read(parameters);
  {
    ASSERT_OK_AND_ASSIGN(const Program file, Program::Open(parameters));
    for (const SegmentPlan& segment : file.segments()) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(segment.offset), segment.bytes.size(),
                  '\0');
    }
  }
  const std::string zeros = Write("zeros.params", bytes);
  const std::string result = Result(program, {zeros});
  EXPECT_NE(result, expected);
  const float half = 0.5;  // sigmoid(0), the last operator
  EXPECT_EQ(result.substr(result.size() - 4), std::string(reinterpret_cast<const char*>(&half), 4));
  // The digests of the file are those of the other bytes.
  EXPECT_NE(Capture([&] { return Inspect({.file = zeros, .verify = true}); }).status, kDone);
  EXPECT_EQ(Capture([&] { return Inspect({.file = parameters, .verify = true}); }).status, kDone);
}

TEST_F(ParametersTest, RejectsThoseOfAnotherModel) {
  const std::string program = LowerReplaceable();
  const std::string parameters =
      WriteParametersTo("other.params", "conformance/models/zoo/tiny_bert/model.pt2");
  const Outcome outcome = RunWith(program, {parameters});
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("unknown parameters"), HasSubstr("replaceable are")));
  const std::string own = WriteParametersTo("own.params");
  const Outcome twice = RunWith(program, {own, own});
  EXPECT_EQ(twice.status, kBadInput);
  EXPECT_THAT(twice.errors, HasSubstr("is in " + own + " and in " + own));
}

TEST_F(ParametersTest, PatternsMustMatch) {
  LowerOptions options = Options("m.belay");
  options.replaceable = {"lora.*"};
  const Outcome outcome = Capture([&] { return Lower(options); });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("has a name like 'lora.*'; there are: "));
  options.replaceable.clear();
  options.stage = "parameters";
  const Outcome nothing = Capture([&] { return Lower(options); });
  EXPECT_EQ(nothing.status, kBadUsage);
  EXPECT_THAT(nothing.errors, HasSubstr("--stage=parameters needs --replaceable"));
}

TEST_F(ParametersTest, ExternalConstantsByRule) {
  LowerOptions options = Options("m.belay");
  options.external_constants = {"*.weight=weights", "*.bias=biases"};
  const Outcome outcome = Capture([&] { return Lower(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  std::vector<std::string> files = Files();
  EXPECT_THAT(files, ElementsAre(MatchesRegex("biases-[0-9a-f]*\\.data"), "m.belay",
                                 MatchesRegex("weights-[0-9a-f]*\\.data")));
  LowerOptions plain = Options("plain.belay");
  ASSERT_EQ(Capture([&] { return Lower(plain); }).status, kDone);
  EXPECT_EQ(Result(options.output, {}), Result(plain.output, {}));
}

TEST_F(ParametersTest, DataFilesOfExecuTorchProgramsByRule) {
  LowerOptions options = Options("m.pte");
  options.external_constants = {"*.weight=weights", "rest"};
  options.replaceable = {"*.bias"};
  const Outcome outcome = Capture([&] { return Lower(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(Files(), ElementsAre("m.pte", "rest.ptd", "weights.ptd"));
  LowerOptions plain = Options("plain.pte");
  ASSERT_EQ(Capture([&] { return Lower(plain); }).status, kDone);
  EXPECT_EQ(Result(options.output, {Path("rest.ptd"), Path("weights.ptd")}),
            Result(plain.output, {}));
  EXPECT_THAT(RunWith(options.output, {Path("rest.ptd")}).errors, HasSubstr("external tensor"));
}

TEST_F(ParametersTest, InspectTellsReplaceableData) {
  const std::string program = LowerReplaceable();
  const Outcome outcome = Capture([&] { return Inspect({.file = program, .json = true}); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("\"replaceable\":true"));
  // Commands that open the programs in delegates.
  EXPECT_EQ(Capture([&] { return Strip({.file = program, .output = Path("s.belay")}); }).status,
            kDone);
  EXPECT_EQ(Result(Path("s.belay"), {}), Result(program, {}));
}

}  // namespace
}  // namespace belay::tools
