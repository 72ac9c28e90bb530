#include "tools/profile/profile_report.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "tools/profile/testing/logged_method.h"
#include "tools/profile/testing/unary_call.h"

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

TEST_F(ReportTest, SharesAddUpToOne) {
  const json report = Report();
  for (const char* table : {"by_operator", "by_module", "by_source", "by_backend"}) {
    double share = 0;
    for (const json& row : report[table]) share += row["share"].get<double>();
    EXPECT_NEAR(share, 1, 1e-9) << table;
    EXPECT_NE(Row(report[table], "(outside of instructions)"), nullptr) << table;
  }
}

TEST_F(ReportTest, GroupsMatchProgram) {
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

TEST_F(ReportTest, TextHasAllTables) {
  const json report = Report();
  const std::string text = ProfileText(report, 15);
  for (const char* part : {"3 runs: ", "instruction\n", "operator\n", "module\n", "source line\n",
                           "backend\n", "a: aten.neg.default, ", "m.py:1", "body\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(ProfileText(report, 1), HasSubstr(" more\n"));
}

TEST_F(ReportTest, StrippedProgramReportsMissingData) {
  const json report = Report(/*debug_info=*/false);
  EXPECT_NE(Row(report["instructions"], "instruction 0"), nullptr);
  const std::string text = ProfileText(report, 15);
  EXPECT_THAT(text, HasSubstr("missing: forward: no debug data"));
  EXPECT_THAT(text, HasSubstr("operator\n"));
  EXPECT_THAT(text, Not(HasSubstr("source line\n")));
}

// A slow relu.
absl::Status SlowRelu(KernelContext& context, const UnaryCall& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, call.self->sizes));
  absl::SleepFor(absl::Milliseconds(5));
  return CopyElements(*call.self, *out);
}
constexpr Kernel kSlow[] = {
    KernelRow<&SlowRelu>("aten.relu.default", "self", "SlowRelu", KernelEngine::kHighway),
};

TEST_F(ReportTest, SlowestKernelIsFirst) {
  const absl::StatusOr<std::unique_ptr<LoggedMethod>> logged =
      LoggedMethod::Create(kProgram, {}, /*debug_info=*/true, kSlow);
  ASSERT_OK(logged);
  ASSERT_OK((*logged)->Execute());
  CodeMap code((*logged)->method());
  Profile profile(code);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK((*logged)->Execute());
    profile.AddRun((*logged)->log().events());
  }
  const json report = ProfileJson(profile);
  const json& first = report["instructions"][0];
  EXPECT_EQ(first["name"], "c");
  EXPECT_EQ(first["kernel"], "SlowRelu");
  EXPECT_EQ(first["source"], "m.py:3");
  EXPECT_EQ(report["by_operator"][0]["name"], "aten.relu.default");
  EXPECT_EQ(report["by_module"][0]["name"], "body");
  EXPECT_EQ(report["by_source"][0]["name"], "m.py:3");
  const std::string text = ProfileText(report, 15);
  const size_t table = text.find("  instruction\n");
  ASSERT_NE(table, std::string::npos);
  const size_t line = text.find('\n', table) + 1;
  EXPECT_THAT(text.substr(line, text.find('\n', line) - line),
              HasSubstr("c: aten.relu.default, SlowRelu, m.py:3"));
}

TEST_F(ReportTest, ReportsHardwareCountersIfAvailable) {
  EXPECT_FALSE(Report().contains("hardware"));  // no counters
  const absl::StatusOr<std::unique_ptr<LoggedMethod>> logged = LoggedMethod::Create(kProgram, {});
  ASSERT_OK(logged);
  ASSERT_OK((*logged)->Execute());
  CodeMap code((*logged)->method());
  Profile profile(code);
  for (const double cycles : {1000.0, 2000.0, 9000.0}) {
    ASSERT_OK((*logged)->Execute());
    profile.AddRun((*logged)->log().events(), {cycles, 3 * cycles, std::nullopt});
  }
  const json report = ProfileJson(profile);
  EXPECT_EQ(report["hardware"], (json{{"cycles", 2000.0}, {"instructions", 6000.0}}));
  EXPECT_THAT(ProfileText(report, 15),
              HasSubstr("\n2000 cycles, 6000 instructions (3.00 per cycle) per call (p50)\n"));
  EXPECT_THAT(ProfileText(Report(), 15), Not(HasSubstr("cycles")));
}

TEST_F(ReportTest, ReportsPeakMemory) {
  const json report = Report();
  ASSERT_EQ(report["memory"].size(), 1u);  // the demo delegate has no program
  const json& memory = report["memory"][0];
  EXPECT_EQ(memory["path"], "forward");
  const auto peak = memory["peak_bytes"].get<uint64_t>();
  EXPECT_GT(peak, 0u);
  EXPECT_LE(peak, memory["arena_bytes"].get<uint64_t>());
  uint64_t most = 0;
  for (const json& row : report["instructions"]) {
    const auto bytes = row.value("arena_bytes", uint64_t{0});
    most = std::max(most, bytes);
    if (row["name"] == memory["peak_at"]) EXPECT_EQ(bytes, peak);
  }
  EXPECT_EQ(most, peak);
  EXPECT_THAT(ProfileText(report, 15), HasSubstr("forward: arena of "));
}

TEST_F(ReportTest, ReportsWhyReferenceKernelWasSelected) {
  const absl::StatusOr<std::unique_ptr<LoggedMethod>> logged =
      LoggedMethod::Create(R"(program edge {
  constants { state "w": f64[1,1,4,4] }
  graph(%w: f64[1,1,4,4] parameter "w") {
    %a: f64[1,1,2,2] = edge.aten.avg_pool2d.default(%w, [2,2])
    %b: f64[1,1,1,1] = edge.aten.avg_pool2d.default(%a, [2,2])
    return (%b user_output)
  }
})",
                           {});
  ASSERT_OK(logged);
  ASSERT_OK((*logged)->Execute());
  CodeMap code((*logged)->method());
  Profile profile(code);
  profile.AddRun((*logged)->log().events());
  const json report = ProfileJson(profile);
  for (const json& row : report["instructions"]) {
    EXPECT_EQ(row["engine"], "reference");
    EXPECT_EQ(row["declined"], json::parse(R"([{"kernel": "AvgPool2dSimd",
                                                "reason": "takes f32, f16 or bf16, not f64"}])"));
  }
  EXPECT_THAT(ProfileText(report, 15),
              HasSubstr("% AvgPool2dSimd takes f32, f16 or bf16, not f64: 2 instructions, the "
                        "slowest is "));
  EXPECT_THAT(ProfileText(Report(), 15), Not(HasSubstr("because a faster one declined")));
}

TEST_F(ReportTest, RoofColumnIfKnown) {
  json report = Report();
  EXPECT_THAT(ProfileText(report, 15), Not(HasSubstr("roof")));
  report["instructions"][0]["roof"] = 0.415;
  EXPECT_THAT(ProfileText(report, 15),
              testing::AllOf(HasSubstr("roof  instruction\n"), HasSubstr("   42 %  ")));
}

TEST_F(ReportTest, BytesHaveUnits) {
  json report = Report();
  const auto line = [&](double arena, double peak) {
    report["memory"] = {{{"path", "forward"},
                         {"arena_bytes", arena},
                         {"peak_bytes", peak},
                         {"peak_at", peak > 0 ? "relu" : ""},
                         {"scratch_bytes", 0},
                         {"scratch_at", ""}}};
    return ProfileText(report, 15);
  };
  EXPECT_THAT(line(999, 0), HasSubstr("forward: arena of 999 B, at most 0 B in use\n"));
  EXPECT_THAT(line(1500, 1000), HasSubstr("arena of 1.5 kB, at most 1 kB in use (at relu)\n"));
  EXPECT_THAT(line(2.5e9, 3e6), HasSubstr("arena of 2.5 GB, at most 3 MB in use (at relu)"));
}

TEST_F(ReportTest, InstructionsPerCycleOnlyIfCounted) {
  json report = Report();
  report["hardware"] = {{"instructions", 6000.0}};
  EXPECT_THAT(ProfileText(report, 15), HasSubstr("\n6000 instructions per call (p50)\n"));
  report["hardware"] = {{"cycles", 0.0}, {"instructions", 6000.0}, {"cache_misses", 7.0}};
  EXPECT_THAT(ProfileText(report, 15),
              HasSubstr("\n0 cycles, 6000 instructions, 7 cache misses per call (p50)\n"));
}

TEST_F(ReportTest, CountsOmittedReasons) {
  json report = Report();
  ASSERT_GE(report["instructions"].size(), 2u);
  report["instructions"][0]["declined"] = {{{"kernel", "A"}, {"reason", "is far"}}};
  report["instructions"][1]["declined"] = {{{"kernel", "B"}, {"reason", "is near"}}};
  for (const size_t row : {0, 1}) report["instructions"][row]["engine"] = "reference";
  const std::string text = ProfileText(report, 1);
  EXPECT_THAT(text, HasSubstr(": 1 instruction, the slowest is "));
  EXPECT_THAT(text, HasSubstr("\n1 more\n"));
}

json OneNode(const char* name, double ms) {
  return {{"path", "forward"}, {"name", name}, {"operator", "aten.neg.default"}, {"p50_ms", ms}};
}

TEST(CompareProfilesTest, ListsChangesByLargestSlowdown) {
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
            "3 instructions are unchanged\n");
}

TEST(CompareProfilesTest, RejectsInvalidProfile) {
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
    const auto refused =
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("belay profile --json"));
    EXPECT_THAT(CompareProfiles(json::parse(bad), good), refused) << bad;
    EXPECT_THAT(CompareProfiles(good, json::parse(bad)), refused) << bad;
  }
}

}  // namespace
}  // namespace belay::tools
