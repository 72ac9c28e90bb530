// Output and files of `belay profile`.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "executorch/format/etdump_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

class ProfileCommandTest : public TestInDirectory {
 protected:
  // A program of the zoo, lowered.
  std::string LowerZoo(const std::string& name, const std::string& backend) const {
    LowerOptions options{.input = "conformance/models/zoo/" + name + "/model.pt2",
                         .output = Path(name + "_" + backend + ".belay"),
                         .backends = {backend}};
    options.max_size = {"8"};
    const Outcome outcome = Capture([&] { return Lower(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return options.output;
  }
  static Outcome Profiled(ProfileOptions options) {
    options.runs = 3;
    return Capture([&] { return ProfileProgram(options); });
  }
  static json Figures(const std::string& program) {
    const Outcome outcome = Profiled({.program = program, .json = true});
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return json::parse(outcome.output, nullptr, /*allow_exceptions=*/false);
  }
};

TEST_F(ProfileCommandTest, PrintsTablesByInstructionOperatorModuleLineAndBackend) {
  const Outcome outcome = Profiled({.program = LowerZoo("mobilenet_tiny", "cpu")});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  for (const char* part : {"3 runs: ", "  instruction\n", "  operator\n", "  module\n",
                           "  source line\n", "  backend\n", "belay_cpu.conv2d.default", ".py:"}) {
    EXPECT_THAT(outcome.output, HasSubstr(part));
  }
  EXPECT_THAT(outcome.output, Not(HasSubstr("missing")));
}

// Every delegate event maps to a node of the model.
TEST_F(ProfileCommandTest, ResolvesEveryEventOfTheBackends) {
  for (const char* backend : {"cpu", "demo", "xnnpack"}) {
    for (const char* model : {"mlp", "mobilenet_tiny", "tiny_llama", "cond_simple", "while_loop"}) {
      const json report = Figures(LowerZoo(model, backend));
      ASSERT_TRUE(report.is_object()) << model;
      EXPECT_THAT(report["missing"], IsEmpty()) << model << " " << backend;
      double share = 0;
      for (const json& row : report["instructions"]) {
        share += row["share"].get<double>();
        EXPECT_NE(row["name"].get<std::string>().substr(0, 12), "instruction ") << row;
        const bool inside = row["path"] != "forward";
        if (inside) EXPECT_TRUE(row.contains("nodes")) << row;
      }
      // The instructions and the time outside of them add up to the total.
      for (const json& row : report["by_backend"]) {
        if (row["name"] == "(outside of instructions)") share += row["share"].get<double>();
      }
      EXPECT_NEAR(share, 1, 0.03) << model << " " << backend;
    }
  }
}

TEST_F(ProfileCommandTest, ProfilesStrippedProgramByInstruction) {
  const std::string program = LowerZoo("mlp", "demo");
  ASSERT_EQ(Capture([&] { return Strip({.file = program, .output = {}}); }).status, kDone);
  const Outcome outcome = Profiled({.program = program});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("missing: forward: no debug data"));
  EXPECT_THAT(outcome.output, HasSubstr("no debug map of its steps"));
  EXPECT_THAT(outcome.output, HasSubstr("  operator\n"));
}

TEST_F(ProfileCommandTest, ShowsRoofline) {
  const std::string program = LowerZoo("mlp", "none");
  const std::string limits = Write("limits.json", R"({
      "cache_bytes": {"l1": 1e5, "l2": 1e6, "l3": 1e7},
      "f32_fma_gflops_t1": {"best": 100}, "int8_dot_gops_t1": null, "bf16_dot_gflops_t1": null,
      "read_l1_gbs_t1": {"best": 100}, "read_l2_gbs_t1": {"best": 100},
      "read_l3_gbs_t1": {"best": 100}, "read_memory_gbs_t1": {"best": 100}})");
  ProfileOptions options{.program = program, .json = true};
  options.limits = limits;
  const Outcome outcome = Profiled(options);
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const json report = json::parse(outcome.output, nullptr, /*allow_exceptions=*/false);
  for (const json& row : report["instructions"]) {
    EXPECT_GT(row.value("roof", 0.0), 0) << row;
  }
  options.json = false;
  EXPECT_THAT(Profiled(options).output, HasSubstr("  roof  instruction\n"));
  options.limits = Write("bad.json", "{}");
  const Outcome refused = Profiled(options);
  EXPECT_EQ(refused.status, kBadInput);
  EXPECT_THAT(refused.errors, HasSubstr("bad.json"));
}

TEST_F(ProfileCommandTest, WritesTracesOfBothKinds) {
  const std::string program = LowerZoo("mlp", "demo");
  ASSERT_EQ(Profiled({.program = program, .trace = Path("t.json")}).status, kDone);
  const json trace = json::parse(Read(Path("t.json")), nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(trace.is_object());
  std::map<std::string, int> kinds;
  for (const json& event : trace["traceEvents"]) ++kinds[event.value("cat", "counter")];
  EXPECT_EQ(kinds["load"], 1);
  EXPECT_EQ(kinds["execute"], 1);  // only the last call
  EXPECT_GT(kinds["step"], 0);
  ASSERT_EQ(Profiled({.program = program, .trace = Path("t.perfetto-trace")}).status, kDone);
  EXPECT_THAT(Read(Path("t.perfetto-trace")), HasSubstr("execute forward"));
}

TEST_F(ProfileCommandTest, WritesAnEtDump) {
  ASSERT_EQ(Profiled({.program = LowerZoo("mlp", "demo"), .trace = Path("t.etdp")}).status, kDone);
  const std::string bytes = Read(Path("t.etdp"));
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  ASSERT_TRUE(etdump::VerifySizePrefixedETDumpBuffer(verifier));
  const etdump::ETDump* dump = etdump::GetSizePrefixedETDump(bytes.data());
  ASSERT_EQ(dump->run_data()->size(), 2);
  EXPECT_EQ(dump->run_data()->Get(0)->name()->str(), "Init");
  EXPECT_EQ(dump->run_data()->Get(1)->name()->str(), "Execute");
  const auto& events = *dump->run_data()->Get(1)->events();
  ASSERT_GE(events.size(), 3);
  const etdump::ProfileEvent* last = nullptr;
  std::set<std::string> names;
  for (const etdump::Event* event : events) {
    const etdump::ProfileEvent& profile = *event->profile_event();
    EXPECT_LE(profile.start_time(), profile.end_time());
    if (last != nullptr) EXPECT_LE(last->start_time(), profile.start_time());
    last = &profile;
    names.insert(profile.name()->str());
    const bool in_delegate = profile.delegate_debug_id_str()->size() != 0;
    if (in_delegate) EXPECT_EQ(profile.instruction_id(), 0);
    EXPECT_EQ(profile.delegate_debug_id_int(), -1);
  }
  EXPECT_THAT(names, IsSupersetOf({"Method::execute", "DELEGATE_CALL"}));
  EXPECT_EQ(events.Get(0)->profile_event()->instruction_id(), -1);
}

TEST_F(ProfileCommandTest, InspectPrintsEtDumps) {
  ASSERT_EQ(Profiled({.program = LowerZoo("mlp", "demo"), .trace = Path("t.etdp")}).status, kDone);
  const Outcome shown = Capture([&] { return Inspect({.file = Path("t.etdp")}); });
  ASSERT_EQ(shown.status, kDone) << shown.errors;
  EXPECT_THAT(shown.output, HasSubstr("Execute: "));
  EXPECT_THAT(shown.output, HasSubstr("\n  Method::execute: 1 times, total "));
  const Outcome outcome = Capture([&] { return Inspect({.file = Path("t.etdp"), .json = true}); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const json blocks = json::parse(outcome.output)["blocks"];
  ASSERT_EQ(blocks.size(), 2);
  EXPECT_EQ(blocks[1]["events"][0]["name"], "Method::execute");
  EXPECT_EQ(blocks[1]["events"][0]["mean"], blocks[1]["events"][0]["total"]);
  const Outcome refused = Capture([&] { return Inspect({.file = Path("t.etdp"), .size = true}); });
  EXPECT_EQ(refused.status, kBadInput);
  EXPECT_THAT(refused.errors, HasSubstr("expected no option other than --json"));
  const Outcome damaged = Capture(
      [&] { return Inspect({.file = Write("d.etdp", Read(Path("t.etdp")).substr(0, 80))}); });
  EXPECT_EQ(damaged.status, kBadInput);
  EXPECT_THAT(damaged.errors, HasSubstr("damaged"));
}

TEST_F(ProfileCommandTest, ComparesWithAnEarlierProfile) {
  const std::string program = LowerZoo("mlp", "none");
  const Outcome before = Profiled({.program = program, .json = true});
  ASSERT_EQ(before.status, kDone) << before.errors;
  const Outcome outcome =
      Profiled({.program = program, .compare = Write("before.json", before.output)});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("the whole call"));
  EXPECT_THAT(outcome.output, HasSubstr("instructions are unchanged"));
  for (const char* bad : {"", "{", "[1]", "{\"wall_ms\": 1}"}) {
    const Outcome refused = Profiled({.program = program, .compare = Write("bad.json", bad)});
    EXPECT_EQ(refused.status, kBadInput) << bad;
    EXPECT_THAT(refused.errors, HasSubstr("bad.json")) << bad;
  }
}

TEST_F(ProfileCommandTest, ReportsDroppedEvents) {
  ProfileOptions options{.program = LowerZoo("mlp", "none")};
  options.max_events = 2;
  const Outcome outcome = Profiled(options);
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("were dropped: the log holds 2"),
                                    HasSubstr("--max-events enlarges")));
}

TEST_F(ProfileCommandTest, DoesNotOverwriteInputs) {
  const std::string program = LowerZoo("mlp", "none");
  const Command command = ProfileCommand();
  std::static_pointer_cast<ProfileOptions>(command.owned)->program = program;
  std::static_pointer_cast<ProfileOptions>(command.owned)->trace = program;
  EXPECT_THAT(command.problem(), HasSubstr("--trace would overwrite the input file"));
  std::static_pointer_cast<ProfileOptions>(command.owned)->trace = Path("other");
  EXPECT_EQ(command.problem(), "");
}

}  // namespace
}  // namespace belay::tools
