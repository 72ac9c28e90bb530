#include "runtime/core/mapped_file.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/mapped_file_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  std::string Path(std::string_view name) const { return directory_ + "/" + std::string(name); }
  static std::string Contents(const std::string& path) {
    absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
    EXPECT_OK(file);
    if (!file.ok()) return "";
    const absl::Span<const std::byte> bytes = (*file)->bytes();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  int CountFiles() const {
    int count = 0;
    DIR* d = ::opendir(directory_.c_str());
    while (const dirent* entry = ::readdir(d)) count += entry->d_name[0] != '.' ? 1 : 0;
    ::closedir(d);
    return count;
  }
  std::string directory_;
};

TEST_F(MappedFileTest, ReadsBackThePiecesThatWereWritten) {
  EXPECT_OK(WriteFileAtomically(Path("f"), {"one, ", "", std::string_view("two\0!", 5)}));
  EXPECT_EQ(Contents(Path("f")), std::string("one, two\0!", 10));
  EXPECT_EQ(CountFiles(), 1);
}

TEST_F(MappedFileTest, AnEmptyFileIsAnEmptySpan) {
  EXPECT_OK(WriteFileAtomically(Path("f"), {}));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(Path("f")));
  EXPECT_TRUE(file->bytes().empty());
  EXPECT_EQ(file->path(), Path("f"));
}

TEST_F(MappedFileTest, WritingReplacesAFileAndLeavesOldMappingsAlone) {
  EXPECT_OK(WriteFileAtomically(Path("f"), {"old"}));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const MappedFile> old, MappedFile::Open(Path("f")));
  EXPECT_OK(WriteFileAtomically(Path("f"), {"newer"}));
  EXPECT_EQ(Contents(Path("f")), "newer");
  EXPECT_EQ(old->bytes().size(), 3u);
  EXPECT_EQ(old->bytes()[0], std::byte{'o'});
}

TEST_F(MappedFileTest, WritingReplacesALinkInsteadOfFollowingIt) {
  EXPECT_OK(WriteFileAtomically(Path("target"), {"kept"}));
  ASSERT_EQ(::symlink(Path("target").c_str(), Path("link").c_str()), 0);
  EXPECT_OK(WriteFileAtomically(Path("link"), {"new"}));
  EXPECT_EQ(Contents(Path("target")), "kept");
  EXPECT_EQ(Contents(Path("link")), "new");
}

TEST_F(MappedFileTest, MissingFilesAndDirectoriesAreNotFound) {
  EXPECT_THAT(MappedFile::Open(Path("none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(Path("none"))));
  EXPECT_THAT(WriteFileAtomically(Path("none/f"), {"x"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(Path("none/f"))));
}

TEST_F(MappedFileTest, OnlyRegularFilesAreOpened) {
  EXPECT_THAT(MappedFile::Open(directory_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a regular file")));
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::Open(Path("pipe")), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(MappedFileTest, PathsWithANulAreRefused) {
  const std::string path = Path("f") + std::string("\0x", 2);
  EXPECT_THAT(MappedFile::Open(path), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(WriteFileAtomically(path, {"x"}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(MappedFile::Open(""), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(MappedFileTest, UnreadableFilesArePermissionDenied) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  EXPECT_OK(WriteFileAtomically(Path("f"), {"x"}));
  ASSERT_EQ(::chmod(Path("f").c_str(), 0), 0);
  EXPECT_THAT(MappedFile::Open(Path("f")), StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(MappedFileTest, AFailedWriteLeavesNothing) {
  ASSERT_EQ(::mkdir(Path("d").c_str(), 0700), 0);
  EXPECT_THAT(WriteFileAtomically(Path("d"), {"x"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("replace")));
  EXPECT_EQ(CountFiles(), 1);
}

TEST_F(MappedFileTest, AFullDiskIsResourceExhaustedAndKeepsTheOldFile) {
  EXPECT_OK(WriteFileAtomically(Path("f"), {"old"}));
  // A limit on the size of files stops the write midway, as a full disk does.
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string large(10000, 'x');
  const absl::Status status = WriteFileAtomically(Path("f"), {large});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(Path("f"))));
  EXPECT_EQ(Contents(Path("f")), "old");
  EXPECT_EQ(CountFiles(), 1);
}

}  // namespace
}  // namespace belay
