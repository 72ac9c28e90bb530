#include "tools/belay/memory_banks.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bank = exir::MemoryBank;

TEST(MemoryBanksTest, BanksHaveSizeAndAlignment) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Bank> banks,
      ParseMemoryBanks({"dtcm=1000", "sram=64K:128", "flash mem=2M:4K", "dram=unlimited:64"}));
  EXPECT_THAT(banks,
              ElementsAre(Bank{"dtcm", 1000, 64}, Bank{"sram", 65536, 128},
                          Bank{"flash mem", 2 << 20, 4096}, Bank{"dram", Bank::kUnlimited, 64}));
}

TEST(MemoryBanksTest, RejectsOtherForms) {
  for (const std::string wrong :
       {"", "a", "a=", "a=x", "a=-1", "a=+1", "a= 1", "a=1.5K", "a=1G", "a=K", "a=64:", "a=64:x",
        "a=64:64:64", "a=18446744073709551616", "a=18014398509481984K", "a=Unlimited"}) {
    EXPECT_THAT(ParseMemoryBanks({wrong}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("--bank: expected NAME=SIZE or NAME=SIZE:ALIGNMENT")))
        << wrong;
  }
}

TEST(MemoryBanksTest, RejectsInvalidBanks) {
  EXPECT_THAT(ParseMemoryBanks({"=64"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--bank: memory bank ''")));
  EXPECT_THAT(ParseMemoryBanks({"a=unlimited", "b=64"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("memory bank 'a': only the last bank may be unlimited")));
}

TEST(MemoryPlannersTest, ParsesNamesForAllMethodsAndForOne) {
  exir::EmitOptions emit;
  ASSERT_OK(ParseMemoryPlanners({"bump", "prefill:by_size", "a:b:slots"}, emit));
  EXPECT_EQ(emit.memory.planner, "bump");
  EXPECT_THAT(emit.planners,
              ElementsAre(std::pair("a:b", "slots"), std::pair("prefill", "by_size")));
}

TEST(MemoryPlannersTest, RejectsOtherForms) {
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {""}, {":bump"}, {"prefill:"}, {"bump", "slots"}, {"m:bump", "m:bump"}}) {
    exir::EmitOptions emit;
    EXPECT_THAT(ParseMemoryPlanners(wrong, emit),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("--memory-planner: expected NAME or METHOD:NAME")));
  }
}

class LowerInBanksTest : public TestInDirectory {
 protected:
  LowerOptions Options(const std::string& output) const {
    LowerOptions options{.input = "conformance/models/zoo/digits_cnn/model.pt2",
                         .output = Path(output)};
    options.backends = {"none"};
    return options;
  }
  // The result of the program for random inputs.
  std::string Result(const std::string& program) {
    RunOptions options{.program = Path(program), .output_dir = Path(program + ".out")};
    options.seed = 1;
    const Outcome outcome = Capture([&] { return tools::Run(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return Read(Path(program + ".out/0.npy"));
  }
};

TEST_F(LowerInBanksTest, ProgramsComputeTheSameInBanks) {
  ASSERT_EQ(Capture([&] { return Lower(Options("plain.belay")); }).status, kDone);
  LowerOptions options = Options("banks.belay");
  options.banks = {"dtcm=256K", "sram=unlimited:128"};
  const Outcome lowered = Capture([&] { return Lower(options); });
  ASSERT_EQ(lowered.status, kDone) << lowered.errors;
  EXPECT_THAT(lowered.output,
              ContainsRegex("\n  bank dtcm: .*B of .*B, [0-9]+ % of the bytes read and written\n"
                            "  bank sram: .*B, [0-9]+ % of the bytes"));
  EXPECT_TRUE(Result("banks.belay") == Result("plain.belay"));
  // Of dynamic sizes, these have the largest ones.
  ASSERT_EQ(Capture([&] { return Lower(Options("plain.pte")); }).status, kDone);
  options.output = Path("banks.pte");
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  EXPECT_TRUE(Result("banks.pte") == Result("plain.pte"));
}

TEST_F(LowerInBanksTest, ReportAndInspectHaveBanks) {
  LowerOptions options = Options("p.belay");
  options.banks = {"dtcm=256K", "sram=unlimited:128"};
  options.json = true;
  const Outcome lowered = Capture([&] { return Lower(options); });
  ASSERT_EQ(lowered.status, kDone) << lowered.errors;
  const nlohmann::json memory = nlohmann::json::parse(lowered.output)["memory"][0];
  ASSERT_EQ(memory["banks"].size(), 2u);
  const nlohmann::json &dtcm = memory["banks"][0], &sram = memory["banks"][1];
  EXPECT_EQ(dtcm["name"], "dtcm");
  EXPECT_EQ(dtcm["capacity_bytes"], 262144);
  EXPECT_EQ(dtcm["alignment"], 64);
  EXPECT_GT(dtcm["moved_bytes"], 0);
  EXPECT_FALSE(sram.contains("capacity_bytes"));
  EXPECT_EQ(dtcm["bytes"].get<int>() + sram["bytes"].get<int>(), memory["arena_bytes"].get<int>());

  const Outcome text = Capture([&] { return Inspect({.file = Path("p.belay"), .graph = true}); });
  ASSERT_EQ(text.status, kDone) << text.errors;
  EXPECT_THAT(text.output, AllOf(HasSubstr("\n  bank dtcm: " + dtcm["bytes"].dump() +
                                           " bytes, alignment 64\n  bank sram: " +
                                           sram["bytes"].dump() + " bytes, alignment 128\n"),
                                 HasSubstr(" bank \"dtcm\""), HasSubstr(" bank \"sram\"")));
  const Outcome json = Capture([&] { return Inspect({.file = Path("p.belay"), .json = true}); });
  const nlohmann::json method = nlohmann::json::parse(json.output)["methods"][0];
  EXPECT_EQ(method["banks"][1],
            nlohmann::json({{"name", "sram"}, {"bytes", sram["bytes"]}, {"alignment", 128}}));
}

TEST_F(LowerInBanksTest, FailsWithoutFileIfNothingFits) {
  LowerOptions options = Options("p.belay");
  options.banks = {"dtcm=1K", "sram=2K"};
  const Outcome outcome = Capture([&] { return Lower(options); });
  EXPECT_EQ(outcome.status, kBadInput) << outcome.errors;
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("method 'forward': the memory banks have no room for all values"),
                    HasSubstr("bank 'dtcm': capacity 1024 bytes, peak "),
                    ContainsRegex("bank 'sram': capacity 2048 bytes, required [0-9]+ bytes\n    "
                                  "[0-9]+ bytes: %.* = .*aten")));
  EXPECT_TRUE(Files().empty());
}

TEST_F(LowerInBanksTest, DelegatesAreNotInBanks) {
  LowerOptions options = Options("p.belay");
  options.backends = {};
  options.banks = {"dtcm=256K", "sram=unlimited"};
  const Outcome outcome = Capture([&] { return Lower(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("the banks do not hold the memory of delegates"));
}

TEST_F(LowerInBanksTest, PlannersByName) {
  ASSERT_EQ(Capture([&] { return Lower(Options("plain.belay")); }).status, kDone);
  LowerOptions options = Options("bump.belay");
  options.memory_planners = {"best_fit_by_size", "forward:bump"};
  options.json = true;
  const Outcome lowered = Capture([&] { return Lower(options); });
  ASSERT_EQ(lowered.status, kDone) << lowered.errors;
  EXPECT_EQ(nlohmann::json::parse(lowered.output)["memory"][0]["planner"], "bump");
  EXPECT_TRUE(Result("bump.belay") == Result("plain.belay"));
  options.memory_planners = {"forward:first_fit"};
  const Outcome unknown = Capture([&] { return Lower(options); });
  EXPECT_THAT(unknown.errors,
              HasSubstr("method 'forward': unknown memory planner 'first_fit'; known: "));
}

TEST_F(LowerInBanksTest, InvalidBanksAreBadUsage) {
  LowerOptions options = Options("p.belay");
  options.banks = {"dtcm"};
  const Outcome outcome = Capture([&] { return Lower(options); });
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_THAT(outcome.errors, HasSubstr("--bank: expected NAME=SIZE"));
}

}  // namespace
}  // namespace belay::tools
