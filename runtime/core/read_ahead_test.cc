#include "runtime/core/read_ahead.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

TEST(ReadAheadTest, MappedFilesKeepTheirContent) {
  const std::string path = ::testing::TempDir() + "/read_ahead";
  std::string content(1 << 20, 'x');
  content[70000] = 'y';
  std::ofstream(path, std::ios::binary) << content;
  ASSERT_OK_AND_ASSIGN(const auto file, MappedFile::Open(path));
  ReadAhead(file->bytes());
  ReadAhead(file->bytes().subspan(3));
  ReadAhead(file->bytes().subspan(1, 100000));
  EXPECT_EQ(file->bytes()[70000], std::byte{'y'});
  // The file was just written: its pages are in the page cache.
  std::vector<unsigned char> present((content.size() + 4095) / 4096);
  ASSERT_EQ(::mincore(const_cast<std::byte*>(file->bytes().data()), content.size(), present.data()),
            0);
  EXPECT_EQ(present[20] & 1, 1);
}

constexpr size_t kBytes = size_t{4} << 20;
constexpr int64_t kPages = kBytes / 4096;

// A file that is not in the page cache, except on file systems in memory.
std::shared_ptr<const MappedFile> AbsentFile() {
  const std::string path = ::testing::TempDir() + "/absent";
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  const std::string content(kBytes, 'x');
  EXPECT_EQ(::write(descriptor, content.data(), kBytes), static_cast<ssize_t>(kBytes));
  ::fsync(descriptor);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
  return MappedFile::Open(path).value();
}

int64_t ResidentPages(const MappedFile& file) {
  std::vector<unsigned char> pages(kPages);
  EXPECT_EQ(::mincore(const_cast<std::byte*>(file.bytes().data()), kBytes, pages.data()), 0);
  return std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
}

void WaitForAllPages(const MappedFile& file) {
  for (int i = 0; i < 1000 && ResidentPages(file) < kPages; ++i) ::usleep(10000);
  EXPECT_EQ(ResidentPages(file), kPages);
}

TEST(ReadAheadTest, AbsentPagesAreRead) {
  const auto file = AbsentFile();
  ReadAhead(file->bytes());
  WaitForAllPages(*file);
}

TEST(ReadAheadTest, SmallRangesInAnyOrderAreReadTogether) {
  const auto file = AbsentFile();
  std::vector<absl::Span<const std::byte>> ranges;
  constexpr size_t kRange = size_t{16} << 10;  // below the least size of one range
  for (size_t at = 0; at < kBytes; at += kRange) {
    ranges.push_back(file->bytes().subspan(at, kRange - 64));
  }
  ranges.back() = file->bytes().last(kRange);
  std::swap(ranges.front(), ranges.back());
  ReadAheadAll(std::move(ranges));
  WaitForAllPages(*file);
}

TEST(ReadAheadTest, DistantRangesAreSeparate) {
  const auto file = AbsentFile();
  const bool is_cached = ResidentPages(*file) == kPages;  // a file system in memory
  ReadAheadAll({file->bytes().last(size_t{1} << 20)});
  for (int i = 0; i < 1000 && ResidentPages(*file) < kPages / 4; ++i) ::usleep(10000);
  EXPECT_GE(ResidentPages(*file), kPages / 4);
  if (!is_cached) EXPECT_LT(ResidentPages(*file), kPages / 2);
  ReadAheadAll({});
}

TEST(ReadAheadTest, OtherMemoryIsUnchanged) {
  std::vector<std::byte> bytes(1 << 18, std::byte{7});
  ReadAhead(bytes);
  ReadAhead(absl::MakeConstSpan(bytes).first(10));
  ReadAhead({});
  for (std::byte byte : bytes) ASSERT_EQ(byte, std::byte{7});
}

}  // namespace
}  // namespace belay
