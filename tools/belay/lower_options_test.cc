// Options of `lower` without effect or with harmful ones: bad usage before any work.
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";

class LowerOptionsTest : public TestInDirectory {
 protected:
  LowerOptions Options() const { return {.input = kMlp, .output = Path("p.belay")}; }
  std::string Content(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void ExpectBadUsage(const LowerOptions& options, const std::string& message) const {
    const std::vector<std::string> before = Files();
    const Outcome outcome = Capture([&] { return Lower(options); });
    EXPECT_EQ(outcome.status, kBadUsage) << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr(message));
    EXPECT_EQ(outcome.output, "");
    EXPECT_EQ(Files(), before);
  }
};

TEST_F(LowerOptionsTest, RejectsSpecsOfUnselectedBackends) {
  LowerOptions options = Options();
  for (const char* garbage : {"garbage", "a=b", "demo:", "demo:=v", ":k=v", "a=b:c"}) {
    options.compile_specs = {garbage};
    for (const std::vector<std::string>& backends :
         std::vector<std::vector<std::string>>{{}, {"none"}, {"demo"}}) {
      options.backends = backends;
      ExpectBadUsage(options, "expected BACKEND:KEY=VALUE");
    }
  }
  options.compile_specs = {"other:k=v"};
  for (const char* backends : {"none", "demo"}) {
    options.backends = {backends};
    ExpectBadUsage(options, "'other:k=v' is for a backend that --backend does not select");
  }
}

TEST_F(LowerOptionsTest, PassesCompileSpecsToBackend) {
  LowerOptions options = Options();
  const auto lowered = [&] {
    const Outcome outcome = Capture([&] { return Lower(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return Content("p.belay");
  };
  options.backends = {"cpu,demo"};
  const std::string as_it_is = lowered();
  options.backends = {"cpu", "demo"};
  EXPECT_EQ(lowered(), as_it_is);
  options.compile_specs = {"cpu:precision=bfloat16"};
  EXPECT_NE(lowered(), as_it_is);
}

TEST_F(LowerOptionsTest, MinDelegatedFlopsFailsWithoutFile) {
  LowerOptions options = Options();
  options.backends = {"none"};
  options.min_delegated_flops = 0.5;
  const std::vector<std::string> before = Files();
  const Outcome none = Capture([&] { return Lower(options); });
  EXPECT_EQ(none.status, kNegative);
  EXPECT_THAT(none.errors, HasSubstr("delegates compute 0 % of the floating-point operations"));
  EXPECT_THAT(none.errors, HasSubstr("addmm"));
  EXPECT_EQ(Files(), before);
  options.backends = {"demo"};
  options.min_delegated_flops = 1;
  const Outcome all = Capture([&] { return Lower(options); });
  EXPECT_EQ(all.status, kDone) << all.errors;
}

TEST_F(LowerOptionsTest, NoneExcludesOtherBackends) {
  LowerOptions options = Options();
  options.backends = {"none,demo"};
  ExpectBadUsage(options, "'none' excludes other backends");
}

TEST_F(LowerOptionsTest, BackendsPerMethod) {
  LowerOptions options = Options();
  options.methods = {std::string("other=") + kMlp};
  options.backends = {"other:demo", "none"};
  options.json = true;
  const Outcome outcome = Capture([&] { return Lower(options); });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  std::vector<std::string> delegation;
  const nlohmann::json report = nlohmann::json::parse(outcome.output);
  for (const auto& entry : report["delegation"]) {
    delegation.push_back(entry["method"].get<std::string>() + ": " +
                         entry["backend"].get<std::string>());
  }
  EXPECT_THAT(delegation, ::testing::ElementsAre("forward: ", "other: demo", "other: "));
  options.backends = {"prefill:demo"};
  ExpectBadUsage(options, "--backend: unknown method 'prefill'");
  options.backends = {":demo"};
  ExpectBadUsage(options, "--backend: expected NAMES or METHOD:NAMES, got ':demo'");
}

TEST_F(LowerOptionsTest, ConstantMethodsOfNumbersBoolsAndStrings) {
  LowerOptions options = Options();
  options.constant_methods = {"max_seq_len=2048", "rope=[true,1.5,\"half\"]"};
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  const Outcome run = Capture(
      [&] { return tools::Run(RunOptions{.program = Path("p.belay"), .method = "max_seq_len"}); });
  EXPECT_EQ(run.status, kDone) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("2048"));
  options.constant_methods = {"negative=-9223372036854775808"};
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  EXPECT_THAT(Capture([&] {
                return tools::Run(RunOptions{.program = Path("p.belay"), .method = "negative"});
              }).output,
              HasSubstr("-9223372036854775808"));
  for (const char* bad : {"x", "=1", "x=", "x={}", "x=null", "x=[]", "x=[[1]]", "x=1e999",
                          "x=18446744073709551615", "x\xff=1"}) {
    options.constant_methods = {bad};
    ExpectBadUsage(options, "--constant-method: expected NAME=VALUE");
  }
}

TEST_F(LowerOptionsTest, MethodsRequireFiles) {
  for (const char* bad : {"=x.pt2", "decode", "decode="}) {
    LowerOptions options = Options();
    options.methods = {bad};
    ExpectBadUsage(options, "--method: expected NAME=FILE");
  }
}

// The file is the same with and without saving the program in between.
TEST_F(LowerOptionsTest, LowersInspectsAndVerifiesSavedPrograms) {
  LowerOptions options = Options();
  options.methods = {std::string("other=") + kMlp};
  ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  for (const char* stage : {"aten", "edge", "lowered"}) {
    LowerOptions save = options;
    save.output = Path("p.bir");
    save.stage = stage;
    const Outcome saved = Capture([&] { return Lower(save); });
    ASSERT_EQ(saved.status, kDone) << saved.errors;
    const Outcome lowered =
        Capture([&] { return Lower({.input = Path("p.bir"), .output = Path("q.belay")}); });
    ASSERT_EQ(lowered.status, kDone) << lowered.errors;
    EXPECT_EQ(Content("q.belay"), Content("p.belay")) << stage;
    const Outcome inspected = Capture([&] { return Inspect({.file = Path("p.bir")}); });
    EXPECT_EQ(inspected.status, kDone) << inspected.errors;
    EXPECT_THAT(inspected.output, HasSubstr("model other: saved programs"));
    const Outcome verified = Capture([&] {
      return Verify({.archive = Path("p.bir"), .program = Path("p.belay"), .method = "other"});
    });
    EXPECT_EQ(verified.status, kDone) << verified.errors << verified.output;
  }
}

TEST_F(LowerOptionsTest, MethodNamesAreUniqueUtf8) {
  LowerOptions options = Options();
  options.methods = {std::string("forward=") + kMlp};
  ExpectBadUsage(options, "'forward' is given twice");
  options.methods = {std::string("a=") + kMlp, std::string("a=") + kMlp};
  ExpectBadUsage(options, "'a' is given twice");
  options.input = "";
  ExpectBadUsage(options, "'a' is given twice\n");
  options = Options();
  options.methods = {std::string("=") + kMlp};
  ExpectBadUsage(options, "expected NAME=FILE");
  options.methods = {"a="};
  ExpectBadUsage(options, "expected NAME=FILE");
  options.methods = {std::string("a\xff=") + kMlp};
  ExpectBadUsage(options, "not UTF-8");
}

TEST_F(LowerOptionsTest, ValidatesCompanionFileNames) {
  LowerOptions options = Options();
  for (const std::string& name :
       {std::string("a/b"), std::string("w\xff"), std::string("a\nb"), std::string(218, 'x'),
        std::string("=w"), std::string("layers.*="), std::string("layers.*=a/b")}) {
    options.external_constants = {name};
    ExpectBadUsage(options, "--external-constants");
  }
  options.external_constants = {"a", "b"};
  ExpectBadUsage(options, "two files for constants without a rule: 'a' and 'b'");
  options.external_constants = {std::string(150, 'x')};
  EXPECT_EQ(Capture([&] { return Lower(options); }).status, kDone);
}

TEST_F(LowerOptionsTest, DoesNotOverwriteFilesOfCommand) {
  fs::copy(kMlp, Path("m.pt2"));
  fs::create_symlink(Path("m.pt2"), Path("link"));
  fs::create_hard_link(Path("m.pt2"), Path("hard"));
  LowerOptions options = Options();
  options.report = (directory_ / "." / "p.belay").string();
  ExpectBadUsage(options, "the report and the program would write to the same file");
  options.report = "";
  options.input = Path("m.pt2");
  for (const char* name : {"m.pt2", "link", "hard", "./m.pt2"}) {
    options.output = Path(name);
    ExpectBadUsage(options, "it is the input archive");
    options.output = Path("p.belay");
    options.report = Path(name);
    ExpectBadUsage(options, "it is the input archive");
    options.report = "";
  }
  options.input = kMlp;
  options.methods = {"a=" + Path("m.pt2")};
  options.output = Path("link");
  ExpectBadUsage(options, "it is the input archive");
}

TEST_F(LowerOptionsTest, EscapesControlCharactersOfNames) {
  const Outcome outcome = Capture([&] {
    LowerOptions options = Options();
    options.input = "";
    options.methods = {std::string("a\x1b[2J\nb=") + kMlp};
    return Lower(options);
  });
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_EQ(outcome.output.find('\x1b'), std::string::npos);
  EXPECT_THAT(outcome.output, HasSubstr("method a\\x1b[2J\\x0ab: "));
  const Outcome inspect = Capture([&] { return Inspect(InspectOptions{.file = Path("p.belay")}); });
  EXPECT_THAT(inspect.output, HasSubstr("method a\\x1b[2J\\x0ab: "));
}

}  // namespace
}  // namespace belay::tools
