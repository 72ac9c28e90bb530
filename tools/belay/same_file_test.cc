#include "tools/belay/same_file.h"

#include <filesystem>

#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"

namespace belay::tools {
namespace {

class SameFileTest : public TestInDirectory {};

TEST_F(SameFileTest, MissingFilesCompareByPath) {
  EXPECT_TRUE(IsSameFile(Path("a"), Path("./a")));
  EXPECT_TRUE(IsSameFile(Path("none/../a"), Path("a")));
  EXPECT_FALSE(IsSameFile(Path("a"), Path("b")));
  EXPECT_FALSE(IsSameFile(Write("a", ""), Path("b")));
  EXPECT_FALSE(IsSameFile("", ""));
}

// The system reports no more about them.
TEST_F(SameFileTest, UnresolvablePathsCompareAsStrings) {
  std::filesystem::create_symlink("loop", Path("loop"));
  EXPECT_TRUE(IsSameFile(Path("loop/a"), Path("loop/a")));
  EXPECT_FALSE(IsSameFile(Path("loop/a"), Path("b")));
  EXPECT_FALSE(IsSameFile(Path("b"), Path("loop/a")));
}

}  // namespace
}  // namespace belay::tools
