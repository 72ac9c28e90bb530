#include "conformance/format/example.h"

#include <string>

#include "runtime/core/mapped_file.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

std::string Page() {
  const auto file = MappedFile::Open("runtime/schema/file_format.md");
  EXPECT_OK(file.status());
  return std::string(reinterpret_cast<const char*>((*file)->bytes().data()),
                     (*file)->bytes().size());
}

TEST(ExampleTest, PageIsCurrent) {
  ASSERT_OK_AND_ASSIGN(const std::string right, WithExample(Page()));
  EXPECT_TRUE(right == Page())
      << "run tools/bazel run //conformance/format:write_example -- "
         "\"$PWD/runtime/schema/file_format.md\", and check the notes beside the bytes";
}

TEST(ExampleTest, MatchesPage) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(ExampleFile()));
  ASSERT_EQ(program.methods().size(), 1u);
  EXPECT_EQ(program.methods()[0].name, "f");
  EXPECT_EQ(program.segments()[0].offset, 256u);
  EXPECT_EQ(program.bytes().size(), 260u);
}

TEST(ExampleTest, UpdatesBytesAndKeepsNotes) {
  const std::string page = Page();
  const size_t at = page.find("00000100: 0000 c03f");
  ASSERT_NE(at, std::string::npos);
  std::string wrong = page;
  wrong.replace(at + 10, 4, "1234");
  ASSERT_OK_AND_ASSIGN(const std::string right, WithExample(wrong));
  EXPECT_EQ(right, page);
}

TEST(ExampleTest, OnlyZeroLinesMayBeOmitted) {
  EXPECT_THAT(WithExample("no dump"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leaves out byte 0")));
  EXPECT_THAT(WithExample("00001000: 0000\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has a line at 4096")));
}

}  // namespace
}  // namespace belay
