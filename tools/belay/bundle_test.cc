// Bundled programs of ExecuTorch: `belay bundle`, and `belay verify` of their test cases.
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/npy.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Sample(const std::string& name) { return "executorch/reader/testdata/" + name; }

class BundleTest : public TestInDirectory {
 protected:
  // Writes a folder with the recorded values of the sample add.pte: two inputs, one output.
  std::string AddCase(const std::string& name) const {
    const std::string folder = Path(name);
    fs::create_directory(folder);
    for (const char* i : {"0", "1"}) {
      fs::copy_file(Sample(std::string("add.forward.in") + i + ".npy"),
                    folder + "/input_" + i + ".npy");
    }
    fs::copy_file(Sample("add.forward.out0.npy"), folder + "/output_0.npy");
    return folder;
  }
  Outcome Bundle(const std::vector<std::string>& cases) const {
    return Capture([&] {
      return BundleProgram(
          {.program = Sample("add.pte"), .output = Path("add.bpte"), .cases = cases});
    });
  }
  Outcome VerifyCases(bool as_json = false) const {
    VerifyOptions options{.archive = Path("add.bpte")};
    options.json = as_json;
    return Capture([&] { return Verify(options); });
  }
};

TEST_F(BundleTest, VerifyExecutesTheTestCases) {
  const Outcome bundled = Bundle({AddCase("a"), "forward=" + AddCase("b")});
  ASSERT_EQ(bundled.status, kDone) << bundled.errors;
  EXPECT_THAT(bundled.output, HasSubstr("2 test cases\n"));
  const Outcome outcome = VerifyCases();
  EXPECT_EQ(outcome.status, kDone) << outcome.errors << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("equal: 2 results in 2 calls\n"));
}

TEST_F(BundleTest, VerifyNamesTheCaseThatDiffers) {
  const std::string wrong = AddCase("wrong");
  fs::remove(wrong + "/output_0.npy");
  fs::copy_file(Sample("add.forward.in0.npy"), wrong + "/output_0.npy");
  ASSERT_EQ(Bundle({AddCase("right"), wrong}).status, kDone);
  const Outcome outcome = VerifyCases();
  EXPECT_EQ(outcome.status, kNegative) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("method 'forward', case 1, output 0: "));
  const auto report = nlohmann::json::parse(VerifyCases(true).output);
  EXPECT_EQ(report["equal"], false);
  EXPECT_EQ(report["calls"], 2);
  EXPECT_EQ(report["differences"][0]["call"], 1);
}

TEST_F(BundleTest, OtherCommandsOpenTheProgram) {
  ASSERT_EQ(Bundle({AddCase("a")}).status, kDone);
  RunOptions run{.program = Path("add.bpte"), .output_dir = Path("out")};
  run.inputs = {Sample("add.forward.in0.npy"), Sample("add.forward.in1.npy")};
  ASSERT_EQ(Capture([&] { return tools::Run(run); }).status, kDone);
  const std::string got = Read(Path("out/0.npy")), expected = Read(Sample("add.forward.out0.npy"));
  EXPECT_EQ(got.substr(got.size() - 24), expected.substr(expected.size() - 24));
  const Outcome inspected = Capture([&] { return Inspect({.file = Path("add.bpte")}); });
  EXPECT_EQ(inspected.status, kDone) << inspected.errors;
  EXPECT_THAT(inspected.output, HasSubstr("method forward"));
}

TEST_F(BundleTest, RejectsIncompleteFolders) {
  const std::string folder = AddCase("a");
  fs::remove(folder + "/output_0.npy");
  const Outcome outcome = Bundle({folder});
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("output_0.npy"));
  EXPECT_FALSE(fs::exists(Path("add.bpte")));
}

TEST_F(BundleTest, RejectsUnknownMethods) {
  const Outcome outcome = Bundle({"backward=" + AddCase("a")});
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("backward"), HasSubstr("forward")));
}

TEST_F(BundleTest, RejectsProgramsOfBelay) {
  const LowerOptions lower{.input = "conformance/models/zoo/mlp/model.pt2",
                           .output = Path("mlp.belay")};
  ASSERT_EQ(Capture([&] { return Lower(lower); }).status, kDone);
  const Outcome outcome = Capture([&] {
    return BundleProgram(
        {.program = Path("mlp.belay"), .output = Path("x.bpte"), .cases = {AddCase("a")}});
  });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("expected an ExecuTorch program (.pte)"));
}

TEST_F(BundleTest, VerifyRejectsDamagedFiles) {
  ASSERT_EQ(Bundle({AddCase("a")}).status, kDone);
  std::string bytes = Read(Path("add.bpte"));
  bytes.resize(bytes.size() / 2);
  Write("add.bpte", bytes);
  const Outcome outcome = VerifyCases();
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("add.bpte"));
}

}  // namespace
}  // namespace belay::tools
