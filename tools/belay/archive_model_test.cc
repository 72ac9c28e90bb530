#include "tools/belay/archive_model.h"

#include <string>

#include "exir/import/testing/archive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"
#include "tools/belay/two_model_archive.h"

namespace belay::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

class ArchiveModelTest : public TestInDirectory {
 protected:
  static std::string Chosen(const std::string& text, const std::string& method) {
    const absl::StatusOr<ArchiveModel> chosen = ChooseModel(text, method);
    return chosen.ok() ? chosen->model : chosen.status().ToString();
  }
};

TEST_F(ArchiveModelTest, OnlyModelNeedsNoName) {
  const std::string file =
      Write("m.pt2", exir::PackArchive(exir::DefaultFiles(exir::ProgramJson())));
  EXPECT_EQ(Chosen(file, "forward"), "");
  EXPECT_EQ(Chosen(file, "decode"), "");
  EXPECT_EQ(Chosen(file + ":model", "decode"), "model");
  EXPECT_THAT(ChooseModel(file + ":decode", "decode"), StatusIs(kNotFound, HasSubstr("'model'")));
}

TEST_F(ArchiveModelTest, SelectsModelWithMethodName) {
  const std::string file = Write("two.pt2", TwoModelArchive());
  EXPECT_EQ(Chosen(file, "prefill"), "prefill");
  EXPECT_EQ(Chosen(file, "decode"), "decode");
  EXPECT_EQ(Chosen(file + ":decode", "prefill"), "decode");
  for (const char* method : {"forward", "model", "other"}) {
    EXPECT_THAT(ChooseModel(file, method),
                StatusIs(kNotFound, AllOf(HasSubstr(file), HasSubstr("'prefill', 'decode'"),
                                          HasSubstr("FILE:MODEL"))));
  }
}

TEST_F(ArchiveModelTest, ModelIsDefaultForForward) {
  const std::string file = Write("two.pt2", TwoModelArchive("model"));
  EXPECT_EQ(Chosen(file, "forward"), "model");
  EXPECT_EQ(Chosen(file, "prefill"), "prefill");
  EXPECT_THAT(ChooseModel(file, "decode"), StatusIs(kNotFound, HasSubstr("'decode'")));
}

// A leading or trailing colon is part of the file name.
TEST_F(ArchiveModelTest, ParsesFileAndModel) {
  for (const char* text : {"m.pt2", ":m", "m.pt2:"}) {
    EXPECT_EQ(ParseArchiveModel(text).path, text);
    EXPECT_EQ(ParseArchiveModel(text).model, "");
  }
  EXPECT_EQ(ParseArchiveModel("m.pt2:a").path, "m.pt2");
  EXPECT_EQ(ParseArchiveModel("m.pt2:a").model, "a");
}

TEST_F(ArchiveModelTest, FileNameMayContainColon) {
  const std::string file = Write("two:prefill", TwoModelArchive());
  EXPECT_EQ(Chosen(file, "decode"), "decode");
  EXPECT_EQ(Chosen(file + ":prefill", "decode"), "prefill");
}

TEST_F(ArchiveModelTest, LowersAndVerifiesSeveralMethodsOfArchive) {
  const std::string file = Write("two.pt2", TwoModelArchive());
  LowerOptions lower;
  lower.output = Path("p.belay");
  lower.methods = {"decode=" + file, "first=" + file + ":prefill"};
  const Outcome lowered = Capture([&] { return Lower(lower); });
  ASSERT_EQ(lowered.status, kDone) << lowered.errors;
  const auto verify = [&](const std::string& archive, const std::string& method) {
    VerifyOptions options{.archive = archive, .program = Path("p.belay")};
    options.method = method;
    return Capture([&] { return Verify(options); }).status;
  };
  EXPECT_EQ(verify(file, "decode"), kDone);
  EXPECT_EQ(verify(file + ":prefill", "first"), kDone);
  EXPECT_EQ(verify(file + ":decode", "first"), kNegative);
  EXPECT_EQ(verify(file, "first"), kBadInput);  // no such model
}

}  // namespace
}  // namespace belay::tools
