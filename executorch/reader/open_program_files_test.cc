// Programs and data files on disk.
#include <string>
#include <utility>
#include <vector>

#include "executorch/reader/open_program.h"
#include "executorch/reader/testing/pte_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/program/file_verifier.h"

namespace belay::pte {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Refuses the file at the path.
struct Verifier final : FileVerifier {
  absl::Status VerifyFile(const std::string& path,
                          absl::Span<const std::byte> file) const override {
    seen.push_back(path);
    if (path != refused && !file.empty()) return absl::OkStatus();
    return absl::PermissionDeniedError("not signed");
  }
  absl::Status VerifyDigest(absl::Span<const std::byte>, std::string_view) const override {
    return absl::OkStatus();
  }
  std::string refused;
  mutable std::vector<std::string> seen;
};

class OpenProgramFilesTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    PteBuilder pte;
    pte.Output(pte.External({2}, "w"));
    program_ = Write("p.pte", pte.Serialize());
    weights_ = Write("w.ptd", DataFileOf({{"w", {1, 2}}}));
  }
  std::string program_, weights_;
};

TEST_F(OpenProgramFilesTest, OpensProgramWithDataFile) {
  EXPECT_OK(OpenProgram(program_, {.program = {}, .data_files = {weights_}}));
  EXPECT_THAT(OpenProgram(program_, {}),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr(program_), HasSubstr("'w'"))));
}

TEST_F(OpenProgramFilesTest, MissingFileIsNamed) {
  const std::string missing = Path("missing");
  EXPECT_THAT(OpenProgram(missing, {}), StatusIs(absl::StatusCode::kNotFound, HasSubstr(missing)));
  EXPECT_THAT(OpenProgram(program_, {.program = {}, .data_files = {weights_, missing}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(missing)));
}

TEST_F(OpenProgramFilesTest, DamagedDataFileIsNamed) {
  const std::string damaged = Write("damaged.ptd", std::string(100, 'x'));
  EXPECT_THAT(OpenProgram(program_, {.program = {}, .data_files = {damaged}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(damaged)));
  EXPECT_THAT(OpenProgram(program_, {.program = {}, .data_files = {weights_, weights_}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(weights_), HasSubstr("another data file has this key"))));
}

TEST_F(OpenProgramFilesTest, VerifiesFilesBeforeReading) {
  Verifier verifier;
  OpenOptions options;
  options.data_files = {weights_};
  options.program.verifier = &verifier;
  EXPECT_OK(OpenProgram(program_, options));
  EXPECT_THAT(verifier.seen, ElementsAre(weights_, program_));
  for (const std::string& refused : {weights_, program_}) {
    Write("p.pte", "nothing that can be read");
    Write("w.ptd", refused == weights_ ? "nor this" : DataFileOf({{"w", {1, 2}}}));
    verifier.refused = refused;
    EXPECT_THAT(OpenProgram(program_, options),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("not signed")));
  }
}

TEST_F(OpenProgramFilesTest, FileLimitAppliesToEachFile) {
  OpenOptions options;
  options.data_files = {weights_};
  options.program.limits.file_bytes = 100;
  EXPECT_THAT(OpenProgram(program_, options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("w.ptd")));
}

}  // namespace
}  // namespace belay::pte
