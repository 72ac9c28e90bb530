// Stripped programs of every backend.
#include <string>
#include <vector>

#include "backends/aot_backends.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kArchive[] = "conformance/models/zoo/digits_cnn/model.pt2";
constexpr char kSource[] = "make_models.py";  // the file of the model's source lines

class StripTest : public TestInDirectory {
 protected:
  std::string Lowered(const std::string& backend) {
    LowerOptions options;
    options.input = kArchive;
    options.output = Path(backend + ".belay");
    options.backends = {backend};
    EXPECT_EQ(Capture([&] { return Lower(options); }).status, kDone) << backend;
    return options.output;
  }
  static std::string Bytes(const std::string& path) {
    const auto file = MappedFile::Open(path);
    EXPECT_OK(file);
    return file.ok() ? std::string(reinterpret_cast<const char*>((*file)->bytes().data()),
                                   (*file)->bytes().size())
                     : "";
  }
};

TEST_F(StripTest, NoBackendKeepsPathsOfSources) {
  std::vector<std::string> backends = {"none"};
  for (const std::string_view name : AotBackendNames()) backends.emplace_back(name);
  for (const std::string& backend : backends) {
    const std::string path = Lowered(backend);
    EXPECT_THAT(Bytes(path), HasSubstr(kSource)) << backend;
    ASSERT_EQ(Capture([&] { return Strip({.file = path, .output = {}}); }).status, kDone);
    EXPECT_THAT(Bytes(path), Not(HasSubstr(kSource))) << backend;
  }
}

TEST_F(StripTest, StrippedDelegatesComputeTheSame) {
  const std::string path = Lowered("cpu");
  ASSERT_EQ(Capture([&] { return Strip({.file = path, .output = {}}); }).status, kDone);
  VerifyOptions options;
  options.archive = kArchive;
  options.program = path;
  const Outcome outcome = Capture([&] { return Verify(options); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors << outcome.output;
  InspectOptions inspect;
  inspect.file = path;
  inspect.verify = true;
  EXPECT_EQ(Capture([&] { return Inspect(inspect); }).status, kDone);
}

}  // namespace
}  // namespace belay::tools
