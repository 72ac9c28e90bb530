#include "tools/belay/command_line.h"

#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LowerOptions lowered;
RunOptions ran;

// Exit statuses that no parser gives, to see which one was called.
constexpr Commands kCommands = {
    .lower =
        [](const LowerOptions& options) {
          lowered = options;
          return 10;
        },
    .run =
        [](const RunOptions& options) {
          ran = options;
          return 11;
        },
    .inspect = [](const InspectOptions&) { return 12; },
    .verify = [](const VerifyOptions&) { return 13; },
    .bench = [](const BenchOptions&) { return 14; },
    .strip = [](const StripOptions&) { return 15; },
    .stress = [](const StressOptions&) { return 16; },
    .keygen = [](const KeygenOptions&) { return 17; },
    .sign = [](const SignOptions&) { return 18; },
    .verify_signature = [](const VerifySignatureOptions&) { return 19; },
    .ops = [](const OpsOptions&) { return 20; },
};

struct Outcome {
  int status;
  std::string out, error;
};
Outcome Parse(const std::vector<std::string>& arguments) {
  std::ostringstream out, error;
  const int status = RunCommandLine(arguments, kCommands, out, error);
  return {status, out.str(), error.str()};
}

TEST(CommandLineTest, CallsTheSubcommandThatIsNamed) {
  EXPECT_EQ(Parse({"lower", "m.pt2", "-o", "m.belay"}).status, 10);
  EXPECT_EQ(Parse({"run", "m.belay"}).status, 11);
  EXPECT_EQ(Parse({"inspect", "m.belay"}).status, 12);
  EXPECT_EQ(Parse({"verify", "m.pt2"}).status, 13);
  EXPECT_EQ(Parse({"bench", "m.belay"}).status, 14);
  EXPECT_EQ(Parse({"strip", "m.belay"}).status, 15);
  EXPECT_EQ(Parse({"stress", "m.belay"}).status, 16);
  EXPECT_EQ(Parse({"keygen", "k"}).status, 17);
  EXPECT_EQ(Parse({"sign", "m.belay", "--key", "k"}).status, 18);
  EXPECT_EQ(Parse({"verify-signature", "m.belay", "--key", "k"}).status, 19);
  EXPECT_EQ(Parse({"ops"}).status, 20);
}

TEST(CommandLineTest, OptionsArrive) {
  EXPECT_EQ(Parse({"lower", "m.pt2", "-o", "m.belay", "--method", "a=a.pt2", "--method", "b=b.pt2",
                   "--threads", "4", "--json"})
                .status,
            10);
  EXPECT_EQ(lowered.input, "m.pt2");
  EXPECT_EQ(lowered.output, "m.belay");
  EXPECT_THAT(lowered.methods, ElementsAre("a=a.pt2", "b=b.pt2"));
  EXPECT_EQ(lowered.threads, 4);
  EXPECT_TRUE(lowered.json);
  EXPECT_FALSE(lowered.quant_fusion_and_const_prop);
  EXPECT_EQ(Parse({"run", "m.belay", "--random-inputs", "7"}).status, 11);
  EXPECT_TRUE(ran.random_inputs);
  EXPECT_EQ(ran.seed, 7u);
}

TEST(CommandLineTest, NothingIsKeptFromTheCallBefore) {
  EXPECT_EQ(Parse({"run", "m.belay", "--input", "x.npy"}).status, 11);
  EXPECT_EQ(Parse({"run", "m.belay"}).status, 11);
  EXPECT_THAT(ran.inputs, IsEmpty());
  EXPECT_FALSE(ran.random_inputs);
}

TEST(CommandLineTest, WrongUsageIsSaidAndCallsNothing) {
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {},
           {"fly"},
           {"lower", "m.pt2"},
           {"lower", "m.pt2", "-o", "m.belay", "--threads", "0"},
           {"run", "m.belay", "--repeat", "many"},
           {"run", "m.belay", "--wings"},
           {"verify", "a", "b", "--reference", "c"},
           {"verify", "a", "--atol", "-1"},
           {"verify", "a", "--rtol", "nan"},
           {"verify", "a", "--max-size", "0"},
           {"verify", "a", "--input", "x", "--random-inputs", "1"},
           {"lower", "a", "-o", "b", "--max-size", "0"},
           {"lower", "a", "-o", "b", "--max-size", "-5"},
           {"lower", "a", "-o", "b", "--report", ""},
           {"lower", "a", "-o", "b", "--external-constants", ""},
           {"lower", "a", "-o", "b", "--json", "--dump-after", "p"},
           {"run", "a", "--engine", "foo"},
           {"run", "a", "--input", "x", "--random-inputs", "1"},
           {"run", "a", "--input", "x", "--sequence", "d"},
           {"run", "a", "--random-inputs", "1", "--sequence", "d"},
           {"run", "a", "--repeat", "0"},
           {"verify", "a", "--engine", "foo"},
           {"bench", "a", "--engine", "foo"},
           {"bench", "a", "--seconds", "0"},
           {"stress", "a", "--mutations", "-3"}}) {
    const Outcome outcome = Parse(wrong);
    EXPECT_EQ(outcome.status, kBadUsage) << ::testing::PrintToString(wrong);
    EXPECT_NE(outcome.error, "") << ::testing::PrintToString(wrong);
    EXPECT_EQ(outcome.out, "") << ::testing::PrintToString(wrong);
    EXPECT_LT(outcome.error.size(), 300u) << outcome.error;  // bounds without hundreds of digits
  }
}

TEST(CommandLineTest, HelpIsNoError) {
  const Outcome outcome = Parse({"stress", "--help"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, HasSubstr("--mutations"));
  EXPECT_EQ(outcome.error, "");
}

}  // namespace
}  // namespace belay::tools
