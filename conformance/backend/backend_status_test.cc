#include "conformance/backend/backend_status.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns a folder with the vectors of these operators.
std::string Cases(const std::vector<std::string>& ops) {
  namespace fs = std::filesystem;
  const std::string folder = ::testing::TempDir() + "/cases";
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const std::string& op : ops) {
    fs::copy_file("conformance/opcases/" + op + ".json", folder + "/" + op + ".json");
  }
  return folder;
}

TEST(BackendStatusTest, ReportsSupportedCallsAndReasons) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       BackendStatus("demo",
                                     Cases({"aten.relu.default", "aten.glu.default",
                                            "aten.topk.default", "aten.sort.default"}),
                                     "a command"));
  EXPECT_THAT(text, HasSubstr("Written by `a command`; a test compares."));
  EXPECT_THAT(text, HasSubstr("\ndemo supports calls of 2 of 4 operators.\n"));
  EXPECT_THAT(text, HasSubstr("\n| aten.relu.default | 13 of 50 | 0 | f32 | 'self' is f64[8,8], "
                              "not a contiguous f32 |\n"));
  // One of the nodes into which glu is decomposed in the edge dialect.
  EXPECT_THAT(text, HasSubstr("\n| aten.glu.default | 0 of 43 | 33 |  | operator "
                              "aten.split_with_sizes_copy.default is not supported |\n"));
  // Both for the same reason, except for the operator's name.
  EXPECT_THAT(text, HasSubstr("\n| operator … is not supported | aten.sort.default "
                              "aten.topk.default |\n"));
}

TEST(BackendStatusTest, TriesOperandsAsParameters) {
  // The backend prepacks weights, which must be constant.
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       BackendStatus("xnnpack", Cases({"aten.addmm.default"}), ""));
  EXPECT_THAT(text, HasSubstr("xnnpack supports calls of 1 of 1 operators."));
  EXPECT_THAT(text, Not(HasSubstr("| 0 of ")));
}

TEST(BackendStatusTest, FindsTheFolderOfAFile) {
  const std::string folder = Cases({"aten.relu.default"});
  ASSERT_OK_AND_ASSIGN(const std::string text, BackendStatus("null", folder, ""));
  ASSERT_OK_AND_ASSIGN(const std::string same,
                       BackendStatus("null", folder + "/aten.relu.default.json", ""));
  EXPECT_EQ(same, text);
  EXPECT_THAT(text, HasSubstr("null supports calls of 0 of 1 operators."));
  EXPECT_THAT(text, Not(HasSubstr("| operator | calls |")));
}

TEST(BackendStatusTest, RejectsUnknownBackendsAndMissingVectors) {
  EXPECT_THAT(BackendStatus("npu", "conformance/opcases", ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no backend 'npu'")));
  EXPECT_THAT(BackendStatus("null", "conformance/backend", ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no vectors")));
}

TEST(FirstDifferentLineTest, ReturnsFirstDifference) {
  EXPECT_EQ(FirstDifferentLine("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(FirstDifferentLine("a\nb\nc\n", "a\nx\ny\n"), "line 2 is      b\nand should be  x");
  EXPECT_EQ(FirstDifferentLine("a\n", "a\nb\n"), "line 2 is      (missing)\nand should be  b");
  EXPECT_EQ(FirstDifferentLine("a\nb\n", "a\n"), "line 2 is      b\nand should be  (missing)");
  EXPECT_EQ(FirstDifferentLine("a", "a\n"), "the end of the last line differs");
}

}  // namespace
}  // namespace belay::conformance
