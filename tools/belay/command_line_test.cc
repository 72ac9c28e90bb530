#include "tools/belay/command_line.h"

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The commands, with stubs that return distinct exit statuses: the first returns 10, the second 11
// and so on.
std::vector<Command> FakeCommands() {
  std::vector<Command> commands = AllCommands();
  for (size_t i = 0; i < commands.size(); ++i) {
    commands[i].run = [i] { return 10 + static_cast<int>(i); };
  }
  return commands;
}

struct Outcome {
  int status;
  std::string out, error;
};
Outcome Parse(const std::vector<std::string>& arguments,
              const std::vector<Command>& commands = FakeCommands()) {
  std::ostringstream out, error;
  const int status = RunCommandLine(arguments, commands, out, error);
  return {status, out.str(), error.str()};
}

// Returns the value of the command's option.
template <class T>
T Value(const std::vector<Command>& commands, std::string_view command, std::string_view name) {
  for (const Command& c : commands) {
    for (const Option& option : c.options) {
      if (c.name == command && option.name == name) return *std::get<T*>(option.variable);
    }
  }
  ADD_FAILURE() << "no option " << name << " of " << command;
  return T();
}

TEST(CommandLineTest, PrintsTheVersion) {
  const Outcome outcome = Parse({"--version"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_EQ(outcome.out, "belay 0.1.0\n");
}

TEST(CommandLineTest, CallsNamedSubcommand) {
  EXPECT_EQ(Parse({"lower", "m.pt2", "-o", "m.belay"}).status, 10);
  EXPECT_EQ(Parse({"quantize", "m.pt2", "-o", "m.bir", "--recipe", "r"}).status, 11);
  EXPECT_EQ(Parse({"run", "m.belay"}).status, 12);
  EXPECT_EQ(Parse({"inspect", "m.belay"}).status, 13);
  EXPECT_EQ(Parse({"verify", "m.pt2"}).status, 14);
  EXPECT_EQ(Parse({"bench", "m.belay"}).status, 15);
  EXPECT_EQ(Parse({"profile", "m.belay"}).status, 16);
  EXPECT_EQ(Parse({"strip", "m.belay"}).status, 17);
  EXPECT_EQ(Parse({"stress", "m.belay"}).status, 18);
  EXPECT_EQ(Parse({"keygen", "k"}).status, 19);
  EXPECT_EQ(Parse({"sign", "m.belay", "--key", "k"}).status, 20);
  EXPECT_EQ(Parse({"verify-signature", "m.belay", "--key", "k"}).status, 21);
  EXPECT_EQ(Parse({"ops"}).status, 22);
  EXPECT_EQ(Parse({"backends"}).status, 23);
  EXPECT_EQ(Parse({"generate", "m.belay", "--tokens", "1"}).status, 24);
  EXPECT_EQ(Parse({"import-gguf", "m.gguf", "-o", "m.bir"}).status, 25);
}

TEST(CommandLineTest, SetsOptions) {
  using Texts = std::vector<std::string>;
  std::vector<Command> commands = FakeCommands();
  EXPECT_EQ(Parse({"lower", "m.pt2", "-o", "m.belay", "--method", "a=a.pt2", "--method", "b=b.pt2",
                   "--threads", "4", "--fold-budget", "4096", "--json"},
                  commands)
                .status,
            10);
  EXPECT_EQ(Value<std::string>(commands, "lower", "archive"), "m.pt2");
  EXPECT_EQ(Value<std::string>(commands, "lower", "-o,--output"), "m.belay");
  EXPECT_THAT(Value<Texts>(commands, "lower", "--method"), ElementsAre("a=a.pt2", "b=b.pt2"));
  EXPECT_EQ(Value<int>(commands, "lower", "--threads"), 4);
  EXPECT_TRUE(Value<bool>(commands, "lower", "--json"));
  EXPECT_EQ(Value<std::optional<uint64_t>>(commands, "lower", "--fold-budget"), 4096u);
  EXPECT_FALSE(Value<bool>(commands, "lower", "--no-fold-constants"));
  EXPECT_FALSE(Value<bool>(commands, "lower", "--quant-fusion-and-const-prop"));
  commands = FakeCommands();
  EXPECT_EQ(Parse({"run", "m.belay", "--random-inputs", "7"}, commands).status, 12);
  EXPECT_EQ(Value<std::optional<uint64_t>>(commands, "run", "--random-inputs"), 7u);
}

TEST(CommandLineTest, ArchiveMayFollowListOption) {
  std::vector<Command> commands = FakeCommands();
  EXPECT_EQ(
      Parse({"lower", "--backend", "none", "--compile-spec", "a:b=c", "m.pt2", "-o", "m.belay"},
            commands)
          .status,
      10);
  EXPECT_EQ(Value<std::string>(commands, "lower", "archive"), "m.pt2");
  EXPECT_THAT(Value<std::vector<std::string>>(commands, "lower", "--backend"), ElementsAre("none"));
}

TEST(CommandLineTest, CallsAreIndependent) {
  EXPECT_EQ(Parse({"run", "m.belay", "--input", "x.npy"}).status, 12);
  const std::vector<Command> commands = FakeCommands();
  EXPECT_EQ(Parse({"run", "m.belay"}, commands).status, 12);
  EXPECT_THAT(Value<std::vector<std::string>>(commands, "run", "--input"), IsEmpty());
  EXPECT_EQ(Value<std::optional<uint64_t>>(commands, "run", "--random-inputs"), std::nullopt);
}

TEST(CommandLineTest, BadUsageIsReportedAndCallsNothing) {
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
           {"verify", "a", "--input", "x", "--random-inputs", "1"},
           {"lower", "a", "-o", "b", "--fold-budget", "-1"},
           {"lower", "a", "-o", "b", "--no-fold-constants", "--fold-budget", "1"},
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
    EXPECT_LT(outcome.error.size(), 300u) << outcome.error;  // no bounds with hundreds of digits
  }
}

TEST(CommandLineTest, RejectsNumbersBelowMinimum) {
  for (const char* seconds : {"abc", "0", "-1", "inf", "nan"}) {
    const Outcome outcome = Parse({"bench", "m.belay", "--seconds", seconds});
    EXPECT_EQ(outcome.status, kBadUsage) << seconds;
    EXPECT_NE(
        outcome.error.find(std::string("expected a number of at least 0.001, got ") + seconds),
        std::string::npos)
        << outcome.error;
  }
  EXPECT_EQ(Parse({"bench", "m.belay", "--seconds", "0.001"}).status, 15);
}

TEST(CommandLineTest, OptionsFollowSubcommand) {
  const Outcome outcome = Parse({"--nosuch"});
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_NE(outcome.error.find("'belay --help' lists the options.\n"), std::string::npos)
      << outcome.error;
}

TEST(CommandLineTest, SuggestsSimilarNames) {
  EXPECT_THAT(Parse({"lwoer", "m.pt2"}).error, HasSubstr("subcommand lwoer (did you mean lower?)"));
  EXPECT_THAT(Parse({"run", "m.belay", "--inptu", "x.npy"}).error,
              HasSubstr("--inptu (did you mean --input?)"));
  EXPECT_THAT(Parse({"run", "m.belay", "--thread=2"}).error,
              HasSubstr("--thread=2 (did you mean --threads?)"));
  EXPECT_THAT(Parse({"run", "m.belay", "--wings"}).error,
              ::testing::Not(HasSubstr("did you mean")));
}

TEST(CommandLineTest, HelpShowsDefaults) {
  const std::string verify = Parse({"verify", "--help"}).out;
  // "TEXT=forward" or "TEXT [forward]", by CLI11's version.
  for (const char* line : {"TEXT(=forward| \\[forward\\]) ", "[}](=highway\n| \\[highway\\])",
                           "(=1e-05| \\[1e-05\\]) "}) {
    EXPECT_THAT(verify, ContainsRegex(line));
  }
  const std::string lower = Parse({"lower", "--help"}).out;
  EXPECT_THAT(lower, ContainsRegex("1024\\](=1\n| \\[1\\])"));
}

TEST(CommandLineTest, HelpExitsWithZero) {
  const Outcome outcome = Parse({"stress", "--help"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, HasSubstr("--mutations"));
  EXPECT_EQ(outcome.error, "");
}

}  // namespace
}  // namespace belay::tools
