// `belay run --dump`.
#include <filesystem>
#include <set>
#include <string>

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

constexpr char kDigits[] = "conformance/models/zoo/digits_cnn/model.pt2";

class RunDumpTest : public TestInDirectory {
 protected:
  std::string Lowered(const std::string& backend) const {
    LowerOptions options;
    options.input = kDigits;
    options.output = Path(backend + ".belay");
    options.backends = {backend};
    options.no_fold_constants = true;  // else a convolution includes its batch norm
    EXPECT_EQ(Capture([&] { return Lower(options); }).status, kDone);
    return options.output;
  }
  Outcome Dump(const std::string& program) const {
    RunOptions options{.program = program};
    options.dump = Path("values");
    options.seed = 0;
    return Capture([&] { return tools::Run(options); });
  }
};

TEST_F(RunDumpTest, VerifyComparesTheValuesOfKernels) {
  const Outcome outcome = Dump(Lowered("none"));
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr(" values to " + Path("values")));
  VerifyOptions verify{.archive = kDigits, .program = Path("none.belay")};
  verify.against = Path("values");
  verify.json = true;
  const Outcome compared = Capture([&] { return Verify(verify); });
  EXPECT_EQ(compared.status, kDone) << compared.errors << compared.output;
  EXPECT_GE(json::parse(compared.output)["dump"]["compared"], 5);
}

TEST_F(RunDumpTest, WritesValuesInsideDelegates) {
  const Outcome outcome = Dump(Lowered("cpu"));
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  const json values = json::parse(Read(Path("values/values.json")));
  std::set<std::string> files;
  bool inside = false;
  for (const json& value : values) {
    const std::string file = value["file"];
    EXPECT_TRUE(files.insert(file).second) << file;
    EXPECT_TRUE(fs::exists(Path("values/" + file))) << file;
    inside |= value["path"].get<std::string>().find("delegate 0") != std::string::npos &&
              !value["nodes"].empty();
  }
  EXPECT_TRUE(inside) << values.dump(1);
  // Nothing else is in the folder.
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(Path("values"))) ++count;
  EXPECT_EQ(count, files.size() + 1);
}

TEST_F(RunDumpTest, RejectsRepeatedExecution) {
  const Command command = RunCommand();
  const auto options = std::static_pointer_cast<RunOptions>(command.owned);
  options->dump = Path("values");
  EXPECT_EQ(command.problem(), "");
  options->repeat = 2;
  EXPECT_THAT(command.problem(), HasSubstr("--repeat"));
}

TEST_F(RunDumpTest, ErrorsOfWritingAreReported) {
  const std::string program = Lowered("none");
  Write("values", "a file");
  const Outcome outcome = Dump(program);
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("values"));
}

}  // namespace
}  // namespace belay::tools
