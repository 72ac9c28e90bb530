#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"
#include "tools/belay/program_diff.h"

namespace belay::tools {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";
constexpr char kDigits[] = "conformance/models/zoo/digits_cnn/model.pt2";

class DiffTest : public TestInDirectory {
 protected:
  std::string Lowered(const std::string& archive, const std::string& name,
                      const std::vector<std::string>& backends = {"none"},
                      const std::string& quantize = "") {
    LowerOptions options;
    options.input = archive;
    options.output = Path(name);
    options.backends = backends;
    options.quantize = quantize;
    const Outcome outcome = Capture([&] { return Lower(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return options.output;
  }
  static Outcome Diff(const std::string& before, const std::string& after, bool as_json = false) {
    return Capture(
        [&] { return DiffPrograms({.before = before, .after = after, .json = as_json}); });
  }
  // Writes a program with one constant, state and a literal.
  std::string Small(const std::string& name, float element, const std::string& state,
                    double literal) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    const uint32_t constant = program.AddConstant<float>({element, 2});
    method.State(state, DType::kFloat32, {2}, constant + 1);
    method.Output(method.Constant(constant, DType::kFloat32, {2}));
    method.Output(method.Double(literal));
    return Write(name, program.Serialize());
  }
};

TEST_F(DiffTest, IdenticalFilesHaveNoDifferences) {
  const std::string path = Lowered(kMlp, "a.belay");
  const Outcome outcome = Diff(path, path);
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_EQ(outcome.output, "the files are identical\n");
  const json as_json = json::parse(Diff(path, path, true).output);
  EXPECT_EQ(as_json, (json{{"identical", true}, {"parts", json::array()}}));
}

TEST_F(DiffTest, ReportsOperatorsConstantsAndSizes) {
  const Outcome outcome = Diff(Lowered(kMlp, "a.belay"), Lowered(kDigits, "b.belay"));
  EXPECT_EQ(outcome.status, kNegative) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("file:\n"), HasSubstr("  bytes: "),
                                    HasSubstr("  bytes of constants: "),
                                    HasSubstr("method 'forward':\n"), HasSubstr("  input 0: "),
                                    HasSubstr("  calls of aten.convolution.default: none -> "),
                                    HasSubstr("  arena bytes: "), HasSubstr("constants:\n  f32[")));
}

TEST_F(DiffTest, ReportsDelegates) {
  const Outcome outcome = Diff(Lowered(kDigits, "a.belay"), Lowered(kDigits, "b.belay", {"cpu"}));
  EXPECT_EQ(outcome.status, kNegative) << outcome.errors;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("  delegate 0: none -> "),
                    HasSubstr("method 'forward', delegate 0, method 'forward': only in "),
                    HasSubstr("named data:\n")));
}

TEST_F(DiffTest, ComparesProgramsInsideDelegates) {
  const std::string before = Lowered(kDigits, "a.belay", {"cpu"}),
                    after = Lowered(kDigits, "b.belay", {"cpu"}, "weights-int8");
  const json diff = json::parse(Diff(before, after, true).output);
  bool found = false;
  for (const json& part : diff["parts"]) {
    if (part["name"] != "method 'forward', delegate 0, method 'forward'") continue;
    for (const json& d : part["differences"]) {
      found |= d["name"].get<std::string>().starts_with("calls of belay_cpu.") &&
               (d["before"].is_null() || d["after"].is_null());
    }
  }
  EXPECT_TRUE(found) << diff.dump(1);
}

TEST_F(DiffTest, ReportsMethodsOfOneProgram) {
  LowerOptions options;
  options.methods = {std::string("forward=") + kMlp, std::string("second=") + kMlp};
  options.output = Path("two.belay");
  options.backends = {"none"};
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  const std::string one = Lowered(kMlp, "one.belay");
  EXPECT_THAT(Diff(options.output, one).output,
              HasSubstr("method 'second': only in " + options.output + "\n"));
  const json diff = json::parse(Diff(one, options.output, true).output);
  EXPECT_EQ(diff["parts"].back()["name"], "method 'second'") << diff.dump(1);
  EXPECT_EQ(diff["parts"].back()["only_in"], "after");
  // Both methods have the same constants.
  for (const json& part : diff["parts"]) EXPECT_NE(part["name"], "constants");
}

TEST_F(DiffTest, ReportsStateAndConstantContents) {
  const Outcome outcome =
      Diff(Small("a.belay", 1, "counter", 0.5), Small("b.belay", 3, "renamed", 0.5));
  EXPECT_EQ(outcome.status, kNegative) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("  state counter: f32[2], 8 bytes, "),
                                    HasSubstr("  state renamed: none -> f32[2], 8 bytes, "),
                                    HasSubstr("constants:\n  f32[2], 8 bytes, ")));
}

TEST_F(DiffTest, SaysIfOnlyOtherBytesDiffer) {
  const Outcome outcome = Diff(Small("a.belay", 1, "s", 0.5), Small("b.belay", 1, "s", 1.5));
  EXPECT_EQ(outcome.status, kNegative) << outcome.errors;
  EXPECT_EQ(outcome.output,
            "all parts are equal, but the files are not: literals, order or offsets differ\n");
}

TEST_F(DiffTest, ErrorsNameTheFile) {
  const std::string program = Lowered(kMlp, "a.belay");
  const Outcome outcome = Diff(program, Write("b.belay", "no program"));
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("b.belay"));
  EXPECT_THAT(outcome.output, IsEmpty());
}

TEST(DiffPartsTest, ListsFactsOfEitherSide) {
  const std::vector<ProgramPart> before = {{"p", {{"a", 1}, {"b", "x"}, {"c", 2}}}, {"q", {}}};
  const std::vector<ProgramPart> after = {{"r", {}}, {"p", {{"a", 1}, {"b", "y"}, {"d", 3}}}};
  const std::vector<PartDiff> diffs = DiffParts(before, after);
  ASSERT_EQ(diffs.size(), 3);
  EXPECT_EQ(diffs[0].name, "p");
  ASSERT_EQ(diffs[0].differences.size(), 3);
  EXPECT_EQ(diffs[0].differences[0].name, "b");
  EXPECT_EQ(diffs[0].differences[1].after, nullptr);
  EXPECT_EQ(diffs[0].differences[2].before, nullptr);
  EXPECT_TRUE(diffs[1].only_before);
  EXPECT_TRUE(diffs[2].only_after);
  EXPECT_THAT(DiffParts(before, before), IsEmpty());
}

}  // namespace
}  // namespace belay::tools
