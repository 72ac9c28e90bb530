#include "runtime/core/read_ahead.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
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

TEST(ReadAheadTest, AbsentPagesAreRead) {
  const std::string path = ::testing::TempDir() + "/absent";
  constexpr size_t kBytes = size_t{4} << 20;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ASSERT_GE(descriptor, 0);
  const std::string content(kBytes, 'x');
  ASSERT_EQ(::write(descriptor, content.data(), kBytes), static_cast<ssize_t>(kBytes));
  ::fsync(descriptor);
  // Has no effect on file systems in memory.
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
  ASSERT_OK_AND_ASSIGN(const auto file, MappedFile::Open(path));
  ReadAhead(file->bytes());
  const auto present = [&] {
    std::vector<unsigned char> pages(kBytes / 4096);
    EXPECT_EQ(::mincore(const_cast<std::byte*>(file->bytes().data()), kBytes, pages.data()), 0);
    return std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
  };
  for (int i = 0; i < 1000 && present() < 1024; ++i) ::usleep(10000);
  EXPECT_EQ(present(), 1024);
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
