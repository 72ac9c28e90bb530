#include "tools/profile/profile_report.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "tools/profile/logged_method.h"

namespace belay::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kProgram = R"(program edge {
  graph(%x: f32[64,64] user_input) {
    %a: f32[64,64] = edge.aten.neg.default(%x)  @"m.py":1 module="pre" handle=1
    %b: f32[64,64] = edge.aten.mm.default(%a, %x)  @"m.py":2 module="body" handle=2
    %c: f32[64,64] = edge.aten.relu.default(%b)  @"m.py":3 module="body" handle=3
    %d: f32[64,64] = edge.aten.neg.default(%c)  @"m.py":4 module="post" handle=4
    return (%d user_output)
  }
})";

class ReportTest : public ::testing::Test {
 protected:
  json Report(bool debug_info = true) {
    absl::StatusOr<std::unique_ptr<LoggedMethod>> logged = LoggedMethod::Create(
        kProgram, {{"demo", {"aten.mm.default", "aten.relu.default"}}}, debug_info);
    EXPECT_OK(logged);
    EXPECT_OK((*logged)->Execute());
    CodeMap code((*logged)->method());
    Profile profile(code);
    for (int i = 0; i < 3; ++i) {
      EXPECT_OK((*logged)->Execute());
      profile.AddRun((*logged)->log().events());
    }
    return ProfileJson(profile);
  }
  static const json* Row(const json& rows, const std::string& name) {
    for (const json& row : rows) {
      if (row["name"] == name) return &row;
    }
    return nullptr;
  }
};

TEST_F(ReportTest, SharesOfEachTableAddUpToOne) {
  const json report = Report();
  for (const char* table : {"by_operator", "by_module", "by_source", "by_backend"}) {
    double share = 0;
    for (const json& row : report[table]) share += row["share"].get<double>();
    EXPECT_NEAR(share, 1, 1e-9) << table;
    EXPECT_NE(Row(report[table], "(outside of instructions)"), nullptr) << table;
  }
}

TEST_F(ReportTest, GroupsAreWhatTheProgramSays) {
  const json report = Report();
  EXPECT_EQ(report["runs"], 3);
  const json* neg = Row(report["by_operator"], "aten.neg.default");
  ASSERT_NE(neg, nullptr);
  EXPECT_EQ((*neg)["count"], 2);
  EXPECT_GT((*neg)["gb_per_s"].get<double>(), 0);
  EXPECT_NE(Row(report["by_operator"], "aten.mm.default"), nullptr);  // a step, by its node
  const json* body = Row(report["by_module"], "body");
  ASSERT_NE(body, nullptr);
  EXPECT_EQ((*body)["count"], 2);
  EXPECT_NE(Row(report["by_source"], "m.py:3"), nullptr);
  EXPECT_NE(Row(report["by_backend"], "demo"), nullptr);
  EXPECT_NE(Row(report["by_backend"], "(program)"), nullptr);
  const json* step = Row(report["instructions"], "step 0");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ((*step)["nodes"][0]["node"], "b");
  EXPECT_EQ((*step)["nodes"][0]["source"], "m.py:2");
}

TEST_F(ReportTest, TheTextHasATableOfEach) {
  const json report = Report();
  const std::string text = ProfileText(report, 15);
  for (const char* part : {"3 runs: ", "instruction\n", "operator\n", "module\n", "source line\n",
                           "backend\n", "a: aten.neg.default, ", "m.py:1", "body\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(ProfileText(report, 1), HasSubstr(" more\n"));
}

TEST_F(ReportTest, AStrippedProgramHasInstructionsAndSaysWhatIsMissing) {
  const json report = Report(/*debug_info=*/false);
  EXPECT_NE(Row(report["instructions"], "instruction 0"), nullptr);
  const std::string text = ProfileText(report, 15);
  EXPECT_THAT(text, HasSubstr("missing: forward: no debug data"));
  EXPECT_THAT(text, HasSubstr("operator\n"));
  EXPECT_THAT(text, Not(HasSubstr("source line\n")));
}

json OneNode(const char* name, double ms) {
  return {{"path", "forward"}, {"name", name}, {"operator", "aten.neg.default"}, {"p50_ms", ms}};
}

TEST(CompareProfilesTest, ListsWhatChangedBeginningWithWhatGrewMost) {
  const json before{
      {"wall_ms", {{"p50", 10.0}}},
      {"instructions",
       {OneNode("same", 1.0), OneNode("slow", 2.0), OneNode("fast", 4.0), OneNode("tiny", 0.001),
        OneNode("twice", 1.0), OneNode("twice", 2.0), OneNode("old", 0.5)}}};
  const json now{
      {"wall_ms", {{"p50", 12.0}}},
      {"instructions",
       {OneNode("same", 1.01), OneNode("slow", 5.0), OneNode("fast", 3.0), OneNode("tiny", 0.002),
        OneNode("twice", 1.0), OneNode("twice", 3.0), OneNode("young", 0.25)}}};
  ASSERT_OK_AND_ASSIGN(const std::string text, CompareProfiles(before, now));
  EXPECT_EQ(text,
            " before ms     now ms     change            p50 of\n"
            "      10.0       12.0    +2.0000   +20.0 %  the whole call\n"
            "     2.000      5.000    +3.0000  +150.0 %  forward: slow: aten.neg.default\n"
            "     2.000      3.000    +1.0000   +50.0 %  forward: twice: aten.neg.default #2\n"
            "    0.0000      0.250    +0.2500            forward: young: aten.neg.default (new)\n"
            "     0.500     0.0000    -0.5000  -100.0 %  forward: old: aten.neg.default (gone)\n"
            "     4.000      3.000    -1.0000   -25.0 %  forward: fast: aten.neg.default\n"
            "3 instructions take about as long as before\n");
}

TEST(CompareProfilesTest, RefusesWhatIsNoProfile) {
  const json good{{"wall_ms", {{"p50", 10.0}}}, {"instructions", {OneNode("a", 1.0)}}};
  EXPECT_OK(CompareProfiles(good, good));
  for (const char* bad :
       {"1", "null", "[]", "{}", R"({"wall_ms": 3, "instructions": []})",
        R"({"wall_ms": {"p50": "x"}, "instructions": []})",
        R"({"wall_ms": {"p50": 1}, "instructions": {}})",
        R"({"wall_ms": {"p50": 1}, "instructions": [1]})",
        R"({"wall_ms": {"p50": 1}, "instructions": [{"path": "a", "name": "b"}]})",
        R"({"wall_ms": {"p50": 1}, "instructions": [{"path": 1, "name": "b", "operator": "c"}]})",
        R"({"wall_ms": {"p50": 1},
            "instructions": [{"path": "a", "name": "b", "operator": "c", "p50_ms": "d"}]})"}) {
    EXPECT_THAT(CompareProfiles(json::parse(bad), good),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("belay profile --json")))
        << bad;
  }
}

}  // namespace
}  // namespace belay::tools
