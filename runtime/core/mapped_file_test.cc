#include "runtime/core/mapped_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

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

TEST_F(MappedFileTest, WrittenPiecesRoundTrip) {
  EXPECT_OK(WriteFileAtomically(Path("f"), {"one, ", "", std::string_view("two\0!", 5)}));
  EXPECT_EQ(Contents(Path("f")), std::string("one, two\0!", 10));
  EXPECT_EQ(CountFiles(), 1);
}

TEST_F(MappedFileTest, ReportsPiecesThatWereWritten) {
  std::string done;
  const auto append = [&](std::string_view piece) { done.append(piece).append("|"); };
  ASSERT_OK(WriteFileAtomically(Path("pieces"), {"a", "bc"}, append));
  EXPECT_EQ(done, "a|bc|");
  done.clear();
  ASSERT_OK(WriteFileAtomically("/dev/null", {"a", "bc"}, append));
  EXPECT_EQ(done, "a|bc|");
}

TEST_F(MappedFileTest, EmptyFileIsEmptySpan) {
  EXPECT_OK(WriteFileAtomically(Path("f"), {}));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(Path("f")));
  EXPECT_TRUE(file->bytes().empty());
  EXPECT_EQ(file->path(), Path("f"));
}

TEST_F(MappedFileTest, WriteReplacesFileAndKeepsOldMappings) {
  EXPECT_OK(WriteFileAtomically(Path("f"), {"old"}));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const MappedFile> old, MappedFile::Open(Path("f")));
  EXPECT_OK(WriteFileAtomically(Path("f"), {"newer"}));
  EXPECT_EQ(Contents(Path("f")), "newer");
  EXPECT_EQ(old->bytes().size(), 3u);
  EXPECT_EQ(old->bytes()[0], std::byte{'o'});
}

// Pieces of all sizes beside the runs of a write, in order, each reported once.
TEST_F(MappedFileTest, WritesManyPieces) {
  std::string bytes(size_t{7} << 20, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 24);
  std::vector<std::string_view> pieces;
  std::string_view rest = bytes;
  for (size_t size = 0; !rest.empty(); size = size * 3 % 100003 + 1) {
    pieces.push_back(rest.substr(0, pieces.size() == 9 ? size_t{5} << 20 : size));
    rest.remove_prefix(pieces.back().size());
  }
  pieces.push_back("");
  size_t reported = 0;
  EXPECT_OK(WriteFileAtomically(Path("f"), pieces, [&](std::string_view piece) {
    ASSERT_LT(reported, pieces.size());
    EXPECT_EQ(piece.data(), pieces[reported].data());
    EXPECT_EQ(piece.size(), pieces[reported].size());
    ++reported;
  }));
  EXPECT_EQ(reported, pieces.size());
  EXPECT_TRUE(Contents(Path("f")) == bytes);
}

TEST_F(MappedFileTest, WriteReplacesSymlink) {
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

TEST_F(MappedFileTest, RejectsPathsWithNul) {
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

TEST_F(MappedFileTest, FailedWriteLeavesNoFile) {
  ASSERT_EQ(::mkdir(Path("d").c_str(), 0700), 0);
  EXPECT_THAT(WriteFileAtomically(Path("d"), {"x"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("replace")));
  EXPECT_EQ(CountFiles(), 1);
}

TEST_F(MappedFileTest, FullDiskIsResourceExhaustedAndKeepsOldFile) {
  EXPECT_OK(WriteFileAtomically(Path("f"), {"old"}));
  // A file size limit stops the write midway, as a full disk does.
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

TEST_F(MappedFileTest, WritesDevicesDirectly) {
  EXPECT_OK(WriteFileAtomically("/dev/null", {"x"}));
  EXPECT_THAT(WriteFileAtomically("/dev/full", {"x"}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("cannot write /dev/full")));
  for (const char* device : {"/dev/null", "/dev/full"}) {
    struct stat info;
    ASSERT_EQ(::lstat(device, &info), 0);
    EXPECT_TRUE(S_ISCHR(info.st_mode)) << device;
  }
}

TEST_F(MappedFileTest, WritesPipesDirectly) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] {
    std::ifstream in(Path("pipe"));
    std::getline(in, got, '\0');
  });
  EXPECT_OK(WriteFileAtomically(Path("pipe"), {"one, ", "two"}));
  reader.join();
  EXPECT_EQ(got, "one, two");
}

TEST_F(MappedFileTest, SkipsLeftoverTemporaryFiles) {
  const std::string prefix = Path("f") + ".tmp-" + std::to_string(::getpid()) + "-";
  constexpr int kLeftovers = 50;
  for (int i = 0; i < kLeftovers; ++i) std::ofstream(prefix + std::to_string(i)) << "partial";
  EXPECT_OK(WriteFileAtomically(Path("f"), {"whole"}));
  EXPECT_EQ(Contents(Path("f")), "whole");
  EXPECT_EQ(CountFiles(), kLeftovers + 1);
}

// Names are tried in order, those for an unnamed file first.
TEST_F(MappedFileTest, FailsWithoutFreeTemporaryName) {
  const std::string prefix = Path("f") + ".tmp-" + std::to_string(::getpid()) + "-";
  EXPECT_OK(WriteFileAtomically(Path("f"), {"old"}));
  // One name is free at 2000; the next free one is more than a hundred names later.
  for (int i = 0; i < 3000; ++i) {
    if (i != 2000 && i != 2151) std::ofstream(prefix + std::to_string(i)) << "partial";
  }
  int written = 0;
  for (int i = 0; i < 30 && written < 2; ++i) {
    const absl::Status status = WriteFileAtomically(Path("f"), {"whole"});
    EXPECT_EQ(Contents(Path("f")), status.ok() || written > 0 ? "whole" : "old");
    if (status.ok()) {
      ++written;
      continue;
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("cannot create " + Path("f") + ": File exists")));
  }
  EXPECT_EQ(written, 2);
  EXPECT_EQ(CountFiles(), 3000 - 2 + 1);
}

TEST_F(MappedFileTest, RejectsLongNames) {
  EXPECT_THAT(WriteFileAtomically(Path(std::string(254, 'a')), {"x"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("File name too long")));
  EXPECT_EQ(CountFiles(), 0);
}

TEST_F(MappedFileTest, PathsMayBeRelative) {
  char before[4096];
  ASSERT_NE(::getcwd(before, sizeof(before)), nullptr);
  ASSERT_EQ(::chdir(directory_.c_str()), 0);
  EXPECT_OK(WriteFileAtomically("f", {"here"}));
  ASSERT_EQ(::chdir(before), 0);
  EXPECT_EQ(Contents(Path("f")), "here");
}

// Standard output may be a file.
TEST_F(MappedFileTest, WritesOpenFilesDirectly) {
  const int fd = ::open(Path("f").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(fd, 0);
  struct stat before, after;
  ASSERT_EQ(::fstat(fd, &before), 0);
  EXPECT_OK(WriteFileAtomically("/dev/fd/" + std::to_string(fd), {"whole"}));
  ASSERT_EQ(::stat(Path("f").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  ::close(fd);
  EXPECT_EQ(Contents(Path("f")), "whole");
  EXPECT_THAT(WriteFileAtomically("/dev/fd/" + std::to_string(fd), {"x"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot open /dev/fd/")));
}

// A full pipe blocks the writer; a signal interrupts it.
TEST_F(MappedFileTest, WriteRetriesAfterSignal) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  struct sigaction action = {}, before;
  action.sa_handler = [](int) {};  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const pthread_t writer = ::pthread_self();
  std::string got;
  std::thread reader([&] {
    std::ifstream in(Path("pipe"));
    for (int i = 0; i < 50; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ::pthread_kill(writer, SIGUSR1);
    }
    std::getline(in, got, '\0');
  });
  const std::string large(1 << 20, 'x');
  EXPECT_OK(WriteFileAtomically(Path("pipe"), {large}));
  reader.join();
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
  EXPECT_EQ(got, large);
}

// --- FileAccess::kCopy ---

constexpr MappedFile::Options kCopy = {.access = FileAccess::kCopy, .max_bytes = UINT64_MAX};

std::string Text(const MappedFile& file) {
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

// Large enough for huge pages.
TEST_F(MappedFileTest, ReadsLargeFilesCompletely) {
  std::string large((size_t{4} << 20) + 4097, 'a');
  large.back() = 'z';
  large[size_t{2} << 20] = 'm';
  const std::string path = Path("large");
  ASSERT_OK(WriteFileAtomically(path, {large}));
  for (const FileAccess access : {FileAccess::kMap, FileAccess::kCopy}) {
    ASSERT_OK_AND_ASSIGN(const auto file, MappedFile::Open(path, {.access = access}));
    const absl::Span<const std::byte> bytes = file->bytes();
    EXPECT_TRUE(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) ==
                large);
  }
}

TEST_F(MappedFileTest, CopyIsIndependentOfFile) {
  const std::string before(100'000, 'a');
  EXPECT_OK(WriteFileAtomically(Path("f"), {before}));
  ASSERT_OK_AND_ASSIGN(const auto file, MappedFile::Open(Path("f"), kCopy));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->bytes().data()) % 4096, 0u);
  std::fstream(Path("f"), std::ios::in | std::ios::out) << "changed";
  EXPECT_EQ(Text(*file), before);
  ASSERT_EQ(::truncate(Path("f").c_str(), 10), 0);
  EXPECT_EQ(Text(*file), before);
  EXPECT_OK(WriteFileAtomically(Path("empty"), {}));
  ASSERT_OK_AND_ASSIGN(const auto empty, MappedFile::Open(Path("empty"), kCopy));
  EXPECT_TRUE(empty->bytes().empty());
}

TEST_F(MappedFileTest, KernelFilesAreEmpty) {
  for (const FileAccess access : {FileAccess::kMap, FileAccess::kCopy}) {
    ASSERT_OK_AND_ASSIGN(const auto file,
                         MappedFile::Open("/proc/self/status", {.access = access}));
    EXPECT_TRUE(file->bytes().empty());
  }
}

TEST_F(MappedFileTest, RejectsFilesAboveTheLimit) {
  EXPECT_OK(WriteFileAtomically(Path("f"), {"12345"}));
  for (const FileAccess access : {FileAccess::kMap, FileAccess::kCopy}) {
    EXPECT_OK(MappedFile::Open(Path("f"), {.access = access, .max_bytes = 5}));
    EXPECT_THAT(MappedFile::Open(Path("f"), {.access = access, .max_bytes = 4}),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr("/f has 5 bytes, the limit 'file_bytes' is 4")));
  }
}

class ReadTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe(ends_), 0); }
  void TearDown() override {
    ::close(ends_[0]);
    CloseWriter();
  }
  void CloseWriter() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }
  absl::StatusOr<std::shared_ptr<const MappedFile>> Read(int descriptor, uint64_t size) {
    return MappedFile::FromDescriptor(descriptor, size, "model", kCopy);
  }
  int ends_[2] = {-1, -1};
};

TEST_F(ReadTest, ShortReadsAreContinued) {
  std::thread writer([&] {
    for (int i = 0; i < 1000; ++i) {
      const std::string piece(1 + i % 7, static_cast<char>('a' + i % 26));
      EXPECT_EQ(::write(ends_[1], piece.data(), piece.size()), static_cast<ssize_t>(piece.size()));
      std::this_thread::yield();
    }
    CloseWriter();
  });
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected.append(1 + i % 7, static_cast<char>('a' + i % 26));
  const auto file = Read(ends_[0], expected.size());
  writer.join();
  ASSERT_OK(file);
  EXPECT_EQ(Text(**file), expected);
}

TEST_F(ReadTest, ReadRetriesAfterSignal) {
  struct sigaction action = {}, before;
  action.sa_handler = [](int) {};  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const pthread_t reader = ::pthread_self();
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ::pthread_kill(reader, SIGUSR1);
    }
    EXPECT_EQ(::write(ends_[1], "abc", 3), 3);
  });
  const auto file = Read(ends_[0], 3);
  writer.join();
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
  ASSERT_OK(file);
  EXPECT_EQ(Text(**file), "abc");
}

TEST_F(ReadTest, RejectsImpossibleSizes) {
  EXPECT_THAT(Read(ends_[0], uint64_t{1} << 63),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot open model: ")));
  EXPECT_THAT(
      MappedFile::FromDescriptor(-1, 5, "model", {}),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot map model: Bad file descriptor")));
}

TEST_F(ReadTest, ShrunkenFileIsUnavailable) {
  ASSERT_EQ(::write(ends_[1], "abc", 3), 3);
  CloseWriter();
  EXPECT_THAT(Read(ends_[0], 5),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cannot read model: it ends after 3 bytes and had 5")));
}

TEST_F(ReadTest, FailedReadNamesFileAndReason) {
  EXPECT_THAT(Read(ends_[1], 5), StatusIs(absl::StatusCode::kUnavailable,
                                          HasSubstr("cannot read model: Bad file descriptor")));
  const int directory = ::open(testing::TempDir().c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_THAT(Read(directory, 5), StatusIs(absl::StatusCode::kUnavailable,
                                           HasSubstr("cannot read model: Is a directory")));
  ::close(directory);
}

TEST_F(ReadTest, OutOfMemoryIsResourceExhausted) {
  EXPECT_THAT(Read(ends_[0], uint64_t{1} << 60),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("no memory for the 1152921504606846976 bytes of model")));
}

TEST_F(MappedFileTest, IsUnmappedWithTheLastReference) {
  const std::string path = Path("file");
  ASSERT_OK(WriteFileAtomically(path, {"content"}));
  const std::string shown = path.substr(path.rfind("mapped_file_"));
  const auto is_mapped = [&] {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(shown) != std::string::npos) return true;
    }
    return false;
  };
  {
    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const MappedFile> file,
                         MappedFile::Open(path, {.access = FileAccess::kMap}));
    EXPECT_TRUE(is_mapped());
  }
  EXPECT_FALSE(is_mapped());
}

}  // namespace
}  // namespace belay
