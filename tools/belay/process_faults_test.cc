// Output files after a full disk or a kill: complete or absent.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/program/digest.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kBelay[] = "tools/belay/belay";
constexpr char kArchive[] = "conformance/models/zoo/digits_cnn/model.pt2";

struct Ended {
  int status = -1;  // exit status; -1: by a signal
  std::string errors;
};

class ProcessFaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    root_ = fs::path(::testing::TempDir()) / name;
    fs::remove_all(root_);
    fs::create_directories(root_ / "out");
  }
  std::string Out(const std::string& name) const { return (root_ / "out" / name).string(); }

  // Files below out/, except those with temporary names.
  std::set<std::string> Files(bool with_temporary = true) const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / "out")) {
      const std::string name = entry.path().lexically_relative(root_ / "out").string();
      if (entry.is_regular_file() && (with_temporary || name.find(".tmp-") == std::string::npos)) {
        names.insert(name);
      }
    }
    return names;
  }

  // Starts the command; no file may become larger than `max_file_bytes`.
  pid_t Start(const std::vector<std::string>& arguments, rlim_t max_file_bytes = RLIM_INFINITY,
              const char* output = "/dev/null") {
    const std::string errors = (root_ / "stderr").string();
    std::vector<std::string> words = {kBelay};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::dup2(::open(output, O_WRONLY), STDOUT_FILENO);
    ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    rlimit limit = {max_file_bytes, max_file_bytes};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(99);
    ::execv(kBelay, argv.data());
    ::_exit(98);
  }
  Ended Wait(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    std::ifstream in(root_ / "stderr");
    return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .errors = std::string(std::istreambuf_iterator<char>(in), {})};
  }
  Ended Run(const std::vector<std::string>& arguments, rlim_t max_file_bytes = RLIM_INFINITY,
            const char* output = "/dev/null") {
    return Wait(Start(arguments, max_file_bytes, output));
  }

  static std::string Read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  // Checks that the program opens and that its digests match.
  static void ExpectWhole(const std::string& path) {
    ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(path));
    EXPECT_OK(VerifyDigests(program));
  }

  fs::path root_;
};

// A file size limit stops a write midway, as a full disk does. The error message fits below the
// limit.
constexpr rlim_t kFull = 2048;

TEST_F(ProcessFaultsTest, FullDiskLeavesNoProgram) {
  const Ended lower = Run({"lower", kArchive, "-o", Out("m.belay")}, kFull);
  EXPECT_EQ(lower.status, 3);
  EXPECT_THAT(lower.errors, HasSubstr(absl::StrCat("cannot write ", Out("m.belay"))));
  EXPECT_TRUE(Files().empty());
  const Ended external =
      Run({"lower", kArchive, "-o", Out("m.belay"), "--external-constants", "weights"}, kFull);
  EXPECT_EQ(external.status, 3);
  EXPECT_THAT(external.errors, HasSubstr("cannot write"));
  EXPECT_TRUE(Files().empty());
}

// As `bazel run` calls it.
TEST_F(ProcessFaultsTest, PathsAreRelativeToCallersDirectory) {
  ASSERT_EQ(::setenv("BUILD_WORKING_DIRECTORY", Out("").c_str(), 1), 0);
  EXPECT_EQ(Run({"keygen", "here"}).status, 0);
  ::unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(Files(), std::set<std::string>({"here.key", "here.pub"}));
}

TEST_F(ProcessFaultsTest, FullDiskKeepsExistingFiles) {
  ASSERT_EQ(Run({"lower", kArchive, "-o", Out("m.belay")}).status, 0);
  const std::string before = Read(Out("m.belay"));
  const std::vector<std::string> commands[] = {
      {"lower", kArchive, "-o", Out("m.belay")},
      {"strip", Out("m.belay")},
      {"stress", Out("m.belay"), "--mutations", "1", "--write", Out("m.belay")},
      // The report exceeds the limit, and so does the program after a report.
      {"lower", kArchive, "-o", Out("other.belay"), "--report", Out("m.belay")},
      {"lower", kArchive, "-o", Out("m.belay"), "--report", "/dev/null"}};
  for (const std::vector<std::string>& command : commands) {
    const Ended ended = Run(command, kFull);
    EXPECT_EQ(ended.status, 3) << command[0];
    EXPECT_THAT(ended.errors, HasSubstr(absl::StrCat("cannot write ", Out("m.belay"))));
    EXPECT_EQ(Read(Out("m.belay")), before) << command[0];
    EXPECT_EQ(Files(), std::set<std::string>({"m.belay"})) << command[0];
  }
}

TEST_F(ProcessFaultsTest, WritesReportAndProgramOrNeither) {
  ASSERT_EQ(Run({"lower", kArchive, "-o", Out("m.belay"), "--report", Out("r.json")}).status, 0);
  const std::string program = Read(Out("m.belay"));
  ASSERT_LT(Read(Out("r.json")).size(), program.size());
  fs::remove(Out("m.belay"));
  fs::remove(Out("r.json"));
  // The report can't be written.
  for (const std::string& report : {std::string("/dev/full"), Out("none/r.json"), Out("")}) {
    const Ended ended = Run(
        {"lower", kArchive, "-o", Out("m.belay"), "--report", report, "--external-constants", "w"});
    EXPECT_EQ(ended.status, 3) << report;
    EXPECT_THAT(ended.errors, HasSubstr("cannot"));
    EXPECT_TRUE(Files().empty()) << report;
  }
  // The report fits, the program does not.
  const Ended ended =
      Run({"lower", kArchive, "-o", Out("m.belay"), "--report", Out("r.json")}, program.size() - 1);
  EXPECT_EQ(ended.status, 3);
  EXPECT_THAT(ended.errors, HasSubstr(absl::StrCat("cannot write ", Out("m.belay"))));
  EXPECT_TRUE(Files().empty());
  // The report and the program cannot be the same file.
  const Ended both = Run({"lower", kArchive, "-o", Out("m.belay"), "--report", Out("m.belay")});
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.errors, HasSubstr("the report and the program would write to the same file"));
  EXPECT_TRUE(Files().empty());
}

TEST_F(ProcessFaultsTest, FullDiskErrorsNameOutputs) {
  ASSERT_EQ(Run({"lower", kArchive, "-o", Out("m.belay")}).status, 0);
  struct {
    std::vector<std::string> command;
    const char* output;
    std::string message;
  } cases[] = {
      {{"lower", kArchive, "-o", "/dev/full"}, "/dev/null", "cannot write /dev/full"},
      {{"lower", kArchive, "-o", Out("n.belay"), "--report", "/dev/full"},
       "/dev/null",
       "cannot write /dev/full"},
      {{"strip", Out("m.belay"), "-o", "/dev/full"}, "/dev/null", "cannot write /dev/full"},
      {{"ops"}, "/dev/full", "cannot write standard output"},
      {{"inspect", Out("m.belay")}, "/dev/full", "cannot write standard output"},
      {{"run", Out("m.belay"), "--random-inputs", "1", "--output-dir", "/proc/none"},
       "/dev/null",
       "/proc/none"},
  };
  for (const auto& c : cases) {
    const Ended ended = Run(c.command, RLIM_INFINITY, c.output);
    EXPECT_EQ(ended.status, 3) << c.command[0];
    EXPECT_THAT(ended.errors, HasSubstr(c.message)) << c.command[0];
  }
  const Ended run =
      Run({"run", Out("m.belay"), "--random-inputs", "1", "--output-dir", Out("results")}, 16);
  EXPECT_NE(run.status, 0);  // no room even for the message
  EXPECT_EQ(Files(), std::set<std::string>({"m.belay"}));
}

TEST_F(ProcessFaultsTest, KeysAndSignaturesAreWholeOrAbsent) {
  ASSERT_EQ(Run({"lower", kArchive, "-o", Out("m.belay")}).status, 0);
  EXPECT_NE(Run({"keygen", Out("k")}, 20).status, 0);
  EXPECT_EQ(Files(), std::set<std::string>({"m.belay"}));
  ASSERT_EQ(Run({"keygen", Out("k")}).status, 0);
  EXPECT_NE(Run({"sign", Out("m.belay"), "--key", Out("k.key")}, 20).status, 0);
  EXPECT_EQ(Files(), std::set<std::string>({"k.key", "k.pub", "m.belay"}));
}

TEST_F(ProcessFaultsTest, KilledCommandLeavesCompleteProgramOrNone) {
  using Clock = std::chrono::steady_clock;
  const std::vector<std::string> command = {
      "lower", kArchive,   "-o",         Out("m.belay"), "--external-constants",
      "w",     "--report", Out("r.json")};
  const auto start = Clock::now();
  ASSERT_EQ(Run(command).status, 0);
  const auto whole = Clock::now() - start;
  const std::string expected = Read(Out("m.belay"));
  int killed = 0, finished = 0;
  constexpr int kMoments = 60;
  for (int i = 0; i <= kMoments; ++i) {
    if (i % 2 == 0) {
      fs::remove_all(root_ / "out");
      fs::create_directories(root_ / "out");
    } else {
      std::ofstream(Out("m.belay")) << "what was there before";
    }
    const pid_t child = Start(command);
    std::this_thread::sleep_for(whole * i / kMoments);
    ::kill(child, SIGKILL);
    (Wait(child).status == -1 ? killed : finished) += 1;
    for (const std::string& name : Files(/*with_temporary=*/false)) {
      if (name == "m.belay") {
        const std::string program = Read(Out(name));
        if (i % 2 == 1 && program == "what was there before") continue;
        EXPECT_EQ(program, expected);
        ExpectWhole(Out(name));
      } else if (name == "r.json") {
        EXPECT_TRUE(Read(Out(name)).ends_with("}\n"));
      } else {
        EXPECT_TRUE(name.starts_with("w-") && name.ends_with(".data")) << name;
      }
    }
  }
  std::printf("%d killed, %d finished\n", killed, finished);
  EXPECT_GT(killed, 0);
  // Leftover files do not affect later runs.
  ASSERT_EQ(Run(command).status, 0);
  ExpectWhole(Out("m.belay"));
}

}  // namespace
}  // namespace belay
