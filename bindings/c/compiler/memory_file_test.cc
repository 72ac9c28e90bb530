#include "bindings/c/compiler/memory_file.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/testing.h"

namespace belay::c {
namespace {

TEST(MemoryFileTest, PathHasTheBytes) {
  MemoryFiles files;
  const std::string bytes(100'000, 'x');
  ASSERT_OK_AND_ASSIGN(
      const std::string path,
      files.Add(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()),
                "the archive"));
  ASSERT_OK_AND_ASSIGN(const auto mapped, MappedFile::Open(path));
  EXPECT_EQ(
      std::string(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()),
      bytes);
}

TEST(MemoryFileTest, ErrorsNameTheFile) {
  MemoryFiles files;
  ASSERT_OK_AND_ASSIGN(const std::string first, files.Add({}, "the archive"));
  ASSERT_OK_AND_ASSIGN(const std::string second, files.Add({}, "the program"));
  const absl::Status status =
      files.WithNames(absl::DataLossError(second + ": bad; " + first + ": empty"));
  EXPECT_EQ(status, absl::DataLossError("the program: bad; the archive: empty"));
  EXPECT_OK(files.WithNames(absl::OkStatus()));
}

}  // namespace
}  // namespace belay::c
